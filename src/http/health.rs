//! Whether the process can do its work, and if not, why.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

use crate::bootstrap::Report;

/// What has to be well for a process to be ready. Whoever talks to a service says how it went.
#[derive(Debug, Default)]
pub struct Health {
    /// The brokers, the topic, the group.
    pub kafka: Check,
    /// The server and the account.
    pub clickhouse: Check,
    /// Tables and topics are as declared.
    pub schema: Check,
    pass: Mutex<Option<Arc<Report>>>,
}

/// One thing that has to be well.
#[derive(Debug, Default)]
pub struct Check(Mutex<State>);

/// How one thing is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// Nobody has looked yet.
    #[default]
    Unknown,
    /// It is well.
    Ok,
    /// It is not.
    Failed {
        /// What is wrong, and with which host or object.
        cause: String,
    },
}

impl Check {
    /// It is well.
    pub fn ok(&self) {
        *self.lock() = State::Ok;
    }

    /// It is not: `cause` says what is wrong.
    pub fn fail(&self, cause: impl Into<String>) {
        *self.lock() = State::Failed { cause: cause.into() };
    }

    /// How it is.
    #[must_use]
    pub fn state(&self) -> State {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Health {
    /// A pass over the schema began, or ended.
    pub fn schema_pass(&self, report: &Arc<Report>) {
        *self.pass.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(report));
    }

    /// The last pass over the schema, or the one under way.
    #[must_use]
    pub fn last_pass(&self) -> Option<Arc<Report>> {
        self.pass.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The checks by name, in the order in which they are shown.
    #[must_use]
    pub fn checks(&self) -> [(&'static str, State); 3] {
        [("kafka", self.kafka.state()), ("clickhouse", self.clickhouse.state()), ("schema", self.schema.state())]
    }
}
