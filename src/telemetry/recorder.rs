//! Recording and rendering of the metrics.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, Recorder as _};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use metrics_util::MetricKindMask;

use super::{
    catalogue::{self, Kind, Metric},
    ledger::Ledger,
};
use crate::{
    bootstrap::{Action, Report, State},
    lane::Reason,
};

/// Upper bounds of the latency buckets, in seconds: 5 ms to the longest default timeout.
const SECONDS: [f64; 14] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0];

/// Observations are stored one by one until they are put into buckets: at a scrape, or after this many without one.
const UPKEEP: u32 = 4096;

/// The metrics of a process.
#[derive(Debug)]
pub struct Telemetry {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    ledger: Arc<Ledger>,
    partitions: Mutex<BTreeMap<(Arc<str>, i32), Partition>>,
    memory: Mutex<Memory>,
    schema: Mutex<Schema>,
    observations: AtomicU32,
    rendering: Mutex<()>,
}

#[derive(Debug, Default, Clone)]
struct Schema {
    state: State,
    seconds: f64,
    refused: usize,
    version: Option<String>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Partition {
    lag: Option<u64>,
    committed: Option<u64>,
}

/// Bytes that the flow holds.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Open batches.
    pub open: u64,
    /// Sealed blocks that are not acknowledged.
    pub sealed: u64,
    /// Messages in the Kafka client's queues.
    pub queued: u64,
}

/// What came of an insert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The server has the rows.
    Acknowledged,
    /// It has not, or did not say.
    Failed,
}

/// What closed a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// Its number of rows.
    Rows,
    /// Its size.
    Bytes,
    /// Its age.
    Age,
    /// The memory of all batches together.
    Memory,
    /// A shutdown, or the end of what was to be read.
    Drain,
    /// A former owner of the partition had ended it there.
    Intent,
}

/// A change of this process's partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rebalance {
    /// Partitions came.
    Assigned,
    /// Partitions were taken in order.
    Revoked,
    /// Partitions were gone before this process heard of it.
    Lost,
    /// The offsets of a partition turned out to be another member's.
    Foreign,
}

