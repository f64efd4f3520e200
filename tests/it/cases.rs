//! The wire cases, through Kafka into ClickHouse.

use std::collections::BTreeMap;

use serde_json::Value;
use xtcp_ingest::epoch::Epoch;

use crate::{
    content::{self, Row},
    process::Ingest,
    support::bench,
    wire_cases,
};

/// A value of a case in the form in which rows are read back.
fn text(value: &Value, column: &str, epoch: &Epoch) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    let is_text = content::empty_row(epoch)[column].is_empty();
    match value {
        Value::String(text) if is_text => hex(text.as_bytes()),
        Value::String(number) => number.clone(),
        Value::Object(object) => object["hex"].as_str().expect("digits").to_uppercase(),
        other => other.to_string(),
    }
}

/// Reason and record of each diverted piece; -1 for a piece that is no record.
fn errors(list: &Value) -> Vec<(String, i64)> {
    let entry = |e: &Value| (e["reason"].as_str().expect("a code").to_owned(), e["record"].as_i64().unwrap_or(-1));
    list.as_array().expect("a list").iter().map(entry).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_case_lands_as_it_says() {
    let (database, topic) = bench("cases", 1).await;
    let cases = wire_cases::all();
    topic.send(0, cases.iter().map(|case| &case.message));
    let mut ingest = Ingest::start(&database, &topic, &["--until-caught-up"], &[]);
    assert_eq!(ingest.exit_code(), Some(0), "{}", ingest.log());

    // The offset of a message is the position of its case.
    let mut diverted: BTreeMap<i64, Vec<_>> = BTreeMap::new();
    for piece in content::pieces(&database).await {
        assert_eq!((piece.topic.as_str(), piece.partition), (topic.name.as_str(), 0));
        diverted.entry(piece.offset).or_default().push(piece);
    }
    let definitions = content::definitions();
    let mut expected: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for (offset, case) in (0..).zip(&cases) {
        let pieces = diverted.remove(&offset).unwrap_or_default();
        for piece in &pieces {
            piece.assert_stands_in(&case.message);
        }
        let found: Vec<_> = pieces.into_iter().map(|piece| (piece.reason, piece.record)).collect();
        if case.expected["alternatives"].as_array().is_some_and(|all| all.iter().any(|list| errors(list) == found)) {
            continue;
        }
        assert_eq!(found, errors(&case.expected["errors"]), "{}", case.name);
        for row in case.expected["rows"].as_array().expect("a list") {
            let table = row["table"].as_str().expect("a name");
            let epoch = definitions.registry.epochs().iter().find(|e| e.table.name == table).expect("an epoch");
            let mut full = content::empty_row(epoch);
            for (column, value) in row["values"].as_object().expect("an object") {
                let old = full.insert(column.clone(), text(value, column, epoch));
                assert!(old.is_some(), "{}: {table} has no column {column}", case.name);
            }
            expected.entry(table.to_owned()).or_default().push(full);
        }
    }
    assert!(diverted.is_empty(), "{diverted:?}");
    for epoch in definitions.registry.epochs() {
        let mut found = content::rows(&database, epoch).await;
        let mut expected = expected.remove(&epoch.table.name).unwrap_or_default();
        found.sort();
        expected.sort();
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(differing(found, expected), differing(expected, found), "{}", epoch.table.name);
        }
        assert_eq!(found.len(), expected.len(), "{}", epoch.table.name);
    }
}

/// The columns of one row that differ from the other: 172 are too many to read.
fn differing<'a>(row: &'a Row, other: &Row) -> Vec<(&'a String, &'a String)> {
    row.iter().filter(|(column, value)| other.get(*column) != Some(value)).collect()
}
