//! One partition's batches while this process owns it: what may be sent, what is settled, what the group is to be told.
//!
//! Batches close in the order of the partition and are settled in any order. The floor is the end of the longest unbroken
//! row of settled ones: the committed offset never passes it.

use std::collections::VecDeque;

use super::{Entry, Intents, Split, Takeover};

/// Ends that may be ahead of the floor. Each is a block per table that the server has to recognise when it comes again, so
/// the number bounds what the windows of deduplication have to hold.
pub const AHEAD: usize = 16;

/// Blocks that are taken apart, or were and whose batch waits, before another one is.
const SPLITS: usize = 6;

/// See the feature in Cargo.toml.
const WITHOUT_INTENTS: bool = cfg!(feature = "without_intents");

/// The offsets of one batch: `first` is where the one before ended, whether or not a message has that offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Range {
    /// The first offset.
    pub first: i64,
    /// The offset after the last one.
    pub next: i64,
}

/// The state of one partition in one tenure.
#[derive(Debug, Clone)]
pub struct Journal {
    promise: Promise,
    /// Batches from the floor on.
    pending: VecDeque<Batch>,
    /// The number of the batch at the front of `pending`.
    front: u64,
    /// The number of the first batch that was not let go yet.
    unsent: u64,
    floor: Option<i64>,
    /// Where the last closed batch ended.
    boundary: Option<i64>,
    /// What the group holds, as far as is known.
    held: Option<Entry>,
    /// What is being written, or was and the answer is not known.
    unsure: Option<Entry>,
}

#[derive(Debug, Clone)]
enum Promise {
    /// Batches are sent as they close; the group's offset is set back by nobody.
    AtLeastOnce {
        /// The group's offset was found ahead when a commit failed: nothing at or below it is written.
        ahead: Option<i64>,
    },
    /// Batches wait for their intent.
    ExactlyOnce {
        topic: String,
        era: u64,
        /// Ends that a former owner intended and that were not met again yet.
        forced: VecDeque<i64>,
        /// The last end that the group surely holds, or the offset itself.
        intended: i64,
        /// Blocks that are taken apart.
        splits: Vec<Split>,
    },
}

#[derive(Debug, Clone, Copy)]
struct Batch {
    next: i64,
    /// Blocks that are not acknowledged yet.
    blocks: usize,
}

/// What a look at the group's offset says after a write that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadBack {
    /// It is this owner's: the write took place, or it did not.
    Ours,
    /// Somebody else wrote it.
    Foreign,
}

impl Journal {
    /// For delivery at least once: nothing is intended, nothing is known of the group's offset.
    #[must_use]
    pub fn at_least_once() -> Self {
        Self::new(Promise::AtLeastOnce { ahead: None }, None, None)
    }

    /// For delivery exactly once, from what was found at the take-over.
    #[must_use]
    pub fn exactly_once(topic: &str, takeover: &Takeover) -> Self {
        let Takeover { base, era, forced, splits, held, .. } = takeover;
        let promise = Promise::ExactlyOnce {
            topic: topic.to_owned(),
            era: *era,
            forced: forced.iter().copied().collect(),
            intended: forced.last().copied().unwrap_or(*base),
            splits: splits.clone(),
        };
        Self::new(promise, Some(*base), held.clone())
    }

    fn new(promise: Promise, base: Option<i64>, held: Option<Entry>) -> Self {
        Self { promise, pending: VecDeque::new(), front: 0, unsent: 0, floor: base, boundary: base, held, unsure: None }
    }

    /// A batch of that many blocks closed before `next`. One whose first offset isn't known begins at `first`. Returns its
    /// number and its range. One without blocks is settled when those before it are.
    pub fn close(&mut self, first: i64, next: i64, blocks: usize) -> (u64, Range) {
        let first = match &mut self.promise {
            Promise::AtLeastOnce { .. } => first,
            Promise::ExactlyOnce { forced, .. } => {
                if forced.front() == Some(&next) {
                    forced.pop_front();
                }
                self.boundary.unwrap_or(first)
            }
        };
        let number = self.front + self.pending.len() as u64;
        self.pending.push_back(Batch { next, blocks });
        self.boundary = Some(next);
        self.advance();
        (number, Range { first, next })
    }

    /// Whether a former owner intended the batch that is about to close before `next`, and so may have sent it.
    #[must_use]
    pub fn is_recut(&self, next: i64) -> bool {
        matches!(&self.promise, Promise::ExactlyOnce { forced, .. } if forced.front() == Some(&next))
    }

    /// The numbers of the batches that may be sent from now on. Each is given once.
    pub fn let_go(&mut self) -> std::ops::Range<u64> {
        let closed = self.front + self.pending.len() as u64;
        let begin = self.unsent.max(self.front);
        let may = match &self.promise {
            _ if WITHOUT_INTENTS => closed,
            Promise::AtLeastOnce { .. } => closed,
            Promise::ExactlyOnce { intended, .. } => {
                self.front + self.pending.iter().take_while(|batch| batch.next <= *intended).count() as u64
            }
        };
        self.unsent = self.unsent.max(may);
        begin..may.max(begin)
    }

    /// Whether a closed batch waits for its intent.
    #[must_use]
    pub fn waits(&self) -> bool {
        let closed = self.front + self.pending.len() as u64;
        self.unsent.max(self.front) < closed
    }

