//! How a value on the wire becomes the bits in its column: by protobuf type and column type.

use crate::epoch::{ColumnType, ProtoType};

/// The way from a raw value to the bits that are stored. Raw is what the wire holds: a varint, or the little-endian bits of
/// a fixed-width value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Read {
    /// The low bits under the mask.
    Masked(u64),
    /// The low 32 bits, sign-extended.
    Signed32,
    /// Any bit set is true.
    Bool,
    /// Zigzag of the low 32 bits, sign-extended, under the mask.
    ZigZag32(u64),
    /// Zigzag.
    ZigZag64,
    /// The low 32 bits as a label's number: below 64 by bit, else by the list of labels.
    Enum(u64),
    /// The bits of a float, widened.
    FloatToDouble,
    /// A double of seconds, to nanoseconds.
    Seconds,
    /// An index into a dictionary. `true` for text, whose encoding is watched.
    Dictionary(bool),
    /// The bytes themselves. `true` for text, whose encoding is watched.
    Text(bool),
    /// `schema_version`: the low 32 bits, which the epoch must agree with; stored if there is a column for it.
    Version,
}

/// Why a value that is well-formed can't be stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Unplaceable {
    /// The column has no label for the number.
    NoLabel(i32),
    /// The time does not fit the column.
    Time(f64),
}

impl Read {
    /// The way from `proto` to `column`, or `None` where some value would be altered.
    pub(super) fn new(proto: ProtoType, column: &ColumnType) -> Option<Self> {
        use ColumnType as C;
        use ProtoType as P;
        const LOW32: u64 = u32::MAX as u64;
        Some(match (proto, column) {
            (P::Uint32 | P::Fixed32, C::UInt32 | C::UInt64 | C::Int64) => Self::Masked(LOW32),
            (P::Uint64 | P::Fixed64, C::UInt64) | (P::Int64 | P::Sfixed64, C::Int64 | C::DateTime64 { .. }) => {
                Self::Masked(u64::MAX)
            }
            (P::Double, C::Float64) => Self::Masked(u64::MAX),
            (P::Float, C::Float32) => Self::Masked(LOW32),
            (P::Float, C::Float64) => Self::FloatToDouble,
            (P::Int32 | P::Sfixed32 | P::Enum, C::Int32) => Self::Masked(LOW32),
            (P::Int32 | P::Sfixed32, C::Int64) => Self::Signed32,
            (P::Sint32, C::Int32) => Self::ZigZag32(LOW32),
            (P::Sint32, C::Int64) => Self::ZigZag32(u64::MAX),
            (P::Sint64, C::Int64 | C::DateTime64 { .. }) => Self::ZigZag64,
            (P::Bool, C::Bool | C::UInt8) => Self::Bool,
            (P::Enum, C::Enum8(labels)) => Self::Enum(label_bits(labels.iter().map(|(_, value)| i32::from(*value)))),
            (P::Enum, C::Enum16(labels)) => Self::Enum(label_bits(labels.iter().map(|(_, value)| i32::from(*value)))),
            (P::DoubleSeconds, C::DateTime64 { scale: 9, .. }) => Self::Seconds,
            (P::String, C::LowCardinalityString) => Self::Dictionary(true),
            (P::Bytes, C::LowCardinalityString) => Self::Dictionary(false),
            (P::String, C::String) => Self::Text(true),
            (P::Bytes, C::String) => Self::Text(false),
            _ => return None,
        })
    }

    /// The bits to store for a raw number.
    ///
    /// # Errors
    /// [`Unplaceable`] where the column can't hold the value. Labels of 64 and more, and negative ones, are looked up by
    /// `has_label`.
    #[inline]
    pub(super) fn convert(self, raw: u64, has_label: impl FnOnce(i32) -> bool) -> Result<u64, Unplaceable> {
        Ok(match self {
            Self::Masked(mask) => raw & mask,
            Self::Signed32 => i64::from(raw as u32 as i32) as u64,
            Self::Bool => u64::from(raw != 0),
            Self::ZigZag32(mask) => {
                let low = raw as u32;
                i64::from((low >> 1) as i32 ^ -((low & 1) as i32)) as u64 & mask
            }
            Self::ZigZag64 => (raw >> 1) ^ (raw & 1).wrapping_neg(),
            Self::Enum(bits) => {
                let number = raw as u32 as i32;
                let known = if (0..64).contains(&number) { bits >> number & 1 == 1 } else { has_label(number) };
                if !known {
                    return Err(Unplaceable::NoLabel(number));
                }
                number as u64
            }
            Self::FloatToDouble => f64::from(f32::from_bits(raw as u32)).to_bits(),
            Self::Seconds => nanoseconds(f64::from_bits(raw))? as u64,
            Self::Version => raw & u64::from(u32::MAX),
            Self::Dictionary(_) | Self::Text(_) => raw,
        })
    }
}

