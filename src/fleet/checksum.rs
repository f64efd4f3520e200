//! What the columns of a table must add up to, from the values before they are encoded: no reader has a part in it.

use super::values::Values;
use crate::epoch::ProtoType;

/// A sum for each column of one table, over the rows that must land.
///
/// A row adds its value times its number (the socket cookie), modulo 2^64, so that neither a value that changed nor one
/// in another row's place goes unseen. The value of a text is its CRC-32, of a time its ticks, of an enum its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checksum {
    /// The columns in the order of the table.
    pub columns: Vec<(String, u64)>,
}

impl Checksum {
    /// The sums of no rows.
    pub(super) fn new(columns: impl Iterator<Item = String>) -> Self {
        Self { columns: columns.map(|name| (name, 0)).collect() }
    }

    /// Adds one column of the row of that number.
    pub(super) fn add(&mut self, column: usize, proto: ProtoType, values: &Values, slot: usize, number: u64) {
        let value = landed(proto, values, slot);
        let sum = &mut self.columns[column].1;
        *sum = sum.wrapping_add(value.wrapping_mul(number));
    }
}

/// The value as 64 bits, as the column holds it once it has gone over the wire as that type.
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_precision_loss)]
// the wire takes the low bits of a value, as the type of its field has them
fn landed(proto: ProtoType, values: &Values, slot: usize) -> u64 {
    let value = values.number(slot);
    match proto {
        ProtoType::String | ProtoType::Bytes => u64::from(crc32(values.text(slot))),
        ProtoType::Int32 | ProtoType::Sint32 | ProtoType::Sfixed32 | ProtoType::Enum => i64::from(value as i32) as u64,
        ProtoType::Uint32 | ProtoType::Fixed32 => u64::from(value as u32),
        ProtoType::Int64 | ProtoType::Uint64 | ProtoType::Sint64 | ProtoType::Fixed64 | ProtoType::Sfixed64 => value,
        ProtoType::Bool => u64::from(value != 0),
        ProtoType::Float => u64::from((value as f32).to_bits()),
        ProtoType::Double => (value as f64).to_bits(),
        ProtoType::DoubleSeconds => nanoseconds(value as i64 as f64 / 1e9) as u64,
    }
}

/// The nanoseconds nearest to a number of seconds.
fn nanoseconds(seconds: f64) -> i64 {
    let whole = seconds.trunc();
    #[allow(clippy::cast_possible_truncation)] // a fleet's times fit
    let (whole, part) = (whole as i64, ((seconds - whole) * 1e9).round() as i64);
    whole * 1_000_000_000 + part
}

/// The CRC-32 of zlib and of ClickHouse's `CRC32`.
fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut index = 0;
        while index < 256 {
            let (mut value, mut bit) = (index as u32, 0);
            while bit < 8 {
                value = if value & 1 == 1 { value >> 1 ^ 0xedb8_8320 } else { value >> 1 };
                bit += 1;
            }
            table[index] = value;
            index += 1;
        }
        table
    };
    !bytes.iter().fold(!0, |crc: u32, byte| TABLE[usize::from(crc as u8 ^ byte)] ^ crc >> 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc32_is_the_one_that_all_know() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }

    #[test]
    fn a_value_is_what_its_type_leaves_of_it() {
        let mut values = Values::new(2);
        values.set(0, u64::MAX << 32 | 7);
        values.set_text(1, b"123456789");
        for (proto, slot, value) in [
            (ProtoType::Uint32, 0, 7),
            (ProtoType::Int32, 0, 7),
            (ProtoType::Uint64, 0, u64::MAX << 32 | 7),
            (ProtoType::Bool, 0, 1),
            (ProtoType::String, 1, 0xcbf4_3926),
        ] {
            assert_eq!(landed(proto, &values, slot), value, "{}", proto.name());
        }
        assert_eq!(nanoseconds(1_790_000_000.25), 1_790_000_000_250_000_000);
        assert_eq!(nanoseconds(-0.5), -500_000_000);
    }

    #[test]
    fn values_in_each_others_rows_are_seen() {
        let sum = |rows: [(u64, u64); 2]| {
            let mut sum = Checksum::new(["a".to_owned()].into_iter());
            for (number, value) in rows {
                let mut values = Values::new(1);
                values.set(0, value);
                sum.add(0, ProtoType::Uint64, &values, 0, number);
            }
            sum
        };
        assert_ne!(sum([(1, 5), (2, 6)]), sum([(1, 6), (2, 5)]));
        assert_eq!(sum([(1, 5), (2, 6)]), sum([(2, 6), (1, 5)]));
    }
}
