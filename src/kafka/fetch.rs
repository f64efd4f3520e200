//! Messages read once more, beside the group: for a block whose rows have to be told one by one.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use rdkafka::{
    ClientConfig, Message as _, Offset, TopicPartitionList,
    consumer::{BaseConsumer, Consumer as _},
    error::KafkaError,
};

use super::{Error, client, context::Plain};
use crate::config;

/// How long a range may take to come.
const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(200);

/// A message that was read once more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Its offset.
    pub offset: i64,
    /// Its time stamp in milliseconds since 1970, if it has one.
    pub time_ms: Option<i64>,
    /// Its value; `None` for a null value.
    pub payload: Option<Vec<u8>>,
}

/// Reads ranges of a topic's partitions. Cheap to clone; each range has a connection of its own.
#[derive(Debug, Clone)]
pub struct Fetcher {
    properties: Arc<ClientConfig>,
    topic: Arc<str>,
    brokers: Arc<str>,
}

impl Fetcher {
    /// For the topic of this configuration. Nothing is sent yet.
    #[must_use]
    pub fn new(kafka: &config::Kafka) -> Self {
        let mut properties = client::common(kafka);
        // The same messages as the group's consumer sees.
        if properties.get("isolation.level").is_none() {
            properties.set("isolation.level", "read_committed");
        }
        // A reader needs a group's name, and is no member of it.
        properties
            .set("group.id", &kafka.group)
            .set("auto.offset.reset", "earliest")
            .set("enable.auto.commit", "false")
            .set("enable.partition.eof", "true")
            .remove("group.instance.id");
        Self {
            properties: Arc::new(properties),
            topic: kafka.topic.as_str().into(),
            brokers: kafka.brokers.as_str().into(),
        }
    }

    /// The messages of a partition from `first` on, before `next`, as far as they are still there. Blocks.
    ///
    /// # Errors
    /// The brokers are away, or slow.
    pub fn range(&self, partition: i32, first: i64, next: i64) -> Result<Vec<Fetched>, Error> {
        let what = || format!("partition {partition} from offset {first} to {next}");
        let plain = Plain::default();
        let failed = |error: &KafkaError| Error::new(what(), &*self.brokers, error).because(plain.reason());
        let consumer: BaseConsumer<Plain> =
            self.properties.create_with_context(plain.clone()).map_err(|error| failed(&error))?;
        let mut list = TopicPartitionList::with_capacity(1);
        list.add_partition_offset(&self.topic, partition, Offset::Offset(first)).map_err(|error| failed(&error))?;
        consumer.assign(&list).map_err(|error| failed(&error))?;
        let (begin, mut messages) = (Instant::now(), Vec::new());
        while begin.elapsed() < PATIENCE {
            match consumer.poll(POLL) {
                None => {}
                Some(Err(KafkaError::PartitionEOF(_))) => return Ok(messages),
                Some(Err(error)) => return Err(failed(&error)),
                Some(Ok(message)) if message.offset() >= next => return Ok(messages),
                Some(Ok(message)) => {
                    let (offset, time_ms) = (message.offset(), message.timestamp().to_millis());
                    messages.push(Fetched { offset, time_ms, payload: message.payload().map(<[u8]>::to_vec) });
                    if offset + 1 >= next {
                        return Ok(messages);
                    }
                }
            }
        }
        Err(Error::other(what(), &*self.brokers, format!("not read within {PATIENCE:?}")))
    }
}
