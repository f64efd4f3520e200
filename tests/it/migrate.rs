//! `migrate`: from a changed `.proto` to rows, as a maintainer and an operator go.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
};

use serde::Deserialize;
use serde_json::Value;

use xtcp_ingest::bootstrap::{Definitions, Platform};

use crate::{
    interposer::{Answer, Interposer},
    process::{Ingest, generate},
    repository::Repository,
    support::{self, Database, bench},
    topic::Topic,
};

impl Repository {
    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn ddl(&self) -> String {
        self.path("ddl").display().to_string()
    }

    /// Edits the `.proto` into `new.proto`, and has the definitions written.
    fn make(&self, edits: &[(&str, &str)], renames: &[&str]) -> Value {
        let text = fs::read_to_string(self.path("proto/xtcp_flat_record.proto")).expect("the .proto");
        let text = edits.iter().fold(text, |text, (from, to)| {
            assert_eq!(text.matches(from).count(), 1, "{from}");
            text.replace(from, to)
        });
        let new = self.path("new.proto");
        fs::write(&new, text).expect("written");
        let ddl = self.ddl();
        let mut arguments = vec!["new", "--json", "--dir", &ddl];
        for rename in renames {
            arguments.extend(["--rename", rename]);
        }
        let new = new.display().to_string();
        arguments.push(&new);
        let (code, out, err) = ended(migrate(&arguments));
        assert_eq!(code, 0, "{out}{err}");
        serde_json::from_str(&out).expect("JSON")
    }
}

/// `migrate` in an environment that holds nothing.
fn migrate(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtcp-ingest"));
    command.arg("migrate").args(arguments).env_clear();
    command
}

/// An operator's `migrate` or `schema`, on a database.
pub fn operate(words: &[&str], database: &Database, url: Option<&str>, ddl: Option<&str>) -> Command {
    let clickhouse = support::clickhouse(&database.name);
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtcp-ingest"));
    command.args(words).env_clear();
    for (name, value) in [
        ("KAFKA_BROKERS", support::kafka_brokers().as_str()),
        ("KAFKA_TOPIC", &database.name),
        ("CLICKHOUSE_URL", url.unwrap_or(clickhouse.urls[0].as_str())),
        ("CLICKHOUSE_DATABASE", &clickhouse.database),
        ("CLICKHOUSE_USER", &clickhouse.user),
        ("CLICKHOUSE_PASSWORD", clickhouse.password.reveal()),
        ("PLATFORM", "single"),
        ("RETENTION_DAYS", "0"),
        ("ERRORS_RETENTION_DAYS", "0"),
        ("LOG", "warn"),
    ] {
        command.env(format!("XTCP_INGEST_{name}"), value);
    }
    if let Some(ddl) = ddl {
        command.env("XTCP_INGEST_SCHEMAS_DIR", ddl);
    }
    command
}

pub fn ended(mut command: Command) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command.output().expect("the command runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (status.code().unwrap_or(-1), text(stdout), text(stderr))
}

/// Runs an ingest until it has caught up.
fn ingest(database: &Database, topic: &Topic, ddl: Option<&str>) {
    let ddl = ddl.map(|ddl| ("SCHEMAS_DIR", ddl));
    let mut ingest = Ingest::start(database, topic, &["--until-caught-up"], ddl.as_slice());
    assert_eq!(ingest.wait_within(std::time::Duration::from_secs(180)).code(), Some(0), "{}", ingest.log());
}

async fn sum(database: &Database, of: &str, table: &str) -> u64 {
    #[derive(Deserialize)]
    struct Sum {
        n: u64,
    }
    database.query::<Sum>(&format!("SELECT toUInt64(sum({of})) AS n FROM {{db}}.{table}")).await.remove(0).n
}

