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
    /// The fields ascending by number.
    pub ops: Vec<Op>,
    direct: Vec<u16>,
    far: HashMap<u32, u16>,
    /// The epoch that a record of this layout must name.
    pub schema_version: u32,
    /// The signs that a record must show; see [`Op::sign`].
    pub signs: u32,
    /// The number of spans.
    pub spans: usize,
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
    /// The bits of a plain varint that are stored, or which of the labels below 64 there are.
    pub mask: u64,
    /// Of the eight bytes from the key on: the bits of a plain varint that are stored.
    pub value: u64,
    /// Bytes of the key.
    pub key_len: u8,
    /// How the hot path goes about it.
    pub kind: Kind,
    /// The span that the field is part of, or [`NO_SPAN`].
    pub span: u8,
    /// How the value is read.
    pub read: Read,
    /// The wire type that the value must have.
    pub wire: WireType,
    /// The place of the column's first row in the tile.
    pub offset: u32,
    /// Bytes of the column's values in the tile.
    pub width: u8,
    /// The position of the dictionary, or among the text columns.
    pub part: u16,
    /// The position of the column.
    pub column: u16,
    /// The field number.
    pub number: u32,
    /// The bit of this field among the layout's signs, or 0.
    pub sign: u32,
}

/// The ways of the hot path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A varint whose low bits are stored.
    Varint,
    /// A varint that is stored as it is if it is one of a few: the labels of an enum, or `schema_version`, which must be the
    /// layout's epoch.
    Label,
    /// A varint that is more than that.
    OddVarint,
    Fixed64,
    Fixed32,
    Dictionary,
    Text,
}

/// Of no span.
pub(super) const NO_SPAN: u8 = u8::MAX;

/// So many numbers may stand between two dictionary fields of a span.
const SPAN_GAP: usize = 2;

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
                let wire = field.proto.wire_type();
                let kind = Kind::of(wire, read);
                let op = Op::of(field.number, wire);
                let mask = match read {
                    Read::Masked(mask) | Read::Enum(mask) => mask,
                    Read::Version => 1u64.checked_shl(epoch.number).unwrap_or(0),
                    _ => 0,
                };
                Op {
                    read,
                    kind: if sign > 0 || width == 0 || read == Read::Version && epoch.number >= 64 {
                        kind.odd()
                    } else {
                        kind
                    },
                    mask,
                    value: spread(mask, op.key_len),
                    offset: u32::try_from(offset).expect("a tile is small"),
                    width: width as u8,
                    part: part as u16,
                    column: field.column as u16,
                    sign,
                    ..op
                }
            })
            .collect();
        // Every layout knows the version's number, or a record of another epoch could pass for this one.
        if !ops.iter().any(|op| op.number == SCHEMA_VERSION) {
            ops.push(Op::of(SCHEMA_VERSION, WireType::Varint));
        }
        ops.sort_by_key(|op| op.number);
        let spans = mark_spans(&mut ops);
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
        let others = epoch.layouts.iter().take_while(|other| other.name != layout.name);
        let trusted = layout.witnesses_its_signs()
            && layout.when.len() < 32
            && others.into_iter().all(|more_specific| layout.excludes(more_specific));
        let signs = (1u32 << layout.when.len().min(31)) - 1;
        Self { ops, direct, far, schema_version: epoch.number, signs, spans, texts: shape.texts.len(), trusted }
    }

    /// The operation at a position that [`Plan::find`] gave, or that of a step that matched.
    #[inline(always)]
    pub(super) fn op(&self, index: usize) -> &Op {
        &self.ops[index]
    }

    /// The operation of a field, if the layout defines it.
    #[inline]
    pub(super) fn op_of(&self, number: u32) -> Option<&Op> {
        self.ops.get(usize::from(self.find(number)))
    }

    /// The position of the first operation of that field number or a higher one.
    pub(super) fn first_from(&self, number: u32) -> usize {
        self.ops.partition_point(|op| op.number < number)
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
    /// The width of the column's values in the tile: 2 to the power of this many bytes.
    #[inline(always)]
    pub(super) const fn shift(&self) -> u8 {
        // A string has no width, and is never stored there.
        (if self.width == 0 { 1 } else { self.width }).trailing_zeros() as u8
    }

    fn of(number: u32, wire: WireType) -> Self {
        let mut key = Vec::new();
        prost::encoding::encode_varint(u64::from(number) << 3 | wire as u64, &mut key);
        let key_len = key.len();
        key.resize(8, 0);
        Self {
            key: u64::from_le_bytes(key.try_into().expect("eight bytes")),
            mask: 0,
            value: 0,
            key_len: key_len as u8,
            kind: Kind::of(wire, Read::Version),
            span: NO_SPAN,
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
}

/// Where the bits of a varint under `mask` are in the eight bytes from its key on: seven in each byte behind the key.
fn spread(mask: u64, key_len: u8) -> u64 {
    let key_bits = 8 * u32::from(key_len);
    let bits = 0..(64 - key_bits) / 8 * 7;
    bits.map(|bit| (mask >> bit & 1) << (key_bits + bit + bit / 7)).sum()
}

impl Kind {
    /// The way that takes note of signs.
    const fn odd(self) -> Self {
        match self {
            Self::Varint | Self::Label => Self::OddVarint,
            other => other,
        }
    }

    const fn of(wire: WireType, read: Read) -> Self {
        match (wire, read) {
            (WireType::Varint, Read::Masked(_)) => Self::Varint,
            (WireType::Varint, Read::Enum(_) | Read::Version) => Self::Label,
            (WireType::Varint, _) => Self::OddVarint,
            (WireType::Fixed64, _) => Self::Fixed64,
            (WireType::Fixed32, _) => Self::Fixed32,
            (WireType::Len, Read::Dictionary(_)) => Self::Dictionary,
            (WireType::Len, _) => Self::Text,
        }
    }
}

/// Marks stretches of dictionary fields with few numbers between them. They mostly describe the host, so that the next record
/// repeats them byte for byte. Returns how many there are.
fn mark_spans(ops: &mut [Op]) -> usize {
    let mut spans = 0;
    let mut start = 0;
    while start < ops.len() {
        if ops[start].kind != Kind::Dictionary || ops[start].sign != 0 {
            start += 1;
            continue;
        }
        let mut last = start;
        for (i, op) in ops.iter().enumerate().skip(start + 1) {
            match op.kind {
                Kind::Dictionary if op.sign == 0 => last = i,
                Kind::Varint if i - last <= SPAN_GAP => {}
                _ => break,
            }
        }
        if spans < usize::from(NO_SPAN) {
            ops[start..=last].iter_mut().for_each(|op| op.span = spans as u8);
            spans += 1;
        }
        start = last + 1;
    }
    spans
}
