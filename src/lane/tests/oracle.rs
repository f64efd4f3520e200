//! Protobuf's own reading of a record, by message types that are built from each layout's definition.

use std::sync::LazyLock;

use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, Value as Read};
use prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet,
    field_descriptor_proto::{Label, Type},
};

use crate::{
    epoch::{Column, ColumnType, Epoch, Layout, ProtoType, Registry, load},
    inspect::Value,
};

/// One message type per layout of the embedded definitions.
pub(super) struct Oracle {
    pool: DescriptorPool,
}

/// What shows epoch and signs of any record, since no layout has a field there that could be misread.
const BARE: &str = "Bare";

/// A table and the values that are not defaults.
type Placed = (String, Vec<(String, Value)>);

fn type_name(epoch: &Epoch, layout: &Layout) -> String {
    format!("E{}_{}", epoch.number, layout.name)
}

impl Oracle {
    pub(super) fn shared() -> &'static Self {
        static ORACLE: LazyLock<Oracle> = LazyLock::new(|| Oracle::new(&load::embedded().expect("definitions")));
        &ORACLE
    }

    fn new(registry: &Registry) -> Self {
        let mut messages = vec![DescriptorProto { name: Some(BARE.to_owned()), ..Default::default() }];
        for epoch in registry.epochs() {
            for layout in &epoch.layouts {
                let field = |field: &crate::epoch::Field| FieldDescriptorProto {
                    name: Some(epoch.columns[field.column].name.clone()),
                    number: Some(field.number.cast_signed()),
                    label: Some(Label::Optional.into()),
                    r#type: Some(protobuf_type(field.proto).into()),
                    ..Default::default()
                };
                messages.push(DescriptorProto {
                    name: Some(type_name(epoch, layout)),
                    field: layout.fields.iter().map(field).collect(),
                    ..Default::default()
                });
            }
        }
        let file = FileDescriptorProto {
            name: Some("layouts.proto".to_owned()),
            message_type: messages,
            syntax: Some("proto3".to_owned()),
            ..Default::default()
        };
        let pool =
            DescriptorPool::from_file_descriptor_set(FileDescriptorSet { file: vec![file] }).expect("descriptors");
        Self { pool }
    }

    fn message(&self, name: &str) -> MessageDescriptor {
        self.pool.get_message_by_name(name).expect("a message type")
    }

    /// The table and the values that are not defaults, or the reasons why the record must be diverted.
    pub(super) fn read(&self, registry: &Registry, record: &[u8]) -> Result<Placed, Vec<&'static str>> {
        // As unknown fields only: whether the bytes are protobuf at all.
        let bare = DynamicMessage::decode(self.message(BARE), record).map_err(|_| vec![structural(record)])?;
        let mut version = 0;
        let mut shown = Vec::new();
        for field in bare.unknown_fields() {
            let wire = field.wire_type() as u8;
            shown.push((field.number(), wire));
            if (field.number(), wire) == (1, 0) {
                let mut bytes = Vec::new();
                field.encode(&mut bytes);
                // One byte of key before it.
                version = prost::encoding::decode_varint(&mut &bytes[1..]).expect("a varint") as u32;
            }
        }
        let epoch = registry.get(version).ok_or(vec!["unknown_epoch"])?;
        let layout = epoch
            .layouts
            .iter()
            .find(|layout| layout.when.iter().all(|sign| shown.contains(&(sign.number, sign.wire as u8))))
            .expect("the last layout asks for nothing");
        // Whatever a layout without the version's field says of it, it can't be anything but a varint.
        if shown.iter().any(|(number, wire)| *number == 1 && *wire != 0) {
            return Err(vec!["wire_type"]);
        }
        let read =
            DynamicMessage::decode(self.message(&type_name(epoch, layout)), record).map_err(|_| vec!["wire_type"])?;
        let mut values = Vec::new();
        let mut unplaceable = Vec::new();
        for (position, column) in epoch.columns.iter().enumerate() {
            let Some(field) = layout.fields.iter().find(|field| field.column == position) else { continue };
            let value = read.get_field_by_number(field.number).expect("a field");
            match convert(&value, field.proto, column, epoch.holds_bytes(position)) {
                Ok(Some(value)) => values.push((column.name.clone(), value)),
                Ok(None) => {}
                Err(reason) => unplaceable.push(reason),
            }
        }
        if unplaceable.is_empty() { Ok((epoch.table.name.clone(), values)) } else { Err(unplaceable) }
    }
}

/// prost does not tell truncation from nonsense; our own cursor's word on that is checked by its unit tests.
fn structural(record: &[u8]) -> &'static str {
    let fault = crate::wire::Cursor::new(record).find_map(Result::err).expect("what prost refuses is a fault");
    if fault.kind.is_truncation() { "truncated" } else { "malformed" }
}

/// Text is read as bytes: whether it is UTF-8 is not protobuf's business here.
fn protobuf_type(proto: ProtoType) -> Type {
    match proto {
        ProtoType::Uint32 => Type::Uint32,
        ProtoType::Uint64 => Type::Uint64,
        ProtoType::Int64 => Type::Int64,
        // A number without a label is an open enum's value like any other.
        ProtoType::Enum => Type::Int32,
        ProtoType::String | ProtoType::Bytes => Type::Bytes,
        ProtoType::DoubleSeconds => Type::Double,
        other => panic!("no layout has a field of type {}", other.name()),
    }
}

fn convert(read: &Read, proto: ProtoType, column: &Column, bytes: bool) -> Result<Option<Value>, &'static str> {
    Ok(match (read, proto) {
        (Read::U32(0), _) | (Read::U64(0), _) | (Read::I64(0), _) => None,
        (Read::U32(number), _) => Some(Value::Unsigned(u64::from(*number))),
        (Read::U64(number), _) => Some(Value::Unsigned(*number)),
        (Read::I64(number), _) => Some(Value::Ticks(*number, 9)),
        (Read::F64(seconds), _) => {
            // The cast saturates, far out of range.
            let whole = seconds.trunc();
            let ticks = i128::from(whole as i64) * 1_000_000_000 + ((seconds - whole) * 1e9).round() as i128;
            let ticks = i64::try_from(ticks).ok().filter(|_| seconds.is_finite()).ok_or("time_out_of_range")?;
            (ticks != 0).then_some(Value::Ticks(ticks, 9))
        }
        (Read::I32(number), ProtoType::Enum) => {
            let ColumnType::Enum8(labels) = &column.column_type else { panic!("enums are Enum8") };
            let (label, _) = labels.iter().find(|(_, value)| i32::from(*value) == *number).ok_or("enum_value")?;
            (*number != 0).then(|| Value::Label(i64::from(*number), label.clone()))
        }
        (Read::Bytes(read), _) if read.is_empty() => None,
        (Read::Bytes(read), _) => Some(match std::str::from_utf8(read) {
            Ok(text) if !bytes => Value::Text(text.to_owned()),
            _ => Value::Bytes(read.to_vec()),
        }),
        other => panic!("{other:?}"),
    })
}
