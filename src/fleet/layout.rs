//! Values → the bytes of one record, by one layout of one epoch.

use prost::encoding::{WireType as ProstWireType, encode_key, encode_varint};

use super::{
    checksum::Checksum,
    columns::{Columns, Slot},
    values::Values,
};
use crate::epoch::{Layout, ProtoType, Registry, WireType};

/// A layout, made ready to write records.
#[derive(Debug)]
pub(super) struct Writer {
    /// The epoch's number.
    pub(super) epoch: u32,
    /// The layout's name.
    pub(super) name: String,
    /// The table of the epoch.
    pub(super) table: String,
    steps: Vec<Step>,
    unused: Vec<u32>,
    labels: Option<Label>,
}

/// One field.
#[derive(Debug)]
struct Step {
    number: u32,
    key: Vec<u8>,
    proto: ProtoType,
    slot: Slot,
    column: usize,
}

/// An enum field and a number that has no label.
#[derive(Debug, Clone, Copy)]
struct Label {
    number: u32,
    unlabelled: u64,
}

impl Writer {
    /// All layouts: the newest epoch first, in an epoch its default layout first.
    pub(super) fn all(registry: &Registry, columns: &Columns<'_>) -> Vec<Self> {
        let epochs = registry.epochs().iter().enumerate().rev();
        epochs
            .flat_map(|(index, epoch)| epoch.layouts.iter().rev().map(move |layout| (index, layout)))
            .map(|(index, layout)| Self::new(registry, columns, index, layout))
            .collect()
    }

    fn new(registry: &Registry, columns: &Columns<'_>, index: usize, layout: &Layout) -> Self {
        let epoch = &registry.epochs()[index];
        let slots = columns.of_epoch(index);
        let steps = layout.fields.iter().map(|field| {
            let key = key(field.number, prost(field.proto.wire_type()));
            Step { number: field.number, key, proto: field.proto, slot: slots[field.column], column: field.column }
        });
        // A number that means something in another layout of the epoch could turn the record into one of that layout.
        let taken = |number: &u32| {
            epoch
                .layouts
                .iter()
                .any(|l| l.fields.iter().any(|f| f.number == *number) || l.when.iter().any(|c| c.number == *number))
        };
        let labels = layout.fields.iter().find_map(|field| {
            let labels: Vec<u64> = match &epoch.columns[field.column].column_type {
                crate::epoch::ColumnType::Enum8(labels) => {
                    labels.iter().filter_map(|(_, v)| u64::try_from(*v).ok()).collect()
                }
                crate::epoch::ColumnType::Enum16(labels) => {
                    labels.iter().filter_map(|(_, v)| u64::try_from(*v).ok()).collect()
                }
                _ => return None,
            };
            let unlabelled = (1..).find(|value| !labels.contains(value))?;
            Some(Label { number: field.number, unlabelled })
        });
        Self {
            epoch: epoch.number,
            name: layout.name.clone(),
            table: epoch.table.name.clone(),
            steps: steps.collect(),
            unused: (5..).filter(|number| !taken(number)).take(4).collect(),
            labels,
        }
    }

    /// Appends the record to `out`.
    pub(super) fn write(&self, values: &Values, out: &mut Vec<u8>) {
        for step in &self.steps {
            step.write(values, out);
        }
    }

    /// As [`Writer::write`], with one field after all others.
    pub(super) fn write_with_last(&self, last: Slot, values: &Values, out: &mut Vec<u8>) {
        let (last, first): (Vec<_>, Vec<_>) = self.steps.iter().partition(|s| s.slot == last);
        for step in first.into_iter().chain(last) {
            step.write(values, out);
        }
    }

    /// Appends the record up to its last text, with the text's last byte missing.
    pub(super) fn write_truncated(&self, values: &Values, out: &mut Vec<u8>) {
        let text = |step: &Step| step.proto.wire_type() == WireType::Len && !values.text(step.slot).is_empty();
        if let Some(last) = self.steps.iter().rposition(text) {
            for step in &self.steps[..=last] {
                step.write(values, out);
            }
            out.pop();
        }
    }

    /// Adds the row of that number to the sums of its table.
    pub(super) fn sum(&self, values: &Values, number: u64, checksum: &mut Checksum) {
        for step in &self.steps {
            checksum.add(step.column, step.proto, values, step.slot, number);
        }
    }

    /// The number of the field of that slot, if the layout has it.
    pub(super) fn number(&self, slot: Slot) -> Option<u32> {
        self.steps.iter().find(|s| s.slot == slot).map(|s| s.number)
    }

    /// The protobuf type of the field of that slot.
    pub(super) fn proto(&self, slot: Slot) -> Option<ProtoType> {
        self.steps.iter().find(|s| s.slot == slot).map(|s| s.proto)
    }

    /// Numbers that no layout of the epoch uses.
    pub(super) fn unused(&self) -> &[u32] {
        &self.unused
    }

    /// The number of an enum field and a value without a label, if the layout has an enum.
    pub(super) fn unlabelled(&self) -> Option<(u32, u64)> {
        self.labels.map(|label| (label.number, label.unlabelled))
    }
}

impl Step {
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_precision_loss)]
    // a value is stored as the 64 bits that its type takes the low ones of
    fn write(&self, values: &Values, out: &mut Vec<u8>) {
        if self.proto.wire_type() == WireType::Len {
            let text = values.text(self.slot);
            if !text.is_empty() {
                out.extend_from_slice(&self.key);
                encode_varint(text.len() as u64, out);
                out.extend_from_slice(text);
            }
            return;
        }
        let value = values.number(self.slot);
        if value == 0 {
            return;
        }
        out.extend_from_slice(&self.key);
        match self.proto {
            ProtoType::Int32 | ProtoType::Enum => encode_varint(i64::from(value as i32) as u64, out),
            ProtoType::Uint32 => encode_varint(u64::from(value as u32), out),
            ProtoType::Int64 | ProtoType::Uint64 => encode_varint(value, out),
            ProtoType::Sint32 => {
                let value = value as i32;
                encode_varint(u64::from(((value << 1) ^ (value >> 31)) as u32), out);
            }
            ProtoType::Sint64 => {
                let value = value as i64;
                encode_varint(((value << 1) ^ (value >> 63)) as u64, out);
            }
            ProtoType::Bool => out.push(1),
            ProtoType::Fixed32 | ProtoType::Sfixed32 => out.extend_from_slice(&(value as u32).to_le_bytes()),
            ProtoType::Fixed64 | ProtoType::Sfixed64 => out.extend_from_slice(&value.to_le_bytes()),
            ProtoType::Float => out.extend_from_slice(&(value as f32).to_le_bytes()),
            ProtoType::Double => out.extend_from_slice(&(value as f64).to_le_bytes()),
            ProtoType::DoubleSeconds => out.extend_from_slice(&(value as i64 as f64 / 1e9).to_le_bytes()),
            ProtoType::String | ProtoType::Bytes => unreachable!("handled above"),
        }
    }
}

/// The bytes of a field's key.
pub(super) fn key(number: u32, wire: ProstWireType) -> Vec<u8> {
    let mut key = Vec::new();
    encode_key(number, wire, &mut key);
    key
}

fn prost(wire: WireType) -> ProstWireType {
    match wire {
        WireType::Varint => ProstWireType::Varint,
        WireType::Fixed64 => ProstWireType::SixtyFourBit,
        WireType::Len => ProstWireType::LengthDelimited,
        WireType::Fixed32 => ProstWireType::ThirtyTwoBit,
    }
}
