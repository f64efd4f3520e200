//! What of a takeover is done, in the ledger: whoever ends in the middle of one finds there what to go on with, and how to
//! bring back what isn't on the server any more.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::steps::{How, Part};
use crate::{
    bootstrap::{Definitions, LEDGER, Platform},
    clickhouse::{Client, Error},
};

/// Kinds of rows in the ledger that are about a takeover.
pub const KINDS: [&str; 3] = [TAKEOVER, READER, VIEW];

const TAKEOVER: &str = "takeover";
const READER: &str = "kafka_reader";
const VIEW: &str = "kafka_view";
const BEGUN: &str = "begun";
const SEAM: &str = "seam";

/// Offsets and counts at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// The topic.
    pub topic: String,
    /// The group of the reader.
    pub from_group: String,
    /// The group that goes on.
    pub group: String,
    /// What the group of the reader had committed, by partition.
    pub committed: BTreeMap<i32, i64>,
    /// Rows by table.
    pub rows: BTreeMap<String, u64>,
}

/// A takeover as the ledger has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    /// How all stood when it was begun.
    pub begun: Option<Moment>,
    /// What it stopped, or was about to.
    pub stopped: Vec<(Part, How)>,
    /// Where the reader ended and this service begins. `None` as long as it isn't finished.
    pub seam: Option<Moment>,
}

/// Where takeovers are written down.
pub struct Record<'a> {
    client: &'a Client,
    table: String,
    release: String,
    platform: Platform,
    holder: String,
}

#[derive(Deserialize)]
struct Row {
    object: String,
    kind: String,
    action: String,
    statement: String,
    at: i64,
}

impl<'a> Record<'a> {
    /// That of a database, for rows by `holder`.
    ///
    /// # Panics
    /// Never: definitions without a ledger are refused.
    #[must_use]
    pub fn new(client: &'a Client, definitions: &Definitions, platform: Platform, holder: &str) -> Self {
        let ledger = definitions.objects.iter().find(|object| object.entry.id.value == LEDGER);
        let name = &ledger.and_then(|ledger| definitions.table(ledger)).expect("there is a ledger").name;
        let table = client.table(name);
        let release = definitions.manifest.release.clone();
        Self { client, table, release, platform, holder: holder.to_owned() }
    }

    /// What it says of the last takeover. The ledger has to be there.
    ///
    /// # Errors
    /// When ClickHouse can't be asked.
    pub async fn read(&self) -> Result<Recorded, Error> {
        let kinds = KINDS.map(|kind| format!("'{kind}'")).join(", ");
        let sql = format!(
            "SELECT object, toString(kind) AS kind, toString(action) AS action, statement, \
             toUnixTimestamp64Milli(applied_at) AS at FROM {} WHERE database = {{database:String}} AND kind IN ({kinds}) \
             ORDER BY applied_at DESC LIMIT 1 BY object, action",
            self.table
        );
        let rows: Vec<Row> = self.client.query(&sql, &[("database", self.client.database())]).await?;
        Ok(recorded(&rows))
    }

    /// Writes down that it begins.
    ///
    /// # Errors
    /// When ClickHouse doesn't take it.
    pub async fn begin(&self, moment: &Moment) -> Result<(), Error> {
        self.write(TAKEOVER, TAKEOVER, BEGUN, &json!(moment).to_string()).await
    }

    /// Writes down that something is about to be stopped, with what brings it back.
    ///
    /// # Errors
    /// When ClickHouse doesn't take it.
    pub async fn stopping(&self, part: &Part, how: How) -> Result<(), Error> {
        self.write(&part.name, kind(part), doing(how), &part.create).await
    }

    /// Writes down that it is stopped.
    ///
    /// # Errors
    /// When ClickHouse doesn't take it.
    pub async fn stopped(&self, part: &Part, how: How) -> Result<(), Error> {
        self.write(&part.name, kind(part), how.done(), &part.create).await
    }

