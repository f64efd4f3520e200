//! A restart of one process of three, in order: what the others feel of it.

use std::{
    thread,
    time::{Duration, Instant},
};

use crate::{
    process::Ingest,
    run::{Rows, rows, wait_for_rows},
    support::bench,
};

fn moves(member: &mut Ingest) -> [f64; 2] {
    ["assigned", "revoked"]
        .map(|event| member.metric(&format!("xtcp_ingest_rebalances_total{{event=\"{event}\"}}")).unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_moves_each_partition_once_there_and_once_back() {
    let (database, topic) = bench("roll", 6).await;
    let settings = [("BATCH_AGE", "100ms")];
    let mut members = Vec::new();
    for number in 1..=3 {
        members.push(Ingest::start(&database, &topic, &[], &settings));
        // The group forms one by one, until each has its share.
        members.iter_mut().for_each(|member| until_it_owns(member, 6 / number));
    }
    let mut before: Vec<_> = members.iter_mut().map(moves).collect();
    topic.send_records(2, 0..3_000);
    let mut last = members.pop().expect("three");
    last.signal("TERM");
    assert_eq!(last.exit_code(), Some(0), "{}", last.log());
    members.iter_mut().for_each(|member| until_it_owns(member, 3));
    members.push(Ingest::start(&database, &topic, &[], &settings));
    members.iter_mut().for_each(|member| until_it_owns(member, 2));
    topic.send_records(2, 3_000..6_000);
    wait_for_rows(&database, &mut members[0], 2, 6_000).await;
    assert_eq!(rows(&database, 2).await, Rows { rows: 6_000, distinct: 6_000 });
    before.truncate(2);
    for (member, [assigned, revoked]) in members.iter_mut().zip(before) {
        let now = moves(member);
        assert_eq!(now, [assigned + 1.0, revoked + 1.0], "assigned and revoked\n{}", member.log());
    }
}

/// Waits until it shows the lag of so many partitions.
fn until_it_owns(member: &mut Ingest, partitions: usize) {
    let begin = Instant::now();
    loop {
        let (_, scrape) = member.get("/metrics");
        let owned = scrape.lines().filter(|line| line.starts_with("xtcp_ingest_lag_messages{")).count();
        if owned == partitions {
            return;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{owned} of {partitions} partitions\n{}", member.log());
        thread::sleep(Duration::from_millis(50));
    }
}
