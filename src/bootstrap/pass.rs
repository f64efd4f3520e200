//! One pass: wait for the services, create what is absent in the order of the manifest, look again.

use std::{
    collections::{HashMap, HashSet},
    future::Future,
    time::{Duration, Instant},
};

use tokio::time::sleep;
use tracing::{info, warn};

use super::{
    assertion::assert_declared,
    catalogue::Catalogue,
    definitions::Definitions,
    error::Error,
    manifest::Kind,
    parameters::Parameters,
    render::Statement,
    topics::{Topics, TopicsError},
};
use crate::{clickhouse::Client, config};

/// What a pass did, object by object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The objects in the order of the manifest.
    pub objects: Vec<Outcome>,
}

/// What became of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Its id in the manifest.
    pub id: String,
    /// What it is.
    pub kind: Kind,
    /// Its name, with the database where it has one.
    pub name: String,
    /// What was done.
    pub action: Action,
}

/// What a pass did about an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It was absent and is there now.
    Created,
    /// It was there.
    Unchanged,
}

/// A service that is waited for is named in the log this often.
const REMIND: Duration = Duration::from_secs(10);
/// How long a created topic may take to show up in the broker's answers.
const TOPIC_SHOWS: Duration = Duration::from_secs(15);

/// Brings ClickHouse and Kafka into the declared state as far as `dials` allow, waiting for either to answer, and fails
/// unless everything is as declared in the end. What it may not create it looks for.
///
/// # Errors
/// The first thing that stands in the way. A pass may be run again at any time: it goes on where this one ended.
pub async fn pass<T: Topics>(
    client: &Client,
    topics: &T,
    definitions: &Definitions,
    parameters: &Parameters,
    dials: &config::Bootstrap,
) -> Result<Report, Error> {
    // What an attempt created stays created when the next one finds it there.
    let mut created = HashSet::new();
    let statements = definitions.statements(parameters);
    let mut patience = Patience::new("ClickHouse", dials.wait);
    while let Err(error) = tables(client, definitions, parameters, &statements, dials.tables, &mut created).await {
        patience.after(error).await?;
    }
    let mut patience = Patience::new("Kafka", dials.wait);
    while let Err(error) = create_topics(topics, definitions, parameters, dials.topics, &mut created).await {
        patience.after(error).await?;
    }
    Ok(report(definitions, parameters, &statements, &created))
}

/// One attempt at everything in ClickHouse.
async fn tables(
    client: &Client,
    definitions: &Definitions,
    parameters: &Parameters,
    statements: &[Statement],
    may_create: bool,
    created: &mut HashSet<String>,
) -> Result<(), Error> {
    client.ping().await?;
    if may_create {
        create_absent(client, statements, created).await?;
    }
    assert_declared(client, definitions, parameters).await
}

async fn create_absent(client: &Client, statements: &[Statement], created: &mut HashSet<String>) -> Result<(), Error> {
    let mut catalogues: HashMap<&str, Catalogue> = HashMap::new();
    for statement in statements {
        let database = statement.database.as_str();
        if !catalogues.contains_key(database) {
            catalogues.insert(database, Catalogue::read_names(client, database).await?);
        }
        if catalogues[database].has(&statement.name) {
            continue;
        }
        let name = statement.full_name();
        let fault = |source| Error::Create { name: name.clone(), source };
        client.execute(&statement.sql, &[]).await.map_err(fault)?;
        // IF NOT EXISTS says nothing when a detached table stands in the way.
        let catalogue = Catalogue::read_names(client, database).await?;
        if !catalogue.has(&statement.name) {
            return Err(Error::StillAbsent { name });
        }
        catalogues.insert(database, catalogue);
        info!(object = statement.id, name, "created");
        created.insert(statement.id.clone());
    }
    Ok(())
}

/// One attempt at everything in Kafka.
async fn create_topics<T: Topics>(
    topics: &T,
    definitions: &Definitions,
    parameters: &Parameters,
    may_create: bool,
    created: &mut HashSet<String>,
) -> Result<(), Error> {
    if definitions.topics().next().is_none() {
        return Ok(());
    }
    let existing = topics.existing().await.map_err(Error::Kafka)?;
    for (id, definition) in definitions.topics() {
        let name = parameters.name(&definition.name);
        if existing.contains(name) {
            continue;
        }
        if !may_create {
            return Err(Error::TopicAbsent(name.to_owned()));
        }
        let topic = definition.on(topics.broker_count().await.map_err(Error::Kafka)?, parameters);
        let fault = |source| Error::Topic { name: topic.name.clone(), source };
        topics.create(&topic).await.map_err(fault)?;
        created.insert(id.to_owned());
        wait_until_it_shows(topics, &topic.name).await?;
        info!(object = id, name, partitions = topic.partitions, replication = topic.replication, "created");
    }
    Ok(())
}

/// Brokers acknowledge a topic before all of them know it.
async fn wait_until_it_shows<T: Topics>(topics: &T, name: &str) -> Result<(), Error> {
    let start = Instant::now();
    while !topics.existing().await.map_err(Error::Kafka)?.contains(name) {
        if start.elapsed() > TOPIC_SHOWS {
            let text = format!("it was created, yet no broker shows it after {} s", TOPIC_SHOWS.as_secs());
            return Err(Error::Topic { name: name.to_owned(), source: TopicsError::passing(text) });
        }
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

fn report(
    definitions: &Definitions,
    parameters: &Parameters,
    statements: &[Statement],
    created: &HashSet<String>,
) -> Report {
    let action = |id: &str| if created.contains(id) { Action::Created } else { Action::Unchanged };
    let tables = statements.iter().map(|s| (s.id.as_str(), s.kind, s.full_name()));
    let topics = definitions.topics().map(|(id, topic)| (id, Kind::Topic, parameters.name(&topic.name).to_owned()));
    let mut objects: Vec<Outcome> = tables
        .chain(topics)
        .map(|(id, kind, name)| Outcome { id: id.to_owned(), kind, name, action: action(id) })
        .collect();
    let position = |id: &str| definitions.objects.iter().position(|object| object.entry.id.value == id);
    objects.sort_by_key(|outcome| position(&outcome.id));
    Report { objects }
}

/// Waits for one service, up to a time, with a line in the log now and then.
struct Patience {
    service: &'static str,
    wait: Duration,
    start: Instant,
    reminded: Option<Instant>,
}

impl Patience {
    fn new(service: &'static str, wait: Duration) -> Self {
        Self { service, wait, start: Instant::now(), reminded: None }
    }

    /// Sleeps when the fault may pass and there is time left; otherwise hands it back.
    fn after(&mut self, error: Error) -> impl Future<Output = Result<(), Error>> {
        let pause = self.pause(error);
        async move {
            sleep(pause?).await;
            Ok(())
        }
    }

    fn pause(&mut self, error: Error) -> Result<Duration, Error> {
        if !error.is_retryable() {
            return Err(error);
        }
        let waited = self.start.elapsed();
        if waited >= self.wait {
            return Err(Error::Unanswered { service: self.service, waited, cause: error.to_string() });
        }
        if self.reminded.is_none_or(|at| at.elapsed() >= REMIND) {
            self.reminded = Some(Instant::now());
            let left = (self.wait - waited).as_secs();
            warn!(service = self.service, seconds_left = left, "waiting: {error}");
        }
        let pause = (self.wait / 10).clamp(Duration::from_secs(1), Duration::from_secs(5));
        Ok(pause.min(self.wait - waited))
    }
}