impl Telemetry {
    /// Metrics at zero.
    ///
    /// # Panics
    /// Never: the buckets are not empty.
    #[must_use]
    pub fn new() -> Self {
        let recorder = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Full(catalogue::INSERT_SECONDS.name.to_owned()), &SECONDS)
            .expect("there are buckets")
            // All gauges are written anew right before a scrape. One that wasn't belongs to a partition that is gone.
            .idle_timeout(MetricKindMask::GAUGE, Some(Duration::ZERO))
            .build_recorder();
        for metric in catalogue::ALL {
            let (name, unit, help) = (metric.name.into(), Some(metric.unit), metric.help.into());
            match metric.kind {
                Kind::Counter => recorder.describe_counter(name, unit, help),
                Kind::Gauge => recorder.describe_gauge(name, unit, help),
                Kind::Histogram => recorder.describe_histogram(name, unit, help),
            }
        }
        Self {
            handle: recorder.handle(),
            recorder,
            ledger: Arc::default(),
            partitions: Mutex::default(),
            memory: Mutex::default(),
            schema: Mutex::default(),
            observations: AtomicU32::new(0),
            rendering: Mutex::new(()),
        }
    }

    /// Where what was consumed is accounted for.
    #[must_use]
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// An insert was answered, or given up.
    pub fn insert(&self, table: &str, outcome: Outcome, rows: u64, bytes: u64, took: Duration) {
        self.histogram(&catalogue::INSERT_SECONDS, &[table]).record(took.as_secs_f64());
        let name = match outcome {
            Outcome::Acknowledged => "acknowledged",
            Outcome::Failed => "failed",
        };
        self.counter(&catalogue::INSERTS, &[table, name]).increment(1);
        if outcome == Outcome::Acknowledged {
            self.counter(&catalogue::INSERTED_ROWS, &[table]).increment(rows);
            self.counter(&catalogue::INSERTED_BYTES, &[table]).increment(bytes);
        }
        if self.observations.fetch_add(1, Ordering::Relaxed) % UPKEEP == UPKEEP - 1 {
            self.handle.run_upkeep();
        }
    }

    /// An insert is sent again.
    pub fn retry(&self, class: &str) {
        self.counter(&catalogue::RETRIES, &[class]).increment(1);
    }

    /// A batch was closed.
    pub fn closed(&self, cause: Closed) {
        let cause = match cause {
            Closed::Rows => "rows",
            Closed::Bytes => "bytes",
            Closed::Age => "age",
            Closed::Memory => "memory",
            Closed::Drain => "drain",
            Closed::Intent => "intent",
        };
        self.counter(&catalogue::BATCHES_CLOSED, &[cause]).increment(1);
    }

    /// The group moved partitions.
    pub fn rebalance(&self, event: Rebalance) {
        let event = match event {
            Rebalance::Assigned => "assigned",
            Rebalance::Revoked => "revoked",
            Rebalance::Lost => "lost",
            Rebalance::Foreign => "foreign",
        };
        self.counter(&catalogue::REBALANCES, &[event]).increment(1);
    }

    /// A partition was taken over with that outcome, so many of its offsets being gone.
    pub fn takeover(&self, outcome: &str, gone: u64) {
        self.counter(&catalogue::TAKEOVERS, &[outcome]).increment(1);
        self.counter(&catalogue::OFFSETS_GONE, &[]).increment(gone);
    }

    /// A partition's lag in messages.
    pub fn lag(&self, topic: &Arc<str>, partition: i32, messages: u64) {
        self.partition(topic, partition, |p| p.lag = Some(messages));
    }

    /// A partition's committed offset; a negative one is no offset and shows nothing.
    pub fn committed(&self, topic: &Arc<str>, partition: i32, offset: i64) {
        self.partition(topic, partition, |p| p.committed = u64::try_from(offset).ok());
    }

    /// What the flow holds now.
    pub fn memory(&self, memory: Memory) {
        *self.memory.lock().unwrap_or_else(PoisonError::into_inner) = memory;
    }

    /// A partition isn't this process's any more: its gauges leave the scrape.
    pub fn forget(&self, topic: &Arc<str>, partition: i32) {
        self.partitions.lock().unwrap_or_else(PoisonError::into_inner).remove(&(Arc::clone(topic), partition));
    }

    /// The text of a scrape. The ledger's sums in it are of one moment.
    #[must_use]
    pub fn render(&self) -> String {
        // Nobody else writes the ledger's metrics, so two renderings must not publish at once.
        let _one = self.rendering.lock().unwrap_or_else(PoisonError::into_inner);
        self.publish_ledger();
        self.publish_partitions();
        let Memory { open, sealed, queued } = *self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        for (part, bytes) in [("open", open), ("sealed", sealed), ("queued", queued)] {
            self.gauge(&catalogue::MEMORY, &[part]).set(float(bytes));
        }
        self.publish_schema();
        self.gauge(&catalogue::BUILD_INFO, &[env!("CARGO_PKG_VERSION")]).set(1.0);
        self.handle.render()
    }

    fn publish_ledger(&self) {
        let sums = self.ledger.sums();
        self.counter(&catalogue::MESSAGES_CONSUMED, &[]).absolute(sums.messages);
        self.counter(&catalogue::BYTES_CONSUMED, &[]).absolute(sums.bytes);
        self.counter(&catalogue::PIECES_CONSUMED, &[]).absolute(sums.consumed);
        self.gauge(&catalogue::PIECES_HELD, &[]).set(float(sums.held));
        self.counter(&catalogue::PIECES_RETURNED, &[]).absolute(sums.returned);
        for (epoch, rows) in &sums.placed {
            self.counter(&catalogue::ROWS_PLACED, &[&epoch.to_string()]).absolute(*rows);
        }
        // A reason is there before its first piece, or the first increase would be seen by nobody.
        for reason in Reason::ALL {
            let pieces = sums.diverted.get(&reason).copied().unwrap_or_default();
            self.counter(&catalogue::PIECES_DIVERTED, &[reason.code()]).absolute(pieces);
        }
        for ((epoch, field), count) in &sums.unknown_fields {
            self.counter(&catalogue::UNKNOWN_FIELDS, &[&epoch.to_string(), &field.to_string()]).absolute(*count);
        }
        for (epoch, count) in &sums.not_utf8 {
            self.counter(&catalogue::NOT_UTF8, &[&epoch.to_string()]).absolute(*count);
        }
    }

    /// A pass over the schema began, or ended.
    pub fn schema_pass(&self, report: &Report) {
        let mut schema = self.schema.lock().unwrap_or_else(PoisonError::into_inner);
        // What the last pass found stays in sight while the next one is under way.
        if report.state != State::Running {
            schema.seconds = report.duration.unwrap_or_default().as_secs_f64();
            schema.refused = report.count(Action::Refused);
            self.counter(&catalogue::LEASE_LEFT, &[]).increment(u64::from(report.lease_left));
        }
        schema.state = report.state;
        schema.version = Some(report.schemas_version.clone());
    }

    fn publish_schema(&self) {
        let schema = self.schema.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.gauge(&catalogue::SCHEMA_STATE, &[]).set(f64::from(schema.state.number()));
        let Some(version) = schema.version else { return };
        self.gauge(&catalogue::SCHEMA_SECONDS, &[]).set(schema.seconds);
        self.gauge(&catalogue::SCHEMA_REFUSED, &[]).set(float(schema.refused as u64));
        self.gauge(&catalogue::SCHEMA_VERSION, &[&version]).set(1.0);
    }

    fn publish_partitions(&self) {
        let partitions = self.partitions.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for ((topic, partition), values) in partitions {
            let labels = [&*topic, &partition.to_string()];
            if let Some(lag) = values.lag {
                self.gauge(&catalogue::LAG, &labels).set(float(lag));
            }
            if let Some(offset) = values.committed {
                self.gauge(&catalogue::COMMITTED_OFFSET, &labels).set(float(offset));
            }
        }
    }

    fn partition(&self, topic: &Arc<str>, partition: i32, change: impl FnOnce(&mut Partition)) {
        let mut partitions = self.partitions.lock().unwrap_or_else(PoisonError::into_inner);
        change(partitions.entry((Arc::clone(topic), partition)).or_default());
    }

    fn counter(&self, metric: &'static Metric, labels: &[&str]) -> Counter {
        debug_assert_eq!(metric.kind, Kind::Counter);
        self.recorder.register_counter(&key(metric, labels), &METADATA)
    }

    fn gauge(&self, metric: &'static Metric, labels: &[&str]) -> Gauge {
        debug_assert_eq!(metric.kind, Kind::Gauge);
        self.recorder.register_gauge(&key(metric, labels), &METADATA)
    }

    fn histogram(&self, metric: &'static Metric, labels: &[&str]) -> Histogram {
        debug_assert_eq!(metric.kind, Kind::Histogram);
        self.recorder.register_histogram(&key(metric, labels), &METADATA)
    }
}

