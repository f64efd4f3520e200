//! Whether the server has a row.

use std::fmt::Write as _;

use serde::Deserialize;

use super::{Client, Error, client::Request, quoted};

/// A row of a table, and by which columns it is looked for.
#[derive(Debug, Clone, Copy)]
pub struct Sought<'a> {
    /// The table's name in the client's database.
    pub table: &'a str,
    /// The names of the columns in `row`.
    pub columns: &'a [&'a str],
    /// A Native block of one row, not compressed.
    pub row: &'a [u8],
}

/// Statements up to this length need no leave; the server's default is 262144.
const SHORT: usize = 200_000;

impl Client {
    /// Whether the table has the row. One that is not there has none.
    ///
    /// # Errors
    /// When the server can't be asked, or doesn't say.
    pub async fn has_row(&self, sought: &Sought<'_>) -> Result<bool, Error> {
        let table = format!("{}.{}", quoted(self.database()), quoted(sought.table));
        let columns = sought.columns.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
        let mut row = String::with_capacity(2 * sought.row.len());
        sought.row.iter().for_each(|byte| write!(row, "{byte:02x}").expect("a String takes all"));
        let select = format!(
            "SELECT 1 FROM {table} WHERE ({columns}) IN (SELECT {columns} FROM format(Native, unhex('{row}'))) LIMIT 1"
        );
        let shown = format!("SELECT 1 FROM {table} WHERE ({} columns) IN (a row) LIMIT 1", sought.columns.len());
        let length = (2 * select.len()).to_string();
        let leave = [("max_query_size", length.as_str())];
        let arguments = if select.len() > SHORT { leave.as_slice() } else { &[] };
        let timeout = self.insert_timeout;
        let request = Request { statement: &shown, arguments, body: select.into(), timeout };
        match self.send(request).await?.trim_ascii() {
            b"" => Ok(false),
            b"1" => Ok(true),
            other => Err(self.odd_reply(&shown, format!("`{}`", String::from_utf8_lossy(other)))),
        }
    }

    /// Whether the server writes a token down before it has the rows: it does where nothing is replicated. A server that is
    /// killed in between drops the block when it comes again, and doesn't have it.
    ///
    /// # Errors
    /// When the server can't be asked.
    pub async fn notes_tokens_first(&self, table: &str) -> Result<bool, Error> {
        #[derive(Deserialize)]
        struct Row {
            engine: String,
        }
        let sql = "SELECT engine FROM system.tables WHERE database = {database:String} AND name = {table:String}";
        let rows: Vec<Row> = self.query(sql, &[("database", self.database()), ("table", table)]).await?;
        // In the other engines of the family a row may be there in another form than it came.
        Ok(rows.iter().any(|row| row.engine == "MergeTree"))
    }
}
