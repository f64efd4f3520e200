//! Records of any layout, legal and odd: what a fuzzer would write if it knew the definitions.

use proptest::prelude::*;

use crate::epoch::{ProtoType, Registry, SCHEMA_VERSION, WireType};

/// How to build one record.
#[derive(Debug, Clone)]
pub(super) struct Recipe {
    /// Chooses epoch and layout.
    layout: usize,
    /// How the version is told: 0 first, 1 last, 2 not at all, 3 another one first and the right one last, 4 a foreign one.
    version: u8,
    /// Whether the fields go in ascending order, each once, as daemons send them.
    plain: bool,
    fields: Vec<Ingredient>,
}

/// One field.
#[derive(Debug, Clone)]
struct Ingredient {
    /// Chooses the field of the layout.
    field: usize,
    raw: u64,
    /// 0 to 9: a field of the layout as it should be; 10 padded; 11 unknown; 12 another wire type; 13 a group.
    oddity: u8,
    bytes: Vec<u8>,
}

fn ingredient() -> impl Strategy<Value = Ingredient> {
    let raw = prop_oneof![
        4 => 0u64..8,
        2 => 0u64..100_000,
        1 => Just(u64::MAX),
        1 => Just(u64::from(u32::MAX)),
        1 => (0u32..64).prop_map(|bit| 1 << bit),
        1 => any::<u64>(),
    ];
    let text = prop_oneof![
        2 => Just(Vec::new()),
        6 => "[a-c]{1,3}".prop_map(String::into_bytes),
        2 => "[a-z]{8,40}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..20),
        1 => prop::collection::vec(Just(b'x'), 120..300),
    ];
    (any::<usize>(), raw, 0u8..14, text).prop_map(|(field, raw, oddity, bytes)| Ingredient {
        field,
        raw,
        oddity,
        bytes,
    })
}

pub(super) fn recipe() -> impl Strategy<Value = Recipe> {
    (any::<usize>(), 0u8..5, any::<bool>(), prop::collection::vec(ingredient(), 0..30))
        .prop_map(|(layout, version, plain, fields)| Recipe { layout, version, plain, fields })
}

fn varint(number: u64, padding: usize, out: &mut Vec<u8>) {
    prost::encoding::encode_varint(number, out);
    let length = prost::encoding::encoded_len_varint(number);
    for _ in 0..padding.min(10 - length) {
        *out.last_mut().expect("a byte") |= 0x80;
        out.push(0);
    }
}

fn key(number: u32, wire: u8, out: &mut Vec<u8>) {
    varint(u64::from(number) << 3 | u64::from(wire), 0, out);
}

impl Recipe {
    /// The record's bytes.
    pub(super) fn encode(&self, registry: &Registry) -> Vec<u8> {
        let layouts: Vec<_> = registry.epochs().iter().flat_map(|e| e.layouts.iter().map(move |l| (e, l))).collect();
        let (epoch, layout) = layouts[self.layout % layouts.len()];
        let version = |number: u32, out: &mut Vec<u8>| {
            key(SCHEMA_VERSION, 0, out);
            varint(u64::from(number), 0, out);
        };
        let mut record = Vec::new();
        match self.version {
            0 if epoch.number > 0 => version(epoch.number, &mut record),
            3 => version(epoch.number + 1, &mut record),
            4 => version(77, &mut record),
            _ => {}
        }
        // The signs of a layout are in nearly every record that has it.
        for sign in &layout.when {
            key(sign.number, sign.wire as u8, &mut record);
            match sign.wire {
                WireType::Varint => varint(2, 0, &mut record),
                WireType::Fixed64 => record.extend(1.5e9f64.to_le_bytes()),
                other => unreachable!("no layout is told by {other:?}"),
            }
        }
        let mut fields = self.fields.clone();
        if self.plain {
            fields.iter_mut().for_each(|field| field.oddity = 0);
            fields.sort_by_key(|field| field.field % layout.fields.len());
            fields.dedup_by_key(|field| field.field % layout.fields.len());
        }
        for ingredient in &fields {
            let field = layout.fields[ingredient.field % layout.fields.len()];
            let padding = if ingredient.oddity == 10 { 1 + ingredient.field % 4 } else { 0 };
            let (number, wire) = match ingredient.oddity {
                11 => (3000 + ingredient.field as u32 % 70_000, field.proto.wire_type() as u8),
                12 => (field.number, [0, 1, 2, 5][ingredient.field % 4]),
                13 => {
                    let group = 40_000 + ingredient.field as u32 % 5;
                    key(group, 3, &mut record);
                    key(7, 0, &mut record);
                    varint(ingredient.raw, 0, &mut record);
                    key(group, 4, &mut record);
                    continue;
                }
                _ => (field.number, field.proto.wire_type() as u8),
            };
            if number == SCHEMA_VERSION {
                continue;
            }
            varint(u64::from(number) << 3 | u64::from(wire), padding.min(2), &mut record);
            let raw = match field.proto {
                ProtoType::DoubleSeconds => (ingredient.raw as f64 / 7.0).to_bits(),
                _ => ingredient.raw,
            };
            match wire {
                0 => varint(raw, padding, &mut record),
                1 => record.extend(raw.to_le_bytes()),
                5 => record.extend((raw as u32).to_le_bytes()),
                _ => {
                    varint(ingredient.bytes.len() as u64, padding, &mut record);
                    record.extend(&ingredient.bytes);
                }
            }
        }
        if self.version == 3 || (self.version == 1 && epoch.number > 0) {
            version(epoch.number, &mut record);
        }
        record
    }
}

/// A message of one frame that holds these records.
pub(super) fn envelope(records: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut envelope = Vec::new();
    for record in records {
        key(crate::wire::ENVELOPE_RECORDS, 2, &mut envelope);
        varint(record.len() as u64, 0, &mut envelope);
        envelope.extend(record);
    }
    let mut message = Vec::new();
    varint(envelope.len() as u64, 0, &mut message);
    message.extend(envelope);
    message
}
