//! The faults that a fleet can have, and what must come of each: one piece in the error sink.

use crate::lane::Reason;

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // the table says what each is
pub enum Fault {
    TruncatedRecord,
    RecordPastFrame,
    WireType,
    LongVarint,
    FieldZero,
    OpenGroup,
    FramePastMessage,
    TrailingGarbage,
    ZeroLengthFrame,
    BareEnvelope,
    ConfluentHeader,
    EnvelopeField,
    NullMessage,
    EmptyMessage,
    UnknownEpoch,
    EnumValue,
    TimeOutOfRange,
}

/// Where a fault lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In one record: its neighbours are good.
    Record,
    /// Around a frame: frames before it in the message are good.
    Frame,
    /// The whole message.
    Message,
}

/// What there is to know about a fault.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) fault: Fault,
    /// The name on the command line.
    pub(super) name: &'static str,
    /// What the piece is diverted for.
    pub(super) reason: Reason,
    pub(super) place: Place,
    /// Whether it is the same fault when messages stand back to back in a file.
    pub(super) in_file: bool,
    /// What it is.
    pub(super) about: &'static str,
}

#[rustfmt::skip]
pub(super) static FAULTS: [Facts; 17] = {
    use {Fault as F, Place as P, Reason as R};
    const fn of(fault: F, name: &'static str, reason: R, place: P, in_file: bool, about: &'static str) -> Facts {
        Facts { fault, name, reason, place, in_file, about }
    }
    [
        of(F::TruncatedRecord, "truncated_record", R::Truncated, P::Record, true, "a record cut off inside a text"),
        of(F::RecordPastFrame, "record_past_frame", R::Truncated, P::Frame, true, "a record's length beyond its frame; a good frame follows"),
        of(F::WireType, "wrong_wire_type", R::WireType, P::Record, true, "a number sent as text"),
        of(F::LongVarint, "long_varint", R::Malformed, P::Record, true, "a varint of 11 bytes"),
        of(F::FieldZero, "field_zero", R::Malformed, P::Record, true, "field number 0"),
        of(F::OpenGroup, "open_group", R::Malformed, P::Record, true, "a group that doesn't close"),
        of(F::FramePastMessage, "frame_past_message", R::Framing, P::Frame, false, "a frame's length beyond the message, behind a good frame"),
        of(F::TrailingGarbage, "trailing_garbage", R::Framing, P::Frame, false, "bytes that are no frame, behind a good one"),
        of(F::ZeroLengthFrame, "zero_length_frame", R::Framing, P::Frame, false, "a frame of no bytes between two"),
        of(F::BareEnvelope, "bare_envelope", R::Framing, P::Message, false, "an envelope without its length"),
        of(F::ConfluentHeader, "confluent_header", R::Framing, P::Message, false, "a Confluent header and an envelope"),
        of(F::EnvelopeField, "foreign_envelope_field", R::EnvelopeField, P::Frame, true, "an envelope with another field than records, beside a good frame"),
        of(F::NullMessage, "null_message", R::EmptyMessage, P::Message, false, "a message without a value"),
        of(F::EmptyMessage, "no_bytes", R::EmptyMessage, P::Message, false, "a message of no bytes"),
        of(F::UnknownEpoch, "future_epoch", R::UnknownEpoch, P::Record, true, "a `schema_version` without a definition"),
        of(F::EnumValue, "unlabelled_enum", R::EnumValue, P::Record, true, "an enum value without a label"),
        of(F::TimeOutOfRange, "far_time", R::TimeOutOfRange, P::Record, true, "a time that the column can't hold"),
    ]
};

impl Fault {
    pub(super) fn facts(self) -> &'static Facts {
        FAULTS.iter().find(|f| f.fault == self).expect("every fault is in the table")
    }

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// What its piece is diverted for.
    #[must_use]
    pub fn reason(self) -> Reason {
        self.facts().reason
    }

    /// Every fault.
    pub fn all() -> impl Iterator<Item = Self> {
        FAULTS.iter().map(|f| f.fault)
    }
}

/// Every fault by name with its reason, for the help.
#[must_use]
pub fn list() -> String {
    FAULTS.iter().map(|f| format!("  {:<22} {} ({})\n", f.name, f.about, f.reason)).collect()
}
