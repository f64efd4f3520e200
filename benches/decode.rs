//! What one core does to a fleet's messages, beside prost on the same bytes.
//!
//! Throughput is in records and in bytes of message values. Figures of different runs don't compare, since machines are shared
//! and noisy: read the ratios of one run.

mod common;

use std::{hint::black_box, sync::Arc};

use common::{batch, criterion, definitions, envelopes_of, messages, only, throughput};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use prost::Message as _;
use xtcp_ingest::{
    block::{Encoded, FrameWriter, encode, seal},
    lane::Decoder,
    proto::Envelope,
};

/// Records of one measurement: enough for dictionaries and caches to be as they are in a running process.
const RECORDS: u64 = 20_000;

fn layouts(c: &mut Criterion) {
    let (registry, schema) = definitions();
    let mut group = c.benchmark_group("layout");
    for layout in ["e2", "e1", "renumbered", "legacy", "legacy_seconds"] {
        let messages = messages(&registry, RECORDS, |options| options.mix = only(layout));
        let mut decoder = Decoder::new(Arc::clone(&schema));
        group.throughput(throughput(RECORDS, &messages));
        group.bench_function(layout, |b| b.iter(|| batch(&schema, &mut decoder, &messages, seal)));
    }
    group.finish();
}

/// The whole way from message to compressed block, its parts, and prost's decoding alone.
fn whole(c: &mut Criterion) {
    let (registry, schema) = definitions();
    let messages = messages(&registry, RECORDS, |options| options.mix = only("e2"));
    let mut decoder = Decoder::new(Arc::clone(&schema));
    let mut group = c.benchmark_group("whole");
    group.throughput(throughput(RECORDS, &messages));
    group.bench_function("decode_route_encode_compress", |b| b.iter(|| batch(&schema, &mut decoder, &messages, seal)));
    group.bench_function("decode_route_encode", |b| {
        let mut native = Vec::new();
        b.iter(|| {
            batch(&schema, &mut decoder, &messages, |shape, columns| {
                native.clear();
                encode(shape, columns, &mut native);
                Encoded::default()
            })
        });
    });
    group.bench_function("prost_decode", |b| {
        b.iter(|| {
            for message in messages.iter().flatten() {
                black_box(Envelope::decode_length_delimited(&message[..]).expect("an envelope"));
            }
        });
    });
    group.finish();
}

/// Native blocks alone, to the frames that ClickHouse takes. Its bytes are those of the blocks.
fn compress(c: &mut Criterion) {
    let (registry, schema) = definitions();
    let messages = messages(&registry, RECORDS, |options| options.mix = only("e2"));
    let mut blocks = Vec::new();
    batch(&schema, &mut Decoder::new(Arc::clone(&schema)), &messages, |shape, columns| {
        let mut native = Vec::new();
        encode(shape, columns, &mut native);
        blocks.push(Some(native));
        Encoded::default()
    });
    let mut group = c.benchmark_group("compress");
    group.throughput(throughput(RECORDS, &blocks));
    group.bench_function("lz4", |b| {
        b.iter(|| {
            for native in blocks.iter().flatten() {
                let mut writer = FrameWriter::default();
                writer.write(native);
                black_box(writer.finish());
            }
        });
    });
    group.finish();
}

fn envelopes(c: &mut Criterion) {
    let (registry, schema) = definitions();
    let mut group = c.benchmark_group("envelope");
    for records in [1u32, 10, 100, 1000, 10_000] {
        let messages = messages(&registry, RECORDS, |options| {
            options.mix = only("e2");
            envelopes_of(options, records..=records);
        });
        let mut decoder = Decoder::new(Arc::clone(&schema));
        group.throughput(throughput(RECORDS, &messages));
        group.bench_function(BenchmarkId::from_parameter(records), |b| {
            b.iter(|| batch(&schema, &mut decoder, &messages, seal));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = criterion();
    targets = whole, compress, layouts, envelopes
}
criterion_main!(benches);
