//! Topics: are they there, how large are they, create them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
    time::Duration,
};

use rdkafka::{
    ClientConfig,
    admin::{AdminClient, AdminOptions, NewTopic, ResourceSpecifier, TopicReplication},
    consumer::{BaseConsumer, Consumer as _},
    error::{IsError as _, KafkaError},
    types::RDKafkaErrorCode,
};

use super::{Error, Watermarks, client, context::Plain, identity, watermarks};
use crate::config;

/// How long one exchange with the cluster may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Events that are taken from the client after each exchange: more than one exchange can bring about.
const EVENTS: usize = 256;

/// Asks and changes the cluster. Cheap to clone.
#[derive(Clone)]
pub struct Admin {
    // A consumer without a group rather than librdkafka's admin client: it alone lets its events be taken, and among
    // them is the reason why a connection failed.
    client: Arc<BaseConsumer<Plain>>,
    properties: Arc<ClientConfig>,
    brokers: Arc<str>,
}

impl Admin {
    /// A client that connects when it is first used.
    ///
    /// # Errors
    /// The properties are not valid.
    pub fn new(kafka: &config::Kafka) -> Result<Self, Error> {
        let properties = client::common(kafka);
        let client = properties
            .create_with_context(Plain::default())
            .map_err(|error| Error::new("client", &*kafka.brokers, &error))?;
        Ok(Self { client: Arc::new(client), properties: Arc::new(properties), brokers: kafka.brokers.as_str().into() })
    }

    /// The partitions of a topic, ascending; `None` if there is no such topic.
    ///
    /// # Errors
    /// No broker answers, or the account may not see the topic.
    pub async fn partitions(&self, topic: &str) -> Result<Option<Vec<i32>>, Error> {
        let name = topic.to_owned();
        let metadata = self
            .blocking(format!("metadata of `{topic}`"), move |client| {
                let metadata = client.fetch_metadata(Some(&name), TIMEOUT)?;
                let Some(topic) = metadata.topics().iter().find(|topic| topic.name() == name) else {
                    return Ok(None);
                };
                if let Some(error) = topic.error().filter(|error| error.is_error()) {
                    return Err(KafkaError::MetadataFetch(error.into()));
                }
                let mut partitions: Vec<i32> = topic.partitions().iter().map(|partition| partition.id()).collect();
                partitions.sort_unstable();
                Ok(Some(partitions))
            })
            .await;
        match metadata {
            Err(error) if error.is_unknown_topic() => Ok(None),
            other => Ok(other?.filter(|partitions| !partitions.is_empty())),
        }
    }

    /// The number of partitions of a topic, and of the replicas of each.
    ///
    /// # Errors
    /// No broker answers, or there is no such topic.
    pub async fn layout(&self, topic: &str) -> Result<(i32, i32), Error> {
        let name = topic.to_owned();
        self.blocking(format!("metadata of `{topic}`"), move |client| {
            let metadata = client.fetch_metadata(Some(&name), TIMEOUT)?;
            let topic = metadata.topics().iter().find(|topic| topic.name() == name);
            let Some(topic) = topic.filter(|topic| !topic.partitions().is_empty()) else {
                return Err(KafkaError::MetadataFetch(RDKafkaErrorCode::UnknownTopicOrPartition));
            };
            let replicas = topic.partitions().iter().map(|partition| partition.replicas().len()).min().unwrap_or(0);
            let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
            Ok((number(topic.partitions().len()), number(replicas)))
        })
        .await
    }

    /// The configuration of a topic as the broker reports it, defaults included.
    ///
    /// # Errors
    /// No broker answers, or the account may not see it.
    pub async fn topic_config(&self, topic: &str) -> Result<BTreeMap<String, String>, Error> {
        let failed = |error: &KafkaError| {
            Error::new(format!("configuration of `{topic}`"), &*self.brokers, error)
                .needing("DESCRIBE_CONFIGS on the topic")
        };
        let client: AdminClient<Plain> =
            self.properties.create_with_context(Plain::default()).map_err(|error| failed(&error))?;
        let options = AdminOptions::new().request_timeout(Some(TIMEOUT));
        let asked = [ResourceSpecifier::Topic(topic)];
        let mut config = BTreeMap::new();
        for resource in client.describe_configs(&asked, &options).await.map_err(|error| failed(&error))? {
            let resource = resource.map_err(|code| failed(&KafkaError::AdminOp(code)))?;
            config.extend(resource.entries.into_iter().filter_map(|entry| Some((entry.name, entry.value?))));
        }
        // To an account without the right the library shows a topic without any configuration, which no topic is.
        if config.is_empty() {
            return Err(failed(&KafkaError::AdminOp(RDKafkaErrorCode::TopicAuthorizationFailed)));
        }
        Ok(config)
    }

