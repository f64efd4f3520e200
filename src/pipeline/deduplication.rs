//! Whether this server drops a block that comes again, which delivery exactly once stands on: what its tables are set to
//! remember, and what it really does.
//!
//! # Design
//! Settings alone prove nothing: a profile may switch deduplication off, and a server may not know it at all. The probe
//! alone says nothing of how long a token is remembered. So both are looked at before anything is consumed.

use std::time::Duration;

use rand::Rng as _;
use serde::Deserialize;

use crate::{
    block::FrameWriter,
    bootstrap::{Catalogue, LiveTable},
    clickhouse::{Class, Client, Error, Insert},
    delivery::AHEAD,
    lane::Schema,
};

use super::presence::is_there;

/// The table of the manifest that the probe writes to.
pub(super) const PROBE: &str = "xtcp_ingest_probe";
/// How long a replica may take to show what another was given.
const SHOWN: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);

/// How much is under way at most, all processes together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    /// Partitions of the topic.
    pub(super) partitions: usize,
    /// How long a partition may be without an owner until its blocks come again.
    pub(super) takeover: Duration,
    /// How often a partition closes a batch while little comes.
    pub(super) age: Duration,
}

/// Why delivery exactly once can't be promised.
#[derive(Debug, thiserror::Error)]
pub(super) enum Obstacle {
    /// Asking failed: it may go well later.
    #[error(transparent)]
    Server(#[from] Error),
    /// The server is not made for it.
    #[error(
        "{0}; without it a block that is sent again after a crash would be doubled: mend it, or give \
         `delivery = \"at_least_once\"`"
    )]
    Unfit(String),
}

/// Looks at what the tables remember, and lets the server prove it.
///
/// # Errors
/// See [`Obstacle`].
pub(super) async fn check(client: &Client, tables: &[&str], load: Load) -> Result<(), Obstacle> {
    let catalogue = Catalogue::read(client, client.database()).await?;
    for table in tables {
        // One that is missing is waited for elsewhere.
        if let Some(live) = catalogue.tables.get(*table) {
            remembers_enough(table, live, load).map_err(Obstacle::Unfit)?;
        }
    }
    probe(client).await
}

/// Whether the account may look for rows where that is needed.
///
/// # Errors
/// The server can't be asked, or doesn't let the account.
pub(super) async fn may_look(client: &Client, schema: &Schema) -> Result<(), Error> {
    for (position, target) in schema.targets().iter().enumerate() {
        match is_there(client, target, &[schema.empty_sample(position)]).await {
            // One that is not as declared is waited for elsewhere.
            Err(error) if error.class() == Class::Schema => {}
            answer => drop(answer?),
        }
    }
    Ok(())
}

/// Whether a table remembers as many blocks as may be under way.
fn remembers_enough(table: &str, live: &LiveTable, load: Load) -> Result<(), String> {
    let (is_replicated, ..) = live.clauses.variant();
    let (window, seconds) = if is_replicated {
        ("replicated_deduplication_window", Some("replicated_deduplication_window_seconds"))
    } else {
        ("non_replicated_deduplication_window", None)
    };
    let value = |name: &str| live.clauses.setting(name).and_then(|text| text.trim_matches('\'').parse::<u64>().ok());
    let least = (load.partitions * AHEAD) as u64;
    let blocks = match value(window) {
        Some(blocks) if blocks >= least => blocks,
        Some(blocks) => {
            return Err(format!(
                "table `{table}` remembers the last {blocks} blocks (`{window}`), and {least} may be under way: {AHEAD} \
                 for each of {} partitions",
                load.partitions
            ));
        }
        None => return Err(format!("table `{table}` isn't set to remember blocks: it has no `{window}`")),
    };
    if let Some(name) = seconds {
        let least = load.takeover.as_secs();
        match value(name) {
            Some(seconds) if seconds >= least => {}
            Some(seconds) => {
                return Err(format!(
                    "table `{table}` remembers blocks for {seconds} s (`{name}`), and a partition may be {least} s without \
                     an owner"
                ));
            }
            None => return Err(format!("table `{table}` isn't set to remember blocks for long: it has no `{name}`")),
        }
    }
    let rounds = load.takeover.as_secs_f64() / load.age.as_secs_f64().max(0.001);
    // Far below 2^52.
    #[allow(clippy::cast_precision_loss)]
    let others = load.partitions as f64 * rounds;
    #[allow(clippy::cast_precision_loss)]
    if others > blocks as f64 {
        tracing::warn!(
            table,
            blocks,
            partitions = load.partitions,
            "the table remembers fewer blocks than all partitions may send while one is without an owner; raise `{window}` \
             or `batch.age`, or rows may be doubled after a crash"
        );
    }
    Ok(())
}

