//! The rows of an open block that are sealed already.
//!
//! A block that were kept as columns until its end would take four times the memory of its compressed form, and would have left
//! the cache long before it is encoded. So it is sealed in sections, each a Native block of its own; the server puts them
//! together again, as one insert is one block whatever it arrives in (`min_insert_block_size_rows`).

use std::sync::Arc;

use bytes::Bytes;

use super::{Block, Target, schema::TablePlan};
use crate::block::{Columns, Encoded, make_room, sample};

/// Sealed sections, one behind the other.
#[derive(Debug, Default)]
pub(super) struct Sections {
    rows: u64,
    /// See [`Block::samples`].
    samples: Vec<Bytes>,
    encoded: Encoded,
}

impl Sections {
    /// Adds the rows of `columns`, one at least, sealed as `section`.
    pub(super) fn push(&mut self, table: &TablePlan, columns: &Columns, section: Encoded) {
        let identity = &table.target.identity;
        self.samples.truncate(1);
        self.samples.push(sample(&table.shape, columns, &identity.columns, identity.leaves_by).into());
        self.rows += columns.rows() as u64;
        self.encoded.native_bytes += section.native_bytes;
        let body = &mut self.encoded.body;
        if body.is_empty() {
            *body = section.body;
        } else {
            make_room(body, section.body.len());
            body.extend_from_slice(&section.body);
        }
    }

    /// Rows in all of them.
    pub(super) const fn rows(&self) -> u64 {
        self.rows
    }

    /// Their bytes before compression.
    pub(super) const fn native_bytes(&self) -> u64 {
        self.encoded.native_bytes
    }

    /// Bytes of memory that they reserve.
    pub(super) const fn reserved(&self) -> usize {
        self.encoded.body.capacity()
    }

    /// All of them as the block of a table, if there is a row.
    pub(super) fn into_block(self, target: &Arc<Target>) -> Option<Block> {
        let Self { rows, samples, encoded: Encoded { mut body, native_bytes } } = self;
        // It may wait for its turn for long: what was reserved in vain goes back.
        body.shrink_to_fit();
        let block = || Block { target: Arc::clone(target), rows, body: body.into(), native_bytes, samples };
        (rows > 0).then(block)
    }
}
