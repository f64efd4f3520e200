//! What the flow says of itself: metrics, health, and one warning a minute for each cause of trouble.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Display,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::{tenure::Tenure, writer::About};
use crate::{
    delivery::{Notice, Takeover},
    http::Health,
    lane::Block,
    telemetry::{Every, Outcome, Rebalance, Telemetry},
};

/// Where the flow reports to.
pub(super) struct Report {
    pub(super) telemetry: Arc<Telemetry>,
    pub(super) health: Arc<Health>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What is out of order now, and why.
    open: BTreeMap<Subject, String>,
    /// When each cause was last spoken of.
    said: HashMap<(&'static str, String), Every>,
}

impl Report {
    pub(super) fn new(telemetry: Arc<Telemetry>, health: Arc<Health>) -> Arc<Self> {
        Arc::new(Self { telemetry, health, state: Mutex::default() })
    }

    /// An insert has its answer, or none.
    pub(super) fn insert(&self, block: &Block, took: Duration, refused: Option<About>) {
        let outcome = if refused.is_some() { Outcome::Failed } else { Outcome::Acknowledged };
        self.telemetry.insert(&block.target.table, outcome, block.rows, block.body.len() as u64, took);
        if let Some(about) = refused {
            self.telemetry.retry(about.class());
        }
    }

    /// A block was not taken.
    pub(super) fn refused(&self, tenure: Tenure, block: &Block, about: About, cause: &str) {
        let table = &block.target.table;
        let mut state = self.state();
        if let Some(subject) = subject(about, table) {
            state.open.insert(subject, format!("`{table}`: {cause}"));
            self.publish(&state);
        }
        if let Some(silent) = say(&mut state, about.class(), table) {
            let what = match about {
                About::Server => "insert failed; it is repeated until it is acknowledged",
                About::Table => {
                    "the table takes no rows at the moment; the insert is repeated until it is acknowledged"
                }
                About::Schema => "the table is not as declared; its rows are held until it is",
                About::Account => "inserts are refused until the account or a setting is put right; the rows are held",
                About::Rows => "the server refuses some of these rows; they are singled out and diverted",
            };
            tracing::warn!(table, partition = tenure.partition, rows = block.rows, silent, cause, "{what}");
        }
    }

    /// A table has taken a block.
    pub(super) fn taken(&self, table: &str) {
        let mut state = self.state();
        let mut mended = false;
        for about in [About::Server, About::Table, About::Schema, About::Account] {
            mended |= subject(about, table).is_some_and(|subject| state.open.remove(&subject).is_some());
        }
        self.publish(&state);
        if mended {
            state.said.retain(|(kind, of), _| of != table || *kind == About::Rows.class());
            tracing::info!(table, "inserts are acknowledged again");
        }
    }

    /// Something else failed that mends itself; `kind` tells its like from others.
    pub(super) fn trouble(&self, kind: &'static str, what: &str, error: &dyn Display) {
        let mut state = self.state();
        if let Some(silent) = say(&mut state, kind, "") {
            tracing::warn!(silent, %error, "{what}");
        }
    }

    /// A partition was taken over. What is not as it should be is said once, and counted.
    pub(super) fn taken_over(&self, partition: i32, takeover: &Takeover) {
        let Takeover { base, start, forced, held, notices, .. } = takeover;
        let offset = held.as_ref().map(|entry| entry.offset);
        tracing::info!(
            partition,
            offset,
            start,
            batches = forced.len(),
            "taken over; what may have been sent is sent again"
        );
        if notices.is_empty() {
            self.telemetry.takeover(if offset.is_some() { "continued" } else { "first" }, 0);
        }
        for notice in notices {
            match notice {
                Notice::Missing => tracing::warn!(
                    partition,
                    offset,
                    "the offset was committed by something else or by hand: what was placed beyond it, if anything, is \
                     placed again"
                ),
                Notice::Foreign => tracing::warn!(
                    partition,
                    offset,
                    "another program keeps its own text beside the offset: what was placed beyond it, if anything, is \
                     placed again"
                ),
                Notice::Corrupt => tracing::warn!(
                    partition,
                    offset,
                    "the text beside the offset is damaged: what was placed beyond it, if anything, is placed again"
                ),
                Notice::Recreated => tracing::warn!(
                    partition,
                    offset,
                    base,
                    "the topic was deleted and created again: it is read from its beginning"
                ),
                Notice::Expired { offsets } => tracing::warn!(
                    partition,
                    offset,
                    start,
                    offsets,
                    "offsets from the committed one on are gone, expired or deleted: reading goes on at the first there is"
                ),
                Notice::Truncated { offsets } => tracing::warn!(
                    partition,
                    offset,
                    start,
                    offsets,
                    "the partition ends before what was read of it: reading goes on at its end, or at what is committed, \
                     and what was placed beyond that is placed again"
                ),
            }
            let (outcome, gone) = match notice {
                Notice::Missing => ("missing", 0),
                Notice::Foreign => ("foreign", 0),
                Notice::Corrupt => ("corrupt", 0),
                Notice::Recreated => ("recreated", 0),
                Notice::Expired { offsets } => ("expired", *offsets),
                Notice::Truncated { offsets } => ("truncated", *offsets),
            };
            self.telemetry.takeover(outcome, gone);
        }
    }

    /// What the group holds for a partition turned out to be somebody else's.
    pub(super) fn lost(&self, partition: i32) {
        self.telemetry.rebalance(Rebalance::Foreign);
        tracing::warn!(partition, "another member has committed for the partition: nothing of it is sent any more");
    }

    /// A commit, or the look at what is committed after one, failed.
    pub(super) fn commit_failed(&self, error: &dyn Display) {
        self.trouble(
            "commit",
            "offsets could not be committed; what is acknowledged stays so and is committed later",
            error,
        );
    }

    /// The cluster as the consumer sees it.
    pub(super) fn connected(&self, connected: bool) {
        if connected {
            self.health.kafka.ok();
        } else {
            self.health.kafka.fail("no broker is connected");
            self.trouble("brokers", "no broker is connected; reading goes on when one is", &"away");
        }
    }

    fn publish(&self, state: &State) {
        let is_schema = |subject: &Subject| matches!(subject, Subject::Schema(_));
        let first = |schema: bool| state.open.iter().find(|(subject, _)| is_schema(subject) == schema);
        for (check, open) in [(&self.health.clickhouse, first(false)), (&self.health.schema, first(true))] {
            match open {
                Some((_, cause)) => check.fail(cause.as_str()),
                None => check.ok(),
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is out of order. The server is one, tables are many.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Server,
    Table(String),
    Schema(String),
    Account(String),
}

/// `None` for rows, which are nobody's trouble but their own.
fn subject(about: About, table: &str) -> Option<Subject> {
    let table = table.to_owned();
    Some(match about {
        About::Server => Subject::Server,
        About::Table => Subject::Table(table),
        About::Schema => Subject::Schema(table),
        About::Account => Subject::Account(table),
        About::Rows => return None,
    })
}

fn say(state: &mut State, kind: &'static str, of: &str) -> Option<u64> {
    state.said.entry((kind, of.to_owned())).or_insert_with(|| Every::new(Every::MINUTE)).ready()
}
