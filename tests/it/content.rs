//! What the tables hold, value by value and as sums.

use std::collections::BTreeMap;

use serde::Deserialize;
use xtcp_ingest::{
    bootstrap::Definitions,
    epoch::{Column, ColumnType, Epoch, Registry},
};

use crate::support::Database;

/// A row as text: numbers, enums and times as integers, texts in upper-case hexadecimal.
pub type Row = BTreeMap<String, String>;

/// Every row of an epoch's table.
pub async fn rows(database: &Database, epoch: &Epoch) -> Vec<Row> {
    let columns: Vec<_> =
        epoch.columns.iter().map(|c| format!("toString({}) AS {}", value(c, "hex"), c.name)).collect();
    database.query(&format!("SELECT {} FROM {{db}}.{} AS t", columns.join(", "), epoch.table.name)).await
}

/// The row of an epoch in which every column holds its default.
pub fn empty_row(epoch: &Epoch) -> Row {
    let default = |column: &Column| if is_text(column) { "" } else { "0" }.to_owned();
    epoch.columns.iter().map(|column| (column.name.clone(), default(column))).collect()
}

/// For each column of an epoch's table the sum over its rows that `generate --checksums` promises.
pub async fn checksums(database: &Database, epoch: &Epoch) -> Row {
    let sum = |column: &Column| {
        let value = value(column, "CRC32");
        format!(
            "toString(sum(reinterpretAsUInt64(toInt64({value})) * t.inet_diag_msg_socket_cookie)) AS {}",
            column.name
        )
    };
    let sums: Vec<_> = epoch.columns.iter().map(sum).collect();
    let sql = format!("SELECT {} FROM {{db}}.{} AS t", sums.join(", "), epoch.table.name);
    database.query(&sql).await.remove(0)
}

/// Pieces in the error table by reason.
pub async fn diverted(database: &Database) -> BTreeMap<String, u64> {
    #[derive(Deserialize)]
    struct Count {
        reason: String,
        n: u64,
    }
    let sql = "SELECT reason, count() AS n FROM {db}.xtcp_flat_records_errors GROUP BY reason";
    database.query::<Count>(sql).await.into_iter().map(|count| (count.reason, count.n)).collect()
}

/// A row of the error table.
#[derive(Debug, Deserialize)]
pub struct Diverted {
    pub topic: String,
    pub partition: i32,
    pub offset: i64,
    pub reason: String,
    pub record: i64,
    pub byte_offset: usize,
    raw: String,
}

impl Diverted {
    /// The piece.
    pub fn raw(&self) -> Vec<u8> {
        let digits = self.raw.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("ASCII"));
        digits.map(|pair| u8::from_str_radix(pair, 16).expect("hexadecimal")).collect()
    }

    /// Fails unless the piece stands in its message, at its place.
    pub fn assert_stands_in(&self, message: &[u8]) {
        let rest = message.get(self.byte_offset..).unwrap_or_default();
        assert!(rest.starts_with(&self.raw()), "{self:?} isn't in its message of {} bytes", message.len());
    }
}

/// The error table in the order of the messages.
pub async fn pieces(database: &Database) -> Vec<Diverted> {
    let sql = "SELECT topic, partition, offset, reason, record, byte_offset, hex(raw_message) AS raw \
               FROM {db}.xtcp_flat_records_errors ORDER BY partition, offset, byte_offset";
    database.query(sql).await
}

/// How many objects there are: in ClickHouse, and with the topic of records. The topic for what can't be placed has no name
/// by default.
pub fn object_counts() -> (usize, usize) {
    let all = definitions().objects.len();
    (all - 2, all - 1)
}

/// What a column of an epoch is called now.
pub fn newest_name(registry: &Registry, epoch: u32, name: &str) -> String {
    let index = registry.epochs().iter().position(|e| e.number == epoch).expect("a known epoch");
    let position = registry.epochs()[index].column(name);
    let newest = &registry.newest().columns;
    let heir = (0..newest.len()).find(|at| position.is_some() && registry.history(*at)[index] == position);
    newest[heir.unwrap_or_else(|| panic!("the newest epoch has no `{name}`"))].name.clone()
}

/// The epochs of the definitions in the binary.
pub fn definitions() -> Definitions {
    Definitions::embedded().expect("sound definitions")
}

fn is_text(column: &Column) -> bool {
    let name = column.column_type.to_string();
    name == "String" || name == "LowCardinality(String)"
}

/// The value of a column as an integer, or of a text by the function `text`.
fn value(column: &Column, text: &str) -> String {
    let name = format!("t.{}", column.name);
    match column.column_type {
        _ if is_text(column) => format!("{text}({name})"),
        ColumnType::Enum8(_) | ColumnType::Enum16(_) => format!("toInt64({name})"),
        ColumnType::DateTime64 { .. } => format!("toUnixTimestamp64Nano({name})"),
        _ => name,
    }
}
