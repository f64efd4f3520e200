use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const MB: u64 = 1 << 20;

/// Partitions as librdkafka would fetch them, with readers that are fast, slow or stand still.
struct World {
    turns: Turns,
    now: Instant,
    partitions: BTreeMap<i32, Log>,
    paused: BTreeSet<i32>,
    queue: u64,
    /// The most that was in all queues at once.
    peak: u64,
    /// Bytes that were thrown away.
    wasted: u64,
}

#[derive(Default)]
struct Log {
    /// What the broker has, next message first.
    messages: VecDeque<u64>,
    queued: VecDeque<u64>,
    read: u64,
    largest: u64,
    missed: bool,
    at_end: bool,
}

impl World {
    fn new(limit: u64, queue: u64, logs: &[Vec<u64>]) -> Self {
        let now = Instant::now();
        let mut turns = Turns::new(limit, queue, now);
        let numbers: Vec<i32> = (0..).take(logs.len()).collect();
        let paused = turns.assigned(&numbers, now).into_iter().collect();
        let log = |messages: &Vec<u64>| Log { messages: messages.iter().copied().collect(), ..Log::default() };
        let partitions = numbers.into_iter().zip(logs.iter().map(log)).collect();
        Self { turns, now, partitions, paused, queue, peak: 0, wasted: 0 }
    }

    /// One response: a message, whatever its size, for each queue that asks for more.
    fn fetch(&mut self) {
        for (partition, log) in &mut self.partitions {
            if self.paused.contains(partition) || log.queued.iter().sum::<u64>() >= self.queue {
                continue;
            }
            match log.messages.pop_front() {
                Some(message) => log.queued.push_back(message),
                None => log.at_end = log.queued.is_empty(),
            }
        }
        self.peak = self.peak.max(self.queued());
    }

    fn queued(&self) -> u64 {
        self.partitions.values().flat_map(|log| &log.queued).sum()
    }

    /// Reads up to so many messages, from each partition in turn.
    fn read(&mut self, mut messages: usize) {
        while messages > 0 && self.partitions.values().any(|log| !log.queued.is_empty()) {
            for log in self.partitions.values_mut() {
                match log.queued.pop_front() {
                    Some(message) if messages > 0 => {
                        log.read += message;
                        log.largest = log.largest.max(message);
                        messages -= 1;
                    }
                    Some(message) => log.queued.push_front(message),
                    None => {}
                }
            }
        }
    }

    /// The reader looks into this queue, and finds nothing.
    fn miss(&mut self, partition: i32) {
        let log = self.partitions.get_mut(&partition).expect("assigned");
        log.missed |= log.queued.is_empty();
    }

    fn step(&mut self, passed: Duration) -> Change {
        self.now += passed;
        let logs = &mut self.partitions;
        let change = self.turns.step(self.now, |partition| {
            let log = logs.get_mut(&partition).expect("assigned");
            Seen {
                read: log.read,
                largest: std::mem::take(&mut log.largest),
                waits: !log.queued.is_empty(),
                at_end: log.at_end,
                missed: std::mem::take(&mut log.missed),
            }
        });
        for partition in &change.pause {
            assert!(self.paused.insert(*partition), "paused twice");
            let log = self.partitions.get_mut(partition).expect("assigned");
            self.wasted += log.queued.iter().sum::<u64>();
            while let Some(message) = log.queued.pop_back() {
                log.messages.push_front(message);
            }
            log.at_end = false;
        }
        for partition in &change.resume {
            assert!(self.paused.remove(partition), "it was not paused");
        }
        assert_eq!(self.turns.paused(), self.paused.len());
        change
    }
}

const TICK: Duration = Duration::from_millis(50);

#[test]
fn all_fetch_while_there_is_room_for_all() {
    let mut world = World::new(64 * MB, 2 * MB, &vec![vec![100_000; 500]; 8]);
    for _ in 0..200 {
        world.fetch();
        world.read(100);
        assert_eq!(world.step(TICK), Change::default());
    }
}

#[test]
fn an_idle_partition_takes_no_room() {
    let mut world = World::new(64 * MB, MB / 8, &vec![vec![]; 500]);
    for _ in 0..100 {
        world.fetch();
        world.step(TICK);
    }
    assert_eq!(world.turns.paused(), 0);
    // A little for each of them changes nothing, as it is read at once.
    for log in world.partitions.values_mut() {
        log.messages.push_back(1000);
        log.at_end = false;
    }
    for _ in 0..3 {
        world.fetch();
        world.read(1000);
        world.fetch();
        assert_eq!(world.step(TICK), Change::default());
    }
}

