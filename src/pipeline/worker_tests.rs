use tokio::sync::mpsc;

use super::{
    super::{
        event::{Closed as Batch, QUEUE},
        fake::{Queue, eventually, schema},
        pace::Pace,
    },
    *,
};
use crate::{
    config::{self, UnknownEpoch},
    lane::SECTION_ROWS,
};

const LONG: Duration = Duration::from_secs(3600);

struct Bench {
    worker: Worker,
    events: mpsc::Receiver<Event>,
    budget: Arc<Budget>,
    telemetry: Arc<Telemetry>,
    generation: u64,
}

impl Bench {
    fn new(rows: u64, age: Duration, memory: usize) -> Self {
        Self::holding(rows, age, memory, UnknownEpoch::Divert)
    }

    fn holding(rows: u64, age: Duration, memory: usize, unknown_epoch: UnknownEpoch) -> Self {
        let (events, receiver) = mpsc::channel(QUEUE);
        let budget = Budget::new(memory);
        let telemetry = Arc::new(Telemetry::new());
        let equipment = Equipment {
            schema: schema(),
            topic: "t".into(),
            limits: Limits::new(
                config::Batch { rows, bytes: 1 << 30, age, max_inserts_per_second: 20 },
                Pace::new(20),
                unknown_epoch,
            ),
            budget: budget.clone(),
            events,
            telemetry: telemetry.clone(),
        };
        let worker = Worker::start(0, equipment).expect("a thread");
        Self { worker, events: receiver, budget, telemetry, generation: 0 }
    }

    fn take(&mut self, partition: i32) -> (Tenure, Queue) {
        let queue = Queue::default();
        (self.take_queue(partition, &queue), queue)
    }

    fn take_queue(&mut self, partition: i32, queue: &Queue) -> Tenure {
        self.take_cut(partition, queue, None)
    }

    fn take_cut(&mut self, partition: i32, queue: &Queue, cut: Option<Cut>) -> Tenure {
        self.generation += 1;
        let tenure = Tenure { partition, generation: self.generation };
        self.worker.tell(Command::Take { tenure, source: Box::new(queue.clone()), cut });
        tenure
    }

    /// The next batches: where each ends, and its rows.
    fn ends(&mut self, count: usize) -> Vec<(i64, u64)> {
        let rows = |batch: &Batch| batch.batch.blocks.iter().map(|block| block.rows).sum();
        (0..count).map(|_| self.batch().1).map(|batch| (batch.batch.next, rows(&batch))).collect()
    }

    fn next(&mut self) -> Event {
        let mut next = None;
        eventually("an event", || {
            next = self.events.try_recv().ok();
            next.is_some()
        });
        next.expect("an event")
    }

    fn batch(&mut self) -> (Tenure, Batch) {
        loop {
            match self.next() {
                Event::Closed { tenure, closed } => return (tenure, closed),
                Event::AtEnd(_) => {}
                _ => panic!("no batch"),
            }
        }
    }
}

fn range(closed: &Batch) -> (i64, i64) {
    (closed.batch.first, closed.batch.next)
}

#[test]
fn a_batch_closes_at_its_rows_whatever_the_pieces_it_arrives_in() {
    let mut bench = Bench::new(100, LONG, usize::MAX);
    let (tenure, queue) = bench.take(3);
    for piece in 0..25 {
        queue.put(piece * 10..(piece + 1) * 10);
        if piece % 7 == 0 {
            std::thread::sleep(Duration::from_millis(3));
        }
    }
    for first in [0, 100] {
        let (of, closed) = bench.batch();
        assert_eq!((of, range(&closed)), (tenure, (first, first + 100)));
        assert_eq!((closed.batch.blocks[0].rows, closed.held.pieces(), closed.shares.len()), (100, 100, 1));
        assert_eq!(closed.shares[0].bytes(), closed.batch.blocks[0].body.len());
    }
    eventually("the rest is read", || queue.left() == 0);
    assert!(bench.events.try_recv().is_err(), "the third is neither full nor old");
}

#[test]
fn a_batch_that_grows_takes_the_memory_of_its_compressed_rows() {
    let mut bench = Bench::new(10 * SECTION_ROWS as u64, LONG, usize::MAX);
    let (_, queue) = bench.take(0);
    let mut open = Vec::new();
    for section in 0..9 {
        let rows = SECTION_ROWS as i64;
        queue.put(section * rows..(section + 1) * rows);
        eventually("it is read", || queue.left() == 0 && bench.budget.open() > 0);
        std::thread::sleep(Duration::from_millis(50));
        open.push(bench.budget.open());
    }
    let row = schema().shape(schema().targets().len() - 1).row_bytes;
    assert!(open[8] < 2 * SECTION_ROWS * row, "{open:?} bytes of nine sections of {SECTION_ROWS} rows of {row} bytes");
    queue.put(9 * SECTION_ROWS as i64..10 * SECTION_ROWS as i64);
    let closed = bench.batch().1;
    assert_eq!(closed.batch.blocks[0].rows, 10 * SECTION_ROWS as u64);
    assert_eq!(bench.budget.open(), 0);
}

