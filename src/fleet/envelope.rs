//! Records → frames → message values.

use prost::encoding::{WireType, encode_varint};

use super::layout::key;
use crate::config::Framing;

/// The field of an envelope that holds its records.
const RECORDS: u32 = 10;

/// A schema id that no registry was asked for: magic byte, id, message index 0.
const CONFLUENT_HEADER: [u8; 6] = [0, 0, 0, 0, 42, 0];

/// An envelope under way.
#[derive(Debug, Default)]
pub(super) struct Envelope {
    body: Vec<u8>,
}

impl Envelope {
    pub(super) fn push(&mut self, record: &[u8]) {
        self.body.extend(key(RECORDS, WireType::LengthDelimited));
        encode_varint(record.len() as u64, &mut self.body);
        self.body.extend_from_slice(record);
    }

    /// A record whose length says more than is there.
    pub(super) fn push_past_end(&mut self, record: &[u8]) {
        self.body.extend(key(RECORDS, WireType::LengthDelimited));
        encode_varint(record.len() as u64 + 1000, &mut self.body);
        self.body.extend_from_slice(record);
    }

    /// A field that is no record: an envelope of other software, which counts records from field 1.
    pub(super) fn push_foreign(&mut self, record: &[u8]) {
        self.body.extend(key(1, WireType::LengthDelimited));
        encode_varint(record.len() as u64, &mut self.body);
        self.body.extend_from_slice(record);
    }

    pub(super) fn len(&self) -> usize {
        self.body.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.body.is_empty()
    }
}

/// A message value under way.
#[derive(Debug)]
pub(super) struct Value {
    framing: Framing,
    bytes: Vec<u8>,
}

impl Value {
    pub(super) fn new(framing: Framing) -> Self {
        Self { framing, bytes: Vec::new() }
    }

    /// Adds an envelope; one without records adds nothing.
    pub(super) fn add(&mut self, envelope: &Envelope) {
        if !envelope.is_empty() {
            self.add_with_length(envelope, envelope.len());
        }
    }

    /// Adds an envelope without records.
    pub(super) fn add_empty(&mut self) {
        self.add_with_length(&Envelope::default(), 0);
    }

    /// Adds an envelope whose length says more than the message holds.
    pub(super) fn add_past_end(&mut self, envelope: &Envelope) {
        self.add_with_length(envelope, envelope.len() + 10);
    }

    pub(super) fn add_bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn add_with_length(&mut self, envelope: &Envelope, length: usize) {
        match self.framing {
            Framing::Delimited => encode_varint(length as u64, &mut self.bytes),
            Framing::Confluent => self.bytes.extend(CONFLUENT_HEADER),
        }
        self.bytes.extend_from_slice(&envelope.body);
    }
}

/// An envelope with nothing before it.
pub(super) fn bare(envelope: Envelope) -> Vec<u8> {
    envelope.body
}

/// An envelope behind a Confluent header.
pub(super) fn confluent(envelope: &Envelope) -> Vec<u8> {
    [&CONFLUENT_HEADER, envelope.body.as_slice()].concat()
}
