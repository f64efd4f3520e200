//! The rows of one table that a batch has gathered so far.

use super::{Dictionary, INDEX_BYTES, Shape, Slot, TILE_ROWS, Tile};

/// Rows in tiles, in order, and beside them what is not of fixed width.
#[derive(Debug)]
pub struct Columns {
    /// The last one is being written; all before it are full.
    tiles: Vec<Tile>,
    strings: Strings,
}

/// The text columns and dictionaries of a block.
#[derive(Debug)]
pub struct Strings {
    /// By position in [`Shape::texts`]: the values as a Native block spells them.
    texts: Vec<Vec<u8>>,
    dictionaries: Vec<Dictionary>,
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
        let strings = Strings {
            texts: vec![Vec::new(); shape.texts.len()],
            dictionaries: std::iter::repeat_with(Dictionary::default).take(shape.dictionaries).collect(),
        };
        Self { tiles: Vec::new(), strings }
    }

    /// Complete rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.tiles.last().map_or(0, |open| (self.tiles.len() - 1) * TILE_ROWS + open.rows())
    }

    /// Bytes that the rows take, not counting what is reserved for more.
    #[must_use]
    pub fn bytes(&self, shape: &Shape) -> usize {
        self.rows() * shape.row_bytes + self.strings.bytes()
    }

    /// Bytes of memory that are reserved for rows and dictionaries.
    #[must_use]
    pub fn reserved(&self) -> usize {
        self.tiles.iter().map(Tile::bytes).sum::<usize>() + self.strings.reserved()
    }

    /// The place of the next row: in the open tile, or in a new one that `tile` makes.
    #[inline]
    pub fn next_row(&mut self, tile: impl FnOnce() -> Tile) -> (&mut Tile, &mut Strings) {
        if self.tiles.last().is_none_or(Tile::is_full) {
            self.tiles.push(tile());
        }
        let open = self.tiles.last_mut().expect("one was pushed if there was none");
        (open, &mut self.strings)
    }

    /// A text column as a Native block spells it, by position in [`Shape::texts`].
    #[must_use]
    pub fn text(&self, text: usize) -> &[u8] {
        &self.strings.texts[text]
    }

    /// A dictionary by its position among the dictionaries.
    #[must_use]
    pub fn dictionary(&self, dictionary: usize) -> &Dictionary {
        &self.strings.dictionaries[dictionary]
    }

    /// A column of fixed width, in as many pieces as there are tiles.
    pub fn pieces(&self, offset: usize, width: usize) -> impl Iterator<Item = &[u8]> {
        self.tiles.iter().enumerate().map(move |(position, tile)| {
            // Each piece is in memory of its own, far from the one before: it is asked for some pieces ahead.
            if let Some(ahead) = self.tiles.get(position + PIECES_AHEAD) {
                prefetch(ahead.column(offset, width));
            }
            tile.column(offset, width)
        })
    }

    /// The indexes of a dictionary column, in as many pieces as there are tiles.
    pub fn indexes(&self, offset: usize) -> impl Iterator<Item = &[[u8; INDEX_BYTES]]> {
        self.pieces(offset, INDEX_BYTES).map(|piece| piece.as_chunks().0)
    }

    /// One value, if there is such a row.
    ///
    /// # Panics
    /// If the column is not one of `shape`'s.
    #[must_use]
    pub fn cell<'a>(&'a self, shape: &Shape, column: usize, row: usize) -> Option<Cell<'a>> {
        let (offset, width) = match shape.slots[column].place() {
            Some(place) => place,
            None => return self.cells(shape, column).nth(row),
        };
        let tile = self.tiles.get(row / TILE_ROWS)?;
        let bytes = tile.column(offset, width).chunks_exact(width).nth(row % TILE_ROWS)?;
        match (shape.slots[column], bytes.first_chunk()) {
            (Slot::Dictionary { dictionary, .. }, Some(index)) => {
                Some(Cell::Text(self.dictionary(dictionary).value(u32::from_le_bytes(*index))))
            }
            _ => Some(Cell::Fixed(bytes)),
        }
    }

    /// All values of a column, row by row.
    ///
    /// # Panics
    /// If the column is not one of `shape`'s.
    pub fn cells<'a>(&'a self, shape: &Shape, column: usize) -> Box<dyn Iterator<Item = Cell<'a>> + 'a> {
        match shape.slots[column] {
            Slot::Fixed { offset, width } => {
                Box::new(self.pieces(offset, width).flat_map(move |piece| piece.chunks_exact(width)).map(Cell::Fixed))
            }
            Slot::Dictionary { offset, dictionary } => {
                let dictionary = self.dictionary(dictionary);
                let indexes = self.indexes(offset).flatten();
                Box::new(indexes.map(|index| Cell::Text(dictionary.value(u32::from_le_bytes(*index)))))
            }
            Slot::Text { text } => {
                let (data, mut at) = (self.text(text), 0);
                Box::new(std::iter::from_fn(move || {
                    let (length, start) = crate::wire::read_varint(data, at).ok()?;
                    at = start + usize::try_from(length).ok()?;
                    Some(Cell::Text(&data[start..at]))
                }))
            }
        }
    }

    /// Forgets the rows. The tiles are handed out; what strings took in memory is kept.
    pub fn clear(&mut self) -> std::vec::Drain<'_, Tile> {
        self.strings.texts.iter_mut().for_each(Vec::clear);
        self.strings.dictionaries.iter_mut().for_each(Dictionary::clear);
        self.tiles.drain(..)
    }
}

