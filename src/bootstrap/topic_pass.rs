//! The topics of a pass: created when they are absent, compared when they are there, never altered.

use std::{
    collections::BTreeSet,
    convert::identity,
    time::{Duration, Instant},
};

use tokio::time::sleep;
use tracing::{info, warn};

use super::{
    error::Error,
    manifest::Kind,
    outcome::{Action, Outcome},
    pass::Controller,
    patience::Patience,
    report::Report,
    topics::{NewTopic, Role, TopicDefinition, Topics, TopicsError},
};

/// How long a created topic may take to show up in the broker's answers.
const TOPIC_SHOWS: Duration = Duration::from_secs(15);

const OFF: &str = "bootstrap.topics is off";

impl<T: Topics> Controller<'_, T> {
    /// Waits for Kafka, and brings every topic about.
    pub(super) async fn all_topics(&self, report: &mut Report) -> Result<(), Error> {
        if !self.dials.topics {
            info!("{OFF}: no topic is looked at");
            report.topics_skipped = Some(OFF.to_owned());
            return Ok(());
        }
        if self.named_topics().next().is_none() {
            return Ok(());
        }
        let before = report.objects.len();
        let mut created = Vec::new();
        let mut patience = Patience::new("Kafka", self.dials.wait);
        loop {
            report.objects.truncate(before);
            report.topics_drift.clear();
            let existing = self.stop.or(patience.watch(self.topics.existing())).await?.map_err(Error::Kafka);
            let ended = match existing {
                Ok(existing) => self.round(report, &existing, &mut created).await,
                Err(error) => Err(error),
            };
            match ended {
                Ok(()) => return Ok(()),
                Err(error) => {
                    let waited = self.stop.or(patience.after(error)).await;
                    if let Err(error) = waited.and_then(identity) {
                        report.topics_skipped = Some(error.to_string());
                        return Err(error);
                    }
                }
            }
        }
    }

    /// The topics of this deployment: one without a name is none.
    fn named_topics(&self) -> impl Iterator<Item = (&str, &TopicDefinition)> {
        self.definitions.topics().filter(|(_, topic)| !self.parameters.name(&topic.name).is_empty())
    }

    /// What would come of the topics. A broker that doesn't answer is no fault of a plan.
    pub(super) async fn plan_topics(&self, report: &mut Report) {
        if !self.dials.topics {
            report.topics_skipped = Some(OFF.to_owned());
            return;
        }
        let asked = async { Ok((self.topics.existing().await?, self.topics.broker_count().await?)) };
        let (existing, brokers) = match asked.await {
            Ok(answers) => answers,
            Err(TopicsError { message, .. }) => {
                report.topics_skipped = Some(message);
                return;
            }
        };
        for (id, definition) in self.named_topics() {
            let topic = definition.on(brokers, self.parameters, &self.dials);
            let mut outcome = outcome(id, &topic);
            if existing.contains(&topic.name) {
                self.compare(&topic, report).await;
            } else {
                outcome.action = Action::Created;
            }
            report.objects.push(outcome);
        }
    }

    /// One attempt at every topic. One that fails doesn't keep the others from being tried.
    async fn round(
        &self,
        report: &mut Report,
        existing: &BTreeSet<String>,
        created: &mut Vec<String>,
    ) -> Result<(), Error> {
        // Without an answer there may be one broker alone; what is declared is never taken for granted.
        let brokers = self.topics.broker_count().await.unwrap_or(1);
        let mut missing = Vec::new();
        for (id, definition) in self.named_topics() {
            let topic = definition.on(brokers, self.parameters, &self.dials);
            let mut outcome = outcome(id, &topic);
            if existing.contains(&topic.name) {
                if created.contains(&topic.name) {
                    outcome.action = Action::Created;
                } else {
                    self.compare(&topic, report).await;
                }
            } else if let Err(source) = self.create(&topic, created).await {
                outcome.action = Action::Skipped;
                outcome.reason = Some(source.message.clone());
                self.failed(definition, &topic, source, &mut missing)?;
            } else {
                outcome.action = Action::Created;
                info!(object = id, name = topic.name, partitions = topic.partitions, "created");
            }
            report.objects.push(outcome);
        }
        if missing.is_empty() { Ok(()) } else { Err(Error::Topics(missing)) }
    }

    /// A topic to consume from that nobody will get by waiting fails the pass at once. A dead-letter topic is tried for the
    /// whole wait: policies and rights of managed brokers are often put in order while a service starts.
    fn failed(
        &self,
        definition: &TopicDefinition,
        topic: &NewTopic,
        source: TopicsError,
        missing: &mut Vec<String>,
    ) -> Result<(), Error> {
        if definition.role == Role::Landing && !source.retryable {
            return Err(Error::Topic { name: topic.name.clone(), source });
        }
        missing.push(format!("topic {} is missing: {source}", topic.name));
        Ok(())
    }

    async fn create(&self, topic: &NewTopic, created: &mut Vec<String>) -> Result<(), TopicsError> {
        self.topics.create(topic).await?;
        created.push(topic.name.clone());
        // Brokers acknowledge a topic before all of them know it.
        let start = Instant::now();
        while !self.topics.existing().await?.contains(&topic.name) {
            if start.elapsed() > TOPIC_SHOWS {
                let text = format!("it was created, yet no broker shows it after {} s", TOPIC_SHOWS.as_secs());
                return Err(TopicsError::passing(text));
            }
            sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }

    /// Reports where an existing topic is otherwise than declared. What can't be read is never taken for equal.
    async fn compare(&self, topic: &NewTopic, report: &mut Report) {
        let differences = match self.topics.shape(&topic.name).await {
            Ok(shape) => topic.differences(&shape),
            Err(error) => vec![format!("{}: drift unknown, its shape can't be read: {error}", topic.name)],
        };
        for difference in &differences {
            warn!("topic {difference}");
        }
        report.topics_drift.extend(differences);
    }
}

fn outcome(id: &str, topic: &NewTopic) -> Outcome {
    Outcome::unchanged(id, Kind::Topic, topic.name.clone(), topic.checksum())
}
