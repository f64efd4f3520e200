//! Reads the definition files into a [`Registry`], or refuses them with every problem named.

use std::{collections::HashMap, sync::Arc};

use super::{
    Epoch, PlainTable, Registry, aliases, layouts,
    raw::{self, RawEpoch},
    table,
};
use crate::tree::{File, Refused, Report, Tree};

/// The directory of a tree that holds the epochs.
pub const DIRECTORY: &str = "epochs";

/// The epochs that were built into the binary.
///
/// # Errors
/// When they contradict themselves.
pub fn embedded() -> Result<Registry, Refused> {
    let tree = Tree::embedded();
    load(tree.below(DIRECTORY).map(|(_, file)| file))
}

/// The epochs of these files, one each.
///
/// # Errors
/// When they contradict themselves or each other.
pub fn load<'a>(files: impl IntoIterator<Item = &'a File>) -> Result<Registry, Refused> {
    let mut report = Report::default();
    let registry = read(files, &mut report).map(|(registry, _)| registry);
    report.finish(registry)
}

/// The number of the epoch that a file defines, by the file's name.
pub type Numbers = HashMap<Arc<str>, u32>;

/// As [`load`], for a reader of more files than these. What comes back is only good when the report stays clean.
pub fn read<'a>(files: impl IntoIterator<Item = &'a File>, report: &mut Report) -> Option<(Registry, Numbers)> {
    let mut numbers = Numbers::new();
    let mut found: Vec<(Epoch, RawEpoch)> = Vec::new();
    for file in files {
        let Some(raw) = raw::epoch(file, report) else { continue };
        let epoch = epoch(&raw, report);
        for (other, _) in &found {
            if other.number == epoch.number {
                report.add(&raw.number.place, format!("epoch {} is already defined in another file", epoch.number));
            }
            if other.table.name == epoch.table.name {
                let text = format!("`{}` is already the table of epoch {}", other.table.name, other.number);
                report.add(&raw.table.name.place, text);
            }
        }
        numbers.insert(file.name.clone(), epoch.number);
        found.push((epoch, raw));
    }
    found.sort_by_key(|(epoch, _)| epoch.number);
    let mut before = None;
    for (epoch, raw) in &found {
        aliases::check(before, epoch, &raw.columns, report);
        before = Some(epoch);
    }
    let epochs = found.into_iter().map(|(epoch, _)| epoch).collect::<Vec<_>>();
    (!epochs.is_empty()).then_some((Registry { epochs }, numbers))
}

/// A table that no record lands in, for instance the error sink.
pub fn plain_table(file: &File, report: &mut Report) -> Option<PlainTable> {
    let raw = raw::plain_table(file, report)?;
    let columns = table::columns(&raw.columns, report);
    let table = table::table(&raw.table, &columns, report);
    Some(PlainTable { table, columns: columns.into_iter().map(|(column, _)| column).collect() })
}

fn epoch(raw: &RawEpoch, report: &mut Report) -> Epoch {
    let number = raw.number.value;
    let columns = table::columns(&raw.columns, report);
    table::enums_have_zero(&raw.columns, &columns, report);
    let table = table::table(&raw.table, &columns, report);
    let layouts = layouts::layouts(number, &raw.layouts, &raw.columns, &columns, report);
    Epoch { number, table, columns: columns.into_iter().map(|(column, _)| column).collect(), layouts }
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
