//! A producer for generated fleets: as fast as the broker takes them, in order, nothing lost in silence.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rdkafka::{
    ClientContext, Statistics,
    config::RDKafkaLogLevel,
    error::KafkaError,
    message::DeliveryResult,
    producer::{BaseRecord, Producer as _, ProducerContext, ThreadedProducer},
    types::RDKafkaErrorCode,
};

use super::{Error, client, context::Plain};
use crate::config;

/// How long a send waits when librdkafka's queue is full before it tries again.
const FULL: Duration = Duration::from_millis(5);

/// Sends values to one topic.
pub struct Producer {
    producer: ThreadedProducer<Deliveries>,
    deliveries: Deliveries,
    topic: String,
    brokers: String,
}

impl Producer {
    /// A producer that connects when it is first used.
    ///
    /// # Errors
    /// The properties are not valid.
    pub fn new(kafka: &config::Kafka) -> Result<Self, Error> {
        let deliveries = Deliveries::default();
        let mut properties = client::common(kafka);
        for (name, value) in [
            ("enable.idempotence", "true"),
            ("compression.type", "zstd"),
            ("linger.ms", "20"),
            ("message.max.bytes", "33554432"),
            ("queue.buffering.max.kbytes", "65536"),
        ] {
            if !kafka.properties.contains_key(name) {
                properties.set(name, value);
            }
        }
        let producer = properties
            .create_with_context(deliveries.clone())
            .map_err(|error| Error::new("producer", &*kafka.brokers, &error))?;
        Ok(Self { producer, deliveries, topic: kafka.topic.clone(), brokers: kafka.brokers.clone() })
    }

    /// Hands one value over, waiting while librdkafka's queue is full. `None` sends a null value; without a partition
    /// librdkafka chooses one.
    ///
    /// # Errors
    /// The value can't be sent at all, or an earlier one was given up.
    pub fn send(&self, partition: Option<i32>, value: Option<&[u8]>) -> Result<(), Error> {
        loop {
            self.deliveries.failure(&self.brokers)?;
            let mut record = BaseRecord::<(), [u8]>::to(&self.topic);
            if let Some(partition) = partition {
                record = record.partition(partition);
            }
            if let Some(value) = value {
                record = record.payload(value);
            }
            match self.producer.send(record) {
                Ok(()) => return Ok(()),
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), _)) => std::thread::sleep(FULL),
                Err((error, _)) => return Err(self.failed(&error)),
            }
        }
    }

    /// Waits until everything that was handed over has been acknowledged; says how many values that is in all.
    ///
    /// # Errors
    /// A value was given up, or some are still unacknowledged after `patience`.
    pub fn flush(&self, patience: Duration) -> Result<u64, Error> {
        self.producer.flush(patience).map_err(|error| self.failed(&error))?;
        self.deliveries.failure(&self.brokers)?;
        Ok(self.deliveries.delivered.load(Ordering::Acquire))
    }

    fn failed(&self, error: &KafkaError) -> Error {
        Error::new(format!("write to `{}`", self.topic), &*self.brokers, error).because(self.deliveries.plain.reason())
    }
}

impl fmt::Debug for Producer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("topic", &self.topic).finish_non_exhaustive()
    }
}

/// Counts what was acknowledged and keeps the first failure.
#[derive(Default, Clone)]
struct Deliveries {
    plain: Plain,
    delivered: Arc<AtomicU64>,
    failed: Arc<Mutex<Option<KafkaError>>>,
}

impl Deliveries {
    fn failure(&self, brokers: &str) -> Result<(), Error> {
        match &*self.failed.lock().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some(error) => Err(Error::new("write", brokers, error).because(self.plain.reason())),
        }
    }
}

impl ClientContext for Deliveries {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, line: &str) {
        self.plain.log(level, facility, line);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.plain.error(error, reason);
    }

    fn stats(&self, _: Statistics) {}
}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        match result {
            Ok(_) => {
                self.delivered.fetch_add(1, Ordering::AcqRel);
            }
            Err((error, _)) => {
                self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| error.clone());
            }
        }
    }
}
