//! Diverted pieces as rows of the error table.

use std::fmt;

use super::{Message, Reason, decode::Refused, read::Unplaceable, schema::TablePlan};
use crate::{
    block::{INDEX_BYTES, Slot, Strings, Tile},
    epoch::{Epoch, ProtoType},
    wire::{Cut, CutKind, Fault},
};

use crate::epoch::ColumnType;

/// The columns of the error table that a lane fills, in block order. `observed_at` is the server's to fill, or a replayed
/// batch would differ from its first sending.
pub(super) fn columns() -> Vec<(&'static str, ColumnType)> {
    vec![
        ("topic", ColumnType::LowCardinalityString),
        ("partition", ColumnType::UInt64),
        ("offset", ColumnType::UInt64),
        ("err", ColumnType::String),
        ("raw_message", ColumnType::String),
        ("reason", ColumnType::LowCardinalityString),
        ("record", ColumnType::Int32),
        ("byte_offset", ColumnType::UInt64),
        ("schema_version", ColumnType::UInt32),
        ("message_time", ColumnType::DateTime64 { scale: 3, zone: Some("UTC".to_owned()) }),
    ]
}

/// The texts that tell a row of the error table from all others, besides its numbers.
pub(super) const TEXTS: [&str; 2] = ["topic", "reason"];
/// The columns by which few rows of the error table remain: it is sorted by a time that is not sent.
pub(super) const SELECTIVE: [&str; 2] = ["offset", "partition"];

/// A diverted piece.
#[derive(Debug, Clone)]
pub struct Diverted<'a> {
    /// The stable code.
    pub reason: Reason,
    /// The 0-based record in the message, if it is one.
    pub record: Option<u32>,
    /// Where the piece starts in the message.
    pub byte_offset: usize,
    /// The record's `schema_version` as far as it is known.
    pub schema_version: u32,
    /// What was wrong, for people.
    pub error: String,
    /// The piece itself, whole.
    pub raw: &'a [u8],
}

/// Appends a diverted piece as a row of the error table. `tile` must have room.
pub(super) fn append(
    table: &TablePlan,
    tile: &mut Tile,
    strings: &mut Strings,
    topic: &str,
    partition: i32,
    message: Message<'_>,
    piece: &Diverted<'_>,
) {
    enum Value<'a> {
        Number(u64),
        Bytes(&'a [u8]),
    }
    let record = piece.record.map_or(-1, |record| i32::try_from(record).unwrap_or(i32::MAX));
    let values = [
        Value::Bytes(topic.as_bytes()),
        Value::Number(i64::from(partition) as u64),
        Value::Number(message.offset as u64),
        Value::Bytes(piece.error.as_bytes()),
        Value::Bytes(piece.raw),
        Value::Bytes(piece.reason.code().as_bytes()),
        Value::Number(i64::from(record) as u64),
        Value::Number(piece.byte_offset as u64),
        Value::Number(u64::from(piece.schema_version)),
        Value::Number(message.time_ms.unwrap_or(0) as u64),
    ];
    for (slot, value) in table.shape.slots.iter().zip(values) {
        match (*slot, value) {
            (Slot::Fixed { offset, width }, Value::Number(number)) => tile.store(offset, width, number),
            (Slot::Dictionary { offset, dictionary }, Value::Bytes(bytes)) => {
                let index = strings.dictionary_mut(dictionary).index(bytes);
                tile.store(offset, INDEX_BYTES, u64::from(index));
            }
            (Slot::Text { text }, Value::Bytes(bytes)) => strings.push_text(text, bytes, 0, bytes.len()),
            (slot, _) => unreachable!("a value of the error table does not fit {slot:?}"),
        }
    }
    tile.finish_row();
}

/// The reason of bytes that can't be cut into records.
pub(super) const fn cut_reason(cut: &Cut) -> Reason {
    match cut.kind {
        CutKind::LengthUnreadable
        | CutKind::LengthBeyondMessage { .. }
        | CutKind::EmptyFrame
        | CutKind::NoEnvelope { .. }
        | CutKind::NoConfluentHeader => Reason::Framing,
        CutKind::ForeignField { .. } => Reason::EnvelopeField,
        CutKind::RecordBeyondFrame { .. } | CutKind::RecordLengthCutOff => Reason::Truncated,
    }
}

/// The reason of a record that is no protobuf.
pub(super) const fn fault_reason(fault: &Fault) -> Reason {
    if fault.kind.is_truncation() { Reason::Truncated } else { Reason::Malformed }
}

/// The reason of a record that its layout refuses.
pub(super) const fn refused_reason(refused: &Refused) -> Reason {
    match refused {
        Refused::WireType { .. } => Reason::WireType,
        Refused::Value { why: Unplaceable::NoLabel(_), .. } => Reason::EnumValue,
        Refused::Value { why: Unplaceable::Time(_), .. } => Reason::TimeOutOfRange,
    }
}

/// What was wrong with a record that its layout refuses.
pub(super) struct Explained<'a> {
    pub refused: Refused,
    pub epoch: &'a Epoch,
    pub layout: &'a str,
    pub record: u32,
    /// Where the record starts in the message.
    pub record_at: usize,
}

impl fmt::Display for Explained<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { refused, epoch, layout, record, record_at } = self;
        write!(f, "record {record} at byte {record_at} (epoch {}, layout {layout}): ", epoch.number)?;
        match *refused {
            Refused::WireType { number, column, found, expected, at } => {
                let name = column.map_or("schema_version", |column| epoch.columns[column].name.as_str());
                write!(f, "field {number} ({name}) at byte {at} has wire type {found}, expected {expected}")
            }
            Refused::Value { number, column, why } => {
                let column = &epoch.columns[column];
                write!(f, "field {number} ({}) ", column.name)?;
                match why {
                    Unplaceable::NoLabel(value) => {
                        write!(f, "holds {value}, which {} has no label for", column.column_type)
                    }
                    Unplaceable::Time(seconds) => {
                        let proto = ProtoType::DoubleSeconds.name();
                        write!(f, "holds {seconds:?} as {proto}, which {} can't hold", column.column_type)
                    }
                }
            }
        }
    }
}
