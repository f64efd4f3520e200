//! `run` on real services: nothing is lost, whatever is away or killed.

use std::{
    collections::BTreeMap,
    thread,
    time::{Duration, Instant},
};

use serde::Deserialize;
use xtcp_ingest::bootstrap::{self, Definitions};

use crate::{
    process::Ingest,
    proxy::{self, Mode, Proxy},
    support::{Database, bench},
    topic::{Topic, message},
};

pub const CAUGHT_UP: &[&str] = &["--until-caught-up"];

#[derive(Debug, Deserialize, PartialEq, Eq)]
pub struct Rows {
    pub rows: u64,
    pub distinct: u64,
}

/// Rows of an epoch, and different numbers among them.
pub async fn rows(database: &Database, epoch: u32) -> Rows {
    let sql =
        format!("SELECT count() AS rows, uniqExact(record_counter) AS distinct FROM {{db}}.xtcp_flat_records_v{epoch}");
    database.query(&sql).await.remove(0)
}

/// Waits until an epoch's table holds that many different numbers.
pub async fn wait_for_rows(database: &Database, ingest: &mut Ingest, epoch: u32, distinct: u64) {
    ingest.wait_for_log("joining the group");
    let begin = Instant::now();
    loop {
        let rows = rows(database, epoch).await;
        if rows.distinct == distinct {
            return;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{rows:?} of {distinct}\n{}", ingest.log());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

pub fn before_clickhouse(mode: Mode) -> (Proxy, String) {
    let proxy = Proxy::new(&proxy::clickhouse(), mode);
    let url = format!("http://{}", proxy.address);
    (proxy, url)
}

pub async fn create_tables(database: &Database) {
    let definitions = Definitions::embedded().expect("sound definitions");
    for statement in definitions.statements(&database.parameters(&definitions), bootstrap::Platform::Single) {
        database.execute(&statement.sql).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn until_caught_up_ends_with_every_count_exact() {
    let (database, topic) = bench("caught_up", 4).await;
    topic.send_records(2, 0..8_000);
    topic.send_records(1, 0..3_000);
    topic.send(1, (0..50).map(|_| message(2, 10_000..10_010)).collect::<Vec<_>>());
    topic.send(2, (0_u8..40).map(|n| vec![0xff, n]).collect::<Vec<_>>());
    let mut ingest = Ingest::start(&database, &topic, CAUGHT_UP, &[]);
    assert_eq!(ingest.exit_code(), Some(0), "{}", ingest.log());
    assert_eq!(rows(&database, 2).await, Rows { rows: 8_500, distinct: 8_010 });
    assert_eq!(rows(&database, 1).await, Rows { rows: 3_000, distinct: 3_000 });
    assert_eq!(database.count("{db}.xtcp_flat_records_errors WHERE partition = 2").await, 40);
    assert_eq!(database.count("{db}.xtcp_flat_records_errors").await, 40);
    assert_eq!(topic.committed(), BTreeMap::from([(0, 2_750), (1, 2_800), (2, 2_790), (3, 2_750)]));
    assert_eq!(ingest.lines("WARN", "") + ingest.lines("ERROR", ""), 0, "{}", ingest.log());

    // Everything is committed: nothing is read again.
    let mut again = Ingest::start(&database, &topic, CAUGHT_UP, &[]);
    assert_eq!(again.exit_code(), Some(0));
    assert_eq!(rows(&database, 2).await.rows, 8_500);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_topic_is_caught_up_at_once() {
    let (database, topic) = bench("empty", 3).await;
    let mut ingest = Ingest::start(&database, &topic, CAUGHT_UP, &[]);
    assert_eq!(ingest.exit_code(), Some(0));
    assert!(ingest.log().contains("the topic is empty"), "{}", ingest.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_for_good_is_one_line_and_exit_code_2_before_anything_is_consumed() {
    let (database, topic) = bench("refused", 1).await;
    topic.send_records(2, 0..10);
    let off = [("BOOTSTRAP_TABLES", "false"), ("BOOTSTRAP_TOPICS", "false")];

    // The database isn't there, and may not be created.
    let mut ingest = Ingest::start(&database, &topic, &[], &off);
    assert_eq!(ingest.exit_code(), Some(2), "{}", ingest.log());
    let log = ingest.log();
    assert!(log.lines().any(|l| l.starts_with("error: ") && l.contains(&database.name)), "{log}");

    // The password is wrong.
    let mut ingest = Ingest::start(&database, &topic, &[], &[("CLICKHOUSE_PASSWORD", "wrong")]);
    assert_eq!(ingest.exit_code(), Some(2), "{}", ingest.log());
    let log = ingest.log();
    assert_eq!(log.lines().filter(|l| l.starts_with("error: ")).count(), 1, "{log}");
    assert!(log.contains("516") && !log.contains("wrong"), "{log}");

    // The topic isn't there, and may not be created.
    create_tables(&database).await;
    let absent = Topic::absent(&format!("{}_absent", database.name), 1);
    let mut ingest = Ingest::start(&database, &absent, &[], &off);
    assert_eq!(ingest.exit_code(), Some(2), "{}", ingest.log());
    let log = ingest.log();
    assert!(log.lines().any(|l| l.starts_with("error: ") && l.contains(&absent.name)), "{log}");

    assert_eq!(topic.committed(), BTreeMap::new());
    assert_eq!(rows(&database, 2).await.rows, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn clickhouse_away_at_the_start_is_waited_for() {
    let (database, topic) = bench("away", 2).await;
    topic.send_records(2, 0..1_000);
    let (proxy, url) = before_clickhouse(Mode::Away);
    let mut ingest = Ingest::start(&database, &topic, CAUGHT_UP, &[("CLICKHOUSE_URL", &url)]);
    ingest.wait_for_log("waiting for ClickHouse");
    let (status, body) = ingest.get("/readyz");
    assert!(status == 503 && body.contains("clickhouse"), "{status} {body}");
    assert_eq!(ingest.get("/livez").0, 200);
    thread::sleep(Duration::from_secs(3));
    assert_eq!(ingest.lines("WARN", ""), 1, "one line, not one per attempt\n{}", ingest.log());
    proxy.set(Mode::Pass);
    assert_eq!(ingest.exit_code(), Some(0), "{}", ingest.log());
    assert_eq!(rows(&database, 2).await, Rows { rows: 1_000, distinct: 1_000 });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_ends_the_wait_for_a_service() {
    let (database, topic) = bench("wait", 1).await;
    for mode in [Mode::Away, Mode::Silent] {
        let (_proxy, url) = before_clickhouse(mode);
        let mut ingest = Ingest::start(&database, &topic, &[], &[("CLICKHOUSE_URL", &url)]);
        ingest.wait_for_log("waiting for ClickHouse");
        ingest.signal("TERM");
        assert_eq!(ingest.wait_within(Duration::from_secs(5)).code(), Some(0), "{mode:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clickhouse_gone_in_the_middle_loses_nothing_and_is_one_warning() {
    let (database, topic) = bench("gone", 3).await;
    let (proxy, url) = before_clickhouse(Mode::Pass);
    topic.send_records(2, 0..1_000);
    let mut ingest = Ingest::start(&database, &topic, &[], &[("CLICKHOUSE_URL", &url)]);
    wait_for_rows(&database, &mut ingest, 2, 1_000).await;
    ingest.wait_until("ready", |_| true);
    assert_eq!(ingest.get("/readyz").0, 200);
    ingest.wait_until("committed", |_| topic.total_committed() == 1_000);

    proxy.set(Mode::Away);
    topic.send_records(2, 1_000..3_000);
    thread::sleep(Duration::from_secs(8));
    assert_eq!(topic.total_committed(), 1_000, "nothing is committed that isn't placed");
    let (status, body) = ingest.get("/readyz");
    assert!(status == 503 && body.contains("no connection"), "{status} {body}");
    assert_eq!(ingest.lines("WARN", ""), 1, "{}", ingest.log());

    proxy.set(Mode::Pass);
    wait_for_rows(&database, &mut ingest, 2, 3_000).await;
    ingest.wait_until("committed", |_| topic.total_committed() == 3_000);
    assert_eq!(ingest.get("/readyz").0, 200);
    let sums = ["pieces_consumed_total", "pieces_held", "rows_placed_total{epoch=\"2\"}"];
    let sums = sums.map(|name| ingest.metric(&format!("xtcp_ingest_{name}")));
    assert_eq!(sums, [Some(3_000.0), Some(0.0), Some(3_000.0)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_is_missing_is_waited_for_and_loses_nothing() {
    let (database, topic) = bench("no_table", 2).await;
    create_tables(&database).await;
    database.execute("DROP TABLE {db}.xtcp_flat_records_v1 SYNC").await;
    topic.send_records(1, 0..500);
    let off = [("BOOTSTRAP_TABLES", "false"), ("BOOTSTRAP_TOPICS", "false")];
    let mut ingest = Ingest::start(&database, &topic, &[], &off);
    ingest.wait_for_log("not ready");
    let (status, body) = ingest.get("/readyz");
    assert!(status == 503 && body.contains("xtcp_flat_records_v1"), "{status} {body}");
    assert_eq!(topic.committed(), BTreeMap::new());
    create_missing(&database).await;
    wait_for_rows(&database, &mut ingest, 1, 500).await;

    // And one that goes in the middle: its rows are held, those of the others land.
    ingest.wait_until("committed", |_| topic.total_committed() == 500);
    database.execute("DROP TABLE {db}.xtcp_flat_records_v1 SYNC").await;
    topic.send_records(1, 500..600);
    topic.send_records(2, 0..100);
    wait_for_rows(&database, &mut ingest, 2, 100).await;
    thread::sleep(Duration::from_secs(2));
    assert_eq!(topic.total_committed(), 500);
    let (status, body) = ingest.get("/readyz");
    assert!(status == 503 && body.contains("schema"), "{status} {body}");
    create_missing(&database).await;
    wait_for_rows(&database, &mut ingest, 1, 100).await;
    ingest.wait_until("committed", |_| topic.total_committed() == 700);
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_that_are_added_while_rows_come_disturb_nothing() {
    let (database, topic) = bench("altered", 1).await;
    let mut ingest = Ingest::start(&database, &topic, &[], &[]);
    topic.send_records(2, 0..300);
    wait_for_rows(&database, &mut ingest, 2, 300).await;
    for column in ["further UInt8 DEFAULT 7", "other LowCardinality(String) FIRST"] {
        database.execute(&format!("ALTER TABLE {{db}}.xtcp_flat_records_v2 ADD COLUMN {column}")).await;
    }
    topic.send_records(2, 300..900);
    wait_for_rows(&database, &mut ingest, 2, 900).await;
    ingest.wait_until("committed", |_| topic.total_committed() == 900);
    assert_eq!(database.count("{db}.xtcp_flat_records_v2 WHERE further = 7 AND other = ''").await, 900);
    assert_eq!(ingest.lines("WARN", "") + ingest.lines("ERROR", ""), 0, "{}", ingest.log());
}

async fn create_missing(database: &Database) {
    let definitions = Definitions::embedded().expect("sound definitions");
    let parameters = database.parameters(&definitions);
    let statement = definitions
        .statements(&parameters, bootstrap::Platform::Single)
        .into_iter()
        .find(|s| s.name == "xtcp_flat_records_v1");
    database.execute(&statement.expect("a statement").sql).await;
    bootstrap::assert_declared(&database.client, &definitions, &parameters).await.expect("as declared");
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_commits_what_was_read_and_a_restart_goes_on_without_a_gap() {
    let (database, topic) = bench("sigterm", 4).await;
    let mut sent = 0;
    for round in 0..4 {
        topic.send_records(2, sent..sent + 2_000);
        sent += 2_000;
        let mut ingest = Ingest::start(&database, &topic, &[], &[("BATCH_ROWS", "300"), ("BATCH_AGE", "30s")]);
        ingest.wait_for_log("assigned");
        let before = topic.total_committed() as u64;
        while round < 3 && rows(&database, 2).await.distinct == before {
            thread::sleep(Duration::from_millis(5));
        }
        ingest.signal(if round % 2 == 0 { "TERM" } else { "INT" });
        assert_eq!(ingest.exit_code(), Some(0), "{}", ingest.log());
        assert!(ingest.log().contains("everything that was read is placed and committed"), "{}", ingest.log());
        let rows = rows(&database, 2).await;
        assert_eq!((rows.rows, rows.distinct), (topic.total_committed() as u64, topic.total_committed() as u64));
    }
    let mut ingest = Ingest::start(&database, &topic, CAUGHT_UP, &[]);
    assert_eq!(ingest.exit_code(), Some(0));
    assert_eq!(rows(&database, 2).await, Rows { rows: sent, distinct: sent });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_at_once_and_commits_nothing_unacknowledged() {
    let (database, topic) = bench("second", 1).await;
    let (proxy, url) = before_clickhouse(Mode::Pass);
    topic.send_records(2, 0..100);
    let mut ingest = Ingest::start(&database, &topic, &[], &[("CLICKHOUSE_URL", &url)]);
    ingest.wait_until("committed", |_| topic.total_committed() == 100);
    proxy.set(Mode::Silent);
    topic.send_records(2, 100..200);
    wait_for_rows(&database, &mut ingest, 2, 200).await;
    ingest.signal("TERM");
    ingest.wait_for_log("a second signal ends at once");
    thread::sleep(Duration::from_millis(500));
    ingest.signal("TERM");
    assert_eq!(ingest.wait_within(Duration::from_secs(2)).code(), Some(143));
    assert_eq!(topic.total_committed(), 100, "the answer never came");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_gives_up_after_its_timeout() {
    let (database, topic) = bench("timeout", 1).await;
    let (proxy, url) = before_clickhouse(Mode::Pass);
    topic.send_records(2, 0..100);
    let settings = [("CLICKHOUSE_URL", url.as_str()), ("SHUTDOWN_TIMEOUT", "1s")];
    let mut ingest = Ingest::start(&database, &topic, &[], &settings);
    ingest.wait_until("committed", |_| topic.total_committed() == 100);
    proxy.set(Mode::Away);
    topic.send_records(2, 100..200);
    ingest.wait_for_log("insert failed");
    ingest.signal("TERM");
    assert_eq!(ingest.wait_within(Duration::from_secs(8)).code(), Some(0), "{}", ingest.log());
    assert_eq!(ingest.lines("WARN", "ended before everything was placed"), 1, "{}", ingest.log());
    assert_eq!(topic.total_committed(), 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_member_leaves_no_gap() {
    let (database, topic) = bench("killed", 6).await;
    topic.send_records(2, 0..3_000);
    // The group finds out soon.
    let session = ["--kafka-property", "session.timeout.ms=6000"];
    let settings = [("BATCH_ROWS", "50")];
    let first = Ingest::start(&database, &topic, &session, &settings);
    let mut second = Ingest::start(&database, &topic, &session, &settings);
    second.wait_for_log("assigned");
    topic.send_records(2, 3_000..20_000);
    while rows(&database, 2).await.distinct < 5_000 {
        thread::sleep(Duration::from_millis(10));
    }
    first.signal("KILL");
    topic.send_records(2, 20_000..22_000);
    wait_for_rows(&database, &mut second, 2, 22_000).await;
    let begin = Instant::now();
    second.wait_until("committed", |_| topic.total_committed() == 22_000 || begin.elapsed() > Duration::from_secs(30));
    assert_eq!(topic.total_committed(), 22_000);
    second.signal("TERM");
    assert_eq!(second.exit_code(), Some(0), "{}", second.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn members_that_come_and_go_in_order_double_nothing() {
    let (database, topic) = bench("rolling", 6).await;
    let mut sent = 0;
    let mut send = || {
        topic.send_records(2, sent..sent + 2_000);
        sent += 2_000;
        sent
    };
    let settings = [("BATCH_ROWS", "100")];
    send();
    let mut members: Vec<_> = (0..2).map(|_| Ingest::start(&database, &topic, &[], &settings)).collect();
    for _ in 0..3 {
        members.iter_mut().for_each(|member| member.wait_for_log("assigned"));
        send();
        let mut old = members.remove(0);
        members.push(Ingest::start(&database, &topic, &[], &settings));
        old.signal("TERM");
        send();
        assert_eq!(old.exit_code(), Some(0), "{}", old.log());
    }
    let all = send();
    wait_for_rows(&database, &mut members[0], 2, all).await;
    members[0].wait_until("committed", |_| topic.total_committed() as u64 == all);
    assert_eq!(rows(&database, 2).await, Rows { rows: all, distinct: all });
}

#[tokio::test(flavor = "multi_thread")]
async fn the_committed_offset_never_passes_what_is_placed() {
    let (database, topic) = bench("floor", 1).await;
    let (proxy, url) = before_clickhouse(Mode::Pass);
    let all = 6_000;
    topic.send_records(2, 0..all);
    let mut ingest = Ingest::start(&database, &topic, &[], &[("CLICKHOUSE_URL", &url), ("BATCH_ROWS", "40")]);
    ingest.wait_for_log("joining the group");
    let begin = Instant::now();
    let mut outages = 0;
    for round in 0.. {
        if round % 7 == 3 && outages < 6 {
            outages += 1;
            proxy.set(Mode::Away);
            thread::sleep(Duration::from_millis(100));
            proxy.set(Mode::Pass);
        }
        // Offset and number are the same here.
        let now = topic.committed().get(&0).copied().unwrap_or(0);
        let below = database
            .count(&format!(
                "(SELECT DISTINCT record_counter FROM {{db}}.xtcp_flat_records_v2 WHERE record_counter < {now})"
            ))
            .await;
        assert_eq!(below, now as u64, "not everything below the committed offset is placed");
        if now as u64 == all {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{now}\n{}", ingest.log());
    }
    ingest.wait_until("alive", |_| true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_larger_than_the_memory_bound_goes_through() {
    let (database, topic) = bench("large", 1).await;
    topic.send(0, [message(2, 0..10)]);
    // About 1.5 MB of frame, and far more in columns.
    topic.send(0, [message(2, 10..40_010)]);
    topic.send(0, [vec![0xff; 15 << 20]]);
    topic.send(0, [message(2, 40_010..40_020)]);
    let settings = [("LIMITS_MEMORY", "1MiB"), ("BATCH_BYTES", "1MiB")];
    let mut ingest = Ingest::start(&database, &topic, CAUGHT_UP, &settings);
    assert_eq!(ingest.exit_code(), Some(0), "{}", ingest.log());
    assert_eq!(rows(&database, 2).await, Rows { rows: 40_020, distinct: 40_020 });
    assert_eq!(database.count("{db}.xtcp_flat_records_errors WHERE length(raw_message) = 15728640").await, 1);
}
