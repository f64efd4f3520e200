//! The sources together.

use std::{ffi::OsString, fs, time::Duration};

use super::*;

/// A certificate of nobody's, signed by itself.
const CERTIFICATE: &str = "\
-----BEGIN CERTIFICATE-----
MIIBdTCCARugAwIBAgIUGZznAUi8uuASx3SE/oatE5QhK98wCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMzAxNzM1MDRaGA8yMTI2MTEwNjE3MzUw
NFowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABB+z
3gIUTeU7ZSCSj8woePG+W2jX4qAPq4a0v/PktBT3PXiarlZPNFxYKY5VhwvEF2OA
/4ozPtXGvV7oLlS2CByjUzBRMB0GA1UdDgQWBBTBI9D2A17qHaXRBpfFTwqLwzC4
OjAfBgNVHSMEGDAWgBTBI9D2A17qHaXRBpfFTwqLwzC4OjAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0gAMEUCIG/VKJdICmGiATOwqmPvQUY/Vx5ackPM1uEw
G02/nX1SAiEAt3su7KjD9BVDvZgJHB2k7vQ1Ha06ssrURFHwRGfbRWs=
-----END CERTIFICATE-----
";

fn sources(file: &str, environment: &[(&str, &str)], flags: &[(&str, &str)]) -> (tempfile::TempDir, Sources) {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("x.toml");
    fs::write(&path, file).expect("the file can be written");
    let environment = environment.iter().map(|(n, v)| (OsString::from(n), OsString::from(v))).collect();
    let flags = flags
        .iter()
        .map(|(key, text)| {
            let setting = settings::find(key).expect("a known key");
            flag(setting, &setting.flag().expect("it has a flag"), text)
        })
        .collect();
    (folder, Sources { file: Some(path), environment, flags })
}

/// The configuration, or what is wrong with the folder of the file taken out.
fn loaded(file: &str, environment: &[(&str, &str)], flags: &[(&str, &str)]) -> Result<Loaded, String> {
    let (folder, sources) = sources(file, environment, flags);
    load(sources).map_err(|e| e.to_string().replace(&format!("{}/", folder.path().display()), ""))
}

#[test]
fn nothing_given_is_the_defaults() {
    let config = load(Sources::default()).expect("the defaults are allowed").config;
    assert_eq!(config.kafka.brokers, "127.0.0.1:9092");
    assert_eq!(config.kafka.framing, Framing::Delimited);
    assert_eq!(config.clickhouse.urls[0].as_str(), "http://127.0.0.1:8123/");
    assert_eq!(config.batch.bytes, 96 << 20);
    assert_eq!(config.batch.age, Duration::from_secs(1));
    assert_eq!(config.http.listen.to_string(), "127.0.0.1:9464");
    assert_eq!((config.retention_days, config.errors_retention_days), (31, 1));
    assert!(config.limits.workers >= 1 && config.bootstrap.tables && config.bootstrap.topics);
    assert!(config.schemas_dir.is_none());
}

#[test]
fn flags_beat_the_environment_and_the_environment_beats_the_file() {
    let file = "[batch]\nrows = 1\nbytes = \"1MiB\"\nage = \"1ms\"\n";
    let environment = [("XTCP_INGEST_BATCH_BYTES", "2MiB"), ("XTCP_INGEST_BATCH_AGE", "2ms")];
    let batch = loaded(file, &environment, &[("batch.age", "3ms")]).expect("all allowed").config.batch;
    assert_eq!((batch.rows, batch.bytes, batch.age), (1, 2 << 20, Duration::from_millis(3)));
}

#[test]
fn maps_are_merged_entry_by_entry() {
    let file = "[kafka.properties]\n\"linger.ms\" = 1\nclient.id = true\n";
    let flags = [("kafka.properties", "client.id=x=y"), ("kafka.properties", "sasl.password=")];
    let properties = loaded(file, &[], &flags).expect("all allowed").config.kafka.properties;
    let revealed: Vec<_> = properties.iter().map(|(k, v)| (k.as_str(), v.reveal())).collect();
    assert_eq!(revealed, [("client.id", "x=y"), ("linger.ms", "1"), ("sasl.password", "")]);
}

