//! Where each column of a table lives in a tile and behind it.

use super::tile::{SLACK, TILE_ROWS};
use crate::epoch::ColumnType;

/// The columns of one table, compiled: their place in the tile, their Native header.
#[derive(Debug)]
pub struct Shape {
    /// By column, in block order.
    pub slots: Vec<Slot>,
    /// Name and type of each column as a Native block spells them: two length-prefixed strings.
    pub headers: Vec<Vec<u8>>,
    /// Bytes of a tile.
    pub tile_bytes: usize,
    /// Bytes that one row takes in the columns of fixed width, dictionary indexes included.
    pub row_bytes: usize,
    /// How many columns are dictionary-encoded.
    pub dictionaries: usize,
    /// The columns that are plain strings.
    pub texts: Vec<usize>,
}

/// The place of one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// Values of `width` bytes, in the tile from byte `offset` on.
    Fixed {
        /// The first row's byte in the tile.
        offset: usize,
        /// 1, 2, 4 or 8.
        width: usize,
    },
    /// `LowCardinality(String)`: four bytes of index into dictionary `dictionary`, in the tile from byte `offset` on.
    Dictionary {
        /// The first row's byte in the tile.
        offset: usize,
        /// The position among the dictionaries.
        dictionary: usize,
    },
    /// `String`: appended to its column row by row, not in the tile.
    Text {
        /// The position in [`Shape::texts`].
        text: usize,
    },
}

/// Bytes of a dictionary index in a tile; narrowed when the block is sealed.
pub(crate) const INDEX_BYTES: usize = 4;

impl Shape {
    /// Lays the columns out.
    #[must_use]
    pub fn new<'a>(columns: impl IntoIterator<Item = (&'a str, &'a ColumnType)>) -> Self {
        let mut shape = Self {
            slots: Vec::new(),
            headers: Vec::new(),
            tile_bytes: 0,
            row_bytes: 0,
            dictionaries: 0,
            texts: Vec::new(),
        };
        for (name, column_type) in columns {
            let slot = match column_type {
                ColumnType::LowCardinalityString => {
                    let slot = Slot::Dictionary { offset: shape.reserve(INDEX_BYTES), dictionary: shape.dictionaries };
                    shape.dictionaries += 1;
                    slot
                }
                other => match other.width() {
                    Some(width) => Slot::Fixed { offset: shape.reserve(width), width },
                    None => {
                        shape.texts.push(shape.slots.len());
                        Slot::Text { text: shape.texts.len() - 1 }
                    }
                },
            };
            shape.slots.push(slot);
            shape.headers.push(header(name, column_type));
        }
        shape
    }

    /// Room for one more column of that width in the tile.
    fn reserve(&mut self, width: usize) -> usize {
        let offset = self.tile_bytes;
        self.row_bytes += width;
        // The slack keeps the last row's eight-byte store inside the column, and keeps the strides off the powers of two
        // that would map many columns to one set of the cache.
        self.tile_bytes += TILE_ROWS * width + SLACK;
        offset
    }
}

fn header(name: &str, column_type: &ColumnType) -> Vec<u8> {
    let mut bytes = Vec::new();
    for text in [name, &column_type.to_string()] {
        prost::encoding::encode_varint(text.len() as u64, &mut bytes);
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}

impl Slot {
    /// Offset and width of the column's values in a tile, if they are there.
    #[inline]
    #[must_use]
    pub const fn place(&self) -> Option<(usize, usize)> {
        match *self {
            Self::Fixed { offset, width } => Some((offset, width)),
            Self::Dictionary { offset, .. } => Some((offset, INDEX_BYTES)),
            Self::Text { .. } => None,
        }
    }
}
