//! Least privilege: each right of `ddl/roles` is enough together with the others, and needed.

use std::fs;

use xtcp_ingest::{
    bootstrap::{self, Action, Controller, Definitions, Parameters, Report, State, Taken},
    clickhouse::{Client, Sought},
    config,
    lane::{Reason, Schema},
    migrate::{
        adopt::{How, Topology},
        replay::{Marks, Replay},
    },
};

use crate::{
    engine::Engine,
    setup::{Memory, QUICK, all_on},
};

/// The grants of a role on a database, one each.
fn grants(role: &str, database: &str) -> Vec<String> {
    let path = format!("{}/ddl/roles/{role}.sql", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("--")).collect();
    let statements = lines.join("\n").replace("{db}", database);
    statements.split(';').map(str::trim).filter(|s| !s.is_empty()).map(str::to_owned).collect()
}

/// The role, and for each of its rights the role without it. Each has a database of its own.
fn accounts(role: &str) -> Vec<(String, Vec<String>, Option<String>)> {
    accounts_besides(role, &[])
}

/// The same, on top of other roles.
fn accounts_besides(role: &str, others: &[&str]) -> Vec<(String, Vec<String>, Option<String>)> {
    let with = |name: &str| {
        let others = others.iter().flat_map(|other| grants(other, name));
        grants(role, name).into_iter().chain(others).collect::<Vec<_>>()
    };
    let whole = (format!("{role}_whole"), with(&format!("{role}_whole")), None);
    let without = (0..grants(role, "").len()).map(|left_out| {
        let name = format!("{role}_{left_out}");
        let mut grants = with(&name);
        let right = grants.remove(left_out);
        (name, grants, Some(right))
    });
    std::iter::once(whole).chain(without).collect()
}

fn engine(accounts: &[(String, Vec<String>, Option<String>)]) -> Engine {
    let sets: Vec<_> = accounts.iter().map(|(name, grants, _)| (name.clone(), grants.clone())).collect();
    Engine::start(&sets, "")
}

struct Deployment {
    definitions: Definitions,
    parameters: Parameters,
}

impl Deployment {
    fn new(database: &str) -> Self {
        let definitions = Definitions::embedded().expect("sound");
        let supply = |s: &str| (s == "XTCP_INGEST_CLICKHOUSE_DATABASE").then(|| database.to_owned());
        let parameters = Parameters::supplied(&definitions.manifest, supply);
        Self { definitions, parameters }
    }

    async fn pass(&self, client: &Client) -> Report {
        let (topics, dials) = (Memory::default(), config::Bootstrap { wait: std::time::Duration::ZERO, ..all_on() });
        let controller = Controller::new(client, &topics, &self.definitions, &self.parameters, dials);
        let report = controller.timing(QUICK).allow_drift(true).pass().await;
        std::sync::Arc::into_inner(report).expect("nobody else has it")
    }
}

/// What a pass could not do; empty when it did everything.
fn complaints(report: &Report) -> String {
    let mut text = report.error.as_ref().map(ToString::to_string).unwrap_or_default();
    text += &report.refused().join("\n");
    for outcome in report.objects.iter().filter(|o| o.action == Action::Skipped) {
        text += outcome.reason.as_deref().unwrap_or("");
    }
    text
}

#[tokio::test]
async fn the_bootstrap_needs_each_of_its_rights_and_no_other() {
    let accounts = accounts("bootstrap");
    let engine = engine(&accounts);
    let mut not_missed = Vec::new();
    for (name, _, right) in &accounts {
        let deployment = Deployment::new(name);
        let (own, admin) = (engine.client(name, name), engine.client("default", name));
        let first = deployment.pass(&own).await;
        let mut complaint = complaints(&first);
        if complaint.is_empty() {
            assert_eq!(first.count(Action::Created), first.objects.len(), "{right:?}");
            for sql in [
                "ALTER TABLE {db}.xtcp_flat_records_v2 DROP COLUMN tag",
                "ALTER TABLE {db}.xtcp_flat_records_v2 MODIFY COLUMN nsid UInt16",
                "ALTER TABLE {db}.xtcp_flat_records_v1 MODIFY TTL toDateTime(timestamp_ns) + toIntervalDay(3)",
                "ALTER TABLE {db}.xtcp_flat_records_v0 MODIFY SETTING non_replicated_deduplication_window = 5",
                "CREATE OR REPLACE TABLE {db}.xtcp_flat_records (hostname String) ENGINE = Merge('{db}', '^x$')",
                "CREATE OR REPLACE VIEW {db}.xtcp_flat_records_unified AS SELECT 1 AS a",
            ] {
                admin.execute(&sql.replace("{db}", name), &[]).await.unwrap_or_else(|e| panic!("{e}"));
            }
            let second = deployment.pass(&own).await;
            complaint = complaints(&second);
            if complaint.is_empty() {
                assert_eq!((second.state, second.count(Action::Altered)), (State::Converged, 5), "{right:?}");
            }
        }
        match right {
            None => assert_eq!(complaint, "", "the rights are enough"),
            Some(_) if complaint.contains("ACCESS_DENIED") => {}
            Some(right) => not_missed.push(format!("{right}: {complaint}")),
        }
    }
    assert_eq!(not_missed, [""; 0], "rights without which nothing is refused");
}

