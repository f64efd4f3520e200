//! `schema plan|apply|status` and the status route, as an operator meets them.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
    time::Duration,
};

use serde_json::Value;
use xtcp_ingest::bootstrap::{Lease, Taken, Timing};

use crate::{
    content::{self, object_counts},
    process::Ingest,
    support::{self, Database},
    topic::Topic,
};

pub struct Operator {
    pub database: Database,
    pub topic: String,
}

impl Operator {
    pub async fn new(test: &str) -> Self {
        let database = Database::new(test).await;
        let topic = database.name.clone();
        Self { database, topic }
    }

    /// The command, ready to be run.
    pub fn command(&self, arguments: &[&str], settings: &[(&str, &str)]) -> Command {
        self.command_of(Path::new(env!("CARGO_BIN_EXE_xtcp-ingest")), arguments, settings)
    }

    /// The same of a copy of the binary.
    pub fn command_of(&self, program: &Path, arguments: &[&str], settings: &[(&str, &str)]) -> Command {
        let clickhouse = support::clickhouse(&self.database.name);
        let mut command = Command::new(program);
        command.arg("schema").args(arguments).env_clear();
        for (name, value) in [
            ("KAFKA_BROKERS", support::kafka_brokers().as_str()),
            ("KAFKA_TOPIC", &self.topic),
            ("CLICKHOUSE_URL", clickhouse.urls[0].as_str()),
            ("CLICKHOUSE_DATABASE", &clickhouse.database),
            ("CLICKHOUSE_USER", &clickhouse.user),
            ("CLICKHOUSE_PASSWORD", clickhouse.password.reveal()),
            ("PLATFORM", "single"),
            ("LOG", "warn"),
        ]
        .iter()
        .chain(settings)
        {
            command.env(format!("XTCP_INGEST_{name}"), value);
        }
        command
    }

    /// Runs it: exit code, output, errors.
    pub fn schema(&self, arguments: &[&str], settings: &[(&str, &str)]) -> (i32, String, String) {
        let Output { status, stdout, stderr } = self.command(arguments, settings).output().expect("the command runs");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (status.code().expect("a code"), text(stdout), text(stderr))
    }

