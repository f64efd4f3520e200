//! Statements out of definitions.

use super::{
    definitions::{Body, Definitions, Object},
    manifest::Kind,
    merge::Merge,
    parameters::Parameters,
    unify,
};
use crate::{
    clickhouse::{literal, quoted},
    epoch::{Column, Table},
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
    /// The statement. Sent twice it does no harm.
    pub sql: String,
}

impl Statement {
    /// The name with its database, for messages.
    #[must_use]
    pub fn full_name(&self) -> String {
        if self.name.is_empty() { self.database.clone() } else { format!("{}.{}", self.database, self.name) }
    }
}

impl Definitions {
    /// The statements of all ClickHouse objects, in the order of the manifest.
    #[must_use]
    pub fn statements(&self, parameters: &Parameters) -> Vec<Statement> {
        self.objects.iter().filter_map(|object| self.statement(object, parameters)).collect()
    }

    /// The name of the database that an object is in; topics are in none.
    #[must_use]
    pub fn database<'a>(&'a self, object: &Object, parameters: &'a Parameters) -> Option<&'a str> {
        let key = object.entry.database.as_ref()?;
        let database = self.manifest.databases.iter().find(|d| d.key == *key)?;
        Some(parameters.name(&database.name))
    }

    fn statement(&self, object: &Object, parameters: &Parameters) -> Option<Statement> {
        let database = self.database(object, parameters)?;
        let (name, sql) = match &object.body {
            Body::Database => (String::new(), format!("CREATE DATABASE IF NOT EXISTS {}", quoted(database))),
            Body::Epoch(_) | Body::Table(_) => {
                let (table, columns) = (self.table(object)?, self.columns(object)?);
                (table.name.clone(), create_table(database, table, columns, parameters))
            }
            Body::Merge(merge) => (merge.name.clone(), self.create_merge(database, merge)),
            Body::View(view) => (view.name.clone(), view.render(database, &unify::select(&self.registry, database))),
            Body::Topic(_) => return None,
        };
        Some(Statement {
            id: object.entry.id.value.clone(),
            kind: object.entry.kind,
            database: database.to_owned(),
            name,
            sql,
        })
    }

    /// The columns that an object declares: those of its own file, or for a Merge table those of the newest epoch.
    #[must_use]
    pub fn columns<'a>(&'a self, object: &'a Object) -> Option<&'a [Column]> {
        match &object.body {
            Body::Epoch(_) => self.epoch(object).map(|epoch| epoch.columns.as_slice()),
            Body::Table(plain) => Some(&plain.columns),
            Body::Merge(_) => Some(&self.registry.newest().columns),
            Body::Database | Body::View(_) | Body::Topic(_) => None,
        }
    }

    /// A Merge table holds nothing, so its columns need neither codec nor default.
    fn create_merge(&self, database: &str, merge: &Merge) -> String {
        let columns = &self.registry.newest().columns;
        let lines: Vec<String> = columns.iter().map(|c| format!("    {} {}", quoted(&c.name), c.column_type)).collect();
        format!(
            "CREATE TABLE IF NOT EXISTS {}.{}\n(\n{}\n)\nENGINE = Merge({}, {})",
            quoted(database),
            quoted(&merge.name),
            lines.join(",\n"),
            literal(database),
            literal(&merge.tables)
        )
    }
}

fn create_table(database: &str, table: &Table, columns: &[Column], parameters: &Parameters) -> String {
    let lines: Vec<String> = columns.iter().map(|column| format!("    {}", column_line(column))).collect();
    let mut sql = format!(
        "CREATE TABLE IF NOT EXISTS {}.{}\n(\n{}\n)\nENGINE = {}",
        quoted(database),
        quoted(&table.name),
        lines.join(",\n"),
        table.engine
    );
    let keys: Vec<String> = table.order_by.iter().map(|key| quoted(key)).collect();
    match keys.as_slice() {
        [] => sql.push_str("\nORDER BY tuple()"),
        [key] => sql.push_str(&format!("\nORDER BY {key}")),
        keys => sql.push_str(&format!("\nORDER BY ({})", keys.join(", "))),
    }
    if let Some(ttl) = &table.ttl {
        let days = parameters.get(&ttl.days_parameter);
        let is_64 = columns.iter().any(|c| c.name == ttl.column && c.column_type.to_string().starts_with("DateTime64"));
        let time = if is_64 { format!("toDateTime({})", quoted(&ttl.column)) } else { quoted(&ttl.column) };
        if days != "0" {
            sql.push_str(&format!("\nTTL {time} + toIntervalDay({days})"));
        }
    }
    if !table.settings.is_empty() {
        let settings: Vec<String> = table.settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        sql.push_str(&format!("\nSETTINGS {}", settings.join(", ")));
    }
    sql
}

fn column_line(column: &Column) -> String {
    let mut line = format!("{} {}", quoted(&column.name), column.column_type);
    if let Some(default) = &column.default {
        line.push_str(&format!(" DEFAULT {default}"));
    }
    if let Some(codec) = &column.codec {
        line.push_str(&format!(" CODEC({codec})"));
    }
    line
}
