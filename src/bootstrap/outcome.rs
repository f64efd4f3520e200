//! What a pass did, or a plan would do, about one object.

use serde_json::{Value, json};

use super::{drift::Drift, manifest::Kind};

/// What became of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Its id in the manifest.
    pub id: String,
    /// What it is.
    pub kind: Kind,
    /// Its name, with the database where it has one.
    pub name: String,
    /// What was done, or would be.
    pub action: Action,
    /// What is declared, as a number that is the same on every platform; empty for topics.
    pub checksum: String,
    /// Columns that were added.
    pub columns_added: Vec<String>,
    /// What was altered, in words.
    pub changes: Vec<String>,
    /// What is otherwise than declared and was left alone.
    pub drift: Vec<Drift>,
    /// Live columns that aren't declared.
    pub extra_columns: Vec<String>,
    /// Changes of data that go on in the background.
    pub unfinished: Vec<String>,
    /// Why it was skipped.
    pub reason: Option<String>,
    /// The statements that were sent, or would be.
    pub statements: Vec<String>,
}

/// What a pass did about an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// It was absent and is there now.
    Created,
    /// It was brought to what is declared.
    Altered,
    /// It was as declared.
    Unchanged,
    /// It is there and otherwise than declared, in a way that isn't changed without being asked.
    Refused,
    /// It could not be brought about.
    Skipped,
}

impl Action {
    /// Every action, in the order of reports.
    pub const ALL: [Self; 5] = [Self::Created, Self::Altered, Self::Unchanged, Self::Refused, Self::Skipped];

    /// The name in the ledger and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Altered => "altered",
            Self::Unchanged => "unchanged",
            Self::Refused => "refused",
            Self::Skipped => "skipped",
        }
    }
}

impl Outcome {
    /// Nothing to do.
    pub(super) fn unchanged(id: &str, kind: Kind, name: String, checksum: String) -> Self {
        Self {
            id: id.to_owned(),
            kind,
            name,
            action: Action::Unchanged,
            checksum,
            columns_added: Vec::new(),
            changes: Vec::new(),
            drift: Vec::new(),
            extra_columns: Vec::new(),
            unfinished: Vec::new(),
            reason: None,
            statements: Vec::new(),
        }
    }

    /// As the status route and `--json` show it.
    #[must_use]
    pub fn json(&self) -> Value {
        let drift: Vec<String> = self.drift.iter().map(ToString::to_string).collect();
        json!({
            "id": self.id,
            "kind": self.kind.name(),
            "object": if self.kind == Kind::Topic { format!("topic:{}", self.name) } else { self.name.clone() },
            "action": self.action.name(),
            "checksum": self.checksum,
            "columns_added": self.columns_added,
            "changes": self.changes,
            "drift": drift,
            "extra_columns": self.extra_columns,
            "unfinished": self.unfinished,
            "reason": self.reason,
        })
    }
}