#[test]
fn all_problems_come_at_once_each_with_its_place() {
    let file =
        "[kafka]\ntopic = \"a b\"\nbroker = \"x\"\n[batch]\nrows = 0\n[kafka.properties]\n\"group.id\" = \"x\"\n";
    let environment = [("XTCP_INGEST_WORKERS", "many"), ("XTCP_INGEST_WORKER", "1")];
    let problems = loaded(file, &environment, &[("batch.age", "5")]).expect_err("much is wrong");
    assert_eq!(
        problems.lines().collect::<Vec<_>>(),
        [
            "7 problems in the configuration",
            "  x.toml:3: `kafka.broker` is no setting; the nearest is `kafka.brokers`",
            "  environment variable `XTCP_INGEST_WORKER` is no setting; the nearest is `XTCP_INGEST_WORKERS`",
            "  x.toml:2: `kafka.topic` can't be `a b`; allowed is 1 to 249 letters, digits, `.`, `_` or `-`",
            "  x.toml:7: `kafka.properties` can't be given an entry `group.id`; allowed is any librdkafka property but \
             those that this service sets itself (`bootstrap.servers`, `metadata.broker.list`, `group.id`, \
             `transactional.id`, `transaction.timeout.ms`, `enable.auto.commit`, `enable.auto.offset.store`, `enable.partition.eof`)",
            "  x.toml:5: `batch.rows` can't be `0`; allowed is a whole number from 1 to 10000000",
            "  XTCP_INGEST_WORKERS: `workers` can't be `many`; allowed is a whole number from 1 to 256",
            "  --batch-age: `batch.age` can't be `5`; allowed is a duration from 1ms to 1h, with its unit",
        ]
    );
}

#[test]
fn what_exactly_once_stands_on_is_not_to_be_taken_away() {
    for (property, is_allowed) in [
        ("isolation.level=read_committed", true),
        ("isolation.level=read_uncommitted", false),
        ("auto.offset.reset=latest", true),
        ("auto.offset.reset=error", false),
    ] {
        let given = ("kafka.properties", property);
        let exactly = loaded("", &[], &[given]);
        assert_eq!(exactly.is_ok(), is_allowed, "{property}");
        if let Err(problem) = exactly {
            assert!(problem.contains("at_least_once") && !problem.contains('\n'), "{problem}");
        }
        let config = loaded("", &[], &[given, ("delivery", "at_least_once")]).expect("allowed").config;
        assert_eq!(config.delivery, Delivery::AtLeastOnce);
    }
}

#[test]
fn a_value_that_another_source_hides_is_checked_all_the_same() {
    let problems = loaded("workers = 0\n", &[("XTCP_INGEST_WORKERS", "2")], &[]).expect_err("0 is not allowed");
    assert_eq!(problems, "x.toml:1: `workers` can't be `0`; allowed is a whole number from 1 to 256");
}

#[test]
fn a_batch_larger_than_the_memory_is_refused() {
    let problems = loaded("[limits]\nmemory = \"1MiB\"\n", &[], &[]).expect_err("48 MiB don't fit");
    assert_eq!(
        problems,
        "`batch.bytes` (96MiB, default) is more than `limits.memory` (1MiB, x.toml:2), so no batch could ever be filled"
    );
}

#[test]
fn the_dead_letter_topic_is_another_one() {
    let problems = loaded("", &[], &[("kafka.dead_letter_topic", "xtcp")]).expect_err("it is the landing topic");
    assert_eq!(
        problems,
        "`kafka.dead_letter_topic` (--kafka-dead-letter-topic) and `kafka.topic` (default) are both `xtcp`: what can't be \
         placed would come back"
    );
    let none = loaded("", &[], &[]).expect("none is allowed").config;
    assert_eq!(none.dead_letter_topic, "");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let missing = Sources { file: Some("/nowhere/x.toml".into()), ..Sources::default() };
    let problem = load(missing).expect_err("there is no such file").to_string();
    assert!(problem.starts_with("can't read the configuration file `/nowhere/x.toml`: "), "{problem}");

    let environment = vec![(OsString::from(settings::FILE_VARIABLE), OsString::from("/nowhere/y.toml"))];
    let problem = load(Sources { environment, ..Sources::default() }).expect_err("nor this one").to_string();
    assert!(problem.contains("/nowhere/y.toml"), "{problem}");
}

