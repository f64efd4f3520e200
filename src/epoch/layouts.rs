//! Checks an epoch's layouts and gathers the fields of each from the columns.

use super::{
    Column, Condition, Field, Layout, ProtoType, WireType,
    raw::{RawColumn, RawLayout},
    table,
};
use crate::tree::{At, Place, Report};

/// The field that holds a record's `schema_version`, in every layout that has it. The one fact about the wire that is
/// not in the definitions: it is what tells which definition to use.
pub const SCHEMA_VERSION: u32 = 1;

const LARGEST_NUMBER: u32 = (1 << 29) - 1;
/// Numbers that protobuf keeps for itself.
const RESERVED: std::ops::RangeInclusive<u32> = 19_000..=19_999;
const WIRE_TYPES: [(&str, WireType); 4] = [
    ("varint", WireType::Varint),
    ("fixed64", WireType::Fixed64),
    ("len", WireType::Len),
    ("fixed32", WireType::Fixed32),
];

/// A field and where it is written.
#[derive(Clone)]
struct Written {
    field: Field,
    place: Place,
    layout: usize,
}

/// The layouts in the order of the file; every problem is reported.
pub(super) fn layouts(
    epoch: u32,
    raw: &At<Vec<RawLayout>>,
    raw_columns: &[RawColumn],
    columns: &[(Column, bool)],
    report: &mut Report,
) -> Vec<Layout> {
    let names: Vec<&str> = raw.value.iter().map(|l| l.name.value.as_str()).collect();
    for (index, layout) in raw.value.iter().enumerate() {
        table::identifier(&layout.name, "a layout name", report);
        if names[..index].contains(&names[index]) {
            report.add(&layout.name.place, format!("layout `{}` stands twice", names[index]));
        }
    }
    let own = own_fields(&names, raw_columns, columns, report);
    let mut layouts = Vec::with_capacity(names.len());
    for (index, layout) in raw.value.iter().enumerate() {
        let fields = inherited(index, raw, &names, &own, report);
        let when = conditions(layout, &fields, report);
        let place = &layout.name.place;
        let mut fields = numbered_once(index, fields, report);
        fields.sort_by_key(|f| f.number);
        check_schema_version(epoch, &fields, columns, place, report);
        layouts.push(Layout { name: layout.name.value.clone(), when, fields });
    }
    check_order(raw, &layouts, report);
    layouts
}

/// The fields that columns name for each layout themselves.
fn own_fields(
    names: &[&str],
    raw_columns: &[RawColumn],
    columns: &[(Column, bool)],
    report: &mut Report,
) -> Vec<Vec<Written>> {
    let mut own = vec![Vec::new(); names.len()];
    for (column, raw) in raw_columns.iter().enumerate() {
        if raw.wire.is_empty() && raw.default.is_none() {
            let name = &raw.name.value;
            report.add(&raw.name.place, format!("column `{name}` has neither a field in any layout nor a default"));
        }
        for (layout_name, text) in &raw.wire {
            let Some(layout) = names.iter().position(|n| *n == layout_name.value) else {
                let known = names.join(", ");
                report.add(&text.place, format!("no layout `{}`; layouts here: {known}", layout_name.value));
                continue;
            };
            let Some((proto, number)) = field(text, report) else { continue };
            let (Column { column_type, .. }, known) = &columns[column];
            if *known && !proto.fits(column_type) {
                let (proto, fitting) = (proto.name(), proto.fitting());
                report.add(&text.place, format!("{proto} can't go into {column_type} unaltered; it fits {fitting}"));
            }
            let field = Field { number, proto, column };
            own[layout].push(Written { field, place: text.place.clone(), layout });
        }
    }
    own
}

/// `<protobuf type> <field number>`.
fn field(text: &At<String>, report: &mut Report) -> Option<(ProtoType, u32)> {
    let mut words = text.value.split_whitespace();
    let (Some(proto), Some(digits), None) = (words.next(), words.next(), words.next()) else {
        let allowed = "a protobuf type and a field number are allowed, for instance `uint32 7`";
        report.add(&text.place, format!("read `{}`; {allowed}", text.value));
        return None;
    };
    let known = ProtoType::from_name(proto);
    if known.is_none() {
        let all = ProtoType::ALL.map(ProtoType::name).join(", ");
        report.add(&text.place, format!("unknown protobuf type `{proto}`; known: {all}"));
    }
    Some((known?, number(digits, &text.place, report)?))
}

