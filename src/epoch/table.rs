//! Checks a table and its columns, without regard to the wire.

use std::collections::HashSet;

use super::{
    Column, ColumnType, Days, Deduplication, Table, Ttl, codec,
    raw::{RawColumn, RawDays, RawTable},
};
use crate::tree::{At, Report, is_identifier};

/// The columns; one whose type is refused keeps a stand-in, so that the other checks can go on.
pub(super) fn columns(raw: &[RawColumn], report: &mut Report) -> Vec<(Column, bool)> {
    let mut names = HashSet::new();
    let mut columns = Vec::with_capacity(raw.len());
    for column in raw {
        identifier(&column.name, "a column name", report);
        if !names.insert(column.name.value.as_str()) {
            report.add(&column.name.place, format!("column `{}` stands twice", column.name.value));
        }
        let column_type = column_type(&column.column_type, report);
        let known = column_type.is_some();
        let column_type = column_type.unwrap_or(ColumnType::String);
        if let Some(codec) = &column.codec {
            canonical_codec(codec, &column_type, report);
        }
        columns.push((
            Column {
                name: column.name.value.clone(),
                column_type,
                codec: column.codec.as_ref().map(|c| c.value.clone()),
                default: column.default.as_ref().map(|d| d.value.clone()),
                was: column.was.as_ref().map(|w| w.value.clone()),
            },
            known,
        ));
    }
    columns
}

/// A field that isn't on the wire reads as 0, so the enum of a record's column needs a label for it.
pub(super) fn enums_have_zero(raw: &[RawColumn], columns: &[(Column, bool)], report: &mut Report) {
    for (raw, (column, _)) in raw.iter().zip(columns) {
        let numbers = column.column_type.enum_numbers();
        if !numbers.is_empty() && !numbers.contains(&0) {
            report.add(&raw.column_type.place, "the enum has no label for 0, which is what an absent field reads as");
        }
    }
}

/// The table; every problem is reported.
pub(super) fn table(raw: &RawTable, columns: &[(Column, bool)], report: &mut Report) -> Table {
    identifier(&raw.name, "a table name", report);
    engine(&raw.engine, report);
    let find = |name: &str| columns.iter().find(|(column, _)| column.name == name);
    for key in &raw.order_by {
        if find(&key.value).is_none() {
            report.add(&key.place, format!("sorts by `{}`, which is no column of this table", key.value));
        }
    }
    for (name, _) in &raw.settings {
        identifier(name, "a setting's name", report);
    }
    let ttl = raw.ttl.as_ref().map(|ttl| {
        match find(&ttl.column.value) {
            None => report.add(&ttl.column.place, format!("`{}` is no column of this table", ttl.column.value)),
            Some((Column { column_type, .. }, known)) => {
                if *known && !matches!(column_type, ColumnType::DateTime { .. } | ColumnType::DateTime64 { .. }) {
                    let text =
                        format!("rows leave by a DateTime or DateTime64; `{}` is {column_type}", ttl.column.value);
                    report.add(&ttl.column.place, text);
                }
            }
        }
        let days = match &ttl.days.value {
            RawDays::Fixed(days) => Days::Fixed(*days),
            RawDays::Parameter(name) => {
                let name = At { value: name.clone(), place: ttl.days.place.clone() };
                identifier(&name, "a parameter's name", report);
                Days::Parameter(name.value)
            }
        };
        Ttl { column: ttl.column.value.clone(), days }
    });
    let deduplication = raw.deduplication.as_ref().map(|window| {
        for number in [&window.blocks, &window.seconds] {
            if number.value == 0 {
                report.add(&number.place, "read `0`; 1 or more is allowed");
            }
        }
        Deduplication { blocks: window.blocks.value, seconds: window.seconds.value }
    });
    Table {
        name: raw.name.value.clone(),
        engine: raw.engine.value.clone(),
        order_by: raw.order_by.iter().map(|key| key.value.clone()).collect(),
        ttl,
        deduplication,
        settings: raw.settings.iter().map(|(name, value)| (name.value.clone(), value.clone())).collect(),
    }
}

/// Reports a name that SQL could read as more than a name.
pub(super) fn identifier(name: &At<String>, what: &str, report: &mut Report) {
    if !is_identifier(&name.value) {
        let text = format!("`{}` can't be {what}; letters, digits and _ are allowed, no digit first", name.value);
        report.add(&name.place, text);
    }
}

fn column_type(text: &At<String>, report: &mut Report) -> Option<ColumnType> {
    match ColumnType::parse(&text.value) {
        Ok(parsed) => {
            let canonical = parsed.to_string();
            if canonical != text.value {
                report.add(&text.place, format!("read `{}`; write it as the server does: `{canonical}`", text.value));
            }
            Some(parsed)
        }
        Err(error) => {
            report.add(&text.place, error.to_string());
            None
        }
    }
}

fn canonical_codec(text: &At<String>, column_type: &ColumnType, report: &mut Report) {
    match codec::canonical(&text.value, column_type) {
        Ok(canonical) if canonical == text.value => {}
        Ok(canonical) => {
            report.add(&text.place, format!("read `{}`; write it as the server does: `{canonical}`", text.value));
        }
        Err(error) => report.add(&text.place, error),
    }
}

fn engine(text: &At<String>, report: &mut Report) {
    let (name, parameters) = text.value.split_once('(').map_or((text.value.as_str(), None), |(n, p)| (n, Some(p)));
    let plain = name.ends_with("MergeTree") && !name.starts_with("Replicated") && !name.starts_with("Shared");
    let closed =
        parameters.is_none_or(|p| p.strip_suffix(')').is_some_and(|p| p.split(',').all(|p| is_identifier(p.trim()))));
    if !plain || !closed || !is_identifier(name) {
        let allowed = "a plain engine of the MergeTree family is allowed, for instance MergeTree";
        report.add(&text.place, format!("read `{}`; {allowed}", text.value));
    }
}
