//! `migrate adopt`: from a table with the Kafka engine to this service. The catalogue's part is real; the engine's consumer is
//! kept away from Kafka, and a real consumer group that commits as it does plays it.

use std::{
    process::Output,
    time::{Duration, Instant},
};

use rdkafka::{
    ClientConfig, Offset, TopicPartitionList,
    consumer::{BaseConsumer, CommitMode, Consumer as _},
};

use crate::{
    migrate::operate,
    process::Ingest,
    support::{self, Database, bench},
    topic::Topic,
};

/// A consumer of the topic's group, which has the topic's name.
fn member(topic: &Topic) -> BaseConsumer {
    ClientConfig::new()
        .set("bootstrap.servers", support::kafka_brokers())
        .set("group.id", &topic.name)
        .set("enable.auto.commit", "false")
        .create()
        .expect("a consumer")
}

/// The ClickHouse-only topology beside the tables, reading the topic in its group.
async fn topology(database: &Database, topic: &Topic) {
    let columns = "schema_version UInt32, hostname String, record_counter UInt64, timestamp_ns Int64";
    // Its own consumer must not come between: it would join the group.
    let reader = format!(
        "CREATE TABLE {{db}}.xtcp_flat_records_kafka ({columns}) ENGINE = Kafka SETTINGS kafka_broker_list = '127.0.0.1:1', \
         kafka_topic_list = '{topic}', kafka_group_name = '{topic}', kafka_format = 'ProtobufList'",
        topic = topic.name
    );
    // The engine here answers with an error, and yet the table is there.
    let _ = database.client.execute(&reader.replace("{db}", &database.name), &[]).await;
    assert_eq!(database.count("system.tables WHERE database = '{db}' AND engine = 'Kafka'").await, 1);
    let select = "SELECT fromUnixTimestamp64Nano(timestamp_ns) AS timestamp_ns, * EXCEPT (timestamp_ns) \
                  FROM {db}.xtcp_flat_records_kafka WHERE schema_version = 2";
    let view = "CREATE MATERIALIZED VIEW {db}.xtcp_flat_records_v2_mv TO {db}.xtcp_flat_records_v2 AS";
    database.execute(&format!("{view} {select}")).await;
}

/// The command's end in the topic's group.
fn adopt(database: &Database, group: &str, arguments: &[&str]) -> (i32, String, String) {
    let mut command = operate(&[&["migrate", "adopt"], arguments].concat(), database, None, None);
    command.env("XTCP_INGEST_KAFKA_GROUP", group).env("XTCP_INGEST_BOOTSTRAP_WAIT_SECONDS", "3");
    let Output { status, stdout, stderr } = command.output().expect("the command runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (status.code().expect("a code"), text(stdout), text(stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_deployment_is_taken_over_with_no_row_lost_or_doubled() {
    for drop in [false, true] {
        let (database, topic) = bench("adopt", 2).await;
        let (code, out, err) = crate::migrate::ended(operate(&["schema", "apply"], &database, None, None));
        assert_eq!(code, 0, "{out}{err}");
        topology(&database, &topic).await;
        topic.send_records(2, 0..100);
        // What the engine's consumer had done: 15 messages of one partition and 10 of the other, and their rows.
        let old = member(&topic);
        let mut list = TopicPartitionList::new();
        for (partition, next) in [(0, 15), (1, 10)] {
            list.add_partition_offset(&topic.name, partition, Offset::Offset(next)).expect("an offset");
        }
        old.commit(&list, CommitMode::Sync).expect("committed");
        let done = "SELECT 2, number * 2 FROM numbers(15) UNION ALL SELECT 2, number * 2 + 1 FROM numbers(10)";
        database
            .execute(&format!("INSERT INTO {{db}}.xtcp_flat_records_v2 (schema_version, record_counter) {done}"))
            .await;

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
        let busy = member(&topic);
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
        assert!(held.0 == 1 && held.2.contains("the group still has 1 members"), "{held:?}");
        busy.unsubscribe();
        std::mem::drop(busy);

        // The same command again goes on from there.
        let taken = adopt(&database, &topic.name, &arguments);
        assert_eq!(taken.0, 0, "{taken:?}");
        assert!(taken.1.contains("partition 0: 15\n  partition 1: 10\n"), "{}", taken.1);
        assert!(taken.1.contains("xtcp_flat_records_v2: 25 rows"), "{}", taken.1);
        let left = "system.tables WHERE database = '{db}' AND engine IN ('Kafka', 'MaterializedView')";
        assert_eq!(database.count(left).await, 0);
        let again = adopt(&database, &topic.name, &[]);
        assert!(again.0 == 0 && again.1.contains("nothing to take over"), "{again:?}");

        let mut ingest = Ingest::start(&database, &topic, &["--until-caught-up"], &[]);
        assert_eq!(ingest.exit_code(), Some(0), "{}", ingest.log());
        assert_eq!(database.count("{db}.xtcp_flat_records_v2").await, 100);
        assert_eq!(database.count("(SELECT DISTINCT record_counter FROM {db}.xtcp_flat_records_v2)").await, 100);
        assert_eq!(topic.total_committed(), 100);
    }
}
