//! A block in ClickHouse's Native format: the numbers of columns and rows, then each column with its name and type.

use super::{Columns, Dictionary, FrameWriter, INDEX_BYTES, Shape, Slot};

/// An encoded and compressed block.
#[derive(Debug, Clone, Default)]
pub struct Encoded {
    /// The block in ClickHouse's compressed frames.
    pub body: Vec<u8>,
    /// Bytes before compression.
    pub native_bytes: u64,
}

/// Where the pieces of a block go.
pub trait Sink {
    /// Takes the next bytes in.
    fn write(&mut self, bytes: &[u8]);
}

impl Sink for FrameWriter {
    fn write(&mut self, bytes: &[u8]) {
        Self::write(self, bytes);
    }
}

impl Sink for Vec<u8> {
    fn write(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// `SharedDictionariesWithAdditionalKeys`, the only way a dictionary travels.
const DICTIONARY_VERSION: u64 = 1;

/// The keys follow in the block itself, and replace any that came before.
const OWN_KEYS: u64 = 1 << 9 | 1 << 10;

/// Encodes and compresses all rows of `columns`.
#[must_use]
pub fn seal(shape: &Shape, columns: &Columns) -> Encoded {
    let mut out = FrameWriter::default();
    encode(shape, columns, &mut out);
    let native_bytes = out.written();
    Encoded { body: out.finish(), native_bytes }
}

/// Writes all rows of `columns` to `out`.
pub fn encode(shape: &Shape, columns: &Columns, out: &mut impl Sink) {
    let rows = columns.rows();
    let mut counts = Vec::with_capacity(12);
    prost::encoding::encode_varint(shape.slots.len() as u64, &mut counts);
    prost::encoding::encode_varint(rows as u64, &mut counts);
    out.write(&counts);
    let mut narrow = Vec::new();
    for (slot, header) in shape.slots.iter().zip(&shape.headers) {
        out.write(header);
        match *slot {
            Slot::Fixed { offset, width } => columns.pieces(offset, width).for_each(|piece| out.write(piece)),
            Slot::Text { text } => out.write(columns.text(text)),
            Slot::Dictionary { offset, dictionary } => {
                write_dictionary(out, columns.dictionary(dictionary), rows, columns.indexes(offset), &mut narrow);
            }
        }
    }
}

/// Writes a `LowCardinality(String)` column with the narrowest indexes that the dictionary allows. `narrow` is room to work in.
fn write_dictionary<'a>(
    out: &mut impl Sink,
    dictionary: &Dictionary,
    rows: usize,
    indexes: impl Iterator<Item = &'a [[u8; INDEX_BYTES]]>,
    narrow: &mut Vec<u8>,
) {
    let count = dictionary.len() as u64;
    let kind = match count {
        0..=0x100 => 0,
        0x101..=0x1_0000 => 1,
        _ => 2,
    };
    let mut number = |number: u64| out.write(&number.to_le_bytes());
    number(DICTIONARY_VERSION);
    number(OWN_KEYS | kind);
    number(count);
    out.write(dictionary.keys());
    out.write(&(rows as u64).to_le_bytes());
    for piece in indexes {
        narrow.clear();
        match kind {
            0 => narrow.extend(piece.iter().map(|index| index[0])),
            1 => narrow.extend(piece.iter().flat_map(|index| [index[0], index[1]])),
            _ => narrow.extend_from_slice(piece.as_flattened()),
        }
        out.write(narrow);
    }
}
