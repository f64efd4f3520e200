//! The consumer group as others left it: who is in it, and what it has committed.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use rdkafka::{
    Offset, TopicPartitionList,
    consumer::{BaseConsumer, CommitMode, Consumer as _},
    error::KafkaError,
};

use super::{Error, assignment, client, context::Plain, list::list, watermarks};
use crate::config;

/// How long one exchange with the cluster may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Looks at a group without becoming a member of it. Cheap to clone.
#[derive(Clone)]
pub struct Group {
    client: Arc<BaseConsumer<Plain>>,
    brokers: Arc<str>,
    name: Arc<str>,
}

impl Group {
    /// The configured group.
    ///
    /// # Errors
    /// The properties are not valid.
    pub fn new(kafka: &config::Kafka) -> Result<Self, Error> {
        let mut properties = client::common(kafka);
        // It looks on, and is nobody's twin.
        properties.set("group.id", &kafka.group).set("enable.auto.commit", "false").remove("group.instance.id");
        let client = properties
            .create_with_context(Plain::default())
            .map_err(|error| Error::new("client", &*kafka.brokers, &error))?;
        let (brokers, name) = (kafka.brokers.as_str().into(), kafka.group.as_str().into());
        Ok(Self { client: Arc::new(client), brokers, name })
    }

    /// How many members it has; none for a group that isn't there.
    ///
    /// # Errors
    /// No broker answers.
    pub async fn members(&self) -> Result<usize, Error> {
        let name = Arc::clone(&self.name);
        self.blocking("members of the group", move |client| {
            let groups = client.fetch_group_list(Some(&name), TIMEOUT)?;
            let own = groups.groups().iter().filter(|group| group.name() == &*name);
            Ok(own.map(|group| group.members().len()).sum())
        })
        .await
    }

    /// Which of these partitions no member has; `None` while the group is dividing them up, or isn't there. For groups
    /// of the classic protocol.
    ///
    /// # Errors
    /// No broker answers.
    pub async fn unowned(&self, topic: &str, partitions: BTreeSet<i32>) -> Result<Option<BTreeSet<i32>>, Error> {
        let (name, topic) = (Arc::clone(&self.name), topic.to_owned());
        self.blocking("owners of partitions", move |client| {
            let groups = client.fetch_group_list(Some(&name), TIMEOUT)?;
            let stable = groups.groups().iter().find(|group| group.name() == &*name && group.state() == "Stable");
            Ok(stable.and_then(|group| {
                group.members().iter().try_fold(partitions, |mut left, member| {
                    let owned = assignment::partitions(member.assignment()?, &topic)?;
                    left.retain(|partition| !owned.contains(partition));
                    Some(left)
                })
            }))
        })
        .await
    }

    /// What it has committed, by partition; partitions without an offset are left out.
    ///
    /// # Errors
    /// No broker answers.
    pub async fn committed(&self, topic: &str, partitions: &[i32]) -> Result<BTreeMap<i32, i64>, Error> {
        let list = list(topic, partitions);
        self.blocking("committed offsets", move |client| {
            let list = client.committed_offsets(list, TIMEOUT)?;
            let offset = |offset| if let Offset::Offset(offset) = offset { Some(offset) } else { None };
            Ok(list.elements().iter().filter_map(|e| Some((e.partition(), offset(e.offset())?))).collect())
        })
        .await
    }

    /// Commits offsets for it from outside, as long as it has no members.
    ///
    /// # Errors
    /// No broker answers, or the group has members.
    pub async fn commit(&self, topic: &str, offsets: &BTreeMap<i32, i64>) -> Result<(), Error> {
        let mut list = TopicPartitionList::new();
        for (partition, offset) in offsets {
            let offset = list.add_partition_offset(topic, *partition, Offset::Offset(*offset));
            offset.map_err(|error| Error::new("offsets to commit", &*self.brokers, &error))?;
        }
        self.blocking("offsets to commit", move |client| client.commit(&list, CommitMode::Sync)).await
    }

    /// Where partitions end: the offset after the last message of each.
    ///
    /// # Errors
    /// No broker answers.
    pub async fn ends(&self, topic: &str, partitions: &[i32]) -> Result<BTreeMap<i32, i64>, Error> {
        let (topic, partitions) = (topic.to_owned(), partitions.to_vec());
        self.blocking("ends of partitions", move |client| {
            let ends = watermarks::fetch(client, &topic, &partitions, TIMEOUT)?;
            Ok(ends.into_iter().map(|end| (end.partition, end.high)).collect())
        })
        .await
    }

    async fn blocking<R: Send + 'static>(
        &self,
        what: &'static str,
        ask: impl FnOnce(&BaseConsumer<Plain>) -> Result<R, KafkaError> + Send + 'static,
    ) -> Result<R, Error> {
        let client = Arc::clone(&self.client);
        let asked = tokio::task::spawn_blocking(move || ask(&client)).await;
        let answer = asked.expect("asking a broker doesn't panic");
        answer.map_err(|error| Error::new(what, &*self.brokers, &error))
    }
}
