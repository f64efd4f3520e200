//! The rows of one table that a batch has gathered so far.

use super::{Dictionary, Shape, Slot, Tile};

/// Columns, each in one piece. Fixed-width and text columns hold exactly what a Native block holds; dictionary indexes are
/// four bytes wide until the block is sealed.
#[derive(Debug)]
pub struct Columns {
    data: Vec<Vec<u8>>,
    dictionaries: Vec<Dictionary>,
    rows: usize,
}

/// One value, for those who look at a block before it is sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell<'a> {
    /// The little-endian bytes of a value of fixed width.
    Fixed(&'a [u8]),
    /// The bytes of a string.
    Text(&'a [u8]),
}

impl Columns {
    /// No rows.
    #[must_use]
    pub fn new(shape: &Shape) -> Self {
        Self {
            data: vec![Vec::new(); shape.slots.len()],
            dictionaries: std::iter::repeat_with(Dictionary::default).take(shape.dictionaries).collect(),
            rows: 0,
        }
    }

    /// Complete rows.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes that the rows take in memory.
    #[must_use]
    pub fn bytes(&self, shape: &Shape) -> usize {
        self.rows * shape.row_bytes
            + shape.texts.iter().map(|&column| self.data[column].len()).sum::<usize>()
            + self.dictionaries.iter().map(Dictionary::bytes).sum::<usize>()
    }

    /// Bytes of memory that are reserved for rows.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.data.iter().map(Vec::capacity).sum()
    }

    /// A dictionary by its position among the dictionaries.
    #[inline]
    pub fn dictionary_mut(&mut self, dictionary: usize) -> &mut Dictionary {
        &mut self.dictionaries[dictionary]
    }

    /// A dictionary by its position among the dictionaries.
    #[inline]
    #[must_use]
    pub fn dictionary(&self, dictionary: usize) -> &Dictionary {
        &self.dictionaries[dictionary]
    }

    /// The bytes of a column, as far as they are complete.
    #[must_use]
    pub fn data(&self, column: usize) -> &[u8] {
        &self.data[column]
    }

    /// Appends a string to a text column. The row must be completed in the tile as well.
    #[inline]
    pub fn push_text(&mut self, column: usize, value: &[u8]) {
        let data = &mut self.data[column];
        make_room(data, value.len() + 10);
        if value.len() < 0x80 {
            data.push(value.len() as u8);
        } else {
            prost::encoding::encode_varint(value.len() as u64, data);
        }
        data.extend_from_slice(value);
    }

    /// Takes the rows of a tile over and empties it.
    pub fn append(&mut self, shape: &Shape, tile: &mut Tile) {
        for (slot, data) in shape.slots.iter().zip(&mut self.data) {
            if let Some((offset, width)) = slot.place() {
                let rows = tile.column(offset, width);
                make_room(data, rows.len());
                data.extend_from_slice(rows);
            }
        }
        self.rows += tile.rows();
        tile.clear();
    }

    /// All values of a column, row by row.
    ///
    /// # Panics
    /// If the column is not one of `shape`'s.
    pub fn cells<'a>(&'a self, shape: &Shape, column: usize) -> Box<dyn Iterator<Item = Cell<'a>> + 'a> {
        let data = &self.data[column];
        match shape.slots[column] {
            Slot::Fixed { width, .. } => Box::new(data.chunks_exact(width).map(Cell::Fixed)),
            Slot::Dictionary { dictionary, .. } => {
                let dictionary = &self.dictionaries[dictionary];
                Box::new(data.as_chunks().0.iter().map(|i| Cell::Text(dictionary.value(u32::from_le_bytes(*i)))))
            }
            Slot::Text { .. } => {
                let mut at = 0;
                Box::new(std::iter::from_fn(move || {
                    let (length, start) = crate::wire::read_varint(data, at).ok()?;
                    at = start + usize::try_from(length).ok()?;
                    Some(Cell::Text(&data[start..at]))
                }))
            }
        }
    }

    /// Forgets the rows; keeps the memory.
    pub fn clear(&mut self) {
        self.data.iter_mut().for_each(Vec::clear);
        self.dictionaries.iter_mut().for_each(Dictionary::clear);
        self.rows = 0;
    }
}

/// Grows by half: with doubling, the memory of a block would be twice what its rows take.
#[inline]
fn make_room(data: &mut Vec<u8>, more: usize) {
    if data.capacity() - data.len() < more {
        data.reserve_exact(more.max(data.len() / 2));
    }
}