#[test]
fn a_password_comes_from_a_file_without_its_line_end() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("password");
    for (content, password) in
        [("s3cret\n", "s3cret"), ("s3cret\r\n", "s3cret"), (" s3cret", " s3cret"), ("a\n\n", "a\n")]
    {
        fs::write(&path, content).expect("the file can be written");
        let environment = [("XTCP_INGEST_CLICKHOUSE_PASSWORD_FILE", path.to_str().expect("a text"))];
        let config = loaded("", &environment, &[]).expect("the file is there").config;
        assert_eq!(config.clickhouse.password.reveal(), password);
    }
    let environment = [("XTCP_INGEST_CLICKHOUSE_PASSWORD_FILE", "/nowhere"), ("XTCP_INGEST_CLICKHOUSE_PASSWORD", "")];
    let problem = loaded("", &environment, &[]).expect_err("there is no such file");
    assert!(
        problem
            .starts_with("XTCP_INGEST_CLICKHOUSE_PASSWORD_FILE: can't read `clickhouse.password_file`, `/nowhere`: ")
    );
}

#[test]
fn a_ca_is_read_from_its_file_for_https_alone() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("ca.pem");
    fs::write(&path, CERTIFICATE).expect("the file can be written");
    let flags = |path| [("clickhouse.url", "https://a:8443,http://b:8123"), ("clickhouse.ca_file", path)];
    let config = loaded("", &[], &flags(path.to_str().expect("a text"))).expect("the file is there").config;
    assert_eq!(config.clickhouse.ca.as_deref(), Some(CERTIFICATE));
    let problem = loaded("", &[], &flags("/nowhere")).expect_err("there is no such file");
    assert!(problem.starts_with("--clickhouse-ca-file: can't read `clickhouse.ca_file`, `/nowhere`: "), "{problem}");
    let problem = loaded("", &[], &[("clickhouse.ca_file", path.to_str().expect("a text"))]).expect_err("no https");
    assert_eq!(
        problem,
        "`clickhouse.ca_file` (--clickhouse-ca-file) is given and `clickhouse.url` (default) has no `https` address, \
         so no certificate would be looked at"
    );
}

#[test]
fn a_ca_file_without_a_certificate_is_refused_with_its_path() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("ca.pem");
    let path = path.to_str().expect("a text");
    for content in ["", "x", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        fs::write(path, content).expect("the file can be written");
        let flags = [("clickhouse.url", "https://a:8443"), ("clickhouse.ca_file", path)];
        let problem = loaded("", &[], &flags).expect_err("no certificate");
        let begin = format!("--clickhouse-ca-file: `clickhouse.ca_file`, `{path}`, holds no certificate in PEM form");
        assert!(problem.starts_with(&begin) && problem.contains("; name a file of CA certificates"), "{problem}");
    }
}

#[test]
fn a_property_that_librdkafka_does_not_take_is_named_with_its_place_and_without_its_value() {
    let file = "[kafka.properties]\n\"sasl.pasword\" = \"hunter2\"\n";
    let problem = loaded(file, &[], &[("kafka.properties", "session.timeout.ms=hunter2")]).expect_err("both are wrong");
    let lines: Vec<_> = problem.lines().collect();
    assert!(lines[1].starts_with("  x.toml:2: `kafka.properties` can't have `sasl.pasword`: "), "{problem}");
    assert!(
        lines[2].starts_with("  --kafka-property: `kafka.properties` can't have `session.timeout.ms`: "),
        "{problem}"
    );
    assert!(lines.len() == 3 && !problem.contains("hunter2"), "{problem}");
}

