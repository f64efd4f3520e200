//! Recording of the metrics; what a scrape shows is made of it in [`scrape`](super::scrape).

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
    events::{Closed, Memory, Outcome, Rebalance, TAKEOVERS},
    ledger::Ledger,
};
use crate::bootstrap::{Action, Report, State};

/// Upper bounds of the latency buckets, in seconds: 5 ms to the longest default timeout.
const SECONDS: [f64; 14] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0];

/// Observations are stored one by one until they are put into buckets: at a scrape, or after this many without one.
const UPKEEP: u32 = 4096;

/// The metrics of a process.
#[derive(Debug)]
pub struct Telemetry {
    recorder: PrometheusRecorder,
    pub(super) handle: PrometheusHandle,
    pub(super) ledger: Arc<Ledger>,
    pub(super) partitions: Mutex<BTreeMap<(Arc<str>, i32), Partition>>,
    pub(super) memory: Mutex<Memory>,
    pub(super) schema: Mutex<Schema>,
    observations: AtomicU32,
    pub(super) rendering: Mutex<()>,
}

#[derive(Debug, Default, Clone)]
pub(super) struct Schema {
    pub(super) state: State,
    pub(super) seconds: f64,
    pub(super) refused: usize,
    pub(super) version: Option<String>,
}

#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Partition {
    pub(super) lag: Option<u64>,
    pub(super) committed: Option<u64>,
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
        let telemetry = Self {
            handle: recorder.handle(),
            recorder,
            ledger: Arc::default(),
            partitions: Mutex::default(),
            memory: Mutex::default(),
            schema: Mutex::default(),
            observations: AtomicU32::new(0),
            rendering: Mutex::new(()),
        };
        telemetry.start_at_zero();
        telemetry
    }

    /// What is there before its first event, or the first increase would be seen by nobody.
    fn start_at_zero(&self) {
        for outcome in TAKEOVERS {
            self.counter(&catalogue::TAKEOVERS, &[outcome]).absolute(0);
        }
        self.counter(&catalogue::OFFSETS_GONE, &[]).absolute(0);
        for event in Rebalance::ALL {
            self.counter(&catalogue::REBALANCES, &[event.code()]).absolute(0);
        }
        self.counter(&catalogue::LEASE_LEFT, &[]).absolute(0);
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

    /// A block was acknowledged and isn't there.
    pub fn missing(&self, table: &str) {
        self.counter(&catalogue::BLOCKS_MISSING, &[table]).increment(1);
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
        self.counter(&catalogue::REBALANCES, &[event.code()]).increment(1);
    }

    /// A partition was taken over with that outcome, so many of its offsets being gone.
    pub fn takeover(&self, outcome: &str, gone: u64) {
        debug_assert!(TAKEOVERS.contains(&outcome), "{outcome}");
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

    fn partition(&self, topic: &Arc<str>, partition: i32, change: impl FnOnce(&mut Partition)) {
        let mut partitions = self.partitions.lock().unwrap_or_else(PoisonError::into_inner);
        change(partitions.entry((Arc::clone(topic), partition)).or_default());
    }

    pub(super) fn counter(&self, metric: &'static Metric, labels: &[&str]) -> Counter {
        debug_assert_eq!(metric.kind, Kind::Counter);
        self.recorder.register_counter(&key(metric, labels), &METADATA)
    }

    pub(super) fn gauge(&self, metric: &'static Metric, labels: &[&str]) -> Gauge {
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
