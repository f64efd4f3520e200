//! Whether this service can go on where a topology stops, and what will be otherwise then.

use super::topology::{Feed, Reader, Topology};
use crate::bootstrap::{Definitions, Outcome, Report};

/// What the reader is held against.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The topic of this service.
    pub topic: &'a str,
    /// Its group.
    pub group: &'a str,
    /// Whether the offsets of another group are copied.
    pub copies_offsets: bool,
    /// Whether what is stopped is dropped as well.
    pub drops: bool,
}

/// The column that tells the epoch.
const SCHEMA_VERSION: &str = "schema_version";
/// What a server shows in the place of a password.
const HIDDEN: &str = "[HIDDEN]";

impl Topology {
    /// Why this service can't go on where the reader stops; empty when it can.
    #[must_use]
    pub fn objections(&self, definitions: &Definitions, wanted: Wanted<'_>) -> Vec<String> {
        let mut objections = Vec::new();
        for reader in &self.readers {
            let name = &reader.name;
            for (setting, here, is_wanted) in [
                ("kafka_topic_list", "kafka.topic", wanted.topic),
                ("kafka_group_name", "kafka.group", wanted.group),
                ("kafka_format", "the framing of daemons", "ProtobufList"),
            ] {
                let has = reader.setting(setting).unwrap_or("");
                if has == is_wanted || (setting == "kafka_group_name" && wanted.copies_offsets) {
                    continue;
                }
                let or = match setting {
                    "kafka_group_name" => ": set the same, or give `--copy-offsets`",
                    _ => "",
                };
                objections.push(format!("{name}: {setting} is `{has}`, and {here} is `{is_wanted}`{or}"));
            }
            if wanted.copies_offsets && reader.setting("kafka_group_name") == Some(wanted.group) {
                objections.push(format!("{name} reads in group `{}` itself: there is nothing to copy", wanted.group));
            }
            if wanted.drops && reader.create.contains(HIDDEN) {
                objections.push(format!(
                    "{name}: its settings hold a password that the server doesn't show, so it could not be made again: \
                     detach it instead of dropping it"
                ));
            }
        }
        if self.readers.len() > 1 {
            objections.push("several readers: their offsets would have to be joined by hand".to_owned());
        }
        let tables: Vec<&str> = definitions
            .registry
            .epochs()
            .iter()
            .map(|epoch| epoch.table.name.as_str())
            .chain([definitions.errors().name.as_str()])
            .collect();
        for feed in self.feeds.iter().filter(|feed| !tables.contains(&feed.target.as_str())) {
            let (name, target) = (&feed.name, &feed.target);
            objections.push(format!("{name} writes into `{target}`, which is no table of these definitions"));
        }
        objections
    }

    /// What will be otherwise than it was, or isn't as declared and stays so. None of it loses a row.
    #[must_use]
    pub fn notes(&self, definitions: &Definitions, report: &Report) -> Vec<String> {
        let mut notes: Vec<String> =
            self.readers.iter().filter_map(|reader| unknown_columns(reader, definitions)).collect();
        for epoch in definitions.registry.epochs() {
            let number = epoch.number;
            for feed in self.feeds.iter().filter(|feed| feed.target == epoch.table.name) {
                let name = &feed.name;
                match feed.routed() {
                    Some(routed) if routed == [number] => {}
                    Some(routed) => notes.push(format!(
                        "{name} writes records of epoch {} into `{}`; `run` writes those of epoch {number}",
                        listed(&routed),
                        feed.target
                    )),
                    None => notes.push(format!(
                        "{name} isn't filtered by `{SCHEMA_VERSION} = {number}` alone: `run` places every record \
                         of epoch {number} there, and none of another"
                    )),
                }
            }
            if !self.readers.is_empty() && !self.feeds.iter().any(|feed| feed.target == epoch.table.name) {
                notes.push(format!("no view writes records of epoch {number}: they were dropped, `run` places them"));
            }
        }
        notes.extend(report.objects.iter().flat_map(unlike));
        notes
    }
}

/// What of an object isn't as declared and is left as it is.
fn unlike(outcome: &Outcome) -> Vec<String> {
    let mut notes: Vec<String> = outcome.drift.iter().map(|drift| format!("{}: {drift}", outcome.name)).collect();
    if !outcome.extra_columns.is_empty() {
        let extra = outcome.extra_columns.join(", ");
        notes.push(format!("{}: no definition has {extra}: `run` leaves them at their default", outcome.name));
    }
    notes
}

