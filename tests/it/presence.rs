//! Whether the server has a block is told by two of its rows: found if it is there, whatever they hold, and missed if not.

use std::{process::Command, sync::Arc};

use xtcp_ingest::{
    bootstrap::Definitions,
    clickhouse::{Insert, Sought},
    config::Framing,
    lane::{Block, Decoder, Lane, Message, Schema},
};

use crate::{run::create_tables, support::Database, topic::message};

fn schema() -> Arc<Schema> {
    let definitions = Definitions::embedded().expect("sound definitions");
    Schema::new(&definitions.registry, &definitions.errors().name, Framing::Delimited)
}

fn blocks(schema: &Arc<Schema>, values: &[Vec<u8>], first: i64) -> Vec<Block> {
    let (mut decoder, mut lane) = (Decoder::new(schema.clone()), Lane::new(schema.clone(), "t".into(), 3));
    for (offset, value) in (first..).zip(values) {
        lane.fill(&mut decoder).push(Message { offset, time_ms: Some(1_790_000_000_000), payload: Some(value) });
        lane.seal_sections();
    }
    lane.close().map(|batch| batch.blocks).unwrap_or_default()
}

async fn insert(database: &Database, block: &Block, token: &str) {
    let columns: Vec<_> = (0..block.target.columns.len()).map(|column| block.target.name(column)).collect();
    let settings = [("insert_deduplication_token", token)];
    let insert = Insert { table: &block.target.table, columns: &columns, body: &block.body, settings: &settings };
    database.client.insert(&insert).await.unwrap_or_else(|e| panic!("{e}"));
}

/// How many of the block's samples the server doesn't have.
async fn missing(database: &Database, block: &Block) -> usize {
    let identity = &block.target.identity;
    let names = |columns: &[usize]| columns.iter().map(|column| block.target.name(*column)).collect::<Vec<_>>();
    let (columns, selective) = (names(&identity.columns), names(&identity.selective));
    let mut missing = 0;
    for row in &block.samples {
        let sought = Sought { table: &block.target.table, columns: &columns, selective: &selective, row };
        missing += usize::from(!database.client.has_row(&sought).await.unwrap_or_else(|e| panic!("{e}")));
    }
    missing
}

/// Frames of all layouts with all oddities and faults that make rows of the error table.
fn fleet() -> Vec<Vec<u8>> {
    let file = std::env::temp_dir().join(format!("xtcp-presence-{}", std::process::id()));
    let made = Command::new(env!("CARGO_BIN_EXE_xtcp-ingest"))
        .args([
            "generate",
            "--rows",
            "12000",
            "--faults",
            "truncated=20,future_epoch=20",
            "--envelope",
            "1..300",
            "--out",
        ])
        .arg(&file)
        .status();
    assert!(made.expect("the command starts").success());
    let bytes = std::fs::read(&file).expect("what was made");
    std::fs::remove_file(&file).expect("mine");
    let mut frames = Vec::new();
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        let mut after = rest;
        let length = prost::encoding::decode_varint(&mut after).expect("a length") as usize;
        let (frame, others) = rest.split_at(rest.len() - after.len() + length);
        frames.push(frame.to_vec());
        rest = others;
    }
    frames
}

#[tokio::test]
async fn blocks_of_every_kind_are_found_once_they_are_there_and_no_sooner() {
    let database = Database::new("presence").await;
    create_tables(&database).await;
    let schema = schema();
    let frames = fleet();
    let (mut count, mut first) = (0, 0);
    // Batches of one message and of many, the last with several sections.
    for size in [1, 1, 3, 10, frames.len()] {
        let batch = &frames[first..frames.len().min(first + size)];
        for block in blocks(&schema, batch, first as i64) {
            assert!(
                missing(&database, &block).await == block.samples.len(),
                "{}: it was not sent yet",
                block.target.table
            );
            insert(&database, &block, &format!("{first}")).await;
            assert_eq!(missing(&database, &block).await, 0, "{}", block.target.table);
            count += 1;
        }
        first += batch.len();
    }
    assert!(first == frames.len() && count >= 10, "{first} frames, {count} blocks");
}

#[tokio::test]
async fn a_row_is_told_from_one_that_left_by_its_age() {
    let database = Database::new("presence_ttl").await;
    create_tables(&database).await;
    let blocks = blocks(&schema(), &[message(2, 0..10)], 0);
    let [block] = blocks.as_slice() else { panic!("one table") };
    let [row] = block.samples.as_slice() else { panic!("a block of one section has one sample") };
    for (days, is_living) in [(1, false), (365, true)] {
        let living = format!("toDateTime(timestamp_ns) + toIntervalDay({days}) > toDateTime('2026-11-30 00:00:00')");
        let found = database.client.is_true_of(row, &living).await.unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(found, is_living, "{days} days");
    }
}
