//! Whether the server has rows.

use std::fmt::Write as _;

use serde::Deserialize;

use super::{Client, Error, client::Request, quoted};

/// Rows of a table, and by what they are looked for.
#[derive(Debug, Clone, Copy)]
pub struct Sought<'a> {
    /// The table's name in the client's database.
    pub table: &'a str,
    /// The names of the columns in `rows`.
    pub columns: &'a [&'a str],
    /// Those of them that leave few rows to be read.
    pub selective: &'a [&'a str],
    /// Native blocks, not compressed.
    pub rows: &'a [u8],
    /// An expression of SQL over `columns`: rows for which it isn't true are not asked for.
    pub living: Option<&'a str>,
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
    /// How many of the rows, as far as they are living, the table doesn't have.
    ///
    /// # Errors
    /// When the server can't be asked, or doesn't say.
    pub async fn missing_rows(&self, sought: &Sought<'_>) -> Result<u64, Error> {
        let table = format!("{}.{}", quoted(self.database()), quoted(sought.table));
        let columns = sought.columns.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
        let mut rows = String::with_capacity(2 * sought.rows.len());
        sought.rows.iter().for_each(|byte| write!(rows, "{byte:02x}").expect("a String takes all"));
        let living = sought.living.map(|living| format!("({living}) AND ")).unwrap_or_default();
        let narrow = |name: &&str| format!("{0} IN (SELECT {0} FROM sought) AND ", quoted(name));
        let narrowed: String = sought.selective.iter().map(narrow).collect();
        let select = format!(
            "WITH sought AS (SELECT {columns} FROM format(Native, unhex('{rows}'))) SELECT count() FROM sought WHERE {living}\
             ({columns}) NOT IN (SELECT {columns} FROM {table} WHERE {narrowed}({columns}) IN (SELECT {columns} FROM sought))"
        );
        let shown = format!("SELECT count() FROM rows WHERE ({} columns) NOT IN {table}", sought.columns.len());
        let length = (2 * select.len()).to_string();
        let mut arguments = SETTINGS.to_vec();
        if select.len() > SHORT {
            arguments.push(("max_query_size", &length));
        }
        let timeout = self.insert_timeout;
        let request = Request { statement: &shown, arguments: &arguments, body: select.into(), timeout };
        let reply = self.send(request).await?;
        let count = std::str::from_utf8(&reply).ok().and_then(|text| text.trim().parse().ok());
        count.ok_or_else(|| self.odd_reply(&shown, format!("`{}`", String::from_utf8_lossy(&reply))))
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
