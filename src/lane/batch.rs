//! What a lane closes at once.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;

use super::Reason;

/// An offset range of one partition and everything that came of it: the unit of insert, acknowledgement and commit.
#[derive(Debug)]
pub struct Batch {
    /// The partition.
    pub partition: i32,
    /// The offset of the first message.
    pub first: i64,
    /// The offset after the last message: what is committed once every block is acknowledged.
    pub next: i64,
    /// The sealed blocks, epochs ascending, then the errors. None is empty; there may be none at all.
    pub blocks: Vec<Block>,
    /// What the messages held.
    pub counts: Counts,
}

/// Rows of one table, encoded and compressed: the body of one `INSERT … FORMAT Native`.
#[derive(Debug, Clone)]
pub struct Block {
    /// Where the rows go.
    pub target: Arc<Target>,
    /// The number of rows, at least one.
    pub rows: u64,
    /// One Native block or more in ClickHouse's compressed framing (`decompress=1`). The server puts them together.
    pub body: Bytes,
    /// Their bytes before compression.
    pub native_bytes: u64,
    /// A row of its first section and, if it has more, one of its last, in the columns of [`Identity`]: a Native block each, not
    /// compressed. The server has the block if it has these rows. Of their sections they are the last to leave the table.
    pub samples: Vec<Bytes>,
}

/// A table and the columns that its blocks carry.
#[derive(Debug, PartialEq, Eq)]
pub struct Target {
    /// The table's name without the database.
    pub table: String,
    /// The epoch, or `None` for the error sink.
    pub epoch: Option<u32>,
    /// Column names and types in block order. Columns of the table that are not here are filled by its defaults.
    pub columns: Vec<(String, String)>,
    /// How its rows are told apart.
    pub identity: Identity,
}

/// By which columns a row of a table is told from all others: positions in [`Target::columns`].
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Numbers, and what the table is sorted by.
    pub columns: Vec<usize>,
    /// Those of them by which few rows remain, where the table is sorted by something else.
    pub selective: Vec<usize>,
    /// The one by which rows leave the table.
    pub leaves_by: Option<usize>,
}

impl Target {
    /// The name of a column.
    ///
    /// # Panics
    /// If there is no such position.
    #[must_use]
    pub fn name(&self, column: usize) -> &str {
        &self.columns[column].0
    }
}

/// What a range of messages held. Every record and every undecodable piece is in exactly one of `placed`, `diverted`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Counts {
    /// Messages, empty ones included.
    pub messages: u64,
    /// Bytes of message values.
    pub bytes: u64,
    /// Rows by epoch.
    pub placed: BTreeMap<u32, u64>,
    /// Pieces by reason.
    pub diverted: BTreeMap<Reason, u64>,
    /// Fields that no layout defines, by epoch and field number. Beyond a bound of distinct numbers they are counted
    /// under number 0.
    pub unknown_fields: BTreeMap<(u32, u32), u64>,
    /// Text values that are not UTF-8, by epoch. They were placed byte for byte.
    pub not_utf8: BTreeMap<u32, u64>,
}
