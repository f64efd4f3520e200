//! Whether the server has a row.

use std::fmt::Write as _;

use bytes::Bytes;
use serde::Deserialize;

use super::{Client, Error, client::Request, quoted};

/// A row of a table, and by what it is looked for.
#[derive(Debug, Clone, Copy)]
pub struct Sought<'a> {
    /// The table's name in the client's database.
    pub table: &'a str,
    /// The names of the columns in `row`.
    pub columns: &'a [&'a str],
    /// Those of them that leave few rows to be read, where the table's key doesn't.
    pub selective: &'a [&'a str],
    /// A Native block of one row, not compressed.
    pub row: &'a [u8],
}

/// Statements up to this length need no leave; the server's default is 262144.
const SHORT: usize = 200_000;

/// Settings that make the answer that of the whole table, now. They win over what a profile says.
const SETTINGS: &[(&str, &str)] = &[
    ("use_query_cache", "0"),
    ("read_overflow_mode", "throw"),
    ("timeout_overflow_mode", "throw"),
    ("set_overflow_mode", "throw"),
    ("max_rows_to_read", "0"),
    ("max_bytes_to_read", "0"),
    ("force_primary_key", "0"),
    ("limit", "0"),
    ("offset", "0"),
];

impl Client {
    /// Whether the table has the row.
    ///
    /// # Errors
    /// When the server can't be asked, or doesn't say.
    pub async fn has_row(&self, sought: &Sought<'_>) -> Result<bool, Error> {
        let table = self.table(sought.table);
        let row = literal_of(sought.row);
        let columns = sought.columns.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
        let narrow = |name: &&str| format!("{0} IN (SELECT {0} FROM {row}) AND ", quoted(name));
        let narrowed: String = sought.selective.iter().map(narrow).collect();
        let select =
            format!("SELECT 1 FROM {table} WHERE {narrowed}({columns}) IN (SELECT {columns} FROM {row}) LIMIT 1");
        let shown = format!("SELECT 1 FROM {table} WHERE ({} columns) IN (a row) LIMIT 1", sought.columns.len());
        Ok(!self.select(select, &shown).await?.is_empty())
    }

    /// Whether a condition, an expression of SQL over the row's columns, is true of a row, a Native block.
    ///
    /// # Errors
    /// When the server can't be asked, or doesn't say.
    pub async fn is_true_of(&self, row: &[u8], condition: &str) -> Result<bool, Error> {
        let select = format!("SELECT 1 FROM {} WHERE {condition}", literal_of(row));
        let shown = format!("SELECT 1 FROM a row WHERE {condition}");
        Ok(!self.select(select, &shown).await?.is_empty())
    }

    async fn select(&self, select: String, shown: &str) -> Result<Bytes, Error> {
        let length = (2 * select.len()).to_string();
        let mut arguments = SETTINGS.to_vec();
        if select.len() > SHORT {
            arguments.push(("max_query_size", &length));
        }
        let timeout = self.insert_timeout;
        let request = Request { statement: shown, arguments: &arguments, body: select.into(), timeout };
        match self.send(request).await? {
            reply if matches!(reply.trim_ascii(), b"" | b"1") => Ok(reply),
            reply => Err(self.odd_reply(shown, format!("`{}`", String::from_utf8_lossy(&reply)))),
        }
    }

    /// The engine of a table with all its clauses, as the server reports them; `None` if there is no such table.
    ///
    /// # Errors
    /// When the server can't be asked.
    pub async fn engine(&self, table: &str) -> Result<Option<String>, Error> {
        #[derive(Deserialize)]
        struct Row {
            engine_full: String,
        }
        let sql = "SELECT engine_full FROM system.tables WHERE database = {database:String} AND name = {table:String}";
        let rows: Vec<Row> = self.query(sql, &[("database", self.database()), ("table", table)]).await?;
        Ok(rows.into_iter().next().map(|row| row.engine_full))
    }
}

/// A Native block as a table in a statement.
fn literal_of(block: &[u8]) -> String {
    let mut literal = String::with_capacity(2 * block.len() + 32);
    literal.push_str("format(Native, unhex('");
    block.iter().for_each(|byte| write!(literal, "{byte:02x}").expect("a String takes all"));
    literal.push_str("'))");
    literal
}
