//! Why bytes of a message can't be cut into records, and how that is told.

use std::fmt;

use super::ENVELOPE_RECORDS;

/// Why a piece can't be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// What kind of fault it is.
    pub kind: CutKind,
    /// Where the piece starts in the message.
    pub at: usize,
    /// The 0-based frame in the message.
    pub frame: u32,
    /// The usual mistake that this looks like.
    pub hint: Option<Hint>,
}

/// The kinds of fault between message and record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutKind {
    /// The frame's length is no varint.
    LengthUnreadable,
    /// The frame's length runs past the message.
    LengthBeyondMessage {
        /// The bytes that were promised.
        length: u64,
        /// The bytes that are left.
        left: usize,
    },
    /// A frame of no bytes beside others.
    EmptyFrame,
    /// The frame's bytes are no envelope.
    NoEnvelope {
        /// Where in the message it shows.
        at: usize,
        /// The key that stands there, as far as it can be read.
        key: u64,
        /// By what it shows.
        why: NoEnvelope,
    },
    /// No Confluent header where one is expected.
    NoConfluentHeader,
    /// The envelope holds another field than its records.
    ForeignField {
        /// The field number.
        number: u32,
        /// Its wire type.
        wire: u8,
        /// Where in the message it starts.
        at: usize,
    },
    /// A record's length runs past its frame.
    RecordBeyondFrame {
        /// The bytes that were promised.
        length: u64,
        /// The bytes that are left.
        left: usize,
    },
    /// The frame ends inside a record's length.
    RecordLengthCutOff,
}

/// What bytes have that no envelope has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoEnvelope {
    /// All of the message is an envelope that nobody put a length before.
    IsBare,
    /// A key is cut off.
    KeyCutOff,
    /// A key or length is longer than a varint may be.
    VarintTooLong,
    /// A field number that protobuf doesn't have.
    FieldNumber,
    /// A wire type that protobuf doesn't have.
    WireType,
    /// The end of a group that did not start.
    GroupEnd,
}

/// The usual mistakes of producers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// The message is an envelope without a length before it.
    NoLengthPrefix,
    /// The message starts with a Confluent wire-format header.
    ConfluentHeader,
    /// The frame holds another frame: the length was written twice.
    DoubleLengthPrefix,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "frame {} at byte {}: ", self.frame, self.at)?;
        match self.kind {
            CutKind::LengthUnreadable => f.write_str("its length is no varint")?,
            CutKind::LengthBeyondMessage { length, left } => {
                write!(f, "its length is {length}, but {left} bytes are left in the message")?;
            }
            CutKind::EmptyFrame => f.write_str("its length is 0, and the message holds more than that")?,
            CutKind::NoEnvelope { at, key, why } => {
                f.write_str("its bytes are no envelope")?;
                let (number, wire) = (key >> 3, key & 7);
                match why {
                    NoEnvelope::IsBare => {}
                    NoEnvelope::KeyCutOff => write!(f, ": the key at byte {at} is cut off")?,
                    NoEnvelope::VarintTooLong => {
                        write!(f, ": the varint at byte {at} is longer than 10 bytes or 64 bits")?;
                    }
                    NoEnvelope::FieldNumber => {
                        write!(f, ": field number {number} at byte {at} is not allowed (1 to 536870911)")?;
                    }
                    NoEnvelope::WireType => {
                        write!(f, ": field {number} at byte {at} has wire type {wire}, which does not exist (0 to 5)")?;
                    }
                    NoEnvelope::GroupEnd => {
                        write!(f, ": field {number} at byte {at} ends a group that did not start")?;
                    }
                }
            }
            CutKind::NoConfluentHeader => {
                f.write_str("no Confluent header (a 0 byte, 4 bytes of schema id, message indexes)")?
            }
            CutKind::ForeignField { number, wire, at } => {
                write!(
                    f,
                    "the envelope holds field {number} of wire type {wire} at byte {at}; only field {ENVELOPE_RECORDS} of wire type 2 belongs there"
                )?;
            }
            CutKind::RecordBeyondFrame { length, left } => {
                write!(f, "a record's length is {length}, but {left} bytes are left in the frame")?;
            }
            CutKind::RecordLengthCutOff => f.write_str("the frame ends inside a record's length")?,
        }
        match self.hint {
            None => Ok(()),
            Some(Hint::NoLengthPrefix) => f.write_str("; looks like an envelope without a length prefix"),
            Some(Hint::ConfluentHeader) => {
                f.write_str("; looks like a Confluent header (set kafka.framing = \"confluent\" to read such messages)")
            }
            Some(Hint::DoubleLengthPrefix) => f.write_str("; looks like a length prefix written twice"),
        }
    }
}
