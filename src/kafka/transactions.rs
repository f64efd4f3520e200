//! Offsets and what is kept beside them, written by a transaction that only a present member of the group can make.
//!
//! A plain commit is stamped by librdkafka with whatever generation it knows when it is sent, so one of a process that was
//! frozen, lost its partitions and joined again passes, and sets the new owner back. A transaction carries a stamp of its
//! own.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rand::Rng as _;
use rdkafka::{
    ClientConfig, Offset, TopicPartitionList,
    consumer::ConsumerGroupMetadata,
    error::{KafkaError, KafkaResult},
    producer::{BaseProducer, Producer as _},
};

use super::{Error, Offsets, client, context::Plain, membership};
use crate::{config, delivery::Entry};

/// How long the cluster keeps a transaction that nobody ends. Until then a new owner can't read the offset.
pub const LAPSE: Duration = Duration::from_secs(10);
/// How long each step may take.
const STEP: Duration = Duration::from_secs(10);
/// How long it may take to end what an earlier life of the producer left.
const BEGIN: Duration = Duration::from_secs(20);

/// Writes the group's offsets in transactions. Every call blocks until the coordinators have answered.
pub struct Transactions {
    offsets: Offsets,
    properties: ClientConfig,
    plain: Plain,
    /// `None` until the first write, and after one that failed.
    producer: Mutex<Option<BaseProducer<Plain>>>,
    brokers: Arc<str>,
}

impl Transactions {
    /// For the group of these offsets. Nothing is sent yet.
    #[must_use]
    pub fn new(kafka: &config::Kafka, offsets: Offsets) -> Self {
        let mut properties = client::common(kafka);
        // Another one for each process, or a new process would fence one that is still at work.
        let host = gethostname::gethostname();
        let id = format!("{}-{}-{:x}", kafka.group, host.to_string_lossy(), rand::rng().random::<u64>());
        properties
            .set("transactional.id", id)
            .set("transaction.timeout.ms", LAPSE.as_millis().to_string())
            // Right after a transaction the next one is told to come again: the default of 100 ms would be the pace.
            .set("retry.backoff.ms", "10");
        let brokers = kafka.brokers.as_str().into();
        Self { offsets, properties, plain: Plain::default(), producer: Mutex::default(), brokers }
    }

    /// The group's offsets, to be read.
    #[must_use]
    pub fn offsets(&self) -> &Offsets {
        &self.offsets
    }

    /// Writes all of it or nothing. `holds` is asked once the stamp is taken: whether all of these partitions are still
    /// this process's.
    ///
    /// # Errors
    /// Whether it was written isn't known, unless the error says that it is not.
    pub fn commit(&self, entries: &[(i32, Entry)], holds: &dyn Fn() -> bool) -> Result<(), Error> {
        let mut slot = self.producer.lock().unwrap_or_else(PoisonError::into_inner);
        let producer = match slot.take() {
            Some(producer) => producer,
            None => self.begin().map_err(|error| self.failed("start of a producer", &error))?,
        };
        let list = self.list(entries).map_err(|error| self.failed("commit", &error))?;
        // As late as can be: what takes time comes before.
        let stamp = self.offsets.with(membership::stamp)?;
        let Some(stamp) = stamp.filter(|_| holds()) else {
            *slot = Some(producer);
            let cause = "this process is no member of the group at the moment, or the partition went to another";
            return Err(Error::other("commit", &*self.brokers, cause));
        };
        match transaction(&producer, &list, &stamp) {
            Ok(()) => {
                *slot = Some(producer);
                Ok(())
            }
            Err(error) => {
                // The offsets can't be read until it has ended. The next write is another producer's, of a higher epoch:
                // what this one sent may still be on its way, and must not come into a later transaction.
                let has_ended = !is_fatal(&error) && producer.abort_transaction(STEP).is_ok();
                drop(producer);
                if !has_ended {
                    *slot = self.begin().ok();
                }
                Err(self.failed("commit", &error))
            }
        }
    }

    fn begin(&self) -> KafkaResult<BaseProducer<Plain>> {
        let producer: BaseProducer<Plain> = self.properties.create_with_context(self.plain.clone())?;
        producer.init_transactions(BEGIN)?;
        Ok(producer)
    }

    fn list(&self, entries: &[(i32, Entry)]) -> KafkaResult<TopicPartitionList> {
        let mut list = TopicPartitionList::with_capacity(entries.len());
        for (partition, entry) in entries {
            let mut element = list.add_partition(self.offsets.topic(), *partition);
            element.set_offset(Offset::Offset(entry.offset))?;
            element.set_metadata(&entry.metadata);
        }
        Ok(list)
    }

    fn failed(&self, what: &str, error: &KafkaError) -> Error {
        Error::new(what, &*self.brokers, error).because(self.plain.reason())
    }
}

fn transaction(
    producer: &BaseProducer<Plain>,
    list: &TopicPartitionList,
    stamp: &ConsumerGroupMetadata,
) -> KafkaResult<()> {
    producer.begin_transaction()?;
    producer.send_offsets_to_transaction(list, stamp, STEP)?;
    producer.commit_transaction(STEP)
}

fn is_fatal(error: &KafkaError) -> bool {
    matches!(error, KafkaError::Transaction(error) if error.is_fatal())
}

impl fmt::Debug for Transactions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transactions").field("brokers", &self.brokers).finish_non_exhaustive()
    }
}
