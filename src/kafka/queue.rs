//! The queue of one partition.

use std::{fmt, sync::Arc};

use rdkafka::{Message as _, consumer::base_consumer::PartitionQueue, error::KafkaError, message::BorrowedMessage};

use super::{Error, context::Group, meter::Meter};

/// Values of one partition, in the order of their offsets. Belongs to one thread at a time; must be dropped before its
/// partition is given back.
pub struct Queue {
    queue: Arc<PartitionQueue<Group>>,
    meter: Arc<Meter>,
    topic: Arc<str>,
    brokers: Arc<str>,
}

/// What a look into the queue found.
pub enum Polled<'a> {
    /// A value.
    Value(Value<'a>),
    /// Nothing at the moment.
    Empty,
    /// Nothing, and everything that the partition held a moment ago has been read. Only told if asked for.
    End,
    /// The partition can't be read at the moment; librdkafka goes on by itself.
    Failed(Error),
}

/// A message where librdkafka put it; its memory is held until this is dropped.
pub struct Value<'a>(BorrowedMessage<'a>);

impl Value<'_> {
    /// The offset.
    #[must_use]
    pub fn offset(&self) -> i64 {
        self.0.offset()
    }

    /// The time stamp in milliseconds since 1970.
    #[must_use]
    pub fn time_ms(&self) -> Option<i64> {
        self.0.timestamp().to_millis()
    }

    /// The bytes; `None` for a null value.
    #[must_use]
    pub fn payload(&self) -> Option<&[u8]> {
        self.0.payload()
    }
}

impl Queue {
    pub(super) fn new(mut queue: PartitionQueue<Group>, meter: Arc<Meter>, topic: Arc<str>, brokers: Arc<str>) -> Self {
        let told = Arc::clone(&meter);
        queue.set_nonempty_callback(move || told.filled());
        let queue = Arc::new(queue);
        meter.of(Arc::downgrade(&queue));
        Self { queue, meter, topic, brokers }
    }

    /// Calls `wake` whenever the queue stops being empty, on a thread of librdkafka's that must not be held up. What
    /// the queue holds already is not told.
    pub fn on_nonempty(&mut self, wake: impl Fn() + Send + Sync + 'static) {
        self.meter.on_filled(wake);
    }

    /// Takes the next value without waiting for one.
    pub fn poll(&self) -> Polled<'_> {
        // While the partition is being paused there is nothing; what is thrown away with that comes again.
        let Some(_taking) = self.meter.take() else { return Polled::Empty };
        match self.queue.poll(std::time::Duration::ZERO) {
            None => {
                self.meter.emptied();
                Polled::Empty
            }
            Some(Ok(message)) => {
                self.meter.took(message.payload_len() as u64);
                Polled::Value(Value(message))
            }
            Some(Err(KafkaError::PartitionEOF(_))) => {
                self.meter.ended();
                Polled::End
            }
            Some(Err(error)) => Polled::Failed(Error::new(format!("read of `{}`", self.topic), &*self.brokers, &error)),
        }
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("topic", &self.topic).finish_non_exhaustive()
    }
}
