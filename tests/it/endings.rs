//! A pass that doesn't come to its end: asked to, killed, refused, or with a server that takes nothing. What it leaves behind
//! holds nobody up for longer than it has to.

use std::{
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use serde::Deserialize;
use serde_json::Value;
use xtcp_ingest::{
    bootstrap::{Controller, Definitions, Lease, Parameters, Report, State, Taken, Timing},
    clickhouse::{Class, Client},
    config,
    tree::Tree,
};

use crate::{
    engine::Engine,
    interposer::{Answer, Interposer},
    process::Ingest,
    schema::Operator,
    setup::{Memory, QUICK, Setup, all_on},
    support::{self, Database, bench},
};

/// Makes a pass long enough to be met in the middle.
fn slow() -> Interposer {
    Interposer::new(|statement| match statement.starts_with("CREATE TABLE") {
        true => Answer::Late(Duration::from_millis(500)),
        false => Answer::Forward,
    })
}

/// Waits until a pass under the lease has begun to create.
async fn in_the_middle(database: &Database) {
    let begin = Instant::now();
    while database.count("system.tables WHERE database = '{db}' AND name = 'xtcp_flat_records_v0'").await == 0 {
        assert!(begin.elapsed() < Duration::from_secs(60), "no pass began");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[derive(Deserialize, Debug)]
struct Claim {
    released: u8,
    is_live: u8,
}

/// The newest row of the lock.
async fn claim(database: &Database) -> Claim {
    let sql = "SELECT released, toUInt8(expires_at > now()) AS is_live FROM {db}.schema_lock ORDER BY acquired_at DESC LIMIT 1";
    database.query(sql).await.remove(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_in_the_middle_of_a_pass_gives_the_lease_back() {
    let (database, topic) = bench("asked", 1).await;
    let interposer = slow();
    let mut ingest = Ingest::start(&database, &topic, &[], &[("CLICKHOUSE_URL", &interposer.url)]);
    in_the_middle(&database).await;
    ingest.signal("TERM");
    assert_eq!(ingest.wait_within(Duration::from_secs(10)).code(), Some(0), "{}", ingest.log());
    assert_eq!(claim(&database).await.released, 1, "{}", ingest.log());
    assert_eq!(database.count("{db}.schema_migrations").await, 0, "a pass that ended early records nothing");
    assert_eq!(database.count("system.tables WHERE database = '{db}' AND name = 'xtcp_flat_records_unified'").await, 0);

    // Whoever comes next doesn't wait for a lease to lapse.
    let begin = Instant::now();
    let mut next = Ingest::start(&database, &topic, &[], &[]);
    next.wait_for_log("joining the group");
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}\n{}", begin.elapsed(), next.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_who_interrupts_an_apply_gives_the_lease_back() {
    let operator = Operator::new("interrupted").await;
    let interposer = slow();
    let mut command = operator.command(&["apply"], &[("CLICKHOUSE_URL", &interposer.url)]);
    let apply = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    in_the_middle(&operator.database).await;
    let kill = std::process::Command::new("sh").args(["-c", &format!("kill -INT {}", apply.id())]).status();
    assert!(kill.expect("a shell").success());
    let output = apply.wait_with_output().expect("it ends");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("the pass was asked to end before it was done"), "{err}");
    assert_eq!(claim(&operator.database).await.released, 1, "{err}");
    assert_eq!(operator.schema(&["apply"], &[("BOOTSTRAP_WAIT_SECONDS", "20")]).0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_claim_of_a_killed_process_lapses() {
    let (database, topic) = bench("killed_pass", 1).await;
    let interposer = slow();
    let settings = [("CLICKHOUSE_URL", interposer.url.as_str()), ("BOOTSTRAP_WAIT_SECONDS", "5")];
    let mut ingest = Ingest::start(&database, &topic, &[], &settings);
    in_the_middle(&database).await;
    ingest.signal("KILL");
    ingest.wait();
    let left = claim(&database).await;
    assert_eq!((left.released, left.is_live), (0, 1));

    let operator = Operator { topic: topic.name.clone(), database };
    let (code, out, _) = operator.schema(&["apply"], &[("BOOTSTRAP_WAIT_SECONDS", "1")]);
    let seconds = out.split("holds it, for ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<u64>().ok());
    assert!(code == 3 && seconds.is_some_and(|seconds| seconds <= 120), "{code} {out}");
    // As when that time is over.
    let lapsed = "INSERT INTO {db}.schema_lock SELECT lock_name, holder, acquired_at + INTERVAL 1 MILLISECOND, now(), 0 \
                  FROM {db}.schema_lock ORDER BY acquired_at DESC LIMIT 1";
    operator.database.execute(lapsed).await;
    let settings = [("BOOTSTRAP_WAIT_SECONDS", "20"), ("RETENTION_DAYS", "0"), ("ERRORS_RETENTION_DAYS", "0")];
    let (code, out, err) = operator.schema(&["apply"], &settings);
    assert_eq!(code, 0, "the next pass finishes it: {out}{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_can_not_be_given_back_is_counted_and_fails_nothing() {
    let (database, topic) = bench("kept", 1).await;
    let interposer = Interposer::new(|statement| {
        let is_release = statement.contains("schema_lock") && statement.ends_with("now(), 1");
        if is_release { Answer::Refuse(242, "Table is in readonly mode") } else { Answer::Forward }
    });
    let mut ingest = Ingest::start(&database, &topic, &[], &[("CLICKHOUSE_URL", &interposer.url)]);
    ingest.wait_for_log("joining the group");
    assert_eq!(ingest.metric("xtcp_ingest_schema_lease_release_failures_total"), Some(1.0));
    assert_eq!(ingest.metric("xtcp_ingest_schema_bootstrap_state"), Some(1.0), "converged all the same");
    assert!(ingest.log().contains("the lease could not be given back and lapses by itself"), "{}", ingest.log());
    assert_eq!(claim(&database).await.released, 0);
}

fn state(ingest: &mut Ingest) -> (String, String) {
    let (_, body) = ingest.get("/api/v1/system/schema");
    let report: Value = serde_json::from_str(&body).expect("JSON");
    (report["state"].as_str().unwrap_or("").to_owned(), report["error"].as_str().unwrap_or("").to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_pass_is_run_again_until_it_goes_well() {
    let (database, topic) = bench("again", 1).await;
    let refusals = Arc::new(AtomicU32::new(0));
    let counted = refusals.clone();
    let interposer = Interposer::new(move |statement| {
        let is_refused = statement.contains("`xtcp_flat_records_v1`") && statement.starts_with("CREATE TABLE");
        if is_refused && counted.fetch_add(1, Ordering::SeqCst) < 2 {
            return Answer::Refuse(497, "default: Not enough privileges");
        }
        Answer::Forward
    });
    let mut ingest = Ingest::start(&database, &topic, &[], &[("CLICKHOUSE_URL", &interposer.url)]);
    ingest.wait_for_log("not ready, nothing is consumed");
    let (status, body) = ingest.get("/readyz");
    assert!(status == 503 && body.contains("xtcp_flat_records_v1") && body.contains("ddl/roles"), "{status} {body}");
    assert_eq!(ingest.get("/livez").0, 200);
    ingest.wait_for_log("joining the group");
    assert!(refusals.load(Ordering::SeqCst) >= 3, "it was tried again");
    assert_eq!((ingest.get("/readyz").0, state(&mut ingest).0), (200, "converged".to_owned()));
    assert!(ingest.log().lines().all(|line| line.starts_with("20")), "a record is a line: {}", ingest.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_observed_pass_is_run_again_until_the_lease_is_free() {
    let setup = Setup::new("observes").await;
    assert_eq!(setup.apply(false).await.state, State::Converged);
    let (name, client) = (&setup.database.name, &setup.database.client);
    let timing = Timing { settle: Duration::from_secs(1), ..Timing::default() };
    let table = format!("`{name}`.`schema_lock`");
    let lease = Lease { client, table, timing, length: Duration::from_secs(60), quorum: false };
    let Ok(Taken::Mine(held)) = lease.acquire(Duration::from_secs(90), None).await else { panic!("it is free") };
    let topic = crate::topic::Topic::new(name, 1).await;
    let mut ingest = Ingest::start(&setup.database, &topic, &[], &[("BOOTSTRAP_WAIT_SECONDS", "1")]);
    ingest.wait_for_log("not ready, nothing is consumed: the schema is locked");
    let (state, error) = state(&mut ingest);
    assert!(matches!(state.as_str(), "observed" | "running"), "{state}: {error}");
    assert_eq!(ingest.get("/readyz").0, 503);
    lease.release(&held).await.expect("released");
    ingest.wait_for_log("joining the group");
    assert_eq!(ingest.get("/readyz").0, 200);
}

fn client(database: &Database, interposer: &Interposer) -> Client {
    let mut config = support::clickhouse(&database.name);
    config.urls = vec![interposer.url.parse().expect("a URL")];
    Client::new(&config).expect("a client")
}

async fn brief(setup: &Setup, client: &Client) -> Arc<Report> {
    let dials = config::Bootstrap { wait: Duration::from_secs(1), ..all_on() };
    let controller = Controller::new(client, &setup.topics, &setup.definitions, &setup.parameters, dials);
    controller.timing(QUICK).pass().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_server_is_waited_for_named_and_taken_up_when_it_writes_again() {
    let is_read_only = Arc::new(AtomicBool::new(true));
    let now = is_read_only.clone();
    // The engine itself refuses: the setting is what a profile of such a server holds.
    let interposer = Interposer::new(move |_| match now.load(Ordering::SeqCst) {
        true => Answer::With("readonly=1"),
        false => Answer::Forward,
    });
    let setup = Setup::new("read_only").await;
    let report = brief(&setup, &client(&setup.database, &interposer)).await;
    let text = report.error.as_ref().expect("it is refused").to_string();
    assert!(text.starts_with("ClickHouse is up and still refuses after 1 s: "), "{text}");
    assert!(text.contains("164 READONLY") && text.contains("is the server read-only"), "{text}");
    assert_eq!((report.state, report.objects.len()), (State::Failed, 0));
    assert_eq!(setup.database.count("system.databases WHERE name = '{db}'").await, 0, "nothing came of it");

    // The same for a process: not ready, then ready; and held in the middle, then placed.
    let topic = crate::topic::Topic::new(&setup.database.name, 1).await;
    let settings = [("CLICKHOUSE_URL", interposer.url.as_str()), ("BOOTSTRAP_WAIT_SECONDS", "1")];
    let mut ingest = Ingest::start(&setup.database, &topic, &[], &settings);
    ingest.wait_for_log("164 READONLY");
    assert_eq!(ingest.get("/readyz").0, 503);
    is_read_only.store(false, Ordering::SeqCst);
    ingest.wait_for_log("joining the group");
    topic.send_records(2, 0..100);
    ingest.wait_until("placed", |_| topic.total_committed() == 100);
    is_read_only.store(true, Ordering::SeqCst);
    topic.send_records(2, 100..200);
    ingest.wait_for_log("the table takes no rows at the moment");
    assert_eq!(topic.total_committed(), 100);
    is_read_only.store(false, Ordering::SeqCst);
    ingest.wait_until("placed", |_| topic.total_committed() == 200);
    assert_eq!(setup.database.count("{db}.xtcp_flat_records_v2").await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_that_forbids_what_inserts_carry_is_waited_for_and_named() {
    let interposer = Interposer::new(|statement| {
        // Of the server's answer to any setting in a read-only profile.
        if statement == "SELECT 1" {
            Answer::Refuse(164, "Cannot modify setting in readonly mode")
        } else {
            Answer::Forward
        }
    });
    let error = client(&Database::new("profile").await, &interposer).check_insert_settings().await;
    let error = error.expect_err("it is refused");
    assert_eq!((error.class(), error.code()), (Class::Retry, Some(164)), "{error}");
    let text = error.to_string();
    assert!(text.contains("it refuses `async_insert = 0`") && text.contains("profile of `clickhouse.user`"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_finds_no_majority_of_replicas_observes_and_applies_nothing() {
    for (code, text) in
        [(285, "Number of alive replicas is less"), (286, "Quorum for previous write"), (319, "Unknown status")]
    {
        let interposer = Interposer::new(move |statement| {
            let is_claim = statement.starts_with("INSERT INTO") && statement.ends_with(", 0");
            if is_claim { Answer::Refuse(code, text) } else { Answer::Forward }
        });
        let setup = Setup::new(&format!("majority_{code}")).await;
        let report = brief(&setup, &client(&setup.database, &interposer)).await;
        let error = report.error.as_ref().expect("it is not taken").to_string();
        assert!(error.contains("a claim finds no majority of replicas") && error.contains(text), "{error}");
        assert_eq!((report.state, report.is_ready(), report.objects.len()), (State::Observed, false, 0));
        assert_eq!(setup.database.count("system.tables WHERE database = '{db}' AND name LIKE 'xtcp%'").await, 0);
        assert_eq!(setup.apply(false).await.state, State::Converged);
    }
}

/// A disk on which so much has to stay free that nothing may be written.
const FULL: &str = "<storage_configuration><disks><full><type>local</type><path>FOLDER/full/</path>\
                    <keep_free_space_bytes>1000000000000000</keep_free_space_bytes></full></disks><policies><full><volumes>\
                    <all><disk>full</disk></all></volumes></full></policies></storage_configuration>";

#[tokio::test(flavor = "multi_thread")]
async fn a_full_server_is_named_with_what_to_do_and_leaves_nothing_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = Engine::start(&[], &FULL.replace("FOLDER", &folder.path().display().to_string()));
    let on_the_full_disk = |path: &str| {
        let embedded = Tree::embedded();
        let mut files: Vec<(String, String)> = embedded.files().map(|(p, f)| (p.to_owned(), f.text.clone())).collect();
        let (_, text) = files.iter_mut().find(|(p, _)| p == path).expect("the table");
        *text = text.replace("settings: { ", "settings: { storage_policy: full, ");
        assert!(text.contains("storage_policy: full"), "{text}");
        let tree = Tree::from_files("ddl", files.iter().map(|(p, t)| (p.as_str(), t.as_str())));
        Definitions::of(&tree).expect("sound")
    };
    for (table, what) in [("tables/schema_lock.yaml", "the lease"), ("tables/schema_migrations.yaml", "the ledger")] {
        let database = format!("full_{}", what.len());
        let definitions = on_the_full_disk(table);
        let supply = |s: &str| (s == "XTCP_INGEST_CLICKHOUSE_DATABASE").then(|| database.clone());
        let parameters = Parameters::supplied(&definitions.manifest, supply);
        let (client, topics) = (engine.client("default", &database), Memory::default());
        let dials = config::Bootstrap { wait: Duration::from_secs(1), ..all_on() };
        let controller = Controller::new(&client, &topics, &definitions, &parameters, dials).timing(QUICK);
        let report = controller.pass().await;
        let text = report.error.as_ref().expect("it is refused").to_string();
        // How long it was depends on how busy the machine is.
        assert!(text.starts_with("ClickHouse is up and still refuses after "), "{what}: {text}");
        assert!(
            text.contains("243 NOT_ENOUGH_SPACE") && text.contains("make room on the server's disks"),
            "{what}: {text}"
        );
        assert_eq!(report.state, State::Failed);
        let recorded = controller.recorded().await.expect("an answer").expect("a ledger");
        assert_eq!(recorded, [], "{what}: nothing is recorded that can't be written down");
    }
}
