//! librdkafka's callbacks: log lines, errors, statistics, rebalances.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use rdkafka::{
    ClientContext, Offset, Statistics, TopicPartitionList,
    config::RDKafkaLogLevel,
    consumer::{BaseConsumer, Consumer as _, ConsumerContext, RebalanceProtocol},
    error::{KafkaError, KafkaResult},
    message::DeliveryResult,
    producer::ProducerContext,
    types::{RDKafkaErrorCode, RDKafkaRespErr},
};

use super::{Error, Listener, Queue, Sight, flow::Flow, list::list, meter::Meter, watermarks};

/// What every client has: its log lines go to `tracing`, and the last reason that a connection gave is kept, because
/// the errors of calls don't carry it.
#[derive(Debug, Default, Clone)]
pub(super) struct Plain {
    reason: Arc<Mutex<Option<Reason>>>,
}

/// Why a connection failed.
#[derive(Debug, Clone)]
pub(super) struct Reason {
    pub(super) code: Option<RDKafkaErrorCode>,
    pub(super) text: String,
}

impl Plain {
    /// The reason of the last failure of a connection.
    pub(super) fn reason(&self) -> Option<Reason> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep(&self, code: Option<RDKafkaErrorCode>, reason: &str) {
        // That none is left says less than why the last one isn't there.
        if code != Some(RDKafkaErrorCode::AllBrokersDown) {
            let reason = Reason { code, text: reason.to_owned() };
            *self.reason.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
        }
    }
}

impl ClientContext for Plain {
    // Every failed attempt to connect is an "error" to librdkafka, several a second. What matters comes back from the
    // calls and is said once, so its own lines are for debugging.
    fn log(&self, level: RDKafkaLogLevel, facility: &str, line: &str) {
        match level {
            RDKafkaLogLevel::Emerg | RDKafkaLogLevel::Alert | RDKafkaLogLevel::Critical => {
                tracing::error!(target: "librdkafka", facility, "{line}");
            }
            _ => tracing::debug!(target: "librdkafka", facility, "{line}"),
        }
        // That a broker hangs up, on whoever doesn't speak the protocol of its port for instance, is no error to librdkafka,
        // which hands over those alone.
        if facility == "FAIL" && line.contains("Disconnected") {
            self.keep(None, line.split_once("]: ").map_or(line, |(_thread, text)| text));
        }
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(target: "librdkafka", %error, "{reason}");
        self.keep(error.rdkafka_error_code(), reason);
    }

    fn stats(&self, _: Statistics) {}
}

impl ConsumerContext for Plain {}

// Of a producer that sends no messages.
impl ProducerContext for Plain {
    type DeliveryOpaque = ();

    fn delivery(&self, _: &DeliveryResult<'_>, (): ()) {}
}

/// The consumer's context: hands the life of partitions to the listener.
pub(super) struct Group {
    pub(super) plain: Plain,
    pub(super) topic: Arc<str>,
    pub(super) brokers: Arc<str>,
    pub(super) listener: Box<dyn Listener>,
    /// Which partitions fetch.
    pub(super) flow: Flow,
    /// Partitions that are to be taken once more: see [`super::Offsets::retake`].
    pub(super) again: Mutex<BTreeSet<i32>>,
    /// The member is to leave and to join again: see [`super::Offsets::rejoin`].
    pub(super) rejoin: AtomicBool,
    /// The group tells of each change of hands, however short.
    pub(super) tells_all: bool,
    /// The consumer itself: a queue can only be split off through its `Arc`.
    pub(super) consumer: OnceLock<Weak<BaseConsumer<Self>>>,
}

impl Group {
    fn partitions(list: &TopicPartitionList) -> Vec<i32> {
        list.elements().iter().map(|element| element.partition()).collect()
    }

