//! What the server has: a few queries for all objects of a database, never one for each.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;

use super::clauses::Clauses;
use crate::clickhouse::{Client, Error};

/// What one database holds.
#[derive(Debug, Default, Clone)]
pub struct Catalogue {
    /// The database's engine, `None` when there is no such database.
    pub database_engine: Option<String>,
    /// Tables and views by name.
    pub tables: HashMap<String, LiveTable>,
    /// The roles that the account sees, where definitions have any.
    pub roles: HashSet<String>,
    /// The checksums of the roles that the ledger has for this database.
    pub asserted: HashMap<String, String>,
}

/// A table or view as the server reports it.
#[derive(Debug, Default, Clone)]
pub struct LiveTable {
    /// The engine's name.
    pub engine: String,
    /// What follows the name in its CREATE: engine with arguments, keys, TTL, settings.
    pub clauses: Clauses,
    /// The sorting key without parentheses.
    pub sorting_key: String,
    /// The primary key without parentheses.
    pub primary_key: String,
    /// The partition key.
    pub partition_key: String,
    /// The sampling key.
    pub sampling_key: String,
    /// A view's query.
    pub as_select: String,
    /// Where a materialized view writes, with the database.
    pub target: String,
    /// The columns in table order.
    pub columns: Vec<LiveColumn>,
    /// Mutations that are not done.
    pub mutations: Vec<Mutation>,
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
    /// The expression of the default, or empty.
    pub default_expression: String,
}

/// A change of a table's data that is not done.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Mutation {
    /// The server's name for it.
    pub mutation_id: String,
    /// What it does.
    pub command: String,
    /// Why it failed, or empty.
    pub latest_fail_reason: String,
}

#[derive(Deserialize)]
struct DatabaseRow {
    engine: String,
}

#[derive(Deserialize)]
struct TableRow {
    name: String,
    engine: String,
    engine_full: String,
    sorting_key: String,
    primary_key: String,
    partition_key: String,
    sampling_key: String,
    as_select: String,
    target: String,
}

#[derive(Deserialize)]
struct RoleRow {
    name: String,
}

#[derive(Deserialize)]
struct ColumnRow {
    table: String,
    #[serde(flatten)]
    column: LiveColumn,
}

#[derive(Deserialize)]
struct MutationRow {
    table: String,
    #[serde(flatten)]
    mutation: Mutation,
}

const DATABASE: &str = "SELECT engine FROM system.databases WHERE name = {database:String}";
const TABLES: &str = "SELECT name, engine, engine_full, sorting_key, primary_key, partition_key, sampling_key, as_select, \
                      if(engine = 'MaterializedView', replaceAll(extract(create_table_query, ' TO ([^ ]+)'), '`', ''), '') AS target \
                      FROM system.tables WHERE database = {database:String}";
const COLUMNS: &str = "SELECT table, name, type, compression_codec, default_kind, default_expression \
                       FROM system.columns WHERE database = {database:String}";
const MUTATIONS: &str = "SELECT table, mutation_id, command, latest_fail_reason FROM system.mutations \
                         WHERE database = {database:String} AND NOT is_done AND NOT is_killed";

impl Catalogue {
    /// Reads a database, its objects, their columns and mutations under way.
    ///
    /// # Errors
    /// When a query fails.
    pub async fn read(client: &Client, database: &str) -> Result<Self, Error> {
        Self::select(client, database, None).await
    }

    /// The same for one object of the database alone.
    ///
    /// # Errors
    /// When a query fails.
    pub async fn read_one(client: &Client, database: &str, name: &str) -> Result<Self, Error> {
        Self::select(client, database, Some(name)).await
    }

    async fn select(client: &Client, database: &str, name: Option<&str>) -> Result<Self, Error> {
        let params = [("database", database), ("name", name.unwrap_or_default())];
        let params = if name.is_some() { &params[..] } else { &params[..1] };
        let database_engine = client.query::<DatabaseRow>(DATABASE, &params[..1]).await?.pop().map(|row| row.engine);
        if database_engine.is_none() {
            return Ok(Self::default());
        }
        let only = |sql: &str, column: &str, order: &str| {
            let filter = if name.is_some() { format!(" AND {column} = {{name:String}}") } else { String::new() };
            format!("{sql}{filter}{order}")
        };
        let rows = client.query::<TableRow>(&only(TABLES, "name", ""), params).await?;
        let mut tables: HashMap<String, LiveTable> = rows.into_iter().map(live).collect();
        let order = " ORDER BY table, position";
        for row in client.query::<ColumnRow>(&only(COLUMNS, "table", order), params).await? {
            if let Some(table) = tables.get_mut(&row.table) {
                table.columns.push(row.column);
            }
        }
        for row in client.query::<MutationRow>(&only(MUTATIONS, "table", " ORDER BY create_time"), params).await? {
            if let Some(table) = tables.get_mut(&row.table) {
                table.mutations.push(row.mutation);
            }
        }
        Ok(Self { database_engine, tables, ..Self::default() })
    }

    /// The names of all roles that the account sees.
    ///
    /// # Errors
    /// When the query fails, for instance for want of the right to see roles.
    pub async fn roles(client: &Client) -> Result<HashSet<String>, Error> {
        let rows = client.query::<RoleRow>("SELECT name FROM system.roles", &[]).await?;
        Ok(rows.into_iter().map(|row| row.name).collect())
    }

    /// Whether it has a table or view of that name, or, without a name, whether it is there at all.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        if name.is_empty() { self.database_engine.is_some() } else { self.tables.contains_key(name) }
    }
}

fn live(row: TableRow) -> (String, LiveTable) {
    let table = LiveTable {
        engine: row.engine,
        clauses: Clauses::parse(&row.engine_full),
        sorting_key: row.sorting_key,
        primary_key: row.primary_key,
        partition_key: row.partition_key,
        sampling_key: row.sampling_key,
        as_select: row.as_select,
        target: row.target,
        columns: Vec::new(),
        mutations: Vec::new(),
    };
    (row.name, table)
}