#[tokio::test]
async fn inserting_needs_each_of_its_rights_and_no_other() {
    let accounts = accounts("ingest");
    let engine = engine(&accounts);
    let mut not_missed = Vec::new();
    for (name, _, right) in &accounts {
        let deployment = Deployment::new(name);
        let (own, admin) = (engine.client(name, name), engine.client("default", name));
        assert_eq!(complaints(&deployment.pass(&admin).await), "");
        let complaint = ingest(&own, &deployment).await.err().unwrap_or_default();
        match right {
            None => assert_eq!(complaint, "", "the rights are enough"),
            // A column that the account may not see is told from one that isn't there by nothing.
            Some(_) if complaint.contains("ACCESS_DENIED") || complaint.contains("not as declared") => {}
            Some(right) => not_missed.push(format!("{right}: {complaint}")),
        }
        // And it can do nothing else.
        for sql in ["DROP TABLE {db}.xtcp_flat_records_v2", "ALTER TABLE {db}.xtcp_flat_records_v2 ADD COLUMN x UInt8"]
        {
            let error = own.execute(&sql.replace("{db}", name), &[]).await.expect_err("no right to it");
            assert_eq!(error.code(), Some(497), "{error}");
        }
    }
    assert_eq!(not_missed, [""; 0], "rights without which nothing is refused");
}

async fn ingest(client: &Client, deployment: &Deployment) -> Result<(), String> {
    let Deployment { definitions, parameters } = deployment;
    bootstrap::assert_declared(client, definitions, parameters).await.map_err(|e| e.to_string())?;
    let schema = Schema::new(&definitions.registry, &definitions.errors().name, Default::default());
    let tables = schema.targets().iter().map(|target| (target.table.as_str(), target.columns[1].0.as_str()));
    for (table, column) in tables.chain([("xtcp_ingest_probe", "probe")]) {
        let sql = format!("INSERT INTO `{}`.`{table}` (`{column}`) SELECT '1'", client.database());
        client.execute(&sql, &[]).await.map_err(|e| e.to_string())?;
    }
    for (position, target) in schema.targets().iter().enumerate() {
        let columns: Vec<_> = target.identity.columns.iter().map(|column| target.name(*column)).collect();
        let row = schema.empty_sample(position);
        let sought = Sought { table: &target.table, columns: &columns, selective: &[], row: &row };
        assert!(!client.has_row(&sought).await.map_err(|e| e.to_string())?);
    }
    let sql = format!("SELECT count() FROM `{}`.xtcp_ingest_probe", client.database());
    client.execute(&sql, &[]).await.map_err(|e| e.to_string())
}

#[tokio::test]
async fn migrating_needs_each_of_its_rights_and_no_other() {
    let accounts = accounts_besides("migrate", &["bootstrap", "ingest"]);
    let engine = engine(&accounts);
    let mut not_missed = Vec::new();
    for (name, _, right) in &accounts {
        let deployment = Deployment::new(name);
        let (own, admin) = (engine.client(name, name), engine.client("default", name));
        assert_eq!(complaints(&deployment.pass(&own).await), "");
        let complaint = replay(&own, &admin, &deployment).await.err().unwrap_or_default();
        assert_eq!(stop(&own, &admin).await, Ok(()), "the bootstrap's rights are enough");
        match right {
            None => assert_eq!(complaint, "", "the rights are enough"),
            Some(_) if complaint.contains("ACCESS_DENIED") => {}
            Some(right) => not_missed.push(format!("{right}: {complaint}")),
        }
    }
    assert_eq!(not_missed, [""; 0], "rights without which nothing is refused");
}

/// Places one record that was diverted.
async fn replay(own: &Client, admin: &Client, deployment: &Deployment) -> Result<(), String> {
    let Deployment { definitions, parameters } = deployment;
    let errors = format!("`{}`.xtcp_flat_records_errors", own.database());
    let diverted = format!(
        "INSERT INTO {errors} (topic, reason, schema_version, raw_message) SELECT 't', 'unknown_epoch', 2, unhex('0802')"
    );
    admin.execute(&diverted, &[]).await.map_err(|e| e.to_string())?;
    let (topics, dials) = (Memory::default(), config::Bootstrap { wait: std::time::Duration::ZERO, ..all_on() });
    let controller = Controller::new(own, &topics, definitions, parameters, dials).timing(QUICK);
    let (lease, platform) = controller.schema_lease().await.map_err(|e| e.to_string())?;
    let taken = lease.acquire(dials.wait, None).await.map_err(|e| e.to_string())?;
    let Taken::Mine(claim) = taken else { return Err(format!("{taken:?}")) };
    let marks = Marks::new(own);
    marks.create(definitions, parameters, platform).await.map_err(|e| e.to_string())?;
    let replay = Replay { client: own, definitions, marks, reason: Reason::UnknownEpoch };
    let done = replay.run(&claim).await.map_err(|e| e.to_string());
    lease.release(&claim).await.map_err(|e| e.to_string())?;
    assert_eq!(done?.placed.get("xtcp_flat_records_v2"), Some(&1));
    Ok(())
}

/// Stops a table with the Kafka engine and its view.
async fn stop(own: &Client, admin: &Client) -> Result<(), String> {
    let database = own.database();
    let reader = format!(
        "CREATE TABLE `{database}`.reader (schema_version UInt32) ENGINE = Kafka SETTINGS kafka_broker_list = \
         '127.0.0.1:1', kafka_topic_list = 't', kafka_group_name = 't', kafka_format = 'ProtobufList'"
    );
    // The engine here answers with an error, and yet the table is there.
    let _ = admin.execute(&reader, &[]).await;
    let view = format!(
        "CREATE MATERIALIZED VIEW `{database}`.reader_mv TO `{database}`.xtcp_flat_records_v2 AS SELECT schema_version \
         FROM `{database}`.reader"
    );
    admin.execute(&view, &[]).await.map_err(|e| e.to_string())?;
    let parts = Topology::find(own).await.map_err(|e| e.to_string())?.parts();
    assert_eq!(parts.len(), 2);
    for part in parts {
        own.execute(&part.stop(database, How::Detach), &[]).await.map_err(|e| e.to_string())?;
    }
    Ok(())
}
