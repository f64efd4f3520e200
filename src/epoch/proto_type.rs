//! Protobuf scalar types as the wire knows them.

/// The wire type of a protobuf key: its low three bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum WireType {
    /// A base-128 number of one to ten bytes.
    Varint = 0,
    /// Eight bytes, little endian.
    Fixed64 = 1,
    /// A varint length and that many bytes.
    Len = 2,
    /// Four bytes, little endian.
    Fixed32 = 5,
}

/// The protobuf type of a field, and how its value is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names are protobuf's own
pub enum ProtoType {
    Int32,
    Int64,
    Uint32,
    Uint64,
    Sint32,
    Sint64,
    Bool,
    Enum,
    Fixed32,
    Fixed64,
    Sfixed32,
    Sfixed64,
    Float,
    Double,
    String,
    Bytes,
    /// A `double` of seconds since 1970, read into a column of nanoseconds. Daemons before 2026-08 sent
    /// `timestamp_ns` like this.
    DoubleSeconds,
}

impl ProtoType {
    /// Every type, in the order in which the documentation lists them.
    pub const ALL: [Self; 17] = [
        Self::Int32,
        Self::Int64,
        Self::Uint32,
        Self::Uint64,
        Self::Sint32,
        Self::Sint64,
        Self::Bool,
        Self::Enum,
        Self::Fixed32,
        Self::Fixed64,
        Self::Sfixed32,
        Self::Sfixed64,
        Self::Float,
        Self::Double,
        Self::String,
        Self::Bytes,
        Self::DoubleSeconds,
    ];

    /// The name in a definition file, which is protobuf's own but for `double_seconds`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Uint32 => "uint32",
            Self::Uint64 => "uint64",
            Self::Sint32 => "sint32",
            Self::Sint64 => "sint64",
            Self::Bool => "bool",
            Self::Enum => "enum",
            Self::Fixed32 => "fixed32",
            Self::Fixed64 => "fixed64",
            Self::Sfixed32 => "sfixed32",
            Self::Sfixed64 => "sfixed64",
            Self::Float => "float",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::DoubleSeconds => "double_seconds",
        }
    }

    /// The type of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name() == name)
    }

    /// The wire type that this type travels as.
    #[must_use]
    pub const fn wire_type(self) -> WireType {
        match self {
            Self::Int32
            | Self::Int64
            | Self::Uint32
            | Self::Uint64
            | Self::Sint32
            | Self::Sint64
            | Self::Bool
            | Self::Enum => WireType::Varint,
            Self::Fixed64 | Self::Sfixed64 | Self::Double | Self::DoubleSeconds => WireType::Fixed64,
            Self::Fixed32 | Self::Sfixed32 | Self::Float => WireType::Fixed32,
            Self::String | Self::Bytes => WireType::Len,
        }
    }
}
