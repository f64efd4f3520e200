//! Diverted records, as the error table holds them.

use serde::Deserialize;

use super::{BATCH, Marks};
use crate::{
    bootstrap::Definitions,
    clickhouse::{Client, Error, quoted},
    lane::Reason,
};

/// A diverted record: where it was, and its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Diverted {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: u64,
    /// The offset of its message.
    pub offset: u64,
    /// Its position in the message.
    pub record: i32,
    /// Where in the message it starts.
    pub byte_offset: u64,
    /// A number for its bytes: a topic that was made anew counts its offsets anew.
    pub hash: u64,
    /// Its bytes in hexadecimal.
    raw: String,
}

/// What tells a diverted record from every other, by the names of the marks.
const IDENTITY: &str = "topic, partition, offset, record, byte_offset, hash";

impl Diverted {
    /// The record itself.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or(0) as u8;
        self.raw.as_bytes().chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
    }
}

/// Records of the error table, one of each, with the names that marks have.
fn records(client: &Client, definitions: &Definitions, condition: &str) -> String {
    format!(
        "(SELECT topic, partition, offset, record, byte_offset, cityHash64(raw_message) AS hash, reason, schema_version, \
         hex(raw_message) AS raw FROM {}.{} WHERE record >= 0{condition} LIMIT 1 BY {IDENTITY})",
        quoted(client.database()),
        quoted(&definitions.errors().name)
    )
}

/// The next records of a reason that no batch has, in their order.
pub(super) async fn next(
    client: &Client,
    definitions: &Definitions,
    marks: &Marks<'_>,
    reason: Reason,
    after: Option<&Diverted>,
) -> Result<Vec<Diverted>, Error> {
    let known: Vec<String> = definitions.registry.epochs().iter().map(|epoch| epoch.number.to_string()).collect();
    // What has no definition yet isn't even read.
    let defined = match reason {
        Reason::UnknownEpoch => format!(" AND schema_version IN ({})", known.join(", ")),
        _ => String::new(),
    };
    let condition = format!(" AND reason = {{reason:String}}{defined}");
    let (beyond, topic) = match after {
        Some(Diverted { topic, partition, offset, record, byte_offset, hash, .. }) => (
            format!(
                "AND (toString(topic), partition, offset, record, byte_offset, hash) > \
                 ({{topic:String}}, {partition}, {offset}, {record}, {byte_offset}, {hash})"
            ),
            topic.as_str(),
        ),
        None => (String::new(), ""),
    };
    let sql = format!(
        "SELECT toString(topic) AS topic, partition, offset, record, byte_offset, hash, raw FROM {} AS e \
         WHERE ({IDENTITY}) NOT IN {} {beyond} \
         ORDER BY toString(topic), partition, offset, record, byte_offset, hash LIMIT {BATCH}",
        records(client, definitions, &condition),
        marks.identities(IDENTITY)
    );
    client.query(&sql, &[("reason", reason.code()), ("topic", topic)]).await
}

/// The records of a batch that was begun, in the order in which it was.
pub(super) async fn of_batch(
    client: &Client,
    definitions: &Definitions,
    marks: &Marks<'_>,
    batch: &str,
) -> Result<Vec<Diverted>, Error> {
    let sql = format!(
        "SELECT toString(topic) AS topic, partition, offset, record, byte_offset, hash, raw FROM {} AS e \
         WHERE ({IDENTITY}) IN {} ORDER BY toString(topic), partition, offset, record, byte_offset, hash",
        records(client, definitions, ""),
        marks.identities_of_batch(IDENTITY)
    );
    client.query(&sql, &[("batch", batch)]).await
}
