//! The ClickHouse column types that a record's field can land in.

use std::fmt;

/// A column type. `Display` gives the canonical text, as the server itself reports the type.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // the names are ClickHouse's own
pub enum ColumnType {
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Int8,
    Int16,
    Int32,
    Int64,
    Float32,
    Float64,
    Bool,
    /// Bytes: ClickHouse's `String` is not text.
    String,
    LowCardinalityString,
    /// Seconds since 1970 as `UInt32`; the zone only matters for display.
    DateTime {
        zone: Option<String>,
    },
    /// Ticks of 10^-`scale` s since 1970 as `Int64`.
    DateTime64 {
        scale: u8,
        zone: Option<String>,
    },
    /// Labels ascending by value.
    Enum8(Vec<(String, i8)>),
    /// Labels ascending by value.
    Enum16(Vec<(String, i16)>),
}

impl ColumnType {
    /// The numbers that have a label, ascending; none for types that are no enum.
    #[must_use]
    pub fn enum_numbers(&self) -> Vec<i16> {
        match self {
            Self::Enum8(labels) => labels.iter().map(|(_, number)| i16::from(*number)).collect(),
            Self::Enum16(labels) => labels.iter().map(|(_, number)| *number).collect(),
            _ => Vec::new(),
        }
    }

    /// Bytes of one value in a Native block; `None` for those of varying length.
    #[must_use]
    pub const fn width(&self) -> Option<usize> {
        match self {
            Self::UInt8 | Self::Int8 | Self::Bool | Self::Enum8(_) => Some(1),
            Self::UInt16 | Self::Int16 | Self::Enum16(_) => Some(2),
            Self::UInt32 | Self::Int32 | Self::Float32 | Self::DateTime { .. } => Some(4),
            Self::UInt64 | Self::Int64 | Self::Float64 | Self::DateTime64 { .. } => Some(8),
            Self::String | Self::LowCardinalityString => None,
        }
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UInt8 => f.write_str("UInt8"),
            Self::UInt16 => f.write_str("UInt16"),
            Self::UInt32 => f.write_str("UInt32"),
            Self::UInt64 => f.write_str("UInt64"),
            Self::Int8 => f.write_str("Int8"),
            Self::Int16 => f.write_str("Int16"),
            Self::Int32 => f.write_str("Int32"),
            Self::Int64 => f.write_str("Int64"),
            Self::Float32 => f.write_str("Float32"),
            Self::Float64 => f.write_str("Float64"),
            Self::Bool => f.write_str("Bool"),
            Self::String => f.write_str("String"),
            Self::LowCardinalityString => f.write_str("LowCardinality(String)"),
            Self::DateTime { zone: None } => f.write_str("DateTime"),
            Self::DateTime { zone: Some(zone) } => write!(f, "DateTime('{zone}')"),
            Self::DateTime64 { scale, zone: None } => write!(f, "DateTime64({scale})"),
            Self::DateTime64 { scale, zone: Some(zone) } => write!(f, "DateTime64({scale}, '{zone}')"),
            Self::Enum8(labels) => write_enum(f, "Enum8", labels),
            Self::Enum16(labels) => write_enum(f, "Enum16", labels),
        }
    }
}

fn write_enum<V: fmt::Display>(f: &mut fmt::Formatter<'_>, name: &str, labels: &[(String, V)]) -> fmt::Result {
    write!(f, "{name}(")?;
    for (i, (label, value)) in labels.iter().enumerate() {
        let comma = if i == 0 { "" } else { ", " };
        write!(f, "{comma}'{}' = {value}", label.replace('\\', "\\\\").replace('\'', "\\'"))?;
    }
    f.write_str(")")
}
