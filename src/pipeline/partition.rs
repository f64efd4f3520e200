//! One partition while this process owns it: what is under way, and what the group is to hold.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{oneshot, watch},
    task::JoinSet,
    time::Instant,
};

use super::{tenure::Tenure, writer::Parcel};
use crate::{
    delivery::{Journal, Range, Split, token},
    lane::{Counts, Reason},
    telemetry::Held,
};

/// What the tokens of a tenure begin with.
#[derive(Debug, Clone)]
pub(super) struct Name {
    /// The identity of the topic.
    pub(super) topic: Arc<str>,
    /// See [`token`].
    pub(super) era: u64,
}

/// The state of one tenure. Dropping it gives up everything that is under way.
pub(super) struct Partition {
    pub(super) tenure: Tenure,
    /// The worker that reads it.
    pub(super) worker: usize,
    /// Which batches may be sent, and what the group is to be told.
    pub(super) journal: Journal,
    /// Blocks under way; each reports itself before it ends.
    pub(super) sending: JoinSet<()>,
    /// Blocks of closed batches that may not be sent yet.
    waiting: BTreeMap<u64, Vec<Parcel>>,
    /// Where the first batch began.
    first: Option<i64>,
    /// The offset after the last message, as the brokers told it.
    pub(super) end: Option<i64>,
    /// Bytes that wait in its queue, as the Kafka client told it.
    pub(super) queued: u64,
    /// Whether it is still this process's, for those who are not told by the coordinator.
    pub(super) alive: Arc<AtomicBool>,
    name: Name,
    /// What each batch held, until it is acknowledged.
    batches: HashMap<u64, (Held, Counts)>,
    /// Blocks whose outcome is not known.
    unsettled: usize,
    /// The lane has read to the end and holds nothing.
    at_end: bool,
    released: bool,
    stop: watch::Sender<bool>,
    foreign: Option<Instant>,
    is_retaken: bool,
    /// Blocks that wait to be taken apart.
    refused: VecDeque<Parcel>,
    /// One is being taken apart.
    is_splitting: bool,
    /// Who waits for it to be written how far.
    intending: Option<oneshot::Sender<()>>,
}

impl Partition {
    pub(super) fn new(tenure: Tenure, worker: usize, journal: Journal, name: Name) -> Self {
        Self {
            tenure,
            worker,
            journal,
            sending: JoinSet::new(),
            waiting: BTreeMap::new(),
            first: None,
            end: None,
            queued: 0,
            alive: Arc::new(AtomicBool::new(true)),
            name,
            batches: HashMap::new(),
            unsettled: 0,
            at_end: false,
            released: false,
            stop: watch::Sender::new(false),
            foreign: None,
            is_retaken: false,
            refused: VecDeque::new(),
            is_splitting: false,
            intending: None,
        }
    }

    /// A batch of that many blocks closed. Returns its number and its range.
    pub(super) fn begin(&mut self, first: i64, next: i64, blocks: usize, held: Held, counts: Counts) -> (u64, Range) {
        self.at_end = false;
        self.first.get_or_insert(first);
        let (batch, range) = self.journal.close(first, next, blocks);
        if blocks == 0 {
            held.settle(&counts);
        } else {
            self.batches.insert(batch, (held, counts));
        }
        (batch, range)
    }

    /// Whether it is a partition of the topic with that identity.
    pub(super) fn is_of(&self, topic: &str) -> bool {
        &*self.name.topic == topic
    }

    /// The token of a batch's block for a table.
    pub(super) fn token(&self, range: Range, table: &str) -> String {
        token(&self.name.topic, self.tenure.partition, self.name.era, range, table)
    }

    /// Keeps the blocks of a batch until it may be sent.
    pub(super) fn keep(&mut self, batch: u64, parcels: Vec<Parcel>) {
        // One without blocks is settled already, and nobody would ask for it.
        if !parcels.is_empty() {
            self.waiting.insert(batch, parcels);
        }
    }

    /// The blocks that may be sent from now on.
    pub(super) fn let_go(&mut self) -> Vec<Parcel> {
        let parcels: Vec<_> = self.journal.let_go().filter_map(|batch| self.waiting.remove(&batch)).flatten().collect();
        self.unsettled += parcels.len();
        // What a former owner had begun to take apart is not sent whole.
        let is_apart = |parcel: &Parcel| self.journal.split(parcel.range.next, &parcel.block.target.table).is_some();
        let (apart, whole) = parcels.into_iter().partition(is_apart);
        let apart: Vec<Parcel> = apart;
        self.refused.extend(apart);
        whole
    }

