//! What a pass came to, as a whole.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{
    error::Error,
    outcome::{Action, Outcome},
    platform::Platform,
};

/// How the schema stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// No pass yet, or the bootstrap is off.
    #[default]
    Unknown,
    /// The last pass went through.
    Converged,
    /// The last pass did not.
    Failed,
    /// A pass is under way.
    Running,
    /// Another process had the lease for as long as this one waited: nothing was applied.
    Observed,
}

impl State {
    /// The name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Converged => "converged",
            Self::Failed => "failed",
            Self::Running => "running",
            Self::Observed => "observed",
        }
    }

    /// The number that the metric shows.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Unknown => 0,
            Self::Converged => 1,
            Self::Failed => 2,
            Self::Running => 3,
            Self::Observed => 4,
        }
    }
}

/// One pass.
#[derive(Debug)]
pub struct Report {
    /// How it ended.
    pub state: State,
    /// The release of the definitions.
    pub schemas_version: String,
    /// What they were rendered for, once that is known.
    pub platform: Option<Platform>,
    /// The database of the objects.
    pub database: String,
    /// Who this process is, or who holds the lease.
    pub holder: Option<String>,
    /// When it began, by this machine's clock.
    pub started_at: Timestamp,
    /// When it ended, by this machine's clock.
    pub finished_at: Option<Timestamp>,
    /// How long it took.
    pub duration: Option<Duration>,
    /// Why it failed, or what else there is to know.
    pub error: Option<Error>,
    /// What there is to know although nothing failed.
    pub notice: Option<String>,
    /// The objects in the order of the manifest.
    pub objects: Vec<Outcome>,
    /// What of the overlay isn't applied, and why.
    pub overlay_refused: Vec<String>,
    /// Why no topic was looked at.
    pub topics_skipped: Option<String>,
    /// Where topics are otherwise than declared.
    pub topics_drift: Vec<String>,
    /// Whether the lease could not be given back, and has to lapse.
    pub lease_left: bool,
}

impl Report {
    /// A pass that begins now.
    #[must_use]
    pub fn new(schemas_version: &str, database: &str) -> Self {
        Self {
            state: State::Running,
            schemas_version: schemas_version.to_owned(),
            platform: None,
            database: database.to_owned(),
            holder: None,
            started_at: Timestamp::now(),
            finished_at: None,
            duration: None,
            error: None,
            notice: None,
            objects: Vec::new(),
            overlay_refused: Vec::new(),
            topics_skipped: None,
            topics_drift: Vec::new(),
            lease_left: false,
        }
    }

    /// How many objects an action befell.
    #[must_use]
    pub fn count(&self, action: Action) -> usize {
        self.objects.iter().filter(|outcome| outcome.action == action).count()
    }

    /// What is refused: the object, and everything about it.
    #[must_use]
    pub fn refused(&self) -> Vec<String> {
        let refused = self.objects.iter().filter(|outcome| outcome.action == Action::Refused);
        let line = |outcome: &Outcome| {
            let drift: Vec<String> = outcome.drift.iter().map(ToString::to_string).collect();
            format!("{}: {}", outcome.name, drift.join("; "))
        };
        refused.map(line).collect()
    }

    /// What of these tables of the database keeps rows from being inserted.
    #[must_use]
    pub fn blocked<'t>(&self, tables: impl IntoIterator<Item = &'t str>) -> Vec<String> {
        let names: Vec<String> = tables.into_iter().map(|table| format!("{}.{table}", self.database)).collect();
        let mut blocked = Vec::new();
        for outcome in self.objects.iter().filter(|outcome| names.contains(&outcome.name)) {
            let drift = outcome.drift.iter().filter(|drift| drift.blocks_inserts());
            blocked.extend(drift.map(|drift| format!("{}: {drift}", outcome.name)));
        }
        blocked
    }

    /// Whether the schema is in a state that ingest may stand on.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        matches!(self.state, State::Converged | State::Unknown) && self.error.is_none()
    }

    /// As the status route and `--json` show it.
    #[must_use]
    pub fn json(&self) -> Value {
        let counts: Map<String, Value> =
            Action::ALL.into_iter().map(|action| (action.name().to_owned(), json!(self.count(action)))).collect();
        let topics = |action: Action| -> Vec<&str> {
            let of = |o: &&Outcome| o.kind == super::Kind::Topic && o.action == action;
            self.objects.iter().filter(of).map(|o| o.name.as_str()).collect()
        };
        let error = self.error.as_ref().map(ToString::to_string).or_else(|| self.notice.clone());
        json!({
            "state": self.state.name(),
            "ready": self.is_ready(),
            "converged": self.state == State::Converged,
            "schemas_version": self.schemas_version,
            "engine_version": env!("CARGO_PKG_VERSION"),
            "platform": self.platform.map(Platform::name),
            "database": self.database,
            "holder": self.holder,
            "started_at": self.started_at.to_string(),
            "finished_at": self.finished_at.map(|at| at.to_string()),
            "duration_seconds": self.duration.map(|took| (took.as_secs_f64() * 1000.0).round() / 1000.0),
            "error": error,
            "counts": counts,
            "objects": self.objects.iter().map(Outcome::json).collect::<Vec<_>>(),
            "refused": self.refused(),
            "overlay_refused": self.overlay_refused,
            "topics_created": topics(Action::Created),
            "topics_existing": topics(Action::Unchanged),
            "topics_skipped": self.topics_skipped,
            "topics_drift": self.topics_drift,
        })
    }
}
