//! A layout compiled onto its table: for each field how its key looks, how its value is read, and where it goes.

use std::collections::HashMap;

use super::read::Read;
use crate::{
    block::{Shape, Slot},
    epoch::{Epoch, Layout, SCHEMA_VERSION, WireType},
};

/// Position of no operation.
pub(super) const NONE: u16 = u16::MAX;

/// Field numbers below this are found by index.
const DIRECT: usize = 4096;

/// One layout, compiled.
#[derive(Debug)]
pub(super) struct Plan {
    /// The fields ascending by number, then two that never match, so that a prediction may always look two further.
    pub ops: Vec<Op>,
    direct: Vec<u16>,
    far: HashMap<u32, u16>,
    /// The epoch that a record of this layout must name.
    pub schema_version: u32,
    /// The signs that a record must show; see [`Op::sign`].
    pub signs: u32,
    /// The number of text columns.
    pub texts: usize,
    /// Whether a record that decodes without a surprise, signs included, surely has this layout.
    pub trusted: bool,
}

/// One field, compiled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Op {
    /// The key's bytes as a little-endian number.
    pub key: u64,
    /// The bits of `key` that count.
    pub key_mask: u64,
    /// Bytes of the key.
    pub key_len: usize,
    /// How the value is read.
    pub read: Read,
    /// The wire type that the value must have.
    pub wire: WireType,
    /// The place of the column's first row in the tile.
    pub offset: usize,
    /// Bytes of the column's values in the tile.
    pub width: usize,
    /// The position of the dictionary, or among the text columns.
    pub part: usize,
    /// The position of the column.
    pub column: usize,
    /// The field number.
    pub number: u32,
    /// The bit of this field among the layout's signs, or 0.
    pub sign: u32,
}

impl Plan {
    /// Compiles `layout` of `epoch`.
    ///
    /// # Panics
    /// If a field does not fit its column; the registry refuses such definitions.
    pub(super) fn new(epoch: &Epoch, layout: &Layout, shape: &Shape) -> Self {
        let mut ops: Vec<Op> = layout
            .fields
            .iter()
            .map(|field| {
                let column_type = &epoch.columns[field.column].column_type;
                let read = match Read::new(field.proto, column_type) {
                    Some(Read::Masked(_)) if field.number == SCHEMA_VERSION => Read::Version,
                    Some(read) => read,
                    None => panic!("field {} ({}) does not fit {column_type}", field.number, field.proto.name()),
                };
                let sign = layout.when.iter().position(|sign| sign.number == field.number).map_or(0, |bit| 1 << bit);
                let slot = shape.slots[field.column];
                let (offset, width) = slot.place().unwrap_or((0, 0));
                let part = match slot {
                    Slot::Fixed { .. } => 0,
                    Slot::Dictionary { dictionary, .. } => dictionary,
                    Slot::Text { text } => text,
                };
                Op {
                    read,
                    offset,
                    width,
                    part,
                    column: field.column,
                    sign,
                    ..Op::of(field.number, field.proto.wire_type())
                }
            })
            .collect();
        // Every layout knows the version's number, or a record of another epoch could pass for this one.
        if !ops.iter().any(|op| op.number == SCHEMA_VERSION) {
            ops.push(Op::of(SCHEMA_VERSION, WireType::Varint));
        }
        ops.sort_by_key(|op| op.number);
        let mut direct = vec![NONE; DIRECT];
        let mut far = HashMap::new();
        for (i, op) in ops.iter().enumerate() {
            let i = u16::try_from(i).expect("a record has fewer than 65535 fields");
            match direct.get_mut(op.number as usize) {
                Some(entry) => *entry = i,
                None => {
                    far.insert(op.number, i);
                }
            }
        }
        ops.extend([Op::never(), Op::never()]);
        let others = epoch.layouts.iter().take_while(|other| other.name != layout.name);
        let trusted = layout.witnesses_its_signs()
            && layout.when.len() < 32
            && others.into_iter().all(|more_specific| layout.excludes(more_specific));
        let signs = (1u32 << layout.when.len().min(31)) - 1;
        Self { ops, direct, far, schema_version: epoch.number, signs, texts: shape.texts.len(), trusted }
    }

    /// What to expect after each operation before any record was seen: the next number, and the lowest one at the start.
    pub(super) fn first_guess(&self) -> Vec<u16> {
        let end = self.ops.len() - 2;
        (0..self.ops.len()).map(|i| if i < end { i as u16 + 1 } else { 0 }).collect()
    }

    /// The position of the operation of a field, or [`NONE`].
    #[inline]
    pub(super) fn find(&self, number: u32) -> u16 {
        match self.direct.get(number as usize) {
            Some(found) => *found,
            None => self.far.get(&number).copied().unwrap_or(NONE),
        }
    }
}

impl Op {
    fn of(number: u32, wire: WireType) -> Self {
        let mut key = Vec::new();
        prost::encoding::encode_varint(u64::from(number) << 3 | wire as u64, &mut key);
        let key_len = key.len();
        key.resize(8, 0);
        Self {
            key: u64::from_le_bytes(key.try_into().expect("eight bytes")),
            key_mask: (1 << (8 * key_len)) - 1,
            key_len,
            read: Read::Version,
            wire,
            offset: 0,
            width: 0,
            part: 0,
            column: 0,
            number,
            sign: 0,
        }
    }

    /// Matches only a key of number 0, which is not allowed, and has no way to be read.
    fn never() -> Self {
        Self { key: 0, key_mask: 0xff, ..Self::of(0, WireType::Len) }
    }
}