const THIRD: &[(&str, &str)] = &[
    ("uint32 tcp_info_rto = 1215", "uint32 tcp_info_rto_us = 1215"),
    ("uint64 socket_fd = 61", "uint64 netlink_fd = 61"),
    ("string location = 21", "string location = 22"),
    ("uint64 inet_diag_cgroup_id = 2003", "uint64 inet_diag_cgroup = 2004"),
    ("  string label = 50;\n", ""),
    ("  string tag = 51;\n", "  string tag = 51;\n\n  // The boot of the host.\n  string boot_id = 55;\n"),
];
const THIRD_RENAMES: &[&str] =
    &["tcp_info_rto=tcp_info_rto_us", "socket_fd=netlink_fd", "inet_diag_cgroup_id=inet_diag_cgroup"];
const FOURTH: &[(&str, &str)] = &[
    ("uint32 tcp_info_rto_us = 1215", "uint32 tcp_info_rto_micros = 1215"),
    ("uint32 tcp_info_rtt = 1230", "uint64 tcp_info_rtt = 1230"),
    ("LOCALITY_REMOTE = 3", "LOCALITY_FAR = 3"),
    ("  string tag = 51;\n", "  string tag = 51;\n  bytes key = 52;\n"),
];

#[tokio::test(flavor = "multi_thread")]
async fn two_new_epochs_go_from_a_proto_to_rows_of_a_mixed_fleet() {
    let (database, topic) = bench("epochs", 3).await;
    let repository = Repository::new();
    let (code, out, err) = ended(operate(&["schema", "apply"], &database, None, None));
    assert_eq!(code, 0, "{out}{err}");

    // The third epoch is sent before anybody is ready for it.
    let made = repository.make(THIRD, THIRD_RENAMES);
    assert_eq!((&made["epoch"], &made["is_new_epoch"]), (&Value::from(3), &Value::from(true)));
    let ddl = repository.ddl();
    let sent = generate(&topic.name, &["--rows", "3000", "--schemas-dir", &ddl, "--mix", "e3=50,e2=50"]);
    ingest(&database, &topic, None);
    let early = sent["rows"]["xtcp_flat_records_v3"].as_u64().expect("rows of epoch 3");
    let v2 = sent["rows"]["xtcp_flat_records_v2"].as_u64().expect("rows of epoch 2");
    assert!(early > 0 && v2 > 0);
    assert_eq!(database.count("{db}.xtcp_flat_records_errors WHERE reason = 'unknown_epoch'").await, early);
    assert_eq!(database.count("{db}.xtcp_flat_records_v2").await, v2);

    let plan = ended(operate(&["migrate", "plan"], &database, None, Some(&ddl)));
    assert_eq!(plan.0, 2, "{plan:?}");
    for part in ["+ create   table", "xtcp_flat_records_v3", "~ alter    merge", "~ alter    view"] {
        assert!(plan.1.contains(part), "{part}: {}", plan.1);
    }
    assert!(plan.1.contains("1 to create, 2 to alter, 0 refused"), "{}", plan.1);
    assert!(plan.1.contains(&format!("{early} records of epoch 3 as unknown_epoch")), "{}", plan.1);
    assert!(!plan.1.contains("topic"), "{}", plan.1);
    let (code, out, err) = ended(operate(&["migrate", "apply"], &database, None, Some(&ddl)));
    assert_eq!(code, 0, "{out}{err}");
    for part in [
        "converged: 1 created, 2 altered",
        "xtcp_flat_records: was definitions 2, is definitions 3",
        "xtcp_flat_records_v3: was nothing, is definitions 3",
        "restart the ingest processes",
        "location (21 -> 22)",
        &format!("{early} records of epoch 3 as unknown_epoch"),
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }

    let made = repository.make(FOURTH, &["tcp_info_rto_us=tcp_info_rto_micros"]);
    assert_eq!(made["epoch"], 4);
    let (code, out, err) = ended(operate(&["migrate", "apply", "--json"], &database, None, Some(&ddl)));
    assert_eq!(code, 0, "{out}{err}");
    let applied: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((&applied["counts"]["created"], &applied["epoch"]), (&Value::from(1), &Value::from(4)), "{applied}");
    for words in [["migrate", "plan"], ["schema", "plan"]] {
        let (code, out, err) = ended(operate(&words, &database, None, Some(&ddl)));
        assert_eq!(code, 0, "nothing is left to do: {out}{err}");
    }

    let arguments = ["--rows", "20000", "--schemas-dir", &ddl, "--first-cookie", "100000", "--hosts", "60"];
    let sent = generate(&topic.name, &arguments);
    ingest(&database, &topic, Some(&ddl));
    let (mut all, mut rto) = (0, 0);
    for (table, name) in [
        ("xtcp_flat_records_v0", "tcp_info_rto"),
        ("xtcp_flat_records_v1", "tcp_info_rto"),
        ("xtcp_flat_records_v2", "tcp_info_rto"),
        ("xtcp_flat_records_v3", "tcp_info_rto_us"),
        ("xtcp_flat_records_v4", "tcp_info_rto_micros"),
    ] {
        let before = if table.ends_with("v2") { v2 } else { 0 };
        let rows = sent["rows"][table].as_u64().expect(table);
        assert!(rows > 1000, "{table}: {rows}");
        assert_eq!(database.count(&format!("{{db}}.{table}")).await, rows + before, "{table}");
        all += rows + before;
        let of_table = sum(&database, name, table).await;
        assert!(of_table > 0, "{table} has its own name");
        rto += of_table;
    }
    for reader in ["xtcp_flat_records", "xtcp_flat_records_unified"] {
        assert_eq!(database.count(&format!("{{db}}.{reader}")).await, all, "{reader}");
    }
    // The view has all epochs under the newest names, the Merge table only what bears them.
    assert_eq!(sum(&database, "tcp_info_rto_micros", "xtcp_flat_records_unified").await, rto);
    assert!(sum(&database, "tcp_info_rto_micros", "xtcp_flat_records").await < rto);
    let far = "{db}.xtcp_flat_records_unified WHERE enrich_socket_dest_locality = 'far'";
    let remote = "{db}.xtcp_flat_records_v0 WHERE enrich_socket_dest_locality = 'remote'";
    assert!(database.count(far).await >= database.count(remote).await);
    assert_eq!(database.count("{db}.xtcp_flat_records_errors WHERE reason != 'unknown_epoch'").await, 0);
}

