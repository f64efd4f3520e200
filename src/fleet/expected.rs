//! What must come of a message, and of all of them.

use std::collections::BTreeMap;

use super::{Checksum, Fault, Oddity};
use crate::lane::Reason;

/// One message and what must come of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The value; `None` for a null value.
    pub payload: Option<Vec<u8>>,
    /// What must come of it.
    pub expected: Expected,
}

/// What must come of messages.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Expected {
    /// Rows by epoch.
    pub rows: BTreeMap<u32, u64>,
    /// Diverted pieces by reason.
    pub diverted: BTreeMap<Reason, u64>,
}

impl Expected {
    /// All rows.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.rows.values().sum()
    }

    /// Adds what must come of other messages.
    pub fn add(&mut self, other: &Self) {
        for (epoch, rows) in &other.rows {
            *self.rows.entry(*epoch).or_default() += rows;
        }
        for (reason, pieces) in &other.diverted {
            *self.diverted.entry(*reason).or_default() += pieces;
        }
    }

    pub(super) fn row(&mut self, epoch: u32) {
        *self.rows.entry(epoch).or_default() += 1;
    }

    pub(super) fn divert(&mut self, fault: Fault) {
        *self.diverted.entry(fault.reason()).or_default() += 1;
    }
}

/// Everything that a fleet has sent so far.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Totals {
    /// Messages, those without a value included.
    pub messages: u64,
    /// Bytes of their values.
    pub bytes: u64,
    /// What must come of them.
    pub expected: Expected,
    /// Bytes of the records that must land.
    pub record_bytes: u64,
    /// Records that must land, by layout.
    pub layouts: BTreeMap<String, u64>,
    /// Faults by kind.
    pub faults: BTreeMap<Fault, u64>,
    /// Oddities by kind.
    pub oddities: BTreeMap<Oddity, u64>,
    /// By epoch, what the columns of its table must add up to; empty unless the options ask for it.
    pub checksums: BTreeMap<u32, Checksum>,
}
