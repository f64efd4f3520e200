use std::time::Duration;

use bytes::Bytes;
use tokio::{
    sync::mpsc,
    task::JoinHandle,
    time::{Instant as Time, sleep},
};

use super::{
    super::{budget::Budget, fake::Server},
    *,
};
use crate::{
    http::Health,
    lane::{Identity, Target},
    telemetry::Telemetry,
};

struct Bench {
    writer: Arc<Writer>,
    server: Server,
    events: mpsc::Receiver<Event>,
    budget: Arc<Budget>,
    health: Arc<Health>,
    stop: watch::Sender<bool>,
}

impl Bench {
    fn new(slots: usize) -> Self {
        let (events, receiver) = mpsc::channel(4096);
        let (server, health) = (Server::default(), Arc::new(Health::default()));
        let report = Report::new(Arc::new(Telemetry::new()), health.clone(), "b:1");
        let writer =
            Writer::new(Box::new(server.clone()), slots, events, report, Arc::new(Proof::not_needed()), Pace::new(20));
        Self { writer, server, events: receiver, budget: Budget::new(1), health, stop: watch::Sender::new(false) }
    }

    fn send(&self, table: &str, batch: u64) -> JoinHandle<()> {
        self.send_rows(table, batch, 10)
    }

    fn send_rows(&self, table: &str, batch: u64, rows: u64) -> JoinHandle<()> {
        tokio::spawn(self.writer.clone().deliver(self.parcel(table, batch, rows)))
    }

    fn parcel(&self, table: &str, batch: u64, rows: u64) -> Parcel {
        let target =
            Arc::new(Target { table: table.into(), epoch: None, columns: Vec::new(), identity: Identity::default() });
        let body = Bytes::from_static(b"block");
        Parcel {
            tenure: Tenure { partition: 0, generation: 1 },
            batch,
            range: Range { first: 0, next: 1 },
            token: format!("{table}/{batch}"),
            may_be_known: false,
            share: self.budget.seal(body.len()),
            block: Block { target, rows, body, native_bytes: 5, samples: vec![batch.to_le_bytes().to_vec().into()] },
            stop: self.stop.subscribe(),
        }
    }