    fn assign(&self, consumer: &BaseConsumer<Self>, list: &mut TopicPartitionList) -> KafkaResult<()> {
        // Queues are split before the assignment takes effect: a value that arrived earlier would come through the
        // consumer's own queue, and its lane would never see it.
        let Some(shared) = self.consumer.get().and_then(Weak::upgrade) else { return Ok(()) };
        let mut queues = Vec::with_capacity(list.count());
        let mut meters = Vec::with_capacity(list.count());
        for partition in Self::partitions(list) {
            match shared.split_partition_queue(&self.topic, partition) {
                Some(queue) => {
                    let meter = Arc::new(Meter::default());
                    meters.push((partition, meter.clone()));
                    let queue = Queue::new(queue, meter, self.topic.clone(), self.brokers.clone());
                    queues.push((partition, queue));
                }
                None => {
                    let what = format!("queue of partition {partition}");
                    self.listener.fatal(Error::other(what, &*self.brokers, "librdkafka doesn't split it off"));
                    return Ok(());
                }
            }
        }
        for start in self.listener.assigned(queues) {
            if let Some(offset) = start.offset {
                list.set_partition_offset(&self.topic, start.partition, Offset::Offset(offset))?;
            }
        }
        self.flow.assign(consumer, &self.topic, meters)?;
        match consumer.rebalance_protocol() {
            RebalanceProtocol::Cooperative => consumer.incremental_assign(list),
            _ => consumer.assign(list),
        }
    }

    /// Lets go of partitions and takes them again, without the group: it has them as this member's all along.
    ///
    /// # Errors
    /// librdkafka knows nothing of a partition.
    pub(super) fn retake(&self, consumer: &BaseConsumer<Self>) -> KafkaResult<()> {
        let again = std::mem::take(&mut *self.again.lock().unwrap_or_else(PoisonError::into_inner));
        let is_cooperative = matches!(consumer.rebalance_protocol(), RebalanceProtocol::Cooperative);
        if again.is_empty() || self.tells_all || !is_cooperative {
            return Ok(());
        }
        let mut partitions = Self::partitions(&consumer.assignment()?);
        partitions.retain(|partition| again.contains(partition));
        if partitions.is_empty() {
            return Ok(());
        }
        tracing::info!(?partitions, "taken once more: they were another member's for a while");
        let mut list = list(&self.topic, &partitions);
        self.revoke(consumer, &list)?;
        self.assign(consumer, &mut list)
    }

    /// Leaves the group and joins it again, if that was asked for.
    ///
    /// # Errors
    /// librdkafka takes no subscription any more.
    pub(super) fn rejoin(&self, consumer: &BaseConsumer<Self>) -> KafkaResult<()> {
        if !self.rejoin.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        // A static member that ends stays a member; one that unsubscribes leaves. librdkafka joins again once it has left,
        // after the partitions were revoked by callback.
        consumer.unsubscribe();
        consumer.subscribe(&[&self.topic])
    }

    fn revoke(&self, consumer: &BaseConsumer<Self>, list: &TopicPartitionList) -> KafkaResult<()> {
        let partitions = Self::partitions(list);
        self.listener.revoked(&partitions, consumer.assignment_lost());
        self.flow.revoke(&partitions);
        match consumer.rebalance_protocol() {
            RebalanceProtocol::Cooperative => consumer.incremental_unassign(list),
            _ => consumer.unassign(),
        }
    }
}

impl ClientContext for Group {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, line: &str) {
        self.plain.log(level, facility, line);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.plain.error(error, reason);
    }

    fn stats(&self, statistics: Statistics) {
        let connected = statistics.brokers.values().any(|broker| broker.nodeid >= 0 && broker.state == "UP");
        let ends = statistics.topics.get(&*self.topic).map(watermarks::ends).unwrap_or_default();
        let paused = self.flow.learn(&ends);
        self.listener.sight(Sight { connected, ends, paused });
    }
}

impl ConsumerContext for Group {
    fn rebalance(&self, consumer: &BaseConsumer<Self>, event: RDKafkaRespErr, list: &mut TopicPartitionList) {
        let done = if event == RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS {
            self.assign(consumer, list)
        } else {
            self.revoke(consumer, list)
        };
        if let Err(error) = done {
            self.listener.fatal(Error::new("rebalance", &*self.brokers, &error));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broker_that_hangs_up_is_a_reason() {
        let plain = Plain::default();
        plain.log(RDKafkaLogLevel::Info, "FAIL", "[thrd:b:1/bootstrap]: b:1/bootstrap: Connect to it failed");
        plain.log(RDKafkaLogLevel::Info, "CONF", "[thrd:app]: Disconnected");
        assert!(plain.reason().is_none());
        plain.log(RDKafkaLogLevel::Info, "FAIL", "[thrd:b:1/bootstrap]: b:1/bootstrap: Disconnected (after 1ms)");
        let reason = plain.reason().expect("it was told");
        assert_eq!((reason.code, reason.text.as_str()), (None, "b:1/bootstrap: Disconnected (after 1ms)"));
    }
}
