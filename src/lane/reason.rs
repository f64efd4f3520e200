//! Why a piece of a message was diverted.

use std::fmt;

/// The stable code of a diverted piece, as the error table's `reason` column shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// A length runs past the end of its record or frame.
    Truncated,
    /// A field that the layout defines came with another wire type.
    WireType,
    /// No protobuf: a varint over ten bytes, field number 0, a group that doesn't close.
    Malformed,
    /// The message can't be cut into frames here.
    Framing,
    /// The envelope holds another field than its records.
    EnvelopeField,
    /// The message has no value, or one of no bytes.
    EmptyMessage,
    /// `schema_version` names an epoch without a definition.
    UnknownEpoch,
    /// An enum field holds a number that its column has no label for.
    EnumValue,
    /// A time that its column can't hold.
    TimeOutOfRange,
    /// The server refuses the row, alone as well as among others.
    RefusedByServer,
}

impl Reason {
    /// Every reason, in the order of the documentation.
    pub const ALL: [Self; 10] = [
        Self::Truncated,
        Self::WireType,
        Self::Malformed,
        Self::Framing,
        Self::EnvelopeField,
        Self::EmptyMessage,
        Self::UnknownEpoch,
        Self::EnumValue,
        Self::TimeOutOfRange,
        Self::RefusedByServer,
    ];

    /// The code itself: never changes once released.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::WireType => "wire_type",
            Self::Malformed => "malformed",
            Self::Framing => "framing",
            Self::EnvelopeField => "envelope_field",
            Self::EmptyMessage => "empty_message",
            Self::UnknownEpoch => "unknown_epoch",
            Self::EnumValue => "enum_value",
            Self::TimeOutOfRange => "time_out_of_range",
            Self::RefusedByServer => "refused_by_server",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}
