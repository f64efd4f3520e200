//! A row of a block, to ask a server for it.

use super::{Cell, Columns, Shape, Slot};
use crate::wire::read_varint;

/// The type that a dictionary's column has here: a value alone needs no dictionary.
const PLAIN: &str = "String";

/// One row of `columns`, or none if there is none, as a Native block that holds the columns of the positions in `which`. It is
/// not compressed. The row is the first of those that have the most in `latest`, a column of eight signed or four unsigned
/// bytes; without that it is the first of all.
///
/// # Panics
/// If a position is no column of `shape`.
#[must_use]
pub fn sample(shape: &Shape, columns: &Columns, which: &[usize], latest: Option<usize>) -> Vec<u8> {
    let mut out = Vec::with_capacity(48 * which.len());
    let row = latest.map_or(0, |column| row_of_most(shape, columns, column));
    prost::encoding::encode_varint(which.len() as u64, &mut out);
    out.push(u8::from(columns.rows() > 0));
    for &column in which {
        let header = &shape.headers[column];
        match shape.slots[column] {
            Slot::Dictionary { .. } => {
                let name_end = read_varint(header, 0).map_or(0, |(length, start)| start + length as usize);
                out.extend_from_slice(&header[..name_end]);
                text(PLAIN.as_bytes(), &mut out);
            }
            Slot::Fixed { .. } | Slot::Text { .. } => out.extend_from_slice(header),
        }
        match columns.cell(shape, column, row) {
            Some(Cell::Fixed(bytes)) => out.extend_from_slice(bytes),
            Some(Cell::Text(bytes)) => text(bytes, &mut out),
            None => {}
        }
    }
    out
}

fn row_of_most(shape: &Shape, columns: &Columns, column: usize) -> usize {
    let Slot::Fixed { offset, width } = shape.slots[column] else { return 0 };
    let value = |bytes: &[u8]| match *bytes {
        [a, b, c, d] => i64::from(u32::from_le_bytes([a, b, c, d])),
        _ => bytes.first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes)),
    };
    let (mut most, mut at, mut row) = (i64::MIN, 0, 0);
    for bytes in columns.pieces(offset, width).flat_map(|piece| piece.chunks_exact(width)) {
        if value(bytes) > most {
            (most, at) = (value(bytes), row);
        }
        row += 1;
    }
    at
}

fn text(bytes: &[u8], out: &mut Vec<u8>) {
    prost::encoding::encode_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{block::Tile, epoch::ColumnType};

    #[test]
    fn one_row_stands_alone() {
        let types = [
            ("n", ColumnType::UInt16),
            ("d", ColumnType::LowCardinalityString),
            ("s", ColumnType::String),
            ("t", ColumnType::Int64),
        ];
        let shape = Shape::new(types.iter().map(|(name, column_type)| (*name, column_type)));
        let mut columns = Columns::new(&shape);
        assert_eq!(sample(&shape, &columns, &[0, 1], Some(3)), b"\x02\x00\x01n\x06UInt16\x01d\x06String");
        let times = [-7_i64, 5, -9, 5, 0];
        // More than a tile, the latest in the second.
        for row in 0..300 {
            let (tile, strings) = columns.next_row(|| Tile::new(&shape));
            let value = if row < 200 { format!("d{}", row % 3) } else { "late".to_owned() };
            for (column, slot) in shape.slots.iter().enumerate() {
                match *slot {
                    Slot::Fixed { offset, width } if column == 0 => tile.store(offset, width, row),
                    Slot::Fixed { offset, width } => {
                        let time = if row < 200 { -1 - row as i64 } else { times[row as usize % 5] };
                        tile.store(offset, width, time.cast_unsigned());
                    }
                    Slot::Dictionary { offset, dictionary } => {
                        let index = strings.dictionary_mut(dictionary).index(value.as_bytes());
                        tile.store(offset, 4, index.into());
                    }
                    Slot::Text { text } => strings.push_text(text, format!("{row}").as_bytes(), 0, 1),
                }
            }
            tile.finish_row();
        }
        assert_eq!(sample(&shape, &columns, &[0, 1], None), b"\x02\x01\x01n\x06UInt16\x00\x00\x01d\x06String\x02d0");
        let latest = sample(&shape, &columns, &[0, 1, 2], Some(3));
        assert_eq!(latest, b"\x03\x01\x01n\x06UInt16\xc9\x00\x01d\x06String\x04late\x01s\x06String\x012");
    }
}
