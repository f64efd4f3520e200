//! Kafka topics: created when they are absent, never altered.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
};

use super::{
    checksum,
    definitions::{Body, Definitions},
    manifest::{NameSource, Parameter},
    parameters::Parameters,
};
use crate::{
    config,
    tree::{At, Fields, File, Node, Report, Value},
};

/// A broker's fault. `Display` is what the broker or its client said.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TopicsError {
    /// What was said.
    pub message: String,
    /// Whether it may pass by itself: no connection, no leader, a time-out. Rights and policies don't.
    pub retryable: bool,
}

impl TopicsError {
    /// A fault that may pass.
    #[must_use]
    pub fn passing(message: impl Into<String>) -> Self {
        Self { message: message.into(), retryable: true }
    }

    /// A fault that needs a person.
    #[must_use]
    pub fn lasting(message: impl Into<String>) -> Self {
        Self { message: message.into(), retryable: false }
    }
}

/// What the bootstrap needs of Kafka.
pub trait Topics: Sync {
    /// The names of all topics. Must not create any by asking.
    fn existing(&self) -> impl Future<Output = Result<BTreeSet<String>, TopicsError>> + Send;
    /// Creates a topic and returns when the broker has acknowledged it. One that is there already is no error.
    fn create(&self, topic: &NewTopic) -> impl Future<Output = Result<(), TopicsError>> + Send;
    /// The number of brokers.
    fn broker_count(&self) -> impl Future<Output = Result<usize, TopicsError>> + Send;
    /// How a topic is laid out, with the configuration as the broker reports it.
    fn shape(&self, name: &str) -> impl Future<Output = Result<TopicShape, TopicsError>> + Send;
}

/// A topic as the broker has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TopicShape {
    /// The number of partitions.
    pub partitions: i32,
    /// The number of replicas of each.
    pub replication: i32,
    /// Its configuration, by Kafka's own names.
    pub config: BTreeMap<String, String>,
}

/// What a topic is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// What is consumed.
    Landing,
    /// What could not be placed.
    DeadLetter,
}

/// A topic to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTopic {
    /// Its name.
    pub name: String,
    /// The number of partitions.
    pub partitions: i32,
    /// The number of replicas of each, no more than there are brokers.
    pub replication: i32,
    /// Its configuration, by Kafka's own names.
    pub config: Vec<(String, String)>,
}

/// A topic as its file defines it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicDefinition {
    /// What it is for.
    pub role: Role,
    /// Where its name comes from.
    pub name: NameSource,
    /// The number of partitions.
    pub partitions: i32,
    /// The number of replicas that is wished for.
    pub replication: i32,
    /// Its configuration, by Kafka's own names.
    pub config: Vec<(String, String)>,
}

impl TopicDefinition {
    /// Reads a definition file; every problem is reported.
    pub(super) fn read(file: &File, parameters: &[Parameter], report: &mut Report) -> Option<Self> {
        let root = Node::parse(file, report)?;
        let mut outer = Fields::of(root.root(file), report)?;
        let topic = outer.required("topic", report);
        outer.finish(report);
        let mut fields = Fields::of(topic?, report)?;
        let role = fields.text("role", report).and_then(|text| role(&text, report));
        let name = NameSource::read(&mut fields, parameters, report);
        let partitions = fields.number("partitions", report).and_then(|n| positive(&n, report));
        let replication = fields.number("replication", report).and_then(|n| positive(&n, report));
        let config = fields.entries("config", report);
        let config = config.into_iter().filter_map(|(key, node)| Some((key.value, text(node, report)?))).collect();
        fields.finish(report);
        Some(Self { role: role?, name: name?, partitions: partitions?, replication: replication?, config })
    }

    /// The topic as it is created on a cluster of that many brokers.
    #[must_use]
    pub fn on(&self, brokers: usize, parameters: &Parameters, dials: &config::Bootstrap) -> NewTopic {
        let brokers = i32::try_from(brokers).unwrap_or(i32::MAX).max(1);
        let mut config = self.config.clone();
        if let Some(bytes) = dials.topic_max_message_bytes {
            config.retain(|(key, _)| key != "max.message.bytes");
            config.push(("max.message.bytes".to_owned(), bytes.to_string()));
        }
        // Off leaves the key out: a broker's own default is not to be overruled.
        if dials.tiered_storage && self.role == Role::Landing {
            config.push(("remote.storage.enable".to_owned(), "true".to_owned()));
        }
        config.sort();
        NewTopic {
            name: parameters.name(&self.name).to_owned(),
            partitions: self.partitions,
            replication: self.replication.min(brokers),
            config,
        }
    }
}

impl NewTopic {
    /// What is declared, as a number.
    #[must_use]
    pub fn checksum(&self) -> String {
        let config: Vec<String> = self.config.iter().map(|(key, value)| format!("{key}={value}")).collect();
        checksum::of(&format!("{} {} {} {}", self.name, self.partitions, self.replication, config.join(" ")))
    }

    /// Where a topic that exists is otherwise. Only keys that are declared are looked at.
    #[must_use]
    pub fn differences(&self, live: &TopicShape) -> Vec<String> {
        let name = &self.name;
        let mut differences = Vec::new();
        if live.replication != self.replication {
            differences.push(format!(
                "{name}: replication factor is {}; declared is {} (partitions have to be reassigned)",
                live.replication, self.replication
            ));
        }
        let (has, wanted) = (live.partitions, self.partitions);
        if has > wanted {
            differences.push(format!("{name}: has {has} partitions; declared are {wanted} (they can't be taken away)"));
        } else if has < wanted {
            differences.push(format!("{name}: has {has} partitions; declared are {wanted}"));
        }
        for (key, wanted) in &self.config {
            let has = live.config.get(key).map_or("nothing", String::as_str);
            if has != wanted {
                differences.push(format!("{name}: {key} is {has}; declared is {wanted}"));
            }
        }
        differences
    }
}

impl Definitions {
    /// The topics with their ids, in the order of the manifest.
    pub fn topics(&self) -> impl Iterator<Item = (&str, &TopicDefinition)> {
        self.objects.iter().filter_map(|object| match &object.body {
            Body::Topic(topic) => Some((object.entry.id.value.as_str(), topic)),
            _ => None,
        })
    }
}

fn role(text: &At<String>, report: &mut Report) -> Option<Role> {
    match text.value.as_str() {
        "landing" => Some(Role::Landing),
        "dead_letter" => Some(Role::DeadLetter),
        other => {
            report.add(&text.place, format!("read `{other}`; landing and dead_letter are allowed"));
            None
        }
    }
}

fn positive(number: &At<i32>, report: &mut Report) -> Option<i32> {
    if number.value < 1 {
        report.add(&number.place, format!("read `{}`; 1 or more is allowed", number.value));
        return None;
    }
    Some(number.value)
}

fn text(node: At<&Node>, report: &mut Report) -> Option<String> {
    match &node.value.value {
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => Some(node.text(report)?.value),
    }
}