fn label_bits(values: impl Iterator<Item = i32>) -> u64 {
    values.filter(|value| (0..64).contains(value)).fold(0, |bits, value| bits | 1 << value)
}

/// Seconds as nanoseconds, rounded to the nearest.
fn nanoseconds(seconds: f64) -> Result<i64, Unplaceable> {
    const PER_SECOND: f64 = 1e9;
    let whole = seconds.floor();
    // Whole seconds are exact as an integer, and so is the fraction that is left of them; only its product is rounded. The
    // cast saturates, far beyond what fits in the end.
    let nanoseconds = i128::from(whole as i64) * PER_SECOND as i128 + ((seconds - whole) * PER_SECOND).round() as i128;
    match i64::try_from(nanoseconds) {
        Ok(nanoseconds) if seconds.is_finite() => Ok(nanoseconds),
        _ => Err(Unplaceable::Time(seconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::EVERY_TYPE;

    #[test]
    fn seconds_keep_their_fraction() {
        assert_eq!(nanoseconds(1_750_000_000.25), Ok(1_750_000_000_250_000_000));
        assert_eq!(nanoseconds(-0.5), Ok(-500_000_000));
        assert_eq!(nanoseconds(0.0), Ok(0));
        assert_eq!(nanoseconds(-9_223_372_036.5), Ok(-9_223_372_036_500_000_000));
        // The neighbours of a quarter second: never off by more than the double itself is.
        let seconds = 1_790_000_000.123_456_7;
        let nanos = nanoseconds(seconds).expect("in range");
        assert!((nanos - 1_790_000_000_123_456_700).abs() < 240, "{nanos}");
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e10, -1e10, 1e300] {
            assert!(matches!(nanoseconds(bad), Err(Unplaceable::Time(_))), "{bad}");
        }
        assert_eq!(nanoseconds(9_223_372_036.0), Ok(9_223_372_036_000_000_000));
    }

    /// The definitions allow exactly the pairs that there is a way for.
    #[test]
    fn every_allowed_pair_has_a_way() {
        for column in EVERY_TYPE.map(|(_, text)| ColumnType::parse(text).expect("a type")) {
            for proto in ProtoType::ALL {
                assert_eq!(Read::new(proto, &column).is_some(), proto.fits(&column), "{} into {column}", proto.name());
            }
        }
    }

    #[test]
    fn integers_are_read_as_protobuf_says() {
        let convert = |read: Read, raw| read.convert(raw, |_| false);
        assert_eq!(convert(Read::Masked(u64::from(u32::MAX)), 0x1_0000_0005), Ok(5));
        assert_eq!(convert(Read::Signed32, u64::MAX), Ok(u64::MAX));
        assert_eq!(convert(Read::Signed32, 0xffff_fffe), Ok((-2i64) as u64));
        assert_eq!(convert(Read::ZigZag32(u64::MAX), 3), Ok((-2i64) as u64));
        assert_eq!(convert(Read::ZigZag32(u64::from(u32::MAX)), 3), Ok(0xffff_fffe));
        assert_eq!(convert(Read::ZigZag64, u64::MAX), Ok(i64::MIN as u64));
        assert_eq!(convert(Read::Bool, 0x100), Ok(1));
        assert_eq!(convert(Read::Enum(0b1011), 3), Ok(3));
        assert_eq!(convert(Read::Enum(0b1011), 2), Err(Unplaceable::NoLabel(2)));
        assert_eq!(convert(Read::Enum(0b1011), u64::MAX), Err(Unplaceable::NoLabel(-1)));
        assert_eq!(Read::Enum(1).convert(u64::MAX, |n| n == -1), Ok(u64::MAX));
    }
}
