//! `migrate adopt`.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    process::ExitCode,
    time::{Duration, Instant},
};

use serde_json::json;

use super::{
    Failure, output,
    schema::{Plan, Tools, with},
    schema_text,
};
use crate::{
    bootstrap::{Action, Report, Stop, Taken},
    clickhouse::{self, quoted},
    kafka::Group,
    migrate::adopt::Topology,
    pipeline::Asked,
    telemetry,
};

/// How often the group is looked at.
const POLL: Duration = Duration::from_millis(500);

/// Take over from tables with the Kafka engine
#[derive(Debug, clap::Args)]
pub(super) struct Adopt {
    /// Do it; without this the plan is shown and nothing is changed
    #[arg(long)]
    apply: bool,
    /// Drop the reader and its views, instead of detaching them for good
    #[arg(long)]
    drop: bool,
    /// How long the committed offsets have to stand still, in seconds
    #[arg(long, default_value_t = 10, value_name = "SECONDS")]
    settle: u64,
    #[command(flatten)]
    plan: Plan,
}

#[derive(Debug, thiserror::Error)]
enum AdoptError {
    #[error("can't take over:\n  {}", .0.join("\n  "))]
    Objections(Vec<String>),
    #[error("the group still has {members} members, or commits, after {seconds} s")]
    Moving { members: usize, seconds: u64 },
    #[error("another process has the lease: {0}")]
    Occupied(String),
    #[error("there is no topic `{0}`")]
    NoTopic(String),
}

pub(super) fn run(adopt: Adopt) -> Result<ExitCode, Failure> {
    let Adopt { apply, drop, settle, plan } = adopt;
    with(plan, async |json, tools| {
        let failed = |error: &dyn std::error::Error| Failure::failed(error);
        let topology = Topology::find(&tools.client).await.map_err(|error| failed(&error))?;
        let kafka = &tools.config.kafka;
        let mut objections = topology.objections(&tools.definitions, &kafka.topic, &kafka.group);
        let report = tools.controller().plan().await.map_err(|error| failed(&error))?;
        let registry = &tools.definitions.registry;
        let tables = registry.epochs().iter().map(|epoch| epoch.table.name.as_str());
        objections.extend(report.blocked(tables.chain([tools.definitions.errors().name.as_str()])));
        if !objections.is_empty() {
            return Err(Failure::failed(&AdoptError::Objections(objections))
                .hint("set what is this service's own, and mend the rest by hand; nothing was changed"));
        }
        if !apply {
            if json {
                output::print_json(&shown_json(&topology, &report, tools, drop))?;
            } else {
                output::print(&shown(&topology, &report, tools, drop))?;
            }
            return Ok(if topology.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(2) });
        }
        if !json {
            output::print(&shown(&topology, &report, tools, drop))?;
        }
        take_over(tools, &topology, drop, Duration::from_secs(settle), json).await
    })
}

