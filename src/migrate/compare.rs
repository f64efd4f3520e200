//! Two records → their differences.

use std::collections::BTreeMap;

use super::{
    difference::{Class, Difference, Verdict},
    renames::{Became, RenameError, Renames, pairs},
    shape::{Field, Shape, Spot},
    types,
};
use crate::epoch::{ProtoType, SCHEMA_VERSION};

/// From this number on stands what the kernel reported.
pub const PAYLOAD: u32 = 1000;

/// How a comparison is made.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// Renames that a maintainer confirmed.
    pub renames: Renames,
    /// Whether this is the record of the fleet: its payload fields name their source and its first field routes it.
    pub is_fleet_record: bool,
}

/// All differences, in the order of the new file.
///
/// # Errors
/// When a confirmed rename can't be.
pub fn differences(old: &Shape, new: &Shape, rules: &Rules) -> Result<Vec<Difference>, RenameError> {
    let found = pairs(old, new, &rules.renames)?;
    let mut all = Comparing { old, new, found: Vec::new() };
    for (field, became) in &found.pairs {
        match became {
            Became::Known(heir) => all.kept(field, heir, false),
            Became::Likely(heir) => all.kept(field, heir, true),
            Became::Gone => all.gone(field, &found.fresh),
        }
    }
    for field in &found.fresh {
        all.fresh(field);
    }
    for field in new.fields.iter().filter(|_| rules.is_fleet_record) {
        if field.number >= PAYLOAD && !field.comment.as_deref().is_some_and(names_a_source) {
            let read = field.comment.as_ref().map_or("nothing".to_owned(), |comment| format!("`{comment}`"));
            all.add(Class::SourceMissing, &field.name, format!("{} says {read} after it", shown(field)), field.spot);
        }
    }
    if rules.is_fleet_record {
        all.route();
    }
    all.envelope();
    all.reserved();
    all.found.sort_by_key(|difference| difference.spot);
    Ok(all.found)
}

/// The highest verdict; a note without any difference.
#[must_use]
pub fn verdict(differences: &[Difference]) -> Verdict {
    differences.iter().map(|difference| difference.class.verdict()).max().unwrap_or(Verdict::Note)
}

/// A struct's member, or a netlink attribute when the attribute is the value.
fn names_a_source(comment: &str) -> bool {
    let first = comment.split([',', ' ']).next().unwrap_or("");
    let is_name = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match first.split_once('.') {
        Some((kind, member)) => is_name(kind) && is_name(member),
        None => is_name(first) && (first.starts_with("INET_DIAG_") || first.starts_with("SK_MEMINFO_")),
    }
}

fn shown(field: &Field) -> String {
    let repeated = if field.is_repeated { "repeated " } else { "" };
    format!("{repeated}{} {} = {}", field.proto.name(), field.name, field.number)
}

struct Comparing<'a> {
    old: &'a Shape,
    new: &'a Shape,
    found: Vec<Difference>,
}

