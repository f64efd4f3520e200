//! The client against the real engine: what an insert writes, what is refused, and by which code.

use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use xtcp_ingest::{
    block::FrameWriter,
    clickhouse::{Class, Client, Error, Insert},
    config::Secret,
};

use crate::support::{self, Database};

async fn database(test: &str, table: &str) -> Database {
    let database = Database::new(test).await;
    database.execute("CREATE DATABASE {db}").await;
    database.execute(table).await;
    database
}

/// A Native block of one fixed-width column, in compressed framing.
fn block(column: &str, column_type: &str, rows: u64, values: &[u8]) -> Bytes {
    let mut frames = FrameWriter::default();
    let varint = |frames: &mut FrameWriter, mut n: u64| {
        while n >= 0x80 {
            frames.write(&[(n & 0x7f) as u8 | 0x80]);
            n >>= 7;
        }
        frames.write(&[n as u8]);
    };
    varint(&mut frames, 1);
    varint(&mut frames, rows);
    for text in [column, column_type] {
        varint(&mut frames, text.len() as u64);
        frames.write(text.as_bytes());
    }
    frames.write(values);
    frames.finish().into()
}

async fn insert(client: &Client, column: &str, body: Bytes) -> Result<(), Error> {
    client.insert(&Insert { table: "t", columns: &[column], body: &body, settings: &[] }).await
}

#[derive(Deserialize, Debug, PartialEq)]
struct Count {
    n: u64,
}

#[tokio::test]
async fn one_insert_is_one_part_however_long() {
    let rows = 1_500_000_u64; // more than the server's own limit of rows in a block
    let database = database("part", "CREATE TABLE {db}.t (a UInt8) ENGINE = MergeTree ORDER BY a").await;
    database.execute("SYSTEM STOP MERGES {db}.t").await;
    let values: Vec<u8> = (0..rows).map(|n| n as u8).collect();
    insert(&database.client, "a", block("a", "UInt8", rows, &values)).await.expect("acknowledged");
    let parts = "SELECT count() AS n FROM system.parts WHERE database = '{db}' AND active";
    assert_eq!(database.query::<Count>(parts).await, [Count { n: 1 }]);
    let sum = values.iter().map(|v| u64::from(*v)).sum();
    assert_eq!(database.query::<Count>("SELECT sum(a) AS n FROM {db}.t").await, [Count { n: sum }]);
}

#[tokio::test]
async fn sections_become_one_part_under_one_token() {
    let table = "CREATE TABLE {db}.t (a UInt8) ENGINE = MergeTree ORDER BY a SETTINGS non_replicated_deduplication_window = 100";
    let database = database("sections", table).await;
    database.execute("SYSTEM STOP MERGES {db}.t").await;
    // The server's own bounds of rows and bytes of a block lie between the first section and the last.
    let rows = 400_000_u64;
    let section = |of: u8| block("a", "UInt8", rows, &vec![of; rows as usize]);
    let sections = [section(1), section(2), section(3)];
    let body: Bytes = sections.iter().flat_map(|section| section.iter().copied()).collect();
    let insert = Insert { table: "t", columns: &["a"], body: &body, settings: &[("insert_deduplication_token", "x")] };
    let parts = "SELECT count() AS n FROM system.parts WHERE database = '{db}' AND active";
    let sum = "SELECT sum(a) AS n FROM {db}.t";
    for _ in 0..2 {
        database.client.insert(&insert).await.expect("acknowledged");
        assert_eq!(database.query::<Count>(parts).await, [Count { n: 1 }]);
        assert_eq!(database.query::<Count>(sum).await, [Count { n: rows * 6 }], "nothing of it twice");
    }
    // What is cut off in the middle of a section leaves none of those before.
    let cut =
        Insert { body: &body.slice(..body.len() - 5), settings: &[("insert_deduplication_token", "y")], ..insert };
    database.client.insert(&cut).await.expect_err("cut off");
    assert_eq!(database.query::<Count>(sum).await, [Count { n: rows * 6 }]);
}

#[tokio::test]
async fn what_comes_again_is_dropped_in_views_too_and_in_every_partition_of_the_table() {
    let keep = "SETTINGS non_replicated_deduplication_window = 100";
    let table = format!("CREATE TABLE {{db}}.t (a UInt8) ENGINE = MergeTree PARTITION BY a ORDER BY a {keep}");
    let database = database("views", &table).await;
    let sums = "CREATE TABLE {db}.sums (a UInt8, n UInt64) ENGINE = SummingMergeTree ORDER BY a";
    database.execute(&format!("{sums} {keep}")).await;
    database
        .execute("CREATE MATERIALIZED VIEW {db}.v TO {db}.sums AS SELECT a, count() AS n FROM {db}.t GROUP BY a")
        .await;
    let body = block("a", "UInt8", 4, &[1, 1, 2, 3]);
    for (token, rows) in [("x", 4), ("x", 4), ("y", 8), ("x", 8)] {
        let settings = [("insert_deduplication_token", token)];
        let insert = Insert { table: "t", columns: &["a"], body: &body, settings: &settings };
        database.client.insert(&insert).await.expect("acknowledged");
        for count in ["SELECT count() AS n FROM {db}.t", "SELECT sum(n) AS n FROM {db}.sums"] {
            assert_eq!(database.query::<Count>(count).await, [Count { n: rows }], "{token}: {count}");
        }
    }
}

