//! One partition while this process owns it: what is under way, the floor, what is committed.
//!
//! The states in which a batch can be, and what has to be true before the next:
//! closed (its end is known) → begun (in the floor's order) → its blocks sent → acknowledged → below the floor → committed.

use std::collections::HashMap;

use tokio::{sync::watch, task::JoinSet};

use super::{floor::Floor, tenure::Tenure};
use crate::{lane::Counts, telemetry::Held};

/// The state of one tenure. Dropping it gives up everything that is under way.
pub(super) struct Partition {
    pub(super) tenure: Tenure,
    /// The worker that reads it.
    pub(super) worker: usize,
    /// Blocks under way; each reports itself before it ends.
    pub(super) sending: JoinSet<()>,
    /// The committed offset, as far as is known.
    pub(super) committed: Option<i64>,
    /// The offset after the last message, as the brokers told it.
    pub(super) end: Option<i64>,
    floor: Floor,
    /// What each batch held, until it is acknowledged.
    batches: HashMap<u64, (Held, Counts)>,
    /// Blocks whose outcome is not known.
    unsettled: usize,
    /// The group's offset was found ahead of this when a commit failed: nothing at or below it is written.
    ahead: Option<i64>,
    /// The lane has read to the end and holds nothing.
    at_end: bool,
    released: bool,
    stop: watch::Sender<bool>,
}

impl Partition {
    pub(super) fn new(tenure: Tenure, worker: usize) -> Self {
        Self {
            tenure,
            worker,
            sending: JoinSet::new(),
            committed: None,
            end: None,
            floor: Floor::default(),
            batches: HashMap::new(),
            unsettled: 0,
            ahead: None,
            at_end: false,
            released: false,
            stop: watch::Sender::new(false),
        }
    }

    /// A batch of that many blocks begins. Returns its number.
    pub(super) fn begin(&mut self, next: i64, blocks: usize, held: Held, counts: Counts) -> u64 {
        self.at_end = false;
        let batch = self.floor.begin(next, blocks);
        if blocks == 0 {
            held.settle(&counts);
        } else {
            self.unsettled += blocks;
            self.batches.insert(batch, (held, counts));
        }
        batch
    }

    /// A block's outcome.
    pub(super) fn settle(&mut self, batch: u64, placed: bool) {
        self.unsettled = self.unsettled.saturating_sub(1);
        while self.sending.try_join_next().is_some() {}
        if placed
            && self.floor.acknowledge(batch)
            && let Some((held, counts)) = self.batches.remove(&batch)
        {
            held.settle(&counts);
        }
    }

    /// Lets no further attempt begin.
    pub(super) fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// For a block's way: turns true with [`Partition::stop`].
    pub(super) fn stopped(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    /// Whether [`Partition::stop`] was called.
    pub(super) fn is_stopped(&self) -> bool {
        *self.stop.borrow()
    }

    /// The worker let go of it.
    pub(super) const fn release(&mut self) {
        self.released = true;
    }

    /// Nothing of it is read or sent any more.
    pub(super) const fn is_quiet(&self) -> bool {
        self.released && self.unsettled == 0
    }

    /// Whether the worker let go of it.
    pub(super) const fn is_released(&self) -> bool {
        self.released
    }

    /// The lane has read to the end and holds nothing.
    pub(super) const fn reach_end(&mut self) {
        self.at_end = true;
    }

    /// Everything that the partition held when its end was reached is placed and committed.
    pub(super) fn is_settled(&self) -> bool {
        self.at_end && self.floor.pending() == 0 && self.to_commit().is_none()
    }

    /// Batches that are not done.
    pub(super) fn pending(&self) -> usize {
        self.floor.pending()
    }

    /// The floor, if it is not what is committed.
    pub(super) fn to_commit(&self) -> Option<i64> {
        self.floor
            .offset()
            .filter(|floor| self.committed != Some(*floor) && self.ahead.is_none_or(|ahead| *floor > ahead))
    }

    /// What the group has committed, read after a commit failed.
    pub(super) fn read_back(&mut self, committed: Option<i64>) {
        self.committed = committed;
        self.ahead = committed;
    }

    /// Messages between the committed offset and the end.
    pub(super) fn lag(&self) -> Option<u64> {
        let committed = self.committed.or_else(|| self.floor.offset())?;
        Some(u64::try_from(self.end? - committed).unwrap_or(0))
    }
}
