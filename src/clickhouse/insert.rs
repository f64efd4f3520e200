//! One sealed block into one table.

use bytes::Bytes;

use super::{Client, Error, Guard, body::Guarded, client::Request, error::shortened, quoted};

/// A block and where it goes.
#[derive(Debug, Clone, Copy)]
pub struct Insert<'a> {
    /// The table's name in the client's database.
    pub table: &'a str,
    /// The names of the columns in the block.
    pub columns: &'a [&'a str],
    /// Native blocks, one behind the other, in ClickHouse's compressed framing. They are sent as they are, without a copy.
    pub body: &'a Bytes,
    /// Settings of this insert alone; they win over the configured ones.
    pub settings: &'a [(&'a str, &'a str)],
}

/// Settings that make one request one block, acknowledged when it is written. They win over every other: without them a
/// deduplication token would not cover what it names, and an acknowledgement would not mean what it says.
pub(super) const SETTINGS: &[(&str, &str)] = &[
    // The body is in ClickHouse's own compressed framing.
    ("decompress", "1"),
    // On by default in newer servers: the acknowledgement would cover a buffer shared with others.
    ("async_insert", "0"),
    // A block's types are the table's, or a value could be altered on its last metre: the server would cast UInt64 to
    // UInt32 without a word.
    ("input_format_native_allow_types_conversion", "0"),
    // A block that comes again under its token is dropped, and what views behind the table made of it with it.
    ("insert_deduplicate", "1"),
    ("deduplicate_blocks_in_dependent_materialized_views", "1"),
    // Neither cut what one request brings nor write it before its end: its sections become one block.
    ("max_insert_block_size", "1000000000"),
    ("min_insert_block_size_rows", "1000000000"),
    ("min_insert_block_size_bytes", "0"),
];

impl Client {
    /// Sends one `INSERT … FORMAT Native` and waits for its end.
    ///
    /// # Errors
    /// When the server refuses it, or whether it was written isn't known.
    pub async fn insert(&self, insert: &Insert<'_>) -> Result<(), Error> {
        self.insert_body(insert, insert.body.clone().into()).await
    }

    /// As [`Client::insert`]; goes on sending only as long as `guard` lets it.
    ///
    /// # Errors
    /// As there, and when the guard said no: then nothing was written.
    pub async fn insert_guarded(&self, insert: &Insert<'_>, guard: Guard) -> Result<(), Error> {
        let body = reqwest::Body::wrap(Guarded::new(insert.body.clone(), guard));
        self.insert_body(insert, body).await
    }

    async fn insert_body(&self, insert: &Insert<'_>, body: reqwest::Body) -> Result<(), Error> {
        let columns: Vec<String> = insert.columns.iter().map(|name| quoted(name)).collect();
        let table = self.table(insert.table);
        let statement = format!("INSERT INTO {table} ({}) FORMAT Native", columns.join(", "));
        let mut arguments = vec![("query", statement.as_str())];
        let given = |name: &str| insert.settings.iter().chain(SETTINGS).any(|(other, _)| *other == name);
        let configured = self.insert_settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        arguments.extend(configured.filter(|(name, _)| !given(name)));
        let fixed = |name: &str| SETTINGS.iter().any(|(other, _)| *other == name);
        arguments.extend(insert.settings.iter().copied().filter(|(name, _)| !fixed(name)));
        arguments.extend(SETTINGS);
        let shown = format!("INSERT INTO {table} ({} columns) FORMAT Native", insert.columns.len());
        let request = Request { statement: &shown, arguments: &arguments, body, timeout: self.insert_timeout };
        let reply = self.send(request).await?;
        if reply.is_empty() {
            return Ok(());
        }
        // An insert has no result: whatever this is, it's no acknowledgement.
        let text = shortened(&String::from_utf8_lossy(&reply), 200);
        Err(self.odd_reply(&shown, format!("an insert was answered with `{text}`")))
    }
}
