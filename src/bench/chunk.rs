//! Native blocks without compression, for what is measured up to there.

use std::hint::black_box;

use crate::block::{CHUNK, Columns, Encoded, Shape, Sink, encode};

/// Takes a block in as the compressor does, chunk by chunk, and leaves it at that.
#[derive(Debug, Default)]
pub struct Chunk(Vec<u8>);

impl Chunk {
    /// Encodes a section; nothing of it is kept.
    pub fn section(&mut self, shape: &Shape, columns: &Columns) -> Encoded {
        encode(shape, columns, self);
        black_box(&self.0);
        self.0.clear();
        Encoded::default()
    }
}

impl Sink for Chunk {
    fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (now, rest) = bytes.split_at(bytes.len().min(CHUNK - self.0.len()));
            self.0.extend_from_slice(now);
            bytes = rest;
            if self.0.len() == CHUNK {
                black_box(&self.0);
                self.0.clear();
            }
        }
    }
}
