//! Why a pass didn't end with everything as declared.

use std::time::Duration;

use super::{
    difference::{Difference, What},
    topics::TopicsError,
};
use crate::clickhouse;

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
    /// ClickHouse refused.
    #[error(transparent)]
    ClickHouse(#[from] clickhouse::Error),
    /// An object can't be created.
    #[error("can't create {name}: {source}")]
    Create {
        /// The object with its database.
        name: String,
        /// The server's answer.
        source: clickhouse::Error,
    },
    /// The server took the statement without a word, and yet there is no such object.
    #[error(
        "{name} was created without an error, yet it doesn't exist; is a table of that name detached? \
         ATTACH or DROP it, or give the account the right to see it"
    )]
    StillAbsent {
        /// The object with its database.
        name: String,
    },
    /// Objects aren't as declared.
    #[error("{}", listed(.0))]
    NotAsDeclared(Vec<Difference>),
    /// A topic isn't there, and the bootstrap may not create it.
    #[error("topic {0} doesn't exist; create it, or let the bootstrap do so (bootstrap.topics)")]
    TopicAbsent(String),
    /// A topic can't be created.
    #[error("can't create topic {name}: {source}")]
    Topic {
        /// The topic.
        name: String,
        /// The broker's answer.
        source: TopicsError,
    },
    /// Kafka refused.
    #[error("Kafka: {0}")]
    Kafka(TopicsError),
}

impl Error {
    /// Whether nothing but a person can help: credentials, rights, a database or topic that nobody may create.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        match self {
            Self::ClickHouse(error) | Self::Create { source: error, .. } => error.is_fatal(),
            Self::NotAsDeclared(differences) => differences.iter().any(|d| d.what == What::DatabaseAbsent),
            Self::TopicAbsent(_) => true,
            Self::Topic { source, .. } | Self::Kafka(source) => !source.retryable,
            Self::Unanswered { .. } | Self::StillAbsent { .. } => false,
        }
    }

    /// Whether the same may go well at once or after a while.
    pub(super) fn is_retryable(&self) -> bool {
        match self {
            Self::ClickHouse(error) | Self::Create { source: error, .. } => error.is_retryable(),
            Self::Topic { source, .. } | Self::Kafka(source) => source.retryable,
            _ => false,
        }
    }
}

fn listed(differences: &[Difference]) -> String {
    if let [one] = differences {
        return format!("not as declared: {one}");
    }
    let lines: Vec<String> = differences.iter().map(|difference| format!("\n  {difference}")).collect();
    format!("not as declared, {} differences:{}", lines.len(), lines.concat())
}
