//! Partitions that don't fit in the Kafka client's queues: paused, resumed, given away meanwhile, and nothing lost or doubled.

use std::time::{Duration, Instant};

use prost::Message as _;
use xtcp_ingest::proto::{Envelope, XtcpFlatRecord};

use crate::{
    process::Ingest,
    proxy::{self, Mode, Proxy},
    support::{Database, bench},
    topic::Topic,
};

const PARTITIONS: i32 = 20;
/// In each partition.
const MESSAGES: u64 = 2;
/// In each message; one has a megabyte.
const ROWS: u64 = 5;
const ALL: u64 = PARTITIONS as u64 * MESSAGES * ROWS;
/// What the queues may hold.
const BOUND: f64 = 67_108_864.0;

const PAUSED: &str = "xtcp_ingest_paused_partitions";
const QUEUED: &str = "xtcp_ingest_memory_bytes{part=\"queued\"}";

/// Few bytes on their way to ClickHouse, so that most have to wait in the queues.
fn start(database: &Database, topic: &Topic, proxy: &Proxy) -> Ingest {
    let url = format!("http://{}", proxy.address);
    let settings = [("CLICKHOUSE_URL", url.as_str()), ("LIMITS_MEMORY", "16MiB"), ("BATCH_BYTES", "8MiB")];
    let settings = settings.iter().copied().chain([("SHUTDOWN_TIMEOUT", "5s")]).collect::<Vec<_>>();
    let mut ingest = Ingest::start(database, topic, &[], &settings);
    ingest.wait_for_log("taken over");
    ingest
}

/// Fills every partition with messages of five megabytes.
fn fill(topic: &Topic) {
    for partition in 0..PARTITIONS {
        for message in 0..MESSAGES {
            let first = (u64::try_from(partition).expect("positive") * MESSAGES + message) * ROWS;
            let record = |number: u64| XtcpFlatRecord {
                schema_version: 2,
                hostname: incompressible(number, 1 << 20),
                timestamp_ns: 1_790_000_000_000_000_000,
                record_counter: number,
                ..XtcpFlatRecord::default()
            };
            let row = (first..first + ROWS).map(record).collect();
            topic.send(partition, [Envelope { row }.encode_length_delimited_to_vec()]);
        }
    }
}

/// A text that takes as much room everywhere.
fn incompressible(seed: u64, bytes: usize) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b' ' + u8::try_from(state % 95).expect("below 95"))
    };
    (0..bytes).map(|_| next()).collect()
}

/// Waits until partitions are paused and the queues stand, and looks at what they hold.
fn see_paused(ingest: &mut Ingest) {
    let end = Instant::now() + Duration::from_secs(60);
    let mut seen = Vec::new();
    // The client tells what its queues hold every two seconds.
    while seen.len() < 4 {
        assert!(Instant::now() < end, "it should pause: {seen:?}\n{}", ingest.log());
        let (paused, queued) = (ingest.metric(PAUSED).unwrap_or(0.0), ingest.metric(QUEUED).unwrap_or(0.0));
        if paused > 0.0 && queued > 0.0 {
            seen.push((paused, queued));
        }
        std::thread::sleep(Duration::from_secs(2));
    }
    let (paused, queued) = seen[3];
    assert!(paused >= 5.0 && queued <= BOUND, "{seen:?}");
}

async fn see_all_placed_once(database: &Database, topic: &Topic, ingest: &mut Ingest) {
    let expected = i64::from(PARTITIONS) * i64::try_from(MESSAGES).expect("a few");
    ingest.wait_until("everything is committed", |_| topic.total_committed() == expected);
    let rows = "{db}.xtcp_flat_records_v2";
    assert_eq!(database.count(rows).await, ALL);
    assert_eq!(database.count(&format!("(SELECT DISTINCT record_counter FROM {rows})")).await, ALL);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_waits_with_the_brokers_while_clickhouse_is_away() {
    let (database, topic) = bench("pausing", PARTITIONS).await;
    let proxy = Proxy::new(&proxy::clickhouse(), Mode::Pass);
    let mut ingest = start(&database, &topic, &proxy);
    proxy.set(Mode::Away);
    fill(&topic);
    see_paused(&mut ingest);
    assert_eq!(database.count("{db}.xtcp_flat_records_v2").await, 0);
    proxy.set(Mode::Pass);
    see_all_placed_once(&database, &topic, &mut ingest).await;
    let end = Instant::now() + Duration::from_secs(20);
    while ingest.metric(PAUSED) != Some(0.0) {
        assert!(Instant::now() < end, "they stay paused");
        std::thread::sleep(Duration::from_millis(200));
    }
    ingest.signal("TERM");
    assert_eq!(ingest.exit_code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn paused_partitions_change_hands_and_come_back() {
    let (database, topic) = bench("pausing_hands", PARTITIONS).await;
    let proxy = Proxy::new(&proxy::clickhouse(), Mode::Pass);
    let mut first = start(&database, &topic, &proxy);
    proxy.set(Mode::Away);
    fill(&topic);
    see_paused(&mut first);

    // Half of them go, paused or not, and are paused with the other one.
    proxy.set(Mode::Pass);
    let mut second = start(&database, &topic, &proxy);
    proxy.set(Mode::Away);
    std::thread::sleep(Duration::from_secs(3));
    second.signal("TERM");
    assert_eq!(second.exit_code(), Some(0));

    // They are back with the first, which had paused some of them when they went.
    proxy.set(Mode::Pass);
    see_all_placed_once(&database, &topic, &mut first).await;
}
