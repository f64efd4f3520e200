//! What can be wrong with bytes that should be protobuf.

use std::fmt;

/// A place where bytes stop being protobuf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub kind: FaultKind,
    /// The byte at which the broken field, or the broken number, starts.
    pub at: usize,
}

/// What is wrong at that place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The bytes end inside a varint.
    VarintTruncated,
    /// A varint goes on after ten bytes, or holds more than 64 bits.
    VarintTooLong,
    /// A length runs past the end.
    LengthBeyondEnd {
        /// The bytes that were promised.
        length: u64,
        /// The bytes that are left.
        left: usize,
    },
    /// The bytes end inside a value of fixed width.
    FixedTruncated,
    /// Field number 0, or one over 2^29 − 1.
    FieldNumber(u64),
    /// Wire type 6 or 7: there are none.
    NoSuchWireType(u8),
    /// The end of a group that did not start.
    GroupNotOpen(u32),
    /// The bytes end inside a group.
    GroupNotClosed(u32),
    /// Groups nested deeper than any sane message.
    GroupTooDeep,
}

impl FaultKind {
    /// Whether the bytes merely end too early; otherwise they are no protobuf at all.
    #[must_use]
    pub const fn is_truncation(self) -> bool {
        matches!(self, Self::VarintTruncated | Self::LengthBeyondEnd { .. } | Self::FixedTruncated)
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::VarintTruncated => f.write_str("a varint is cut off"),
            Self::VarintTooLong => f.write_str("a varint is longer than 10 bytes or 64 bits"),
            Self::LengthBeyondEnd { length, left } => write!(f, "length {length}, but {left} bytes are left"),
            Self::FixedTruncated => f.write_str("a value of fixed width is cut off"),
            Self::FieldNumber(n) => write!(f, "field number {n} is not allowed (1 to 536870911)"),
            Self::NoSuchWireType(w) => write!(f, "wire type {w} does not exist (0 to 5)"),
            Self::GroupNotOpen(n) => write!(f, "end of group {n}, which did not start"),
            Self::GroupNotClosed(n) => write!(f, "group {n} does not end"),
            Self::GroupTooDeep => f.write_str("groups nested more than 100 deep"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.kind, self.at)
    }
}
