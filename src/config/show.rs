//! The merged configuration as `config check` prints it: TOML that reads back, each value with its source, no secret.

use std::fmt::Write as _;

use serde_json::{Map, json};

use super::{
    kind::Value,
    merge::{Entry, Merged},
    settings,
};

/// One value as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The setting's key; for an entry of a map with the entry's name.
    pub key: String,
    /// The table it stands in, empty for none, and its name there.
    place: (String, String),
    /// The value, `None` when there is none.
    pub value: Option<serde_json::Value>,
    /// Where it came from.
    pub origin: String,
}

impl Shown {
    pub(super) fn all(merged: &Merged) -> Vec<Self> {
        settings::ALL
            .iter()
            .flat_map(|setting| match merged.get(setting.key) {
                Some(entry) => Self::of(entry),
                None => vec![Self::new(setting.key, None, "not set".to_owned())],
            })
            .collect()
    }

    fn of(entry: &Entry) -> Vec<Self> {
        let (setting, secret) = (entry.setting, entry.setting.secret);
        let Value::Map(entries) = &entry.value else {
            return vec![Self::new(setting.key, Some(scalar(&entry.value, secret)), entry.origin.to_string())];
        };
        entries
            .iter()
            .map(|(name, text)| {
                let value = Value::Text(text.clone());
                Self {
                    key: format!("{}.{name}", setting.key),
                    place: (setting.key.to_owned(), quoted(name)),
                    value: Some(scalar(&value, secret)),
                    origin: entry.origins.get(name).unwrap_or(&entry.origin).to_string(),
                }
            })
            .collect()
    }

    fn new(key: &str, value: Option<serde_json::Value>, origin: String) -> Self {
        let (table, name) = key.rsplit_once('.').unwrap_or(("", key));
        Self { key: key.to_owned(), place: (table.to_owned(), name.to_owned()), value, origin }
    }
}

/// TOML: what stands in no table first, as TOML demands.
#[must_use]
pub fn toml(shown: &[Shown]) -> String {
    let mut tables: Vec<&str> = shown.iter().map(|s| s.place.0.as_str()).collect();
    tables.sort_by_key(|table| !table.is_empty());
    tables.dedup();
    let mut seen: Vec<&str> = Vec::new();
    let mut text = String::new();
    for table in tables {
        if seen.contains(&table) {
            continue;
        }
        seen.push(table);
        if !table.is_empty() {
            let _ = write!(text, "\n[{table}]\n");
        }
        for shown in shown.iter().filter(|s| s.place.0 == table) {
            let line = match &shown.value {
                Some(value) => format!("{} = {value}", shown.place.1),
                None => format!("# {} =", shown.place.1),
            };
            let _ = writeln!(text, "{line:<42} # {}", shown.origin);
        }
    }
    text
}

/// One JSON object: key → `{"value": …, "source": …}`.
#[must_use]
pub fn json(shown: &[Shown]) -> serde_json::Value {
    shown.iter().map(|s| (s.key.clone(), json!({ "value": s.value, "source": s.origin }))).collect::<Map<_, _>>().into()
}

fn scalar(value: &Value, secret: bool) -> serde_json::Value {
    match value {
        Value::Text(text) if secret => json!(if text.is_empty() { "" } else { "***" }),
        Value::Switch(on) => json!(on),
        Value::Number(number) => json!(number),
        other => json!(other.show()),
    }
}

/// A bare TOML key if it can be one.
fn quoted(name: &str) -> String {
    let bare = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if bare { name.to_owned() } else { json!(name).to_string() }
}
