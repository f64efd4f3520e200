//! A block in ClickHouse's Native format: the numbers of columns and rows, then each column with its name and type.

use bytes::Bytes;

use super::{Columns, Dictionary, FrameWriter, Shape, Slot};

/// An encoded block.
#[derive(Debug, Clone)]
pub struct Encoded {
    /// The block, compressed or not.
    pub body: Bytes,
    /// Bytes before compression.
    pub native_bytes: u64,
}

/// How a block is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Codec {
    /// LZ4 in ClickHouse's frames, for `decompress=1`.
    #[default]
    Lz4,
    /// Not at all.
    Plain,
}

/// Where the pieces of a block go.
trait Sink {
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

/// Encodes all rows of `columns`.
#[must_use]
pub fn seal(shape: &Shape, columns: &Columns, codec: Codec) -> Encoded {
    match codec {
        Codec::Lz4 => {
            let mut out = FrameWriter::default();
            encode(shape, columns, &mut out);
            let native_bytes = out.written();
            Encoded { body: out.finish().into(), native_bytes }
        }
        Codec::Plain => {
            let mut out = Vec::with_capacity(columns.bytes(shape));
            encode(shape, columns, &mut out);
            Encoded { native_bytes: out.len() as u64, body: out.into() }
        }
    }
}

fn encode(shape: &Shape, columns: &Columns, out: &mut impl Sink) {
    let mut counts = Vec::with_capacity(12);
    prost::encoding::encode_varint(shape.slots.len() as u64, &mut counts);
    prost::encoding::encode_varint(columns.rows() as u64, &mut counts);
    out.write(&counts);
    for (column, (slot, header)) in shape.slots.iter().zip(&shape.headers).enumerate() {
        out.write(header);
        let data = columns.data(column);
        match *slot {
            Slot::Fixed { .. } | Slot::Text { .. } => out.write(data),
            Slot::Dictionary { dictionary, .. } => {
                write_dictionary(out, columns.dictionary(dictionary), data.as_chunks().0);
            }
        }
    }
}

/// Writes a `LowCardinality(String)` column with the narrowest indexes that the dictionary allows.
fn write_dictionary(out: &mut impl Sink, dictionary: &Dictionary, indexes: &[[u8; 4]]) {
    let count = dictionary.len() as u64;
    let (kind, width) = match count {
        0..=0x100 => (0, 1),
        0x101..=0x1_0000 => (1, 2),
        _ => (2, 4),
    };
    let mut number = |number: u64| out.write(&number.to_le_bytes());
    number(DICTIONARY_VERSION);
    number(OWN_KEYS | kind);
    number(count);
    out.write(dictionary.keys());
    out.write(&(indexes.len() as u64).to_le_bytes());
    let mut narrow = Vec::with_capacity(indexes.len() * width);
    match width {
        1 => narrow.extend(indexes.iter().map(|index| index[0])),
        2 => narrow.extend(indexes.iter().flat_map(|index| [index[0], index[1]])),
        _ => narrow.extend_from_slice(indexes.as_flattened()),
    }
    out.write(&narrow);
}