/// A statement that changes something, the lease's own aside.
fn is_step(statement: &str) -> bool {
    let changes = ["CREATE ", "ALTER ", "INSERT "].iter().any(|word| statement.starts_with(word));
    let object = statement.split_whitespace().nth(2).unwrap_or("");
    // Of an insert of a block, the URL is what is seen.
    (changes && !object.contains("schema_lock")) || statement.contains("query=INSERT")
}

/// Runs a command that is killed when it sends its `at`-th step, which never arrives; what it sends before does. Its exit
/// code, `None` for one that was killed, and the steps.
fn killed_at(at: u32, words: &[&str], database: &Database, ddl: &str) -> (Option<i32>, Vec<String>) {
    let (pid, left) = (Arc::new(AtomicU32::new(0)), AtomicU32::new(at));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let interposer = {
        let (pid, seen) = (pid.clone(), seen.clone());
        Interposer::new(move |statement| {
            if !is_step(statement) {
                return Answer::Forward;
            }
            let words: Vec<&str> = statement.split_whitespace().take(4).collect();
            seen.lock().expect("alive").push(words.join(" "));
            if left.fetch_sub(1, Ordering::SeqCst) != 1 {
                return Answer::Forward;
            }
            let kill = format!("kill -KILL {}", pid.load(Ordering::SeqCst));
            assert!(Command::new("sh").args(["-c", &kill]).status().expect("a shell").success());
            Answer::Reply("")
        })
    };
    let mut command = operate(words, database, Some(&interposer.url), Some(ddl));
    let mut child = command.stdout(Stdio::null()).spawn().expect("the command runs");
    pid.store(child.id(), Ordering::SeqCst);
    let status = child.wait().expect("a child");
    let steps = seen.lock().expect("alive").clone();
    (status.code(), steps)
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_every_step_a_rollout_is_finished_by_the_next_run() {
    let database = Database::new("killed").await;
    let (code, out, err) = ended(operate(&["schema", "apply"], &database, None, None));
    assert_eq!(code, 0, "{out}{err}");
    let repository = Repository::new();
    repository.make(THIRD, THIRD_RENAMES);
    let ddl = repository.ddl();

    let mut seen_steps = Vec::new();
    for at in [1, 2, 1, 2, 1, 2, 1] {
        let (code, seen) = killed_at(at, &["migrate", "apply"], &database, &ddl);
        seen_steps.push(seen);
        assert_eq!(code, None, "killed: {seen_steps:?}");
        // Nobody gives the lease of a process back that was killed: it lapses, here at once.
        database.execute("TRUNCATE TABLE {db}.schema_lock").await;
    }
    let (code, out, err) = ended(operate(&["migrate", "apply"], &database, None, Some(&ddl)));
    assert_eq!(code, 0, "{seen_steps:?}\n{out}{err}");
    assert!(out.contains("converged: 0 created, 0 altered"), "every step had been done: {seen_steps:?}\n{out}");
    for words in [["migrate", "plan"], ["schema", "plan"]] {
        assert_eq!(ended(operate(&words, &database, None, Some(&ddl))).0, 0, "{words:?}");
    }
    let steps: Vec<&str> = seen_steps.iter().flatten().map(String::as_str).collect();
    for step in ["CREATE TABLE", "CREATE OR REPLACE TABLE", "CREATE OR REPLACE VIEW"] {
        let killed = seen_steps.iter().filter(|run| run.last().is_some_and(|last| last.starts_with(step))).count();
        assert!(killed > 0, "never killed at {step}: {steps:?}");
    }

    let (code, out, err) = ended(operate(&["migrate", "status", "--json"], &database, None, Some(&ddl)));
    assert_eq!(code, 0, "{out}{err}");
    let status: Value = serde_json::from_str(&out).expect("JSON");
    let recorded = status["recorded"].as_array().expect("rows");
    let is_newest = |row: &&Value| row["schemas_version"] == "3";
    let names: Vec<&str> = recorded.iter().filter(is_newest).filter_map(|row| row["object"].as_str()).collect();
    for name in ["xtcp_flat_records_v3", "xtcp_flat_records", "xtcp_flat_records_unified"] {
        assert!(names.contains(&name), "{name}: {status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_join_a_live_epoch_while_records_land() {
    let (database, topic) = bench("columns", 2).await;
    let mut running = Ingest::start(&database, &topic, &[], &[]);
    running.wait_for_log("HTTP surface");
    let count = async |of: &str| database.count(&format!("{{db}}.{of}")).await;
    generate(&topic.name, &["--rows", "2000", "--mix", "e2=1"]);
    running.wait_until("rows", |_| true);

    let columns: Vec<String> = (1..=11)
        .map(|n| format!("  uint32 tcp_info_later_{n} = {};\u{20}// tcp_info.tcpi_later_{n}\n", 1276 + n))
        .collect();
    let last = "  uint32 tcp_info_options2 = 1276; // tcp_info.tcpi_options2\n";
    let with = format!("{last}{}", columns.concat());
    let repository = Repository::new();
    let made = repository.make(&[(last, &with)], &[]);
    assert_eq!((&made["epoch"], &made["is_new_epoch"]), (&Value::from(2), &Value::from(false)));
    let ddl = repository.ddl();

    // Records of daemons with the new fields come while the tables change.
    let sender = {
        let (topic, ddl) = (topic.name.clone(), ddl.clone());
        std::thread::spawn(move || {
            generate(&topic, &["--rows", "4000", "--mix", "e2=1", "--rate", "1000", "--schemas-dir", &ddl])
        })
    };
    let (code, out, err) = ended(operate(&["migrate", "apply"], &database, None, Some(&ddl)));
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("tcp_info_later_1") && out.contains("converged: 0 created, 3 altered"), "{out}");
    sender.join().expect("sent");
    running.wait_until("all rows", |ingest| !ingest.log().is_empty());
    for _ in 0..300 {
        if count("xtcp_flat_records_v2").await == 6000 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    assert_eq!(count("xtcp_flat_records_v2").await, 6000, "{}", running.log());
    assert_eq!(running.lines("ERROR", ""), 0, "{}", running.log());
    running.signal("TERM");
    assert_eq!(running.exit_code(), Some(0));

    // With the new definitions the fields land; rows before read the default, in all three.
    // One record, of epoch 2 and with 7 in field 1287, in its envelope and frame.
    topic.send(0, [[7, 0x52, 5, 0x08, 2, 0xb8, 0x50, 7]]);
    ingest(&database, &topic, Some(&ddl));
    for reader in ["xtcp_flat_records_v2", "xtcp_flat_records", "xtcp_flat_records_unified"] {
        assert_eq!(count(&format!("{reader} WHERE tcp_info_later_11 = 0")).await, 6000, "{reader}");
        assert_eq!(count(&format!("{reader} WHERE tcp_info_later_11 = 7")).await, 1, "{reader}");
    }
    assert_eq!(count("xtcp_flat_records_errors").await, 0);
    for words in [["migrate", "plan"], ["schema", "plan"]] {
        assert_eq!(ended(operate(&words, &database, None, Some(&ddl))).0, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn diverted_records_are_placed_once_wherever_a_replay_is_killed() {
    let (database, topic) = bench("replay", 3).await;
    let (code, out, err) = ended(operate(&["schema", "apply"], &database, None, None));
    assert_eq!(code, 0, "{out}{err}");
    let repository = Repository::new();
    repository.make(THIRD, THIRD_RENAMES);
    let ddl = repository.ddl();
    let sent = generate(
        &topic.name,
        &["--rows", "3000", "--schemas-dir", &ddl, "--mix", "e3=50,e2=50", "--faults", "enum_value=5"],
    );
    ingest(&database, &topic, None);
    let early = sent["rows"]["xtcp_flat_records_v3"].as_u64().expect("rows of epoch 3");
    let errors = database.count("{db}.xtcp_flat_records_errors").await;
    assert!(early > 500 && errors >= early);
    let replay = |arguments: &[&str], ddl: Option<&str>| {
        ended(operate(&[&["migrate", "replay"], arguments].concat(), &database, None, ddl))
    };
    let (code, out, err) = replay(&[], None);
    assert!(code == 0 && out == "no record of unknown_epoch can be placed\n", "{code} {out}{err}");
    let (code, out, err) = ended(operate(&["migrate", "apply"], &database, None, Some(&ddl)));
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("migrate replay` places them"), "{out}");

    // Killed at: the table of marks, the marks, the records, and the end's mark when the records are there.
    let mut seen = Vec::new();
    for at in [1, 2, 3, 3] {
        let (code, steps) = killed_at(at, &["migrate", "replay"], &database, &ddl);
        seen.push(steps);
        assert_eq!(code, None, "killed: {seen:?}");
        database.execute("TRUNCATE TABLE {db}.schema_lock").await;
        let there = database.count("{db}.xtcp_flat_records_v3").await;
        assert_eq!(there > 0, seen.len() == 4, "{there} rows after {seen:?}");
    }
    assert!(seen[2][2].contains("query=INSERT") && seen[3][1].contains("query=INSERT"), "{seen:?}");
    // Records that were broken on purpose could not be told from good ones before their epoch was known.
    let broken = database.count("{db}.xtcp_flat_records_errors WHERE reason = 'unknown_epoch'").await - early;
    let (code, out, err) = replay(&["--json"], Some(&ddl));
    assert_eq!(code, if broken > 0 { 2 } else { 0 }, "{seen:?} {out}{err}");
    let done: Value = serde_json::from_str(&out).expect("JSON");
    let count = |of: &str| done[of]["xtcp_flat_records_v3"].as_u64().unwrap_or(0);
    assert_eq!(count("finished") + count("placed"), database.count("{db}.xtcp_flat_records_v3").await, "{done}");
    let once = "SELECT DISTINCT inet_diag_msg_socket_cookie FROM {db}.xtcp_flat_records_v3";
    let rows = database.count("{db}.xtcp_flat_records_v3").await;
    assert_eq!(database.count(&format!("({once})")).await, rows, "every record once");
    assert_eq!(rows, early, "{done}");
    assert_eq!(done["refused"]["enum_value"].as_u64().unwrap_or(0), broken, "{done}");

    let again = replay(&[], Some(&ddl));
    assert!(!again.1.contains("placed\n") && !again.1.contains("are there"), "{again:?}");
    assert_eq!(database.count("{db}.xtcp_flat_records_v3").await, rows, "and not again");
    assert_eq!(database.count("{db}.xtcp_flat_records_errors").await, errors, "the error table is as it was");
    let (code, out, err) = replay(&["--reason", "framing"], Some(&ddl));
    assert!(code == 1 && err.contains("`framing` is no reason that records are diverted for"), "{code} {out}{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_label_that_was_missing_is_mended_and_its_records_are_placed() {
    let (database, topic) = bench("label", 1).await;
    let (code, out, err) = ended(operate(&["schema", "apply"], &database, None, None));
    assert_eq!(code, 0, "{out}{err}");
    generate(&topic.name, &["--rows", "500", "--mix", "e2=1", "--faults", "enum_value=5"]);
    ingest(&database, &topic, None);
    assert_eq!(database.count("{db}.xtcp_flat_records_errors WHERE reason = 'enum_value'").await, 5);
    let words = ["migrate", "replay", "--reason", "enum_value"];
    let (code, out, err) = ended(operate(&words, &database, None, None));
    assert!(code == 2 && out == "5 records are refused still: enum_value\n", "{code} {out}{err}");

    let repository = Repository::new();
    let made = repository.make(&[("LOCALITY_REMOTE = 3;", "LOCALITY_REMOTE = 3;\n  LOCALITY_TUNNEL = 4;")], &[]);
    assert_eq!(made["is_new_epoch"], false);
    let ddl = repository.ddl();
    let refused = ended(operate(&["migrate", "apply"], &database, None, Some(&ddl)));
    assert_eq!(refused.0, 2, "a label needs to be asked for: {refused:?}");
    let (code, out, err) = ended(operate(&["migrate", "apply", "--allow-drift"], &database, None, Some(&ddl)));
    assert_eq!(code, 0, "{out}{err}");
    let (code, out, err) = ended(operate(&words, &database, None, Some(&ddl)));
    assert!(code == 0 && out == "xtcp_flat_records_v2: 5 records placed\n", "{code} {out}{err}");
    let tunnel = "{db}.xtcp_flat_records_v2 WHERE enrich_socket_dest_locality = 'tunnel'";
    assert_eq!(database.count(tunnel).await, 5);
    assert_eq!(database.count("{db}.xtcp_flat_records_v2").await, 505);
}

#[derive(Debug, PartialEq, Deserialize)]
struct Column {
    table: String,
    name: String,
    r#type: String,
    compression_codec: String,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_of_the_first_epochs_gains_the_second_and_keeps_what_it_has() {
    for extra in [true, false] {
        let database = Database::new("first_epochs").await;
        let definitions = Definitions::embedded().expect("sound definitions");
        let parameters = database.parameters(&definitions);
        let v0 = definitions.objects.iter().find(|o| o.entry.id.value == "data.flat_v0").expect("epoch 0");
        let statement = definitions.statement(v0, &parameters, Platform::Single).expect("a table");
        // As such deployments were made: no settings, a month, two columns that nobody ever filled, one table like the other.
        let (table, _) = statement.sql.split_once("\nSETTINGS").expect("settings");
        let cookie = "    `inet_diag_msg_expires`";
        let never = "    `inet_diag_msg_socket_dest_asn` UInt64 CODEC(LZ4),\n    \
                     `inet_diag_msg_socket_next_hop_asn` UInt64 CODEC(LZ4),\n";
        assert!(table.contains(cookie) && table.contains("'connected_subnet' = 2"), "{table}");
        let table = if extra { table.replace(cookie, &format!("{never}{cookie}")) } else { table.to_owned() };
        database.execute("CREATE DATABASE {db}").await;
        database.execute(&format!("{table}\nTTL toDateTime(timestamp_ns) + toIntervalMonth(1)")).await;
        database.execute("CREATE TABLE {db}.xtcp_flat_records_v1 AS {db}.xtcp_flat_records_v0").await;
        let merge = "CREATE TABLE {db}.xtcp_flat_records AS {db}.xtcp_flat_records_v1 \
                     ENGINE = Merge('{db}', '^xtcp_flat_records_v[0-9]+$')";
        database.execute(merge).await;
        for epoch in [0, 1] {
            let row =
                format!("(schema_version, timestamp_ns, c_group) SELECT {epoch}, now64(9), number FROM numbers(10)");
            database.execute(&format!("INSERT INTO {{db}}.xtcp_flat_records_v{epoch} {row}")).await;
        }
        let columns = "SELECT table, name, type, compression_codec FROM system.columns WHERE database = '{db}' \
                       AND table IN ('xtcp_flat_records_v0', 'xtcp_flat_records_v1') ORDER BY table, position";
        let before: Vec<Column> = database.query(columns).await;

        let (code, out, err) = ended(operate(&["migrate", "plan"], &database, None, None));
        assert_eq!(code, 2, "{out}{err}");
        let created: Vec<&str> = out.lines().filter(|line| line.starts_with('+')).collect();
        for name in ["schema_migrations", "schema_lock", "xtcp_flat_records_v2", "xtcp_flat_records_unified"] {
            assert!(created.iter().any(|line| line.ends_with(name)), "{name}: {out}");
        }
        assert_eq!(created.len(), 4, "{out}");
        assert!(out.lines().any(|line| line.starts_with("~ alter    merge")), "{out}");
        assert_eq!(out.contains("inet_diag_msg_socket_next_hop_asn"), extra, "{out}");

        // The month is named and left alone: whoever wants it otherwise asks for it.
        let (code, out, err) = ended(operate(&["migrate", "apply"], &database, None, None));
        assert!(code == 2 && out.contains("TTL"), "{code} {out}{err}");
        assert_eq!(database.query::<Column>(columns).await, before);
        for epoch in [0, 1] {
            let of =
                format!("{{db}}.xtcp_flat_records_unified WHERE schema_version = {epoch} AND inet_diag_cgroup_id = 7");
            assert_eq!(database.count(&of).await, 1);
        }
        assert_eq!(database.count("{db}.xtcp_flat_records").await, 20);
        assert_eq!(database.count("{db}.xtcp_flat_records_v2").await, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_on_adding_an_epoch_can_be_followed_to_its_end() {
    let (database, topic) = bench("page", 1).await;
    let (code, out, err) = ended(operate(&["schema", "apply"], &database, None, None));
    assert_eq!(code, 0, "{out}{err}");
    drop(topic);
    let repository = Repository::new();
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/adding-an-epoch.md")).expect("the page");
    let binaries = Path::new(env!("CARGO_BIN_EXE_xtcp-ingest")).parent().expect("a folder").display().to_string();
    let path = format!("{binaries}:{}", std::env::var("PATH").unwrap_or_default());
    let mut ran = 0;
    for block in page.split("```sh\n").skip(1) {
        let (commands, _) = block.split_once("```").expect("a block ends");
        for command in commands.lines().filter(|line| !line.is_empty()) {
            // What a command is expected to say by its exit code stands behind it.
            let (command, expected) = command.split_once("  # exits with ").unwrap_or((command, "0"));
            let shell = operate(&[], &database, None, None);
            let environment: Vec<_> =
                shell.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
            let mut shell = Command::new("sh");
            shell.args(["-c", command]).env_clear().envs(environment).env("PATH", &path);
            shell.current_dir(repository.path("."));
            let (code, out, err) = ended(shell);
            assert_eq!(code.to_string(), expected.trim(), "{command}\n{out}{err}");
            ran += 1;
        }
    }
    assert!(ran >= 8, "{ran} commands");
    assert_eq!(database.count("{db}.xtcp_flat_records_v3").await, 0);
}