impl Default for Telemetry {
    fn default() -> Self {
        Self::new()
    }
}

static METADATA: Metadata<'static> = Metadata::new(module_path!(), Level::INFO, None);

fn key(metric: &'static Metric, labels: &[&str]) -> Key {
    debug_assert_eq!(metric.labels.len(), labels.len(), "{}", metric.name);
    let labels: Vec<_> =
        metric.labels.iter().zip(labels).map(|(name, value)| Label::new(*name, (*value).to_owned())).collect();
    Key::from_parts(metric.name, labels)
}

/// Prometheus knows no other numbers; exact up to 2^53.
#[allow(clippy::cast_precision_loss)]
fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::lane::Counts;

    fn value(scrape: &str, series: &str) -> Option<f64> {
        scrape.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok())
    }

    #[test]
    fn the_ledger_shows_in_a_scrape() {
        let telemetry = Telemetry::new();
        let mut held = telemetry.ledger().open();
        held.consumed(2, 300, 5);
        let scrape = telemetry.render();
        assert_eq!(value(&scrape, "xtcp_ingest_messages_consumed_total"), Some(2.0));
        assert_eq!(value(&scrape, "xtcp_ingest_pieces_held"), Some(5.0));
        assert_eq!(value(&scrape, "xtcp_ingest_pieces_diverted_total{reason=\"truncated\"}"), Some(0.0));

        held.settle(&Counts {
            placed: BTreeMap::from([(1, 3)]),
            diverted: BTreeMap::from([(Reason::Truncated, 2)]),
            unknown_fields: BTreeMap::from([((1, 5), 7)]),
            ..Counts::default()
        });
        let scrape = telemetry.render();
        assert_eq!(value(&scrape, "xtcp_ingest_pieces_consumed_total"), Some(5.0));
        assert_eq!(value(&scrape, "xtcp_ingest_rows_placed_total{epoch=\"1\"}"), Some(3.0));
        assert_eq!(value(&scrape, "xtcp_ingest_pieces_diverted_total{reason=\"truncated\"}"), Some(2.0));
        assert_eq!(value(&scrape, "xtcp_ingest_pieces_held"), Some(0.0));
        assert_eq!(value(&scrape, "xtcp_ingest_unknown_fields_total{epoch=\"1\",field=\"5\"}"), Some(7.0));
    }

    #[test]
    fn the_gauges_of_a_partition_leave_with_it() {
        let (telemetry, topic) = (Telemetry::new(), Arc::from("xtcp"));
        telemetry.lag(&topic, 0, 5);
        telemetry.lag(&topic, 1, 6);
        telemetry.committed(&topic, 0, 7);
        let series = "xtcp_ingest_lag_messages{topic=\"xtcp\",partition=\"0\"}";
        for _ in 0..3 {
            let scrape = telemetry.render();
            assert_eq!(value(&scrape, series), Some(5.0), "an unchanged gauge stays\n{scrape}");
            assert_eq!(value(&scrape, "xtcp_ingest_committed_offset{topic=\"xtcp\",partition=\"0\"}"), Some(7.0));
        }
        telemetry.forget(&topic, 0);
        let scrape = telemetry.render();
        assert_eq!(value(&scrape, series), None, "{scrape}");
        assert!(!scrape.contains("xtcp_ingest_committed_offset{"), "{scrape}");
        assert_eq!(value(&scrape, "xtcp_ingest_lag_messages{topic=\"xtcp\",partition=\"1\"}"), Some(6.0));
        telemetry.lag(&topic, 0, 8);
        assert_eq!(value(&telemetry.render(), series), Some(8.0), "it came back");
    }

    #[test]
    fn everything_in_a_scrape_is_declared_and_everything_declared_can_be_recorded() {
        let (telemetry, topic) = (Telemetry::new(), Arc::from("xtcp"));
        telemetry.insert("t", Outcome::Acknowledged, 10, 100, Duration::from_millis(20));
        telemetry.insert("t", Outcome::Failed, 10, 100, Duration::from_millis(20));
        telemetry.retry("retry");
        telemetry.closed(Closed::Age);
        telemetry.rebalance(Rebalance::Assigned);
        telemetry.takeover("expired", 3);
        telemetry.lag(&topic, 0, 5);
        telemetry.committed(&topic, 0, 7);
        telemetry.ledger().open().settle(&Counts {
            placed: BTreeMap::from([(2, 0)]),
            unknown_fields: BTreeMap::from([((2, 5), 1)]),
            not_utf8: BTreeMap::from([(2, 1)]),
            ..Counts::default()
        });
        let pass = Report { state: State::Converged, lease_left: true, ..Report::new("1", "xtcp") };
        telemetry.schema_pass(&pass);
        telemetry.schema_pass(&Report::new("1", "xtcp"));
        let scrape = telemetry.render();
        assert_eq!(value(&scrape, "xtcp_ingest_schema_bootstrap_state"), Some(3.0), "running");
        assert_eq!(value(&scrape, "xtcp_ingest_schema_lease_release_failures_total"), Some(1.0));
        let seen: BTreeSet<_> = scrape
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE "))
            .map(|line| line.split_once(' ').expect("name and type"))
            .collect();
        let declared: BTreeSet<_> = catalogue::ALL
            .iter()
            .map(|m| {
                let kind = match m.kind {
                    Kind::Counter => "counter",
                    Kind::Gauge => "gauge",
                    Kind::Histogram => "histogram",
                };
                (m.name, kind)
            })
            .collect();
        assert_eq!(seen, declared);
        for metric in catalogue::ALL {
            assert!(scrape.contains(&format!("# HELP {} {}", metric.name, metric.help)), "{}", metric.name);
        }
        assert_eq!(
            value(&scrape, "xtcp_ingest_inserted_rows_total{table=\"t\"}"),
            Some(10.0),
            "a failed one adds none"
        );
        assert_eq!(value(&scrape, "xtcp_ingest_insert_seconds_count{table=\"t\"}"), Some(2.0));
        assert_eq!(value(&scrape, "xtcp_ingest_insert_seconds_bucket{table=\"t\",le=\"0.025\"}"), Some(2.0));
    }
}
