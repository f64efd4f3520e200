//! A Merge table: reads several tables under one name.

use crate::tree::{Fields, File, Node, Report, is_identifier};

/// What a Merge table is. It has the columns of the newest epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merge {
    /// Its name without the database.
    pub name: String,
    /// The regular expression that the names of its tables match.
    pub tables: String,
}

impl Merge {
    /// Reads a definition file; every problem is reported.
    pub(super) fn read(file: &File, report: &mut Report) -> Option<Self> {
        let root = Node::parse(file, report)?;
        let mut outer = Fields::of(root.root(file), report)?;
        let merge = outer.required("merge", report);
        outer.finish(report);
        let mut fields = Fields::of(merge?, report)?;
        let name = fields.text("name", report);
        let tables = fields.text("tables", report);
        fields.finish(report);
        let (name, tables) = (name?, tables?);
        if !is_identifier(&name.value) {
            report.add(&name.place, format!("`{}` can't be a table name", name.value));
        }
        // Without both anchors a table that was set aside under a longer name would be read as well.
        if !(tables.value.starts_with('^') && tables.value.ends_with('$')) {
            report.add(&tables.place, format!("read `{}`; it has to start with ^ and end with $", tables.value));
        }
        Some(Self { name: name.value, tables: tables.value })
    }
}
