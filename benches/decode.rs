//! What one core does to a fleet's messages, beside prost on the same bytes.
//!
//! Throughput is in records and in bytes of message values. Figures of different runs don't compare, since machines are shared
//! and noisy: read the ratios of one run.

mod common;

use std::{hint::black_box, sync::Arc};

use common::{batch, criterion, definitions, envelopes_of, messages, only, sections, throughput};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use prost::Message as _;
use xtcp_ingest::{
    bench::Chunk,
    block::{Columns, FrameWriter, Shape, encode, seal},
    lane::Decoder,
    proto::Envelope,
};

/// Records of one measurement: enough for dictionaries and caches to be as they are in a running process.
const RECORDS: u64 = 20_000;

/// From message to Native block, by layout. Compression would hide what they differ in.
fn layouts(c: &mut Criterion) {
    let (registry, schema) = definitions();
    let mut group = c.benchmark_group("layout");
    for layout in ["e2", "e1", "renumbered", "legacy", "legacy_seconds"] {
        let messages = messages(&registry, RECORDS, |options| options.mix = only(layout));
        let mut decoder = Decoder::new(Arc::clone(&schema));
        group.throughput(throughput(RECORDS, &messages));
        let mut chunk = Chunk::default();
        group.bench_function(layout, |b| {
            b.iter(|| batch(&schema, &mut decoder, &messages, |shape, columns| chunk.section(shape, columns)));
        });
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
        let mut chunk = Chunk::default();
        b.iter(|| batch(&schema, &mut decoder, &messages, |shape, columns| chunk.section(shape, columns)));
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

/// What follows decoding, each step alone: columns to Native blocks, and these to the frames that ClickHouse takes. The bytes of
/// both are those of the blocks.
fn steps(c: &mut Criterion) {
    let (registry, schema) = definitions();
    let messages = messages(&registry, RECORDS, |options| options.mix = only("e2"));
    let lanes = sections(&schema, &messages);
    let mut sections: Vec<(&Shape, &Columns)> = Vec::new();
    for lane in &lanes {
        let open = |target| Some((schema.shape(target), lane.open(target)?));
        sections.extend((0..schema.targets().len()).filter_map(open));
    }
    let native = |&(shape, columns): &(&Shape, &Columns)| {
        let mut block = Vec::new();
        encode(shape, columns, &mut block);
        block
    };
    let blocks: Vec<Vec<u8>> = sections.iter().map(native).collect();
    let bytes = blocks.iter().map(|block| block.len() as u64).sum();

    let mut group = c.benchmark_group("encode");
    group.throughput(Throughput::ElementsAndBytes { elements: RECORDS, bytes });
    group.bench_function("native", |b| {
        let mut chunk = Chunk::default();
        b.iter(|| sections.iter().for_each(|(shape, columns)| drop(chunk.section(shape, columns))));
    });
    group.finish();

    let mut group = c.benchmark_group("compress");
    group.throughput(Throughput::ElementsAndBytes { elements: RECORDS, bytes });
    group.bench_function("lz4", |b| {
        b.iter(|| {
            for block in &blocks {
                let mut writer = FrameWriter::default();
                writer.write(block);
                black_box(writer.finish());
            }
        });
    });
    group.finish();
}

/// The whole way again, by records in an envelope.
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
    targets = whole, steps, layouts, envelopes
}
criterion_main!(benches);
