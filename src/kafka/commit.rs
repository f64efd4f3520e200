//! Offsets of the group, written and read.

use std::{
    fmt,
    sync::{Arc, PoisonError, Weak, atomic::Ordering},
    time::Duration,
};

use rdkafka::{
    Offset, TopicPartitionList,
    consumer::{BaseConsumer, CommitMode, Consumer as _},
    types::RDKafkaErrorCode,
};

use super::{Error, Membership, Watermarks, context::Group, identity, list::list, membership::membership, watermarks};
use crate::delivery::Entry;

/// How often a look is repeated while a transaction over the offsets is open.
const UNSTABLE: Duration = Duration::from_millis(100);

/// What may be the matter when the group doesn't say in time what it holds.
const UNREADABLE: &str = "no answer in time: a transaction over them is open, which brokers end within 20 s, or it hangs \
                          (docs/delivery.md, \"What is not promised\"), or the group's coordinator is away";

/// The group's offsets of one topic. Every call blocks until the group's coordinator has answered.
#[derive(Clone)]
pub struct Offsets {
    // Weak: the consumer leaves the group when its own thread lets go of it.
    consumer: Weak<BaseConsumer<Group>>,
    topic: Arc<str>,
    brokers: Arc<str>,
}

/// What there is of some partitions, beside what the group holds of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// The identity of the topic.
    pub topic_id: String,
    /// Where each partition begins and ends.
    pub watermarks: Vec<Watermarks>,
}

impl Offsets {
    pub(super) fn new(consumer: Weak<BaseConsumer<Group>>, topic: Arc<str>, brokers: &str) -> Self {
        Self { consumer, topic, brokers: brokers.into() }
    }

    pub(super) fn topic(&self) -> &str {
        &self.topic
    }

    /// Does something with the consumer, if it is still in the group.
    pub(super) fn with<T>(&self, call: impl FnOnce(&BaseConsumer<Group>) -> T) -> Result<T, Error> {
        Ok(call(&*self.consumer("commit")?))
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

    /// What the group holds for each of these partitions, whoever owns them; `None` where it has nothing. A transaction
    /// that is open over them is waited for, as long as the time lasts.
    ///
    /// # Errors
    /// The coordinator is away or refuses.
    pub fn committed(&self, partitions: &[i32], timeout: Duration) -> Result<Vec<(i32, Option<Entry>)>, Error> {
        let what = "read of the group's offsets";
        let consumer = self.consumer(what)?;
        let group = consumer.context();
        let failed = |error| Error::new(what, &*group.brokers, &error);
        let begin = std::time::Instant::now();
        loop {
            let list = list(&group.topic, partitions);
            let left = timeout.saturating_sub(begin.elapsed());
            let list = match consumer.committed_offsets(list, left) {
                Ok(list) => list,
                // librdkafka asks again as long as a transaction is open, and doesn't say so.
                Err(error) if error.rdkafka_error_code() == Some(RDKafkaErrorCode::OperationTimedOut) => {
                    return Err(Error::other(what, &*self.brokers, UNREADABLE));
                }
                Err(error) => return Err(failed(error).because(group.plain.reason())),
            };
            let elements = list.elements();
            let errors = || elements.iter().filter_map(|element| element.error().err());
            if errors().any(|error| error.rdkafka_error_code() == Some(RDKafkaErrorCode::UnstableOffsetCommit))
                && begin.elapsed() + UNSTABLE < timeout
            {
                std::thread::sleep(UNSTABLE);
                continue;
            }
            if let Some(error) = errors().next() {
                return Err(failed(error));
            }
            return Ok(entries(&list));
        }
    }

    /// Takes a partition once more that the group has as this member's, while its offset says that it was another's in
    /// between. A member that was frozen may miss that: the group gave the partition away, and back, before it asked.
    pub fn retake(&self, partition: i32) {
        if let Some(consumer) = self.consumer.upgrade() {
            consumer.context().again.lock().unwrap_or_else(PoisonError::into_inner).insert(partition);
        }
    }

    /// Has the consumer leave the group for good and join it again, so that the group divides up all partitions anew. Those
    /// that this member has are revoked on the way.
    pub fn rejoin(&self) {
        if let Some(consumer) = self.consumer.upgrade() {
            consumer.context().rejoin.store(true, Ordering::Release);
        }
    }

    /// What this member is in the group at the moment; `None` while it is none.
    #[must_use]
    pub fn membership(&self) -> Option<Membership> {
        membership(&*self.consumer.upgrade()?)
    }

    /// What there is of these partitions.
    ///
    /// # Errors
    /// A broker is away, or the topic is.
    pub fn survey(&self, partitions: &[i32], timeout: Duration) -> Result<Survey, Error> {
        let what = "look at the topic";
        let consumer = self.consumer(what)?;
        let failed = |error| Error::new(what, &*self.brokers, &error).because(consumer.context().plain.reason());
        let topic_id = identity::topic_id(consumer.client(), &self.topic, timeout).map_err(failed)?;
        let watermarks = watermarks::fetch(&consumer, &self.topic, partitions, timeout).map_err(failed)?;
        Ok(Survey { topic_id, watermarks })
    }
}

/// Offsets and texts of a list. rdkafka gives up on a text that isn't UTF-8, which anybody may have written.
fn entries(list: &TopicPartitionList) -> Vec<(i32, Option<Entry>)> {
    // SAFETY: the list owns its elements, `cnt` of them, and each its text; all of it lives as long as `list`.
    let raw = unsafe {
        let list = &*list.ptr();
        if list.elems.is_null() {
            &[]
        } else {
            std::slice::from_raw_parts(list.elems, usize::try_from(list.cnt).unwrap_or(0))
        }
    };
    let entry = |element: &rdkafka::bindings::rd_kafka_topic_partition_t| {
        let text = if element.metadata.is_null() {
            &[]
        } else {
            // SAFETY: as above.
            unsafe { std::slice::from_raw_parts(element.metadata.cast::<u8>(), element.metadata_size) }
        };
        let metadata = String::from_utf8_lossy(text).into_owned();
        (element.offset >= 0).then_some(Entry { offset: element.offset, metadata })
    };
    raw.iter().map(|element| (element.partition, entry(element))).collect()
}

impl fmt::Debug for Offsets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Offsets").finish_non_exhaustive()
    }
}