/// An envelope of one record.
fn record(schema_version: u32) -> Option<Vec<u8>> {
    use prost::Message as _;
    let row = crate::proto::XtcpFlatRecord { schema_version, ..Default::default() };
    Some(crate::proto::Envelope { row: vec![row] }.encode_length_delimited_to_vec())
}

#[test]
fn a_partition_waits_before_an_epoch_without_a_definition_if_told_to() {
    let known = schema().registry().epochs().last().expect("an epoch").number;
    let values = || [known, known, 4_000_000_000, known].into_iter().zip(10..).map(|(of, at)| (at, record(of)));
    let mut bench = Bench::holding(1000, LONG, usize::MAX, UnknownEpoch::Hold);
    let (_, queue) = bench.take(0);
    queue.put_values(values());
    let (mut placed, mut waits) = (None, 0);
    while placed.is_none() || waits < 2 {
        match bench.next() {
            Event::Closed { closed, .. } => placed = Some((range(&closed), closed.batch.counts.diverted.len())),
            Event::Waits { partition: 0, offset: 12, epoch: 4_000_000_000 } => waits += 1,
            _ => panic!("something else"),
        }
    }
    assert_eq!(placed, Some(((10, 12), 0)), "what was before it is placed");
    assert_eq!(queue.left(), 1, "nothing after it is read");
    // One that was bound to an end behind it is not closed before that end.
    let cut = Cut { start: 10, ends: [14].into() };
    let bound = Queue::default();
    bench.take_cut(1, &bound, Some(cut));
    bound.put_values(values());
    eventually("it waits", || matches!(bench.events.try_recv(), Ok(Event::Waits { partition: 1, offset: 12, .. })));
    // Otherwise it goes on.
    let mut bench = Bench::new(1000, Duration::from_millis(1), usize::MAX);
    let (_, queue) = bench.take(0);
    queue.put_values(values());
    queue.end();
    assert_eq!(range(&bench.batch().1), (10, 14));
}

#[test]
fn a_batch_closes_at_its_age() {
    let mut bench = Bench::new(1000, Duration::from_millis(50), usize::MAX);
    let (_, queue) = bench.take(0);
    queue.put(0..3);
    let begin = Instant::now();
    assert_eq!(range(&bench.batch().1), (0, 3));
    assert!(begin.elapsed() >= Duration::from_millis(45));
}

#[test]
fn while_blocks_queue_up_a_batch_grows_instead_of_closing_by_age() {
    let mut bench = Bench::new(1000, Duration::from_millis(50), 16 << 20);
    let waiting = bench.budget.seal(5 << 20);
    let (_, queue) = bench.take(0);
    queue.put(0..3);
    std::thread::sleep(Duration::from_millis(300));
    queue.put(3..5);
    eventually("it is read", || queue.left() == 0);
    assert!(bench.events.try_recv().is_err());
    drop(waiting);
    assert_eq!(range(&bench.batch().1), (0, 5));
}

#[test]
fn an_idle_worker_sleeps_and_wakes_at_once() {
    let mut bench = Bench::new(1, LONG, usize::MAX);
    let (_, queue) = bench.take(0);
    eventually("a first look", || queue.polls() > 0);
    std::thread::sleep(Duration::from_millis(500));
    let before = queue.polls();
    std::thread::sleep(Duration::from_millis(1500));
    assert!(queue.polls() - before <= 3, "{} looks into an empty queue in 1.5 s", queue.polls() - before);
    let mut slowest = Duration::ZERO;
    for offset in 0..20 {
        let begin = Instant::now();
        queue.put([offset]);
        bench.batch();
        slowest = slowest.max(begin.elapsed());
        std::thread::sleep(Duration::from_millis(10));
    }
    // Without the wake-up it would be found by the round of looks, a second apart.
    assert!(slowest < Duration::from_millis(600), "{slowest:?}");
}

#[test]
fn a_partition_with_a_long_backlog_does_not_starve_the_others() {
    let mut bench = Bench::new(5000, LONG, usize::MAX);
    let long = Queue::default();
    long.put(0..400_000);
    let (short, many) = (Queue::default(), 5000);
    short.put(0..many);
    let a = bench.take_queue(0, &long);
    let b = bench.take_queue(1, &short);
    let mut before = 0;
    loop {
        let (tenure, _) = bench.batch();
        if tenure == b {
            break;
        }
        assert_eq!(tenure, a);
        before += 1;
        assert!(before <= 4, "the short one waits behind {before} batches of the long one");
    }
}

