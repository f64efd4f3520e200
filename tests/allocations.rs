//! From message to sealed block memory is asked for by section, not by record.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use prost::encoding::{bytes, encode_varint, int32, uint32};
use xtcp_ingest::{
    bench::{Full, turn},
    bootstrap::Definitions,
    epoch::{ColumnType, Registry},
    fleet::{Fleet, Mix, Oddity, Options},
    lane::{Counts, Decoder, Lane, Schema},
};

/// The system's allocator, and how often it was asked.
struct Counting;

static ASKED: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is the system allocator's own; counting changes nothing about the memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ASKED.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Records of a batch, and batches that are counted: 100,000 records.
const ROWS: u64 = 10_000;
const BATCHES: u32 = 10;

/// A section is a Native block of its own: buffers for it and for its compressed form, some of which grow to their size, and
/// the row that it is recognised by. Those are some forty allocations, with what a batch needs besides.
const PER_SECTION: u64 = 64;

/// A lane, and how many sections it has sealed.
struct Sealing<'a> {
    schema: &'a Schema,
    lane: Lane,
    decoder: Decoder,
    sections: u64,
}

impl<'a> Sealing<'a> {
    fn new(schema: &'a Arc<Schema>) -> Self {
        let lane = Lane::new(Arc::clone(schema), Arc::from("xtcp"), 0);
        Self { schema, lane, decoder: Decoder::new(Arc::clone(schema)), sections: 0 }
    }

    /// All messages turn by turn, as `run` reads them, and the end of the batch.
    fn batch(&mut self, messages: &[Vec<u8>]) -> Counts {
        let mut messages = (0..).zip(messages.iter().map(|message| Some(&message[..]))).peekable();
        while messages.peek().is_some() {
            turn(&mut self.lane, &mut self.decoder, &mut messages, Full::NEVER);
            let open = self.open();
            self.lane.seal_sections();
            self.sections += open - self.open();
        }
        self.sections += self.open();
        self.lane.close().expect("a batch").counts
    }

    /// Tables with rows that are not sealed.
    fn open(&self) -> u64 {
        (0..self.schema.targets().len()).filter(|target| self.lane.open(*target).is_some()).count() as u64
    }
}

/// Fleets that go all ways through the decoder. No record of theirs is diverted: one that is has a text made to say why.
fn fleets() -> Vec<(String, Options)> {
    const LAYOUTS: [&str; 5] = ["e2", "e1", "renumbered", "legacy", "legacy_seconds"];
    let of = |layouts: &[&str]| {
        let mix = Mix::Shares(layouts.iter().map(|layout| ((*layout).to_owned(), 1.0)).collect());
        Options { rows: ROWS, mixed_every: 0, mix, ..Options::default() }
    };
    let mixed = || Options { mixed_every: 1, ..of(&LAYOUTS) };
    let mut fleets: Vec<_> = LAYOUTS.iter().map(|layout| ((*layout).to_owned(), of(&[layout]))).collect();
    fleets.push(("all epochs in each message".to_owned(), mixed()));
    fleets.push(("one record in each message".to_owned(), Options { envelope: 1..=1, ..of(&LAYOUTS) }));
    for oddity in Oddity::all() {
        let oddities = [(oddity, ROWS)].into();
        fleets.push((format!("{} in each record", oddity.name()), Options { oddities, ..mixed() }));
    }
    fleets
}

fn messages(registry: &Registry, options: Options) -> Vec<Vec<u8>> {
    Fleet::new(options, registry).expect("a fleet").filter_map(|message| message.payload).collect()
}

/// Records that have a label which its enum doesn't have, and then one that it has: the last value of a field counts.
fn forgiven(registry: &Registry) -> Vec<Vec<u8>> {
    let epoch = registry.newest();
    let fields = epoch.layouts.iter().flat_map(|layout| &layout.fields);
    let label = |column: usize| match &epoch.columns[column].column_type {
        ColumnType::Enum8(labels) => labels.last().map(|(_, value)| i32::from(*value)),
        _ => None,
    };
    let (number, label) = fields.filter_map(|f| Some((f.number, label(f.column)?))).next().expect("an enum");
    let mut record = Vec::new();
    uint32::encode(1, &epoch.number, &mut record);
    [100, label].iter().for_each(|value| int32::encode(number, value, &mut record));
    let mut envelope = Vec::new();
    (0..10).for_each(|_| bytes::encode(10, &record, &mut envelope));
    let mut frame = Vec::new();
    encode_varint(envelope.len() as u64, &mut frame);
    frame.append(&mut envelope);
    vec![frame; ROWS as usize / 10]
}

/// One test alone in this program: others at its side would be counted too.
#[test]
fn allocations_are_bounded_by_sections_and_not_by_records() {
    let definitions = Definitions::embedded().expect("the definitions");
    let schema = Schema::new(&definitions.registry, &definitions.errors().name, Default::default());
    let registry = &definitions.registry;
    let made_up = fleets().into_iter().map(|(name, options)| (name, messages(registry, options)));
    for (name, messages) in made_up.chain([("a value that is forgiven in each record".to_owned(), forgiven(registry))])
    {
        let mut sealing = Sealing::new(&schema);
        // The first ones learn what records look like and make the memory that later ones use again.
        for _ in 0..2 {
            let counts = sealing.batch(&messages);
            assert_eq!(counts.diverted, [].into(), "{name}");
            assert_eq!(counts.placed.values().sum::<u64>(), ROWS, "{name}");
        }
        let (asked_before, sections_before) = (ASKED.load(Ordering::Relaxed), sealing.sections);
        for _ in 0..BATCHES {
            drop(sealing.batch(&messages));
        }
        let asked = ASKED.load(Ordering::Relaxed) - asked_before;
        let sections = sealing.sections - sections_before;
        assert!(asked > 0, "nothing was counted");
        let most = sections * PER_SECTION;
        assert!(asked <= most, "{name}: {asked} allocations for 100,000 records in {sections} sections");
    }
}
