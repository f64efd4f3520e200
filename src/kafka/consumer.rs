//! The consumer and the thread that serves its group.

use std::{
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use rdkafka::{
    Message as _,
    consumer::{BaseConsumer, Consumer as _},
    error::KafkaError,
};

use super::{
    Error, Listener, Offsets, client,
    context::{Group, Plain},
    flow::Flow,
};
use crate::config;

/// How long the thread waits for the group's next event before it looks who may fetch, and whether to stop.
const POLL: Duration = Duration::from_millis(50);

/// What a consumer is told besides the configuration.
#[derive(Debug, Clone, Copy)]
pub struct ConsumerOptions {
    /// Partitions of the topic: the memory of the queues is shared out by it.
    pub partitions: usize,
    /// Whether queues tell when a partition has been read to its end.
    pub report_ends: bool,
}

/// A member of the group. Its thread runs until [`Consumer::leave`].
pub struct Consumer {
    offsets: Offsets,
    stop: Arc<AtomicBool>,
    closed: mpsc::Receiver<()>,
}

impl Consumer {
    /// Joins the group, which may happen well after the call returns.
    ///
    /// # Errors
    /// The properties are not valid, or no thread can be had. Brokers that are away are no error.
    pub fn join(kafka: &config::Kafka, options: ConsumerOptions, listener: Box<dyn Listener>) -> Result<Self, Error> {
        let failed = |what: &str, error: &KafkaError| Error::new(what, &*kafka.brokers, error);
        let topic: Arc<str> = kafka.topic.as_str().into();
        let properties = client::consumer(kafka, options.partitions, options.report_ends);
        let group = Group {
            plain: Plain::default(),
            topic: topic.clone(),
            brokers: kafka.brokers.as_str().into(),
            listener,
            flow: Flow::new(client::QUEUES_BYTES as u64, client::queue_bytes(&properties)),
            again: Mutex::default(),
            rejoin: AtomicBool::default(),
            tells_all: properties.get("group.protocol") == Some("consumer"),
            consumer: OnceLock::new(),
        };
        let consumer: BaseConsumer<Group> =
            properties.create_with_context(group).map_err(|error| failed("consumer", &error))?;
        let consumer = Arc::new(consumer);
        let _ = consumer.context().consumer.set(Arc::downgrade(&consumer));
        consumer.subscribe(&[&*topic]).map_err(|error| failed("subscription", &error))?;

        let offsets = Offsets::new(Arc::downgrade(&consumer), topic, &kafka.brokers);
        let stop = Arc::new(AtomicBool::new(false));
        let (left, closed) = mpsc::channel();
        let stopped = stop.clone();
        thread::Builder::new()
            .name("kafka-consumer".into())
            .spawn(move || {
                serve(&consumer, &stopped);
                // Leaves the group, revoking what is still owned.
                drop(consumer);
                drop(left);
            })
            .map_err(|error| Error::other("consumer", &*kafka.brokers, error.to_string()))?;
        Ok(Self { offsets, stop, closed })
    }

    /// The group's offsets.
    #[must_use]
    pub fn offsets(&self) -> Offsets {
        self.offsets.clone()
    }

    /// Leaves the group, waiting for its answer for at most `patience`. Partitions that are still owned are revoked on
    /// the way.
    pub fn leave(self, patience: Duration) {
        self.stop.store(true, Ordering::Release);
        let _ = self.closed.recv_timeout(patience);
    }
}

fn serve(consumer: &BaseConsumer<Group>, stop: &AtomicBool) {
    let group = consumer.context();
    let listener = &group.listener;
    while !stop.load(Ordering::Acquire) {
        if let Err(error) = group.flow.step(consumer, &group.topic) {
            listener.fatal(Error::new("pause", &*group.brokers, &error));
            break;
        }
        match consumer.poll(POLL) {
            // Nothing of the group's waits to be heard: what is done now is no answer to it.
            None => {
                if let Err(error) = group.retake(consumer).and_then(|()| group.rejoin(consumer)) {
                    listener.fatal(Error::new("partitions", &*group.brokers, &error));
                    break;
                }
            }
            Some(Err(KafkaError::PartitionEOF(_))) => {}
            Some(Err(error @ KafkaError::MessageConsumptionFatal(_))) => {
                listener.fatal(Error::new("consumer", &*group.brokers, &error));
                break;
            }
            Some(Err(error)) => {
                let error = Error::new("consumer", &*group.brokers, &error).because(group.plain.reason());
                listener.trouble(error);
            }
            Some(Ok(message)) => {
                // Every partition has a queue of its own. A value that comes past it would leave a gap that no lane
                // can know of.
                let what = format!("partition {} offset {}", message.partition(), message.offset());
                listener.fatal(Error::other(what, &*group.brokers, "came outside of its partition's queue"));
                break;
            }
        }
    }
}
