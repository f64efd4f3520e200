//! The cluster as the bootstrap sees it.

use std::collections::BTreeSet;

use super::{Admin, Error};
use crate::bootstrap::{NewTopic, TopicShape, Topics, TopicsError};

impl Topics for Admin {
    async fn existing(&self) -> Result<BTreeSet<String>, TopicsError> {
        Ok(self.topics().await?)
    }

    async fn create(&self, topic: &NewTopic) -> Result<(), TopicsError> {
        self.create_topic(&topic.name, topic.partitions, topic.replication, &topic.config).await?;
        Ok(())
    }

    async fn shape(&self, name: &str) -> Result<TopicShape, TopicsError> {
        let (partitions, replication) = self.layout(name).await?;
        Ok(TopicShape { partitions, replication, config: self.topic_config(name).await? })
    }

    async fn broker_count(&self) -> Result<usize, TopicsError> {
        Ok(self.brokers().await?)
    }
}

impl From<Error> for TopicsError {
    fn from(error: Error) -> Self {
        if error.is_away() { Self::passing(error.to_string()) } else { Self::lasting(error.to_string()) }
    }
}