#[test]
fn what_the_reader_leaves_is_bounded_however_large_and_however_long() {
    let mut world = World::new(64 * MB, MB / 2, &vec![vec![9 * MB; 10]; 50]);
    world.fetch();
    world.read(5);
    world.step(TICK);
    world.peak = 0;
    let wasted = world.wasted;
    for _ in 0..2000 {
        world.fetch();
        world.step(TICK);
    }
    assert!(world.peak <= 64 * MB, "{} MB", world.peak / MB);
    assert_eq!(world.wasted, wasted, "nothing is fetched over and over while nobody reads");
}

#[test]
fn a_message_larger_than_the_limit_comes_through_alone() {
    let mut world = World::new(64 * MB, MB, &vec![vec![100 * MB; 3]; 4]);
    for _ in 0..400 {
        world.fetch();
        world.read(1);
        world.step(TICK);
    }
    assert!(world.partitions.values().all(|log| log.read == 300 * MB));
}

#[test]
fn partitions_with_little_do_not_wait_for_one_with_much() {
    let mut logs = vec![vec![8 * MB; 1000]];
    logs.extend(vec![vec![8 * MB; 2]; 30]);
    let mut world = World::new(64 * MB, MB, &logs);
    let mut steps = 0;
    while world.partitions.iter().any(|(&number, log)| number > 0 && log.read < 16 * MB) {
        world.fetch();
        world.read(2);
        world.step(TICK);
        steps += 1;
        assert!(steps < 200, "starved: {:?}", world.turns);
    }
    assert!(world.partitions[&0].read < 2400 * MB, "the large one had to share");
}

#[test]
fn a_paused_partition_that_the_reader_has_to_read_first_gets_its_turn() {
    let mut world = World::new(8 * MB, MB, &vec![vec![4 * MB; 10]; 3]);
    world.fetch();
    world.step(TICK);
    let needed = *world.paused.last().expect("no room for three");
    // The reader wants nothing but this one.
    let mut steps = 0;
    while world.partitions[&needed].queued.is_empty() {
        world.fetch();
        world.miss(needed);
        world.step(TICK);
        steps += 1;
        assert!(steps < 100, "never: {:?}", world.turns);
    }
}

#[test]
fn what_goes_leaves_no_trace() {
    let mut world = World::new(8 * MB, MB, &vec![vec![4 * MB; 10]; 5]);
    assert!(world.turns.paused() > 0);
    world.turns.revoked(&[0, 1, 2, 3, 4]);
    assert_eq!(world.turns.paused(), 0);
    assert_eq!(world.turns.step(world.now, |_| unreachable!()), Change::default());
    // The same again is reckoned anew, twice without a revoke in between too.
    let first = world.turns.assigned(&[0, 1, 2, 3, 4], world.now);
    assert_eq!(world.turns.assigned(&[0, 1, 2, 3, 4], world.now), first);
    assert_eq!(world.turns.paused(), first.len());
}

proptest! {
    /// Whatever the sizes and the pace: everything is read, and what waits stays below the limit and, for each partition
    /// that began to fetch, a response more than was expected of it.
    #[test]
    fn everything_is_read_within_the_bound(
        logs in prop::collection::vec(prop::collection::vec(1_u64..12 * MB, 0..12), 1..40),
        pace in prop::collection::vec(0_usize..12, 1..30),
        limit in 4 * MB..80 * MB,
    ) {
        let queue = MB;
        let largest = logs.iter().flatten().max().copied().unwrap_or(0);
        let all: u64 = logs.iter().flatten().sum();
        let mut world = World::new(limit, queue, &logs);
        // Before anything is known as many begin as would fit of what is usual.
        let first = (limit / (queue + UNKNOWN)).max(1);
        let mut pace = pace.iter().cycle();
        let mut steps = 0;
        while world.partitions.values().map(|log| log.read).sum::<u64>() < all {
            world.fetch();
            let messages = *pace.next().expect("a cycle");
            // A reader that stands still for good reads nothing.
            world.read(if steps % 40 == 39 { messages.max(1) } else { messages });
            world.step(TICK);
            steps += 1;
            prop_assert!(steps < 40_000, "stuck: {:?}", world.turns);
        }
        prop_assert!(world.peak <= limit.max(first * (queue + largest)) + queue + largest, "{}", world.peak);
        prop_assert_eq!(world.queued(), 0);
    }
}
