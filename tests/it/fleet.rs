//! A fleet of all layouts with every fault and oddity, through Kafka into ClickHouse: counts and content.

use std::{collections::HashMap, time::Duration};

use serde_json::Value;

use crate::{
    content,
    process::{Ingest, generate},
    support::bench,
};

const PARTITIONS: i32 = 6;

#[tokio::test(flavor = "multi_thread")]
async fn a_mixed_fleet_lands_with_every_count_and_every_value_exact() {
    let (database, topic) = bench("fleet", PARTITIONS).await;
    let sent =
        generate(&topic.name, &["--rows", "200000", "--faults", "all=30", "--oddities", "all=30", "--checksums"]);
    let settings = [("BATCH_ROWS", "20000"), ("WORKERS", "3")];
    let mut ingest = Ingest::start(&database, &topic, &["--until-caught-up"], &settings);
    // A busy machine may take minutes; this is about what lands.
    assert_eq!(ingest.wait_within(Duration::from_secs(300)).code(), Some(0), "{}", ingest.log());

    let mut rows = 0;
    for epoch in content::definitions().registry.epochs() {
        let table = &epoch.table.name;
        let found = database.count(&format!("{{db}}.{table}")).await;
        assert_eq!(Some(found), sent["rows"][table].as_u64(), "{table}");
        assert!(found > 10_000, "{table}: {found}");
        let different =
            database.count(&format!("(SELECT DISTINCT inet_diag_msg_socket_cookie FROM {{db}}.{table})")).await;
        assert_eq!(different, found, "{table} has a row twice");
        let expected: content::Row = serde_json::from_value(sent["checksums"][table].clone()).expect("sums");
        assert_eq!(content::checksums(&database, epoch).await, expected, "{table}");
        rows += found;
    }
    assert_eq!(rows, 200_000);
    let reasons = Value::from_iter(content::diverted(&database).await);
    assert_eq!(reasons, sent["diverted"]);
    assert_eq!(reasons.as_object().expect("an object").len(), 9, "{reasons}");

    // Every piece is whole, and where it says.
    let mut next = HashMap::new();
    let messages: HashMap<_, _> = topic
        .values(sent["messages"].as_u64().expect("a count"))
        .into_iter()
        .map(|(partition, value)| {
            let offset = next.entry(partition).or_insert(0_i64);
            *offset += 1;
            ((partition, *offset - 1), value.unwrap_or_default())
        })
        .collect();
    for piece in content::pieces(&database).await {
        piece.assert_stands_in(&messages[&(piece.partition, piece.offset)]);
    }
    assert_eq!(topic.total_committed().cast_unsigned(), messages.len() as u64);
}
