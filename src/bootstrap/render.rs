//! Statements out of definitions, for a platform.

use super::{
    checksum,
    definitions::{Body, Definitions, Object},
    manifest::Kind,
    merge::Merge,
    parameters::Parameters,
    platform::Platform,
    unify,
};
use crate::{
    clickhouse::{literal, quoted},
    epoch::{Column, Days, PlainTable, Table},
};

/// An object as the server is told to create it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The object's id in the manifest.
    pub id: String,
    /// What it is.
    pub kind: Kind,
    /// The database's name.
    pub database: String,
    /// The object's own name; empty for a database.
    pub name: String,
    /// The statement. It fails when there is an object of that name already; for a view it replaces it.
    pub sql: String,
    /// What is declared, as a number that is the same on every platform.
    pub checksum: String,
}

impl Statement {
    /// The name with its database, for messages.
    #[must_use]
    pub fn full_name(&self) -> String {
        if self.name.is_empty() { self.database.clone() } else { format!("{}.{}", self.database, self.name) }
    }

    /// The name with its database as SQL writes it.
    #[must_use]
    pub fn quoted_name(&self) -> String {
        format!("{}.{}", quoted(&self.database), quoted(&self.name))
    }

    /// The statement that puts a table that holds nothing in the place of another one.
    #[must_use]
    pub fn replacing(&self) -> String {
        match self.sql.strip_prefix("CREATE TABLE ") {
            Some(rest) => format!("CREATE OR REPLACE TABLE {rest}"),
            None => self.sql.clone(),
        }
    }
}

impl Definitions {
    /// The statements of all ClickHouse objects, in the order of the manifest.
    #[must_use]
    pub fn statements(&self, parameters: &Parameters, platform: Platform) -> Vec<Statement> {
        self.objects.iter().filter_map(|object| self.statement(object, parameters, platform)).collect()
    }

    /// The name of the database that an object is in; topics are in none.
    #[must_use]
    pub fn database<'a>(&'a self, object: &Object, parameters: &'a Parameters) -> Option<&'a str> {
        let key = object.entry.database.as_ref()?;
        let database = self.manifest.databases.iter().find(|d| d.key == *key)?;
        Some(parameters.name(&database.name))
    }

    /// The statement of an object; topics have none.
    #[must_use]
    pub fn statement(&self, object: &Object, parameters: &Parameters, platform: Platform) -> Option<Statement> {
        let database = self.database(object, parameters)?;
        let sql = |platform| match &object.body {
            Body::Database => Some(create_database(database, platform)),
            Body::Epoch(_) | Body::Table(_) => {
                let (table, columns) = (self.table(object)?, self.columns(object)?);
                Some(create_table(database, table, columns, parameters, platform))
            }
            Body::Merge(merge) => Some(self.create_merge(database, merge)),
            Body::View(view) | Body::MaterializedView(view) => {
                Some(view.render(database, &unify::select(&self.registry, database)))
            }
            Body::Role(role) => Some(role.statements(database).join(";\n")),
            Body::Topic(_) => None,
        };
        Some(Statement {
            id: object.entry.id.value.clone(),
            kind: object.entry.kind,
            database: database.to_owned(),
            name: self.own_name(object)?.to_owned(),
            sql: sql(Some(platform))?,
            checksum: checksum::of(&sql(None)?),
        })
    }

    /// An object's name without its database; empty for a database itself. A topic has none here.
    fn own_name<'a>(&'a self, object: &'a Object) -> Option<&'a str> {
        match &object.body {
            Body::Database => Some(""),
            Body::Epoch(_) | Body::Table(_) => self.table(object).map(|table| table.name.as_str()),
            Body::Merge(merge) => Some(&merge.name),
            Body::View(view) | Body::MaterializedView(view) => Some(&view.name),
            Body::Role(role) => Some(&role.name),
            Body::Topic(_) => None,
        }
    }

    /// The columns that an object declares: those of its own file, or for a Merge table those of the newest epoch.
    #[must_use]
    pub fn columns<'a>(&'a self, object: &'a Object) -> Option<&'a [Column]> {
        match &object.body {
            Body::Epoch(_) => self.epoch(object).map(|epoch| epoch.columns.as_slice()),
            Body::Table(plain) => Some(&plain.columns),
            Body::Merge(_) => Some(&self.registry.newest().columns),
            Body::Database | Body::View(_) | Body::MaterializedView(_) | Body::Role(_) | Body::Topic(_) => None,
        }
    }

    /// The statement of a table that no manifest lists: it creates the table where there is none of that name.
    #[must_use]
    pub fn create_apart(
        &self,
        plain: &PlainTable,
        database: &str,
        parameters: &Parameters,
        platform: Platform,
    ) -> String {
        let sql = create_table(database, &plain.table, &plain.columns, parameters, Some(platform));
        sql.replacen("CREATE TABLE", "CREATE TABLE IF NOT EXISTS", 1)
    }

