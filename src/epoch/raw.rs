//! A definition file as it is written: every value with its place, nothing judged beyond its kind.

use crate::tree::{At, Fields, File, Node, Report, Value};

/// What an epoch's file holds.
pub(super) struct RawEpoch {
    pub number: At<u32>,
    pub table: RawTable,
    pub layouts: At<Vec<RawLayout>>,
    pub columns: Vec<RawColumn>,
}

/// What the file of a table without records holds.
pub(super) struct RawPlainTable {
    pub table: RawTable,
    pub columns: Vec<RawColumn>,
}

pub(super) struct RawTable {
    pub name: At<String>,
    pub engine: At<String>,
    pub order_by: Vec<At<String>>,
    pub ttl: Option<RawTtl>,
    pub deduplication: Option<RawDeduplication>,
    /// Names and SQL literals.
    pub settings: Vec<(At<String>, String)>,
}

pub(super) struct RawTtl {
    pub column: At<String>,
    pub days: At<RawDays>,
}

pub(super) enum RawDays {
    Parameter(String),
    Fixed(u16),
}

pub(super) struct RawDeduplication {
    pub blocks: At<u32>,
    pub seconds: At<u32>,
}

pub(super) struct RawLayout {
    pub name: At<String>,
    pub like: Option<At<String>>,
    /// Field numbers and wire types.
    pub when: Vec<(At<String>, At<String>)>,
}

pub(super) struct RawColumn {
    pub name: At<String>,
    pub column_type: At<String>,
    pub codec: Option<At<String>>,
    pub default: Option<At<String>>,
    pub was: Option<At<String>>,
    /// Layout names, and a protobuf type and field number each.
    pub wire: Vec<(At<String>, At<String>)>,
}

/// Reads an epoch's file. `None` when a part is missing, which is reported.
pub(super) fn epoch(file: &File, report: &mut Report) -> Option<RawEpoch> {
    let root = Node::parse(file, report)?;
    let mut fields = Fields::of(root.root(file), report)?;
    let number = fields.number("epoch", report);
    let table = fields.required("table", report).and_then(|node| table(node, report));
    let layouts = fields.list("layouts", report).map(|list| At {
        value: list.value.into_iter().filter_map(|node| layout(node, report)).collect(),
        place: list.place,
    });
    let columns = columns(&mut fields, true, report);
    fields.finish(report);
    Some(RawEpoch { number: number?, table: table?, layouts: layouts?, columns: columns? })
}

/// Reads the file of a table without records. `None` when a part is missing, which is reported.
pub(super) fn plain_table(file: &File, report: &mut Report) -> Option<RawPlainTable> {
    let root = Node::parse(file, report)?;
    let mut fields = Fields::of(root.root(file), report)?;
    let table = fields.required("table", report).and_then(|node| table(node, report));
    let columns = columns(&mut fields, false, report);
    fields.finish(report);
    Some(RawPlainTable { table: table?, columns: columns? })
}

fn table(node: At<&Node>, report: &mut Report) -> Option<RawTable> {
    let mut fields = Fields::of(node, report)?;
    let name = fields.text("name", report);
    let engine = fields.text("engine", report);
    let order_by = fields.list("order_by", report);
    let order_by = order_by.map(|keys| keys.value.into_iter().filter_map(|key| key.text(report)).collect());
    let ttl = fields.node("ttl").and_then(|node| ttl(node, report));
    let deduplication = fields.node("deduplication").and_then(|node| deduplication(node, report));
    let settings = fields.entries("settings", report);
    let settings = settings.into_iter().filter_map(|(name, node)| Some((name, literal(node, report)?))).collect();
    fields.finish(report);
    Some(RawTable { name: name?, engine: engine?, order_by: order_by?, ttl, deduplication, settings })
}

fn ttl(node: At<&Node>, report: &mut Report) -> Option<RawTtl> {
    let mut fields = Fields::of(node, report)?;
    let column = fields.text("column", report);
    let days = fields.required("days", report).and_then(|node| days(node, report));
    fields.finish(report);
    Some(RawTtl { column: column?, days: days? })
}

/// A number, or the name of a parameter.
fn days(node: At<&Node>, report: &mut Report) -> Option<At<RawDays>> {
    if matches!(node.value.value, Value::Number(_)) {
        let At { value, place } = node.number(report)?;
        return Some(At { value: RawDays::Fixed(value), place });
    }
    let At { value, place } = node.text(report)?;
    Some(At { value: RawDays::Parameter(value), place })
}

fn deduplication(node: At<&Node>, report: &mut Report) -> Option<RawDeduplication> {
    let mut fields = Fields::of(node, report)?;
    let blocks = fields.number("blocks", report);
    let seconds = fields.number("seconds", report);
    fields.finish(report);
    Some(RawDeduplication { blocks: blocks?, seconds: seconds? })
}

/// A setting's value as SQL writes it.
fn literal(node: At<&Node>, report: &mut Report) -> Option<String> {
    match &node.value.value {
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(u8::from(*flag).to_string()),
        Value::Text(text) => Some(format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))),
        other => {
            report.add(&node.place, format!("read {}; a number, a flag or a text is needed here", other.shown()));
            None
        }
    }
}

fn layout(node: At<&Node>, report: &mut Report) -> Option<RawLayout> {
    let mut fields = Fields::of(node, report)?;
    let name = fields.known_by("name", "layouts", report);
    let like = fields.optional_text("like", report);
    let when = fields.entries("when", report);
    let when = when.into_iter().filter_map(|(number, node)| Some((number, node.text(report)?))).collect();
    fields.finish(report);
    Some(RawLayout { name: name?, like, when })
}

fn columns(fields: &mut Fields<'_>, on_the_wire: bool, report: &mut Report) -> Option<Vec<RawColumn>> {
    let list = fields.list("columns", report)?;
    if list.value.is_empty() {
        report.add(&list.place, "a table needs a column");
    }
    Some(list.value.into_iter().filter_map(|node| column(node, on_the_wire, report)).collect())
}

fn column(node: At<&Node>, on_the_wire: bool, report: &mut Report) -> Option<RawColumn> {
    let mut fields = Fields::of(node, report)?;
    let name = fields.known_by("name", "columns", report);
    let column_type = fields.text("type", report);
    let codec = fields.optional_text("codec", report);
    let default = fields.optional_text("default", report);
    let (mut was, mut wire) = (None, Vec::new());
    if on_the_wire {
        was = fields.optional_text("was", report);
        let entries = fields.entries("wire", report);
        wire = entries.into_iter().filter_map(|(layout, node)| Some((layout, node.text(report)?))).collect();
    }
    fields.finish(report);
    Some(RawColumn { name: name?, column_type: column_type?, codec, default, was, wire })
}
