//! Which partitions fetch at one time, so that what waits in librdkafka's queues stays within a bound over all of them.
//!
//! librdkafka bounds each partition's queue for itself, and a queue below its bound gets all of the next response: at
//! least one batch of its producer, however large. So a partition that fetches is reckoned with what its queue may hold,
//! the bound and the largest response of late, and only as many may fetch as fit. Those that have been read to their end
//! hold nothing and are not counted, until something comes. When more have something to fetch than fit, the others are
//! paused and take turns: whoever has had its share goes behind those who wait. To pause throws away what is queued, to be
//! fetched again, so a turn is long beside a response, and ends where the queue is empty if it can.

use std::{
    collections::{BTreeMap, VecDeque},
    time::{Duration, Instant},
};

/// What a response brings of a partition at least, as long as little was seen.
const UNKNOWN: u64 = 4 << 20;
/// And later: the size of producers' batches.
const USUAL: u64 = 1 << 20;
/// How much has to be seen.
const ENOUGH: u64 = 64 << 20;
/// For how long a size is remembered.
const MEMORY: Duration = Duration::from_secs(60);
/// A turn in bytes; no less than eight responses.
const TURN: u64 = 32 << 20;
/// A partition from which nothing came for this long has nothing, or can't be reached.
const QUIET: Duration = Duration::from_secs(1);
/// When nobody reads for this long although something waits, the reader may need another partition first.
const STUCK: Duration = Duration::from_secs(2);

/// How a queue stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Bytes read from it so far.
    pub(super) read: u64,
    /// The largest message since the last look, in bytes.
    pub(super) largest: u64,
    /// Something is in it.
    pub(super) waits: bool,
    /// Its partition was read to the end.
    pub(super) at_end: bool,
    /// Its reader found nothing since the last look.
    pub(super) missed: bool,
}

/// Who is to stop and who is to begin.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    /// Are paused now, before any other begins.
    pub(super) pause: Vec<i32>,
    /// Fetch from now on.
    pub(super) resume: Vec<i32>,
}

/// The partitions of this process and whose turn it is.
#[derive(Debug)]
pub(super) struct Turns {
    /// Bytes of all queues together.
    limit: u64,
    /// Up to here a queue asks for more.
    queue: u64,
    partitions: BTreeMap<i32, Turn>,
    /// The paused ones, longest first.
    waiting: VecDeque<i32>,
    /// The largest response, and before it.
    largest: (u64, u64),
    since: Instant,
    /// Bytes seen in all.
    total: u64,
    /// When something was last read of those that fetch, or they had nothing.
    moved: Instant,
}

#[derive(Debug)]
struct Turn {
    fetches: bool,
    /// It waited for this turn.
    earned: bool,
    seen: Seen,
    /// What was read when the turn began.
    began: u64,
    /// When something last came of it.
    heard: Instant,
}

impl Turn {
    /// Whether its queue may hold something soon.
    fn is_busy(&self, now: Instant) -> bool {
        self.fetches && (self.seen.waits || !(self.seen.at_end || now.duration_since(self.heard) >= QUIET))
    }

    const fn read(&self) -> u64 {
        self.seen.read - self.began
    }
}

impl Turns {
    /// Turns under a limit in bytes, where each queue asks for more as long as it is below `queue`.
    pub(super) fn new(limit: u64, queue: u64, now: Instant) -> Self {
        Self {
            limit,
            queue,
            partitions: BTreeMap::new(),
            waiting: VecDeque::new(),
            largest: (0, 0),
            since: now,
            total: 0,
            moved: now,
        }
    }

    /// These partitions come. Gives those that may not fetch yet.
    pub(super) fn assigned(&mut self, partitions: &[i32], now: Instant) -> Vec<i32> {
        self.revoked(partitions);
        let mut pause = Vec::new();
        for &partition in partitions {
            let fetches = self.waiting.is_empty() && self.busy(now) < self.slots();
            self.partitions
                .insert(partition, Turn { fetches, earned: false, seen: Seen::default(), began: 0, heard: now });
            if !fetches {
                self.waiting.push_back(partition);
                pause.push(partition);
            }
        }
        pause
    }

    /// These partitions go.
    pub(super) fn revoked(&mut self, partitions: &[i32]) {
        self.partitions.retain(|partition, _| !partitions.contains(partition));
        self.waiting.retain(|partition| !partitions.contains(partition));
    }

    /// How many don't fetch.
    pub(super) fn paused(&self) -> usize {
        self.waiting.len()
    }

    /// A queue held that many bytes.
    pub(super) fn queued(&mut self, bytes: u64) {
        self.largest.0 = self.largest.0.max(bytes.saturating_sub(self.queue));
    }

