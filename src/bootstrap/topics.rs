//! Kafka topics: created when they are absent, never altered.

use std::{collections::BTreeSet, future::Future};

use super::{
    definitions::{Body, Definitions},
    manifest::{NameSource, Parameter, known_parameter},
    parameters::Parameters,
};
use crate::tree::{At, Fields, File, Node, Report, Value};

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
        let place = fields.place().clone();
        let name = fields.optional_text("name", report);
        let parameter = fields.optional_text("parameter", report);
        let partitions = fields.number("partitions", report).and_then(|n| positive(&n, report));
        let replication = fields.number("replication", report).and_then(|n| positive(&n, report));
        let config = fields.entries("config", report);
        let config = config.into_iter().filter_map(|(key, node)| Some((key.value, text(node, report)?))).collect();
        fields.finish(report);
        let name = match (name, parameter) {
            (Some(name), None) => NameSource::Fixed(name.value),
            (None, Some(parameter)) => {
                known_parameter(&parameter, parameters, report);
                NameSource::Parameter(parameter.value)
            }
            _ => {
                report.add(&place, "either `name` or `parameter` has to be there");
                return None;
            }
        };
        Some(Self { name, partitions: partitions?, replication: replication?, config })
    }

    /// The topic as it is created on a cluster of that many brokers.
    #[must_use]
    pub fn on(&self, brokers: usize, parameters: &Parameters) -> NewTopic {
        let brokers = i32::try_from(brokers).unwrap_or(i32::MAX).max(1);
        NewTopic {
            name: parameters.name(&self.name).to_owned(),
            partitions: self.partitions,
            replication: self.replication.min(brokers),
            config: self.config.clone(),
        }
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