impl Comparing<'_> {
    fn add(&mut self, class: Class, subject: &str, text: String, spot: Option<Spot>) {
        let file = self.new.file.clone();
        self.found.push(Difference { class, subject: subject.to_owned(), text, file, spot, confirm: None });
    }

    /// A field that is there before and after.
    fn kept(&mut self, old: &Field, new: &Field, is_likely: bool) {
        let (name, spot) = (&new.name, new.spot);
        let (renamed, renumbered) = (old.name != new.name, old.number != new.number);
        let class = match (renamed, renumbered) {
            (true, true) => Some(Class::Moved),
            (true, false) => Some(Class::Renamed),
            (false, true) => Some(Class::Renumbered),
            (false, false) => None,
        };
        if let Some(class) = class {
            let likely = if is_likely { ", likely: number and type are the same" } else { "" };
            self.add(class, name, format!("{} was {}{likely}", shown(new), shown(old)), spot);
            if is_likely && let Some(last) = self.found.last_mut() {
                last.confirm = Some(format!("--rename {}={}", old.name, new.name));
            }
        }
        if renumbered {
            self.number(new);
        }
        if old.is_repeated != new.is_repeated {
            self.add(Class::Repeated, name, format!("{} was {}", shown(new), shown(old)), spot);
        }
        if let Some((class, text)) = types::change(old.proto, new.proto) {
            self.add(class, name, format!("{} was {}: {text}", shown(new), old.proto.name()), spot);
        } else {
            self.labels(old, new);
        }
        if old.is_optional != new.is_optional && self.old.spot.is_some() {
            let text = if new.is_optional { "became optional" } else { "is optional no more" };
            self.add(Class::PresenceChanged, name, format!("{} {text}", shown(new)), spot);
        }
    }

    /// Whether a field's number was another's, in this record or before.
    fn number(&mut self, field: &Field) -> bool {
        let other = self.old.numbered(field.number);
        let text = match other {
            Some(other) => format!("{} takes the number of {}", shown(field), shown(other)),
            None if self.old.reserved.has_number(field.number) => {
                format!("{} takes a number that an earlier record used", shown(field))
            }
            None => return false,
        };
        self.add(Class::NumberReused, &field.name, text, field.spot);
        true
    }

    fn fresh(&mut self, field: &Field) {
        let mut refused = self.number(field);
        if self.old.reserved.names.contains(&field.name) {
            refused = true;
            let text = format!("{} takes a name that an earlier record used", shown(field));
            self.add(Class::NameReused, &field.name, text, field.spot);
        }
        if field.is_repeated {
            refused = true;
            self.add(Class::Repeated, &field.name, format!("{} is new", shown(field)), field.spot);
        }
        if !refused {
            self.add(Class::Added, &field.name, format!("{} is new", shown(field)), field.spot);
        }
    }

    fn gone(&mut self, field: &Field, fresh: &[&Field]) {
        // In a file that lacks it, the record itself is where to look.
        self.add(Class::Removed, &field.name, format!("{} is gone", shown(field)), self.new.spot);
        let near = |new: &&&Field| new.proto == field.proto && strsim::jaro_winkler(&new.name, &field.name) > 0.85;
        let heir = fresh.iter().filter(near).max_by(|a, b| {
            let of = |new: &Field| strsim::jaro_winkler(&new.name, &field.name);
            of(a).total_cmp(&of(b))
        });
        if let (Some(heir), Some(last)) = (heir, self.found.last_mut()) {
            last.text += &format!("; {} may be it", shown(heir));
            last.confirm = Some(format!("--rename {}={}", field.name, heir.name));
        }
    }

    fn labels(&mut self, old: &Field, new: &Field) {
        let subject = &new.name;
        for (number, label) in &old.labels {
            match new.labels.get(number) {
                Some(now) if now == label => {}
                // Protobuf needs a name for 0 that a column may leave empty.
                Some(now) if *number == 0 && is_unspecified(label) && is_unspecified(now) => {}
                Some(now) if old.labels.iter().any(|(n, l)| n != number && l == now) => {
                    let text = format!("label '{now}' of {subject} is {number} now");
                    self.add(Class::LabelMoved, subject, text, new.spot);
                }
                Some(now) => {
                    let text = format!("label {number} of {subject} is '{now}', was '{label}'");
                    self.add(Class::LabelRenamed, subject, text, new.spot);
                }
                // Told below, where it went.
                None if new.labels.values().any(|now| now == label) => {}
                None => {
                    let text = format!("label '{label}' = {number} of {subject} is gone");
                    self.add(Class::LabelRemoved, subject, text, new.spot);
                }
            }
        }
        for (number, label) in new.labels.iter().filter(|(number, _)| !old.labels.contains_key(number)) {
            let moved = old.labels.iter().find(|(_, old)| *old == label);
            let (class, text) = match moved {
                Some((from, _)) => (Class::LabelMoved, format!("label '{label}' of {subject} is {number}, was {from}")),
                None => (Class::LabelAdded, format!("label '{label}' = {number} of {subject} is new")),
            };
            self.add(class, subject, text, new.spot);
        }
    }

    fn route(&mut self) {
        let routes = |shape: &Shape| shape.numbered(SCHEMA_VERSION).is_some_and(|f| f.proto == ProtoType::Uint32);
        if !routes(self.new) {
            let read = self.new.numbered(SCHEMA_VERSION).map_or("nothing".to_owned(), |f| format!("`{}`", shown(f)));
            let spot = self.new.numbered(SCHEMA_VERSION).map_or(self.new.spot, |field| field.spot);
            self.add(Class::RouteChanged, "schema_version", format!("field {SCHEMA_VERSION} is {read}"), spot);
        }
    }

    fn envelope(&mut self) {
        let fields = |shape: &Shape| shape.envelope.as_ref().map(|envelope| envelope.fields.clone());
        let (old, new) = (fields(self.old), fields(self.new));
        if old == new || old.is_none() {
            return;
        }
        let list = |fields: &Option<Vec<(u32, String, bool)>>| match fields {
            None => "no envelope".to_owned(),
            Some(fields) => {
                let one = |(number, kind, is_list): &(u32, String, bool)| {
                    format!("{}{kind} = {number}", if *is_list { "repeated " } else { "" })
                };
                fields.iter().map(one).collect::<Vec<_>>().join(", ")
            }
        };
        let spot = self.new.envelope.as_ref().map_or(self.new.spot, |envelope| envelope.spot);
        self.add(Class::EnvelopeChanged, "Envelope", format!("holds {}, held {}", list(&new), list(&old)), spot);
    }

    /// What left, or was kept free, and isn't kept free by the new file.
    fn reserved(&mut self) {
        let left = left(self.old, self.new);
        let mut missing: BTreeMap<String, ()> = BTreeMap::new();
        for number in &left.numbers {
            missing.insert(format!("number {number}"), ());
        }
        for name in &left.names {
            missing.insert(format!("name `{name}`"), ());
        }
        for (what, ()) in missing {
            self.add(Class::ReservedMissing, &what, format!("{what} is not reserved"), self.new.spot);
        }
    }
}

fn is_unspecified(label: &str) -> bool {
    matches!(label, "" | "unspecified")
}

/// Numbers and names that a new record has to reserve and doesn't.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Left {
    /// The numbers.
    pub numbers: Vec<u32>,
    /// The names.
    pub names: Vec<String>,
}

/// What the old record used or kept free, and the new one neither uses nor reserves.
#[must_use]
pub fn left(old: &Shape, new: &Shape) -> Left {
    // A wide range is a decision of its own, not the trace of a field.
    let single = old.reserved.numbers.iter().filter(|(from, to)| to - from < 64).flat_map(|(from, to)| *from..=*to);
    let mut numbers: Vec<u32> = old.fields.iter().map(|field| field.number).chain(single).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers.retain(|number| new.numbered(*number).is_none() && !new.reserved.has_number(*number));
    let mut names: Vec<String> =
        old.fields.iter().map(|field| &field.name).chain(&old.reserved.names).cloned().collect();
    names.sort();
    names.dedup();
    names.retain(|name| new.named(name).is_none() && !new.reserved.names.contains(name));
    Left { numbers, names }
}