fn number(digits: &str, place: &Place, report: &mut Report) -> Option<u32> {
    let number = digits.parse().ok().filter(|n| (1..=LARGEST_NUMBER).contains(n) && !RESERVED.contains(n));
    if number.is_none() {
        let allowed = format!("1 to {LARGEST_NUMBER} without {} to {} are allowed", RESERVED.start(), RESERVED.end());
        report.add(place, format!("`{digits}` is no field number; {allowed}"));
    }
    number
}

/// A layout's own fields and those of the layouts it is like, for columns that it doesn't name itself.
fn inherited(
    index: usize,
    raw: &At<Vec<RawLayout>>,
    names: &[&str],
    own: &[Vec<Written>],
    report: &mut Report,
) -> Vec<Written> {
    let mut fields = own[index].clone();
    let mut passed = vec![index];
    let mut at = index;
    while let Some(like) = &raw.value[at].like {
        let Some(next) = names.iter().position(|n| *n == like.value) else {
            report.add(&like.place, format!("no layout `{}`; layouts here: {}", like.value, names.join(", ")));
            break;
        };
        if passed.contains(&next) {
            report.add(&like.place, format!("`{}` is like itself by way of `{}`", like.value, names[at]));
            break;
        }
        for written in &own[next] {
            if !fields.iter().any(|f| f.field.column == written.field.column) {
                fields.push(written.clone());
            }
        }
        passed.push(next);
        at = next;
    }
    fields
}

/// Reports numbers that stand twice, once for the layout in which it happens.
fn numbered_once(index: usize, written: Vec<Written>, report: &mut Report) -> Vec<Field> {
    for (at, second) in written.iter().enumerate() {
        let first = written[..at].iter().find(|first| first.field.number == second.field.number);
        if let Some(first) = first.filter(|first| first.layout == index || second.layout == index) {
            let (later, earlier) = if first.place.line > second.place.line { (first, second) } else { (second, first) };
            let text = format!(
                "field {} is already that of {} in line {}",
                later.field.number, earlier.place.field, earlier.place.line
            );
            report.add(&later.place, text);
        }
    }
    written.into_iter().map(|w| w.field).collect()
}

fn conditions(layout: &RawLayout, fields: &[Written], report: &mut Report) -> Vec<Condition> {
    let mut when = Vec::new();
    for (digits, name) in &layout.when {
        let wire = WIRE_TYPES.iter().find(|(n, _)| *n == name.value).map(|(_, wire)| *wire);
        if wire.is_none() {
            let all = WIRE_TYPES.map(|(n, _)| n).join(", ");
            report.add(&name.place, format!("unknown wire type `{}`; known: {all}", name.value));
        }
        let (Some(number), Some(wire)) = (number(&digits.value, &digits.place, report), wire) else { continue };
        let own = fields.iter().find(|f| f.field.number == number);
        if let Some(own) = own.filter(|own| own.field.proto.wire_type() != wire) {
            let proto = own.field.proto.name();
            report.add(
                &name.place,
                format!("field {number} is {proto} in this layout, which never comes as {}", name.value),
            );
        }
        when.push(Condition { number, wire });
    }
    when
}

/// A record is routed by its `schema_version`: only records of epoch 0 may come without.
fn check_schema_version(epoch: u32, fields: &[Field], columns: &[(Column, bool)], place: &Place, report: &mut Report) {
    match fields.iter().find(|f| f.number == SCHEMA_VERSION) {
        Some(field) if field.proto == ProtoType::Uint32 => {}
        Some(field) => {
            let column = &columns[field.column].0.name;
            let text = format!(
                "field {SCHEMA_VERSION} routes the record and is uint32; `{column}` has it as {}",
                field.proto.name()
            );
            report.add(place, text);
        }
        None if epoch == 0 => {}
        None => report.add(
            place,
            format!("no column has field {SCHEMA_VERSION}, which routes the record; only epoch 0 may lack it"),
        ),
    }
}

/// Every layout can be told, the default one comes last.
fn check_order(raw: &At<Vec<RawLayout>>, layouts: &[Layout], report: &mut Report) {
    if raw.value.last().is_none_or(|last| !last.when.is_empty()) {
        let text = "the last layout has to be one without a condition: what a record has when no other fits";
        report.add(&raw.place, text);
    }
    if raw.value.iter().zip(layouts).any(|(raw, layout)| raw.when.len() != layout.when.len()) {
        return; // a condition was refused: what it would have told apart isn't known
    }
    for (index, layout) in layouts.iter().enumerate() {
        let shadows = |earlier: &&Layout| earlier.when.iter().all(|c| layout.when.contains(c));
        if let Some(earlier) = layouts[..index].iter().find(shadows) {
            let place = &raw.value[index].name.place;
            let text =
                format!("no record ever has layout `{}`: `{}` before it fits them all", layout.name, earlier.name);
            report.add(place, text);
        }
    }
}
