//! `xtcp-ingest run`: the parts put together, from the start to the last commit.

use std::{io, sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, oneshot},
    task::{JoinHandle, JoinSet},
    time::{Instant, interval},
};

use super::{
    budget::Budget,
    caught_up::{self, Goal},
    committer::Ledger,
    coordinator::{Coordinator, Parts},
    event::{Control, Event, Events, Fatal, QUEUE, Unfinished},
    group::Group,
    limits::Limits,
    outdated,
    pace::Pace,
    proof::Proof,
    pulse,
    report::Report,
    shutdown::Asked,
    start::{self, Start},
    unowned,
    worker::{Equipment, Worker},
    writer::Writer,
};
use crate::{
    bootstrap::{Definitions, LoadError},
    clickhouse,
    config::{self, Config, Delivery, Secret},
    delivery::Reset,
    http::{self, Health, Server},
    kafka::{self, Admin, Consumer, ConsumerOptions, Fetcher, Transactions},
    telemetry::Telemetry,
};

/// How long leaving the group may take: the group finds out by itself if need be.
const LEAVE: Duration = Duration::from_secs(5);
/// How often the topic's identity is looked at.
const LOOK: Duration = Duration::from_secs(5);

/// How a run differs from one that goes on until it is told to end.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunOptions {
    /// End when everything that the topic held at the start is placed or diverted, and committed.
    pub until_caught_up: bool,
}

