//! Which protobuf type can land in which column type without any value being altered.
//!
//! The one table of pairs: definitions are checked against it, and the decoder has a reader for each pair.

use super::{ColumnType, ProtoType};

impl ProtoType {
    /// Whether every value of this type can be held by `column` as it is. An enum's number without a label and a time out
    /// of range are not altered either: their record is diverted.
    #[must_use]
    pub const fn fits(self, column: &ColumnType) -> bool {
        use ColumnType as C;
        match self {
            Self::Uint32 | Self::Fixed32 => matches!(column, C::UInt32 | C::UInt64 | C::Int64),
            Self::Uint64 | Self::Fixed64 => matches!(column, C::UInt64),
            Self::Int32 | Self::Sint32 | Self::Sfixed32 => matches!(column, C::Int32 | C::Int64),
            Self::Int64 | Self::Sint64 | Self::Sfixed64 => matches!(column, C::Int64 | C::DateTime64 { .. }),
            Self::Bool => matches!(column, C::Bool | C::UInt8),
            Self::Enum => matches!(column, C::Enum8(_) | C::Enum16(_) | C::Int32),
            Self::Float => matches!(column, C::Float32 | C::Float64),
            Self::Double => matches!(column, C::Float64),
            Self::String | Self::Bytes => matches!(column, C::String | C::LowCardinalityString),
            Self::DoubleSeconds => matches!(column, C::DateTime64 { scale: 9, .. }),
        }
    }

    /// The column types that this type fits, for messages.
    #[must_use]
    pub const fn fitting(self) -> &'static str {
        match self {
            Self::Uint32 | Self::Fixed32 => "UInt32, UInt64, Int64",
            Self::Uint64 | Self::Fixed64 => "UInt64",
            Self::Int32 | Self::Sint32 | Self::Sfixed32 => "Int32, Int64",
            Self::Int64 | Self::Sint64 | Self::Sfixed64 => "Int64, DateTime64",
            Self::Bool => "Bool, UInt8",
            Self::Enum => "Enum8, Enum16, Int32",
            Self::Float => "Float32, Float64",
            Self::Double => "Float64",
            Self::String | Self::Bytes => "String, LowCardinality(String)",
            Self::DoubleSeconds => "DateTime64(9)",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::EVERY_TYPE;

    /// Every type there is, by the name that `fitting` gives it.
    fn all() -> Vec<(&'static str, ColumnType)> {
        EVERY_TYPE.map(|(name, text)| (name, ColumnType::parse(text).expect(text))).to_vec()
    }

    #[test]
    fn what_a_message_lists_is_what_fits() {
        for proto in ProtoType::ALL {
            let listed: Vec<&str> = proto.fitting().split(", ").collect();
            for (name, column) in all() {
                let named =
                    listed.contains(&name) || (listed.contains(&"DateTime64") && name.starts_with("DateTime64"));
                assert_eq!(proto.fits(&column), named, "{} into {name}", proto.name());
            }
        }
    }

    #[test]
    fn no_fixed_width_pair_narrows() {
        for proto in ProtoType::ALL {
            let wide = match proto {
                ProtoType::Bool => 1,
                // An enum's width is its labels': a number without a label is diverted, never cut.
                ProtoType::Enum | ProtoType::String | ProtoType::Bytes => continue,
                ProtoType::Uint32 | ProtoType::Int32 | ProtoType::Sint32 => 4,
                ProtoType::Fixed32 | ProtoType::Sfixed32 | ProtoType::Float => 4,
                _ => 8,
            };
            for (name, column) in all().into_iter().filter(|(_, c)| proto.fits(c)) {
                assert!(column.width().is_some_and(|w| w >= wide), "{} into {name}", proto.name());
            }
        }
    }
}
