//! Decoding allocates by block, not by record.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use xtcp_ingest::{
    bootstrap::Definitions,
    fleet::{Fleet, Mix, Options},
    lane::{Decoder, Lane, Message, Schema},
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

/// Allocations while `batches` times all messages are pushed and the batch is closed.
fn allocations(schema: &Arc<Schema>, messages: &[Vec<u8>], batches: u32) -> u64 {
    let mut decoder = Decoder::new(Arc::clone(schema));
    let mut lane = Lane::new(Arc::clone(schema), Arc::from("xtcp"), 0);
    let mut batch = || {
        let mut filling = lane.fill(&mut decoder);
        for (offset, payload) in (0..).zip(messages) {
            filling.push(Message { offset, time_ms: Some(0), payload: Some(payload) });
        }
        drop(filling);
        lane.close().expect("a batch")
    };
    // The first ones learn what records look like and make the memory that later ones use again.
    drop((batch(), batch()));
    let before = ASKED.load(Ordering::Relaxed);
    for _ in 0..batches {
        drop(batch());
    }
    ASKED.load(Ordering::Relaxed) - before
}

/// One test alone in this program: others at its side would be counted too.
#[test]
fn allocations_are_bounded_by_blocks_and_not_by_records() {
    let definitions = Definitions::embedded().expect("the definitions");
    let schema = Schema::new(&definitions.registry, &definitions.errors().name, Default::default());
    for layout in ["e2", "e1", "renumbered", "legacy", "legacy_seconds"] {
        let mix = Mix::Shares(vec![(layout.to_owned(), 1.0)]);
        let options = Options { rows: 10_000, mixed_every: 0, mix, ..Options::default() };
        let fleet = Fleet::new(options, &definitions.registry).expect("a fleet");
        let messages: Vec<Vec<u8>> = fleet.filter_map(|message| message.payload).collect();
        let batches = 10;
        let asked = allocations(&schema, &messages, batches);
        // 100,000 records in ten batches of one block each. A block has some hundred columns and a buffer that grows.
        assert!(asked <= u64::from(batches) * 200, "{layout}: {asked} allocations for 100,000 records");
        assert!(asked > 0, "nothing was counted");
    }
}
