//! What the benches share: definitions, a fleet's messages, and a lane to push them through.

use std::{ops::RangeInclusive, sync::Arc, time::Duration};

use criterion::{Criterion, Throughput};
use xtcp_ingest::{
    bench::{Full, turn},
    block::{Columns, Encoded, Shape},
    bootstrap::Definitions,
    epoch::{Registry, load},
    fleet::{Fleet, Mix, Options},
    lane::{Batch, Decoder, Lane, SECTION_ROWS, Schema},
    tree::{File, Tree},
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Message values; `None` for a null value.
pub type Messages = Vec<Option<Vec<u8>>>;

/// The definitions of this release.
#[allow(dead_code)] // not every bench measures these
pub fn definitions() -> (Registry, Arc<Schema>) {
    let registry = Definitions::embedded().expect("the definitions").registry;
    let schema = compile(&registry);
    (registry, schema)
}

/// Definitions of so many epochs, each the newest one under another number: from 1 up, so that no record lacks its version.
#[allow(dead_code)]
pub fn epochs(count: u32) -> (Registry, Arc<Schema>) {
    let tree = Tree::embedded();
    let newest = &tree.get("epochs/v2.yaml").expect("the newest epoch").text;
    // What a column was called before has no meaning when nothing but the number changes.
    let newest: String = newest.lines().map(|line| without_former_name(line) + "\n").collect();
    let files: Vec<File> = (1..=count)
        .map(|number| File {
            name: format!("v{number}.yaml").into(),
            text: newest
                .replace("epoch: 2\n", &format!("epoch: {number}\n"))
                .replace("xtcp_flat_records_v2", &format!("xtcp_flat_records_v{number}")),
        })
        .collect();
    let registry = load::load(&files).unwrap_or_else(|refused| panic!("{refused}"));
    assert_eq!(registry.epochs().len() as u32, count);
    let schema = compile(&registry);
    (registry, schema)
}

fn without_former_name(line: &str) -> String {
    if line.trim_start().starts_with("was: ") {
        return String::new();
    }
    match line.split_once(", was: ") {
        Some((before, rest)) => format!("{before}{}", rest.find(',').map_or("", |comma| &rest[comma..])),
        None => line.to_owned(),
    }
}

fn compile(registry: &Registry) -> Arc<Schema> {
    Schema::new(registry, "xtcp_flat_records_errors", Default::default())
}

/// Records of these epochs in equal parts.
#[allow(dead_code)]
pub fn in_equal_parts(count: u32) -> Mix {
    Mix::Shares((1..=count).map(|number| (format!("{number}/e2"), 1.0)).collect())
}

/// Records of one layout.
#[allow(dead_code)]
pub fn only(layout: &str) -> Mix {
    Mix::Shares(vec![(layout.to_owned(), 1.0)])
}

/// The messages of a fleet of so many records, each of one layout.
pub fn messages(registry: &Registry, records: u64, change: impl FnOnce(&mut Options)) -> Messages {
    let mut options = Options { rows: records, mixed_every: 0, ..Options::default() };
    change(&mut options);
    let fleet = Fleet::new(options, registry).unwrap_or_else(|error| panic!("{error}"));
    fleet.map(|message| message.payload).collect()
}

/// Envelopes of so many records, however large.
#[allow(dead_code)]
pub fn envelopes_of(options: &mut Options, records: RangeInclusive<u32>) {
    options.envelope = records;
    options.envelope_bytes = 64 << 20;
}

/// Bytes of all values.
pub fn bytes(messages: &Messages) -> u64 {
    messages.iter().flatten().map(|value| value.len() as u64).sum()
}

/// Rows and bytes, both a second.
#[allow(dead_code)]
pub fn throughput(records: u64, messages: &Messages) -> Throughput {
    Throughput::ElementsAndBytes { elements: records, bytes: bytes(messages) }
}

/// All messages through one lane as `run` does it, turn by turn; each section is made by `seal`.
pub fn batch(
    schema: &Arc<Schema>,
    decoder: &mut Decoder,
    messages: &Messages,
    mut seal: impl FnMut(&Shape, &Columns) -> Encoded,
) -> Batch {
    let mut lane = lane(schema);
    let mut messages = (0i64..).zip(messages.iter().map(Option::as_deref)).peekable();
    while messages.peek().is_some() {
        turn(&mut lane, decoder, &mut messages, Full::NEVER);
        if messages.peek().is_some() {
            lane.seal_sections_with(SECTION_ROWS, &mut seal);
        }
    }
    lane.close_with(seal).expect("there are messages")
}

/// The sections that [`batch`] makes of messages of one epoch, before they are encoded: what each lane has open is one.
#[allow(dead_code)]
pub fn sections(schema: &Arc<Schema>, messages: &Messages) -> Vec<Lane> {
    let mut decoder = Decoder::new(Arc::clone(schema));
    let mut messages = (0i64..).zip(messages.iter().map(Option::as_deref)).peekable();
    let mut lanes = Vec::new();
    while messages.peek().is_some() {
        let mut lane = lane(schema);
        while messages.peek().is_some() && lane.rows() < SECTION_ROWS as u64 {
            turn(&mut lane, &mut decoder, &mut messages, Full::NEVER);
        }
        lanes.push(lane);
    }
    lanes
}

fn lane(schema: &Arc<Schema>) -> Lane {
    Lane::new(Arc::clone(schema), Arc::from("xtcp"), 0)
}

/// Short enough to be run often; ratios of one run are what counts.
#[allow(dead_code)]
pub fn criterion() -> Criterion {
    Criterion::default().sample_size(20).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3))
}
