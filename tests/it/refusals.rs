//! What was set up wrong is named with its setting and the next step, before anything is consumed.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _},
        process::CommandExt as _,
    },
    time::{Duration, Instant},
};

use xtcp_ingest::clickhouse::{Class, Client};

use crate::{
    process::Ingest,
    schema::Operator,
    support::{self, bench},
    topic::Topic,
};

/// What the server says to inserts that carry a setting.
async fn check(name: &str, value: &str) -> Result<(), xtcp_ingest::clickhouse::Error> {
    let mut config = support::clickhouse("default");
    config.insert_settings = BTreeMap::from([("log_comment".into(), "x".into()), (name.into(), value.into())]);
    Client::new(&config).expect("a client").check_insert_settings().await
}

#[tokio::test]
async fn a_setting_that_inserts_can_not_carry_is_named() {
    check("insert_quorum", "0").await.expect("a good one");
    // The code says what could not be read, and would be believed of a row.
    for (name, value, code) in [
        ("no_such_setting", "1", 115),
        ("insert_quorum", "abc", 27),
        ("insert_quorum", "-1", 72),
        ("parallel_view_processing", "maybe", 467),
        ("date_time_input_format", "foo", 36),
        ("load_balancing", "nearest", 212),
    ] {
        let error = check(name, value).await.expect_err(name);
        assert_eq!((error.class(), error.code()), (Class::Fatal, Some(code)), "{error}");
        let text = error.to_string();
        assert!(
            text.contains(&format!("it refuses `clickhouse.insert_settings.{name} = {value}`, code {code}")),
            "{text}"
        );
        assert!(text.ends_with("; correct this setting, or leave it out"), "{text}");
    }
    let mut config = support::clickhouse("default");
    config.password = xtcp_ingest::config::Secret::new("surely-not-the-password");
    let error = Client::new(&config).expect("a client").check_insert_settings().await.expect_err("not let in");
    assert!(error.code() == Some(516) && error.to_string().contains("check `clickhouse.user` and"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_insert_setting_stops_the_start() {
    let (database, topic) = bench("setting", 1).await;
    let mut ingest = Ingest::start(&database, &topic, &["--clickhouse-insert-setting", "insert_quorum=two"], &[]);
    assert_eq!(ingest.exit_code(), Some(2), "{}", ingest.log());
    let log = ingest.log();
    let error = log.lines().find(|line| line.starts_with("error: ")).expect("an error");
    assert!(error.contains("`clickhouse.insert_settings.insert_quorum = two`"), "{error}");
    assert!(!log.contains("row"), "no row is blamed: {log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_waited_for_is_said_at_once_with_the_setting() {
    let (database, topic) = bench("at_once", 1).await;
    for (setting, value, line) in [
        ("KAFKA_BROKERS", "127.0.0.1:1", "waiting for Kafka at 127.0.0.1:1: "),
        ("CLICKHOUSE_URL", "http://127.0.0.1:1", "waiting for ClickHouse at 127.0.0.1:1: "),
    ] {
        let begin = Instant::now();
        let mut ingest = Ingest::start(&database, &topic, &[], &[(setting, value)]);
        ingest.wait_for_log(line);
        assert!(begin.elapsed() < Duration::from_secs(4), "{:?}", begin.elapsed());
        let (status, body) = ingest.get("/readyz");
        assert!(status == 503 && body.contains("127.0.0.1:1"), "{status} {body}");
        if setting == "CLICKHOUSE_URL" {
            assert!(ingest.log().contains("is `clickhouse.url` right, and the server up?"), "{}", ingest.log());
        } else {
            ingest.wait_for_log("is `kafka.brokers` right and the broker up?");
        }
        ingest.signal("TERM");
        assert_eq!(ingest.exit_code(), Some(0), "{}", ingest.log());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_a_database_and_definitions_that_are_wrong_name_their_setting() {
    let (database, topic) = bench("named", 1).await;
    let folder = tempfile::tempdir().expect("a folder");
    let nowhere = folder.path().join("nowhere");
    let broken = folder.path().join("broken");
    fs::create_dir(&broken).expect("a folder");
    fs::write(broken.join("manifest.yaml"), "objects: [").expect("written");
    for (settings, expected) in [
        (&[("CLICKHOUSE_PASSWORD", "not this")][..], "check `clickhouse.user` and `clickhouse.password`"),
        (&[("CLICKHOUSE_USER", "nobody")], "check `clickhouse.user` and `clickhouse.password`"),
        (&[("BOOTSTRAP_TABLES", "false")], "let `bootstrap.tables` be on, or give another `clickhouse.database`"),
        (&[("SCHEMAS_DIR", nowhere.to_str().expect("text"))], "nowhere: there is no such directory"),
        (&[("SCHEMAS_DIR", broken.to_str().expect("text"))], "broken/manifest.yaml:"),
    ] {
        let absent = Topic::absent(&topic.name, 1);
        let mut ingest = Ingest::start(&database, &absent, &[], settings);
        assert_eq!(ingest.exit_code(), Some(2), "{}", ingest.log());
        let log = ingest.log();
        assert_eq!(log.matches("error: ").count(), 1, "{log}");
        assert!(log.contains(expected), "{settings:?}: {log}");
    }
}

/// The binary where an account without rights can run it, when this one has all.
fn reachable(folder: &std::path::Path) -> std::path::PathBuf {
    let program = folder.join("xtcp-ingest");
    fs::copy(env!("CARGO_BIN_EXE_xtcp-ingest"), &program).expect("copied");
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("a folder of ours");
    program
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overlay_that_can_not_be_read_is_told_and_hurts_nothing() {
    const NOBODY: u32 = 65_534;
    let operator = Operator::new("unreadable").await;
    let folder = tempfile::tempdir().expect("a folder");
    let program = reachable(folder.path());
    let overlay = folder.path().join("overlay");
    let is_root = fs::metadata(folder.path()).expect("a folder of ours").uid() == 0;
    fs::create_dir(&overlay).expect("a folder");
    fs::write(overlay.join("manifest.yaml"), "manifest_version: 1\n").expect("written");
    for (mode, what) in [(0o000, "the folder can't be listed"), (0o444, "its files can't be reached")] {
        fs::set_permissions(&overlay, fs::Permissions::from_mode(mode)).expect("a folder of ours");
        let mut command = operator.command_of(&program, &["plan"], &[("OVERLAY_DIR", overlay.to_str().expect("text"))]);
        if is_root {
            command.uid(NOBODY);
        }
        let output = command.output().expect("the command runs");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(2), "{what}: the core is planned: {out}{err}");
        assert!(out.contains(&format!("{} to create", crate::content::object_counts().1)), "{what}: {out}");
        let told = format!("overlay: can't read the definitions in {}", overlay.display());
        assert!(out.contains(&told) && out.contains("Permission denied"), "{what}: {out}");
        assert!(out.contains("let this account read it"), "{what}: {out}");
    }
    fs::set_permissions(&overlay, fs::Permissions::from_mode(0o755)).expect("a folder of ours");
}
