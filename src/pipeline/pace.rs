//! How batches give way to what the server can take: they close later where partitions are many, and at fewer rows after
//! it had no memory for one.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

/// A batch is not made smaller than that: smaller ones would take the server more memory in all.
const LEAST_ROWS: u64 = 4096;
/// How long after the last refusal twice as many rows are tried.
const DOUBLES: Duration = Duration::from_secs(60);

/// Shared by all who close batches and all who hear what becomes of them.
#[derive(Debug)]
pub(super) struct Pace {
    /// Inserts of a table that may begin in a second because of age.
    inserts: u64,
    /// Partitions that this process reads.
    partitions: AtomicUsize,
    /// Rows of a batch that the server had memory for, it is hoped; `u64::MAX` for any number.
    rows: AtomicU64,
    /// When that was set, in milliseconds from `begin`.
    since: AtomicU64,
    begin: Instant,
}

impl Pace {
    pub(super) fn new(max_inserts_per_second: u64) -> Arc<Self> {
        let (partitions, since) = (AtomicUsize::new(0), AtomicU64::new(0));
        let rows = AtomicU64::new(u64::MAX);
        Arc::new(Self { inserts: max_inserts_per_second.max(1), partitions, rows, since, begin: Instant::now() })
    }

    /// This process reads so many partitions now.
    pub(super) fn read(&self, partitions: usize) {
        self.partitions.store(partitions, Ordering::Relaxed);
    }

    /// The age at which a batch closes. Each partition sends a table one insert in that time at most, so all of them together
    /// no more than they may.
    pub(super) fn age(&self, age: Duration) -> Duration {
        let partitions = self.partitions.load(Ordering::Relaxed) as u64;
        age.max(Duration::from_millis(partitions * 1000 / self.inserts))
    }

    /// The server had no memory for a block of so many rows: those to come are half as large. Says so if that is news.
    pub(super) fn refuse(&self, rows: u64, now: Instant) -> Option<u64> {
        let half = (rows / 2).max(LEAST_ROWS);
        let is_news = half < self.bound(now);
        if is_news {
            self.rows.store(half, Ordering::Relaxed);
        }
        self.since.store(self.millis(now), Ordering::Relaxed);
        is_news.then_some(half)
    }

    /// How many of so many rows a batch may have.
    #[inline]
    pub(super) fn rows(&self, rows: u64) -> u64 {
        // Asked with every message, and nearly always at peace.
        if self.rows.load(Ordering::Relaxed) == u64::MAX { rows } else { self.bound(Instant::now()).min(rows) }
    }

    fn bound(&self, now: Instant) -> u64 {
        let rows = self.rows.load(Ordering::Relaxed);
        let past = self.millis(now).saturating_sub(self.since.load(Ordering::Relaxed));
        let doubled = u32::try_from(past / DOUBLES.as_millis() as u64).unwrap_or(u32::MAX);
        if doubled > rows.leading_zeros() { u64::MAX } else { rows << doubled }
    }

    fn millis(&self, now: Instant) -> u64 {
        u64::try_from(now.saturating_duration_since(self.begin).as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_share_the_inserts_of_a_second() {
        let (pace, second) = (Pace::new(20), Duration::from_secs(1));
        for (partitions, age) in [(0, second), (20, second), (50, second * 5 / 2), (200, second * 10)] {
            pace.read(partitions);
            assert_eq!(pace.age(second), age, "{partitions} partitions");
        }
        assert_eq!(pace.age(second * 30), second * 30, "a longer age is left as it is");
    }

    #[test]
    fn rows_are_halved_from_what_was_refused_and_come_back_by_doubling() {
        let pace = Pace::new(20);
        let at = |seconds| pace.begin + Duration::from_secs(seconds);
        assert_eq!(pace.bound(at(0)), u64::MAX);
        assert_eq!(pace.refuse(100_000, at(0)), Some(50_000));
        // Blocks of before the first refusal, and the same again and again: nothing new.
        assert_eq!(pace.refuse(100_000, at(10)), None);
        assert_eq!(pace.bound(at(10)), 50_000);
        assert_eq!(pace.refuse(50_000, at(20)), Some(25_000));
        assert_eq!(pace.bound(at(79)), 25_000);
        assert_eq!(pace.bound(at(80)), 50_000);
        assert_eq!(pace.bound(at(140)), 100_000);
        assert_eq!(pace.bound(at(100_000)), u64::MAX);
        assert_eq!(pace.refuse(10, at(100_000)), Some(LEAST_ROWS));
    }
}