/// Sends one token twice with different rows, and the same row under another token: the first of the two may be there alone,
/// and the row of the other token beside it.
async fn probe(client: &Client) -> Result<(), Obstacle> {
    let number: u64 = rand::rng().random_range(1..=u64::MAX / 2);
    let (token, other) = (format!("probe/{number:x}"), format!("probe/{number:x}/other"));
    for (value, token) in [(number, &token), (number + 1, &token), (number, &other)] {
        let body = block(value).into();
        let settings = [("insert_deduplication_token", token.as_str())];
        client.insert(&Insert { table: PROBE, columns: &["probe"], body: &body, settings: &settings }).await?;
    }
    let begin = std::time::Instant::now();
    loop {
        let (first, again) = (count(client, number).await?, count(client, number + 1).await?);
        match (first, again) {
            (2, 0) => return Ok(()),
            (_, 1..) => {
                return Err(Obstacle::Unfit(format!(
                    "{} doesn't drop a block that comes again under its token: both of two inserts into `{PROBE}` landed",
                    client.host()
                )));
            }
            (first, 0) if begin.elapsed() > SHOWN => {
                return Err(Obstacle::Unfit(format!(
                    "{} drops what it should keep: of the same row under two tokens, `{PROBE}` has {first}",
                    client.host()
                )));
            }
            _ => tokio::time::sleep(PAUSE).await,
        }
    }
}

async fn count(client: &Client, probe: u64) -> Result<u64, Error> {
    #[derive(Deserialize)]
    struct Rows {
        rows: u64,
    }
    let table = client.table(PROBE);
    let sql = format!("SELECT count() AS rows FROM {table} WHERE probe = {probe}");
    Ok(client.query::<Rows>(&sql, &[]).await?.first().map_or(0, |row| row.rows))
}

/// A block of one row and one column.
fn block(value: u64) -> Vec<u8> {
    let mut frames = FrameWriter::default();
    frames.write(&[1, 1]);
    for text in ["probe", "UInt64"] {
        frames.write(&[u8::try_from(text.len()).unwrap_or(u8::MAX)]);
        frames.write(text.as_bytes());
    }
    frames.write(&value.to_le_bytes());
    frames.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::Clauses;

    const LOAD: Load = Load { partitions: 50, takeover: Duration::from_secs(65), age: Duration::from_secs(1) };

    fn live(engine_full: &str) -> LiveTable {
        LiveTable { clauses: Clauses::parse(engine_full), ..LiveTable::default() }
    }

    #[test]
    fn a_window_has_to_hold_what_is_under_way() {
        for (engine, complaint) in [
            ("MergeTree ORDER BY x SETTINGS non_replicated_deduplication_window = 10000", None),
            ("MergeTree ORDER BY x SETTINGS non_replicated_deduplication_window = 799", Some("the last 799 blocks")),
            ("MergeTree ORDER BY x SETTINGS replicated_deduplication_window = 10000", Some("has no `non_replicated_")),
            ("MergeTree ORDER BY x", Some("isn't set to remember")),
            (
                "ReplicatedMergeTree('/p', '{replica}') ORDER BY x SETTINGS replicated_deduplication_window = 10000, \
                 replicated_deduplication_window_seconds = 604800",
                None,
            ),
            (
                "SharedMergeTree('/p', '{replica}') ORDER BY x SETTINGS replicated_deduplication_window = 10000, \
                 replicated_deduplication_window_seconds = 60",
                Some("for 60 s"),
            ),
            (
                "ReplicatedMergeTree ORDER BY x SETTINGS replicated_deduplication_window = 10000",
                Some("has no `replicated_deduplication_window_seconds`"),
            ),
        ] {
            let found = remembers_enough("t", &live(engine), LOAD);
            match complaint {
                None => assert_eq!(found, Ok(()), "{engine}"),
                Some(complaint) => {
                    let text = found.expect_err(engine);
                    assert!(text.contains(complaint), "{text}");
                }
            }
        }
    }
}
