//! Why a pass didn't end with everything as declared.

use std::time::Duration;

use super::{
    difference::{Difference, What},
    platform::Platform,
    topics::TopicsError,
};
use crate::clickhouse::{self, Class, KNOWN};

/// A pass that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A service didn't answer, or answered with what may pass, for as long as it is waited for.
    #[error("{service} did not answer within {} s: {cause}", waited.as_secs())]
    Unanswered {
        /// ClickHouse or Kafka.
        service: &'static str,
        /// How long it was waited for.
        waited: Duration,
        /// The last fault.
        cause: String,
    },
    /// A service answered, and what it said passed no more than a silence would.
    #[error("{service} is up and still refuses after {} s: {cause}", waited.as_secs())]
    Unmended {
        /// ClickHouse or Kafka.
        service: &'static str,
        /// How long it was waited for.
        waited: Duration,
        /// The last fault.
        cause: String,
    },
    /// ClickHouse refused.
    #[error(transparent)]
    ClickHouse(#[from] clickhouse::Error),
    /// The server isn't fit for what is declared.
    #[error(
        "this server can't hold replicated tables, it lacks: {}; `platform = \"single\"` makes plain tables on one server, \
         `cloud` pins ClickHouse Cloud", missing.join("; ")
    )]
    Platform {
        /// What it lacks, each by name.
        missing: Vec<String>,
    },
    /// The database is there with an engine that can't hold what is declared.
    #[error(
        "database {name} has engine {live}; on platform {platform} it has to be {}: give another `clickhouse.database`, or \
         move this one away", platform.database_engine()
    )]
    DatabaseEngine {
        /// The database.
        name: String,
        /// Its engine.
        live: String,
        /// What was rendered for.
        platform: Platform,
    },
    /// A statement about an object was refused.
    #[error("{name}: {source}")]
    Statement {
        /// The object with its database.
        name: String,
        /// The server's answer.
        source: clickhouse::Error,
    },
    /// A statement is larger than may be sent.
    #[error(
        "{name}: its statement of {size} bytes needs max_query_size {}, more than `ddl_max_query_size` ({ceiling}); raise it",
        size + 4096
    )]
    TooLarge {
        /// The object with its database.
        name: String,
        /// The statement's size in bytes.
        size: u64,
        /// The most that is asked for.
        ceiling: u64,
    },
    /// The server says that the object exists, and doesn't show it.
    #[error(
        "{name} exists and doesn't show: is a table of that name detached? ATTACH or DROP it, or give the account the right \
         to see it: {source}"
    )]
    Hidden {
        /// The object with its database.
        name: String,
        /// The server's answer.
        source: clickhouse::Error,
    },
    /// The server took the statement without a word, and yet there is no such object.
    #[error("{name} was created without an error, yet it doesn't show; may the account see it?")]
    StillAbsent {
        /// The object with its database.
        name: String,
    },
    /// The server took the statement without a word, and yet the object isn't as declared.
    #[error(
        "{name} was replaced without an error, yet it is not as declared; does another program replace it as well?"
    )]
    StillOtherwise {
        /// The object with its database.
        name: String,
    },
    /// Objects can't be brought about; the others were.
    #[error("{}", .0.join("\n"))]
    Objects(Vec<String>),
    /// Another process has the lease.
    #[error("the schema is locked: {0}")]
    Occupied(String),
    /// The lease ended in the middle.
    #[error("the pass took longer than its lease; the rest is left to the next one")]
    LeaseLapsed,
    /// It was asked to end.
    #[error("the pass was asked to end before it was done; the next one goes on from here")]
    Stopped,
    /// Objects aren't as declared.
    #[error("{}", listed(.0))]
    NotAsDeclared(Vec<Difference>),
    /// A topic can't be created.
    #[error("can't create topic {name}: {source}")]
    Topic {
        /// The topic.
        name: String,
        /// The broker's answer.
        source: TopicsError,
    },
    /// Topics aren't there yet.
    #[error("{}", .0.join("; "))]
    Topics(Vec<String>),
    /// Kafka refused.
    #[error("Kafka: {0}")]
    Kafka(TopicsError),
}

impl Error {
    /// Whether nothing but a person can help, and a process had better end than wait: the account isn't taken, or the
    /// database isn't there and nobody may create it.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        match self {
            Self::ClickHouse(error) | Self::Statement { source: error, .. } => is_about_the_account(error),
            Self::NotAsDeclared(differences) => differences.iter().any(|d| d.what == What::DatabaseAbsent),
            _ => false,
        }
    }

    /// Whether the same may go well at once or after a while.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            Self::ClickHouse(error) | Self::Statement { source: error, .. } => may_pass(error),
            Self::Topic { source, .. } | Self::Kafka(source) => source.retryable,
            Self::Topics(_) => true,
            _ => false,
        }
    }

    /// Whether the service said so itself: it is there.
    pub(super) fn is_an_answer(&self) -> bool {
        match self {
            Self::ClickHouse(error) | Self::Statement { source: error, .. } => error.code().is_some(),
            Self::Topic { .. } | Self::Topics(_) => true,
            _ => false,
        }
    }

    /// Whether it stands in the way of every object, and not of one alone.
    pub(super) fn stops_the_pass(&self) -> bool {
        self.may_pass() || self.is_fatal() || matches!(self, Self::LeaseLapsed | Self::Stopped | Self::ClickHouse(_))
    }
}

/// Codes that aren't known are worth another try for an insert, which loses nothing by it. A statement that is refused with
/// one is refused for good.
fn may_pass(error: &clickhouse::Error) -> bool {
    match error.code() {
        None => error.is_retryable(),
        Some(code) => KNOWN.iter().any(|(known, _, class)| *known == code && *class == Class::Retry),
    }
}

fn is_about_the_account(error: &clickhouse::Error) -> bool {
    error.is_fatal() && matches!(error.code(), None | Some(192..=195 | 516))
}

fn listed(differences: &[Difference]) -> String {
    if let [one] = differences {
        return format!("not as declared: {one}");
    }
    let lines: Vec<String> = differences.iter().map(|difference| format!("\n  {difference}")).collect();
    format!("not as declared, {} differences:{}", lines.len(), lines.concat())
}
