//! What was consumed and what became of it, in one place and at one moment.
//!
//! `consumed = placed + diverted + held + returned` holds at every look, as every change moves pieces from one side to
//! the other under one lock. It is taken per batch, not per record.
//!
//! # Design
//! Pieces that are read and not yet acknowledged belong to a [`Held`], which travels with its batch and ends in exactly
//! one way: settled when every insert of the batch is acknowledged, or returned when it is dropped before (a revoked
//! partition, a lost assignment, a worker that failed). Returned pieces are not taken off `consumed`, which would make a
//! counter go down: they were read, they are just not this process's to answer for any more.
//!
//! `held` is not computed as what is missing, it is the sum over the living `Held`. So a batch whose outcome doesn't add
//! up to what was read shows as an imbalance instead of vanishing in a difference.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::lane::{Counts, Reason};

/// Different unknown fields that are counted on their own: each is a time series, and the numbers are the sender's to
/// choose.
const UNKNOWN_FIELDS: usize = 1000;

/// The sums of a process.
#[derive(Debug, Default)]
pub struct Ledger {
    sums: Mutex<Sums>,
}

/// All sums at one moment.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Sums {
    /// Messages read.
    pub messages: u64,
    /// Bytes of their values.
    pub bytes: u64,
    /// Records and undecodable pieces found in them.
    pub consumed: u64,
    /// Rows acknowledged, by epoch.
    pub placed: BTreeMap<u32, u64>,
    /// Pieces acknowledged in the error sink, by reason.
    pub diverted: BTreeMap<Reason, u64>,
    /// Pieces that a [`Held`] holds.
    pub held: u64,
    /// Pieces given up: another process reads them again.
    pub returned: u64,
    /// Fields of placed records that no layout defines, by epoch and field number.
    pub unknown_fields: BTreeMap<(u32, u32), u64>,
    /// Text values that are not UTF-8, by epoch.
    pub not_utf8: BTreeMap<u32, u64>,
}

impl Sums {
    /// Whether every piece that was consumed is accounted for.
    #[must_use]
    pub fn balances(&self) -> bool {
        let (placed, diverted): (u64, u64) = (self.placed.values().sum(), self.diverted.values().sum());
        self.consumed == placed + diverted + self.held + self.returned
    }
}

impl Ledger {
    /// The sums at this moment.
    #[must_use]
    pub fn sums(&self) -> Sums {
        self.lock().clone()
    }

    /// An account for a batch that is about to be filled.
    pub fn open(self: &Arc<Self>) -> Held {
        Held { ledger: Arc::clone(self), pieces: 0 }
    }

    fn lock(&self) -> MutexGuard<'_, Sums> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Pieces of one batch that were read and not yet acknowledged. Dropping it returns them.
#[derive(Debug)]
#[must_use = "dropping it says that the pieces were given up"]
pub struct Held {
    ledger: Arc<Ledger>,
    pieces: u64,
}

impl Held {
    /// Says what was read into the batch since the last time.
    pub fn consumed(&mut self, messages: u64, bytes: u64, pieces: u64) {
        let mut sums = self.ledger.lock();
        sums.messages += messages;
        sums.bytes += bytes;
        sums.consumed += pieces;
        sums.held += pieces;
        self.pieces += pieces;
    }

    /// The pieces that it holds.
    #[must_use]
    pub fn pieces(&self) -> u64 {
        self.pieces
    }

