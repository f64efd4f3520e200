//! A reader of good messages, written without the code under test.

use std::collections::BTreeMap;

/// Some numbers of epoch 2: those of a layout never change.
pub(super) mod e2 {
    pub(in super::super) const SCHEMA_VERSION: u64 = 1;
    pub(in super::super) const TIMESTAMP_NS: u64 = 10;
    pub(in super::super) const HOSTNAME: u64 = 20;
    pub(in super::super) const NETNS_INODE: u64 = 31;
    pub(in super::super) const CONTAINER_ID: u64 = 40;
    pub(in super::super) const RECORD_COUNTER: u64 = 60;
    pub(in super::super) const FAMILY: u64 = 1001;
    pub(in super::super) const STATE: u64 = 1002;
    pub(in super::super) const SOURCE: u64 = 1007;
    pub(in super::super) const DESTINATION: u64 = 1008;
    pub(in super::super) const INODE: u64 = 1017;
    pub(in super::super) const TCP_INFO_STATE: u64 = 1201;
    pub(in super::super) const RTT: u64 = 1230;
    pub(in super::super) const BYTES_ACKED: u64 = 1241;
    pub(in super::super) const MIN_RTT: u64 = 1246;
    pub(in super::super) const BYTES_SENT: u64 = 1255;
}

/// A record's fields by number, each with its value's bytes.
#[derive(Debug)]
pub(super) struct Record(BTreeMap<u64, Vec<u8>>);

impl Record {
    pub(super) fn of(record: &[u8]) -> Self {
        Self(fields(record).into_iter().map(|(number, _, value)| (number, value)).collect())
    }

    /// A number; 0 where it is absent.
    pub(super) fn number(&self, field: u64) -> u64 {
        self.0.get(&field).map_or(0, |value| varint(&mut value.as_slice()))
    }

    /// A text; empty where it is absent.
    pub(super) fn bytes(&self, field: u64) -> &[u8] {
        self.0.get(&field).map_or(&[], Vec::as_slice)
    }
}

/// A field: number, wire type, and its value's bytes as they stand.
pub(super) type Field = (u64, u8, Vec<u8>);

/// The records of each frame of a message.
pub(super) fn frames(mut message: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let mut frames = Vec::new();
    while !message.is_empty() {
        let length = varint(&mut message);
        let (frame, rest) = message.split_at(usize::try_from(length).expect("a small number"));
        let records = fields(frame).into_iter().map(|(number, wire, value)| {
            assert_eq!((number, wire), (10, 2), "an envelope holds records alone");
            value
        });
        frames.push(records.collect());
        message = rest;
    }
    frames
}

/// The fields of a record.
pub(super) fn fields(mut record: &[u8]) -> Vec<Field> {
    let mut fields = Vec::new();
    while !record.is_empty() {
        let key = varint(&mut record);
        let wire = u8::try_from(key & 7).expect("three bits");
        let length = match wire {
            0 => record.iter().position(|b| b & 0x80 == 0).expect("an end") + 1,
            1 => 8,
            2 => usize::try_from(varint(&mut record)).expect("a small number"),
            5 => 4,
            other => panic!("wire type {other}"),
        };
        let (value, rest) = record.split_at(length);
        fields.push((key >> 3, wire, value.to_vec()));
        record = rest;
    }
    fields
}

/// Takes a varint off.
pub(super) fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..70).step_by(7) {
        let (byte, rest) = bytes.split_first().expect("one more byte");
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return value;
        }
    }
    panic!("more than ten bytes");
}
