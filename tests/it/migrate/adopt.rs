//! `migrate adopt`: from a table with the Kafka engine to this service. The catalogue's part is real; the engine's consumer is
//! kept away from Kafka, and a real consumer group that commits as it does plays it.

use std::time::{Duration, Instant};

use rdkafka::{
    ClientConfig, Offset, TopicPartitionList,
    consumer::{BaseConsumer, CommitMode, Consumer as _},
};
use serde_json::Value;

use super::*;
use crate::support::bench;

const LEFT: &str = "system.tables WHERE database = '{db}' AND engine IN ('Kafka', 'MaterializedView')";

/// A consumer of a group.
fn member(group: &str) -> BaseConsumer {
    ClientConfig::new()
        .set("bootstrap.servers", support::kafka_brokers())
        .set("group.id", group)
        .set("enable.auto.commit", "false")
        .create()
        .expect("a consumer")
}

/// Commits; a busy broker may still be finding out who coordinates a new group.
fn commit(consumer: &BaseConsumer, list: &TopicPartitionList) {
    let begin = Instant::now();
    while let Err(error) = consumer.commit(list, CommitMode::Sync) {
        assert!(begin.elapsed() < Duration::from_secs(60), "{error}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// The ClickHouse-only topology beside the tables, reading the topic in a group.
async fn topology(database: &Database, topic: &Topic, group: &str, filter: &str) {
    let columns = "schema_version UInt32, hostname String, record_counter UInt64, timestamp_ns Int64";
    // Its own consumer must not come between: it would join the group.
    let reader = format!(
        "CREATE TABLE {{db}}.xtcp_flat_records_kafka ({columns}) ENGINE = Kafka SETTINGS kafka_broker_list = '127.0.0.1:1', \
         kafka_topic_list = '{}', kafka_group_name = '{group}', kafka_format = 'ProtobufList', \
         kafka_handle_error_mode = 'stream'",
        topic.name
    );
    kafka_engine(database, &reader).await;
    let select = format!(
        "SELECT fromUnixTimestamp64Nano(timestamp_ns) AS timestamp_ns, * EXCEPT (timestamp_ns) \
         FROM {{db}}.xtcp_flat_records_kafka WHERE {filter}"
    );
    let view = "CREATE MATERIALIZED VIEW {db}.xtcp_flat_records_v2_mv TO {db}.xtcp_flat_records_v2 AS";
    database.execute(&format!("{view} {select}")).await;
}

const FILTER: &str = "length(_error) == 0 AND schema_version = 2";

/// A statement after which there is a table with the Kafka engine: the engine here answers with an error, and yet it is.
async fn kafka_engine(database: &Database, sql: &str) {
    let _ = database.client.execute(&sql.replace("{db}", &database.name), &[]).await;
    assert_eq!(database.count("system.tables WHERE database = '{db}' AND engine = 'Kafka'").await, 1, "{sql}");
}

/// What the engine's consumer had done: 15 messages of one partition and 10 of the other, and their rows.
async fn consumed(database: &Database, topic: &Topic, group: &str) {
    topic.send_records(2, 0..100);
    let old = member(group);
    let mut list = TopicPartitionList::new();
    for (partition, next) in [(0, 15), (1, 10)] {
        list.add_partition_offset(&topic.name, partition, Offset::Offset(next)).expect("an offset");
    }
    commit(&old, &list);
    let done = "SELECT 2, number * 2 FROM numbers(15) UNION ALL SELECT 2, number * 2 + 1 FROM numbers(10)";
    let insert = "INSERT INTO {db}.xtcp_flat_records_v2 (schema_version, record_counter)";
    database.execute(&format!("{insert} {done}")).await;
}

fn command(database: &Database, url: Option<&str>, group: &str, arguments: &[&str]) -> Command {
    let mut command = operate(&[&["migrate", "adopt"], arguments].concat(), database, url, None);
    command.env("XTCP_INGEST_KAFKA_GROUP", group).env("XTCP_INGEST_BOOTSTRAP_WAIT_SECONDS", "3");
    command
}

/// The command's end in a group.
fn adopt(database: &Database, group: &str, arguments: &[&str]) -> (i32, String, String) {
    ended(command(database, None, group, arguments))
}

fn json((code, out, err): (i32, String, String), expected: i32) -> Value {
    assert_eq!(code, expected, "{out}{err}");
    serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{err}"))
}

async fn deployment(name: &str) -> (Database, Topic) {
    let (database, topic) = bench(name, 2).await;
    let (code, out, err) = ended(operate(&["schema", "apply"], &database, None, None));
    assert_eq!(code, 0, "{out}{err}");
    (database, topic)
}

/// Brings everything back by the statements that were told.
async fn go_back(database: &Database, told: &Value) {
    for sql in told.as_array().expect("statements") {
        let sql = sql.as_str().expect("a text");
        match sql.contains("`xtcp_flat_records_kafka`") || sql.starts_with("CREATE TABLE") {
            true => kafka_engine(database, sql).await,
            false => database.execute(sql).await,
        }
    }
    assert_eq!(database.count(LEFT).await, 2, "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_deployment_is_taken_over_with_no_row_lost_or_doubled() {
    for drop in [false, true] {
        let (database, topic) = deployment("adopt").await;
        topology(&database, &topic, &topic.name, FILTER).await;
        consumed(&database, &topic, &topic.name).await;

        let flag = if drop { &["--drop"][..] } else { &[] };
        let plan = adopt(&database, &topic.name, flag);
        assert_eq!(plan.0, 2, "{plan:?}");
        let verb = if drop { "DROP TABLE" } else { "DETACH TABLE" };
        let (reader, view) =
            (format!("{verb} `{}`.`xtcp_flat_records_kafka`", database.name), "xtcp_flat_records_v2_mv");
        assert!(plan.1.contains(&reader) && plan.1.contains(view) && plan.1.contains("not sure: "), "{}", plan.1);
        assert_eq!(database.count("system.tables WHERE database = '{db}' AND engine = 'Kafka'").await, 1, "as it was");
        let other = adopt(&database, "another", flag);
        assert!(other.0 == 1 && other.2.contains("kafka_group_name is"), "{other:?}");

        // As long as somebody reads in the group, nobody can say where it stands.
        let busy = member(&topic.name);
        busy.subscribe(&[&topic.name]).expect("subscribed");
        let (begin, mut last) = (Instant::now(), String::new());
        while busy.assignment().expect("an assignment").count() < 2 {
            if let Some(Err(error)) = busy.poll(Duration::from_millis(100)) {
                last = error.to_string();
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "it doesn't join: {last}");
        }
        let arguments = [&["--apply", "--settle", "2"], flag].concat();
        let held = adopt(&database, &topic.name, &arguments);
        assert!(held.0 == 1 && held.2.contains("still has 1 members"), "{held:?}");
        busy.unsubscribe();
        std::mem::drop(busy);
        let status = ended(operate(&["migrate", "status"], &database, None, None));
        assert!(status.1.contains("was begun and isn't finished: `xtcp-ingest migrate adopt --apply`"), "{}", status.1);

        // The same command again goes on from there.
        let taken = adopt(&database, &topic.name, &arguments);
        assert_eq!(taken.0, 0, "{taken:?}");
        assert!(taken.1.contains("partition 0: 15\n  partition 1: 10\n"), "{}", taken.1);
        assert!(taken.1.contains("xtcp_flat_records_v2: 25 rows, 25 when it began"), "{}", taken.1);
        assert!(taken.1.contains("the way back") && taken.1.contains("v2_mv"), "{}", taken.1);
        assert_eq!(database.count(LEFT).await, 0);
        let again = adopt(&database, &topic.name, &[]);
        assert!(again.0 == 0 && again.1.contains("nothing to take over"), "{again:?}");
        let status = ended(operate(&["migrate", "status"], &database, None, None));
        assert!(status.1.contains("was taken over for group") && status.1.contains("at 0:15 1:10"), "{}", status.1);

        let mut ingest = Ingest::start(&database, &topic, &["--until-caught-up"], &[]);
        assert_eq!(ingest.exit_code(), Some(0), "{}", ingest.log());
        assert_eq!(database.count("{db}.xtcp_flat_records_v2").await, 100);
        assert_eq!(database.count("(SELECT DISTINCT record_counter FROM {db}.xtcp_flat_records_v2)").await, 100);
        assert_eq!(topic.total_committed(), 100);

        let verified = json(adopt(&database, &topic.name, &["--verify", "--json"]), 0);
        let expected = serde_json::json!({ "rows": 75, "at_least": 75, "at_most": 75, "is_sound": true });
        assert_eq!(verified["since"]["tables"]["xtcp_flat_records_v2"], expected, "{verified}");
        database.execute("INSERT INTO {db}.xtcp_flat_records_v2 (schema_version) SELECT 2").await;
        let (code, out, err) = adopt(&database, &topic.name, &["--verify"]);
        assert!(code == 2 && out.contains("+76 rows since the seam, sent 75  NOT as sent"), "{code} {out}{err}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn offsets_are_copied_into_a_group_of_its_own() {
    let (database, topic) = deployment("copied").await;
    let reader = format!("{}_engine", topic.name);
    topology(&database, &topic, &reader, FILTER).await;
    consumed(&database, &topic, &reader).await;
    let refused = adopt(&database, &topic.name, &["--apply", "--settle", "1"]);
    assert!(refused.0 == 1 && refused.2.contains("or give `--copy-offsets`"), "{refused:?}");
    assert_eq!(database.count(LEFT).await, 2, "as it was");

    let plan = adopt(&database, &topic.name, &["--copy-offsets"]);
    assert!(plan.0 == 2 && plan.1.contains(&format!("copy its offsets to group `{}`", topic.name)), "{plan:?}");
    // A group that has read already goes on where it is: what it had read would be lost or doubled.
    let own = member(&topic.name);
    let mut list = TopicPartitionList::new();
    list.add_partition_offset(&topic.name, 1, Offset::Offset(3)).expect("an offset");
    commit(&own, &list);
    let apply = ["--apply", "--settle", "1", "--copy-offsets", "--json"];
    let refused = adopt(&database, &topic.name, &apply);
    assert!(refused.0 == 1 && refused.2.contains("partition 1 is at 3, to be copied is 10"), "{refused:?}");
    list.set_partition_offset(&topic.name, 1, Offset::Offset(10)).expect("an offset");
    commit(&own, &list);

    let taken = json(adopt(&database, &topic.name, &apply), 0);
    assert_eq!(
        (&taken["seam"]["from_group"], &taken["seam"]["group"]),
        (&reader.as_str().into(), &topic.name.as_str().into())
    );
    assert_eq!(taken["seam"]["committed"], serde_json::json!({ "0": 15, "1": 10 }));
    assert_eq!(taken["seam"]["rows"]["xtcp_flat_records_v2"], 25);
    assert_eq!(taken["moved_while_nobody_read"], serde_json::json!([]));
    let mut ingest = Ingest::start(&database, &topic, &["--until-caught-up"], &[]);
    assert_eq!(ingest.exit_code(), Some(0), "{}", ingest.log());
    assert_eq!(database.count("(SELECT DISTINCT record_counter FROM {db}.xtcp_flat_records_v2)").await, 100);
    assert_eq!(database.count("{db}.xtcp_flat_records_v2").await, 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_every_step_a_takeover_is_finished_by_the_next_run_and_can_be_undone() {
    for (flag, verb) in [(&[][..], "DETACH TABLE"), (&["--drop"][..], "DROP TABLE")] {
        let (database, topic) = deployment("seam").await;
        topology(&database, &topic, &topic.name, FILTER).await;
        consumed(&database, &topic, &topic.name).await;
        let arguments = [&["--apply", "--settle", "1", "--json"], flag].concat();
        let mut seen = Vec::new();
        // Each run begins with what the pass writes down: the beginning is 2, then come three steps for the reader, three for
        // its view, and the seam.
        for at in [1, 2, 3, 3, 4, 2, 3, 4, 2] {
            let (code, steps) = killed_at(at, |url| command(&database, Some(url), &topic.name, &arguments));
            seen.push(steps);
            assert_eq!(code, None, "killed: {seen:?}");
            database.execute("TRUNCATE TABLE {db}.schema_lock").await;
            // Whatever is stopped, never a view of a reader that goes on.
            let there = async |engine: &str| {
                database.count(&format!("system.tables WHERE database = '{{db}}' AND engine = '{engine}'")).await
            };
            assert!(there("Kafka").await <= there("MaterializedView").await, "{seen:?}");
        }
        let killed =
            |step: &str| seen.iter().filter(|run| run.last().is_some_and(|last| last.starts_with(step))).count();
        assert_eq!((killed(verb), killed("INSERT INTO")), (2, 7), "{seen:?}");
        let taken = json(adopt(&database, &topic.name, &arguments), 0);
        assert_eq!(taken["seam"]["committed"], serde_json::json!({ "0": 15, "1": 10 }));
        assert_eq!(taken["before"]["rows"]["xtcp_flat_records_v2"], 25);
        assert_eq!(taken["stopped"].as_array().expect("a list").len(), 2, "the way back is whole: {taken}");
        assert_eq!(database.count(LEFT).await, 0);

        go_back(&database, &taken["restores"]).await;
        // The view is one of the reader again: a plain table in its place feeds it.
        database.execute("DROP TABLE {db}.xtcp_flat_records_kafka SYNC").await;
        let columns =
            "schema_version UInt32, hostname String, record_counter UInt64, timestamp_ns Int64, _error String";
        database.execute(&format!("CREATE TABLE {{db}}.xtcp_flat_records_kafka ({columns}) ENGINE = Null")).await;
        let row = "INSERT INTO {db}.xtcp_flat_records_kafka (schema_version, record_counter) SELECT number, 9 FROM numbers(4)";
        database.execute(row).await;
        assert_eq!(database.count("{db}.xtcp_flat_records_v2").await, 26, "one more of epoch 2");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_otherwise_is_told_before_anything_is_done() {
    let (database, topic) = deployment("notes").await;
    topology(&database, &topic, &topic.name, "hostname != 'x'").await;
    database.execute("ALTER TABLE {db}.xtcp_flat_records_v1 ADD COLUMN mine UInt8").await;
    database
        .execute("ALTER TABLE {db}.xtcp_flat_records_v1 MODIFY TTL toDateTime(timestamp_ns) + toIntervalDay(3)")
        .await;
    let plan = adopt(&database, &topic.name, &[]);
    assert_eq!(plan.0, 2, "{plan:?}");
    for part in [
        "xtcp_flat_records_v2_mv isn't filtered by `schema_version = 2` alone",
        "no view writes records of epoch 1",
        "no definition has mine: `run` leaves them at their default",
        "xtcp_flat_records_v1: TTL is ",
    ] {
        assert!(plan.1.contains(part), "{part}: {}", plan.1);
    }
    // What can't take rows stands in the way.
    database.execute("DROP TABLE {db}.xtcp_flat_records_v1 SYNC").await;
    database.execute("CREATE TABLE {db}.xtcp_flat_records_v1 (a UInt8) ENGINE = Memory").await;
    let refused = adopt(&database, &topic.name, &["--apply"]);
    assert!(refused.0 == 1 && refused.2.contains("xtcp_flat_records_v1: "), "{refused:?}");
    assert_eq!(database.count(LEFT).await, 2, "as it was");
    let (code, _, err) = adopt(&database, &topic.name, &["--verify"]);
    assert!(code == 1 && err.contains("nothing was taken over in this database"), "{code} {err}");
}
