//! `generate` into a real topic.

use std::{
    collections::BTreeMap,
    process::{Command, Output},
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use rdkafka::{
    ClientConfig, Message as _, Offset, TopicPartitionList,
    consumer::{BaseConsumer, Consumer as _},
};
use serde_json::Value;
use xtcp_ingest::{
    bootstrap::Definitions,
    config::{self, Framing},
    inspect::inspect,
    kafka,
    lane::Schema,
};

use crate::support::kafka_brokers;

const PARTITIONS: u32 = 3;

fn generate(topic: &str, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtcp-ingest"))
        .args(["generate", "--kafka-topic", topic])
        .args(arguments)
        .env_clear()
        .env("XTCP_INGEST_KAFKA_BROKERS", kafka_brokers())
        .output()
        .expect("the command starts")
}

/// A topic of its own for each test.
struct Topic {
    name: String,
    consumer: BaseConsumer,
}

impl Topic {
    fn name(test: &str) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
        format!("it-{test}-{:x}", now.as_nanos() & 0xffff_ffff_ffff)
    }

    fn new(test: &str) -> Self {
        let name = Self::name(test);
        let mut config = config::load(config::Sources::default()).expect("the defaults are good").config.kafka;
        config.brokers = kafka_brokers();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let create = async { kafka::Admin::new(&config)?.create_topic(&name, PARTITIONS.cast_signed(), 1, &[]).await };
        if let Err(error) = runtime.block_on(create) {
            panic!("Kafka is not reachable, run `make up`: {error}");
        }
        let consumer: BaseConsumer = ClientConfig::new()
            .set("bootstrap.servers", &config.brokers)
            .set("group.id", &name)
            .set("enable.auto.commit", "false")
            .create()
            .expect("a consumer");
        let mut all = TopicPartitionList::new();
        for partition in 0..PARTITIONS.cast_signed() {
            all.add_partition_offset(&name, partition, Offset::Beginning).expect("an offset");
        }
        consumer.assign(&all).expect("an assignment");
        Self { name, consumer }
    }

    /// So many values with their partitions.
    fn values(&self, count: u64) -> Vec<(i32, Option<Vec<u8>>)> {
        let mut values = Vec::new();
        let end = Instant::now() + Duration::from_secs(30);
        while (values.len() as u64) < count {
            assert!(Instant::now() < end, "{} of {count} messages came", values.len());
            if let Some(message) = self.consumer.poll(Duration::from_millis(200)) {
                let message = message.expect("a message");
                values.push((message.partition(), message.payload().map(<[u8]>::to_vec)));
            }
        }
        values
    }
}

fn counts(json: &Value) -> BTreeMap<String, u64> {
    let object = json.as_object().expect("an object");
    object.iter().map(|(name, n)| (name.clone(), n.as_u64().expect("a count"))).filter(|(_, n)| *n > 0).collect()
}

#[test]
fn what_is_promised_is_what_the_topic_holds() {
    let topic = Topic::new("generate");
    let output = generate(
        &topic.name,
        &["--rows", "5000", "--faults", "all=3", "--oddities", "all=3", "--envelope", "1..60", "--json"],
    );
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let sent: Value = serde_json::from_slice(&output.stdout).expect("JSON");

    let messages = topic.values(sent["messages"].as_u64().expect("a count"));
    let bytes: usize = messages.iter().filter_map(|(_, value)| value.as_ref()).map(Vec::len).sum();
    assert_eq!(sent["bytes"].as_u64(), Some(bytes as u64));
    for partition in 0..PARTITIONS.cast_signed() {
        let share = messages.iter().filter(|(p, _)| *p == partition).count();
        assert!(share.abs_diff(messages.len() / 3) <= 1, "partition {partition} has {share} of {}", messages.len());
    }
    assert_eq!(messages.iter().filter(|(_, value)| value.is_none()).count(), 3);

    let definitions = Definitions::embedded().expect("good definitions");
    let schema: Arc<Schema> = Schema::new(&definitions.registry, &definitions.errors().name, Framing::Delimited);
    let (mut rows, mut diverted) = (BTreeMap::new(), BTreeMap::new());
    for (_, value) in &messages {
        let report = inspect(&schema, value.as_deref().unwrap_or_default());
        for row in report.rows {
            *rows.entry(row.table).or_insert(0) += 1;
        }
        for error in report.errors {
            *diverted.entry(error.reason).or_insert(0) += 1;
        }
    }
    assert_eq!(rows.values().sum::<u64>(), 5000);
    assert_eq!(rows, counts(&sent["rows"]));
    assert_eq!(diverted, counts(&sent["diverted"]));
}

#[test]
fn a_topic_that_is_not_there_is_named_and_not_made() {
    let name = Topic::name("absent");
    for _ in 0..2 {
        let output = generate(&name, &["--rows", "10"]);
        assert_eq!(output.status.code(), Some(1));
        let error = format!(
            "error: there is no topic `{name}` at {}\n\nhint: create the topic first; `xtcp-ingest run` does when it starts\n",
            kafka_brokers()
        );
        assert_eq!(String::from_utf8_lossy(&output.stderr), error);
    }
}

#[test]
fn a_rate_is_kept() {
    let topic = Topic::new("rate");
    let start = Instant::now();
    let output = generate(&topic.name, &["--rows", "3000", "--rate", "1500", "--envelope", "50", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // The last message waits for the rows before it; how much longer a busy machine takes is not ours to say.
    assert!(start.elapsed() >= Duration::from_millis(1900), "{:?}", start.elapsed());
}
