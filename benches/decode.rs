//! What one core does to a fleet's messages, beside prost on the same bytes.
//!
//! Throughput is in records. Figures of different runs don't compare, since machines are shared and noisy: read the ratios of
//! one run.

use std::{hint::black_box, sync::Arc, time::Duration};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use prost::Message as _;
use xtcp_ingest::{
    bootstrap::Definitions,
    epoch::Registry,
    fleet::{Fleet, Mix, Options},
    lane::{Decoder, Lane, Message, Schema},
    proto::Envelope,
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Records of one measurement: enough for dictionaries and caches to be as they are in a running process.
const RECORDS: u64 = 20_000;

fn definitions() -> (Registry, Arc<Schema>) {
    let definitions = Definitions::embedded().expect("the definitions");
    let schema = Schema::new(&definitions.registry, &definitions.errors().name, Default::default());
    (definitions.registry, schema)
}

fn messages(registry: &Registry, change: impl FnOnce(&mut Options)) -> Vec<Vec<u8>> {
    let mut options = Options { rows: RECORDS, mixed_every: 0, ..Options::default() };
    change(&mut options);
    let fleet = Fleet::new(options, registry).expect("a fleet");
    fleet.filter_map(|message| message.payload).collect()
}

fn only(layout: &str) -> Mix {
    Mix::Shares(vec![(layout.to_owned(), 1.0)])
}

/// Pushes all messages through one lane; the batch is dropped or sealed by `end`.
fn fill(schema: &Arc<Schema>, decoder: &mut Decoder, messages: &[Vec<u8>]) -> Lane {
    let mut lane = Lane::new(Arc::clone(schema), Arc::from("xtcp"), 0);
    let mut filling = lane.fill(decoder);
    for (offset, payload) in messages.iter().enumerate() {
        filling.push(Message { offset: offset as i64, time_ms: Some(0), payload: Some(payload) });
    }
    drop(filling);
    lane
}

fn layouts(c: &mut Criterion) {
    let (registry, schema) = definitions();
    let mut group = c.benchmark_group("layout");
    group.throughput(Throughput::Elements(RECORDS));
    for layout in ["e2", "e1", "renumbered", "legacy", "legacy_seconds"] {
        let messages = messages(&registry, |options| options.mix = only(layout));
        let mut decoder = Decoder::new(Arc::clone(&schema));
        group.bench_function(layout, |b| b.iter(|| fill(&schema, &mut decoder, &messages).close()));
    }
    group.finish();
}

/// The whole way from message to compressed block, its parts, and prost's decoding alone.
fn whole(c: &mut Criterion) {
    let (registry, schema) = definitions();
    let messages = messages(&registry, |options| options.mix = only("e2"));
    let mut decoder = Decoder::new(Arc::clone(&schema));
    let mut group = c.benchmark_group("whole");
    group.throughput(Throughput::Elements(RECORDS));
    group.bench_function("decode_route_encode_compress", |b| b.iter(|| fill(&schema, &mut decoder, &messages).close()));
    group.bench_function("decode_route", |b| {
        // The batch is recycled as it is when it was sealed; only the sealing is not timed.
        b.iter_custom(|rounds| {
            let mut spent = Duration::ZERO;
            for _ in 0..rounds {
                let start = std::time::Instant::now();
                let mut lane = fill(&schema, &mut decoder, &messages);
                spent += start.elapsed();
                black_box(lane.close());
            }
            spent
        });
    });
    group.bench_function("prost_decode", |b| {
        b.iter(|| {
            for message in &messages {
                black_box(Envelope::decode_length_delimited(&message[..]).expect("an envelope"));
            }
        });
    });
    group.finish();
}

fn envelopes(c: &mut Criterion) {
    let (registry, schema) = definitions();
    let mut group = c.benchmark_group("envelope");
    group.throughput(Throughput::Elements(RECORDS));
    for records in [1u32, 10, 100, 1000, 10_000] {
        let messages = messages(&registry, |options| {
            options.mix = only("e2");
            options.envelope = records..=records;
            options.envelope_bytes = 64 << 20;
        });
        let mut decoder = Decoder::new(Arc::clone(&schema));
        group.bench_function(BenchmarkId::from_parameter(records), |b| {
            b.iter(|| fill(&schema, &mut decoder, &messages).close());
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3));
    targets = whole, layouts, envelopes
}
criterion_main!(benches);
