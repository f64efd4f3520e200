//! A live table against its declaration.

use std::collections::{HashMap, HashSet};

use super::{
    catalogue::{LiveColumn, LiveTable},
    clauses::variant,
    drift::{Drift, Part, Remedy},
    render::column_line,
    retype::Retype,
};
use crate::{
    clickhouse::quoted,
    epoch::{Column, ColumnType},
};

/// A table as it is declared for a platform.
#[derive(Debug, Clone)]
pub(super) struct Declared<'a> {
    /// The engine with its own arguments.
    pub engine: String,
    pub columns: &'a [Column],
    pub order_by: &'a [String],
    /// The TTL expression, if any.
    pub ttl: Option<String>,
    pub settings: Vec<(String, String)>,
    /// Whether what the table lacks may be added.
    pub additive: bool,
}

/// What stands between a live table and its declaration.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Comparison {
    /// What is added without being asked, behind `ALTER TABLE name`, each with what it says to people.
    pub additions: Vec<Addition>,
    /// Declared columns that are added.
    pub columns_added: Vec<String>,
    /// What isn't touched without being asked.
    pub drift: Vec<Drift>,
    /// Live columns that aren't declared: reported, never touched.
    pub extra_columns: Vec<String>,
}

/// A change that takes nothing away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Addition {
    pub part: Part,
    pub text: String,
    pub alter: String,
}

const REBUILD: &str = "the table would have to be rebuilt";
const METADATA: &str = "change it by hand if it is meant";

/// Compares everything but comments, indexes, projections and the order of columns.
pub(super) fn compare(declared: &Declared<'_>, live: &LiveTable) -> Comparison {
    let mut found = Comparison::default();
    compare_engine(&declared.engine, live, &mut found.drift);
    if !live.engine.ends_with("MergeTree") {
        // Another kind of table altogether has neither these keys nor these settings, and gains no columns from here.
        compare_columns(&Declared { additive: false, ..declared.clone() }, live, &mut found);
        return found;
    }
    compare_keys(declared, live, &mut found.drift);
    compare_ttl(declared, live, &mut found.drift);
    compare_settings(declared, live, &mut found);
    compare_columns(declared, live, &mut found);
    for stuck in live.mutations.iter().filter(|m| !m.latest_fail_reason.is_empty()) {
        found.drift.push(Drift {
            part: Part::Mutation(stuck.mutation_id.clone()),
            live: stuck.latest_fail_reason.clone(),
            declared: stuck.command.clone(),
            remedy: Remedy::Refused("KILL MUTATION ends it; then mend the column".to_owned()),
        });
    }
    found
}

fn compare_engine(declared: &str, live: &LiveTable, drift: &mut Vec<Drift>) {
    // Some engines report nothing but their name.
    let text = if live.clauses.engine.is_empty() { &live.engine } else { &live.clauses.engine };
    if variant(text) != variant(declared) {
        drift.push(refused(Part::Engine, text, declared, REBUILD));
    }
}

fn compare_keys(declared: &Declared<'_>, live: &LiveTable, drift: &mut Vec<Drift>) {
    let sorting = declared.order_by.join(", ");
    let live_sorting = key(&live.sorting_key);
    if live_sorting != sorting {
        drift.push(refused(Part::SortingKey, &live_sorting, &sorting, REBUILD));
    }
    let primary = key(&live.primary_key);
    if primary != live_sorting {
        drift.push(refused(Part::PrimaryKey, &primary, &sorting, REBUILD));
    }
    if !live.partition_key.is_empty() {
        drift.push(refused(Part::PartitionKey, &live.partition_key, "", REBUILD));
    }
    if !live.sampling_key.is_empty() {
        drift.push(refused(Part::SamplingKey, &live.sampling_key, "", REBUILD));
    }
}

/// A key without back quotes and, where it is one expression, without the parentheses around it.
fn key(text: &str) -> String {
    let text = text.replace('`', "");
    match text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
        Some(inner) if !inner.contains(['(', ')']) => inner.to_owned(),
        _ => text,
    }
}

fn compare_ttl(declared: &Declared<'_>, live: &LiveTable, drift: &mut Vec<Drift>) {
    let wanted = declared.ttl.as_deref().unwrap_or("").replace('`', "");
    let has = live.clauses.ttl.replace('`', "");
    if has != wanted {
        let alter = declared.ttl.as_ref().map_or("REMOVE TTL".to_owned(), |ttl| format!("MODIFY TTL {ttl}"));
        drift.push(Drift { part: Part::Ttl, live: has, declared: wanted, remedy: Remedy::Alter(alter) });
    }
}

