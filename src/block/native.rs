//! A block in ClickHouse's Native format: the numbers of columns and rows, then each column with its name and type.

use bytes::Bytes;

use super::{Columns, Dictionary, FrameWriter, Shape, Slot};

/// An encoded and compressed block.
#[derive(Debug, Clone)]
pub struct Encoded {
    /// Frames for `decompress=1`.
    pub body: Bytes,
    /// Bytes before compression.
    pub native_bytes: u64,
}

/// `SharedDictionariesWithAdditionalKeys`, the only way a dictionary travels.
const DICTIONARY_VERSION: u64 = 1;

/// The keys follow in the block itself, and replace any that came before.
const OWN_KEYS: u64 = 1 << 9 | 1 << 10;

/// Encodes all rows of `columns`.
#[must_use]
pub fn seal(shape: &Shape, columns: &Columns) -> Encoded {
    let mut out = FrameWriter::default();
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
                write_dictionary(&mut out, columns.dictionary(dictionary), data.as_chunks().0);
            }
        }
    }
    let native_bytes = out.written();
    Encoded { body: out.finish().into(), native_bytes }
}

/// Writes a `LowCardinality(String)` column with the narrowest indexes that the dictionary allows.
fn write_dictionary(out: &mut FrameWriter, dictionary: &Dictionary, indexes: &[[u8; 4]]) {
    let count = dictionary.len() as u64;
    let (kind, width) = match count {
        0..=0x100 => (0, 1),
        0x101..=0x1_0000 => (1, 2),
        _ => (2, 4),
    };
    out.write_u64(DICTIONARY_VERSION);
    out.write_u64(OWN_KEYS | kind);
    out.write_u64(count);
    out.write(dictionary.keys());
    out.write_u64(indexes.len() as u64);
    let mut narrow = Vec::with_capacity(indexes.len() * width);
    match width {
        1 => narrow.extend(indexes.iter().map(|index| index[0])),
        2 => narrow.extend(indexes.iter().flat_map(|index| [index[0], index[1]])),
        _ => narrow.extend_from_slice(indexes.as_flattened()),
    }
    out.write(&narrow);
}