    /// The server refuses a block for some of its rows: it waits to be taken apart.
    pub(super) fn refuse(&mut self, parcel: Parcel) {
        self.refused.push_back(parcel);
    }

    /// The next block to be taken apart, if none is, and how far it was.
    pub(super) fn next_to_split(&mut self) -> Option<(Parcel, Option<Split>)> {
        if self.is_splitting {
            return None;
        }
        let journal = &self.journal;
        let left = |parcel: &Parcel| journal.split(parcel.range.next, &parcel.block.target.table).cloned();
        let may = |parcel: &Parcel| left(parcel).is_some() || journal.has_room_for_split(parcel.range.next);
        let index = self.refused.iter().position(may)?;
        let left = self.refused.get(index).and_then(left);
        self.is_splitting = true;
        Some((self.refused.remove(index)?, left))
    }

    /// A block is taken apart so far; whoever waits is told when that is written.
    pub(super) fn intend(&mut self, split: Split, reply: oneshot::Sender<()>) {
        self.journal.set_split(split);
        self.intending = Some(reply);
        self.tell_intended();
    }

    /// Whether somebody waits for it to be written how far a block is taken apart.
    pub(super) const fn is_intending(&self) -> bool {
        self.intending.is_some()
    }

    /// Tells whoever waits, if it is written.
    pub(super) fn tell_intended(&mut self) {
        if self.journal.holds_splits()
            && let Some(reply) = self.intending.take()
        {
            let _ = reply.send(());
        }
    }

    /// A block of that epoch was taken apart to its end, so many of its rows being diverted.
    pub(super) fn end_split(&mut self, batch: u64, epoch: Option<u32>, refused: u64) {
        self.is_splitting = false;
        if let Some((_, counts)) = self.batches.get_mut(&batch)
            && let Some(placed) = epoch.and_then(|epoch| counts.placed.get_mut(&epoch))
        {
            let refused = refused.min(*placed);
            *placed -= refused;
            *counts.diverted.entry(Reason::RefusedByServer).or_default() += refused;
        }
        self.settle(batch, true);
    }

    /// A block's outcome.
    pub(super) fn settle(&mut self, batch: u64, placed: bool) {
        self.unsettled = self.unsettled.saturating_sub(1);
        while self.sending.try_join_next().is_some() {}
        if placed
            && self.journal.acknowledge(batch)
            && let Some((held, counts)) = self.batches.remove(&batch)
        {
            held.settle(&counts);
        }
    }

    /// Lets no further attempt begin.
    pub(super) fn stop(&mut self) {
        self.waiting.clear();
        self.unsettled -= self.refused.len();
        self.refused.clear();
        self.stop.send_replace(true);
    }

    /// It is not this process's any more: nothing may be written for it from now on.
    pub(super) fn end(&mut self) {
        self.alive.store(false, Ordering::SeqCst);
    }

    /// What the group holds for it is somebody else's: all that is under way is given up.
    pub(super) fn lose(&mut self) {
        self.stop();
        self.end();
        self.sending.abort_all();
        self.unsettled = 0;
        self.foreign.get_or_insert_with(Instant::now);
    }

    /// Whether [`Partition::lose`] was called.
    pub(super) const fn is_foreign(&self) -> bool {
        self.foreign.is_some()
    }

    /// Whether it is due to be taken once more, so long after [`Partition::lose`]; said once.
    pub(super) fn is_to_be_retaken(&mut self, after: Duration) -> bool {
        let due = !self.is_retaken && self.foreign.is_some_and(|since| since.elapsed() > after);
        self.is_retaken |= due;
        due
    }

    /// When [`Partition::lose`] was called.
    pub(super) const fn foreign_since(&self) -> Option<Instant> {
        self.foreign
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

    /// Nothing of it is read, waits or is sent any more.
    pub(super) fn is_quiet(&self) -> bool {
        self.released && self.unsettled == 0 && self.waiting.is_empty()
    }

    /// Whether a block is on its way.
    pub(super) const fn is_sending(&self) -> bool {
        self.unsettled > 0
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
        self.at_end && self.journal.pending() == 0 && !self.has_more_to_commit()
    }

    /// Whether the group doesn't hold what it is to hold.
    pub(super) fn has_more_to_commit(&self) -> bool {
        self.journal.to_write(false).is_some()
    }

    /// Messages between the committed offset and the end. As long as nothing is known to be committed, it is from where
    /// reading began: a partition of which nothing is placed has a lag too.
    pub(super) fn lag(&self) -> Option<u64> {
        let committed = self.journal.held().or_else(|| self.journal.floor()).or(self.first)?;
        Some(u64::try_from(self.end? - committed).unwrap_or(0))
    }
}
