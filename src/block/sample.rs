//! One row of a block, to ask a server for it.

use super::{Cell, Columns, Shape, Slot};
use crate::wire::read_varint;

/// The type that a dictionary's column has here: a value alone needs no dictionary.
const PLAIN: &str = "String";

/// The first row of `columns`, or none if there is none, as a Native block that holds the columns of those positions. It is
/// not compressed.
///
/// # Panics
/// If a position is no column of `shape`.
#[must_use]
pub fn sample(shape: &Shape, columns: &Columns, which: &[usize]) -> Vec<u8> {
    let mut out = Vec::with_capacity(48 * which.len());
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
        match columns.cells(shape, column).next() {
            Some(Cell::Fixed(bytes)) => out.extend_from_slice(bytes),
            Some(Cell::Text(bytes)) => text(bytes, &mut out),
            None => {}
        }
    }
    out
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
    fn the_first_row_stands_alone() {
        let types = [("n", ColumnType::UInt16), ("d", ColumnType::LowCardinalityString), ("s", ColumnType::String)];
        let shape = Shape::new(types.iter().map(|(name, column_type)| (*name, column_type)));
        let mut columns = Columns::new(&shape);
        assert_eq!(sample(&shape, &columns, &[0, 1]), b"\x02\x00\x01n\x06UInt16\x01d\x06String");
        for row in [0x0102_u64, 0x0304] {
            let (tile, strings) = columns.next_row(|| Tile::new(&shape));
            let (Slot::Fixed { offset, width }, Slot::Dictionary { offset: index, dictionary }, Slot::Text { text }) =
                (shape.slots[0], shape.slots[1], shape.slots[2])
            else {
                unreachable!("as the types are")
            };
            tile.store(offset, width, row);
            let value = format!("d{row}");
            let place = strings.dictionary_mut(dictionary).index(value.as_bytes());
            tile.store(index, 4, u64::from(place));
            strings.push_text(text, b"text", 0, 4);
            tile.finish_row();
        }
        assert_eq!(sample(&shape, &columns, &[0, 1]), b"\x02\x01\x01n\x06UInt16\x02\x01\x01d\x06String\x04d258");
        assert_eq!(sample(&shape, &columns, &[2]), b"\x01\x01\x01s\x06String\x04text");
    }
}
