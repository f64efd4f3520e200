//! The reference page of objects and columns, made from the definitions.

use std::fmt::Write as _;

use super::{
    definitions::{Body, Definitions, Object},
    manifest::NameSource,
};
use crate::epoch::{Column, Days, Epoch, Layout, Registry, WireType};

const INTRODUCTION: &str = "\
# Objects and columns

<!-- Generated from ddl/: `UPDATE_DOCS=1 cargo test` writes it anew. -->

Everything that this service owns, in the order in which it creates it.
";

/// `docs/columns.md`.
fn page(definitions: &Definitions) -> String {
    let mut page = INTRODUCTION.to_owned();
    objects(&mut page, definitions);
    records(&mut page, &definitions.registry);
    layouts(&mut page, &definitions.registry);
    for object in &definitions.objects {
        if let Body::Table(plain) = &object.body {
            let _ =
                write!(page, "\n## `{}`\n\n| column | type | default | codec |\n|---|---|---|---|\n", plain.table.name);
            for column in &plain.columns {
                let default = column.default.as_ref().map(|d| format!("`{d}`")).unwrap_or_default();
                let _ =
                    writeln!(page, "| `{}` | {} | {default} | {} |", column.name, shown_type(column), codec(column));
            }
        }
    }
    for (id, topic) in definitions.topics() {
        let _ = write!(page, "\n## Topic `{id}`\n\n| property | value |\n|---|---|\n");
        let _ = writeln!(page, "| partitions | {} |", topic.partitions);
        let _ = writeln!(page, "| replication | {}, or the number of brokers if that is less |", topic.replication);
        for (key, value) in &topic.config {
            let _ = writeln!(page, "| `{key}` | {value} |");
        }
    }
    page
}

fn objects(page: &mut String, definitions: &Definitions) {
    page.push_str("\n| object | kind | name | rows leave | defined in |\n|---|---|---|---|---|\n");
    for object in &definitions.objects {
        let entry = &object.entry;
        let leave = definitions.table(object).and_then(|table| table.ttl.as_ref());
        let leave = leave.map_or(String::new(), |ttl| match &ttl.days {
            Days::Parameter(name) => format!("`{name}` days after `{}`", ttl.column),
            Days::Fixed(days) => format!("{days} days after `{}`", ttl.column),
        });
        let file = entry.file().map_or(String::new(), |path| format!("`ddl/{path}`"));
        let (id, kind) = (&entry.id.value, entry.kind.name());
        let _ = writeln!(page, "| `{id}` | {kind} | {} | {leave} | {file} |", name(definitions, object));
    }
    page.push_str("\nWhat a deployment decides:\n\n| parameter | setting | default | |\n|---|---|---|---|\n");
    for parameter in &definitions.manifest.parameters {
        let (name, setting) = (&parameter.name.value, &parameter.setting.value);
        let _ = writeln!(page, "| `{name}` | `{setting}` | {} | {} |", parameter.default, parameter.description);
    }
}

fn name(definitions: &Definitions, object: &Object) -> String {
    let source = |source: &NameSource| match source {
        NameSource::Fixed(name) => format!("`{name}`"),
        NameSource::Parameter(name) => format!("`{name}` decides"),
    };
    match &object.body {
        Body::Database => {
            let database =
                definitions.manifest.databases.iter().find(|d| Some(&d.key) == object.entry.database.as_ref());
            database.map_or(String::new(), |d| source(&d.name))
        }
        Body::Epoch(_) | Body::Table(_) => {
            definitions.table(object).map_or(String::new(), |table| format!("`{}`", table.name))
        }
        Body::Merge(merge) => format!("`{}`", merge.name),
        Body::View(view) | Body::MaterializedView(view) => format!("`{}`", view.name),
        Body::Role(role) => format!("`{}`", role.name),
        Body::Topic(topic) => source(&topic.name),
    }
}

