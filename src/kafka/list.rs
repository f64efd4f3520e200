//! Partitions of a topic, as librdkafka is told of them.

use rdkafka::TopicPartitionList;

/// These partitions, without an offset.
pub(super) fn list(topic: &str, partitions: &[i32]) -> TopicPartitionList {
    let mut list = TopicPartitionList::with_capacity(partitions.len());
    for partition in partitions {
        list.add_partition(topic, *partition);
    }
    list
}
