//! Costs that must stay flat, as ratios to a base on the same machine at the same time: epochs, unknown fields, and floods of
//! messages that can't be placed.
//!
//! `cargo bench --bench flat` prints one JSON object; `make flat` makes a table of it. All cases are timed in turn, round by
//! round, by the CPU time of the thread, and a ratio is the median over the rounds, so that others on the machine do little
//! harm. `ROUNDS` and `RECORDS` in the environment say how much.

mod common;

use std::{
    collections::BTreeMap,
    hint::black_box,
    sync::{Arc, LazyLock},
    time::{Duration, Instant},
};

use common::{Messages, batch, bytes, definitions, envelopes_of, epochs, in_equal_parts, messages, only};
use serde_json::json;
use xtcp_ingest::{
    block::seal,
    epoch::Registry,
    fleet::{Fault, Oddity, Options},
    lane::{Decoder, Reason, Schema},
};

/// Something to time, and what it is compared with.
struct Case {
    group: &'static str,
    name: String,
    /// Position of the case that is the base.
    base: usize,
    decoder: Decoder,
    schema: Arc<Schema>,
    messages: Messages,
    /// What the time is divided by.
    units: u64,
    diverted: u64,
    times: Vec<Duration>,
}

/// All cases.
#[derive(Default)]
struct Cases(Vec<Case>);

impl Cases {
    /// Adds a case and gives its position. The unit is the record where `records` says how many there are, else the message.
    fn add(
        &mut self,
        group: &'static str,
        name: impl Into<String>,
        base: Option<usize>,
        schema: &Arc<Schema>,
        messages: Messages,
        records: Option<u64>,
    ) -> usize {
        let mut decoder = Decoder::new(Arc::clone(schema));
        let counts = batch(schema, &mut decoder, &messages, seal).counts;
        let (units, position) = (records.unwrap_or(messages.len() as u64), self.0.len());
        self.0.push(Case {
            group,
            name: name.into(),
            base: base.unwrap_or(position),
            decoder,
            schema: Arc::clone(schema),
            messages,
            units,
            diverted: counts.diverted.values().sum(),
            times: Vec::new(),
        });
        position
    }

    fn round(&mut self) {
        for case in &mut self.0 {
            let start = spent();
            black_box(batch(&case.schema, &mut case.decoder, &case.messages, seal));
            case.times.push(spent().saturating_sub(start));
        }
    }

    fn json(&self) -> serde_json::Value {
        let each = |case: &Case, round: usize| case.times[round].as_secs_f64() / case.units as f64;
        let cases = self.0.iter().map(|case| {
            let base = &self.0[case.base];
            let rounds = 0..case.times.len();
            json!({
                "group": case.group,
                "name": case.name,
                "base": base.name,
                "units": case.units,
                "diverted": case.diverted,
                "bytes": bytes(&case.messages),
                "ns": median(rounds.clone().map(|round| each(case, round) * 1e9)),
                "ratio": median(rounds.map(|round| each(case, round) / each(base, round))),
            })
        });
        cases.collect()
    }
}

/// CPU time of this thread: what others on the machine take is not in it. Elsewhere than on Linux, the clock.
fn spent() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    // The kernel brings its sum up to date when a thread gives way.
    std::thread::yield_now();
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.as_deref().and_then(|told| told.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn add_epochs(cases: &mut Cases, records: u64) {
    for (name, mixed_every) in [("an envelope has one epoch", 0), ("an envelope has all epochs", 1)] {
        let mut base = None;
        for count in [1, 3, 50] {
            let (registry, schema) = epochs(count);
            let messages = messages(&registry, records, |options| {
                options.mix = in_equal_parts(count);
                options.mixed_every = mixed_every;
            });
            let position = cases.add("epochs", format!("{count}, {name}"), base, &schema, messages, Some(records));
            base.get_or_insert(position);
        }
    }
}

fn add_unknown_fields(cases: &mut Cases, registry: &Registry, schema: &Arc<Schema>, records: u64) {
    let mut fleet = |name, base, unknown: u64| {
        let messages = messages(registry, records, |options| {
            options.mix = only("e2");
            options.oddities = BTreeMap::from([(Oddity::UnknownFields, unknown)]);
        });
        cases.add("unknown fields", name, base, schema, messages, Some(records))
    };
    let none = fleet("none", None, 0);
    fleet("in every record", Some(none), records);
}

/// Whether the fault is in one record, so that an envelope can hold many of them.
fn is_of_record(fault: Fault) -> bool {
    !matches!(fault.reason(), Reason::Framing | Reason::EnvelopeField | Reason::EmptyMessage)
        && fault != Fault::RecordPastFrame
}

/// Good records that stand in one message with a fault of a frame or of the whole message.
fn good_beside(fault: Fault) -> u64 {
    match fault {
        Fault::RecordPastFrame => 2,
        Fault::BareEnvelope | Fault::ConfluentHeader | Fault::NullMessage | Fault::EmptyMessage => 0,
        _ => 1,
    }
}

fn add_floods(cases: &mut Cases, registry: &Registry, schema: &Arc<Schema>, records: u64) {
    // Good messages as large as those of each kind of flood.
    let good = |of: u32, records: u64| {
        messages(registry, records, |options| {
            options.mix = only("e2");
            envelopes_of(options, of..=of);
        })
    };
    let base = "diverted";
    let hundred = cases.add(base, "none, 100 records a message", None, schema, good(100, records), Some(records));
    let three = cases.add(base, "none, 3 records a message", None, schema, good(3, records), None);
    let one = cases.add(base, "none, 1 record a message", None, schema, good(1, records / 3), None);
    for fault in Fault::all() {
        let layout = if fault == Fault::TimeOutOfRange { "legacy_seconds" } else { "e2" };
        let flood = |good: u64, bad: u64| {
            let change = |options: &mut Options| {
                options.mix = only(layout);
                envelopes_of(options, 1..=1);
                options.faults = BTreeMap::from([(fault, bad)]);
            };
            messages(registry, good, change)
        };
        if is_of_record(fault) {
            // 99 faulty records and a good one in an envelope.
            let (good, bad) = (records / 100, records - records / 100);
            cases.add(base, fault.name(), Some(hundred), schema, flood(good, bad), Some(records));
            continue;
        }
        // Of each message a part is diverted, or the whole; what is left of the fleet's good rows is no part of the flood.
        let bad = records / 3;
        let mut flood = flood((good_beside(fault) * bad).max(1), bad);
        flood.truncate(bad as usize);
        let like = if bytes(&flood) / (flood.len() as u64) < 1400 { one } else { three };
        cases.add(base, fault.name(), Some(like), schema, flood, None);
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

fn main() {
    let (rounds, records) = (number("ROUNDS", 15), number("RECORDS", 60_000));
    let mut cases = Cases::default();
    add_epochs(&mut cases, records);
    let (registry, schema) = definitions();
    add_unknown_fields(&mut cases, &registry, &schema, records);
    add_floods(&mut cases, &registry, &schema, records);
    for _ in 0..rounds {
        cases.round();
    }
    println!("{}", json!({ "rounds": rounds, "records": records, "cases": cases.json() }));
}
