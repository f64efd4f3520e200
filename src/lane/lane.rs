//! One partition's open batch.

use std::sync::Arc;

use super::{Batch, Counts, Decoder, Filling, Schema, section::Sections};
use crate::block::{Columns, Encoded, Shape, seal};

/// Rows of a table that are sealed together while the batch goes on. Enough for the compressor to find its repeats and for
/// dictionaries to pay; few enough for all that decoding writes to stay in the cache, and to be little memory beside what is
/// compressed already.
pub const SECTION_ROWS: usize = 4096;

/// Bytes of a table's rows that are sealed though they are fewer: rows of the error table hold whole messages. Kept as they are
/// they would take up the memory that all partitions share, and batches would be closed for it long before they are full.
pub const SECTION_BYTES: usize = 4 << 20;

/// The open batch of one partition: blocks per table, the offsets they cover, what was counted.
#[derive(Debug)]
pub struct Lane {
    pub(super) schema: Arc<Schema>,
    pub(super) topic: Arc<str>,
    pub(super) partition: i32,
    /// By position in [`Schema::targets`]: the rows that are not sealed.
    pub(super) blocks: Vec<Option<Columns>>,
    /// By the same position: the rows before them.
    sections: Vec<Sections>,
    /// `[first, next)` of the messages pushed since the last close.
    pub(super) range: Option<(i64, i64)>,
    pub(super) counts: Counts,
}

impl Lane {
    /// A lane without messages.
    #[must_use]
    pub fn new(schema: Arc<Schema>, topic: Arc<str>, partition: i32) -> Self {
        let blocks = schema.targets().iter().map(|_| None).collect();
        let sections = schema.targets().iter().map(|_| Sections::default()).collect();
        Self { schema, topic, partition, blocks, sections, range: None, counts: Counts::default() }
    }

    /// Starts to push messages; the guard's end completes the rows.
    ///
    /// # Panics
    /// If the decoder was made for another schema.
    pub fn fill<'a>(&'a mut self, decoder: &'a mut Decoder) -> Filling<'a> {
        Filling::new(self, decoder)
    }

    /// Bytes of the open batch's rows before compression.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let block = |(target, columns): (usize, &Option<Columns>)| {
            columns.as_ref().map_or(0, |columns| columns.bytes(self.schema.shape(target)))
        };
        let sealed: u64 = self.sections.iter().map(Sections::native_bytes).sum();
        self.blocks.iter().enumerate().map(block).sum::<usize>() + usize::try_from(sealed).unwrap_or(usize::MAX)
    }

    /// Bytes of memory that the open batch reserves: what bounds a process, and no batch, as it depends on how the memory was
    /// used before.
    #[must_use]
    pub fn reserved(&self) -> usize {
        let sealed: usize = self.sections.iter().map(Sections::reserved).sum();
        self.blocks.iter().flatten().map(Columns::reserved).sum::<usize>() + sealed
    }

    /// Rows of the open batch over all tables.
    #[must_use]
    pub fn rows(&self) -> u64 {
        let sealed: u64 = self.sections.iter().map(Sections::rows).sum();
        self.blocks.iter().flatten().map(|columns| columns.rows() as u64).sum::<u64>() + sealed
    }

    /// Whether no message came since the last close.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.range.is_none()
    }

    /// What the open batch has gathered for a table and not sealed, by position in [`Schema::targets`].
    #[must_use]
    pub fn open(&self, target: usize) -> Option<&Columns> {
        self.blocks[target].as_ref()
    }

    /// Seals the rows of each table that has enough of them for a section, [`SECTION_ROWS`] or [`SECTION_BYTES`]. What was
    /// learned of where values lie in messages is void from then on, so no message may be half in: it is called between two
    /// [`Lane::fill`].
    pub fn seal_sections(&mut self) {
        self.seal_sections_with(SECTION_ROWS, seal);
    }

    /// As [`Lane::seal_sections`], with so many rows being enough, and each section made by `seal`.
    pub fn seal_sections_with(&mut self, rows: usize, mut seal: impl FnMut(&Shape, &Columns) -> Encoded) {
        for (target, open) in self.blocks.iter_mut().enumerate() {
            let table = self.schema.table(target);
            let is_due = |columns: &Columns| columns.rows() >= rows || columns.bytes(&table.shape) >= SECTION_BYTES;
            let Some(columns) = open.take_if(|columns| is_due(columns)) else { continue };
            self.sections[target].push(table, &columns, seal(&table.shape, &columns));
            self.schema.recycle(target, columns);
        }
    }

    /// Ends the batch: encodes and compresses its blocks. `None` if no message came since the last close.
    pub fn close(&mut self) -> Option<Batch> {
        self.close_with(seal)
    }

    /// As [`Lane::close`], with each block made by `seal`.
    pub fn close_with(&mut self, mut seal: impl FnMut(&Shape, &Columns) -> Encoded) -> Option<Batch> {
        let (first, next) = self.range.take()?;
        let mut counts = std::mem::take(&mut self.counts);
        let mut blocks = Vec::new();
        for (target, open) in self.blocks.iter_mut().enumerate() {
            let table = self.schema.table(target);
            let mut sections = std::mem::take(&mut self.sections[target]);
            if let Some(columns) = open.take() {
                if columns.rows() > 0 {
                    sections.push(table, &columns, seal(&table.shape, &columns));
                }
                self.schema.recycle(target, columns);
            }
            let Some(block) = sections.into_block(&table.target) else { continue };
            if let Some(epoch) = block.target.epoch {
                counts.placed.insert(epoch, block.rows);
            }
            blocks.push(block);
        }
        Some(Batch { partition: self.partition, first, next, blocks, counts })
    }
}
