//! What it costs to tell epochs apart: the same records, spread over 1, 3 and 50 epochs that have all columns in common.
//! From message to Native block; compression would hide the difference.
//!
//! `apart` is as daemons send, an envelope of one epoch; `among` mixes the epochs from record to record.

mod common;

use std::sync::Arc;

use common::{batch, criterion, epochs, in_equal_parts, messages, throughput};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use xtcp_ingest::{bench::Chunk, lane::Decoder};

/// Records of one measurement, 2,000 for each of 50 epochs.
const RECORDS: u64 = 100_000;

fn route(c: &mut Criterion) {
    let mut group = c.benchmark_group("route");
    for count in [1u32, 3, 50] {
        let (registry, schema) = epochs(count);
        for (name, mixed_every) in [("apart", 0), ("among", 1)] {
            let messages = messages(&registry, RECORDS, |options| {
                options.mix = in_equal_parts(count);
                options.mixed_every = mixed_every;
            });
            let mut decoder = Decoder::new(Arc::clone(&schema));
            group.throughput(throughput(RECORDS, &messages));
            let mut chunk = Chunk::default();
            group.bench_function(BenchmarkId::new(name, count), |b| {
                b.iter(|| batch(&schema, &mut decoder, &messages, |shape, columns| chunk.section(shape, columns)));
            });
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = criterion();
    targets = route
}
criterion_main!(benches);
