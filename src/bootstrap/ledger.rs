//! The ledger: what was applied, by whom, from which release.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    outcome::{Action, Outcome},
    platform::Platform,
    render::Statement,
};
use crate::clickhouse::{Client, Error};

/// An object as the ledger has it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Recorded {
    /// The database.
    pub database: String,
    /// The object's name in it; for a database its own name.
    pub object: String,
    /// What it is.
    pub kind: String,
    /// The release of the definitions that it is from.
    pub schemas_version: String,
    /// The release of this program that applied it.
    pub engine_version: String,
    /// What was declared.
    pub checksum: String,
    /// What was done last.
    pub action: String,
    /// The platform that it was made for.
    pub platform: String,
    /// Who did it.
    pub holder: String,
    /// When, by the server's clock.
    pub applied_at: String,
}

/// The ledger's table.
#[derive(Debug, Clone)]
pub(super) struct Ledger<'a> {
    pub client: &'a Client,
    /// The table as SQL writes it.
    pub table: String,
}

/// What all rows of a pass have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pass<'a> {
    pub schemas_version: &'a str,
    pub platform: Platform,
    pub holder: &'a str,
}

impl Ledger<'_> {
    /// The latest row of each object, by database and name.
    pub(super) async fn read(&self) -> Result<Vec<Recorded>, Error> {
        // Whatever stands there is shown; rows are written by others as well.
        let texts = [
            "database",
            "object",
            "kind",
            "schemas_version",
            "engine_version",
            "checksum",
            "action",
            "platform",
            "holder",
        ];
        let texts = texts.map(|name| format!("toValidUTF8(l.{name}) AS {name}")).join(", ");
        let sql = format!(
            "SELECT {texts}, toString(l.applied_at) AS applied_at FROM {} AS l \
             ORDER BY l.applied_at DESC LIMIT 1 BY l.database, l.object",
            self.table
        );
        let mut rows: Vec<Recorded> = self.client.query(&sql, &[]).await?;
        rows.sort_by(|a, b| (&a.database, &a.object).cmp(&(&b.database, &b.object)));
        Ok(rows)
    }

    /// Writes a row for each object that is as declared now.
    pub(super) async fn record(&self, pass: Pass<'_>, outcomes: &[(&Statement, &Outcome)]) -> Result<(), Error> {
        let mut sql = format!(
            "INSERT INTO {} (database, object, kind, schemas_version, engine_version, checksum, statement, action, \
             platform, holder) FORMAT JSONEachRow",
            self.table
        );
        let done = |outcome: &Outcome| matches!(outcome.action, Action::Created | Action::Altered | Action::Unchanged);
        let mut rows = 0;
        for (statement, outcome) in outcomes.iter().filter(|(_, outcome)| done(outcome)) {
            let sent = outcome.statements.join("\n");
            let row = json!({
                "database": statement.database,
                "object": if statement.name.is_empty() { &statement.database } else { &statement.name },
                "kind": statement.kind.name(),
                "schemas_version": pass.schemas_version,
                "engine_version": env!("CARGO_PKG_VERSION"),
                "checksum": statement.checksum,
                "statement": if sent.is_empty() { &statement.sql } else { &sent },
                "action": outcome.action.name(),
                "platform": pass.platform.name(),
                "holder": pass.holder,
            });
            sql.push('\n');
            sql.push_str(&row.to_string());
            rows += 1;
        }
        if rows == 0 {
            return Ok(());
        }
        sql.push('\n');
        self.client.execute(&sql, &[("async_insert", "0")]).await
    }
}
