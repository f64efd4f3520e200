//! A topic of its own for each test, and what its group has committed.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use prost::encoding::{bytes, encode_varint, int64, string, uint32, uint64};
use rdkafka::{
    ClientConfig, Message as _, Offset, TopicPartitionList,
    admin::{AdminClient, AdminOptions, NewPartitions},
    client::DefaultClientContext,
    consumer::{BaseConsumer, CommitMode, Consumer as _},
};
use xtcp_ingest::{
    config,
    kafka::{Admin, Producer},
};

use crate::support;

/// A topic; its group has its name.
pub struct Topic {
    pub name: String,
    brokers: String,
    partitions: i32,
    producer: Producer,
    group: BaseConsumer,
}

impl Topic {
    /// Creates it under a name that no other test has. The databases of tests have such names already.
    pub async fn new(name: &str, partitions: i32) -> Self {
        Self::on(support::kafka_brokers(), name, partitions).await
    }

    /// Creates it on other brokers than those of all tests.
    pub async fn on(brokers: String, name: &str, partitions: i32) -> Self {
        let topic = Self::absent_on(brokers, name, partitions);
        let admin = Admin::new(&topic.kafka()).expect("valid properties");
        let created = admin.create_topic(name, partitions, 1, &[]).await;
        assert!(created.unwrap_or_else(|error| panic!("Kafka is not reachable, run `make up`: {error}")));
        topic
    }

    /// A topic that isn't there.
    pub fn absent(name: &str, partitions: i32) -> Self {
        Self::absent_on(support::kafka_brokers(), name, partitions)
    }

    fn absent_on(brokers: String, name: &str, partitions: i32) -> Self {
        let producer = Producer::new(&kafka(&brokers, name)).expect("valid properties");
        let group = ClientConfig::new()
            .set("bootstrap.servers", &brokers)
            .set("group.id", name)
            .set("enable.auto.commit", "false")
            .create()
            .expect("valid properties");
        Self { name: name.to_owned(), brokers, partitions, producer, group }
    }

    fn kafka(&self) -> config::Kafka {
        kafka(&self.brokers, &self.name)
    }

    /// Sends values to a partition and waits until the broker has them.
    pub fn send<V: AsRef<[u8]>>(&self, partition: i32, values: impl IntoIterator<Item = V>) {
        for value in values {
            self.producer.send(Some(partition), Some(value.as_ref())).expect("sent");
        }
        self.producer.flush(Duration::from_secs(60)).expect("acknowledged");
    }

    /// Sends one envelope of one record for each number, numbers spread over the partitions.
    pub fn send_records(&self, epoch: u32, numbers: std::ops::Range<u64>) {
        for partition in 0..self.partitions {
            let own = |number: &u64| i32::try_from(number % self.partitions as u64) == Ok(partition);
            self.send(partition, numbers.clone().filter(own).map(|number| message(epoch, number..number + 1)));
        }
    }

    /// So many values from the beginning on, with their partitions; those of a partition in its order.
    pub fn values(&self, count: u64) -> Vec<(i32, Option<Vec<u8>>)> {
        let mut all = TopicPartitionList::new();
        for partition in 0..self.partitions {
            all.add_partition_offset(&self.name, partition, Offset::Beginning).expect("an offset");
        }
        self.group.assign(&all).expect("an assignment");
        let mut values = Vec::new();
        let end = Instant::now() + Duration::from_secs(60);
        while (values.len() as u64) < count {
            assert!(Instant::now() < end, "{} of {count} messages came", values.len());
            if let Some(message) = self.group.poll(Duration::from_millis(200)) {
                let message = message.expect("a message");
                values.push((message.partition(), message.payload().map(<[u8]>::to_vec)));
            }
        }
        self.group.unassign().expect("no assignment");
        values
    }

    /// What the group has committed, by partition; partitions without an offset are left out.
    pub fn committed(&self) -> BTreeMap<i32, i64> {
        let mut list = TopicPartitionList::new();
        list.add_partition_range(&self.name, 0, self.partitions - 1);
        let mut tries = 0;
        let list = loop {
            tries += 1;
            match self.group.committed_offsets(list.clone(), Duration::from_secs(10)) {
                Ok(list) => break list,
                // The coordinator of a new group is being found.
                Err(error) => assert!(tries < 20, "{error}"),
            }
            std::thread::sleep(Duration::from_millis(100));
        };
        let offset = |offset| if let Offset::Offset(offset) = offset { Some(offset) } else { None };
        list.elements().iter().filter_map(|e| Some((e.partition(), offset(e.offset())?))).collect()
    }