    /// A Merge table holds nothing, so its columns need neither codec nor default.
    fn create_merge(&self, database: &str, merge: &Merge) -> String {
        let columns = &self.registry.newest().columns;
        let lines: Vec<String> = columns.iter().map(|c| format!("    {} {}", quoted(&c.name), c.column_type)).collect();
        format!(
            "CREATE TABLE {}.{}\n(\n{}\n)\nENGINE = {}",
            quoted(database),
            quoted(&merge.name),
            lines.join(",\n"),
            merge_engine(database, merge)
        )
    }
}

/// The engine of a Merge table with its arguments, as the server reports it.
pub(super) fn merge_engine(database: &str, merge: &Merge) -> String {
    format!("Merge({}, {})", literal(database), literal(&merge.tables))
}

/// A replicated database is created on every server of the cluster: what follows in it replicates itself.
fn create_database(database: &str, platform: Option<Platform>) -> String {
    let name = quoted(database);
    match platform {
        Some(Platform::SelfHosted) => {
            let path = literal(&format!("/clickhouse/databases/{database}"));
            format!(
                "CREATE DATABASE {name} ON CLUSTER '{{cluster}}'\nENGINE = Replicated({path}, '{{shard}}', '{{replica}}')"
            )
        }
        _ => format!("CREATE DATABASE {name}"),
    }
}

/// Without a platform it is the declaration alone: what every platform's form is made from.
fn create_table(
    database: &str,
    table: &Table,
    columns: &[Column],
    parameters: &Parameters,
    platform: Option<Platform>,
) -> String {
    let lines: Vec<String> = columns.iter().map(|column| format!("    {}", column_line(column))).collect();
    let mut sql = format!(
        "CREATE TABLE {}.{}\n(\n{}\n)\nENGINE = {}",
        quoted(database),
        quoted(&table.name),
        lines.join(",\n"),
        engine(table, platform)
    );
    let keys: Vec<String> = table.order_by.iter().map(|key| quoted(key)).collect();
    match keys.as_slice() {
        [] => sql.push_str("\nORDER BY tuple()"),
        [key] => sql.push_str(&format!("\nORDER BY {key}")),
        keys => sql.push_str(&format!("\nORDER BY ({})", keys.join(", "))),
    }
    if let Some(ttl) = ttl(table, columns, parameters) {
        sql.push_str(&format!("\nTTL {ttl}"));
    }
    let settings: Vec<String> =
        settings(table, platform).iter().map(|(name, value)| format!("{name} = {value}")).collect();
    if !settings.is_empty() {
        sql.push_str(&format!("\nSETTINGS {}", settings.join(", ")));
    }
    sql
}

/// The engine; a replicated one takes path and name from the server's defaults.
pub(super) fn engine(table: &Table, platform: Option<Platform>) -> String {
    let replicated = platform.is_some_and(Platform::is_replicated);
    format!("{}{}", if replicated { "Replicated" } else { "" }, table.engine)
}

/// When rows leave, as an expression; `None` for never.
pub(super) fn ttl(table: &Table, columns: &[Column], parameters: &Parameters) -> Option<String> {
    let ttl = table.ttl.as_ref()?;
    let days = match &ttl.days {
        Days::Parameter(name) => parameters.get(name).to_owned(),
        Days::Fixed(days) => days.to_string(),
    };
    let is_64 = columns.iter().any(|c| c.name == ttl.column && c.column_type.to_string().starts_with("DateTime64"));
    let time = if is_64 { format!("toDateTime({})", quoted(&ttl.column)) } else { quoted(&ttl.column) };
    (days != "0").then(|| format!("{time} + toIntervalDay({days})"))
}

/// The settings with their values as SQL writes them. A platform takes those of its own kind of table.
pub(super) fn settings(table: &Table, platform: Option<Platform>) -> Vec<(String, String)> {
    let mut settings = table.settings.clone();
    if let Some(window) = table.deduplication {
        let plain = [("non_replicated_deduplication_window", window.blocks)];
        let replicated = [
            ("replicated_deduplication_window", window.blocks),
            ("replicated_deduplication_window_seconds", window.seconds),
        ];
        let mut add = |entries: &[(&str, u32)]| {
            settings.extend(entries.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())));
        };
        if platform.is_none_or(|platform| !platform.is_replicated()) {
            add(&plain);
        }
        if platform.is_none_or(Platform::is_replicated) {
            add(&replicated);
        }
    }
    settings
}

/// A column as a statement declares it.
pub(super) fn column_line(column: &Column) -> String {
    let mut line = format!("{} {}", quoted(&column.name), column.column_type);
    if let Some(default) = &column.default {
        line.push_str(&format!(" DEFAULT {default}"));
    }
    if let Some(codec) = &column.codec {
        line.push_str(&format!(" CODEC({codec})"));
    }
    line
}
