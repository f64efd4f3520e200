//! Delivery exactly once on real services: crashes, zombies, and whatever may become of a group's offsets and a topic.

use std::{
    thread,
    time::{Duration, Instant},
};

use xtcp_ingest::delivery::Intents;

use crate::{
    process::Ingest,
    proxy::Mode,
    run::{CAUGHT_UP, Rows, before_clickhouse, create_tables, rows, wait_for_rows},
    support::{Database, bench},
    topic::{Topic, message},
};

/// The group finds out soon that a member is gone.
const SESSION: [&str; 2] = ["--kafka-property", "session.timeout.ms=6000"];

fn all(rows: u64) -> Rows {
    Rows { rows, distinct: rows }
}

/// A run to the end of the topic.
fn catch_up(database: &Database, topic: &Topic) -> Ingest {
    let mut ingest = Ingest::start(database, topic, CAUGHT_UP, &[]);
    assert_eq!(ingest.exit_code(), Some(0), "{}", ingest.log());
    ingest
}

/// Runs until the group has committed so far, and gives the process, still alive.
fn run_to(database: &Database, topic: &Topic, offset: i64) -> Ingest {
    let mut ingest = Ingest::start(database, topic, &[], &[]);
    ingest.wait_until("committed", |_| topic.committed().get(&0) == Some(&offset));
    ingest
}

