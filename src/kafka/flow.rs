//! Lets partitions fetch and pauses them. Lives on the consumer's thread, which also serves the group: no partition comes
//! or goes while one is paused.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use rdkafka::{
    consumer::{BaseConsumer, Consumer as _},
    error::KafkaResult,
};

use super::{context::Group, list::list, meter::Meter, rebalance::End, turns::Turns};

/// The partitions of one consumer.
pub(super) struct Flow(Mutex<State>);

struct State {
    turns: Turns,
    meters: BTreeMap<i32, Arc<Meter>>,
}

impl Flow {
    /// All queues together within `limit` bytes, where each asks for more as long as it is below `queue` bytes.
    pub(super) fn new(limit: u64, queue: u64) -> Self {
        Self(Mutex::new(State { turns: Turns::new(limit, queue, Instant::now()), meters: BTreeMap::new() }))
    }

    /// Partitions come, with the meters of their queues: those that don't fit are paused before they fetch anything.
    ///
    /// # Errors
    /// librdkafka knows nothing of them.
    pub(super) fn assign(
        &self,
        consumer: &BaseConsumer<Group>,
        topic: &str,
        meters: Vec<(i32, Arc<Meter>)>,
    ) -> KafkaResult<()> {
        let mut state = self.state();
        let partitions: Vec<i32> = meters.iter().map(|(partition, _)| *partition).collect();
        let pause = state.turns.assigned(&partitions, Instant::now());
        state.meters.extend(meters);
        // librdkafka remembers a pause beyond the assignment that it was for.
        let fetch: Vec<i32> = partitions.into_iter().filter(|partition| !pause.contains(partition)).collect();
        resume(consumer, topic, &fetch)?;
        state.pause(consumer, topic, &pause)
    }

    /// Partitions go.
    pub(super) fn revoke(&self, partitions: &[i32]) {
        let mut state = self.state();
        state.turns.revoked(partitions);
        state.meters.retain(|partition, _| !partitions.contains(partition));
    }

    /// Looks at all queues, and pauses and resumes as is due. Called often.
    ///
    /// # Errors
    /// librdkafka knows nothing of a partition, or hands out a message of one that is paused.
    pub(super) fn step(&self, consumer: &BaseConsumer<Group>, topic: &str) -> KafkaResult<()> {
        let mut state = self.state();
        let State { turns, meters } = &mut *state;
        let change = turns
            .step(Instant::now(), |partition| meters.get(&partition).map(|meter| meter.look()).unwrap_or_default());
        state.pause(consumer, topic, &change.pause)?;
        resume(consumer, topic, &change.resume)
    }

    /// Learns from what librdkafka says of its queues. Gives how many partitions are paused.
    pub(super) fn learn(&self, ends: &[End]) -> usize {
        let mut state = self.state();
        ends.iter().for_each(|end| state.turns.queued(end.queued_bytes));
        state.turns.paused()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn pause(&self, consumer: &BaseConsumer<Group>, topic: &str, partitions: &[i32]) -> KafkaResult<()> {
        if partitions.is_empty() {
            return Ok(());
        }
        tracing::debug!(?partitions, "paused: the queues are full");
        let meters: Vec<&Meter> = partitions.iter().filter_map(|p| self.meters.get(p)).map(AsRef::as_ref).collect();
        let held: Vec<_> = meters.iter().map(|meter| meter.hold()).collect();
        consumer.pause(&list(topic, partitions))?;
        let purged = meters.iter().try_for_each(|meter| meter.purge());
        drop(held);
        purged
    }
}

fn resume(consumer: &BaseConsumer<Group>, topic: &str, partitions: &[i32]) -> KafkaResult<()> {
    if partitions.is_empty() {
        return Ok(());
    }
    tracing::debug!(?partitions, "fetched from now on");
    consumer.resume(&list(topic, partitions))
}
