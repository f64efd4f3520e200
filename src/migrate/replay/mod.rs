//! Diverted records, placed once their cause is mended.
//!
//! A batch of them is written down before it is sent, sent under a token of its own, and written down as ended. Whoever
//! finds a batch that was begun and not ended sends the same records under the same token: the table knows it if they had
//! arrived. So every record is placed once, wherever a replay is ended. The rows of the error table stay as they are until
//! their own end; the marks tell which of them were placed.
//!
//! The lease keeps two replays apart. One that slept while its lease lapsed finds its records in a batch of somebody else,
//! and gives its own up before it sends anything.

mod decode;
mod marks;
mod rows;

use std::collections::BTreeMap;

use tracing::info;

pub use decode::Decoded;
pub use marks::Marks;
pub use rows::Diverted;

use crate::{
    bootstrap::{Claim, Definitions},
    clickhouse::{Client, Error, Insert},
    lane::{Block, Reason},
};

/// Records of a batch: little enough for one block, and for a lease that isn't renewed.
pub const BATCH: usize = 10_000;

/// Why a replay ended early. What was placed stays placed, and is not placed again.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// ClickHouse.
    #[error(transparent)]
    ClickHouse(#[from] Error),
    /// The lease has lapsed.
    #[error("the lease lapsed before all was placed")]
    LeaseLapsed,
    /// The reason isn't one of records.
    #[error("`{reason}` is no reason that records are diverted for; those are {}", known())]
    Reason {
        /// What was read.
        reason: String,
    },
}

fn known() -> String {
    reasons().map(|reason| format!("`{reason}`")).collect::<Vec<_>>().join(", ")
}

/// The reasons of records; those of other pieces leave nothing that could be placed.
pub fn reasons() -> impl Iterator<Item = Reason> {
    let of_records =
        |reason: &Reason| !matches!(reason, Reason::Framing | Reason::EnvelopeField | Reason::EmptyMessage);
    Reason::ALL.into_iter().filter(of_records)
}

/// The reason of that code.
///
/// # Errors
/// When it isn't one of records.
pub fn reason(code: &str) -> Result<Reason, ReplayError> {
    reasons().find(|reason| reason.code() == code).ok_or_else(|| ReplayError::Reason { reason: code.to_owned() })
}

/// What a replay did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Records of batches that an earlier run had begun, by table. They may have been there already.
    pub finished: BTreeMap<String, u64>,
    /// Records that were placed, by table.
    pub placed: BTreeMap<String, u64>,
    /// Records that are refused still, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Batches that somebody else had begun in the meantime.
    pub given_up: u64,
}

/// A replay of one reason.
pub struct Replay<'a> {
    /// The server.
    pub client: &'a Client,
    /// What says how records are read.
    pub definitions: &'a Definitions,
    /// Which batches there are.
    pub marks: Marks<'a>,
    /// Why the records were diverted.
    pub reason: Reason,
}

impl Replay<'_> {
    /// Finishes what an earlier run began, then places what can be placed.
    ///
    /// # Errors
    /// When ClickHouse refuses something, or the lease lapses. The next run goes on.
    pub async fn run(&self, claim: &Claim) -> Result<Replayed, ReplayError> {
        let mut done = Replayed::default();
        for (batch, reason) in self.marks.unfinished().await? {
            if !claim.is_live() {
                return Err(ReplayError::LeaseLapsed);
            }
            let rows = rows::of_batch(self.client, self.definitions, &self.marks, &batch).await?;
            let decoded = decode::decode(self.definitions, &rows);
            info!(batch, reason, rows = rows.len(), "finishing a batch that was begun before");
            self.send(&batch, &decoded.blocks).await?;
            add(&mut done.finished, &decoded.blocks);
            self.marks.end(&batch, marks::DONE).await?;
        }
        let mut after: Option<Diverted> = None;
        loop {
            if !claim.is_live() {
                return Err(ReplayError::LeaseLapsed);
            }
            let rows = rows::next(self.client, self.definitions, &self.marks, self.reason, after.as_ref()).await?;
            let Some(last) = rows.last().cloned() else { return Ok(done) };
            let decoded = decode::decode(self.definitions, &rows);
            for reason in &decoded.refused {
                *done.refused.entry(reason.clone()).or_default() += 1;
            }
            let placed: Vec<&Diverted> = decoded.placed.iter().map(|at| &rows[*at]).collect();
            if !placed.is_empty() {
                let batch = format!("{:016x}", rand::random::<u64>());
                self.marks.begin(&batch, self.reason, &placed).await?;
                if self.marks.has_rival(&batch).await? {
                    self.marks.end(&batch, marks::GIVEN_UP).await?;
                    done.given_up += 1;
                } else {
                    self.send(&batch, &decoded.blocks).await?;
                    add(&mut done.placed, &decoded.blocks);
                    self.marks.end(&batch, marks::DONE).await?;
                }
            }
            after = Some(last);
        }
    }

    /// Sends the blocks of a batch, each under a token of its own.
    async fn send(&self, batch: &str, blocks: &[Block]) -> Result<(), Error> {
        for block in blocks {
            let table = &block.target.table;
            let columns: Vec<&str> = block.target.columns.iter().map(|(name, _)| name.as_str()).collect();
            let token = format!("replay/{batch}/{table}");
            let settings = [("insert_deduplicate", "1"), ("insert_deduplication_token", token.as_str())];
            self.client.insert(&Insert { table, columns: &columns, body: &block.body, settings: &settings }).await?;
        }
        Ok(())
    }
}

fn add(counts: &mut BTreeMap<String, u64>, blocks: &[Block]) {
    for block in blocks {
        *counts.entry(block.target.table.clone()).or_default() += block.rows;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reasons_of_records_can_be_replayed() {
        assert!(matches!(reason("unknown_epoch"), Ok(Reason::UnknownEpoch)));
        for code in ["framing", "envelope_field", "empty_message", "nonsense"] {
            let said = reason(code).map(|_| ()).expect_err(code).to_string();
            assert!(said.contains(code) && said.contains("`unknown_epoch`"), "{said}");
        }
    }
}
