//! Offsets of the group, written and read.

use std::{
    fmt,
    sync::{Arc, Weak},
    time::Duration,
};

use rdkafka::{
    Offset, TopicPartitionList,
    consumer::{BaseConsumer, CommitMode, Consumer as _},
};

use super::{Error, context::Group};

/// The group's offsets of one topic. Every call blocks until the group's coordinator has answered.
#[derive(Clone)]
pub struct Offsets {
    // Weak: the consumer leaves the group when its own thread lets go of it.
    consumer: Weak<BaseConsumer<Group>>,
    brokers: Arc<str>,
}

impl Offsets {
    pub(super) fn new(consumer: Weak<BaseConsumer<Group>>, brokers: &str) -> Self {
        Self { consumer, brokers: brokers.into() }
    }

    fn consumer(&self, what: &str) -> Result<Arc<BaseConsumer<Group>>, Error> {
        self.consumer.upgrade().ok_or_else(|| Error::other(what, &*self.brokers, "the consumer has left the group"))
    }

    /// Commits the offset after the last message that is done, for each of these partitions.
    ///
    /// # Errors
    /// The coordinator is away or refuses: nothing, or a part, has been committed.
    pub fn commit(&self, offsets: &[(i32, i64)]) -> Result<(), Error> {
        let consumer = self.consumer("commit")?;
        let group = consumer.context();
        let failed = |error| Error::new("commit", &*group.brokers, &error).because(group.plain.reason());
        let mut list = TopicPartitionList::with_capacity(offsets.len());
        for &(partition, offset) in offsets {
            list.add_partition_offset(&group.topic, partition, Offset::Offset(offset)).map_err(failed)?;
        }
        consumer.commit(&list, CommitMode::Sync).map_err(failed)?;
        // The call succeeds as a whole when the coordinator answered; each partition has an outcome of its own.
        list.elements().iter().try_for_each(|element| element.error()).map_err(failed)
    }

    /// What the group has committed for each of these partitions, whoever owns them; `None` where it has nothing.
    ///
    /// # Errors
    /// The coordinator is away or refuses.
    pub fn committed(&self, partitions: &[i32], timeout: Duration) -> Result<Vec<(i32, Option<i64>)>, Error> {
        let what = "read of the group's offsets";
        let consumer = self.consumer(what)?;
        let group = consumer.context();
        let failed = |error| Error::new(what, &*group.brokers, &error);
        let mut list = TopicPartitionList::with_capacity(partitions.len());
        for &partition in partitions {
            list.add_partition(&group.topic, partition);
        }
        let list =
            consumer.committed_offsets(list, timeout).map_err(|error| failed(error).because(group.plain.reason()))?;
        list.elements()
            .iter()
            .map(|element| {
                element.error().map_err(failed)?;
                Ok((element.partition(), offset(element.offset())))
            })
            .collect()
    }
}

impl fmt::Debug for Offsets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Offsets").finish_non_exhaustive()
    }
}

const fn offset(offset: Offset) -> Option<i64> {
    match offset {
        Offset::Offset(offset) => Some(offset),
        _ => None,
    }
}
