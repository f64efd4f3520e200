//! `generate` into a real topic.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::Value;
use xtcp_ingest::{bootstrap::Definitions, config::Framing, inspect::inspect, lane::Schema};

use crate::{
    process::{generate, generate_command},
    support::{Database, bench, kafka_brokers},
};

const PARTITIONS: i32 = 3;

fn counts(json: &Value) -> BTreeMap<String, u64> {
    let object = json.as_object().expect("an object");
    object.iter().map(|(name, n)| (name.clone(), n.as_u64().expect("a count"))).filter(|(_, n)| *n > 0).collect()
}

#[tokio::test]
async fn what_is_promised_is_what_the_topic_holds() {
    let (_database, topic) = bench("generate", PARTITIONS).await;
    let arguments = ["--rows", "5000", "--faults", "all=3", "--oddities", "all=3", "--envelope", "1..60"];
    let sent = generate(&topic.name, &arguments);

    let messages = topic.values(sent["messages"].as_u64().expect("a count"));
    let bytes: usize = messages.iter().filter_map(|(_, value)| value.as_ref()).map(Vec::len).sum();
    assert_eq!(sent["bytes"].as_u64(), Some(bytes as u64));
    for partition in 0..PARTITIONS {
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

#[tokio::test]
async fn a_topic_that_is_not_there_is_named_and_not_made() {
    let name = Database::new("generate_absent").await.name.clone();
    for _ in 0..2 {
        let output = generate_command(&name, &["--rows", "10"]);
        assert_eq!(output.status.code(), Some(1));
        let error = format!(
            "error: there is no topic `{name}` at {}\n\nhint: create the topic first; `xtcp-ingest run` does when it starts\n",
            kafka_brokers()
        );
        assert_eq!(String::from_utf8_lossy(&output.stderr), error);
    }
}

#[tokio::test]
async fn a_rate_is_kept() {
    let (_database, topic) = bench("generate_rate", PARTITIONS).await;
    let start = Instant::now();
    generate(&topic.name, &["--rows", "3000", "--rate", "1500", "--envelope", "50"]);
    // The last message waits for the rows before it; how much longer a busy machine takes is not ours to say.
    assert!(start.elapsed() >= Duration::from_millis(1900), "{:?}", start.elapsed());
}
