//! One column under the names that it has had over the epochs.

use super::{Column, Epoch, Registry, raw::RawColumn};
use crate::tree::Report;

impl Registry {
    /// The position of a column of the newest epoch in every epoch, ascending like [`Registry::epochs`]; `None` where
    /// an epoch lacks it.
    ///
    /// # Panics
    /// When the newest epoch has no column at that position.
    #[must_use]
    pub fn history(&self, newest_column: usize) -> Vec<Option<usize>> {
        let mut positions = vec![None; self.epochs.len()];
        let mut column = &self.newest().columns[newest_column];
        *positions.last_mut().expect("a registry has an epoch") = Some(newest_column);
        for (index, epoch) in self.epochs.iter().enumerate().rev().skip(1) {
            let Some(position) = epoch.column(source(column)) else { break };
            positions[index] = Some(position);
            column = &epoch.columns[position];
        }
        positions
    }
}

/// The name that a column has in the epoch before, if it is there.
fn source(column: &Column) -> &str {
    column.was.as_deref().unwrap_or(&column.name)
}

/// Checks the columns of `epoch` against those of the epoch before it.
pub(super) fn check(before: Option<&Epoch>, epoch: &Epoch, raw: &[RawColumn], report: &mut Report) {
    check_renames(before, epoch, raw, report);
    let Some(before) = before else { return };
    for (column, raw) in epoch.columns.iter().zip(raw) {
        let Some(old) = before.column(source(column)).map(|at| &before.columns[at].column_type) else { continue };
        let (old, new) = (old.enum_numbers(), column.column_type.enum_numbers());
        // A number keeps its meaning over the epochs, so a view over all of them needs a label for each.
        if let Some(lost) = old.iter().find(|number| !new.is_empty() && !new.contains(number)) {
            let text = format!(
                "number {lost} of epoch {} has no label any more; a view over both can't show it",
                before.number
            );
            report.add(&raw.column_type.place, text);
        }
    }
}

fn check_renames(before: Option<&Epoch>, epoch: &Epoch, raw: &[RawColumn], report: &mut Report) {
    for (index, column) in raw.iter().enumerate() {
        let Some(was) = &column.was else { continue };
        match before {
            None => report.add(&was.place, "there is no epoch before this one that had another name"),
            Some(before) if before.column(&was.value).is_none() => {
                report.add(&was.place, format!("epoch {} has no column `{}`", before.number, was.value));
            }
            Some(_) => {}
        }
        let other = epoch.columns.iter().enumerate().find(|(i, other)| *i != index && source(other) == was.value);
        // The later of two columns with a `was` speaks; one that has the name itself stays silent.
        if let Some((i, other)) = other.filter(|(i, other)| *i < index || other.was.is_none()) {
            let line = raw.get(i).map_or(0, |r| r.name.place.line);
            let text =
                format!("`{}` of the epoch before is already that of `{}` in line {line}", was.value, other.name);
            report.add(&was.place, text);
        }
    }
}
