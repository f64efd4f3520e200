//! Bytes of open and sealed blocks over all lanes, and what to do at the bound.
//!
//! Over the bound no lane reads: the split queues fill, librdkafka stops fetching, and the group notices nothing, because
//! the consumer's thread goes on. Sealed blocks leave as they are acknowledged. Where open blocks are the larger part, the
//! lanes close their largest ones, so there is always something on its way out. The bound is looked at before a message
//! is read, never after, so a message larger than the whole bound still goes through, alone.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

/// The account. Shared by all lanes and writers.
pub(super) struct Budget {
    limit: usize,
    open: AtomicUsize,
    sealed: AtomicUsize,
    waiting: Mutex<Vec<Box<dyn Fn() + Send + Sync>>>,
}

impl Budget {
    /// An account with that bound in bytes.
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            open: AtomicUsize::new(0),
            sealed: AtomicUsize::new(0),
            waiting: Mutex::new(Vec::new()),
        })
    }

    /// Whether a lane may read another message.
    pub(super) fn has_room(&self) -> bool {
        self.used() < self.limit
    }

    /// Whether the lanes should close what they hold because acknowledgements alone won't make room.
    pub(super) fn should_close(&self) -> bool {
        !self.has_room() && self.open() >= self.sealed()
    }

    /// Bytes of open blocks.
    pub(super) fn open(&self) -> usize {
        self.open.load(Ordering::Acquire)
    }

    /// Bytes of sealed blocks that are not acknowledged.
    pub(super) fn sealed(&self) -> usize {
        self.sealed.load(Ordering::Acquire)
    }

    fn used(&self) -> usize {
        self.open().saturating_add(self.sealed())
    }

    /// Calls `wake` whenever bytes are given back that lanes may be waiting for.
    pub(super) fn on_release(&self, wake: impl Fn() + Send + Sync + 'static) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(wake));
    }

    /// The share of one lane's open blocks, nothing at first.
    pub(super) fn lane(self: &Arc<Self>) -> Share {
        Share { budget: self.clone(), bytes: 0, kind: Kind::Open }
    }

    /// The share of a sealed block.
    pub(super) fn seal(self: &Arc<Self>, bytes: usize) -> Share {
        let mut share = Share { budget: self.clone(), bytes: 0, kind: Kind::Sealed };
        share.set(bytes);
        share
    }

    const fn account(&self, kind: Kind) -> &AtomicUsize {
        match kind {
            Kind::Open => &self.open,
            Kind::Sealed => &self.sealed,
        }
    }

    fn released(&self, used_before: usize) {
        if used_before >= self.limit {
            for wake in &*self.waiting.lock().unwrap_or_else(PoisonError::into_inner) {
                wake();
            }
        }
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget")
            .field("limit", &self.limit)
            .field("open", &self.open())
            .field("sealed", &self.sealed())
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Open,
    Sealed,
}

/// Bytes on the account; given back when dropped.
#[derive(Debug)]
pub(super) struct Share {
    budget: Arc<Budget>,
    bytes: usize,
    kind: Kind,
}

impl Share {
    /// Makes this share that large.
    pub(super) fn set(&mut self, bytes: usize) {
        let account = self.budget.account(self.kind);
        if bytes >= self.bytes {
            account.fetch_add(bytes - self.bytes, Ordering::AcqRel);
        } else {
            let used = self.budget.used();
            account.fetch_sub(self.bytes - bytes, Ordering::AcqRel);
            self.budget.released(used);
        }
        self.bytes = bytes;
    }

    /// The bytes of this share.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_message_larger_than_the_bound_goes_through_alone() {
        let budget = Budget::new(100);
        assert!(budget.has_room());
        let mut lane = budget.lane();
        lane.set(1000);
        assert!(!budget.has_room());
        assert!(budget.should_close(), "nothing is sealed: only closing makes room");
        let sealed = budget.seal(400);
        lane.set(0);
        assert!(!budget.has_room());
        assert!(!budget.should_close(), "the sealed block is on its way out");
        drop(sealed);
        assert!(budget.has_room());
    }

    #[test]
    fn waiting_lanes_are_woken_by_what_is_given_back() {
        let woken = Arc::new(AtomicUsize::new(0));
        let budget = Budget::new(100);
        let count = woken.clone();
        budget.on_release(move || {
            count.fetch_add(1, Ordering::Relaxed);
        });
        let below = budget.seal(10);
        drop(below);
        assert_eq!(woken.load(Ordering::Relaxed), 0, "nobody waits below the bound");
        let over = budget.seal(150);
        drop(over);
        assert_eq!(woken.load(Ordering::Relaxed), 1);
    }

    proptest! {
        /// A model of lanes and one writer under the rules: whatever the sizes of messages, every message gets through,
        /// and the account is never over the bound by more than one message per lane.
        #[test]
        fn every_message_gets_through(
            limit in 1_usize..2000,
            lanes in prop::collection::vec(prop::collection::vec(1_usize..3000, 0..20), 1..6),
            batch in 1_usize..4000,
        ) {
            let budget = Budget::new(limit);
            let largest = lanes.iter().flatten().max().copied().unwrap_or(0);
            let count = lanes.len();
            let mut lanes: Vec<_> = lanes.into_iter().map(|sizes| (sizes, budget.lane())).collect();
            let mut writer = std::collections::VecDeque::new();
            let mut idle = 0;
            while idle < 2 {
                let mut moved = false;
                for (sizes, share) in &mut lanes {
                    if budget.has_room() && let Some(size) = sizes.pop() {
                        share.set(share.bytes() + size);
                        moved = true;
                    }
                    let last = sizes.is_empty() && share.bytes() > 0;
                    if share.bytes() >= batch || last {
                        writer.push_back(budget.seal(share.bytes()));
                        share.set(0);
                        moved = true;
                    }
                    prop_assert!(budget.open() <= limit + count * largest);
                }
                if budget.should_close()
                    && let Some((_, share)) = lanes.iter_mut().max_by_key(|(_, share)| share.bytes())
                    && share.bytes() > 0
                {
                    writer.push_back(budget.seal(share.bytes()));
                    share.set(0);
                    moved = true;
                }
                moved |= writer.pop_front().is_some();
                idle = if moved { 0 } else { idle + 1 };
            }
            for (sizes, share) in &lanes {
                prop_assert!(sizes.is_empty(), "stuck with {:?}, {:?}", sizes, &budget);
                prop_assert_eq!(share.bytes(), 0);
            }
            prop_assert_eq!(budget.open() + budget.sealed(), 0);
        }
    }
}
