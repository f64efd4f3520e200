//! Where partitions begin and end.

use std::time::Duration;

use rdkafka::{
    consumer::{BaseConsumer, Consumer as _, ConsumerContext},
    error::KafkaResult,
    statistics,
};

use super::rebalance::End;

/// One partition's range of offsets at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watermarks {
    /// The partition.
    pub partition: i32,
    /// The first offset that is still there.
    pub low: i64,
    /// The offset after the last one.
    pub high: i64,
}

pub(super) fn fetch<C: ConsumerContext>(
    client: &BaseConsumer<C>,
    topic: &str,
    partitions: &[i32],
    timeout: Duration,
) -> KafkaResult<Vec<Watermarks>> {
    partitions
        .iter()
        .map(|&partition| {
            let (low, high) = client.fetch_watermarks(topic, partition, timeout)?;
            Ok(Watermarks { partition, low, high })
        })
        .collect()
}

/// The ends of those partitions that are read: librdkafka lists the others too, without values.
pub(super) fn ends(topic: &statistics::Topic) -> Vec<End> {
    topic
        .partitions
        .values()
        .filter(|partition| partition.partition >= 0 && partition.desired && partition.ls_offset >= 0)
        .map(|partition| End {
            partition: partition.partition,
            next: partition.ls_offset,
            queued_bytes: partition.fetchq_size,
        })
        .collect()
}
