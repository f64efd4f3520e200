use tokio::{sync::oneshot, task::JoinHandle};

use super::{
    super::{
        event::QUEUE,
        fake::{Failure, Offsets, Queue, Records, Server, TOPIC_ID, record, schema},
        limits::Limits,
        proof::Moment,
        source::Source,
        worker::Equipment,
        writer::About,
    },
    *,
};
use crate::{
    config,
    delivery::{Entry, Intents},
    http::Health,
    kafka,
    lane::{Batch, Counts, Reason},
    telemetry::{Sums, Telemetry},
};
#[path = "coordinator_once_tests.rs"]
mod exactly_once;

struct Bench {
    events: Events,
    server: Server,
    offsets: Offsets,
    telemetry: Arc<Telemetry>,
    settled: watch::Receiver<BTreeSet<i32>>,
    task: JoinHandle<Fatal>,
}

impl Bench {
    /// Batches of ten rows, or of 50 ms, at least once.
    fn new() -> Self {
        Self::with(10, None, Server::default(), Offsets::default(), Proof::not_needed())
    }

    /// The same exactly once.
    fn exactly_once(rows: u64, server: &Server, offsets: &Offsets) -> Self {
        let proof = Proof::within(Duration::from_secs(10));
        Self::with(rows, Some(Reset::Earliest), server.clone(), offsets.clone(), proof)
    }

    fn with(rows: u64, exactly_once: Option<Reset>, server: Server, offsets: Offsets, proof: Proof) -> Self {
        let (events, receiver) = mpsc::channel(QUEUE);
        let proof = Arc::new(proof);
        let telemetry = Arc::new(Telemetry::new());
        let report = Report::new(telemetry.clone(), Arc::new(Health::default()), "b:1");
        let (budget, pace) = (Budget::new(usize::MAX), Pace::new(20));
        let equipment = Equipment {
            schema: schema(),
            topic: "t".into(),
            limits: Limits::new(
                config::Batch { rows, bytes: 1 << 30, age: Duration::from_millis(50), max_inserts_per_second: 20 },
                pace.clone(),
                config::UnknownEpoch::Divert,
            ),
            budget: budget.clone(),
            events: events.clone(),
            telemetry: telemetry.clone(),
        };
        let workers = (0..2).map(|number| Worker::start(number, equipment.clone()).expect("a thread")).collect();
        let writer =
            Writer::new(Box::new(server.clone()), 4, events.clone(), report.clone(), proof.clone(), pace.clone());
        let (ledger, messages, schema) = (Arc::new(offsets.clone()), Arc::new(Records), equipment.schema.clone());
        let topic = "t".into();
        let parts =
            Parts { topic, exactly_once, workers, writer, schema, messages, ledger, proof, report, budget, pace };
        let (coordinator, settled) = Coordinator::new(parts, events.clone(), receiver);
        Self { events, server, offsets, telemetry, settled, task: tokio::spawn(coordinator.run()) }
    }

    async fn ask<T>(&self, control: impl FnOnce(oneshot::Sender<T>) -> Control) -> T {
        let (reply, answer) = oneshot::channel();
        assert!(self.events.send(Event::Control(control(reply))).await.is_ok());
        answer.await.expect("an answer")
    }

    async fn assign(&self, partitions: &[(i32, &Queue)]) -> Vec<kafka::Start> {
        let sources = partitions.iter().map(|(partition, queue)| {
            let source: Box<dyn Source> = Box::new((*queue).clone());
            (*partition, source)
        });
        let sources = sources.collect();
        self.ask(|reply| Control::Assigned { sources, reply }).await
    }

    async fn revoke(&self, partitions: &[i32], lost: bool) {
        let partitions = partitions.to_vec();
        self.ask(|reply| Control::Revoked { partitions, lost, reply }).await;
    }

    async fn finish(&self, patience: Duration) -> Unfinished {
        let deadline = Instant::now() + patience;
        self.ask(|reply| Control::Finish { deadline, reply }).await
    }

