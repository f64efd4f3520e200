//! What would come of a message: the rows it would leave and the pieces that would be diverted.
//!
//! It goes the same way as a message from Kafka, through [`crate::lane`]; only what the lane has gathered is shown instead of
//! inserted. Needs neither Kafka nor ClickHouse.

mod json;
mod text;
mod value;

use std::sync::Arc;

use crate::{
    block::Cell,
    lane::{Decoder, Lane, Message, Outcome, Schema},
};
pub use value::Value;

/// What would come of one message.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The bytes of the message.
    pub bytes: usize,
    /// The rows in message order.
    pub rows: Vec<Row>,
    /// The diverted pieces in message order.
    pub errors: Vec<Diverted>,
    /// Fields that no layout defines: epoch, field number, how often.
    pub unknown_fields: Vec<(u32, u32, u64)>,
    /// Text values that are not UTF-8, by epoch.
    pub not_utf8: Vec<(u32, u64)>,
}

/// A row of an epoch's table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The table.
    pub table: String,
    /// The layout that the record had.
    pub layout: String,
    /// Name and value of each column that does not hold its default.
    pub values: Vec<(String, Value)>,
}

/// A row of the error table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diverted {
    /// The stable code.
    pub reason: String,
    /// The 0-based record in the message, if the piece is one.
    pub record: Option<u32>,
    /// Where the piece starts in the message.
    pub byte_offset: u64,
    /// The record's `schema_version` as far as it is known.
    pub schema_version: u32,
    /// What was wrong, for people.
    pub error: String,
    /// The piece, whole.
    pub raw: Vec<u8>,
}

/// Looks at one message value.
#[must_use]
pub fn inspect(schema: &Arc<Schema>, message: &[u8]) -> Report {
    let mut lane = Lane::new(Arc::clone(schema), Arc::from(""), 0);
    let mut decoder = Decoder::new(Arc::clone(schema));
    let mut outcomes = Vec::new();
    lane.fill(&mut decoder)
        .push_with(Message { offset: 0, time_ms: None, payload: Some(message) }, |o| outcomes.push(o));

    let epochs = schema.registry().epochs();
    let mut tables: Vec<_> = (0..schema.targets().len()).map(|target| rows_of(schema, &lane, target)).collect();
    let mut report = Report {
        bytes: message.len(),
        rows: Vec::new(),
        errors: Vec::new(),
        unknown_fields: Vec::new(),
        not_utf8: Vec::new(),
    };
    for outcome in outcomes {
        match outcome {
            Outcome::Placed { target, layout } => {
                let epoch = &epochs[target];
                let cells = tables[target].next().expect("a placed record is a row");
                let values = epoch.columns.iter().zip(cells).enumerate().filter_map(|(position, (column, cell))| {
                    let value = Value::new(&column.column_type, epoch.holds_bytes(position), cell)?;
                    Some((column.name.clone(), value))
                });
                let values = values.collect();
                report.rows.push(Row {
                    table: epoch.table.name.clone(),
                    layout: epoch.layouts[layout].name.clone(),
                    values,
                });
            }
            Outcome::Diverted => {
                let cells = tables.last_mut().and_then(Iterator::next).expect("a diverted piece is a row");
                let names = schema.targets().last().map(|target| &target.columns).expect("there is an error table");
                report.errors.push(diverted(names, &cells));
            }
        }
    }
    drop(tables);
    if let Some(batch) = lane.close() {
        let unknown = batch.counts.unknown_fields.iter();
        report.unknown_fields = unknown.map(|(&(epoch, number), &count)| (epoch, number, count)).collect();
        report.not_utf8 = batch.counts.not_utf8.into_iter().collect();
    }
    report
}

/// The rows that a lane has gathered for a table, each a list of cells.
fn rows_of<'a>(schema: &Schema, lane: &'a Lane, target: usize) -> impl Iterator<Item = Vec<Cell<'a>>> + use<'a> {
    let shape = schema.shape(target);
    let open = lane.open(target).into_iter();
    let mut columns: Vec<_> =
        open.flat_map(|open| (0..shape.slots.len()).map(|column| open.cells(shape, column))).collect();
    std::iter::from_fn(move || {
        let row: Vec<_> = columns.iter_mut().map_while(Iterator::next).collect();
        (!row.is_empty()).then_some(row)
    })
}

fn diverted(columns: &[(String, String)], cells: &[Cell<'_>]) -> Diverted {
    let cell = |name: &str| {
        let position = columns.iter().position(|(column, _)| column == name);
        cells[position.expect("a column of the error table")]
    };
    let text = |name| match cell(name) {
        Cell::Text(bytes) | Cell::Fixed(bytes) => String::from_utf8_lossy(bytes).into_owned(),
    };
    let number = |name| match cell(name) {
        Cell::Text(bytes) | Cell::Fixed(bytes) => value::little_endian(bytes),
    };
    let Cell::Text(raw) = cell("raw_message") else { unreachable!("raw_message is a string") };
    Diverted {
        reason: text("reason"),
        record: u32::try_from(number("record") as i32).ok(),
        byte_offset: number("byte_offset"),
        schema_version: number("schema_version") as u32,
        error: text("err"),
        raw: raw.to_vec(),
    }
}
