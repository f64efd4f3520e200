//! One partition's open batch.

use std::sync::Arc;

use super::{Batch, Block, Counts, Decoder, Filling, Schema};
use crate::block::{Columns, Encoded, Shape, seal};

/// The open batch of one partition: blocks per table, the offsets they cover, what was counted.
#[derive(Debug)]
pub struct Lane {
    pub(super) schema: Arc<Schema>,
    pub(super) topic: Arc<str>,
    pub(super) partition: i32,
    /// By position in [`Schema::targets`].
    pub(super) blocks: Vec<Option<Columns>>,
    /// `[first, next)` of the messages pushed since the last close.
    pub(super) range: Option<(i64, i64)>,
    pub(super) counts: Counts,
}

impl Lane {
    /// A lane without messages.
    #[must_use]
    pub fn new(schema: Arc<Schema>, topic: Arc<str>, partition: i32) -> Self {
        let blocks = schema.targets().iter().map(|_| None).collect();
        Self { schema, topic, partition, blocks, range: None, counts: Counts::default() }
    }

    /// Starts to push messages; the guard's end completes the rows.
    ///
    /// # Panics
    /// If the decoder was made for another schema.
    pub fn fill<'a>(&'a mut self, decoder: &'a mut Decoder) -> Filling<'a> {
        Filling::new(self, decoder)
    }

    /// Bytes of memory that the open batch takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let block = |(target, columns): (usize, &Option<Columns>)| {
            columns.as_ref().map_or(0, |columns| columns.bytes(self.schema.shape(target)))
        };
        self.blocks.iter().enumerate().map(block).sum()
    }

    /// Bytes of memory that the open batch reserves, more than its rows take: what bounds a process, and no batch, as it
    /// depends on how the memory was used before.
    #[must_use]
    pub fn reserved(&self) -> usize {
        self.blocks.iter().flatten().map(Columns::reserved).sum()
    }

    /// Rows of the open batch over all tables.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.blocks.iter().flatten().map(|columns| columns.rows() as u64).sum()
    }

    /// Whether no message came since the last close.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.range.is_none()
    }

    /// What the open batch has gathered for a table, by position in [`Schema::targets`].
    #[must_use]
    pub fn open(&self, target: usize) -> Option<&Columns> {
        self.blocks[target].as_ref()
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
            let Some(columns) = open.take() else { continue };
            let table = self.schema.table(target);
            let rows = columns.rows() as u64;
            if rows > 0 {
                let encoded = seal(&table.shape, &columns);
                let target = Arc::clone(&table.target);
                if let Some(epoch) = target.epoch {
                    counts.placed.insert(epoch, rows);
                }
                blocks.push(Block { target, rows, body: encoded.body, native_bytes: encoded.native_bytes });
            }
            self.schema.recycle(target, columns);
        }
        Some(Batch { partition: self.partition, first, next, blocks, counts })
    }
}