#[tokio::test]
async fn refusals_have_their_class() {
    let table = "CREATE TABLE {db}.t (a UInt32, CONSTRAINT small CHECK a < 10) ENGINE = MergeTree ORDER BY a";
    let database = database("class", table).await;
    let client = &database.client;
    let body = |n: u32| block("a", "UInt32", 1, &n.to_le_bytes());
    insert(client, "a", body(9)).await.expect("a row that the constraint takes");

    let cases = [
        (insert(client, "a", body(10)).await, 469, Class::Split),
        (insert(client, "b", block("b", "UInt32", 1, &[0; 4])).await, 16, Class::Schema),
        (client.execute("SELECT * FROM no_such_database.t", &[]).await, 81, Class::Schema),
        (client.execute("SELEC 1", &[]).await, 62, Class::Fatal),
        (client.execute("SELECT 1", &[("no_such_setting", "1")]).await, 115, Class::Fatal),
        (client.execute("SELECT throwIf(1)", &[]).await, 395, Class::Retry),
    ];
    for (result, code, class) in cases {
        let error = result.expect_err("refused");
        assert_eq!((error.code(), error.class()), (Some(code), class), "{error}");
    }
    database.execute("DROP TABLE {db}.t SYNC").await;
    let error = insert(client, "a", body(1)).await.expect_err("no table");
    assert_eq!((error.code(), error.class()), (Some(60), Class::Schema), "{error}");
}

#[tokio::test]
async fn a_block_of_another_type_is_refused_and_not_cast() {
    let database = database("cast", "CREATE TABLE {db}.t (a UInt32) ENGINE = MergeTree ORDER BY a").await;
    let error = insert(&database.client, "a", block("a", "UInt64", 1, &u64::MAX.to_le_bytes())).await;
    let error = error.expect_err("UInt64 is no UInt32");
    assert!(error.is_schema_fault(), "{error}");
    assert_eq!(database.query::<Count>("SELECT count() AS n FROM {db}.t").await, [Count { n: 0 }]);
}

#[tokio::test]
async fn a_spoilt_body_is_refused_whole() {
    let database = database("spoilt", "CREATE TABLE {db}.t (a UInt32) ENGINE = MergeTree ORDER BY a").await;
    let whole = block("a", "UInt32", 2, &[1; 8]);
    let mut flipped = whole.to_vec();
    *flipped.last_mut().expect("a byte") ^= 1;
    for body in [whole.slice(..whole.len() - 3), flipped.into()] {
        let error = insert(&database.client, "a", body).await.expect_err("a spoilt body");
        assert!(error.is_retryable(), "{error}");
    }
    assert_eq!(database.query::<Count>("SELECT count() AS n FROM {db}.t").await, [Count { n: 0 }]);
}

#[tokio::test]
async fn a_wrong_password_is_fatal_and_shows_nowhere() {
    let mut config = support::clickhouse("default");
    config.password = Secret::new("surely-not-the-password");
    let error = Client::new(&config).expect("a client").ping().await.expect_err("a wrong password");
    assert!(error.is_fatal() && error.code() == Some(516), "{error}");
    assert!(!format!("{error} {error:?}").contains("surely-not"), "{error}");
}

#[tokio::test]
async fn parameters_come_back_as_they_were() {
    let database = Database::new("parameters").await;
    #[derive(Deserialize, Debug, PartialEq)]
    struct Row {
        text: String,
        number: u64,
    }
    let text = "tab\t, line\n, back\\slash, quote', ä, {x:String}";
    let sql = "SELECT {text:String} AS text, {number:UInt64} AS number";
    let params = [("text", text), ("number", "18446744073709551615")];
    let rows: Vec<Row> = database.client.query(sql, &params).await.expect("a row");
    assert_eq!(rows, [Row { text: text.to_owned(), number: u64::MAX }]);
}

#[tokio::test]
async fn an_idle_connection_is_not_met_dead() {
    let database = Database::new("idle").await;
    for pause in [0, 2_200, 3_300, 5_000] {
        tokio::time::sleep(Duration::from_millis(pause)).await;
        database.client.ping().await.unwrap_or_else(|e| panic!("after {pause} ms: {e}"));
    }
}
