//! What the server has: a few queries for all objects of a database, never one for each.

use std::collections::HashMap;

use serde::Deserialize;

use crate::clickhouse::{Client, Error};

/// What one database holds.
#[derive(Debug, Default, Clone)]
pub struct Catalogue {
    /// The database's engine, `None` when there is no such database.
    pub database_engine: Option<String>,
    /// Tables and views by name.
    pub tables: HashMap<String, LiveTable>,
}

/// A table or view as the server reports it.
#[derive(Debug, Default, Clone)]
pub struct LiveTable {
    /// The engine's name.
    pub engine: String,
    /// The columns in table order.
    pub columns: Vec<LiveColumn>,
}

/// A column as the server reports it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct LiveColumn {
    /// The name.
    pub name: String,
    /// The type in the server's own words.
    #[serde(rename = "type")]
    pub column_type: String,
    /// `CODEC(…)`, or empty.
    pub compression_codec: String,
    /// `DEFAULT`, `MATERIALIZED`, `ALIAS`, `EPHEMERAL`, or empty.
    pub default_kind: String,
}

#[derive(Deserialize)]
struct Named {
    name: String,
    engine: String,
}

#[derive(Deserialize)]
struct ColumnRow {
    table: String,
    #[serde(flatten)]
    column: LiveColumn,
}

impl Catalogue {
    /// Reads a database and its columns.
    ///
    /// # Errors
    /// When a query fails.
    pub async fn read(client: &Client, database: &str) -> Result<Self, Error> {
        let mut catalogue = Self::read_names(client, database).await?;
        let sql = "SELECT table, name, type, compression_codec, default_kind FROM system.columns \
                   WHERE database = {database:String} ORDER BY table, position";
        for row in client.query::<ColumnRow>(sql, &[("database", database)]).await? {
            if let Some(table) = catalogue.tables.get_mut(&row.table) {
                table.columns.push(row.column);
            }
        }
        Ok(catalogue)
    }

    /// Reads which objects a database holds, without their columns.
    ///
    /// # Errors
    /// When a query fails.
    pub async fn read_names(client: &Client, database: &str) -> Result<Self, Error> {
        let params = [("database", database)];
        let sql = "SELECT name, engine FROM system.databases WHERE name = {database:String}";
        let database_engine = client.query::<Named>(sql, &params).await?.pop().map(|row| row.engine);
        let sql = "SELECT name, engine FROM system.tables WHERE database = {database:String}";
        let rows = client.query::<Named>(sql, &params).await?;
        let table = |row: Named| (row.name, LiveTable { engine: row.engine, columns: Vec::new() });
        Ok(Self { database_engine, tables: rows.into_iter().map(table).collect() })
    }

    /// Whether it has a table or view of that name, or, without a name, whether it is there at all.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        if name.is_empty() { self.database_engine.is_some() } else { self.tables.contains_key(name) }
    }
}
