//! The shape that the definitions give the newest record, and what earlier ones used up.

use std::{collections::BTreeMap, path::Path};

use super::{
    proto_file::{self, ProtoFile, Source},
    reading::RECORD,
    shape::{Envelope, Field, Reserved, Shape},
};
use crate::epoch::{ColumnType, Registry};

/// The message that the definitions are about.
pub const MESSAGE: &str = "xtcp_flat_record.v1.XtcpFlatRecord";
/// The field of an envelope that holds records.
const ROW: u32 = 10;

/// The newest epoch as a `.proto` file would say it. Numbers and names of earlier epochs count as reserved, and `kept`, what
/// the `.proto` of these definitions reserves.
#[must_use]
pub fn shape(registry: &Registry, kept: Reserved) -> Shape {
    let newest = registry.newest();
    let layout = newest.layouts.last().expect("an epoch has a layout");
    let fields: Vec<Field> = layout
        .fields
        .iter()
        .map(|field| {
            let column = &newest.columns[field.column];
            Field {
                number: field.number,
                name: column.name.clone(),
                proto: field.proto,
                is_repeated: false,
                is_optional: false,
                labels: column_labels(&column.column_type),
                heading: None,
                comment: None,
                spot: None,
            }
        })
        .collect();
    let reserved = used_up(registry, kept, &fields);
    let envelope = Some(Envelope { spot: None, fields: vec![(ROW, RECORD.to_owned(), true)] });
    Shape { file: format!("epoch {}", newest.number), spot: None, fields, reserved, envelope }
}

/// The labels of a column.
pub(super) fn column_labels(column: &ColumnType) -> BTreeMap<i32, String> {
    match column {
        ColumnType::Enum8(labels) => labels.iter().map(|(label, n)| (i32::from(*n), label.clone())).collect(),
        ColumnType::Enum16(labels) => labels.iter().map(|(label, n)| (i32::from(*n), label.clone())).collect(),
        _ => BTreeMap::new(),
    }
}

/// What the `.proto` reserves that this release was built with.
#[must_use]
pub fn embedded_reserved() -> Reserved {
    proto_file::embedded(MESSAGE).map(|shape| shape.reserved).unwrap_or_default()
}

/// What a `.proto` file reserves; `None` when there is none, or none that can be read.
#[must_use]
pub fn reserved_by(path: &Path) -> Option<Reserved> {
    let source = Source { path: path.to_owned(), includes: Vec::new(), message: MESSAGE.to_owned() };
    ProtoFile::read(&source).ok().map(|file| file.shape.reserved)
}

/// What is kept free, and what epochs before used in their usual layout.
fn used_up(registry: &Registry, kept: Reserved, fields: &[Field]) -> Reserved {
    let mut reserved = kept;
    for epoch in registry.epochs() {
        let Some(layout) = epoch.layouts.last() else { continue };
        for field in &layout.fields {
            let name = &epoch.columns[field.column].name;
            if !reserved.has_number(field.number) {
                reserved.numbers.push((field.number, field.number));
            }
            reserved.names.insert(name.clone());
        }
    }
    let in_use = |number: u32| fields.iter().any(|field| field.number == number);
    reserved.numbers.retain(|(from, to)| from != to || !in_use(*from));
    reserved.names.retain(|name| !fields.iter().any(|field| field.name == *name));
    reserved.numbers.sort_unstable();
    reserved
}