    /// Looks at every queue and decides.
    pub(super) fn step(&mut self, now: Instant, mut look: impl FnMut(i32) -> Seen) -> Change {
        self.observe(now, &mut look);
        let mut change = Change::default();
        let slots = self.slots();
        if !self.waiting.is_empty() {
            // Whoever has had its share makes room, where its queue is empty if that comes soon enough.
            let turn = self.turn();
            let over = |t: &Turn| t.is_busy(now) && t.read() >= turn && (!t.seen.waits || t.read() >= 2 * turn);
            let over: Vec<i32> = self.partitions.iter().filter(|(_, t)| over(t)).map(|(p, _)| *p).collect();
            over.into_iter().take(self.waiting.len()).for_each(|partition| self.stop(partition, &mut change));
            self.unblock(now, &mut change);
        }
        while self.busy(now) > slots {
            let Some(partition) = self.least(now) else { break };
            self.stop(partition, &mut change);
        }
        while self.busy(now) < slots {
            // Whoever was stopped just now waits for the next look.
            let Some(&partition) = self.waiting.front().filter(|p| !change.pause.contains(p)) else { break };
            self.waiting.pop_front();
            self.start(partition, now, &mut change);
        }
        change
    }

    fn observe(&mut self, now: Instant, look: &mut impl FnMut(i32) -> Seen) {
        let mut idle = true;
        let mut moved = false;
        for (&partition, turn) in &mut self.partitions {
            let seen = look(partition);
            let read = seen.read - turn.seen.read;
            if read > 0 || seen.waits {
                turn.heard = now;
            }
            moved |= read > 0;
            idle &= !(turn.fetches && seen.waits);
            self.total += read;
            self.largest.0 = self.largest.0.max(seen.largest);
            // That a paused partition was missed is remembered until it has its turn.
            let missed = seen.missed || (!turn.fetches && turn.seen.missed);
            turn.seen = Seen { missed, ..seen };
            if turn.fetches && seen.at_end {
                turn.began = seen.read;
                turn.earned = false;
            }
        }
        if moved || idle {
            self.moved = now;
        }
        if now.duration_since(self.since) >= MEMORY {
            // Without anything read nothing was learnt either.
            if self.largest.0 > 0 {
                self.largest = (0, self.largest.0);
            }
            self.since = now;
        }
    }

    /// Nobody reads what waits: a batch may have to be read to its end before there is room, and its partition be paused.
    fn unblock(&mut self, now: Instant, change: &mut Change) {
        if now.duration_since(self.moved) < STUCK {
            return;
        }
        let missed = |partition: &i32| self.partitions.get(partition).is_some_and(|turn| turn.seen.missed);
        let Some(index) = self.waiting.iter().position(missed) else { return };
        let Some(partition) = self.waiting.remove(index) else { return };
        while self.busy(now) >= self.slots() {
            let Some(least) = self.least(now) else { break };
            self.stop(least, change);
        }
        self.start(partition, now, change);
        self.moved = now;
    }

    /// Who is paused first: whoever has had its share, then whoever didn't wait for it, then who has least to lose.
    fn least(&self, now: Instant) -> Option<i32> {
        let turn = self.turn();
        let busy = self.partitions.iter().filter(|(_, t)| t.is_busy(now));
        busy.min_by_key(|(_, t)| (t.read() < turn, t.earned, t.seen.waits, t.read())).map(|(partition, _)| *partition)
    }

    fn stop(&mut self, partition: i32, change: &mut Change) {
        if let Some(turn) = self.partitions.get_mut(&partition) {
            turn.fetches = false;
            turn.seen.missed = false;
            self.waiting.push_back(partition);
            change.pause.push(partition);
        }
    }

    fn start(&mut self, partition: i32, now: Instant, change: &mut Change) {
        if let Some(turn) = self.partitions.get_mut(&partition) {
            (turn.fetches, turn.earned, turn.began, turn.heard) = (true, true, turn.seen.read, now);
            change.resume.push(partition);
        }
    }

    fn busy(&self, now: Instant) -> usize {
        self.partitions.values().filter(|turn| turn.is_busy(now)).count()
    }

    /// What a response brings of a partition at most, as far as is known.
    fn response(&self) -> u64 {
        let least = if self.total < ENOUGH { UNKNOWN } else { USUAL };
        self.largest.0.max(self.largest.1).max(least)
    }

    /// How many fit. One always does, whatever the size of its messages.
    fn slots(&self) -> usize {
        usize::try_from(self.limit / (self.queue + self.response())).unwrap_or(usize::MAX).max(1)
    }

    fn turn(&self) -> u64 {
        TURN.max(8 * self.response())
    }
}

#[cfg(test)]
#[path = "turns_tests.rs"]
mod tests;