impl Strings {
    /// A dictionary by its position among the dictionaries.
    #[inline]
    pub fn dictionary_mut(&mut self, dictionary: usize) -> &mut Dictionary {
        &mut self.dictionaries[dictionary]
    }

    /// Appends `source[start..end]` to a text column, by position in [`Shape::texts`]. The row must be completed in the tile as
    /// well.
    ///
    /// # Panics
    /// If the range is not in the source.
    #[inline]
    pub fn push_text(&mut self, text: usize, source: &[u8], start: usize, end: usize) {
        let data = &mut self.texts[text];
        let value = &source[start..end];
        make_room(data, SHORT + 10 + value.len());
        if value.len() <= SHORT && source.len() - start >= SHORT {
            let filled = data.len();
            let room = data.spare_capacity_mut();
            room[0].write(value.len() as u8);
            // SAFETY: `SHORT` bytes are there to be read, by the condition, and after the one byte of length there is room for
            // as many, by `make_room`. What is copied beyond the value lies behind the new end.
            unsafe {
                room[1..].as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(source[start..].as_ptr(), SHORT);
                data.set_len(filled + 1 + value.len());
            }
            return;
        }
        prost::encoding::encode_varint(value.len() as u64, data);
        data.extend_from_slice(value);
    }

    fn bytes(&self) -> usize {
        self.texts.iter().map(Vec::len).sum::<usize>() + self.dictionaries.iter().map(Dictionary::bytes).sum::<usize>()
    }

    fn reserved(&self) -> usize {
        self.texts.iter().map(Vec::capacity).sum::<usize>()
            + self.dictionaries.iter().map(Dictionary::bytes).sum::<usize>()
    }
}

/// A text of so many bytes at most is copied by one move of as many, whatever its length.
const SHORT: usize = 32;

/// How far ahead of the piece that is read memory is asked for.
const PIECES_AHEAD: usize = 4;

/// Asks for bytes that will be read soon.
#[inline]
fn prefetch(piece: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in piece.chunks(64) {
        // SAFETY: a prefetch reads nothing, and the address is that of a byte of the piece.
        unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = piece;
}

/// Grows by half: with doubling, the memory of a block would be twice what its rows take.
#[inline]
pub(crate) fn make_room(data: &mut Vec<u8>, more: usize) {
    if data.capacity() - data.len() < more {
        data.reserve_exact(more.max(data.len() / 2));
    }
}