    /// Writes down where this service begins.
    ///
    /// # Errors
    /// When ClickHouse doesn't take it.
    pub async fn seam(&self, moment: &Moment) -> Result<(), Error> {
        self.write(TAKEOVER, TAKEOVER, SEAM, &json!(moment).to_string()).await
    }

    async fn write(&self, object: &str, kind: &str, action: &str, statement: &str) -> Result<(), Error> {
        let row = json!({
            "database": self.client.database(), "object": object, "kind": kind, "schemas_version": self.release,
            "engine_version": env!("CARGO_PKG_VERSION"), "checksum": "", "statement": statement, "action": action,
            "platform": self.platform.name(), "holder": self.holder,
        });
        let names =
            "database, object, kind, schemas_version, engine_version, checksum, statement, action, platform, holder";
        let sql = format!("INSERT INTO {} ({names}) FORMAT JSONEachRow\n{row}\n", self.table);
        self.client.execute(&sql, &[("async_insert", "0")]).await
    }
}

const fn kind(part: &Part) -> &'static str {
    if part.is_reader { READER } else { VIEW }
}

const fn doing(how: How) -> &'static str {
    match how {
        How::Detach => "detaching",
        How::Drop => "dropping",
    }
}

/// The rows as a takeover: of each object and action the newest.
fn recorded(rows: &[Row]) -> Recorded {
    let of = |action: &str| rows.iter().find(|row| row.kind == TAKEOVER && row.action == action);
    let Some(begun) = of(BEGUN) else { return Recorded::default() };
    let moment = |row: &Row| serde_json::from_str(&row.statement).ok();
    let mut found = Recorded { begun: moment(begun), ..Recorded::default() };
    found.seam = of(SEAM).filter(|seam| seam.at >= begun.at).and_then(moment);
    // The newest first: what was done to an object last counts.
    for row in rows.iter().filter(|row| row.kind != TAKEOVER && row.at >= begun.at) {
        let how = [How::Detach, How::Drop].into_iter().find(|how| [how.done(), doing(*how)].contains(&&*row.action));
        let Some(how) = how.filter(|_| found.stopped.iter().all(|(part, _)| part.name != row.object)) else { continue };
        let part = Part { name: row.object.clone(), is_reader: row.kind == READER, create: row.statement.clone() };
        found.stopped.push((part, how));
    }
    // In the order in which it was done.
    found.stopped.reverse();
    found
}

impl Recorded {
    /// Whether one was begun and isn't finished.
    #[must_use]
    pub const fn is_under_way(&self) -> bool {
        self.begun.is_some() && self.seam.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(object: &str, kind: &str, action: &str, at: i64) -> Row {
        let moment = Moment { topic: format!("at {at}"), ..Moment::default() };
        let statement = if kind == TAKEOVER { json!(moment).to_string() } else { format!("CREATE {object}") };
        Row { object: object.to_owned(), kind: kind.to_owned(), action: action.to_owned(), statement, at }
    }

    #[test]
    fn a_takeover_that_was_begun_again_is_another_one() {
        assert_eq!(recorded(&[]), Recorded::default());
        let mut rows = vec![
            row("v", VIEW, "dropping", 5),
            row("r", READER, "detached", 4),
            row("r", READER, "detaching", 3),
            row(TAKEOVER, TAKEOVER, BEGUN, 2),
            row("older", VIEW, "detached", 1),
        ];
        let found = recorded(&rows);
        assert!(found.is_under_way());
        let names: Vec<(&str, How)> = found.stopped.iter().map(|(part, how)| (part.name.as_str(), *how)).collect();
        assert_eq!(names, [("r", How::Detach), ("v", How::Drop)]);
        rows.insert(0, row(TAKEOVER, TAKEOVER, SEAM, 6));
        let found = recorded(&rows);
        assert!(!found.is_under_way());
        assert_eq!(found.seam.map(|seam| seam.topic).as_deref(), Some("at 6"));
        rows.retain(|row| row.action != BEGUN);
        rows.insert(0, row(TAKEOVER, TAKEOVER, BEGUN, 7));
        let found = recorded(&rows);
        assert!(found.is_under_way() && found.stopped.is_empty(), "{found:?}");
    }
}