    /// The names of all topics that the account may see.
    ///
    /// # Errors
    /// No broker answers.
    pub async fn topics(&self) -> Result<BTreeSet<String>, Error> {
        let names = |client: &BaseConsumer<Plain>| {
            let metadata = client.fetch_metadata(None, TIMEOUT)?;
            Ok(metadata.topics().iter().map(|topic| topic.name().to_owned()).collect())
        };
        self.blocking("metadata".into(), names).await
    }

    /// The number of brokers in the cluster.
    ///
    /// # Errors
    /// No broker answers.
    pub async fn brokers(&self) -> Result<usize, Error> {
        self.blocking("metadata".into(), |client| Ok(client.fetch_metadata(None, TIMEOUT)?.brokers().len())).await
    }

    /// The identity of a topic, which one that is created again under the same name doesn't share; `None` if there is no
    /// such topic.
    ///
    /// # Errors
    /// No broker answers.
    pub async fn topic_id(&self, topic: &str) -> Result<Option<String>, Error> {
        let name = topic.to_owned();
        let id = self
            .blocking(format!("identity of `{topic}`"), move |client| {
                identity::topic_id(client.client(), &name, TIMEOUT)
            })
            .await;
        match id {
            Err(error) if error.is_unknown_topic() => Ok(None),
            other => other.map(Some),
        }
    }

    /// Where these partitions begin and end now.
    ///
    /// # Errors
    /// A partition's leader doesn't answer.
    pub async fn watermarks(&self, topic: &str, partitions: &[i32]) -> Result<Vec<Watermarks>, Error> {
        let (name, partitions) = (topic.to_owned(), partitions.to_vec());
        self.blocking(format!("watermarks of `{topic}`"), move |client| {
            watermarks::fetch(client, &name, &partitions, TIMEOUT)
        })
        .await
    }

    /// Creates a topic; says whether it was absent before. What exists is left as it is.
    ///
    /// # Errors
    /// No broker answers, or the cluster refuses.
    pub async fn create_topic(
        &self,
        topic: &str,
        partitions: i32,
        replication: i32,
        settings: &[(String, String)],
    ) -> Result<bool, Error> {
        let failed = |error: &KafkaError| {
            Error::new(format!("creation of topic `{topic}`"), &*self.brokers, error)
                .needing("CREATE on the topic, and DESCRIBE to see it")
        };
        let mut new = NewTopic::new(topic, partitions, TopicReplication::Fixed(replication));
        for (name, value) in settings {
            new = new.set(name, value);
        }
        let options = AdminOptions::new().request_timeout(Some(TIMEOUT)).operation_timeout(Some(TIMEOUT));
        let client: AdminClient<Plain> =
            self.properties.create_with_context(Plain::default()).map_err(|error| failed(&error))?;
        let results = client.create_topics([&new], &options).await.map_err(|error| failed(&error))?;
        for result in results {
            match result {
                Ok(_) => {}
                Err((_, RDKafkaErrorCode::TopicAlreadyExists)) => return Ok(false),
                Err((_, code)) => return Err(failed(&KafkaError::AdminOp(code))),
            }
        }
        Ok(true)
    }

    /// Runs a call of librdkafka's that blocks where it may block.
    async fn blocking<T: Send + 'static>(
        &self,
        what: String,
        call: impl FnOnce(&BaseConsumer<Plain>) -> Result<T, KafkaError> + Send + 'static,
    ) -> Result<T, Error> {
        let client = self.client.clone();
        let exchange = move || {
            let result = call(&client);
            for _ in 0..EVENTS {
                let _ = client.poll(Duration::ZERO);
            }
            result
        };
        match tokio::task::spawn_blocking(exchange).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(Error::new(what, &*self.brokers, &error).because(self.client.context().reason())),
            Err(error) => Err(Error::other(what, &*self.brokers, error.to_string())),
        }
    }
}

impl fmt::Debug for Admin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admin").field("brokers", &self.brokers).finish_non_exhaustive()
    }
}