#[test]
fn what_is_forgotten_goes_back_and_its_queue_is_free_before_anyone_hears_of_it() {
    let mut bench = Bench::new(1000, LONG, usize::MAX);
    let queue = Queue::default();
    queue.put(0..10);
    let tenure = bench.take_queue(0, &queue);
    eventually("it is read", || queue.left() == 0 && bench.budget.open() > 0);
    bench.worker.tell(Command::Forget(tenure));
    assert!(matches!(bench.next(), Event::Released(of) if of == tenure));
    assert_eq!(bench.budget.open(), 0);
    let sums = bench.telemetry.ledger().sums();
    assert_eq!((sums.consumed, sums.returned, sums.held), (10, 10, 0));
    queue.put(10..20);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(queue.left(), 10, "nobody reads it any more");
}

#[test]
fn a_partition_that_is_drained_closes_what_is_open_and_the_others_stay() {
    let mut bench = Bench::new(1000, LONG, usize::MAX);
    let (first, queue) = bench.take(0);
    let (_, other) = bench.take(1);
    queue.put(0..10);
    other.put(0..10);
    eventually("both are read", || queue.left() + other.left() == 0);
    bench.worker.tell(Command::Drain(first));
    let (tenure, closed) = bench.batch();
    assert_eq!((tenure, range(&closed)), (first, (0, 10)));
    assert!(matches!(bench.next(), Event::Released(of) if of == first));
    queue.put(10..20);
    other.put(10..20);
    eventually("the other is read on", || other.left() == 0);
    assert_eq!(queue.left(), 10);
}

#[test]
fn a_shutdown_closes_what_is_open() {
    let mut bench = Bench::new(1000, LONG, usize::MAX);
    let (first, queue) = bench.take(0);
    let (second, _) = bench.take(1);
    queue.put(0..10);
    eventually("it is read", || queue.left() == 0);
    bench.worker.tell(Command::Finish);
    let (tenure, closed) = bench.batch();
    assert_eq!((tenure, range(&closed)), (first, (0, 10)));
    assert!(matches!(bench.next(), Event::Released(of) if of == first));
    assert!(matches!(bench.next(), Event::Released(of) if of == second));
}

#[test]
fn over_the_bound_nothing_is_read_until_blocks_are_gone() {
    let mut bench = Bench::new(100_000, LONG, 50_000);
    let queue = Queue::default();
    queue.put_values((0..400).map(|offset| (offset, Some(vec![0xff; 1000]))));
    bench.take_queue(0, &queue);
    // Nothing fills a batch, so the bound alone closes them. Blocks compress well here: a share of the size read is kept
    // as sealed until reading stops.
    let mut sealed = vec![bench.batch().1];
    let big = bench.budget.seal(60_000);
    queue.put_values((400..600).map(|offset| (offset, Some(vec![0xff; 1000]))));
    std::thread::sleep(Duration::from_millis(300));
    while let Ok(Event::Closed { closed, .. }) = bench.events.try_recv() {
        sealed.push(closed);
    }
    let (left, open) = (queue.left(), bench.budget.open());
    assert!(left > 0, "it went on reading over the bound");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!((queue.left(), bench.budget.open()), (left, open));
    drop(big);
    drop(sealed);
    eventually("reading goes on", || {
        while bench.events.try_recv().is_ok() {}
        queue.left() == 0
    });
}

#[test]
fn a_message_larger_than_the_bound_goes_through() {
    let mut bench = Bench::new(100_000, LONG, 1000);
    let (_, queue) = bench.take(0);
    queue.put_values((0..3).map(|offset| (offset, Some(vec![0xff; 1 << 20]))));
    for offset in 0..3 {
        let closed = bench.batch().1;
        assert_eq!(range(&closed), (offset, offset + 1));
    }
}

#[test]
fn offsets_that_go_back_begin_a_new_batch() {
    let mut bench = Bench::new(1000, Duration::from_millis(100), usize::MAX);
    let queue = Queue::default();
    queue.put((100..110).chain(0..5));
    bench.take_queue(0, &queue);
    assert_eq!(range(&bench.batch().1), (100, 110));
    assert_eq!(range(&bench.batch().1), (0, 5));
}