fn unknown_columns(reader: &Reader, definitions: &Definitions) -> Option<String> {
    let known = |name: &&String| definitions.registry.epochs().iter().any(|epoch| epoch.column(name).is_some());
    let unknown: Vec<&str> = reader.columns.iter().filter(|name| !known(name)).map(String::as_str).collect();
    (!unknown.is_empty()).then(|| {
        format!(
            "{} reads fields that no definition has: {}; `run` skips and counts them",
            reader.name,
            unknown.join(", ")
        )
    })
}

fn listed(numbers: &[u32]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl Feed {
    /// The epochs that its filter lets through; `None` when it filters by something else, or by nothing. What tells rows of
    /// broken messages apart is no filter.
    #[must_use]
    pub fn routed(&self) -> Option<Vec<u32>> {
        let (_, filter) = self.query.split_once(" WHERE ")?;
        let mut numbers = Vec::new();
        for part in filter.split(" AND ") {
            let part = part.trim().trim_matches(['(', ')']).replace('`', "");
            match part.split_once(" = ") {
                Some((SCHEMA_VERSION, number)) => numbers.push(number.parse().ok()?),
                _ if part.contains("_error") => {}
                _ => return None,
            }
        }
        (!numbers.is_empty()).then_some(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::topology::tests::topology, *};

    const WANTED: Wanted<'_> = Wanted { topic: "xtcp", group: "xtcp", copies_offsets: false, drops: false };

    fn objections(topology: &Topology, wanted: Wanted<'_>) -> String {
        topology.objections(&Definitions::embedded().expect("sound definitions"), wanted).join("\n")
    }

    #[test]
    fn what_is_otherwise_than_here_is_an_objection() {
        let good = topology();
        assert_eq!(objections(&good, WANTED), "");
        let said = objections(&good, Wanted { topic: "other", group: "mine", ..WANTED });
        assert!(said.contains("kafka_topic_list is `xtcp`, and kafka.topic is `other`"), "{said}");
        assert!(said.contains("kafka_group_name is `xtcp`, and kafka.group is `mine`: set the same, or"), "{said}");
        let copied = Wanted { group: "mine", copies_offsets: true, ..WANTED };
        assert_eq!(objections(&good, copied), "");
        let said = objections(&good, Wanted { copies_offsets: true, ..WANTED });
        assert!(said.contains("there is nothing to copy"), "{said}");
        let mut foreign = good.clone();
        foreign.feeds[0].target = "elsewhere".to_owned();
        foreign.readers.push(foreign.readers[0].clone());
        let said = objections(&foreign, WANTED);
        assert!(said.contains("several readers") && said.contains("writes into `elsewhere`"), "{said}");
    }

    #[test]
    fn a_reader_that_could_not_be_made_again_is_not_dropped() {
        let mut secret = topology();
        secret.readers[0].create.push_str(" SETTINGS kafka_sasl_password = '[HIDDEN]'");
        assert_eq!(objections(&secret, WANTED), "");
        assert!(objections(&secret, Wanted { drops: true, ..WANTED }).contains("detach it instead"));
    }

    #[test]
    fn a_filter_that_is_no_epoch_is_told() {
        let routed = |filter: &str| {
            let mut feed = topology().feeds[0].clone();
            feed.query = format!("SELECT * FROM d.r{filter}");
            feed.routed()
        };
        assert_eq!(routed(" WHERE (length(_error) = 0) AND (schema_version = 2)"), Some(vec![2]));
        assert_eq!(routed(" WHERE schema_version = 1"), Some(vec![1]));
        for other in ["", " WHERE length(_error) = 0", " WHERE (schema_version = 2) AND (hostname != 'x')"] {
            assert_eq!(routed(other), None, "{other}");
        }
    }

    #[test]
    fn what_will_be_otherwise_is_noted() {
        let definitions = Definitions::embedded().expect("sound definitions");
        let report = Report::new("1", "d");
        let mut topology = topology();
        topology.readers[0].columns.push("of_nobody".to_owned());
        topology.feeds[0].query = "SELECT * FROM d.r".to_owned();
        let notes = topology.notes(&definitions, &report).join("\n");
        assert!(notes.contains("r reads fields that no definition has: of_nobody"), "{notes}");
        assert!(notes.contains("v isn't filtered by `schema_version = 2` alone"), "{notes}");
        assert!(notes.contains("no view writes records of epoch 1: they were dropped"), "{notes}");
    }
}