/// One line for each column of the newest epoch, with its field in every layout and its older names.
fn records(page: &mut String, registry: &Registry) {
    page.push_str(
        "\n## Columns of records\n\nBy the newest epoch, which the unified view shows for all. Each layout has the \
         protobuf type and the number of the field that the column is read from; before them stands the column's name in \
         that epoch where it was another. A column without a field in a layout is at its default for such records.\n\n\
         | column | type | codec |",
    );
    for (_, epoch, layout) in newest_first(registry) {
        let _ = write!(page, " v{} {} |", epoch.number, layout.name);
    }
    let _ = writeln!(page, "\n|---|---|---|{}", "---|".repeat(newest_first(registry).count()));
    for (index, column) in registry.newest().columns.iter().enumerate() {
        let _ = write!(page, "| `{}` | {} | {} |", column.name, shown_type(column), codec(column));
        let history = registry.history(index);
        for (position, epoch, layout) in newest_first(registry) {
            let cell = history[position].map_or(String::new(), |at| cell(column, epoch, at, layout));
            let _ = write!(page, " {cell} |");
        }
        page.push('\n');
    }
    page.push_str("\nTypes that differ in older epochs:\n\n| epoch | column | type |\n|---|---|---|\n");
    for (index, column) in registry.newest().columns.iter().enumerate() {
        for (epoch, at) in registry.epochs().iter().zip(registry.history(index)).rev() {
            let Some(old) = at.map(|at| &epoch.columns[at]) else { continue };
            if old.column_type != column.column_type {
                let _ = writeln!(page, "| {} | `{}` | {} |", epoch.number, old.name, shown_type(old));
            }
        }
    }
}

/// Every layout, newest first, with the position of its epoch.
fn newest_first(registry: &Registry) -> impl Iterator<Item = (usize, &Epoch, &Layout)> {
    let epochs = registry.epochs().iter().enumerate().rev();
    epochs.flat_map(|(position, epoch)| epoch.layouts.iter().rev().map(move |layout| (position, epoch, layout)))
}

fn cell(newest: &Column, epoch: &Epoch, at: usize, layout: &Layout) -> String {
    let Some(field) = layout.fields.iter().find(|field| field.column == at) else { return String::new() };
    let name = &epoch.columns[at].name;
    let name = if *name == newest.name { String::new() } else { format!("`{name}` ") };
    format!("{name}{} {}", field.proto.name(), field.number)
}

fn layouts(page: &mut String, registry: &Registry) {
    page.push_str(
        "\n## Layouts\n\nField 1 of a record names its epoch; without it, it is of epoch 0. Of the layouts of that epoch, \
         the first one whose signs the record shows is the one that it is read by.\n\n| epoch | layout | signs | fields |\n\
         |---|---|---|---|\n",
    );
    for epoch in registry.epochs() {
        for layout in &epoch.layouts {
            let signs: Vec<String> =
                layout.when.iter().map(|sign| format!("field {} is {}", sign.number, wire(sign.wire))).collect();
            let signs = if signs.is_empty() { "none".to_owned() } else { signs.join(" and ") };
            let _ = writeln!(page, "| {} | {} | {signs} | {} |", epoch.number, layout.name, layout.fields.len());
        }
    }
}

const fn wire(wire: WireType) -> &'static str {
    match wire {
        WireType::Varint => "a varint",
        WireType::Fixed64 => "eight bytes",
        WireType::Len => "bytes with a length",
        WireType::Fixed32 => "four bytes",
    }
}

fn shown_type(column: &Column) -> String {
    format!("`{}`", column.column_type)
}

fn codec(column: &Column) -> &str {
    column.codec.as_deref().unwrap_or("")
}

#[test]
fn the_page_of_columns_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/columns.md");
    let page = page(&Definitions::embedded().expect("sound definitions"));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, page).expect("docs/ can be written");
        return;
    }
    let current = std::fs::read_to_string(path).unwrap_or_default();
    assert!(current == page, "docs/columns.md is not what ddl/ says: `UPDATE_DOCS=1 cargo test` writes it anew");
}