    fn sums(&self) -> Sums {
        let sums = self.telemetry.ledger().sums();
        assert!(sums.balances(), "{sums:?}");
        sums
    }

    async fn eventually(&self, what: &str, mut condition: impl FnMut(&Self) -> bool) {
        let begin = Instant::now();
        while !condition(self) {
            assert!(begin.elapsed() < Duration::from_secs(15), "not in time: {what}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn pause(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_with_nothing_committed_has_a_lag() {
    let (bench, queue) = (Bench::new(), Queue::default());
    bench.server.answer("errors", Some(About::Table));
    bench.assign(&[(0, &queue)]).await;
    queue.put(100..125);
    bench.eventually("attempts", |b| b.server.attempts("errors").0 > 0).await;
    let ends = vec![kafka::End { partition: 0, next: 125, queued_bytes: 0 }];
    let sight = kafka::Sight { ends, paused: 0, connected: true };
    assert!(bench.events.send(Event::Sight(sight)).await.is_ok());
    let lag = "xtcp_ingest_lag_messages{topic=\"t\",partition=\"0\"} 25";
    bench.eventually("a lag", |b| b.telemetry.render().contains(lag)).await;
    assert_eq!(bench.offsets.of(0), None);
    bench.finish(Duration::ZERO).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_placed_is_committed_and_nothing_before() {
    let (bench, queue) = (Bench::new(), Queue::default());
    bench.server.answer("errors", Some(About::Table));
    bench.assign(&[(0, &queue)]).await;
    queue.put(100..125);
    bench.eventually("attempts", |b| b.server.attempts("errors").0 > 0).await;
    pause(1200).await;
    assert_eq!((bench.offsets.of(0), bench.sums().held), (None, 25));
    bench.server.answer("errors", None);
    bench.eventually("the end is committed", |b| b.offsets.of(0) == Some(125)).await;
    let sums = bench.sums();
    assert_eq!((sums.consumed, sums.held, sums.diverted.values().sum::<u64>()), (25, 0, 25));
    assert!(!bench.task.is_finished());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_never_passes_what_the_server_has_whatever_the_server_does() {
    let (bench, queue) = (Bench::new(), Queue::default());
    bench.assign(&[(0, &queue)]).await;
    let all = 3000;
    let begin = Instant::now();
    let mut put = 0;
    for round in 0_i64.. {
        if put < all {
            queue.put(put..put + 37);
            put += 37;
        }
        bench.server.answer("errors", (round % 7 < 3).then_some([About::Table, About::Rows][(round % 2) as usize]));
        bench.server.takes(Duration::from_millis([0, 3, 40][(round % 3) as usize]));
        for _ in 0..20 {
            // Read in this order, or the server could have got ahead in between.
            let committed = bench.offsets.of(0).unwrap_or(0);
            assert!(committed as u64 <= bench.server.rows(), "{committed} is committed");
            bench.sums();
            pause(1).await;
        }
        if put >= all && bench.offsets.of(0) == Some(put) {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "stuck at {:?}", bench.offsets.of(0));
    }
    assert_eq!(bench.server.rows(), put as u64, "each row once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_partition_commits_what_is_acknowledged_and_drops_the_rest() {
    let (bench, queue, other) = (Bench::new(), Queue::default(), Queue::default());
    bench.assign(&[(0, &queue), (1, &other)]).await;
    queue.put(0..30);
    bench.eventually("three batches", |b| b.server.rows() == 30).await;
    bench.server.answer("errors", Some(About::Table));
    queue.put(30..45);
    bench.eventually("an attempt", |b| b.server.attempts("errors").0 > 0 && queue.left() == 0).await;
    let begin = Instant::now();
    bench.revoke(&[0], false).await;
    assert!(begin.elapsed() < Duration::from_secs(1), "nothing was under way: {:?}", begin.elapsed());
    assert_eq!(bench.offsets.of(0), Some(30), "committed before the partition is given back");
    bench.server.answer("errors", None);
    queue.put(45..60);
    pause(1200).await;
    assert_eq!((bench.offsets.writes().last(), queue.left()), (Some(&(0, 30)), 15));
    other.put(0..10);
    bench.eventually("the other goes on", |b| b.offsets.of(1) == Some(10)).await;
    let sums = bench.sums();
    assert_eq!((sums.returned, sums.held), (15, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_partition_places_what_is_open_if_inserts_are_in_order() {
    for is_well in [true, false] {
        let (bench, queue, other) = (Bench::new(), Queue::default(), Queue::default());
        bench.assign(&[(0, &queue), (1, &other)]).await;
        // Full at ten rows, and at 50 ms.
        queue.put(0..10);
        bench.eventually("one batch", |b| b.server.rows() == 10).await;
        if !is_well {
            bench.server.answer("errors", Some(About::Table));
            other.put(0..10);
            bench.eventually("an attempt", |b| b.server.attempts("errors").0 > 0).await;
        }
        queue.put(10..15);
        bench.eventually("it is read", |_| queue.left() == 0).await;
        bench.server.answer("errors", None);
        bench.revoke(&[0], false).await;
        assert_eq!(bench.offsets.of(0), Some(if is_well { 15 } else { 10 }));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_without_blocks_holds_up_no_end() {
    let (bench, queue, other) = (Bench::new(), Queue::default(), Queue::default());
    bench.assign(&[(0, &queue), (1, &other)]).await;
    let tenure = Tenure { partition: 0, generation: 1 };
    let batch = Batch { partition: 0, first: 0, next: 5, blocks: Vec::new(), counts: Counts::default() };
    let closed = Closed { batch, held: bench.telemetry.ledger().open(), shares: Vec::new() };
    assert!(bench.events.send(Event::Closed { tenure, closed }).await.is_ok());
    let begin = Instant::now();
    bench.revoke(&[0], false).await;
    assert_eq!(bench.finish(Duration::from_secs(10)).await, Unfinished::default());
    assert!(begin.elapsed() < Duration::from_millis(900), "{:?}", begin.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revocation_waits_for_the_answers_to_what_is_under_way() {
    let (bench, queue) = (Bench::new(), Queue::default());
    bench.assign(&[(0, &queue)]).await;
    bench.server.takes(Duration::from_millis(700));
    queue.put(0..10);
    bench.eventually("it is sent", |b| b.server.most_under_way() == 1).await;
    bench.revoke(&[0], false).await;
    assert_eq!((bench.server.rows(), bench.offsets.of(0)), (10, Some(10)));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_lost_partition_is_committed() {
    let (bench, queue, other) = (Bench::new(), Queue::default(), Queue::default());
    bench.assign(&[(0, &queue), (1, &other)]).await;
    bench.offsets.fail(usize::MAX, Failure::Before);
    queue.put(0..10);
    bench.eventually("it is placed", |b| b.server.rows() == 10).await;
    // Right after a tick, the next one is half a second away.
    let seen = bench.offsets.exchanges();
    bench.eventually("a tick", |b| b.offsets.exchanges() > seen).await;
    let before = bench.offsets.exchanges();
    bench.revoke(&[0], true).await;
    assert_eq!(bench.offsets.exchanges(), before, "the floor was there to be committed");
    bench.offsets.fail(0, Failure::Before);
    other.put(0..10);
    bench.eventually("the other is committed", |b| b.offsets.of(1) == Some(10)).await;
    pause(1200).await;
    assert_eq!(bench.offsets.writes(), [(1, 10)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_belongs_to_an_ended_tenure_does_not_count_for_the_next() {
    let (bench, queue) = (Bench::new(), Queue::default());
    bench.assign(&[(0, &queue)]).await;
    bench.server.answer("errors", Some(About::Table));
    queue.put(0..10);
    bench.eventually("an attempt", |b| b.server.attempts("errors").0 > 0).await;
    bench.revoke(&[0], true).await;
    let again = Queue::default();
    bench.assign(&[(0, &again)]).await;
    again.put(0..10);
    pause(300).await;
    let old = Tenure { partition: 0, generation: 1 };
    let ahead = Entry { offset: 99, metadata: String::new() };
    for batch in 0..3 {
        assert!(bench.events.send(Event::Settled { tenure: old, batch, placed: true }).await.is_ok());
    }
    assert!(
        bench.events.send(Event::Committed { tenures: vec![old], begun: Moment::now(), result: Ok(()) }).await.is_ok()
    );
    assert!(bench.events.send(Event::ReadBack { result: Ok(vec![(old, Some(ahead))]) }).await.is_ok());
    pause(1200).await;
    assert_eq!((bench.offsets.of(0), bench.sums().held), (None, 10));
    bench.server.answer("errors", None);
    bench.eventually("it is committed", |b| b.offsets.of(0) == Some(10)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_failed_commit_nothing_is_written_before_the_group_was_asked() {
    let (bench, queue) = (Bench::new(), Queue::default());
    bench.assign(&[(0, &queue)]).await;
    bench.offsets.fail(1, Failure::Before);
    queue.put(0..10);
    bench.eventually("the group is asked", |b| b.offsets.reads() == 1).await;
    bench.eventually("and then told", |b| b.offsets.of(0) == Some(10)).await;

    // Another member is ahead: a commit of what this one has placed would set the group back.
    bench.offsets.fail(1, Failure::Before);
    bench.offsets.set(0, 25, "");
    queue.put(10..20);
    bench.eventually("the group is asked", |b| b.offsets.reads() == 2).await;
    pause(1200).await;
    assert_eq!(bench.offsets.of(0), Some(25));
    queue.put(20..30);
    bench.eventually("its own floor is ahead", |b| b.offsets.of(0) == Some(30)).await;
    assert_eq!(bench.offsets.writes(), [(0, 10), (0, 30)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_places_and_commits_what_was_read() {
    let (bench, queue) = (Bench::new(), Queue::default());
    bench.assign(&[(0, &queue)]).await;
    bench.server.takes(Duration::from_millis(200));
    queue.put(0..13);
    bench.eventually("it is read", |_| queue.left() == 0).await;
    assert_eq!(bench.finish(Duration::from_secs(5)).await, Unfinished::default());
    assert_eq!((bench.server.rows(), bench.offsets.of(0)), (13, Some(13)));
    let late = Queue::default();
    late.put(0..5);
    bench.assign(&[(1, &late)]).await;
    bench.revoke(&[0, 1], false).await;
    assert_eq!(late.left(), 5, "nothing is read any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_does_not_wait_for_ever_and_commits_nothing_unacknowledged() {
    let (bench, queue) = (Bench::new(), Queue::default());
    bench.assign(&[(0, &queue)]).await;
    queue.put(0..10);
    bench.eventually("a batch", |b| b.server.rows() == 10).await;
    bench.server.answer("errors", Some(About::Server));
    queue.put(10..30);
    bench.eventually("an attempt", |b| b.server.attempts("errors").0 > 0 && b.sums().consumed == 30).await;
    let begin = Instant::now();
    let unfinished = bench.finish(Duration::from_millis(300)).await;
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    assert_eq!((unfinished.batches, unfinished.uncommitted), (2, 0));
    assert_eq!(bench.offsets.of(0), Some(10));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_is_settled_when_it_was_read_to_its_end_and_all_is_committed() {
    let (mut bench, queue) = (Bench::new(), Queue::default());
    bench.assign(&[(0, &queue)]).await;
    bench.server.answer("errors", Some(About::Table));
    queue.put(0..10);
    queue.end();
    pause(1200).await;
    assert!(bench.settled.borrow().is_empty(), "nothing is placed");
    bench.server.answer("errors", None);
    let end = Instant::now() + Duration::from_secs(10);
    timeout_at(end, bench.settled.wait_for(|settled| settled.contains(&0))).await.expect("in time").expect("alive");
    assert_eq!(bench.offsets.of(0), Some(10));
}
