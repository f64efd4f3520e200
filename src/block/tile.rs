//! A few rows of all fixed-width columns of a table, small enough to stay in the cache while they are written.

use super::Shape;

/// Rows of a tile. With 172 columns a tile is some 100 kB in 24 pages: the write heads of all columns stay in the caches, those
/// of addresses included, and a run of one column is long enough that fetching it when the block is sealed does not count.
pub const TILE_ROWS: usize = 128;

/// Bytes after each column of a tile.
pub(super) const SLACK: usize = 64;

/// Rows `0..rows` are complete, row `rows` is being written, all beyond is zero.
///
/// Zero is every column's default, so a field that is not in the record needs no store at all.
#[derive(Debug)]
pub struct Tile {
    bytes: Box<[u8]>,
    rows: usize,
}

impl Tile {
    /// An empty tile.
    #[must_use]
    pub fn new(shape: &Shape) -> Self {
        Self { bytes: vec![0; shape.tile_bytes].into_boxed_slice(), rows: 0 }
    }

    /// Complete rows.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes of memory.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Whether the next row has no place.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.rows == TILE_ROWS
    }

    /// Stores the low `width` bytes of `value` in the row being written, for the column at `offset`.
    ///
    /// # Panics
    /// If the place is not in the tile.
    #[inline]
    pub fn store(&mut self, offset: usize, width: usize, value: u64) {
        let at = offset + self.rows * width;
        self.bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
    }

    /// The bytes, for the hot path's own stores. It may write eight bytes at `offset + rows() * width` of any column whose
    /// value is no wider than eight bytes, if those beyond the value's width are zero: they belong to rows that are not
    /// written yet, or to the column's slack.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// The complete rows of a column of that width.
    #[inline]
    #[must_use]
    pub fn column(&self, offset: usize, width: usize) -> &[u8] {
        &self.bytes[offset..offset + self.rows * width]
    }

    /// Completes the row being written.
    ///
    /// # Panics
    /// If the tile is full.
    #[inline]
    pub fn finish_row(&mut self) {
        assert!(self.rows < TILE_ROWS, "a row was begun in a full tile");
        self.rows += 1;
    }

    /// Takes back what was stored in the row being written.
    #[cold]
    pub fn abandon_row(&mut self, shape: &Shape) {
        for slot in &shape.slots {
            if let Some((offset, width)) = slot.place() {
                self.store(offset, width, 0);
            }
        }
    }

    /// Empties the tile.
    pub fn clear(&mut self) {
        self.bytes.fill(0);
        self.rows = 0;
    }
}
