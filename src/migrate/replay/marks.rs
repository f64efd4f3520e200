//! Which diverted records were placed: written before they are sent, and when they are there.

use serde::Deserialize;
use serde_json::json;

use super::Diverted;
use crate::{
    bootstrap::{Catalogue, Definitions, Parameters, Platform},
    clickhouse::{Client, Error},
    epoch::{PlainTable, load},
    lane::Reason,
    tree::{File, Report},
};

/// A batch that was begun.
const BEGUN: u8 = 0;
/// A batch whose records are all there.
pub(super) const DONE: u8 = 1;
/// A batch that was given up before anything of it was sent.
pub(super) const GIVEN_UP: u8 = 2;

const DEFINITION: &str = include_str!("marks.yaml");

/// The table of marks.
pub struct Marks<'a> {
    client: &'a Client,
    table: PlainTable,
}

#[derive(Deserialize)]
struct Batch {
    batch: String,
    reason: String,
}

#[derive(Deserialize)]
struct Count {
    n: u64,
}

impl<'a> Marks<'a> {
    /// The marks of a database.
    ///
    /// # Panics
    /// Never: the definition is inside the binary, and a test reads it.
    #[must_use]
    pub fn new(client: &'a Client) -> Self {
        let file = File { name: "marks.yaml".into(), text: DEFINITION.to_owned() };
        let mut report = Report::default();
        let table = load::plain_table(&file, &mut report);
        Self { client, table: report.finish(table).expect("a sound definition") }
    }

    fn quoted(&self) -> String {
        self.client.table(&self.table.table.name)
    }

    /// Whether the table is there; without it nothing was replayed yet.
    ///
    /// # Errors
    /// When the server can't be asked.
    pub async fn are_there(&self) -> Result<bool, Error> {
        let name = &self.table.table.name;
        Ok(Catalogue::read_one(self.client, self.client.database(), name).await?.has(name))
    }

    /// Creates the table where it isn't yet. Only under the lease.
    ///
    /// # Errors
    /// When the server refuses it.
    pub async fn create(
        &self,
        definitions: &Definitions,
        parameters: &Parameters,
        platform: Platform,
    ) -> Result<(), Error> {
        let sql = definitions.create_apart(&self.table, self.client.database(), parameters, platform);
        self.client.execute(&sql, &[]).await
    }

    /// The identities of all records that are in a batch which wasn't given up, as a subquery.
    pub(in crate::migrate) fn identities(&self, names: &str) -> String {
        let table = self.quoted();
        format!(
            "(SELECT {names} FROM {table} WHERE state = {BEGUN} \
             AND batch NOT IN (SELECT batch FROM {table} WHERE state = {GIVEN_UP}))"
        )
    }

    /// The identities of the records of the batch `{batch}`, as a subquery.
    pub(super) fn identities_of_batch(&self, names: &str) -> String {
        format!("(SELECT {names} FROM {} WHERE state = {BEGUN} AND batch = {{batch:String}})", self.quoted())
    }

    /// Batches that were begun and neither ended nor given up, with their reasons.
    pub(super) async fn unfinished(&self) -> Result<Vec<(String, String)>, Error> {
        let sql = format!(
            "SELECT batch, toString(any(reason)) AS reason FROM {} GROUP BY batch HAVING max(state) = {BEGUN} \
             ORDER BY min(marked_at), batch",
            self.quoted()
        );
        let rows: Vec<Batch> = self.client.query(&sql, &[]).await?;
        Ok(rows.into_iter().map(|row| (row.batch, row.reason)).collect())
    }

    /// Writes down a batch, in one block.
    pub(super) async fn begin(&self, batch: &str, reason: Reason, rows: &[&Diverted]) -> Result<(), Error> {
        let names = "batch, state, reason, topic, partition, offset, record, byte_offset, hash";
        let mut sql = format!("INSERT INTO {} ({names}) FORMAT JSONEachRow", self.quoted());
        for row in rows {
            let Diverted { topic, partition, offset, record, byte_offset, hash, .. } = row;
            let mark = json!({
                "batch": batch, "state": BEGUN, "reason": reason.code(), "topic": topic, "partition": partition,
                "offset": offset, "record": record, "byte_offset": byte_offset, "hash": hash,
            });
            sql.push('\n');
            sql.push_str(&mark.to_string());
        }
        sql.push('\n');
        self.client.execute(&sql, &[("async_insert", "0")]).await
    }

    /// Whether another batch that wasn't given up has a record of this one.
    pub(super) async fn has_rival(&self, batch: &str) -> Result<bool, Error> {
        let names = "topic, partition, offset, record, byte_offset, hash";
        let sql = format!(
            "SELECT count() AS n FROM {0} WHERE state = {BEGUN} AND batch != {{batch:String}} \
             AND batch NOT IN (SELECT batch FROM {0} WHERE state = {GIVEN_UP}) AND ({names}) IN {1}",
            self.quoted(),
            self.identities_of_batch(names)
        );
        let rows: Vec<Count> = self.client.query(&sql, &[("batch", batch)]).await?;
        Ok(rows.first().is_some_and(|row| row.n > 0))
    }

    /// Writes down that a batch has ended.
    pub(super) async fn end(&self, batch: &str, state: u8) -> Result<(), Error> {
        let mark = json!({ "batch": batch, "state": state });
        let sql = format!("INSERT INTO {} (batch, state) FORMAT JSONEachRow\n{mark}\n", self.quoted());
        self.client.execute(&sql, &[("async_insert", "0")]).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_marks_is_sound() {
        let file = File { name: "marks.yaml".into(), text: DEFINITION.to_owned() };
        let mut report = Report::default();
        let table = load::plain_table(&file, &mut report);
        let table = report.finish(table).unwrap_or_else(|refused| panic!("{refused}"));
        assert!(table.table.ttl.is_none(), "marks outlive the rows that they are about");
        // The Merge table over all epochs must not take it for one of them.
        assert!(!table.table.name.trim_end_matches(|c: char| c.is_ascii_digit()).ends_with("_v"));
    }
}
