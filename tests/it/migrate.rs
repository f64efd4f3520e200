//! `migrate`: from a changed `.proto` to rows, as a maintainer and an operator go.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
};

use serde::Deserialize;
use serde_json::Value;

use crate::{
    interposer::{Answer, Interposer},
    process::{Ingest, generate},
    support::{self, Database, bench},
    topic::Topic,
};

/// A copy of the definitions and the `.proto` in a folder.
pub struct Repository {
    root: tempfile::TempDir,
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).expect("copied");
        }
    }
}

impl Repository {
    pub fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        for part in ["ddl", "proto"] {
            copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join(part), &root.path().join(part));
        }
        Self { root }
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    pub fn ddl(&self) -> String {
        self.path("ddl").display().to_string()
    }

    /// Edits the `.proto` into `new.proto`, and has the definitions written.
    pub fn make(&self, edits: &[(&str, &str)], renames: &[&str]) -> Value {
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
fn operate(words: &[&str], database: &Database, url: Option<&str>, ddl: Option<&str>) -> Command {
    let clickhouse = support::clickhouse(&database.name);
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtcp-ingest"));
    command.args(words).env_clear();
    for (name, value) in [
        ("KAFKA_BROKERS", support::kafka_brokers().as_str()),
        ("KAFKA_TOPIC", &database.name),
        ("CLICKHOUSE_URL", url.unwrap_or(clickhouse.url.as_str())),
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

fn ended(mut command: Command) -> (i32, String, String) {
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

pub const THIRD: &[(&str, &str)] = &[
    ("uint32 tcp_info_rto = 1215", "uint32 tcp_info_rto_us = 1215"),
    ("uint64 socket_fd = 61", "uint64 netlink_fd = 61"),
    ("string location = 21", "string location = 22"),
    ("uint64 inet_diag_cgroup_id = 2003", "uint64 inet_diag_cgroup = 2004"),
    ("  string label = 50;\n", ""),
    ("  string tag = 51;\n", "  string tag = 51;\n\n  // The boot of the host.\n  string boot_id = 55;\n"),
];
pub const THIRD_RENAMES: &[&str] =
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
    changes && !object.contains("schema_lock")
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_every_step_a_rollout_is_finished_by_the_next_run() {
    let database = Database::new("killed").await;
    let (code, out, err) = ended(operate(&["schema", "apply"], &database, None, None));
    assert_eq!(code, 0, "{out}{err}");
    let repository = Repository::new();
    repository.make(THIRD, THIRD_RENAMES);
    let ddl = repository.ddl();

    // The process is killed when it sends its `at`-th step, which never arrives; what is sent before does.
    let mut seen_steps = Vec::new();
    for at in [1, 2, 1, 2, 1, 2, 1] {
        let (pid, left) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(at)));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let interposer = {
            let (pid, left, seen) = (pid.clone(), left.clone(), seen.clone());
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
        let mut command = operate(&["migrate", "apply"], &database, Some(&interposer.url), Some(&ddl));
        let mut child = command.stdout(std::process::Stdio::null()).spawn().expect("the command runs");
        pid.store(child.id(), Ordering::SeqCst);
        let status = child.wait().expect("a child");
        seen_steps.push(seen.lock().expect("alive").clone());
        assert_eq!(status.code(), None, "killed: {seen_steps:?}");
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
    generate(&topic.name, &["--rows", "500", "--mix", "e2=1", "--schemas-dir", &ddl, "--first-cookie", "50000"]);
    ingest(&database, &topic, Some(&ddl));
    for reader in ["xtcp_flat_records_v2", "xtcp_flat_records", "xtcp_flat_records_unified"] {
        assert_eq!(count(reader).await, 6500, "{reader}");
        assert_eq!(count(&format!("{reader} WHERE tcp_info_later_11 = 0")).await, 6500, "{reader}");
    }
    assert_eq!(count("xtcp_flat_records_errors").await, 0);
    for words in [["migrate", "plan"], ["schema", "plan"]] {
        assert_eq!(ended(operate(&words, &database, None, Some(&ddl))).0, 0);
    }
}
