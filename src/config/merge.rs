//! The sources on top of each other: the later one wins, for a map entry by entry.

use std::{collections::BTreeMap, num::NonZero, thread};

use super::{
    kind::Value,
    origin::{Given, Origin},
    problem::Problem,
    settings::{self, Preset, Setting},
};

/// Every setting with its value. A setting without a value is not there.
#[derive(Debug)]
pub(super) struct Merged {
    values: Vec<Entry>,
}

/// A setting's value and where it came from.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) setting: &'static Setting,
    pub(super) value: Value,
    pub(super) origin: Origin,
    /// For a map, where each entry came from.
    pub(super) origins: BTreeMap<String, Origin>,
}

impl Merged {
    /// Merges; what is not allowed becomes a problem, even where another source hides it.
    pub(super) fn new(given: Vec<Given>, problems: &mut Vec<Problem>) -> Self {
        let mut merged = Self { values: settings::ALL.iter().filter_map(preset).collect() };
        for given in given {
            merged.put(given, problems);
        }
        merged
    }

    pub(super) fn get(&self, key: &str) -> Option<&Entry> {
        self.values.iter().find(|e| e.setting.key == key)
    }

    fn put(&mut self, given: Given, problems: &mut Vec<Problem>) {
        let Given { setting, entry, text, origin } = given;
        if let Some(name) = entry {
            if setting.kind.accepts_name(&name) {
                let map = self.values.iter_mut().find(|e| e.setting.key == setting.key).expect("a map is always there");
                if let Value::Map(entries) = &mut map.value {
                    entries.insert(name.clone(), text);
                    map.origins.insert(name, origin);
                }
            } else {
                let found = format!("given an entry `{name}`");
                problems.push(Problem::NotAllowed {
                    origin,
                    key: setting.key.to_owned(),
                    found,
                    allowed: setting.kind.allowed(),
                });
            }
            return;
        }
        if setting.is_map() {
            let (found, allowed) = ("given without a `=`".to_owned(), "NAME=VALUE".to_owned());
            return problems.push(Problem::NotAllowed { origin, key: setting.key.to_owned(), found, allowed });
        }
        match setting.kind.read(&text) {
            Some(value) => {
                let entry = Entry { setting, value, origin, origins: BTreeMap::new() };
                match self.values.iter_mut().find(|e| e.setting.key == setting.key) {
                    Some(place) => *place = entry,
                    None => self.values.push(entry),
                }
            }
            None => problems.push(Problem::NotAllowed {
                origin,
                key: setting.key.to_owned(),
                found: found(setting, &text),
                allowed: setting.kind.allowed(),
            }),
        }
    }
}

fn preset(setting: &'static Setting) -> Option<Entry> {
    let value = match setting.preset {
        Preset::Text(text) => setting.kind.read(text)?,
        Preset::Cores => Value::Number(thread::available_parallelism().map_or(1, NonZero::get) as u64),
        Preset::Absent if setting.is_map() => Value::Map(BTreeMap::new()),
        Preset::Absent => return None,
    };
    Some(Entry { setting, value, origin: Origin::Preset, origins: BTreeMap::new() })
}

/// What was read, for the error. An address that is refused may be so because it holds a password.
fn found(setting: &Setting, text: &str) -> String {
    let in_address = text.contains(['@', '?']);
    if setting.secret || in_address {
        "what was read (not shown: it may hold a secret)".to_owned()
    } else {
        format!("`{text}`")
    }
}
