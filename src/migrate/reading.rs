//! A message's descriptor → the shape of a record, with every part that no table has columns for named.

use std::collections::BTreeSet;

use protox::prost_reflect::{EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor};

use super::{
    places::Places,
    proto_file::Problem,
    shape::{Envelope, Field, Reserved, Shape, labels},
};
use crate::epoch::ProtoType;

/// The number of `nested_type`, `enum_type`, `oneof_decl` and `reserved_range` in a message's descriptor.
const NESTED: i32 = 3;
const ENUM: i32 = 4;
const ONEOF: i32 = 8;
/// The message around records.
const ENVELOPE: &str = "Envelope";

/// A record that is being read.
pub(super) struct Reading {
    pub places: Places,
    pub record: MessageDescriptor,
}

impl Reading {
    pub(super) fn shape(&self) -> Result<Shape, Vec<Problem>> {
        let mut problems = Vec::new();
        self.check_nested(&mut problems);
        let mut fields: Vec<Field> =
            self.record.fields().filter_map(|field| self.field(&field, &mut problems)).collect();
        if self.record.fields().len() == 0 {
            problems.push(self.problem(self.record.path(), "a record without fields".to_owned()));
        }
        if !problems.is_empty() {
            problems.sort_by_key(|problem| problem.spot);
            return Err(problems);
        }
        fields.sort_by_key(|field| field.number);
        Ok(Shape {
            file: self.places.file.clone(),
            spot: self.places.at(self.record.path()),
            fields,
            reserved: self.reserved(),
            envelope: self.envelope(),
        })
    }

    fn problem(&self, path: &[i32], text: String) -> Problem {
        Problem { file: self.places.file.clone(), spot: self.places.at(path), text }
    }

    /// What a row can't hold.
    fn check_nested(&self, problems: &mut Vec<Problem>) {
        let path = self.record.path();
        let below = |kind: i32, index: usize| [path, &[kind, i32::try_from(index).unwrap_or(0)]].concat();
        for (index, nested) in self.record.descriptor_proto().nested_type.iter().enumerate() {
            if !nested.options.as_ref().is_some_and(|options| options.map_entry()) {
                let text = format!("nested message `{}`; a record is flat: make its parts fields", nested.name());
                problems.push(self.problem(&below(NESTED, index), text));
            }
        }
        for (index, nested) in self.record.descriptor_proto().enum_type.iter().enumerate() {
            let text = format!("nested enum `{}`; declare it beside the record, not in it", nested.name());
            problems.push(self.problem(&below(ENUM, index), text));
        }
        for (index, oneof) in self.record.oneofs().enumerate().filter(|(_, oneof)| !oneof.is_synthetic()) {
            let text = format!("oneof `{}`; a row has a column for each field: take them out of it", oneof.name());
            problems.push(self.problem(&below(ONEOF, index), text));
        }
    }

    fn field(&self, field: &FieldDescriptor, problems: &mut Vec<Problem>) -> Option<Field> {
        let path = field.path();
        let mut refuse = |what: String| problems.push(self.problem(path, what));
        let name = field.name();
        let mut own_labels = std::collections::BTreeMap::new();
        let proto = match field.kind() {
            Kind::Message(_) if field.is_map() => {
                refuse(format!("map field `{name}`; a column holds one value: make its entries fields"));
                return None;
            }
            Kind::Message(message) => {
                let text = format!(
                    "field `{name}` is a message, `{}`; a record is flat: make its parts fields",
                    message.full_name()
                );
                refuse(text);
                return None;
            }
            Kind::Enum(kind) => {
                if let Err(text) = fit_for_a_column(name, &kind) {
                    refuse(text);
                    return None;
                }
                let values: Vec<(i32, String)> =
                    kind.values().map(|value| (value.number(), value.name().to_owned())).collect();
                own_labels = labels(kind.name(), values.iter().map(|(number, name)| (*number, name.as_str())));
                let mut said = BTreeSet::new();
                if let Some(twice) = own_labels.values().find(|label| !said.insert(label.as_str())) {
                    let text =
                        format!("field `{name}`: two values of enum `{}` are `{twice}` in a column", kind.full_name());
                    refuse(text);
                    return None;
                }
                ProtoType::Enum
            }
            kind => scalar(&kind),
        };
        let optional = field.containing_oneof().is_some_and(|oneof| oneof.is_synthetic());
        Some(Field {
            number: field.number(),
            name: name.to_owned(),
            proto,
            is_repeated: field.is_list(),
            is_optional: optional,
            labels: own_labels,
            heading: self.places.leading(path),
            comment: self.places.trailing(path),
            spot: self.places.at(path),
        })
    }

    fn reserved(&self) -> Reserved {
        let numbers = self.record.reserved_ranges().map(|range| (range.start, range.end.saturating_sub(1)));
        Reserved { numbers: numbers.collect(), names: self.record.reserved_names().map(str::to_owned).collect() }
    }

    /// The envelope of the record's own package.
    fn envelope(&self) -> Option<Envelope> {
        let name = match self.record.package_name() {
            "" => ENVELOPE.to_owned(),
            package => format!("{package}.{ENVELOPE}"),
        };
        let envelope = self.record.parent_file().messages().find(|message| message.full_name() == name)?;
        let kind = |field: &FieldDescriptor| match field.kind() {
            Kind::Message(message) if message == self.record => RECORD.to_owned(),
            Kind::Message(message) => message.full_name().to_owned(),
            kind => format!("{kind:?}"),
        };
        let mut fields: Vec<_> =
            envelope.fields().map(|field| (field.number(), kind(&field), field.is_list())).collect();
        fields.sort();
        Some(Envelope { spot: self.places.at(envelope.path()), fields })
    }
}

/// How the record itself is called among the types of an envelope's fields.
pub(super) const RECORD: &str = "record";

/// Every number has one label and fits into two bytes.
fn fit_for_a_column(field: &str, kind: &EnumDescriptor) -> Result<(), String> {
    let mut numbers = BTreeSet::new();
    for value in kind.values() {
        let (number, name) = (value.number(), kind.full_name());
        if i16::try_from(number).is_err() {
            return Err(format!(
                "field `{field}`: `{}` of enum `{name}` is {number}; a column holds -32768 to 32767",
                value.name()
            ));
        }
        if !numbers.insert(number) {
            return Err(format!("field `{field}`: number {number} of enum `{name}` has two labels"));
        }
    }
    Ok(())
}

fn scalar(kind: &Kind) -> ProtoType {
    match kind {
        Kind::Int32 => ProtoType::Int32,
        Kind::Int64 => ProtoType::Int64,
        Kind::Uint32 => ProtoType::Uint32,
        Kind::Uint64 => ProtoType::Uint64,
        Kind::Sint32 => ProtoType::Sint32,
        Kind::Sint64 => ProtoType::Sint64,
        Kind::Bool => ProtoType::Bool,
        Kind::Fixed32 => ProtoType::Fixed32,
        Kind::Fixed64 => ProtoType::Fixed64,
        Kind::Sfixed32 => ProtoType::Sfixed32,
        Kind::Sfixed64 => ProtoType::Sfixed64,
        Kind::Float => ProtoType::Float,
        Kind::Double => ProtoType::Double,
        Kind::String => ProtoType::String,
        Kind::Bytes => ProtoType::Bytes,
        Kind::Enum(_) => ProtoType::Enum,
        Kind::Message(_) => unreachable!("handled by the caller"),
    }
}