/// Why a run ended, other than because it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The definitions can't be used.
    #[error(transparent)]
    Definitions(#[from] LoadError),
    /// The HTTP surface can't be served.
    #[error(transparent)]
    Http(#[from] http::Error),
    /// ClickHouse can't be used.
    #[error(transparent)]
    ClickHouse(clickhouse::Error),
    /// Something is not as declared, and nothing but a person can help.
    #[error("{0}")]
    Bootstrap(String),
    /// The server doesn't do what delivery exactly once stands on.
    #[error("{0}")]
    Deduplication(String),
    /// Kafka can't be used.
    #[error(transparent)]
    Kafka(kafka::Error),
    /// The topic is not among those that the bootstrap creates.
    #[error("topic {0} doesn't exist: create it, let `bootstrap.topics` be on, or give another `kafka.topic`")]
    Topic(String),
    /// The system refuses something that every process gets.
    #[error("the system gives no {what}: {source}")]
    System {
        /// A thread, a signal handler.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// A signal came before the topic was caught up.
    #[error("ended by a signal before everything was placed; run it again to go on from what is committed")]
    Interrupted,
    /// The flow broke off. What was not committed is read again by the next run.
    #[error("{0}")]
    Broken(String),
}

impl RunError {
    /// Whether the start was refused because of what was given, before anything was consumed.
    #[must_use]
    pub const fn is_refusal(&self) -> bool {
        !matches!(self, Self::System { .. } | Self::Interrupted | Self::Broken(_))
    }
}

/// Places records until a signal comes, or, if so asked, until the topic's end at the start is reached.
///
/// # Errors
/// See [`RunError`].
pub async fn run(config: Config, options: RunOptions) -> Result<(), RunError> {
    if cfg!(feature = "without_intents") {
        tracing::warn!("built without intents, for the fault harness: a crash doubles rows");
    }
    let asked = Asked::listen().map_err(|source| RunError::System { what: "signal handler", source })?;
    let (telemetry, health) = (Arc::new(Telemetry::new()), Arc::new(Health::default()));
    let server = Server::bind(config.http.listen).await?;
    tracing::info!(address = %server.address(), "HTTP surface");
    let (end, ended) = oneshot::channel::<()>();
    let surface = tokio::spawn(server.run(telemetry.clone(), health.clone(), async {
        // Dropped when the run ends, however it ends.
        let _ = ended.await;
    }));
    let result = flow(config, options, asked, telemetry, health).await;
    drop(end);
    let _ = surface.await;
    result
}

async fn flow(
    config: Config,
    options: RunOptions,
    mut asked: Asked,
    telemetry: Arc<Telemetry>,
    health: Arc<Health>,
) -> Result<(), RunError> {
    let definitions = Definitions::configured(&config)?;
    let Some(start) = start::prepare(&config, &definitions, &health, &telemetry, &mut asked).await? else {
        return if options.until_caught_up { Err(RunError::Interrupted) } else { Ok(()) };
    };
    let goal = options.until_caught_up.then(|| Goal::new(&start.watermarks));
    if goal.as_ref().is_some_and(Goal::is_reached) {
        tracing::info!(topic = config.kafka.topic, "the topic is empty");
        return Ok(());
    }
    let mut running = Running::start(&config, start, goal.is_some(), &telemetry, &health)?;
    let caught_up = async {
        match goal {
            Some(goal) => {
                let offsets = Arc::new(running.consumer.offsets());
                caught_up::wait(goal, offsets, running.settled.clone(), &telemetry).await;
            }
            None => std::future::pending().await,
        }
    };
    let interrupted = tokio::select! {
        biased;
        () = asked.wait() => options.until_caught_up,
        fatal = &mut running.coordinator => return Err(broken(fatal)),
        () = caught_up => false,
        () = outdated::watch(&config, &definitions, &telemetry) => false,
    };
    running.finish(config.limits.shutdown_timeout).await?;
    if interrupted { Err(RunError::Interrupted) } else { Ok(()) }
}

/// A flow under way.
struct Running {
    consumer: Consumer,
    coordinator: JoinHandle<Fatal>,
    events: Events,
    settled: tokio::sync::watch::Receiver<std::collections::BTreeSet<i32>>,
    /// What goes on beside the flow, until this is dropped.
    _beside: JoinSet<()>,
}

impl Running {
    fn start(
        config: &Config,
        start: Start,
        report_ends: bool,
        telemetry: &Arc<Telemetry>,
        health: &Arc<Health>,
    ) -> Result<Self, RunError> {
        let topic: Arc<str> = config.kafka.topic.as_str().into();
        let (events, receiver) = mpsc::channel(QUEUE);
        let report = Report::new(telemetry.clone(), health.clone(), &config.kafka.brokers);
        let (budget, pace) = (Budget::new(config.limits.memory_bytes), Pace::new(config.batch.max_inserts_per_second));
        let equipment = Equipment {
            schema: start.schema.clone(),
            topic: topic.clone(),
            limits: Limits::new(config.batch, pace.clone(), config.unknown_epoch),
            budget: budget.clone(),
            events: events.clone(),
            telemetry: telemetry.clone(),
        };
        let workers = (0..config.limits.workers)
            .map(|number| Worker::start(number, equipment.clone()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|source| RunError::System { what: "thread", source })?;
        let exactly_once = (config.delivery == Delivery::ExactlyOnce).then(|| reset(&config.kafka));
        let proof = Arc::new(match exactly_once {
            Some(_) => Proof::within(start::session(&config.kafka)),
            None => Proof::not_needed(),
        });
        let mut beside = JoinSet::new();
        beside.spawn(pulse::watch(start.client.clone(), report.clone()));
        let sink = Box::new(start.client);
        let (proofs, writers) = (proof.clone(), config.clickhouse.writers);
        let writer = Writer::new(sink, writers, events.clone(), report.clone(), proofs, pace.clone());
        // What a former owner may have sent ends where it ended, also where nothing comes after it.
        let report_ends = report_ends || exactly_once.is_some();
        let options = ConsumerOptions { partitions: start.watermarks.len(), report_ends };
        let group = Box::new(Group { events: events.clone() });
        let consumer = Consumer::join(&config.kafka, options, group).map_err(RunError::Kafka)?;
        if unowned::may_be(&config.kafka) {
            let group = kafka::Group::new(&config.kafka).map_err(RunError::Kafka)?;
            let partitions = start.watermarks.iter().map(|marks| marks.partition).collect();
            beside.spawn(unowned::watch(group, consumer.offsets(), topic.clone(), partitions));
        }
        let ledger: Arc<dyn Ledger> = match exactly_once {
            Some(_) => {
                tokio::spawn(watch_topic(start.admin, topic.clone(), events.clone()));
                Arc::new(Transactions::new(&config.kafka, consumer.offsets()))
            }
            None => Arc::new(consumer.offsets()),
        };
        let messages = Arc::new(Fetcher::new(&config.kafka));
        let schema = start.schema;
        let parts =
            Parts { topic, exactly_once, workers, writer, schema, messages, ledger, proof, report, budget, pace };
        let (coordinator, settled) = Coordinator::new(parts, events.clone(), receiver);
        tracing::info!(topic = config.kafka.topic, group = config.kafka.group, "joining the group");
        Ok(Self { consumer, coordinator: tokio::spawn(coordinator.run()), events, settled, _beside: beside })
    }

    /// Finishes what is in flight, commits, leaves the group.
    async fn finish(self, patience: Duration) -> Result<(), RunError> {
        let Self { consumer, mut coordinator, events, .. } = self;
        let (reply, answer) = oneshot::channel();
        let finish = Control::Finish { deadline: Instant::now() + patience, reply };
        let unfinished = async {
            let _ = events.send(Event::Control(finish)).await;
            answer.await
        };
        let unfinished = tokio::select! {
            biased;
            fatal = &mut coordinator => return Err(broken(fatal)),
            unfinished = unfinished => unfinished.unwrap_or_default(),
        };
        let _ = tokio::task::spawn_blocking(move || consumer.leave(LEAVE)).await;
        coordinator.abort();
        let Unfinished { batches, uncommitted } = unfinished;
        if batches > 0 || uncommitted > 0 {
            tracing::warn!(batches, uncommitted, "ended before everything was placed and committed; it is read again");
        } else {
            tracing::info!("ended: everything that was read is placed and committed");
        }
        Ok(())
    }
}

/// Where to begin when the group holds nothing.
fn reset(kafka: &config::Kafka) -> Reset {
    match kafka.properties.get("auto.offset.reset").map(Secret::reveal) {
        Some("largest" | "latest" | "end") => Reset::Latest,
        _ => Reset::Earliest,
    }
}

/// Tells which topic it is, now and then: not every change is told by the group, and offsets of one topic mean nothing in
/// another.
async fn watch_topic(admin: Admin, topic: Arc<str>, events: Events) {
    let mut tick = interval(LOOK);
    loop {
        tick.tick().await;
        if let Ok(Some(id)) = admin.topic_id(&topic).await
            && events.send(Event::Identity(id)).await.is_err()
        {
            return;
        }
    }
}

fn broken(ended: Result<Fatal, tokio::task::JoinError>) -> RunError {
    RunError::Broken(match ended {
        Ok(fatal) => fatal.to_string(),
        Err(error) => format!("the coordinator ended: {error}"),
    })
}
