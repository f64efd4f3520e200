//! What a live object has otherwise than declared, and what could be done about it.

use std::fmt;

/// One part of an object that isn't as declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    /// Which part.
    pub part: Part,
    /// What the server has; empty for nothing.
    pub live: String,
    /// What is declared; empty for nothing.
    pub declared: String,
    /// How an operator can have it carried out, or why not.
    pub remedy: Remedy,
}

/// A part of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // the names and `Display` say it
pub enum Part {
    Engine,
    /// What a materialized view selects.
    Query,
    /// Where a materialized view writes.
    Target,
    SortingKey,
    PrimaryKey,
    PartitionKey,
    SamplingKey,
    Ttl,
    Setting(String),
    /// A declared column that the table lacks.
    Column(String),
    ColumnType(String),
    Codec(String),
    Default(String),
    /// A change that was begun and did not end.
    Mutation(String),
}

/// What can be done about a drift.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// `--allow-drift` sends this, behind `ALTER TABLE name`.
    Alter(String),
    /// Nothing is sent for it, for this reason.
    Refused(String),
}

impl Drift {
    /// Whether a block that is declared could not be inserted, or not be deduplicated.
    #[must_use]
    pub fn blocks_inserts(&self) -> bool {
        match &self.part {
            Part::Engine | Part::Column(_) | Part::ColumnType(_) => true,
            // The server takes values for a column with a default, and refuses them for one that it computes.
            Part::Default(_) => !self.live.is_empty() && !self.live.starts_with("DEFAULT"),
            _ => false,
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine => f.write_str("engine"),
            Self::Query => f.write_str("query"),
            Self::Target => f.write_str("table that it writes to"),
            Self::SortingKey => f.write_str("ORDER BY"),
            Self::PrimaryKey => f.write_str("PRIMARY KEY"),
            Self::PartitionKey => f.write_str("PARTITION BY"),
            Self::SamplingKey => f.write_str("SAMPLE BY"),
            Self::Ttl => f.write_str("TTL"),
            Self::Setting(name) => write!(f, "setting `{name}`"),
            Self::Column(name) => write!(f, "column `{name}`"),
            Self::ColumnType(name) => write!(f, "type of column `{name}`"),
            Self::Codec(name) => write!(f, "codec of column `{name}`"),
            Self::Default(name) => write!(f, "default of column `{name}`"),
            Self::Mutation(id) => write!(f, "mutation {id}"),
        }
    }
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_none = |text: &str| if text.is_empty() { "none".to_owned() } else { text.to_owned() };
        match &self.part {
            Part::Mutation(_) => write!(f, "{} is stuck: `{}`: {}", self.part, self.declared, self.live)?,
            _ => write!(f, "{} is {}; declared is {}", self.part, or_none(&self.live), or_none(&self.declared))?,
        }
        match &self.remedy {
            Remedy::Alter(_) => Ok(()),
            Remedy::Refused(why) => write!(f, " ({why})"),
        }
    }
}
