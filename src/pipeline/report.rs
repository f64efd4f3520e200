//! What the flow says of itself: metrics, health, and one warning a minute for each cause of trouble.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Display,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
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
    /// The addresses of the brokers, for messages.
    brokers: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What is out of order now.
    open: BTreeMap<Subject, Trouble>,
    /// Since when no broker is connected.
    unconnected: Option<Instant>,
    /// When each cause was last spoken of.
    said: HashMap<(&'static str, String), Every>,
}

/// Why something is out of order.
struct Trouble {
    cause: String,
    since: Instant,
}

impl State {
    /// Something is out of order; says for how many seconds.
    fn open(&mut self, subject: Subject, cause: String) -> u64 {
        let now = Instant::now();
        let trouble = self.open.entry(subject).or_insert_with(|| Trouble { cause: String::new(), since: now });
        trouble.cause = cause;
        now.duration_since(trouble.since).as_secs()
    }
}

impl Report {
    pub(super) fn new(telemetry: Arc<Telemetry>, health: Arc<Health>, brokers: &str) -> Arc<Self> {
        Arc::new(Self { telemetry, health, brokers: brokers.to_owned(), state: Mutex::default() })
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
        let mut seconds = 0;
        if let Some(subject) = subject(about, table) {
            seconds = state.open(subject, format!("`{table}`: {cause}"));
            self.publish(&state);
        }
        if let Some(silent) = say(&mut state, about.class(), table) {
            let what = match about {
                About::Server => "insert failed; it is repeated until it is acknowledged",
                About::Memory => {
                    "the server has no memory for this block at the moment; the insert is repeated until it is acknowledged"
                }
                About::Table => {
                    "the table takes no rows at the moment; the insert is repeated until it is acknowledged"
                }
                About::Schema => "the table is not as declared; its rows are held until it is",
                About::Account => "inserts are refused until the account or a setting is put right; the rows are held",
                About::Rows => "the server refuses some of these rows; they are singled out and diverted",
            };
            tracing::warn!(table, partition = tenure.partition, rows = block.rows, seconds, silent, cause, "{what}");
        }
    }

    /// Whether inserts are in order, as far as is known.
    pub(super) fn is_well(&self) -> bool {
        self.state().open.is_empty()
    }

    /// The server acknowledged a block as one that it knows, and doesn't have it.
    pub(super) fn missing(&self, tenure: Tenure, block: &Block, is_sent_again: bool) {
        let (table, partition, rows) = (&block.target.table, tenure.partition, block.rows);
        self.telemetry.missing(table);
        if is_sent_again {
            let what = "the server knows the token of a block and doesn't have its rows, as it ended between the two; they \
                        are sent again under another token";
            tracing::warn!(table, partition, rows, "{what}");
        } else {
            let what = "the server has acknowledged the rows of a block under four tokens, and they can't be found: does the \
                        account see all rows of the table?";
            tracing::error!(table, partition, rows, "{what}");
        }
    }

    /// A table has taken a block.
    pub(super) fn taken(&self, table: &str) {
        let mut state = self.state();
        let mut mended = false;
        for about in [About::Server, About::Table, About::Schema, About::Account] {
            mended |= subject(about, table).is_some_and(|subject| state.open.remove(&subject).is_some());
        }
        if state.open.remove(&Subject::Silence).is_some() {
            state.said.remove(&(SILENCE, String::new()));
        }
        self.publish(&state);
        if mended {
            state.said.retain(|(kind, of), _| of != table || *kind == About::Rows.class());
            tracing::info!(table, "inserts are acknowledged again");
        }
    }

