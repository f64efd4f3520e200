//! Several addresses of the same tables: another is used while one is away, and the first again when it is back.

use std::{
    thread,
    time::{Duration, Instant},
};

use crate::{
    outage::wait_for_readiness,
    process::Ingest,
    proxy::{Mode, Proxy},
    run::{CAUGHT_UP, Rows, before_clickhouse, rows, wait_for_rows},
    support::bench,
};

/// Two ways to the same engine, so that what one has acknowledged the other knows.
fn two_servers() -> (Proxy, Proxy, String) {
    let ((first, first_url), (second, second_url)) = (before_clickhouse(Mode::Pass), before_clickhouse(Mode::Pass));
    (first, second, format!("{first_url},{second_url}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_server_that_refuses_connections_is_passed_over() {
    let (database, topic) = bench("passed", 2).await;
    topic.send_records(2, 0..1_000);
    let (second, url) = before_clickhouse(Mode::Pass);
    let urls = format!("http://127.0.0.1:1,{url}");
    let mut ingest = Ingest::start(&database, &topic, CAUGHT_UP, &[("CLICKHOUSE_URL", &urls)]);
    assert_eq!(ingest.exit_code(), Some(0), "{}", ingest.log());
    assert_eq!(rows(&database, 2).await, Rows { rows: 1_000, distinct: 1_000 });
    assert_eq!(topic.total_committed(), 1_000);
    assert_eq!(ingest.lines("WARN", ""), 0, "the other is all that is needed\n{}", ingest.log());
    assert!(second.requests() > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_server_takes_over_in_the_middle_and_the_first_is_used_again_when_it_is_back() {
    let (database, topic) = bench("second_server", 2).await;
    let (first, second, urls) = two_servers();
    let all = 6_000;
    topic.send_records(2, 0..all);
    let settings = [("CLICKHOUSE_URL", urls.as_str()), ("BATCH_ROWS", "50")];
    let mut ingest = Ingest::start(&database, &topic, &[], &settings);
    ingest.wait_for_log("joining the group");
    while rows(&database, 2).await.distinct < 500 {
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(second.requests(), 0, "the first is preferred");
    first.set(Mode::Away);
    let (begin, before) = (Instant::now(), first.connections());
    assert!(rows(&database, 2).await.distinct < all, "it was not in the middle");
    wait_for_rows(&database, &mut ingest, 2, all).await;
    ingest.wait_until("committed", |_| topic.total_committed() as u64 == all);
    assert_eq!(rows(&database, 2).await, Rows { rows: all, distinct: all });
    wait_for_readiness(&mut ingest, 200);
    thread::sleep(Duration::from_secs(12).saturating_sub(begin.elapsed()));
    // Inserts under way may find out, four at once; then it is looked at after 2 s to 3 s, 4 s to 6 s, and so on.
    let attempts = first.connections() - before;
    assert!((1..=12).contains(&attempts), "{attempts} attempts in {:?}", begin.elapsed());
    assert!(second.requests() > 20, "{}", second.requests());
    assert!(ingest.lines("WARN", "") <= 4, "no more than were under way\n{}", ingest.log());

    first.set(Mode::Pass);
    ingest.wait_for_log("ClickHouse can be reached again");
    let (before, by_second) = (first.requests(), second.requests());
    topic.send_records(2, all..all + 1_000);
    wait_for_rows(&database, &mut ingest, 2, all + 1_000).await;
    assert!(first.requests() > before && second.requests() == by_second, "the first is preferred again");
    ingest.wait_until("committed", |_| topic.total_committed() as u64 == all + 1_000);
    assert_eq!(rows(&database, 2).await.rows, all + 1_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_takes_requests_and_answers_none_is_left_for_the_next() {
    let (database, topic) = bench("silent_server", 1).await;
    let (first, second, urls) = two_servers();
    let settings = [("CLICKHOUSE_URL", urls.as_str()), ("BATCH_ROWS", "100"), ("CLICKHOUSE_INSERT_TIMEOUT", "2s")];
    let mut ingest = Ingest::start(&database, &topic, &[], &settings);
    topic.send_records(2, 0..500);
    wait_for_rows(&database, &mut ingest, 2, 500).await;
    // What it takes from now on lands, and nobody is told.
    first.set(Mode::Silent);
    topic.send_records(2, 500..2_000);
    ingest.wait_until("committed", |_| topic.total_committed() == 2_000);
    assert_eq!(rows(&database, 2).await, Rows { rows: 2_000, distinct: 2_000 });
    assert!(second.requests() > 0);
    wait_for_readiness(&mut ingest, 200);
}