fn takeovers(ingest: &mut Ingest, outcome: &str) -> Option<f64> {
    ingest.metric(&format!("xtcp_ingest_takeovers_total{{outcome=\"{outcome}\"}}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_landed_before_a_crash_is_not_placed_again() {
    for protocol in ["classic", "consumer"] {
        let (database, topic) = bench(&format!("crash_{protocol}"), 2).await;
        let (proxy, url) = before_clickhouse(Mode::Pass);
        topic.send_records(2, 0..600);
        topic.send(0, (0_u8..20).map(|n| vec![0xff, n]).collect::<Vec<_>>());
        let protocol = format!("group.protocol={protocol}");
        let arguments = ["--kafka-property", &protocol];
        let settings = [("CLICKHOUSE_URL", url.as_str()), ("BATCH_ROWS", "70"), ("CLICKHOUSE_WRITERS", "32")];
        let mut first = Ingest::start(&database, &topic, &arguments, &settings);
        first.wait_until("committed", |_| topic.total_committed() == 620);
        // From here on the server answers nobody: what lands is not acknowledged, and not committed.
        proxy.set(Mode::Silent);
        topic.send_records(2, 600..1_000);
        wait_for_rows(&database, &mut first, 2, 1_000).await;
        first.signal("KILL");
        assert_eq!(topic.total_committed(), 620);
        let (_, text) = topic.entry(0).expect("an offset");
        assert!(text.starts_with("xtcp-ingest/1 "), "{text}");
        let begin = Instant::now();
        // With other limits, and from another place.
        let mut second = Ingest::start(&database, &topic, &arguments, &[("BATCH_ROWS", "1000")]);
        while topic.total_committed() < 1_020 {
            assert!(begin.elapsed() < Duration::from_secs(90), "{}", second.log());
            thread::sleep(Duration::from_millis(100));
        }
        assert_eq!(rows(&database, 2).await, all(1_000));
        assert_eq!(database.count("{db}.xtcp_flat_records_errors").await, 20);
        let again = second.metric("xtcp_ingest_batches_closed_total{cause=\"intent\"}").unwrap_or_default();
        assert!(again >= 2.0, "{again} batches were cut again\n{}", second.log());
        assert_eq!(takeovers(&mut second, "continued"), Some(2.0));
    }
}

/// Takes the rows away and leaves their tokens, as a server does that is killed between noting one and keeping the other.
async fn forget_rows(database: &Database) {
    for table in ["xtcp_flat_records_v2", "xtcp_flat_records_errors"] {
        database.execute(&format!("ALTER TABLE {{db}}.{table} DELETE WHERE 1 SETTINGS mutations_sync = 2")).await;
        assert_eq!(database.count(&format!("{{db}}.{table}")).await, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_of_which_the_server_knows_the_tokens_alone_are_sent_again() {
    for killed in [true, false] {
        let (database, topic) = bench(&format!("torn_{killed}"), 2).await;
        let (proxy, url) = before_clickhouse(Mode::Pass);
        let settings = [("CLICKHOUSE_URL", url.as_str()), ("BATCH_ROWS", "70"), ("CLICKHOUSE_WRITERS", "32")];
        let mut ingest = Ingest::start(&database, &topic, &SESSION, &settings);
        ingest.wait_for_log("taken over");
        proxy.set(Mode::Silent);
        topic.send_records(2, 0..400);
        topic.send(0, (0_u8..20).map(|n| vec![0xff, n]).collect::<Vec<_>>());
        wait_for_rows(&database, &mut ingest, 2, 400).await;
        while database.count("{db}.xtcp_flat_records_errors").await < 20 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        forget_rows(&database).await;
        if killed {
            ingest.signal("KILL");
            ingest = Ingest::start(&database, &topic, &SESSION, &[]);
        } else {
            proxy.set(Mode::Away);
            ingest.wait_for_log("insert failed");
            proxy.set(Mode::Pass);
        }
        ingest.wait_until("committed", |_| topic.total_committed() == 420);
        assert_eq!(rows(&database, 2).await, all(400), "{}", ingest.log());
        assert_eq!(database.count("{db}.xtcp_flat_records_errors").await, 20);
        for table in ["xtcp_flat_records_v2", "xtcp_flat_records_errors"] {
            let missing = ingest.metric(&format!("xtcp_ingest_blocks_missing_total{{table=\"{table}\"}}"));
            assert!(missing.is_some_and(|blocks| blocks >= 1.0), "{table}: {missing:?}\n{}", ingest.log());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_is_killed_again_and_again_doubles_nothing() {
    let (database, topic) = bench("kills", 3).await;
    let settings = [("BATCH_ROWS", "40")];
    let mut sent = 0;
    for round in 0..3_u64 {
        topic.send_records(2, sent..sent + 3_000);
        sent += 3_000;
        let mut ingest = Ingest::start(&database, &topic, &SESSION, &settings);
        ingest.wait_for_log("taken over");
        let before = rows(&database, 2).await.rows;
        let begin = Instant::now();
        while rows(&database, 2).await.rows < before + 300 * (round + 1) && begin.elapsed() < Duration::from_secs(30) {
            thread::sleep(Duration::from_millis(2));
        }
        ingest.signal("KILL");
    }
    let mut last = Ingest::start(&database, &topic, &SESSION, &settings);
    wait_for_rows(&database, &mut last, 2, sent).await;
    last.wait_until("committed", |_| topic.total_committed() as u64 == sent);
    assert_eq!(rows(&database, 2).await, all(sent));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_process_that_wakes_up_doubles_nothing_and_sets_nobody_back() {
    let (database, topic) = bench("zombie", 2).await;
    let settings = [("BATCH_ROWS", "30")];
    let mut zombie = Ingest::start(&database, &topic, &SESSION, &settings);
    zombie.wait_for_log("taken over");
    topic.send_records(2, 0..4_000);
    while rows(&database, 2).await.rows < 500 {
        thread::sleep(Duration::from_millis(2));
    }
    zombie.signal("STOP");
    topic.send_records(2, 4_000..6_000);
    let mut heir = Ingest::start(&database, &topic, &SESSION, &settings);
    wait_for_rows(&database, &mut heir, 2, 6_000).await;
    heir.wait_until("committed", |_| topic.total_committed() == 6_000);
    zombie.signal("CONT");
    zombie.wait_until("it notices", |zombie| zombie.log().contains("lost=true"));
    topic.send_records(2, 6_000..8_000);
    wait_for_rows(&database, &mut heir, 2, 8_000).await;
    heir.wait_until("committed", |_| topic.total_committed() == 8_000);
    assert_eq!(rows(&database, 2).await, all(8_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_may_move_the_offset_and_what_is_read_again_is_placed_again() {
    let (database, topic) = bench("moved", 1).await;
    topic.send_records(2, 0..100);
    catch_up(&database, &topic);
    topic.commit(0, 40, "");
    let mut ingest = run_to(&database, &topic, 100);
    assert_eq!(rows(&database, 2).await, Rows { rows: 160, distinct: 100 });
    assert_eq!(ingest.lines("WARN", "by hand"), 1, "{}", ingest.log());
    assert_eq!(takeovers(&mut ingest, "missing"), Some(1.0));
    ingest.signal("TERM");
    ingest.wait();

    topic.send_records(2, 100..200);
    topic.commit(0, 150, "");
    let ingest = catch_up(&database, &topic);
    assert_eq!(rows(&database, 2).await, Rows { rows: 210, distinct: 150 });
    assert_eq!(ingest.lines("WARN", ""), 1, "{}", ingest.log());
    // Its own text is there again, and nothing to say.
    topic.send_records(2, 200..210);
    let ingest = catch_up(&database, &topic);
    assert_eq!((ingest.lines("WARN", ""), rows(&database, 2).await.rows), (0, 220), "{}", ingest.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_tells_nothing_is_said_and_counted() {
    let (database, topic) = bench("texts", 1).await;
    topic.send_records(2, 0..10);
    catch_up(&database, &topic);
    let (_, own) = topic.entry(0).expect("an offset");
    let damaged = own.replacen(' ', " x", 1);
    for (sent, text, outcome) in [(20, "somebody's note", "foreign"), (30, damaged.as_str(), "corrupt")] {
        topic.commit(0, sent - 10, text);
        topic.send_records(2, sent as u64 - 10..sent as u64);
        let mut ingest = run_to(&database, &topic, sent);
        assert_eq!(takeovers(&mut ingest, outcome), Some(1.0), "{}", ingest.log());
        assert_eq!(ingest.lines("WARN", ""), 1, "{}", ingest.log());
        ingest.signal("TERM");
        ingest.wait();
    }
    assert_eq!(rows(&database, 2).await, all(30));

    topic.commit(0, 30, "xtcp-ingest/2 what a later version wrote");
    topic.send_records(2, 30..40);
    let mut ingest = Ingest::start(&database, &topic, CAUGHT_UP, &[]);
    assert_eq!(ingest.exit_code(), Some(1), "{}", ingest.log());
    assert!(ingest.log().contains("a later version of this service"), "{}", ingest.log());
    assert_eq!((rows(&database, 2).await, topic.entry(0).expect("kept").0), (all(30), 30));
}

#[tokio::test(flavor = "multi_thread")]
async fn intents_of_a_topic_that_is_no_more_are_not_meant() {
    let (database, topic) = bench("recreated", 1).await;
    topic.send_records(2, 0..100);
    catch_up(&database, &topic);
    let (offset, text) = topic.entry(0).expect("an offset");
    let mut intents = Intents::decode(&text, offset).expect("its own");
    topic.recreate().await;
    topic.send_records(2, 100..300);
    // Kafka forgets the offsets of a topic that is deleted; here they were kept.
    intents.ends = vec![150];
    topic.commit(0, offset, &intents.encode(offset));
    let mut ingest = run_to(&database, &topic, 200);
    assert_eq!(rows(&database, 2).await, all(300));
    assert_eq!(takeovers(&mut ingest, "recreated"), Some(1.0));
    assert_eq!(ingest.lines("WARN", "created again"), 1, "{}", ingest.log());

    // And under a running process, with more in it than before.
    topic.recreate().await;
    topic.send_records(2, 300..800);
    assert_eq!(ingest.exit_code(), Some(1), "{}", ingest.log());
    let log = ingest.log();
    assert!(log.contains("created again"), "{log}");
    catch_up(&database, &topic);
    assert_eq!(rows(&database, 2).await.distinct, 800);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_expired_is_named_and_the_rest_of_a_batch_is_placed_once() {
    let (database, topic) = bench("expired", 1).await;
    topic.send_records(2, 0..100);
    catch_up(&database, &topic);
    let (offset, text) = topic.entry(0).expect("an offset");
    // As if killed with a batch of 50 on its way, of which 20 messages are gone now, and then another.
    topic.send_records(2, 100..200);
    let intents = Intents { ends: vec![150], ..Intents::decode(&text, offset).expect("its own") };
    topic.commit(0, offset, &intents.encode(offset));
    topic.delete_before(0, 120).await;
    let mut ingest = run_to(&database, &topic, 200);
    assert_eq!(rows(&database, 2).await, all(180));
    assert_eq!(ingest.lines("WARN", "are gone"), 1, "{}", ingest.log());
    assert_eq!(takeovers(&mut ingest, "expired"), Some(1.0));
    assert_eq!(ingest.metric("xtcp_ingest_offsets_gone_total"), Some(20.0));
    assert_eq!(ingest.metric("xtcp_ingest_batches_closed_total{cause=\"intent\"}"), Some(1.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_that_is_added_is_read_from_its_beginning() {
    let (database, mut topic) = bench("added", 1).await;
    topic.send_records(2, 0..100);
    let refresh = ["--kafka-property", "topic.metadata.refresh.interval.ms=500"];
    let mut ingest = Ingest::start(&database, &topic, &refresh, &[]);
    wait_for_rows(&database, &mut ingest, 2, 100).await;
    topic.grow(3).await;
    topic.send_records(2, 100..400);
    wait_for_rows(&database, &mut ingest, 2, 400).await;
    ingest.wait_until("committed", |_| topic.total_committed() == 400);
    assert_eq!(rows(&database, 2).await, all(400));
    assert_eq!(takeovers(&mut ingest, "first"), Some(3.0), "{}", ingest.log());
    // A commit may meet the rebalance, and is told; that something is out of order is not.
    for outcome in ["missing", "foreign", "corrupt", "recreated", "expired", "truncated"] {
        assert!(takeovers(&mut ingest, outcome).is_none_or(|count| count == 0.0), "{outcome}: {}", ingest.log());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_remember_is_refused_and_asked_for_by_name() {
    let (database, topic) = bench("forgets", 20).await;
    create_tables(&database).await;
    topic.send_records(2, 0..100);
    let off = [("BOOTSTRAP_TABLES", "false"), ("BOOTSTRAP_TOPICS", "false")];
    let table = "{db}.xtcp_flat_records_v1";
    database.execute(&format!("ALTER TABLE {table} MODIFY SETTING non_replicated_deduplication_window = 100")).await;
    let mut ingest = Ingest::start(&database, &topic, &[], &off);
    assert_eq!(ingest.exit_code(), Some(2), "{}", ingest.log());
    let log = ingest.log();
    assert!(log.contains("the last 100 blocks") && log.contains("at_least_once"), "{log}");
    database.execute(&format!("ALTER TABLE {table} MODIFY SETTING non_replicated_deduplication_window = 10000")).await;

    // Set to remember, and told not to look.
    let told = ["--clickhouse-insert-setting", "deduplicate_insert=disable"];
    let mut ingest = Ingest::start(&database, &topic, &told, &off);
    assert_eq!(ingest.exit_code(), Some(2), "{}", ingest.log());
    let log = ingest.log();
    assert!(log.contains("both of two inserts") && log.contains("at_least_once"), "{log}");
    assert_eq!((rows(&database, 2).await.rows, topic.total_committed()), (0, 0), "nothing was consumed");

    let by_name = [&told[..], &["--delivery", "at_least_once"], CAUGHT_UP].concat();
    let mut ingest = Ingest::start(&database, &topic, &by_name, &off);
    assert_eq!(ingest.exit_code(), Some(0), "{}", ingest.log());
    assert_eq!(rows(&database, 2).await, all(100));
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_the_server_refuses_are_diverted_with_what_it_said_and_the_others_land() {
    let (database, topic) = bench("refuses", 2).await;
    create_tables(&database).await;
    let check = "ALTER TABLE {db}.xtcp_flat_records_v2 ADD CONSTRAINT refused CHECK record_counter % 97 != 0";
    database.execute(check).await;
    topic.send(0, (0..60_u64).map(|n| message(2, n * 10..n * 10 + 10)));
    topic.send(1, (60..120_u64).map(|n| message(2, n * 10..n * 10 + 10)));
    // Killed in the middle, now and then.
    for pause in [300, 800, 1_500] {
        let mut ingest = Ingest::start(&database, &topic, &SESSION, &[]);
        ingest.wait_for_log("taken over");
        thread::sleep(Duration::from_millis(pause));
        ingest.signal("KILL");
    }
    let mut ingest = Ingest::start(&database, &topic, &SESSION, &[]);
    ingest.wait_until("committed", |_| topic.total_committed() == 120);
    assert_eq!(rows(&database, 2).await, all(1_187));
    let errors = "{db}.xtcp_flat_records_errors WHERE reason = 'refused_by_server'";
    assert_eq!(database.count(errors).await, 13);
    let whole = format!("{errors} AND record = 7 AND offset = 9 AND partition = 0 AND length(raw_message) > 10");
    assert_eq!(database.count(&whole).await, 1, "97 is the eighth record of the tenth message");
    assert_eq!(
        database.count(&format!("{errors} AND (err LIKE '%469%' OR err LIKE '%what it said is lost%')")).await,
        13
    );
    assert_eq!(ingest.get("/readyz").0, 200);
}
