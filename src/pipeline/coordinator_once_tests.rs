//! Delivery exactly once: intents, take-overs, blocks that are taken apart.

use super::*;

/// The ends that are written for partition 0.
fn ends(offsets: &Offsets) -> Vec<i64> {
    let Some(entry) = offsets.entry(0) else { return Vec::new() };
    Intents::decode(&entry.metadata, entry.offset).expect("readable").ends
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_before_its_end_is_written() {
    let (server, offsets, queue) = (Server::default(), Offsets::default(), Queue::default());
    let bench = Bench::exactly_once(10, &server, &offsets);
    offsets.fail(usize::MAX, Failure::Before);
    assert_eq!(bench.assign(&[(0, &queue)]).await, [kafka::Start { partition: 0, offset: Some(0) }]);
    queue.put(0..25);
    pause(1500).await;
    assert_eq!((server.attempts("errors"), bench.sums().held), ((0, 0), 25));
    server.answer("errors", Some(About::Table));
    offsets.fail(0, Failure::Before);
    bench.eventually("an attempt", |_| server.attempts("errors").0 > 0).await;
    assert_eq!((offsets.of(0), ends(&offsets)), (Some(0), vec![10, 20, 25]));
    server.answer("errors", None);
    bench.eventually("the end is committed", |_| offsets.of(0) == Some(25)).await;
    let token = |range: &str| server.tokens().iter().any(|token| token.contains(range) && token.starts_with(TOPIC_ID));
    assert!(token("/0-10/errors") && token("/10-20/errors") && token("/20-25/errors"), "{:?}", server.tokens());
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_comes_after_a_crash_sends_the_same_batches_and_no_row_twice() {
    let (server, offsets) = (Server::default(), Offsets::default());
    let mut read = 0;
    for round in 0..12_i64 {
        // Another size each time: alone, each would cut where no other did.
        let bench = Bench::exactly_once(7 + 3 * u64::try_from(round % 5).expect("small"), &server, &offsets);
        server.takes(Duration::from_millis(u64::try_from(round % 3 * 20).expect("small")));
        let queue = Queue::default();
        let start = bench.assign(&[(0, &queue)]).await[0].offset.expect("an offset");
        assert!(start <= read, "nothing is passed over");
        queue.put(start..400);
        queue.end();
        let (before, begin) = (server.rows(), std::time::Instant::now());
        while server.rows() < before + 20 && server.rows() < 400 && begin.elapsed() < Duration::from_secs(5) {
            pause(1).await;
        }
        read = i64::try_from(server.rows()).expect("few") + 160;
        // As if killed: nothing is finished, and what is under way may land or not.
        bench.task.abort();
        pause(30).await;
    }
    let (bench, queue) = (Bench::exactly_once(50, &server, &offsets), Queue::default());
    server.takes(Duration::ZERO);
    let start = bench.assign(&[(0, &queue)]).await[0].offset.expect("an offset");
    queue.put(start..400);
    queue.end();
    bench.eventually("all is committed", |_| offsets.of(0) == Some(400)).await;
    assert_eq!(server.rows(), 400, "each row once");
    let (refused, taken) = server.attempts("errors");
    assert!(taken > server.tokens().len(), "no block came twice: {refused} {taken} {:?}", server.tokens());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_whose_answer_is_lost_is_looked_at_and_not_repeated() {
    let (server, offsets, queue) = (Server::default(), Offsets::default(), Queue::default());
    let bench = Bench::exactly_once(10, &server, &offsets);
    bench.assign(&[(0, &queue)]).await;
    offsets.fail(1, Failure::After);
    queue.put(0..10);
    bench.eventually("it is sent", |_| server.rows() == 10).await;
    assert_eq!(offsets.reads(), 2, "at the take-over, and for the answer");
    bench.eventually("it is committed", |_| offsets.of(0) == Some(10)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_whose_offset_somebody_else_wrote_is_let_go() {
    let (server, offsets) = (Server::default(), Offsets::default());
    let (queue, other) = (Queue::default(), Queue::default());
    let bench = Bench::exactly_once(10, &server, &offsets);
    bench.assign(&[(0, &queue), (1, &other)]).await;
    queue.put(0..10);
    bench.eventually("it is committed", |_| offsets.of(0) == Some(10)).await;
    let theirs = Intents { topic: TOPIC_ID.into(), era: 5, ends: vec![14], splits: Vec::new() }.encode(10);
    offsets.set(0, 10, &theirs);
    offsets.fail(1, Failure::Before);
    queue.put(10..20);
    bench.eventually("the group is asked", |_| offsets.reads() == 3 || offsets.reads() == 2).await;
    pause(1200).await;
    queue.put(20..30);
    other.put(0..10);
    bench.eventually("the other goes on", |_| offsets.of(1) == Some(10)).await;
    assert_eq!((server.rows(), queue.left()), (20, 10), "ten of each, and nobody reads what came after");
    assert_eq!(offsets.entry(0).expect("theirs").metadata, theirs);
    // The group says nothing: it may have had the partition back before this member asked.
    bench.eventually("it is taken once more", |_| offsets.retaken() == [0]).await;
    bench.revoke(&[0], false).await;
    let again = Queue::default();
    bench.assign(&[(0, &again)]).await;
    again.put(10..30);
    bench.eventually("it goes on", |_| offsets.of(0) == Some(30)).await;
    assert_eq!((server.rows(), offsets.retaken()), (40, vec![0]), "what they intended is cut as they did");
    assert!(!bench.task.is_finished());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_that_goes_leaves_the_ends_of_what_may_have_been_sent() {
    for shutdown in [false, true] {
        let (server, offsets, queue) = (Server::default(), Offsets::default(), Queue::default());
        let bench = Bench::exactly_once(10, &server, &offsets);
        bench.assign(&[(0, &queue)]).await;
        queue.put(0..10);
        bench.eventually("one is committed", |_| offsets.of(0) == Some(10)).await;
        server.answer("errors", Some(About::Table));
        queue.put(10..30);
        bench.eventually("an attempt", |_| server.attempts("errors").0 > 0 && ends(&offsets) == [20, 30]).await;
        if shutdown {
            assert_eq!(bench.finish(Duration::from_millis(300)).await.batches, 2);
        } else {
            bench.revoke(&[0], false).await;
        }
        assert_eq!((offsets.of(0), ends(&offsets)), (Some(10), vec![20, 30]), "shutdown: {shutdown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_proof_nothing_is_sent_and_a_proof_is_sought() {
    let (server, offsets, queue) = (Server::default(), Offsets::default(), Queue::default());
    let proof = Proof::within(Duration::from_millis(1500));
    let bench = Bench::with(10, Some(Reset::Earliest), server.clone(), offsets.clone(), proof);
    bench.assign(&[(0, &queue)]).await;
    server.answer("errors", Some(About::Table));
    queue.put(0..10);
    bench.eventually("attempts", |_| server.attempts("errors").0 > 0).await;
    let before = offsets.writes().len();
    bench.eventually("the same is written again and again", |_| offsets.writes().len() > before + 2).await;
    // The group's coordinator is away.
    offsets.fail(usize::MAX, Failure::Before);
    pause(2500).await;
    let attempts = server.attempts("errors").0;
    pause(2000).await;
    assert_eq!(server.attempts("errors").0, attempts, "nothing is sent any more");
    server.answer("errors", None);
    offsets.fail(0, Failure::Before);
    bench.eventually("it goes on", |_| offsets.of(0) == Some(10)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_later_version_intends_ends_the_run() {
    let (server, offsets, queue) = (Server::default(), Offsets::default(), Queue::default());
    offsets.set(0, 10, "xtcp-ingest/99 what this one can't know");
    let bench = Bench::exactly_once(10, &server, &offsets);
    assert_eq!(bench.assign(&[(0, &queue)]).await, []);
    let fatal = bench.task.await.expect("ended");
    assert!(matches!(fatal, Fatal::Newer(0)), "{fatal}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_topic_under_the_same_name_ends_the_run() {
    let (server, offsets, queue) = (Server::default(), Offsets::default(), Queue::default());
    let bench = Bench::exactly_once(10, &server, &offsets);
    assert!(bench.events.send(Event::Identity("other".into())).await.is_ok());
    bench.assign(&[(0, &queue)]).await;
    assert!(bench.events.send(Event::Identity(TOPIC_ID.into())).await.is_ok());
    pause(100).await;
    assert!(!bench.task.is_finished());
    assert!(bench.events.send(Event::Identity("other".into())).await.is_ok());
    assert!(matches!(bench.task.await.expect("ended"), Fatal::Recreated(_)));
}

const TABLE: &str = "xtcp_flat_records_v2";

#[tokio::test(flavor = "multi_thread")]
async fn refused_rows_are_singled_out_and_diverted_and_the_others_land() {
    for exactly in [true, false] {
        let (server, offsets, queue) = (Server::default(), Offsets::default(), Queue::default());
        let bench = if exactly {
            Bench::exactly_once(700, &server, &offsets)
        } else {
            Bench::with(700, None, server.clone(), offsets.clone(), Proof::not_needed())
        };
        server.refuse([3, 17, 18, 300, 699]);
        bench.assign(&[(0, &queue)]).await;
        queue.put_values((0..1400).map(|offset| (offset, Some(record(offset)))));
        bench.eventually("all is committed", |_| offsets.of(0) == Some(1400)).await;
        assert_eq!((server.rows_of(TABLE), server.rows_of("errors")), (1395, 5), "exactly once: {exactly}");
        let sums = bench.sums();
        assert_eq!((sums.placed[&2], sums.diverted[&Reason::RefusedByServer], sums.held), (1395, 5, 0));
        let (refused, taken) = server.attempts(TABLE);
        assert!(refused + taken < 150, "{refused} refused and {taken} taken: row by row is not meant");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_while_a_block_is_taken_apart_doubles_nothing_even_if_the_server_changes_its_mind() {
    let (server, offsets) = (Server::default(), Offsets::default());
    let bad = [3, 17, 18, 300, 699, 700, 1200];
    server.refuse(bad);
    for round in 0..40_u64 {
        let bench = Bench::exactly_once(600 + 10 * round, &server, &offsets);
        server.takes(Duration::from_micros(500 * (round % 5)));
        let queue = Queue::default();
        let start = bench.assign(&[(0, &queue)]).await[0].offset.expect("an offset");
        queue.put_values((start..1400).map(|offset| (offset, Some(record(offset)))));
        queue.end();
        pause(20 + 7 * (round % 11)).await;
        bench.task.abort();
        if round == 30 {
            server.answer(TABLE, Some(About::Table));
        }
        if round == 33 {
            server.answer(TABLE, None);
            server.mend();
        }
    }
    let (bench, queue) = (Bench::exactly_once(1000, &server, &offsets), Queue::default());
    let start = bench.assign(&[(0, &queue)]).await[0].offset.expect("an offset");
    queue.put_values((start..1400).map(|offset| (offset, Some(record(offset)))));
    queue.end();
    bench.eventually("all is committed", |_| offsets.of(0) == Some(1400)).await;
    let (placed, diverted) = (server.rows_of(TABLE), server.rows_of("errors"));
    assert_eq!(placed + diverted, 1400, "{placed} placed, {diverted} diverted");
    assert!(diverted <= bad.len() as u64);
}
