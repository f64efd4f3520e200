//! All epochs under the names and labels of the newest, as one query.

use crate::{
    clickhouse::{literal, quoted},
    epoch::{Column, ColumnType, Epoch, Registry},
};

/// One SELECT for each epoch, joined by UNION ALL. Every one has the columns of the newest epoch, in its order.
pub(super) fn select(registry: &Registry, database: &str) -> String {
    let newest = &registry.newest().columns;
    let histories: Vec<Vec<Option<usize>>> = (0..newest.len()).map(|column| registry.history(column)).collect();
    let epoch = |(position, epoch): (usize, &Epoch)| {
        let column = |(target, history): (&Column, &Vec<Option<usize>>)| {
            format!("    {}", expression(target, history[position].map(|at| &epoch.columns[at])))
        };
        let columns: Vec<String> = newest.iter().zip(&histories).map(column).collect();
        format!("SELECT\n{}\nFROM {}.{}", columns.join(",\n"), quoted(database), quoted(&epoch.table.name))
    };
    registry.epochs().iter().enumerate().map(epoch).collect::<Vec<_>>().join("\nUNION ALL\n")
}

/// A column of the newest epoch out of what an epoch has for it.
fn expression(target: &Column, source: Option<&Column>) -> String {
    let (name, wanted) = (quoted(&target.name), literal(&target.column_type.to_string()));
    let Some(source) = source else { return format!("defaultValueOfTypeName({wanted}) AS {name}") };
    let own = quoted(&source.name);
    if source.column_type == target.column_type {
        return if source.name == target.name { own } else { format!("{own} AS {name}") };
    }
    // By number, or a value whose label was changed would have none.
    match (&source.column_type, &target.column_type) {
        (ColumnType::Enum8(_), ColumnType::Enum8(_)) => format!("CAST(toInt8({own}), {wanted}) AS {name}"),
        (ColumnType::Enum8(_) | ColumnType::Enum16(_), ColumnType::Enum8(_) | ColumnType::Enum16(_)) => {
            format!("CAST(toInt16({own}), {wanted}) AS {name}")
        }
        _ => format!("CAST({own}, {wanted}) AS {name}"),
    }
}