    /// Says that every insert of the batch is acknowledged.
    ///
    /// What the batch counted is taken as it is. Should it differ from what was read into it, the sums don't balance
    /// from then on, and the log says so.
    pub fn settle(mut self, counts: &Counts) {
        let outcome: u64 = counts.placed.values().chain(counts.diverted.values()).sum();
        if outcome != self.pieces {
            tracing::error!(read = self.pieces, outcome, "a batch's rows don't add up to what was read");
        }
        let mut sums = self.ledger.lock();
        sums.held -= std::mem::take(&mut self.pieces);
        add(&mut sums.placed, &counts.placed);
        add(&mut sums.diverted, &counts.diverted);
        add(&mut sums.not_utf8, &counts.not_utf8);
        for (&(epoch, field), count) in &counts.unknown_fields {
            let known = sums.unknown_fields.len() < UNKNOWN_FIELDS || sums.unknown_fields.contains_key(&(epoch, field));
            *sums.unknown_fields.entry((epoch, if known { field } else { 0 })).or_default() += count;
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.pieces > 0 {
            let mut sums = self.ledger.lock();
            sums.held -= self.pieces;
            sums.returned += self.pieces;
        }
    }
}

fn add<K: Ord + Copy>(to: &mut BTreeMap<K, u64>, from: &BTreeMap<K, u64>) {
    for (key, count) in from {
        *to.entry(*key).or_default() += count;
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn counts(placed: u64, diverted: u64) -> Counts {
        Counts {
            placed: BTreeMap::from([(2, placed)]),
            diverted: BTreeMap::from([(Reason::Truncated, diverted)]),
            ..Counts::default()
        }
    }

    #[test]
    fn a_batch_is_held_until_it_is_settled() {
        let ledger = Arc::new(Ledger::default());
        let mut held = ledger.open();
        held.consumed(1, 100, 7);
        held.consumed(1, 50, 3);
        let sums = ledger.sums();
        assert_eq!((sums.messages, sums.bytes, sums.consumed, sums.held), (2, 150, 10, 10));
        assert!(sums.balances());

        held.settle(&counts(9, 1));
        let sums = ledger.sums();
        assert_eq!((sums.placed[&2], sums.diverted[&Reason::Truncated], sums.held, sums.returned), (9, 1, 0, 0));
        assert!(sums.balances());
    }

    #[test]
    fn a_dropped_batch_is_returned() {
        let ledger = Arc::new(Ledger::default());
        let mut held = ledger.open();
        held.consumed(1, 100, 7);
        drop(held);
        let sums = ledger.sums();
        assert_eq!((sums.consumed, sums.held, sums.returned), (7, 0, 7));
        assert!(sums.balances());
    }

    #[test]
    fn rows_that_went_missing_show() {
        let ledger = Arc::new(Ledger::default());
        let mut held = ledger.open();
        held.consumed(1, 100, 7);
        held.settle(&counts(6, 0));
        assert!(!ledger.sums().balances());
    }

    #[test]
    fn unknown_fields_are_bounded() {
        let ledger = Arc::new(Ledger::default());
        let fields = 2 * u32::try_from(UNKNOWN_FIELDS).expect("a small number");
        let unknown_fields = (1..=fields).map(|field| ((2, field), 1)).collect();
        for _ in 0..2 {
            ledger.open().settle(&Counts { unknown_fields: BTreeMap::clone(&unknown_fields), ..Counts::default() });
        }
        let sums = ledger.sums();
        assert_eq!(sums.unknown_fields.len(), UNKNOWN_FIELDS + 1);
        assert_eq!(sums.unknown_fields.values().sum::<u64>(), 2 * u64::from(fields));
        assert_eq!(sums.unknown_fields[&(2, 1)], 2);
    }

    #[test]
    fn every_look_balances_while_many_work() {
        let ledger = Arc::new(Ledger::default());
        thread::scope(|scope| {
            for worker in 0..4_u64 {
                let ledger = &ledger;
                scope.spawn(move || {
                    for round in 0..2000 {
                        let mut held = ledger.open();
                        held.consumed(1, 10, worker + 1);
                        if round % 3 == 0 { drop(held) } else { held.settle(&counts(worker, 1)) }
                    }
                });
            }
            for _ in 0..2000 {
                let sums = ledger.sums();
                assert!(sums.balances(), "{sums:?}");
            }
        });
        let sums = ledger.sums();
        assert_eq!((sums.consumed, sums.held), (2000 * (1 + 2 + 3 + 4), 0));
    }
}
