//! librdkafka's properties: ours, then the operator's.

use std::env;

use rdkafka::{ClientConfig, config::RDKafkaLogLevel};

use crate::config;

/// The largest message that a broker may hold here: 32 MiB and what the protocol wraps around it.
const RECEIVE_BYTES: usize = 128 << 20;

/// The share of librdkafka's own queues in memory, all partitions together.
pub(super) const QUEUES_BYTES: usize = 64 << 20;

/// Properties of every client: addresses, security, whatever else the operator passes through. What is not the operator's
/// to set was refused when the configuration was read.
pub(super) fn common(kafka: &config::Kafka) -> ClientConfig {
    let mut properties = ClientConfig::new();
    properties
        .set("client.id", "xtcp-ingest")
        .set("bootstrap.servers", &kafka.brokers)
        .set("receive.message.max.bytes", RECEIVE_BYTES.to_string())
        .set("reconnect.backoff.max.ms", "5000")
        .set_log_level(RDKafkaLogLevel::Info);
    for (name, value) in &kafka.properties {
        properties.set(name, value.reveal());
    }
    if !["ssl.ca.location", "ssl.ca.pem"].iter().any(|name| properties.get(name).is_some()) && !environment_has_ca() {
        properties.set("ssl.ca.location", "probe");
    }
    properties
}

/// Whether the TLS library is told of CAs by its own variables. The library is built in and looks for the system's where this
/// system has none; librdkafka finds them when it is told to probe, and then heeds no variable.
fn environment_has_ca() -> bool {
    ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().any(|name| env::var_os(name).is_some())
}

/// Properties of the consumer of a topic with that many partitions.
pub(super) fn consumer(kafka: &config::Kafka, partitions: usize, report_ends: bool) -> ClientConfig {
    let mut properties = common(kafka);
    let is_classic = properties.get("group.protocol") != Some("consumer");
    let mut default = |name: &str, value: &str| {
        if properties.get(name).is_none() {
            properties.set(name, value);
        }
    };
    default("auto.offset.reset", "earliest");
    default("isolation.level", "read_committed");
    // The bound holds for each split queue on its own; a queue that is full asks again soon, or the default second of
    // back-off would throttle a partition to a few messages a second.
    default("queued.max.messages.kbytes", &queue_kbytes(partitions).to_string());
    default("fetch.queue.backoff.ms", "5");
    // A queue that is below its bound gets all of the next response, decompressed, so responses are kept small. A message
    // larger than this still arrives.
    default("fetch.message.max.bytes", &(256 << 10).to_string());
    default("fetch.max.bytes", &(8 << 20).to_string());
    default("statistics.interval.ms", "2000");
    // In the newer protocol both are the brokers' affair, and librdkafka refuses them.
    if is_classic {
        default("partition.assignment.strategy", "cooperative-sticky");
        // Members hear with a heartbeat that partitions change hands; until all have heard those stand still.
        default("heartbeat.interval.ms", "500");
    }
    properties
        .set("group.id", &kafka.group)
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("enable.partition.eof", if report_ends { "true" } else { "false" });
    properties
}

/// Kilobytes of one split queue, so that all of them stay within their share with as much again of a response each.
fn queue_kbytes(partitions: usize) -> usize {
    (QUEUES_BYTES / 2 / 1024 / partitions.max(1)).clamp(128, 2048)
}

/// Up to how many bytes a split queue asks for more.
pub(super) fn queue_bytes(properties: &ClientConfig) -> u64 {
    let kbytes = properties.get("queued.max.messages.kbytes").and_then(|value| value.parse::<u64>().ok());
    kbytes.map_or(64 << 20, |kbytes| kbytes << 10)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::{Framing, Kafka, Secret};

    fn kafka(properties: &[(&str, &str)]) -> Kafka {
        Kafka {
            brokers: "127.0.0.1:1".into(),
            topic: "xtcp".into(),
            group: "xtcp".into(),
            framing: Framing::Delimited,
            properties: properties
                .iter()
                .map(|(name, value)| ((*name).to_owned(), Secret::new(*value)))
                .collect::<BTreeMap<_, _>>(),
        }
    }

    #[test]
    fn the_operator_overrides_a_default() {
        let properties = consumer(&kafka(&[("auto.offset.reset", "error")]), 3, false);
        assert_eq!(properties.get("auto.offset.reset"), Some("error"));
        assert_eq!(properties.get("enable.auto.commit"), Some("false"));
        assert_eq!(properties.get("partition.assignment.strategy"), Some("cooperative-sticky"));
    }

    #[test]
    fn the_certificates_of_the_system_count_unless_others_are_given() {
        let ca = |properties: &[(&str, &str)]| common(&kafka(properties)).get("ssl.ca.location").map(str::to_owned);
        assert_eq!(ca(&[]).as_deref(), (!environment_has_ca()).then_some("probe"));
        assert_eq!(ca(&[("ssl.ca.location", "/ca")]).as_deref(), Some("/ca"));
        assert_eq!(ca(&[("ssl.ca.pem", "x")]), None);
    }

    #[test]
    fn the_consumer_protocol_takes_no_assignment_strategy() {
        let properties = consumer(&kafka(&[("group.protocol", "consumer")]), 3, false);
        assert_eq!(properties.get("partition.assignment.strategy"), None);
        assert_eq!(properties.get("heartbeat.interval.ms"), None);
        properties.create_native_config().expect("librdkafka takes the properties");
    }

    #[test]
    fn queues_share_their_memory() {
        assert_eq!(queue_kbytes(1), 2048);
        assert_eq!(queue_kbytes(64), 512);
        assert_eq!(queue_kbytes(100_000), 128);
    }
}
