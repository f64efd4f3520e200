//! `migrate`: from a changed `.proto` to rows, as a maintainer and an operator go.

mod additive;
mod adopt;
mod first_epochs;
mod page;
mod replay;
mod rollout;

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
};

use serde::Deserialize;
use serde_json::Value;

use crate::{
    interposer::{Answer, Interposer},
    process::Ingest,
    repository::Repository,
    support::{self, Database},
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

/// A statement that changes something, the lease's own aside.
fn is_step(statement: &str) -> bool {
    let changes = ["CREATE ", "ALTER ", "INSERT ", "DETACH ", "DROP "].iter().any(|word| statement.starts_with(word));
    let object = statement.split_whitespace().nth(2).unwrap_or("");
    // Of an insert of a block, the URL is what is seen.
    (changes && !object.contains("schema_lock")) || statement.contains("query=INSERT")
}

/// Runs a command, made for the URL of the server, that is killed when it sends its `at`-th step, which never arrives; what
/// it sends before does. Its exit code, `None` for one that was killed, and the steps.
pub fn killed_at(at: u32, command: impl FnOnce(&str) -> Command) -> (Option<i32>, Vec<String>) {
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
    let mut child = command(&interposer.url).stdout(Stdio::null()).spawn().expect("the command runs");
    pid.store(child.id(), Ordering::SeqCst);
    let status = child.wait().expect("a child");
    let steps = seen.lock().expect("alive").clone();
    (status.code(), steps)
}

/// Applies the schema of definitions.
fn apply_schema(database: &Database, ddl: &str) {
    let (code, out, err) = ended(operate(&["schema", "apply"], database, None, Some(ddl)));
    assert_eq!(code, 0, "{out}{err}");
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