#[test]
fn two_passwords_are_refused() {
    let environment = [("XTCP_INGEST_CLICKHOUSE_PASSWORD", "hunter2")];
    let problem = loaded("[clickhouse]\npassword_file = \"/x\"\n", &environment, &[]).expect_err("one too many");
    assert_eq!(
        problem,
        "`clickhouse.password` (XTCP_INGEST_CLICKHOUSE_PASSWORD) and `clickhouse.password_file` (x.toml:2) are both \
         given; keep one"
    );
}

#[test]
fn no_secret_shows_anywhere() {
    let file = "[clickhouse]\npassword = \"hunter2\"\n[kafka.properties]\n\"sasl.password\" = \"hunter2\"\n";
    let good = loaded(file, &[], &[]).expect("all allowed");
    for text in
        [format!("{:?}", good.config), format!("{:?}", good.shown), toml(&good.shown), json(&good.shown).to_string()]
    {
        assert!(!text.contains("hunter2"), "{text}");
    }
    assert!(toml(&good.shown).contains("\"sasl.password\" = \"***\""));

    let url = "http://u:hunter2@host";
    for (file, environment) in [
        (format!("[clickhouse]\nurl = \"{url}\"\n"), vec![]),
        ("[clickhouse]\npassword = \"hunter2\n".to_owned(), vec![]),
        (String::new(), vec![("XTCP_INGEST_CLICKHOUSE_URL", url)]),
        (String::new(), vec![("XTCP_INGEST_KAFKA_BROKERS", "SASL://u:hunter2@h:9092")]),
        (String::new(), vec![("XTCP_INGEST_KAFKA_BROKERS", "h:9092?sasl.password=hunter2")]),
    ] {
        let problem = loaded(&file, &environment, &[]).expect_err("not allowed");
        assert!(!problem.contains("hunter2"), "{problem}");
    }
    let problem = loaded("", &[], &[("kafka.properties", "sasl.password:hunter2")]).expect_err("there is no `=`");
    assert_eq!(problem, "--kafka-property: `kafka.properties` can't be given without a `=`; allowed is NAME=VALUE");
}

#[test]
fn what_config_check_prints_reads_back() {
    let file = "log = \"debug\"\n[kafka.properties]\n\"sasl.username\" = \"x\"\n[clickhouse.insert_settings]\ninsert_quorum = 2\n";
    let first = loaded(file, &[("XTCP_INGEST_BATCH_ROWS", "7")], &[]).expect("all allowed");
    let printed = toml(&first.shown);
    assert!(printed.contains("rows = 7") && printed.contains("# XTCP_INGEST_BATCH_ROWS"), "{printed}");
    let second = loaded(&printed, &[], &[]).expect("what was printed is allowed");
    let values = |loaded: &Loaded| {
        let secret = |s: &&Shown| !s.key.starts_with("kafka.properties");
        loaded.shown.iter().filter(secret).map(|s| (s.key.clone(), s.value.clone())).collect::<Vec<_>>()
    };
    assert_eq!(values(&first), values(&second));
}

#[test]
fn the_example_is_allowed_once_its_comments_are_taken_away() {
    let bare =
        |line: &str| line.strip_prefix("# ").filter(|l| l.contains(" = ") && !l.contains(". ")).map(str::to_owned);
    let example: String = example()
        .lines()
        // Paths in the example lead nowhere, and a name in a map is anybody's.
        .filter(|line| !line.contains("/path") && !line.contains("\"name\""))
        .map(|line| bare(line).unwrap_or_else(|| line.to_owned()) + "\n")
        .collect();
    let given = loaded(&example, &[], &[]).expect("the example is allowed");
    let from_file = given.shown.iter().filter(|s| s.origin.starts_with(|c: char| c != 'd' && c != 'n')).count();
    let left_out = settings::ALL.iter().filter(|s| s.is_map() || matches!(s.kind, kind::Kind::Path)).count();
    assert_eq!(from_file, settings::ALL.len() - left_out, "values that came from the example");
}
