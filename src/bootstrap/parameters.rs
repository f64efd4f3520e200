//! What a deployment decided, by the manifest's names.

use std::collections::BTreeMap;

use super::manifest::{Manifest, NameSource};
use crate::{config::Config, tree::Report};

/// The settings that a manifest's parameter can be supplied by.
type Supply = (&'static str, fn(&Config) -> String);

const SUPPLIES: &[Supply] = &[
    ("XTCP_INGEST_CLICKHOUSE_DATABASE", |config| config.clickhouse.database.clone()),
    ("XTCP_INGEST_RETENTION_DAYS", |config| config.retention_days.to_string()),
    ("XTCP_INGEST_ERRORS_RETENTION_DAYS", |config| config.errors_retention_days.to_string()),
    ("XTCP_INGEST_KAFKA_TOPIC", |config| config.kafka.topic.clone()),
    ("XTCP_INGEST_KAFKA_DEAD_LETTER_TOPIC", |config| config.dead_letter_topic.clone()),
];

/// Values of the manifest's parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameters {
    values: BTreeMap<String, String>,
}

impl Parameters {
    /// The values that a configuration supplies.
    #[must_use]
    pub fn of(config: &Config, manifest: &Manifest) -> Self {
        Self::supplied(manifest, |setting| {
            SUPPLIES.iter().find(|(name, _)| *name == setting).map(|(_, value)| value(config))
        })
    }

    /// The values that `supply` has for a setting, and the defaults for the rest.
    #[must_use]
    pub fn supplied(manifest: &Manifest, supply: impl Fn(&str) -> Option<String>) -> Self {
        let value = |p: &super::manifest::Parameter| supply(&p.setting.value).unwrap_or_else(|| p.default.clone());
        Self { values: manifest.parameters.iter().map(|p| (p.name.value.clone(), value(p))).collect() }
    }

    /// The value of a parameter; definitions that name another one are refused when they are read.
    ///
    /// # Panics
    /// When the manifest doesn't declare it.
    #[must_use]
    pub fn get(&self, name: &str) -> &str {
        self.values.get(name).unwrap_or_else(|| panic!("the manifest declares no parameter `{name}`"))
    }

    /// The name that a source stands for.
    #[must_use]
    pub fn name<'a>(&'a self, source: &'a NameSource) -> &'a str {
        match source {
            NameSource::Fixed(name) => name,
            NameSource::Parameter(parameter) => self.get(parameter),
        }
    }
}

/// Reports parameters whose setting this release doesn't have: they could never be set.
pub(super) fn check(manifest: &Manifest, report: &mut Report) {
    for parameter in &manifest.parameters {
        if !SUPPLIES.iter().any(|(setting, _)| *setting == parameter.setting.value) {
            let known = SUPPLIES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            let text = format!("no setting `{}`; settings that supply one: {known}", parameter.setting.value);
            report.add(&parameter.setting.place, text);
        }
    }
}
