//! The column of a field.

use crate::{
    epoch::{Column, ColumnType, ProtoType},
    migrate::shape::Field,
};

/// The column of a new field: the type that holds every value of it, the codec that columns of the type have.
pub(super) fn fresh(field: &Field) -> Column {
    let column_type = canonical(field, &[]);
    Column { name: field.name.clone(), codec: codec(field.proto, &column_type), column_type, default: None, was: None }
}

/// The column of a field that was there before: type and codec are taken over where they still fit.
pub(super) fn heir(before: &Column, field: &Field) -> Column {
    let was = (before.name != field.name).then(|| before.name.clone());
    let labels: Vec<(i32, String)> = super::super::declared::column_labels(&before.column_type).into_iter().collect();
    let column_type = match field.proto {
        ProtoType::Enum => canonical(field, &labels),
        proto if proto.fits(&before.column_type) => before.column_type.clone(),
        _ => canonical(field, &[]),
    };
    let codec = match column_type == before.column_type || field.proto == ProtoType::Enum {
        true => before.codec.clone(),
        false => codec(field.proto, &column_type),
    };
    Column { name: field.name.clone(), column_type, codec, default: before.default.clone(), was }
}

fn canonical(field: &Field, before: &[(i32, String)]) -> ColumnType {
    match field.proto {
        ProtoType::Uint32 | ProtoType::Fixed32 => ColumnType::UInt32,
        ProtoType::Uint64 | ProtoType::Fixed64 => ColumnType::UInt64,
        ProtoType::Int32 | ProtoType::Sint32 | ProtoType::Sfixed32 => ColumnType::Int32,
        ProtoType::Int64 | ProtoType::Sint64 | ProtoType::Sfixed64 => ColumnType::Int64,
        ProtoType::Bool => ColumnType::Bool,
        ProtoType::Float => ColumnType::Float32,
        ProtoType::Double | ProtoType::DoubleSeconds => ColumnType::Float64,
        ProtoType::String => ColumnType::LowCardinalityString,
        ProtoType::Bytes => ColumnType::String,
        ProtoType::Enum => labelled(field, before),
    }
}

/// A column may leave the label of 0 empty, which protobuf can't: what it was before stays.
fn labelled(field: &Field, before: &[(i32, String)]) -> ColumnType {
    let label = |number: i32, label: &String| {
        let empty = number == 0 && label == "unspecified" && before.iter().any(|(n, l)| *n == 0 && l.is_empty());
        if empty { String::new() } else { label.clone() }
    };
    let labels: Vec<(String, i32)> =
        field.labels.iter().map(|(number, text)| (label(*number, text), *number)).collect();
    let narrow = || labels.iter().map(|(l, n)| Some((l.clone(), i8::try_from(*n).ok()?))).collect::<Option<Vec<_>>>();
    match narrow() {
        Some(labels) => ColumnType::Enum8(labels),
        // Wider numbers were refused when the file was read.
        None => {
            ColumnType::Enum16(labels.iter().filter_map(|(l, n)| Some((l.clone(), i16::try_from(*n).ok()?))).collect())
        }
    }
}

fn codec(proto: ProtoType, column: &ColumnType) -> Option<String> {
    match (proto, column) {
        (ProtoType::String | ProtoType::Enum, _) => None,
        (ProtoType::Bytes, _) => Some("ZSTD(1)".to_owned()),
        _ => Some("LZ4".to_owned()),
    }
}