async fn take_over(
    tools: &Tools,
    topology: &Topology,
    drop: bool,
    settle: Duration,
    json: bool,
) -> Result<ExitCode, Failure> {
    let failed = |error: &dyn std::error::Error| {
        Failure::failed(error)
            .hint("run the same command again: what was stopped stays stopped, and it goes on from there")
    };
    let asked = Asked::listen().map_err(|error| failed(&error))?;
    let working = telemetry::spinner("taking over");
    // The pass comes first: it makes the lease that the rest needs, replaces nothing, and keeps the time short in which nobody
    // reads.
    let controller = tools.controller().stopped_by(Stop::on(asked.seen()));
    let report = controller.pass().await;
    if let Some(error) = &report.error {
        return Err(failed(error));
    }
    stop(tools, topology, drop).await?;
    let committed = stand_still(tools, settle).await?;
    let counts = counts(tools).await.map_err(|error| failed(&error))?;
    working.finish_and_clear();
    if json {
        output::print_json(&json!({
            "stopped": topology.stops(tools.client.database(), drop),
            "restores": topology.restores(tools.client.database(), drop),
            "group": tools.config.kafka.group, "committed": committed, "rows": counts,
        }))?;
    } else {
        let mut text = schema_text::applied(&report);
        let _ = writeln!(text, "\nstopped; group `{}` stands still at", tools.config.kafka.group);
        for (partition, offset) in &committed {
            let _ = writeln!(text, "  partition {partition}: {offset}");
        }
        for (table, rows) in &counts {
            let _ = writeln!(text, "{table}: {rows} rows");
        }
        text.push_str("\nnext: start `xtcp-ingest run`; it goes on from exactly these offsets, in the same group\n");
        output::print(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Stops the reader and then its views, under the lease.
async fn stop(tools: &Tools, topology: &Topology, drop: bool) -> Result<(), Failure> {
    let failed = |error: &dyn std::error::Error| Failure::failed(error);
    let controller = tools.controller();
    let (lease, _) = controller.schema_lease().await.map_err(|error| failed(&error))?;
    let taken = lease.acquire(tools.config.bootstrap.wait, None).await.map_err(|error| failed(&error))?;
    let claim = match taken {
        Taken::Mine(claim) => claim,
        Taken::Occupied(by) => return Err(failed(&AdoptError::Occupied(by))),
    };
    let mut ended = Ok(());
    for sql in topology.stops(tools.client.database(), drop) {
        ended = tools.client.execute(&sql, &[]).await;
        if ended.is_err() {
            break;
        }
    }
    // One that could not be given back lapses by itself.
    let _ = lease.release(&claim).await;
    ended.map_err(|error| failed(&error).hint("run the same command again: what was stopped stays stopped"))
}

/// Waits until nobody is in the group and its offsets stand still for a while.
async fn stand_still(tools: &Tools, settle: Duration) -> Result<BTreeMap<i32, i64>, Failure> {
    let failed = |error: &dyn std::error::Error| Failure::failed(error);
    let kafka = &tools.config.kafka;
    let partitions = tools.admin.partitions(&kafka.topic).await.map_err(|error| failed(&error))?;
    let partitions = partitions.ok_or_else(|| failed(&AdoptError::NoTopic(kafka.topic.clone())))?;
    let group = Group::new(kafka).map_err(|error| failed(&error))?;
    let (begin, wait) = (Instant::now(), settle + tools.config.bootstrap.wait);
    let (mut last, mut since) = (None, Instant::now());
    loop {
        let members = group.members().await.map_err(|error| failed(&error))?;
        let committed = group.committed(&kafka.topic, &partitions).await.map_err(|error| failed(&error))?;
        if members > 0 || last.as_ref() != Some(&committed) {
            since = Instant::now();
        } else if since.elapsed() >= settle {
            return Ok(committed);
        }
        last = Some(committed);
        if begin.elapsed() > wait {
            return Err(failed(&AdoptError::Moving { members, seconds: wait.as_secs() })
                .hint("stop whoever else reads in that group, then run the same command again"));
        }
        tokio::time::sleep(POLL).await;
    }
}

/// The rows of each epoch's table and of the error table.
async fn counts(tools: &Tools) -> Result<BTreeMap<String, u64>, clickhouse::Error> {
    #[derive(serde::Deserialize)]
    struct Count {
        n: u64,
    }
    let epochs = tools.definitions.registry.epochs().iter().map(|epoch| &epoch.table.name);
    let mut counts = BTreeMap::new();
    for table in epochs.chain([&tools.definitions.errors().name]) {
        let name = format!("{}.{}", quoted(tools.client.database()), quoted(table));
        let rows: Vec<Count> = tools.client.query(&format!("SELECT count() AS n FROM {name}"), &[]).await?;
        counts.insert(table.clone(), rows.first().map_or(0, |row| row.n));
    }
    Ok(counts)
}

fn shown(topology: &Topology, report: &Report, tools: &Tools, drop: bool) -> String {
    let database = tools.client.database();
    if topology.is_empty() {
        return format!("no table with the Kafka engine in `{database}`: there is nothing to take over\n");
    }
    let mut text = String::new();
    for reader in &topology.readers {
        let of = |name: &str| reader.settings.get(name).map_or("", String::as_str);
        let (topic, group) = (of("kafka_topic_list"), of("kafka_group_name"));
        let _ = writeln!(text, "reader {}: topic `{topic}`, group `{group}`", reader.name);
    }
    for feed in &topology.feeds {
        let _ = writeln!(text, "view {}: {} into {}", feed.name, feed.reader, feed.target);
    }
    let changes = report.objects.len() - report.count(Action::Unchanged);
    let _ = writeln!(
        text,
        "\n1. create or alter {changes} objects, as `schema plan` shows; nothing that exists is replaced"
    );
    text.push_str("2. stop the reader, then its views:\n");
    for sql in topology.stops(database, drop) {
        let _ = writeln!(text, "     {sql}");
    }
    text.push_str(
        "3. wait until nobody is in the group and its committed offsets stand still\n\
         4. `xtcp-ingest run` goes on from those offsets\n\nnot sure: a reader that dies between its insert and its commit \
         leaves rows that are read again. What it had inserted since its last commit would be there twice, up to \
         kafka_max_block_size rows\n\nthe way back, when `run` is stopped:\n",
    );
    for sql in topology.restores(database, drop) {
        let _ = writeln!(text, "     {sql}");
    }
    text
}

fn shown_json(topology: &Topology, report: &Report, tools: &Tools, drop: bool) -> serde_json::Value {
    let database = tools.client.database();
    json!({
        "readers": topology.readers.iter().map(|r| json!({ "name": r.name, "settings": r.settings })).collect::<Vec<_>>(),
        "views": topology.feeds.iter()
            .map(|f| json!({ "name": f.name, "reader": f.reader, "target": f.target })).collect::<Vec<_>>(),
        "stops": topology.stops(database, drop),
        "restores": topology.restores(database, drop),
        "plan": report.json(),
    })
}