    /// What the group holds for a partition: the offset and the text beside it.
    pub fn entry(&self, partition: i32) -> Option<(i64, String)> {
        let mut list = TopicPartitionList::new();
        list.add_partition(&self.name, partition);
        let list = self.group.committed_offsets(list, Duration::from_secs(10)).expect("an answer");
        let element = list.find_partition(&self.name, partition).expect("asked for");
        if let Offset::Offset(offset) = element.offset() { Some((offset, element.metadata().to_owned())) } else { None }
    }

    /// Commits by hand, as an operator or another program does while no member lives.
    pub fn commit(&self, partition: i32, offset: i64, metadata: &str) {
        let begin = Instant::now();
        loop {
            let mut list = TopicPartitionList::new();
            let mut element = list.add_partition(&self.name, partition);
            element.set_offset(Offset::Offset(offset)).expect("an offset");
            if !metadata.is_empty() {
                element.set_metadata(metadata);
            }
            match self.group.commit(&list, CommitMode::Sync) {
                Ok(()) => return,
                Err(error) => assert!(begin.elapsed() < Duration::from_secs(30), "{error}"),
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn admin(&self) -> AdminClient<DefaultClientContext> {
        ClientConfig::new().set("bootstrap.servers", &self.brokers).create().expect("valid properties")
    }

    /// Deletes the topic and creates it again at once, under the same name.
    pub async fn recreate(&self) {
        let deleted = self.admin().delete_topics(&[&self.name], &AdminOptions::new()).await.expect("an answer");
        deleted.into_iter().for_each(|result| drop(result.expect("deleted")));
        let begin = Instant::now();
        loop {
            let admin = Admin::new(&self.kafka()).expect("valid properties");
            match admin.create_topic(&self.name, self.partitions, 1, &[]).await {
                Ok(true) => return,
                other => assert!(begin.elapsed() < Duration::from_secs(30), "{other:?}"),
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Deletes the messages of a partition before an offset, as the retention does.
    pub async fn delete_before(&self, partition: i32, offset: i64) {
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(&self.name, partition, Offset::Offset(offset)).expect("an offset");
        let list = self.admin().delete_records(&list, &AdminOptions::new()).await.expect("an answer");
        list.elements().iter().for_each(|element| element.error().expect("deleted"));
    }

    /// Adds partitions until there are that many.
    pub async fn grow(&mut self, partitions: i32) {
        let count = usize::try_from(partitions).expect("a few");
        let more = [NewPartitions::new(&self.name, count)];
        let results = self.admin().create_partitions(&more, &AdminOptions::new()).await.expect("an answer");
        results.into_iter().for_each(|result| drop(result.expect("added")));
        self.partitions = partitions;
        // The old one would learn of it minutes later.
        self.producer = Producer::new(&self.kafka()).expect("valid properties");
    }

    /// Everything that the group has committed, counted.
    pub fn total_committed(&self) -> i64 {
        self.committed().values().sum()
    }
}

/// One frame with a record for each number.
pub fn message(epoch: u32, numbers: std::ops::Range<u64>) -> Vec<u8> {
    let mut envelope = Vec::new();
    for number in numbers {
        // As epochs 1 and 2 number their fields.
        let mut record = Vec::new();
        uint32::encode(1, &epoch, &mut record);
        int64::encode(10, &1_790_000_000_000_000_000, &mut record);
        string::encode(20, &"it".to_owned(), &mut record);
        uint64::encode(60, &number, &mut record);
        bytes::encode(10, &record, &mut envelope);
    }
    let mut message = Vec::new();
    encode_varint(envelope.len() as u64, &mut message);
    [message, envelope].concat()
}

fn kafka(brokers: &str, topic: &str) -> config::Kafka {
    config::Kafka {
        brokers: brokers.into(),
        topic: topic.into(),
        group: topic.into(),
        framing: config::Framing::Delimited,
        properties: BTreeMap::new(),
    }
}
