//! What tells two records apart, by class, with what follows from it.

use serde_json::{Value, json};

use super::shape::Spot;

/// What has to be done about a difference, in rising order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing but to know of it.
    Note,
    /// The columns of the newest epoch gain something.
    Additive,
    /// A new epoch.
    Bump,
    /// It can't be: the `.proto` has to be mended.
    Refused,
}

impl Verdict {
    /// Every verdict.
    pub const ALL: [Self; 4] = [Self::Note, Self::Additive, Self::Bump, Self::Refused];

    /// The name in JSON and in text.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Additive => "additive",
            Self::Bump => "bump",
            Self::Refused => "refused",
        }
    }

    /// The exit code of `migrate diff` when this is the highest of all verdicts.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Note => 0,
            Self::Additive => 2,
            Self::Bump => 3,
            Self::Refused => 1,
        }
    }
}

/// A kind of difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // `name` and `about` say it
pub enum Class {
    Added,
    LabelAdded,
    Renamed,
    Renumbered,
    Moved,
    Removed,
    Widened,
    Narrowed,
    Reinterpreted,
    Retyped,
    LabelRenamed,
    NumberReused,
    NameReused,
    Repeated,
    LabelRemoved,
    LabelMoved,
    RouteChanged,
    SourceMissing,
    EnvelopeChanged,
    ReservedMissing,
    PresenceChanged,
}

impl Class {
    /// Every class, in the order of the documentation.
    pub const ALL: [Self; 21] = [
        Self::Added,
        Self::LabelAdded,
        Self::Renamed,
        Self::Renumbered,
        Self::Moved,
        Self::Removed,
        Self::Widened,
        Self::Narrowed,
        Self::Reinterpreted,
        Self::Retyped,
        Self::LabelRenamed,
        Self::NumberReused,
        Self::NameReused,
        Self::Repeated,
        Self::LabelRemoved,
        Self::LabelMoved,
        Self::RouteChanged,
        Self::SourceMissing,
        Self::EnvelopeChanged,
        Self::ReservedMissing,
        Self::PresenceChanged,
    ];

    /// Name, verdict, and what a reader of records has of it.
    const fn facts(self) -> (&'static str, Verdict, &'static str) {
        use Verdict::{Additive, Bump, Note, Refused};
        match self {
            Self::Added => (
                "added",
                Additive,
                "a field in a free number: older readers skip it, rows of older daemons read the default",
            ),
            Self::LabelAdded => (
                "label_added",
                Additive,
                "the column gains a label: until it has, records with the new number are diverted as `enum_value`",
            ),
            Self::Renamed => {
                ("renamed", Bump, "the bytes are the same, the column has another name: views follow it by `was`")
            }
            Self::Renumbered => {
                ("renumbered", Bump, "a reader of the other number skips the field: its value would be lost")
            }
            Self::Moved => {
                ("moved", Bump, "another name and another number: a rename that loses the value for older readers")
            }
            Self::Removed => {
                ("removed", Bump, "the new table has no such column; in the views over all epochs it is gone")
            }
            Self::Widened => (
                "widened",
                Bump,
                "wire-compatible: older records read alike; an older reader sees the low 32 bits of a wider value. The \
                 column is another type, hence another table",
            ),
            Self::Narrowed => {
                ("narrowed", Bump, "values beyond the narrower type are cut by whoever reads with it, without a sign")
            }
            Self::Reinterpreted => (
                "reinterpreted",
                Bump,
                "the wire can't tell the two types apart: who reads with the other one gets other values, not an error",
            ),
            Self::Retyped => {
                ("retyped", Bump, "another wire type: who reads with the other one diverts the record as `wire_type`")
            }
            Self::LabelRenamed => {
                ("label_renamed", Bump, "the number stays, queries by the old label find nothing in the new table")
            }
            Self::NumberReused => (
                "number_reused",
                Refused,
                "the number meant something else: older records would be read as the new field. Take a free one",
            ),
            Self::NameReused => (
                "name_reused",
                Refused,
                "the name meant something else in an earlier epoch: the Merge table would mix the two. Take another",
            ),
            Self::Repeated => ("repeated", Refused, "a column holds one value; of several the last would win"),
            Self::LabelRemoved => (
                "label_removed",
                Refused,
                "older rows hold the number: a view over all epochs could not show them. Keep the label",
            ),
            Self::LabelMoved => {
                ("label_moved", Refused, "older rows hold the label under the other number. Give it a new name")
            }
            Self::RouteChanged => (
                "route_changed",
                Refused,
                "field 1 is `uint32 schema_version`: without it no reader knows which epoch a record is of",
            ),
            Self::SourceMissing => (
                "source_missing",
                Refused,
                "a payload field names its kernel source after it, like `// tcp_info.tcpi_rto` or `// INET_DIAG_TOS`",
            ),
            Self::EnvelopeChanged => (
                "envelope_changed",
                Refused,
                "all epochs share the envelope, and older readers take every field of it for a record",
            ),
            Self::ReservedMissing => (
                "reserved_missing",
                Note,
                "nothing keeps it from being used again: `migrate new` writes the `reserved` line",
            ),
            Self::PresenceChanged => {
                ("presence_changed", Note, "the bytes are the same; a column doesn't tell absent from default anyway")
            }
        }
    }

    /// The name in JSON and in text.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.facts().0
    }

    /// What has to be done about it.
    #[must_use]
    pub const fn verdict(self) -> Verdict {
        self.facts().1
    }

    /// Why.
    #[must_use]
    pub const fn about(self) -> &'static str {
        self.facts().2
    }
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Its class.
    pub class: Class,
    /// The field, enum label or message that it is about, by its newest name.
    pub subject: String,
    /// What is different.
    pub text: String,
    /// The file in which `spot` is.
    pub file: String,
    /// Where.
    pub spot: Option<Spot>,
    /// What a maintainer has to say before it counts as more than likely: an argument of the command.
    pub confirm: Option<String>,
}

impl Difference {
    /// As `--json` shows it.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({
            "class": self.class.name(),
            "verdict": self.class.verdict().name(),
            "subject": self.subject,
            "text": self.text,
            "reason": self.class.about(),
            "file": self.file,
            "line": self.spot.map(|spot| spot.line),
            "column": self.spot.map(|spot| spot.column),
            "confirm": self.confirm,
        })
    }
}