    fn json(&self, arguments: &[&str]) -> (i32, Value) {
        let (code, out, err) = self.schema(arguments, &[]);
        (code, serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{err}")))
    }
}

#[tokio::test]
async fn an_operator_plans_applies_and_reads_it() {
    let operator = Operator::new("operator").await;
    let (code, out, _) = operator.schema(&["status"], &[]);
    assert!(code == 0 && out.starts_with("nothing was applied to"), "{code} {out}");
    let (code, out, _) = operator.schema(&["plan"], &[]);
    assert_eq!(code, 2, "{out}");
    assert!(out.contains("+ create   table     it_operator_"), "{out}");
    // All but the topic for what can't be placed, which has no name.
    let (all, release) = (object_counts().1, content::definitions().manifest.release);
    assert!(out.contains(&format!("{all} to create, 0 to alter, 0 refused, 0 as declared")), "{out}");
    assert!(out.ends_with("platform single: plain tables, no replication\n"), "{out}");
    let (code, plan) = operator.json(&["plan", "--json"]);
    assert_eq!((code, &plan["counts"]["created"]), (2, &Value::from(all)));

    let (code, out, err) = operator.schema(&["apply"], &[]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains(&format!("converged: {all} created, 0 altered, 0 unchanged")), "{out}");
    let (code, out, err) = operator.schema(&["plan"], &[]);
    assert_eq!(code, 0, "nothing is left to do: {out}{err}");
    assert!(!out.contains("topic it_operator"), "the broker has the topic as it was asked for: {out}");

    let v2 = "ALTER TABLE {db}.xtcp_flat_records_v2";
    operator.database.execute(&format!("{v2} DROP COLUMN tag")).await;
    operator.database.execute(&format!("{v2} MODIFY COLUMN nsid UInt16")).await;
    operator.database.execute(&format!("{v2} ADD COLUMN mine String")).await;
    let (code, report) = operator.json(&["apply", "--json"]);
    assert_eq!((code, &report["state"], &report["ready"]), (2, &Value::from("converged"), &Value::from(true)));
    let table = report["objects"].as_array().expect("objects").iter().find(|o| o["id"] == "data.flat_v2").expect("v2");
    assert_eq!(table["action"], "refused");
    assert_eq!(table["columns_added"], serde_json::json!(["tag"]));
    assert_eq!(table["extra_columns"], serde_json::json!(["mine"]));
    assert!(table["drift"][0].as_str().expect("a text").starts_with("type of column `nsid` is UInt16"), "{table}");
    let (code, out, _) = operator.schema(&["apply", "--allow-drift"], &[]);
    assert!(code == 0 && out.contains("type of column `nsid` UInt16 -> UInt32"), "{code} {out}");

    let (code, out, _) = operator.schema(&["status"], &[]);
    assert!(
        code == 0 && out.starts_with("OBJECT") && out.contains(&format!("  table     altered    {release}  ")),
        "{out}"
    );
    let (code, rows) = operator.json(&["status", "--json"]);
    assert_eq!((code, rows.as_array().expect("rows").len()), (0, all - 1));
}

#[tokio::test]
async fn every_ending_has_its_exit_code() {
    let operator = Operator::new("codes").await;
    let away = [("CLICKHOUSE_URL", "http://127.0.0.1:1"), ("BOOTSTRAP_WAIT_SECONDS", "0")];
    for command in [&["plan"][..], &["apply"], &["status"]] {
        let (code, _, err) = operator.schema(command, &away);
        assert!(code == 1 && err.contains("127.0.0.1:1"), "{command:?}: {code} {err}");
    }
    let (code, _, err) = operator.schema(&["plan"], &[("PLATFORM", "auto")]);
    assert!(code == 1 && err.contains("it lacks: Keeper"), "{code} {err}");
    for (name, value, allowed) in [
        ("PLATFORM", "clowd", "`auto` or `self_hosted` or `cloud` or `single`"),
        ("BOOTSTRAP_WAIT_SECONDS", "-1", "a whole number from 0 to 86400"),
        ("DDL_MAX_QUERY_SIZE", "1", "a whole number from 262144 to 1073741824"),
        ("KAFKA_TIERED_STORAGE", "maybe", "`true`"),
        ("KAFKA_TOPIC_MAX_MESSAGE_BYTES", "x", "a whole number from 1024 to"),
    ] {
        let (code, _, err) = operator.schema(&["plan"], &[(name, value)]);
        assert!(code == 1 && err.contains(&format!("XTCP_INGEST_{name}")) && err.contains(value), "{code} {err}");
        assert!(err.contains(allowed), "{err}");
    }
    assert_eq!(operator.schema(&["apply"], &[]).0, 0);
    let table = format!("`{}`.`schema_lock`", operator.database.name);
    let lease = Lease {
        client: &operator.database.client,
        table,
        timing: Timing { settle: Duration::from_secs(1), ..Timing::default() },
        length: Duration::from_secs(60),
        quorum: false,
    };
    let Ok(Taken::Mine(claim)) = lease.acquire(Duration::from_secs(90), None).await else { panic!("it is free") };
    let (code, out, _) = operator.schema(&["apply"], &[("BOOTSTRAP_WAIT_SECONDS", "1")]);
    assert!(code == 3 && out.contains("nothing was applied: the schema is locked"), "{code} {out}");
    lease.release(&claim).await.expect("released");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_at_once_on_an_empty_server_both_become_ready() {
    let database = Database::new("two").await;
    let topic = Topic::absent(&database.name, 12);
    let mut both = [(); 2].map(|()| Ingest::start(&database, &topic, &[], &[]));
    for ingest in &mut both {
        ingest.wait_for_log("joining the group");
        let (status, body) = ingest.get("/readyz");
        assert_eq!(status, 200, "{body}");
        let (_, body) = ingest.get("/api/v1/system/schema");
        let report: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!((&report["state"], &report["platform"]), (&Value::from("converged"), &Value::from("single")));
        assert_eq!(report["objects"].as_array().expect("objects").len(), object_counts().1);
        let (_, body) = ingest.get("/api/v1/system/version");
        assert_eq!(serde_json::from_str::<Value>(&body).expect("JSON")["schemas"], report["schemas_version"]);
        assert_eq!(ingest.metric("xtcp_ingest_schema_bootstrap_state"), Some(1.0));
        assert_eq!(ingest.metric("xtcp_ingest_schema_objects_refused"), Some(0.0));
    }
    #[derive(serde::Deserialize, Debug)]
    struct Creators {
        object: String,
        creators: u64,
    }
    let sql = "SELECT object, countIf(action = 'created') AS creators FROM {db}.schema_migrations GROUP BY object";
    let rows: Vec<Creators> = database.query(sql).await;
    assert!(rows.len() == object_counts().0 && rows.iter().all(|row| row.creators == 1), "{rows:?}");
    assert!(rows.iter().any(|row| row.object == "xtcp_flat_records_v2"));
}

#[tokio::test]
async fn a_broker_that_is_away_is_named_and_clickhouse_converges() {
    let operator = Operator::new("no_broker").await;
    let settings = [("KAFKA_BROKERS", "127.0.0.1:1"), ("BOOTSTRAP_WAIT_SECONDS", "1")];
    let (code, out, err) = operator.schema(&["apply"], &settings);
    assert!(code == 1 && out.contains(&format!("failed: {} created", object_counts().0)), "{code} {out}");
    assert!(err.contains("Kafka did not answer within") && err.contains("is `kafka.brokers` right"), "{err}");
    let (code, out, _) = operator.schema(&["plan"], &settings);
    assert!(code == 1 && out.contains("0 to create") && out.contains("topics: "), "it can't be asked: {code} {out}");
    let (code, out, _) = operator.schema(&["apply"], &[]);
    assert!(code == 0 && out.contains("1 created"), "the topic is all that is left: {code} {out}");
}

#[tokio::test]
async fn a_dead_letter_topic_that_is_named_is_brought_about() {
    let operator = Operator::new("dead_letter").await;
    let dead = format!("{}_dead", operator.topic);
    let settings = [("KAFKA_DEAD_LETTER_TOPIC", dead.as_str())];
    let (code, out, err) = operator.schema(&["apply"], &settings);
    assert!(code == 0 && out.contains(&format!("{} created", object_counts().1 + 1)), "{code} {out}{err}");
    let (code, out, _) = operator.schema(&["plan"], &settings);
    assert!(code == 0 && out.contains(&dead) && !out.contains(&format!("topic {dead}:")), "{code} {out}");
    assert_eq!(operator.schema(&["plan"], &[]).0, 0, "and without a name there is none");
}

#[tokio::test]
async fn a_broker_that_refuses_a_topic_fails_the_pass_with_its_own_reason() {
    let operator = Operator::new("refused_topic").await;
    let ddl = tempfile::tempdir().expect("a folder");
    copy(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/ddl")), ddl.path());
    let landing = ddl.path().join("topics/landing.yaml");
    let text = fs::read_to_string(&landing).expect("the topic").replace("policy: delete", "policy: nonsense");
    fs::write(&landing, text).expect("written");
    let settings = [("SCHEMAS_DIR", ddl.path().to_str().expect("a text"))];
    let (code, out, err) = operator.schema(&["apply"], &settings);
    assert!(
        code == 1 && out.contains(&format!("{} created", object_counts().0)),
        "ClickHouse has everything: {code} {out}"
    );
    assert!(err.contains(&format!("can't create topic {}", operator.topic)), "{err}");
    assert_eq!(operator.schema(&["apply"], &[]).0, 0, "and once it is mended, it is created");
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            fs::create_dir(&target).expect("created");
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).expect("copied");
        }
    }
}
