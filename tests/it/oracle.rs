//! ClickHouse's own reader of protobuf as a second opinion: the same envelopes, read by the server, give the same rows.

use serde::Deserialize;
use xtcp_ingest::epoch::{ColumnType, Epoch};

use crate::{
    content,
    process::{Ingest, generate},
    support::{self, Database, bench},
};

/// The schema as the server takes it: in one setting, of which a URL has to hold every letter.
fn schema() -> String {
    let proto = include_str!("../../proto/xtcp_flat_record.proto");
    let lines = proto.lines().map(|line| line.split("//").next().unwrap_or_default().trim());
    lines.filter(|line| !line.is_empty() && !line.starts_with("package ")).collect::<Vec<_>>().join("\n")
}

/// A table of the epoch's shape with time and enums as the integers that they are on the wire.
async fn create_parsed(database: &Database, epoch: &Epoch) {
    let columns = epoch.columns.iter().map(|column| {
        let kind = match column.column_type {
            ColumnType::DateTime64 { .. } => "Int64".to_owned(),
            ColumnType::Enum8(_) => "UInt8".to_owned(),
            _ => column.column_type.to_string(),
        };
        format!("{} {kind}", column.name)
    });
    let columns: Vec<_> = columns.collect();
    database
        .execute(&format!("CREATE TABLE {{db}}.parsed ({}) ENGINE = MergeTree ORDER BY ()", columns.join(", ")))
        .await;
}

/// Has the server read one message.
async fn parse(http: &reqwest::Client, database: &Database, message: Vec<u8>) {
    let server = support::clickhouse(&database.name);
    let statement = format!("INSERT INTO {}.parsed FORMAT ProtobufList", database.name);
    let request = http
        .post(server.urls[0].clone())
        .query(&[
            ("query", statement.as_str()),
            ("format_schema_source", "string"),
            ("format_schema", &schema()),
            ("format_schema_message_name", "XtcpFlatRecord"),
        ])
        .header("X-ClickHouse-User", server.user)
        .header("X-ClickHouse-Key", server.password.reveal())
        .body(message);
    let reply = request.send().await.expect("an answer");
    assert!(reply.status().is_success(), "{}", reply.text().await.unwrap_or_default());
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
struct Hashed {
    rows: u64,
    sum: u64,
    xor: u64,
}

/// All rows of a table, whatever their order.
async fn hashed(database: &Database, table: &str, epoch: &Epoch) -> Hashed {
    let columns = epoch.columns.iter().map(|column| match (&column.column_type, table) {
        // As the views of the ClickHouse-only way have it.
        (ColumnType::DateTime64 { .. }, "parsed") => format!("fromUnixTimestamp64Nano({}, 'UTC')", column.name),
        (ColumnType::Enum8(_), _) => format!("toUInt8({})", column.name),
        _ => column.name.clone(),
    });
    let hash = format!("cityHash64({})", columns.collect::<Vec<_>>().join(", "));
    let sql = format!("SELECT count() AS rows, sum({hash}) AS sum, groupBitXor({hash}) AS xor FROM {{db}}.{table}");
    database.query(&sql).await.remove(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_reads_the_same_rows_from_the_same_envelopes() {
    let (database, topic) = bench("oracle", 3).await;
    // Not among them is what the server refuses: two envelopes in a message and, though protobuf allows them, groups,
    // padded varints, and more than 32 bits in a uint32. prost is the second opinion there.
    let oddities = "duplicate_fields=50,version_last=50,short_address=50,not_utf8=50";
    let definitions = content::definitions();
    let newest = definitions.registry.newest();
    let mix = format!("{}=1", newest.layouts.last().expect("a layout").name);
    let sent = generate(&topic.name, &["--rows", "20000", "--mix", &mix, "--oddities", oddities]);
    let mut ingest = Ingest::start(&database, &topic, &["--until-caught-up"], &[]);
    assert_eq!(ingest.exit_code(), Some(0), "{}", ingest.log());

    create_parsed(&database, newest).await;
    let http = reqwest::Client::builder().no_proxy().build().expect("a client");
    for (_, value) in topic.values(sent["messages"].as_u64().expect("a count")) {
        parse(&http, &database, value.expect("a value")).await;
    }
    let placed = hashed(&database, &newest.table.name, newest).await;
    assert_eq!(placed.rows, 20_000);
    assert_eq!(hashed(&database, "parsed", newest).await, placed);
}
