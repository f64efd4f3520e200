//! The rows of an open block that are sealed already.
//!
//! A block that were kept as columns until its end would take four times the memory of its compressed form, and would have left
//! the cache long before it is encoded. So it is sealed in sections, each a Native block of its own; the server puts them
//! together again, as one insert is one block whatever it arrives in (`min_insert_block_size_rows`).

use std::sync::Arc;

use super::{Block, Target};
use crate::block::{Encoded, make_room};

/// Sealed sections, one behind the other.
#[derive(Debug, Default)]
pub(super) struct Sections {
    rows: u64,
    encoded: Encoded,
}

impl Sections {
    /// Adds a section of so many rows.
    pub(super) fn push(&mut self, rows: usize, section: Encoded) {
        self.rows += rows as u64;
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
        let Self { rows, encoded: Encoded { mut body, native_bytes } } = self;
        // It may wait for its turn for long: what was reserved in vain goes back.
        body.shrink_to_fit();
        (rows > 0).then(|| Block { target: Arc::clone(target), rows, body: body.into(), native_bytes })
    }
}