#[test]
fn the_end_is_told_once_when_nothing_is_open() {
    let mut bench = Bench::new(1000, Duration::from_millis(50), usize::MAX);
    let queue = Queue::default();
    queue.put(0..5);
    queue.end();
    let tenure = bench.take_queue(0, &queue);
    assert_eq!(range(&bench.batch().1), (0, 5));
    assert!(matches!(bench.next(), Event::AtEnd(of) if of == tenure));
    std::thread::sleep(Duration::from_millis(150));
    assert!(bench.events.try_recv().is_err());
}

#[test]
fn a_panic_is_told() {
    struct Broken;
    impl Source for Broken {
        fn poll(&self, _: &mut dyn FnMut(crate::lane::Message<'_>)) -> super::super::source::Look {
            panic!("as told");
        }
        fn on_nonempty(&mut self, _: Box<dyn Fn() + Send + Sync>) {}
    }
    let mut bench = Bench::new(10, LONG, usize::MAX);
    let tenure = Tenure { partition: 0, generation: 1 };
    bench.worker.tell(Command::Take { tenure, source: Box::new(Broken), cut: None });
    assert!(matches!(bench.next(), Event::Control(Control::Fatal(Fatal::Worker(0)))));
}

fn cut(start: i64, ends: &[i64]) -> Option<Cut> {
    Some(Cut { start, ends: ends.iter().copied().collect() })
}

#[test]
fn what_a_former_owner_ended_ends_there_whatever_the_limits() {
    let mut bench = Bench::new(10, Duration::from_millis(30), usize::MAX);
    let queue = Queue::default();
    bench.take_cut(0, &queue, cut(100, &[125, 128, 600]));
    queue.put(100..110);
    std::thread::sleep(Duration::from_millis(200));
    assert!(bench.events.try_recv().is_err(), "neither its rows nor its age end it");
    queue.put(110..130);
    assert_eq!(bench.ends(2), [(125, 25), (128, 3)]);
    queue.put(130..620);
    assert_eq!(bench.ends(3), [(600, 472), (610, 10), (620, 10)]);
}

#[test]
fn an_end_that_no_message_reaches_is_met_by_what_comes_after_or_by_the_end_of_the_partition() {
    let mut bench = Bench::new(10, Duration::from_millis(30), usize::MAX);
    let (gap, end, empty) = (Queue::default(), Queue::default(), Queue::default());
    // 108 to 134 are gone: compacted, or never there.
    bench.take_cut(0, &gap, cut(100, &[110, 120, 130, 140]));
    gap.put((100..108).chain(134..142));
    assert_eq!(bench.ends(5), [(110, 8), (120, 0), (130, 0), (140, 6), (142, 2)]);
    bench.take_cut(1, &end, cut(100, &[110, 120]));
    end.put(100..108);
    end.end();
    assert_eq!(bench.ends(2), [(110, 8), (120, 0)]);
    bench.take_cut(2, &empty, cut(100, &[110]));
    empty.end();
    assert_eq!(bench.ends(1), [(110, 0)]);
}

#[test]
fn a_batch_that_is_bound_to_its_end_is_read_on_over_the_bound_of_memory() {
    let mut bench = Bench::new(1_000_000, LONG, 50_000);
    let (one, two) = (Queue::default(), Queue::default());
    for (partition, queue) in [(0, &one), (1, &two)] {
        queue.put_values((0..300).map(|offset| (offset, Some(vec![0xff; 1000]))));
        bench.take_cut(partition, queue, cut(0, &[250]));
    }
    let first = bench.batch();
    let second = bench.batch();
    assert_eq!((range(&first.1).1, range(&second.1).1), (250, 250));
    assert_ne!(first.0, second.0);
}

#[test]
fn a_shutdown_leaves_what_has_not_reached_its_end() {
    let mut bench = Bench::new(1000, LONG, usize::MAX);
    let queue = Queue::default();
    let tenure = bench.take_cut(0, &queue, cut(0, &[20]));
    queue.put(0..10);
    eventually("it is read", || queue.left() == 0);
    bench.worker.tell(Command::Finish);
    assert!(matches!(bench.next(), Event::Released(of) if of == tenure));
    assert_eq!(bench.telemetry.ledger().sums().returned, 10);
}

#[test]
fn offsets_that_go_back_end_the_run_where_they_would_be_cut_otherwise() {
    let mut bench = Bench::new(1000, LONG, usize::MAX);
    let queue = Queue::default();
    bench.take_cut(3, &queue, cut(100, &[]));
    queue.put((100..110).chain(0..5));
    let Event::Control(Control::Fatal(Fatal::WentBack { partition, from, to })) = bench.next() else {
        panic!("no end")
    };
    assert_eq!((partition, from, to), (3, 110, 0));
    std::thread::sleep(Duration::from_millis(100));
    assert!(bench.events.try_recv().is_err(), "nothing more is read");
}
