//! The groups of a takeover: the reader's, and the one that goes on.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use super::{
    Failure,
    migrate_adopt::{AdoptError, Work, failed},
};
use crate::{config, kafka::Group};

/// How often the group is looked at.
const POLL: Duration = Duration::from_millis(500);

impl Work<'_> {
    pub(super) async fn partitions(&self) -> Result<Vec<i32>, Failure> {
        let topic = &self.kafka().topic;
        let partitions = self.tools.admin.partitions(topic).await.map_err(|error| failed(&error))?;
        partitions.ok_or_else(|| failed(&AdoptError::NoTopic(topic.clone())))
    }

    /// A group as others left it.
    pub(super) fn group(&self, name: &str) -> Result<Group, Failure> {
        Group::new(&config::Kafka { group: name.to_owned(), ..self.kafka().clone() }).map_err(|error| failed(&error))
    }

    /// The members of the reader's group, and what it has committed.
    pub(super) async fn group_stands(&self) -> Result<(usize, BTreeMap<i32, i64>), Failure> {
        let group = self.group(self.reader_group())?;
        let members = group.members().await.map_err(|error| failed(&error))?;
        let committed = group.committed(&self.kafka().topic, &self.partitions().await?).await;
        Ok((members, committed.map_err(|error| failed(&error))?))
    }

    /// Waits until nobody is in the reader's group and its offsets stand still for a while.
    pub(super) async fn stand_still(&self) -> Result<BTreeMap<i32, i64>, Failure> {
        let (begin, wait) = (Instant::now(), self.settle + self.tools.config.bootstrap.wait);
        let (mut last, mut since) = (None, Instant::now());
        loop {
            let (members, committed) = self.group_stands().await?;
            if members > 0 || last.as_ref() != Some(&committed) {
                since = Instant::now();
            } else if since.elapsed() >= self.settle {
                return Ok(committed);
            }
            last = Some(committed);
            if begin.elapsed() > wait {
                let group = self.reader_group().to_owned();
                return Err(failed(&AdoptError::Moving { group, members, seconds: wait.as_secs() })
                    .hint("stop whoever else reads in that group, then run the same command again"));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Gives the group of this service the offsets of the reader's.
    pub(super) async fn copy(&self, committed: &BTreeMap<i32, i64>) -> Result<(), Failure> {
        let kafka = self.kafka();
        let group = self.group(&kafka.group)?;
        let members = group.members().await.map_err(|error| failed(&error))?;
        let own = group.committed(&kafka.topic, &self.partitions().await?).await.map_err(|error| failed(&error))?;
        if members > 0 {
            let group = kafka.group.clone();
            return Err(
                failed(&AdoptError::Moving { group, members, seconds: 0 }).hint("stop `run`, then run this again")
            );
        }
        let other = own.iter().find(|(partition, has)| committed.get(partition) != Some(has));
        if let Some((partition, has)) = other {
            let copied = committed.get(partition).copied().unwrap_or(0);
            let own = AdoptError::OwnOffsets { group: kafka.group.clone(), partition: *partition, has: *has, copied };
            return Err(
                failed(&own).hint("give `kafka.group` a name that no group has, or remove that group's offsets")
            );
        }
        // Of a new group, the brokers may still be finding out who coordinates it.
        let begin = Instant::now();
        loop {
            match group.commit(&kafka.topic, committed).await {
                Ok(()) => return Ok(()),
                Err(error) if begin.elapsed() > self.tools.config.bootstrap.wait => return Err(failed(&error)),
                Err(_) => tokio::time::sleep(POLL).await,
            }
        }
    }
}