    /// Outcomes so far.
    fn settled(&mut self) -> Vec<(u64, bool)> {
        let mut settled = Vec::new();
        while let Ok(event) = self.events.try_recv() {
            let Event::Settled { batch, placed, .. } = event else { panic!("an outcome") };
            settled.push((batch, placed));
        }
        settled.sort_unstable();
        settled
    }
}

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test(start_paused = true)]
async fn a_block_is_repeated_until_it_is_taken_however_long_that_is() {
    for about in [About::Server, About::Table, About::Memory, About::Schema, About::Account] {
        let mut bench = Bench::new(4);
        bench.server.answer("t", Some(about));
        bench.send("t", 7);
        sleep(24 * HOUR).await;
        assert_eq!((bench.settled(), bench.budget.sealed()), (vec![], 5), "{about:?}");
        let (refused, _) = bench.server.attempts("t");
        assert!((8_000..20_000).contains(&refused), "{about:?}: {refused} attempts in a day");
        bench.server.answer("t", None);
        sleep(Duration::from_secs(11)).await;
        assert_eq!((bench.settled(), bench.budget.sealed()), (vec![(7, true)], 0), "{about:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn many_blocks_in_an_outage_make_no_more_attempts_than_one() {
    for about in [About::Server, About::Table] {
        let mut bench = Bench::new(4);
        bench.server.takes(Duration::from_millis(50));
        bench.server.answer("t", Some(about));
        (0..300).for_each(|batch| drop(bench.send("t", batch)));
        sleep(HOUR).await;
        let (refused, _) = bench.server.attempts("t");
        assert!((300..900).contains(&refused), "{about:?}: {refused} attempts in an hour");
        bench.server.answer("t", None);
        // One attempt finds out, at most ten seconds later; then they go, four at a time.
        sleep(Duration::from_secs(15)).await;
        assert_eq!(bench.settled().iter().filter(|(_, placed)| *placed).count(), 300, "{about:?}");
        assert!(bench.server.attempts("t").0 - refused <= 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_table_out_of_order_holds_up_no_other() {
    for about in [About::Table, About::Schema, About::Account] {
        let mut bench = Bench::new(2);
        bench.server.answer("broken", Some(about));
        (0..20).for_each(|batch| drop(bench.send("broken", batch)));
        sleep(Duration::from_secs(60)).await;
        (100..120).for_each(|batch| drop(bench.send("well", batch)));
        sleep(Duration::from_secs(1)).await;
        assert_eq!(bench.settled().len(), 20, "{about:?}");
        assert_eq!(bench.server.attempts("well"), (0, 20));
    }
}

#[tokio::test(start_paused = true)]
async fn a_block_that_the_server_has_no_memory_for_is_handed_on_after_ten_minutes_if_it_is_large() {
    let mut bench = Bench::new(1);
    for table in ["t", "small"] {
        bench.server.answer(table, Some(About::Memory));
    }
    bench.send_rows("small", 1, SMALL);
    let large = bench.send_rows("t", 2, SMALL + 1);
    sleep(Duration::from_secs(300)).await;
    // What became of this attempt isn't known: the ten minutes begin anew.
    bench.server.answer("t", Some(About::Server));
    sleep(Duration::from_secs(60)).await;
    bench.server.answer("t", Some(About::Memory));
    sleep(Duration::from_secs(590)).await;
    assert!(bench.events.try_recv().is_err() && !large.is_finished());
    sleep(Duration::from_secs(60)).await;
    let Ok(Event::Refused(parcel)) = bench.events.try_recv() else { panic!("not handed on") };
    assert_eq!(parcel.batch, 2);
    sleep(HOUR).await;
    assert_eq!(bench.settled(), vec![], "the small one is repeated");
    bench.server.answer("small", None);
    sleep(Duration::from_secs(15)).await;
    assert_eq!(bench.settled(), vec![(1, true)]);
}

#[tokio::test(start_paused = true)]
async fn a_block_that_is_refused_for_its_rows_is_handed_on_at_once() {
    let mut bench = Bench::new(1);
    bench.server.answer("t", Some(About::Rows));
    bench.send("t", 1);
    sleep(Duration::from_millis(1)).await;
    let Ok(Event::Refused(parcel)) = bench.events.try_recv() else { panic!("not handed on") };
    assert_eq!(
        (parcel.batch, parcel.token.as_str(), bench.budget.sealed()),
        (1, "t/1", 5),
        "with all that belongs to it"
    );
    assert_eq!((bench.server.attempts("t"), bench.health.clickhouse.state()), ((1, 0), crate::http::State::Unknown));
    bench.server.answer("t", None);
    bench.send("t", 2);
    sleep(Duration::from_millis(1)).await;
    assert_eq!(bench.settled(), [(2, true)], "it holds up no other");
}

#[tokio::test(start_paused = true)]
async fn inserts_under_way_are_bounded() {
    let mut bench = Bench::new(3);
    bench.server.takes(Duration::from_secs(1));
    (0..30).for_each(|batch| drop(bench.send("t", batch)));
    let begin = Time::now();
    sleep(Duration::from_millis(10_500)).await;
    assert_eq!(bench.settled().len(), 30, "{:?}", begin.elapsed());
    assert_eq!(bench.server.most_under_way(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_waiting_and_lets_what_has_begun_finish() {
    let mut bench = Bench::new(1);
    bench.server.takes(Duration::from_secs(2));
    bench.send("t", 1);
    sleep(Duration::from_millis(1)).await;
    bench.send("t", 2);
    bench.send("t", 3);
    sleep(Duration::from_secs(1)).await;
    bench.stop.send_replace(true);
    sleep(Duration::from_millis(1)).await;
    assert_eq!(bench.settled(), [(2, false), (3, false)]);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(bench.settled(), [(1, true)]);
    assert_eq!((bench.server.attempts("t"), bench.budget.sealed()), ((0, 1), 0));
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_wait_for_another_attempt() {
    for about in [About::Server, About::Table] {
        let mut bench = Bench::new(1);
        bench.server.answer("t", Some(about));
        bench.send("t", 1);
        sleep(HOUR).await;
        bench.stop.send_replace(true);
        sleep(Duration::from_millis(1)).await;
        assert_eq!(bench.settled(), [(1, false)], "{about:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_is_aborted_lets_others_try() {
    let mut bench = Bench::new(1);
    bench.server.answer("t", Some(About::Table));
    let first = bench.send("t", 1);
    sleep(HOUR).await;
    // The only one that may try hangs and is given up with its partition.
    bench.server.takes(HOUR);
    bench.send("t", 2);
    sleep(Duration::from_secs(20)).await;
    bench.server.takes(Duration::ZERO);
    bench.server.answer("t", None);
    first.abort();
    sleep(Duration::from_secs(15)).await;
    assert_eq!(bench.settled(), [(2, true)]);
    assert_eq!(bench.budget.sealed(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_health_follows() {
    use crate::http::State;
    let bench = Bench::new(2);
    bench.send("a", 1);
    sleep(Duration::from_secs(1)).await;
    assert_eq!((bench.health.clickhouse.state(), bench.health.schema.state()), (State::Ok, State::Ok));
    bench.server.answer("a", Some(About::Schema));
    bench.server.answer("b", Some(About::Table));
    bench.send("a", 2);
    bench.send("b", 3);
    bench.send("c", 4);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(bench.health.schema.state(), State::Failed { cause: "`a`: as told".into() });
    assert_eq!(bench.health.clickhouse.state(), State::Failed { cause: "`b`: as told".into() });
    bench.server.answer("a", None);
    bench.server.answer("b", None);
    sleep(Duration::from_secs(11)).await;
    assert_eq!((bench.health.clickhouse.state(), bench.health.schema.state()), (State::Ok, State::Ok));
}

#[tokio::test(start_paused = true)]
async fn a_block_whose_token_alone_survived_a_kill_is_sent_under_another() {
    for tears in 1..=3 {
        let mut bench = Bench::new(1);
        bench.send("t", 1);
        sleep(Duration::from_millis(1)).await;
        bench.server.tear(tears);
        bench.send("t", 2);
        sleep(HOUR).await;
        assert_eq!((bench.settled(), bench.server.rows()), (vec![(1, true), (2, true)], 20), "{tears} kills");
        assert_eq!(bench.server.looks(), tears + 1, "it is looked for after each, and after that at last it is there");
        let again: Vec<_> = (1..=tears).map(|times| format!("t/2/again{times}")).collect();
        let tokens = bench.server.tokens();
        assert!(again.iter().all(|token| tokens.contains(token)) && tokens.len() == tears + 2, "{tokens:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_block_is_only_looked_for_if_its_token_may_be_known() {
    for (about, looks) in [
        (About::Server, 1),
        // These are told of by a server that may have noted the token before it found out.
        (About::Table, 1),
        (About::Memory, 1),
        (About::Schema, 0),
        (About::Account, 0),
    ] {
        let mut bench = Bench::new(1);
        bench.send("t", 1);
        sleep(Duration::from_millis(1)).await;
        bench.server.answer("t", Some(about));
        bench.send("t", 2);
        sleep(HOUR).await;
        bench.server.answer("t", None);
        sleep(HOUR).await;
        assert_eq!((bench.settled().len(), bench.server.looks()), (2, looks), "{about:?}");
        assert_eq!(bench.server.rows(), 20);
    }
    // What a former owner may have sent, and did, is there.
    let mut bench = Bench::new(1);
    bench.send("t", 2);
    sleep(Duration::from_millis(1)).await;
    let parcel = Parcel { may_be_known: true, ..bench.parcel("t", 2, 10) };
    bench.writer.clone().deliver(parcel).await;
    assert_eq!((bench.settled(), bench.server.looks(), bench.server.rows()), (vec![(2, true), (2, true)], 1, 10));
}

#[tokio::test(start_paused = true)]
async fn a_block_that_was_acknowledged_is_not_sent_again_while_it_can_not_be_looked_for() {
    let mut bench = Bench::new(1);
    bench.server.refuse_looks(true);
    let parcel = Parcel { may_be_known: true, ..bench.parcel("t", 1, 10) };
    let sending = tokio::spawn(bench.writer.clone().deliver(parcel));
    sleep(HOUR).await;
    assert!(!sending.is_finished() && bench.server.looks() > 100);
    assert_eq!((bench.server.attempts("t"), bench.settled()), ((0, 1), vec![]));
    bench.server.refuse_looks(false);
    sleep(Duration::from_secs(15)).await;
    assert_eq!((bench.server.attempts("t"), bench.settled()), ((0, 1), vec![(1, true)]));
}

#[tokio::test(start_paused = true)]
async fn what_is_known_of_a_token_goes_with_a_refused_block() {
    let mut bench = Bench::new(1);
    bench.server.answer("t", Some(About::Server));
    bench.send("t", 1);
    sleep(HOUR).await;
    bench.server.answer("t", Some(About::Rows));
    sleep(HOUR).await;
    let Ok(Event::Refused(parcel)) = bench.events.try_recv() else { panic!("not handed on") };
    assert!(parcel.may_be_known);
}