    /// ClickHouse was asked, beside all inserts, whether it can be used: `fault` says why not.
    pub(super) fn looked(&self, fault: Option<&dyn Display>) {
        let mut state = self.state();
        // Whether inserts work is theirs to say, as long as there are some to send.
        let idle = self.telemetry.ledger().sums().held == 0;
        let Some(fault) = fault else {
            let mut mended = state.open.remove(&Subject::Silence).is_some();
            if idle && state.open.remove(&Subject::Server).is_some() {
                state.said.retain(|(kind, _), _| *kind != About::Server.class());
                mended = true;
            }
            if mended {
                self.publish(&state);
                state.said.remove(&(SILENCE, String::new()));
                tracing::info!("ClickHouse can be used again");
            }
            return;
        };
        let seconds = state.open(Subject::Silence, fault.to_string());
        self.publish(&state);
        // One that an insert has spoken of is not spoken of here.
        if (idle || !state.open.contains_key(&Subject::Server))
            && let Some(silent) = say(&mut state, SILENCE, "")
        {
            tracing::warn!(seconds, silent, cause = %fault, "ClickHouse can't be used at the moment; what comes is held until it can");
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
        let mut state = self.state();
        if connected {
            self.health.kafka.ok();
            state.unconnected = None;
            return;
        }
        let seconds = state.unconnected.get_or_insert_with(Instant::now).elapsed().as_secs();
        self.health.kafka.fail(format!("no broker of {} is connected", self.brokers));
        if let Some(silent) = say(&mut state, BROKERS, "") {
            tracing::warn!(
                brokers = self.brokers,
                seconds,
                silent,
                "no broker is connected; reading goes on when one is"
            );
        }
    }

    fn publish(&self, state: &State) {
        let is_schema = |subject: &Subject| matches!(subject, Subject::Schema(_));
        let first = |schema: bool| state.open.iter().find(|(subject, _)| is_schema(subject) == schema);
        for (check, open) in [(&self.health.clickhouse, first(false)), (&self.health.schema, first(true))] {
            match open {
                Some((_, trouble)) => check.fail(trouble.cause.as_str()),
                None => check.ok(),
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Causes that are none of an insert.
const SILENCE: &str = "silence";
const BROKERS: &str = "brokers";

/// What is out of order. The server is one, tables are many.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    /// No insert got an answer.
    Server,
    /// Nobody answered the question that is asked beside them.
    Silence,
    Table(String),
    Schema(String),
    Account(String),
}

/// `None` for rows, which are nobody's trouble but their own.
fn subject(about: About, table: &str) -> Option<Subject> {
    let table = table.to_owned();
    Some(match about {
        About::Server => Subject::Server,
        About::Table | About::Memory => Subject::Table(table),
        About::Schema => Subject::Schema(table),
        About::Account => Subject::Account(table),
        About::Rows => return None,
    })
}

fn say(state: &mut State, kind: &'static str, of: &str) -> Option<u64> {
    state.said.entry((kind, of.to_owned())).or_insert_with(|| Every::new(Every::MINUTE)).ready()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::State as Seen;

    fn failed(cause: &str) -> Seen {
        Seen::Failed { cause: cause.to_owned() }
    }

    #[test]
    fn a_server_that_is_away_is_seen_without_an_insert_and_so_is_its_return() {
        let (telemetry, health) = (Arc::new(Telemetry::new()), Arc::new(Health::default()));
        let report = Report::new(telemetry.clone(), health.clone(), "b:1");
        report.looked(None);
        assert_eq!(health.clickhouse.state(), Seen::Unknown, "nothing was amiss");
        report.looked(Some(&"gone"));
        assert_eq!(health.clickhouse.state(), failed("gone"));
        report.looked(None);
        assert_eq!(health.clickhouse.state(), Seen::Ok);

        // An insert that failed for want of a server, whose partition is another's now: nobody will try again.
        report.state().open(Subject::Server, "no connection".to_owned());
        let mut held = telemetry.ledger().open();
        held.consumed(1, 1, 1);
        report.looked(Some(&"gone"));
        report.looked(None);
        assert_eq!(health.clickhouse.state(), failed("no connection"), "as long as it is tried, inserts say how it is");
        drop(held);
        report.looked(None);
        assert_eq!(health.clickhouse.state(), Seen::Ok);
    }

    #[test]
    fn brokers_that_are_away_are_named() {
        let health = Arc::new(Health::default());
        let report = Report::new(Arc::new(Telemetry::new()), health.clone(), "b:1,c:1");
        for _ in 0..2 {
            report.connected(false);
            assert_eq!(health.kafka.state(), failed("no broker of b:1,c:1 is connected"));
            assert!(report.state().unconnected.is_some());
            report.connected(true);
            assert_eq!(health.kafka.state(), Seen::Ok);
            assert!(report.state().unconnected.is_none());
        }
    }
}
