//! A server that goes away or refuses for a while, and comes back.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{
    interposer::{Answer, Interposer},
    process::Ingest,
    proxy::Mode,
    run::{Rows, before_clickhouse, rows, wait_for_rows},
    support::bench,
    topic::message,
};

/// Waits until `/readyz` has a status, and gives what it says.
pub fn wait_for_readiness(ingest: &mut Ingest, status: u16) -> String {
    let begin = Instant::now();
    loop {
        let (now, body) = ingest.get("/readyz");
        if now == status {
            return body;
        }
        assert!(begin.elapsed() < Duration::from_secs(40), "{now} {body}\n{}", ingest.log());
        thread::sleep(Duration::from_millis(200));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_process_notices_that_clickhouse_is_gone_and_that_it_is_back() {
    let (database, topic) = bench("idle", 1).await;
    let (proxy, url) = before_clickhouse(Mode::Pass);
    let mut ingest = Ingest::start(&database, &topic, &[], &[("CLICKHOUSE_URL", &url)]);
    ingest.wait_for_log("assigned");
    wait_for_readiness(&mut ingest, 200);

    proxy.set(Mode::Away);
    let body = wait_for_readiness(&mut ingest, 503);
    assert!(body.contains("no connection") && body.contains(&proxy.address.to_string()), "{body}");
    thread::sleep(Duration::from_secs(7));
    assert_eq!(ingest.lines("WARN", ""), 1, "one line, not one per look\n{}", ingest.log());
    assert_eq!(ingest.lines("WARN", "ClickHouse can't be used at the moment"), 1, "{}", ingest.log());

    proxy.set(Mode::Pass);
    wait_for_readiness(&mut ingest, 200);
    ingest.wait_until("told", |ingest| ingest.lines("INFO", "ClickHouse can be used again") == 1);

    // The next outage is told as well, and what comes meanwhile waits for its end.
    proxy.set(Mode::Away);
    wait_for_readiness(&mut ingest, 503);
    ingest.wait_until("told", |ingest| ingest.lines("WARN", "ClickHouse can't be used at the moment") == 2);
    topic.send_records(2, 0..100);
    ingest.wait_for_log("insert failed");
    proxy.set(Mode::Pass);
    wait_for_rows(&database, &mut ingest, 2, 100).await;
    wait_for_readiness(&mut ingest, 200);
    assert_eq!(rows(&database, 2).await.rows, 100);
}

/// Whatever a table is refused for, its rows are repeated until they are taken, and the group notices nothing of it: neither
/// while the refusals last, nor while there is nothing to do.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_a_read_only_table_and_too_many_parts_cost_neither_a_row_nor_a_place_in_the_group() {
    const REFUSALS: [(i32, &str); 7] = [
        (242, "TABLE_IS_READ_ONLY"),
        (243, "NOT_ENOUGH_SPACE"),
        (252, "TOO_MANY_PARTS"),
        (252, "TOO_MANY_PARTS"),
        (252, "TOO_MANY_PARTS"),
        (243, "NOT_ENOUGH_SPACE"),
        (242, "TABLE_IS_READ_ONLY"),
    ];
    let (database, topic) = bench("refusals", 1).await;
    let attempts = Arc::new(AtomicUsize::new(0));
    let counted = attempts.clone();
    let server = Interposer::new(move |request| {
        if !request.contains("query=INSERT") || !request.contains("xtcp_flat_records_v2") {
            return Answer::Forward;
        }
        let attempt = counted.fetch_add(1, Ordering::SeqCst);
        REFUSALS.get(attempt).map_or(Answer::Forward, |&(code, text)| Answer::Refuse(code, text))
    });
    // A member that stopped to take messages, or to be heard of, would be gone within the time that this takes.
    let group = ["--kafka-property", "session.timeout.ms=6000", "--kafka-property", "max.poll.interval.ms=6000"];
    let mut ingest = Ingest::start(&database, &topic, &group, &[("CLICKHOUSE_URL", &server.url)]);
    ingest.wait_for_log("assigned");
    topic.send_records(2, 0..500);
    let begin = Instant::now();
    while attempts.load(Ordering::SeqCst) < REFUSALS.len() {
        assert_eq!(topic.total_committed(), 0, "nothing is committed that isn't placed");
        assert!(begin.elapsed() < Duration::from_secs(60), "{}", ingest.log());
        thread::sleep(Duration::from_millis(50));
    }
    wait_for_rows(&database, &mut ingest, 2, 500).await;
    ingest.wait_until("committed", |_| topic.total_committed() == 500);
    assert_eq!(rows(&database, 2).await, Rows { rows: 500, distinct: 500 }, "however often it was sent");
    assert_eq!(ingest.lines("WARN", ""), 1, "one line, not one per refusal\n{}", ingest.log());
    wait_for_readiness(&mut ingest, 200);

    thread::sleep(Duration::from_secs(8));
    let rebalances = ["assigned", "revoked", "lost", "foreign"]
        .map(|event| ingest.metric(&format!("xtcp_ingest_rebalances_total{{event=\"{event}\"}}")).unwrap_or(0.0));
    assert_eq!(rebalances, [1.0, 0.0, 0.0, 0.0], "{}", ingest.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_memory_is_sent_smaller_batches_and_no_row_is_lost() {
    const ROWS: u64 = 9000;
    let (database, topic) = bench("memory", 1).await;
    let inserts = Arc::new(AtomicUsize::new(0));
    let count = inserts.clone();
    let interposer = Interposer::new(move |statement| match statement.contains("xtcp_flat_records_v2") {
        true if statement.contains("query=INSERT") && count.fetch_add(1, Ordering::SeqCst) == 0 => {
            Answer::Refuse(241, "(total) memory limit exceeded")
        }
        _ => Answer::Forward,
    });
    let settings = [("CLICKHOUSE_URL", interposer.url.as_str()), ("BATCH_AGE", "2s")];
    let of_many = |number: u64| message(2, number * ROWS..(number + 1) * ROWS);
    topic.send(0, (0..3).map(of_many));
    let mut ingest = Ingest::start(&database, &topic, &[], &settings);
    wait_for_rows(&database, &mut ingest, 2, 3 * ROWS).await;
    assert_eq!(ingest.lines("WARN", "batches are closed at fewer rows"), 1, "{}", ingest.log());
    assert!(ingest.log().contains("rows=13500"), "{}", ingest.log());

    // Two messages are enough now, long before the age.
    let full = "xtcp_ingest_batches_closed_total{cause=\"rows\"}";
    assert_eq!(ingest.metric(full).unwrap_or(0.0), 0.0);
    topic.send(0, (3..7).map(of_many));
    wait_for_rows(&database, &mut ingest, 2, 7 * ROWS).await;
    assert!(ingest.metric(full).unwrap_or(0.0) >= 1.0);
    assert_eq!(rows(&database, 2).await.rows, 7 * ROWS);
}
