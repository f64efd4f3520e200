//! One value of a row, typed for people and for JSON.

use crate::{block::Cell, epoch::ColumnType};

/// A value that is not its column's default.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// An unsigned number.
    Unsigned(u64),
    /// A signed number.
    Signed(i64),
    /// Ticks of a `DateTime64` and the scale: 10^-scale s each.
    Ticks(i64, u8),
    /// The number of an enum and its label.
    Label(i64, String),
    /// A floating-point number.
    Float(f64),
    /// UTF-8 text.
    Text(String),
    /// Bytes: of a `bytes` field, or text that is not UTF-8.
    Bytes(Vec<u8>),
}

impl Value {
    /// The value of a cell, or `None` for the column's default. `bytes` says that the field is of type `bytes`.
    pub(super) fn new(column_type: &ColumnType, bytes: bool, cell: Cell<'_>) -> Option<Self> {
        use ColumnType as C;
        let raw = match cell {
            Cell::Text(text) => {
                return (!text.is_empty()).then(|| match std::str::from_utf8(text) {
                    Ok(text) if !bytes => Self::Text(text.to_owned()),
                    _ => Self::Bytes(text.to_vec()),
                });
            }
            Cell::Fixed(raw) => raw,
        };
        let number = little_endian(raw);
        if number == 0 {
            return None;
        }
        // Sign-extends a value of fewer than eight bytes.
        let unused = 64 - 8 * raw.len();
        let signed = (number << unused) as i64 >> unused;
        let label = |found: Option<&String>| Self::Label(signed, found.cloned().unwrap_or_default());
        Some(match column_type {
            C::Int8 | C::Int16 | C::Int32 | C::Int64 => Self::Signed(signed),
            C::Float32 => Self::Float(f64::from(f32::from_bits(number as u32))),
            C::Float64 => Self::Float(f64::from_bits(number)),
            C::DateTime64 { scale, .. } => Self::Ticks(signed, *scale),
            C::Enum8(labels) => label(labels.iter().find(|(_, v)| i64::from(*v) == signed).map(|(l, _)| l)),
            C::Enum16(labels) => label(labels.iter().find(|(_, v)| i64::from(*v) == signed).map(|(l, _)| l)),
            _ => Self::Unsigned(number),
        })
    }
}

/// A little-endian number of up to eight bytes.
pub(super) fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