/// A setting that the table doesn't have takes nothing away; another value may have been meant by somebody.
fn compare_settings(declared: &Declared<'_>, live: &LiveTable, found: &mut Comparison) {
    let mut lacking = Vec::new();
    for (name, value) in &declared.settings {
        let alter = format!("MODIFY SETTING {name} = {value}");
        match live.clauses.setting(name) {
            Some(live) if live == value => {}
            None if declared.additive => lacking.push(format!("{name} = {value}")),
            live => found.drift.push(Drift {
                part: Part::Setting(name.clone()),
                live: live.unwrap_or_default().to_owned(),
                declared: value.clone(),
                remedy: Remedy::Alter(alter),
            }),
        }
    }
    if !lacking.is_empty() {
        let text = lacking.join(", ");
        let names: Vec<&str> = lacking.iter().filter_map(|set| set.split(' ').next()).collect();
        let part = Part::Setting(names.join("`, `"));
        found.additions.push(Addition { part, text: format!("set {text}"), alter: format!("MODIFY SETTING {text}") });
    }
}

fn compare_columns(declared: &Declared<'_>, live: &LiveTable, found: &mut Comparison) {
    let by_name: HashMap<&str, &LiveColumn> = live.columns.iter().map(|c| (c.name.as_str(), c)).collect();
    let mut added = Vec::new();
    for column in declared.columns {
        match by_name.get(column.name.as_str()) {
            Some(live) => compare_column(column, live, &mut found.drift),
            None if declared.additive => {
                // Whole, and at the end: where it stands makes no difference to anybody who names columns.
                added.push(format!("ADD COLUMN IF NOT EXISTS {}", column_line(column)));
                found.columns_added.push(column.name.clone());
            }
            None => {
                let text = column_line(column);
                let why = "the manifest doesn't let this object gain columns";
                found.drift.push(refused(Part::Column(column.name.clone()), "", &text, why));
            }
        }
    }
    if !added.is_empty() {
        let text = format!("add column {}", found.columns_added.join(", "));
        let part = Part::Column(found.columns_added.join("`, `"));
        found.additions.push(Addition { part, text, alter: added.join(", ") });
    }
    let names: HashSet<&str> = declared.columns.iter().map(|c| c.name.as_str()).collect();
    found.extra_columns =
        live.columns.iter().map(|c| &c.name).filter(|n| !names.contains(n.as_str())).cloned().collect();
}

fn compare_column(column: &Column, live: &LiveColumn, drift: &mut Vec<Drift>) {
    if !same_type(&live.column_type, &column.column_type) {
        let retype = Retype::of(&live.column_type, &column.column_type);
        let remedy = match retype.refusal() {
            None => Remedy::Alter(format!("MODIFY COLUMN {}", column_line(column))),
            Some(why) => Remedy::Refused(why.to_owned()),
        };
        drift.push(Drift {
            part: Part::ColumnType(column.name.clone()),
            live: live.column_type.clone(),
            declared: column.column_type.to_string(),
            remedy,
        });
    }
    let codec = live.compression_codec.strip_prefix("CODEC(").and_then(|c| c.strip_suffix(')'));
    let codec = codec.unwrap_or(&live.compression_codec);
    let wanted = column.codec.as_deref().unwrap_or("");
    if codec != wanted {
        drift.push(refused(Part::Codec(column.name.clone()), codec, wanted, METADATA));
    }
    let default = format!("{} {}", live.default_kind, live.default_expression);
    let wanted = column.default.as_ref().map_or(String::new(), |default| format!("DEFAULT {default}"));
    if default.trim() != wanted {
        drift.push(refused(Part::Default(column.name.clone()), default.trim(), &wanted, METADATA));
    }
}

/// The server's words are the canonical ones; those of another release may be spaced otherwise.
pub(super) fn same_type(live: &str, declared: &ColumnType) -> bool {
    live == declared.to_string() || ColumnType::parse(live).is_ok_and(|live| live == *declared)
}

/// What it takes to make it so is said by `quoted` names alone, so nothing of the server's text is ever spliced.
pub(super) fn alter(database: &str, table: &str, command: &str) -> String {
    format!("ALTER TABLE {}.{} {command}", quoted(database), quoted(table))
}

fn refused(part: Part, live: &str, declared: &str, why: &str) -> Drift {
    Drift { part, live: live.to_owned(), declared: declared.to_owned(), remedy: Remedy::Refused(why.to_owned()) }
}
