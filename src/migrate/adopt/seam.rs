//! Where the reader ended and this service begins: counts on both sides.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

use super::record::Moment;
use crate::{
    bootstrap::Definitions,
    clickhouse::{Client, Error},
    config::Framing,
    kafka::{self, Fetched, Fetcher},
    lane::{Decoder, Lane, Message, Schema},
};

/// Messages that are read at once.
const CHUNK: i64 = 200;

/// The rows of each epoch's table and of the error table.
///
/// # Errors
/// When ClickHouse can't be asked.
pub async fn counts(client: &Client, definitions: &Definitions) -> Result<BTreeMap<String, u64>, Error> {
    #[derive(serde::Deserialize)]
    struct Count {
        n: u64,
    }
    let epochs = definitions.registry.epochs().iter().map(|epoch| &epoch.table.name);
    let mut counts = BTreeMap::new();
    for table in epochs.chain([&definitions.errors().name]) {
        let name = client.table(table);
        let rows: Vec<Count> = client.query(&format!("SELECT count() AS n FROM {name}"), &[]).await?;
        counts.insert(table.clone(), rows.first().map_or(0, |row| row.n));
    }
    Ok(counts)
}

/// Tables whose count is another one, with both counts.
#[must_use]
pub fn moved(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> Vec<(String, u64, u64)> {
    let other = after.iter().filter_map(|(table, now)| {
        let then = before.get(table).copied().unwrap_or(0);
        (then != *now).then(|| (table.clone(), then, *now))
    });
    other.collect()
}

/// A table since the seam.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gained {
    /// Rows of messages that are committed: so many it has at least.
    pub committed: u64,
    /// Rows of all messages that there are: so many it has at most.
    pub sent: u64,
    /// Rows that it gained.
    pub rows: i64,
}

/// Every table since the seam.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// What the group has committed now.
    pub committed: BTreeMap<i32, i64>,
    /// The tables.
    pub tables: BTreeMap<String, Gained>,
    /// Partitions of which messages since the seam are gone already: nobody can count them any more.
    pub expired: Vec<i32>,
}

/// Reads the messages since the seam and counts what they are as rows.
pub struct Verification<'a> {
    /// What says how records are read.
    pub definitions: &'a Definitions,
    /// How messages are framed.
    pub framing: Framing,
    /// Reads messages.
    pub fetcher: Fetcher,
}

impl Verification<'_> {
    /// Counts the rows that messages are, from the seam to `ends`, apart by what is `committed`. Blocks.
    ///
    /// # Errors
    /// When the brokers are away, or slow.
    pub fn expected(
        &self,
        seam: &Moment,
        committed: &BTreeMap<i32, i64>,
        ends: &BTreeMap<i32, i64>,
    ) -> Result<Verified, kafka::Error> {
        let schema = Schema::new(&self.definitions.registry, &self.definitions.errors().name, self.framing);
        let mut verified = Verified { committed: committed.clone(), ..Verified::default() };
        verified.tables = seam.rows.keys().map(|table| (table.clone(), Gained::default())).collect();
        for (partition, end) in ends {
            let mut next = seam.committed.get(partition).copied().unwrap_or(0);
            let done = committed.get(partition).copied().unwrap_or(0);
            let mut is_first = true;
            while next < *end {
                // A chunk is on one side of what is committed.
                let until = if next < done { done.min(next + CHUNK) } else { next + CHUNK }.min(*end);
                let messages = self.fetcher.range(*partition, next, until)?;
                if is_first
                    && seam.committed.contains_key(partition)
                    && messages.first().is_none_or(|m| m.offset > next)
                {
                    verified.expired.push(*partition);
                }
                is_first = false;
                for (table, rows) in rows(&schema, &messages) {
                    let gained = verified.tables.entry(table).or_default();
                    gained.sent += rows;
                    gained.committed += if next < done { rows } else { 0 };
                }
                next = until;
            }
        }
        Ok(verified)
    }
}

/// The rows that messages are, by table.
fn rows(schema: &Arc<Schema>, messages: &[Fetched]) -> BTreeMap<String, u64> {
    let mut lane = Lane::new(Arc::clone(schema), Arc::from(""), 0);
    let mut decoder = Decoder::new(Arc::clone(schema));
    {
        let mut filling = lane.fill(&mut decoder);
        for Fetched { offset, time_ms, payload } in messages {
            filling.push(Message { offset: *offset, time_ms: *time_ms, payload: payload.as_deref() });
        }
    }
    let mut rows = BTreeMap::new();
    for block in lane.close().into_iter().flat_map(|batch| batch.blocks) {
        *rows.entry(block.target.table.clone()).or_default() += block.rows;
    }
    rows
}

impl Gained {
    /// Whether nothing is lost and nothing is there twice.
    #[must_use]
    pub fn is_sound(self) -> bool {
        u64::try_from(self.rows).is_ok_and(|rows| (self.committed..=self.sent).contains(&rows))
    }
}

impl Verified {
    /// Puts in what the tables hold now.
    #[must_use]
    pub fn against(mut self, seam: &Moment, now: &BTreeMap<String, u64>) -> Self {
        for (table, gained) in &mut self.tables {
            let count =
                |of: &BTreeMap<String, u64>| i64::try_from(of.get(table).copied().unwrap_or(0)).unwrap_or(i64::MAX);
            gained.rows = count(now) - count(&seam.rows);
        }
        self
    }

    /// Whether every table is sound.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.expired.is_empty() && self.tables.values().all(|gained| gained.is_sound())
    }

    /// As `--json` shows it.
    #[must_use]
    pub fn json(&self) -> Value {
        let table = |(table, gained): (&String, &Gained)| {
            let Gained { committed, sent, rows } = *gained;
            let value = json!({ "rows": rows, "at_least": committed, "at_most": sent, "is_sound": gained.is_sound() });
            (table.clone(), value)
        };
        json!({
            "committed": self.committed,
            "tables": self.tables.iter().map(table).collect::<serde_json::Map<_, _>>(),
            "expired": self.expired,
            "is_sound": self.is_sound(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(of: &[(&str, u64)]) -> BTreeMap<String, u64> {
        of.iter().map(|(table, rows)| ((*table).to_owned(), *rows)).collect()
    }

    #[test]
    fn a_count_that_moved_is_told() {
        let (before, after) = (counts(&[("a", 1), ("b", 2)]), counts(&[("a", 1), ("b", 3), ("c", 1)]));
        assert_eq!(moved(&before, &after), [("b".to_owned(), 2, 3), ("c".to_owned(), 0, 1)]);
        assert_eq!(moved(&before, &before), []);
    }

    #[test]
    fn rows_lie_between_what_is_committed_and_what_was_sent() {
        let seam = Moment { rows: counts(&[("t", 25)]), ..Moment::default() };
        let gained = Gained { committed: 70, sent: 75, rows: 0 };
        let verified = Verified { tables: BTreeMap::from([("t".to_owned(), gained)]), ..Verified::default() };
        for (now, is_sound) in [(94, false), (95, true), (100, true), (101, false), (3, false)] {
            let verified = verified.clone().against(&seam, &counts(&[("t", now)]));
            assert_eq!(verified.is_sound(), is_sound, "{now}: {verified:?}");
        }
        let expired = Verified { expired: vec![3], ..verified };
        assert!(!expired.against(&seam, &counts(&[("t", 100)])).is_sound(), "nobody can tell");
    }
}