    /// One more block of that batch is acknowledged. Says whether it was the last.
    pub fn acknowledge(&mut self, number: u64) -> bool {
        let index = number.checked_sub(self.front).and_then(|index| usize::try_from(index).ok());
        let Some(batch) = index.and_then(|index| self.pending.get_mut(index)) else { return false };
        batch.blocks = batch.blocks.saturating_sub(1);
        let whole = batch.blocks == 0;
        self.advance();
        whole
    }

    /// Up to where everything is settled; `None` while that isn't known.
    #[must_use]
    pub const fn floor(&self) -> Option<i64> {
        self.floor
    }

    /// Batches that are not settled, or wait for one before them.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// The offset that the group holds, as far as is known.
    #[must_use]
    pub fn held(&self) -> Option<i64> {
        self.held.as_ref().map(|entry| entry.offset)
    }

    /// What the group is to be told, if that is other than what it holds. With `again` also if it is the same: an answer
    /// proves that this process is still a member.
    #[must_use]
    pub fn to_write(&self, again: bool) -> Option<Entry> {
        let offset = self.floor?;
        let metadata = match &self.promise {
            Promise::AtLeastOnce { ahead } => {
                if ahead.is_some_and(|ahead| offset <= ahead) {
                    return None;
                }
                String::new()
            }
            Promise::ExactlyOnce { topic, era, forced, intended, splits } => {
                let all = self.pending.iter().map(|batch| batch.next).chain(forced.iter().copied());
                let ends: Vec<i64> = all
                    .filter(|end| *end > offset && !WITHOUT_INTENTS)
                    .enumerate()
                    .take_while(|(index, end)| *index < AHEAD || end <= intended)
                    .map(|(_, end)| end)
                    .collect();
                // What nobody wrote needs no writing as long as nothing is intended.
                if ends.is_empty() && self.held().unwrap_or(offset) == offset && !again {
                    return None;
                }
                let splits = splits.iter().filter(|split| split.next > offset).cloned().collect();
                Intents { topic: topic.clone(), era: *era, ends, splits }.encode(offset)
            }
        };
        let entry = Entry { offset, metadata };
        (again || self.held.as_ref() != Some(&entry)).then_some(entry)
    }

    /// How far a block is taken apart, if it is.
    #[must_use]
    pub fn split(&self, next: i64, table: &str) -> Option<&Split> {
        match &self.promise {
            Promise::AtLeastOnce { .. } => None,
            Promise::ExactlyOnce { splits, .. } => splits.iter().find(|split| split.is_of(next, table)),
        }
    }

    /// Whether another block, of the batch that ends there, may be taken apart: the text holds so many. One of the first
    /// batch always may, as the others wait for that.
    #[must_use]
    pub fn has_room_for_split(&self, next: i64) -> bool {
        match &self.promise {
            Promise::AtLeastOnce { .. } => true,
            Promise::ExactlyOnce { splits, .. } => {
                let living = splits.iter().filter(|split| self.floor.is_none_or(|floor| split.next > floor));
                living.count() < SPLITS || self.pending.front().is_some_and(|batch| batch.next == next)
            }
        }
    }

    /// A block is taken apart so far. To be written before the next parts are sent.
    pub fn set_split(&mut self, to: Split) {
        let floor = self.floor;
        if let Promise::ExactlyOnce { splits, .. } = &mut self.promise {
            splits.retain(|split| !split.is_of(to.next, &to.table) && floor.is_none_or(|floor| split.next > floor));
            splits.push(to);
        }
    }

    /// Whether the group surely holds how far the blocks are taken apart.
    #[must_use]
    pub fn holds_splits(&self) -> bool {
        let held = self.held.as_ref().and_then(|entry| Intents::decode(&entry.metadata, entry.offset).ok());
        match &self.promise {
            Promise::AtLeastOnce { .. } => true,
            Promise::ExactlyOnce { splits, .. } => {
                held.is_some_and(|intents| splits.iter().all(|split| intents.splits.contains(split)))
            }
        }
    }

    /// A write of this begins.
    pub fn writing(&mut self, entry: Entry) {
        self.unsure = Some(entry);
    }

    /// The write is acknowledged.
    pub fn written(&mut self) {
        if let Some(entry) = self.unsure.take() {
            self.hold(entry);
        }
    }

    /// After a write whose outcome is not known: what the group holds now.
    pub fn read_back(&mut self, found: Option<Entry>) -> ReadBack {
        let unsure = self.unsure.take();
        match &mut self.promise {
            Promise::AtLeastOnce { ahead } => {
                *ahead = found.as_ref().map(|entry| entry.offset);
                self.held = found;
                ReadBack::Ours
            }
            Promise::ExactlyOnce { .. } => {
                if found == self.held {
                    return ReadBack::Ours;
                }
                match found {
                    Some(entry) if Some(&entry) == unsure.as_ref() => {
                        self.hold(entry);
                        ReadBack::Ours
                    }
                    _ => ReadBack::Foreign,
                }
            }
        }
    }

    fn hold(&mut self, entry: Entry) {
        if let Promise::ExactlyOnce { intended, .. } = &mut self.promise {
            let last =
                Intents::decode(&entry.metadata, entry.offset).ok().and_then(|intents| intents.ends.last().copied());
            *intended = (*intended).max(last.unwrap_or(entry.offset));
        }
        self.held = Some(entry);
    }

    fn advance(&mut self) {
        while let Some(batch) = self.pending.front().filter(|batch| batch.blocks == 0) {
            self.floor = Some(batch.next);
            self.pending.pop_front();
            self.front += 1;
        }
    }
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
