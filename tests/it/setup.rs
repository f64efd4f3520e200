//! A database of its own, Kafka in memory, and the bootstrap on both.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use xtcp_ingest::{
    bootstrap::{
        self, Action, Controller, Definitions, Difference, Error, NewTopic, Parameters, Report, Timing, TopicShape,
        Topics, TopicsError,
    },
    config,
};

use crate::support::Database;

/// Kafka as far as the bootstrap sees it, in memory.
#[derive(Default)]
pub struct Memory {
    pub topics: Mutex<BTreeMap<String, NewTopic>>,
    /// What creating a topic is answered with, if it is refused.
    pub refusal: Mutex<Option<TopicsError>>,
    /// What asking for a shape is answered with, where it isn't what was created.
    pub shapes: Mutex<BTreeMap<String, Result<TopicShape, TopicsError>>>,
    /// The number of brokers; one when it isn't said.
    pub brokers: Mutex<Option<Result<usize, TopicsError>>>,
    /// Whether nobody answers.
    pub is_away: Mutex<bool>,
}

impl Topics for Memory {
    async fn existing(&self) -> Result<BTreeSet<String>, TopicsError> {
        if *self.is_away.lock().expect("no panic") {
            return Err(TopicsError::passing("127.0.0.1:9 refuses the connection"));
        }
        Ok(self.topics.lock().expect("no panic").keys().cloned().collect())
    }

    async fn create(&self, topic: &NewTopic) -> Result<(), TopicsError> {
        if let Some(refusal) = self.refusal.lock().expect("no panic").clone() {
            return Err(refusal);
        }
        self.topics.lock().expect("no panic").insert(topic.name.clone(), topic.clone());
        Ok(())
    }

    async fn broker_count(&self) -> Result<usize, TopicsError> {
        self.brokers.lock().expect("no panic").clone().unwrap_or(Ok(1))
    }

    async fn shape(&self, name: &str) -> Result<TopicShape, TopicsError> {
        if let Some(shape) = self.shapes.lock().expect("no panic").get(name) {
            return shape.clone();
        }
        let topics = self.topics.lock().expect("no panic");
        let topic = topics.get(name).ok_or_else(|| TopicsError::lasting("no such topic"))?;
        let config = topic.config.iter().cloned().collect();
        Ok(TopicShape { partitions: topic.partitions, replication: topic.replication, config })
    }
}

/// Everything is brought about.
pub fn all_on() -> config::Bootstrap {
    let platform = config::Platform::Single;
    config::Bootstrap { wait: Duration::from_secs(60), platform, ..config::Bootstrap::default() }
}

/// Nothing is.
pub fn all_off() -> config::Bootstrap {
    config::Bootstrap { tables: false, topics: false, wait: Duration::from_secs(2), ..all_on() }
}

/// The lease at a pace for tests. On a busy machine a claim may be acknowledged too late: it lapses soon, and is waited for.
pub const QUICK: Timing = Timing {
    settle: Duration::from_millis(500),
    poll: Duration::from_millis(50),
    length: Some(Duration::from_secs(20)),
};

pub struct Setup {
    pub database: Database,
    pub definitions: Definitions,
    pub parameters: Parameters,
    pub topics: Memory,
}

impl Setup {
    pub async fn new(test: &str) -> Self {
        Self::with(test, Definitions::embedded().expect("sound definitions")).await
    }

    pub async fn with(test: &str, definitions: Definitions) -> Self {
        let database = Database::new(test).await;
        let parameters = database.parameters(&definitions);
        Self { database, definitions, parameters, topics: Memory::default() }
    }

    pub fn controller(&self, dials: config::Bootstrap) -> Controller<'_, Memory> {
        let client = &self.database.client;
        Controller::new(client, &self.topics, &self.definitions, &self.parameters, dials).timing(QUICK)
    }

    pub async fn report(&self, dials: config::Bootstrap) -> Report {
        Arc::into_inner(self.controller(dials).pass().await).expect("nobody else has it")
    }

    pub async fn pass(&self, dials: config::Bootstrap) -> Result<Report, Error> {
        let mut report = self.report(dials).await;
        match report.error.take() {
            Some(error) => Err(error),
            None => Ok(report),
        }
    }

    pub async fn apply(&self, allow_drift: bool) -> Report {
        let report = self.controller(all_on()).allow_drift(allow_drift).pass().await;
        Arc::into_inner(report).expect("nobody else has it")
    }

    pub async fn plan(&self) -> Report {
        self.controller(all_on()).plan().await.expect("a plan")
    }

    pub async fn differences(&self) -> Vec<Difference> {
        match bootstrap::assert_declared(&self.database.client, &self.definitions, &self.parameters).await {
            Ok(()) => Vec::new(),
            Err(Error::NotAsDeclared(differences)) => differences,
            Err(error) => panic!("{error}"),
        }
    }
}

/// The ids that an action befell.
pub fn ids(report: &Report, action: Action) -> Vec<&str> {
    report.objects.iter().filter(|o| o.action == action).map(|o| o.id.as_str()).collect()
}

/// Fails unless a plan has nothing to do and nothing to refuse.
#[track_caller]
pub fn assert_empty(plan: &Report) {
    let left: Vec<_> = plan.objects.iter().filter(|o| o.action != Action::Unchanged).collect();
    assert!(left.is_empty(), "{left:#?}");
}
