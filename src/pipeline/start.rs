//! What has to be true before anything is consumed.

use std::{
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    deduplication::{self, Load},
    run::RunError,
};
use crate::{
    bootstrap::{Controller, Definitions, Parameters, Topics},
    clickhouse::Client,
    config::{self, Config, Delivery},
    http::{Check, Health},
    kafka::{self, Admin, Watermarks},
    lane::Schema,
    telemetry::{Every, Telemetry},
};

/// How long to wait before a service is asked again: at first, and after a while.
const PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// What passes sooner is not worth a line: the leaders of a new topic, for instance.
const QUIET: Duration = Duration::from_secs(1);
/// How long a server may take to say that it is there.
const ANSWER: Duration = Duration::from_secs(5);
/// How long to wait before another pass: at first, and after a while.
const AGAIN: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// librdkafka's session, and the brokers' own in the newer protocol of groups.
const SESSION: Duration = Duration::from_secs(45);

/// Everything that the flow stands on.
pub(super) struct Start {
    pub(super) schema: Arc<Schema>,
    pub(super) client: Client,
    pub(super) admin: Admin,
    /// Where each partition of the topic begins and ends.
    pub(super) watermarks: Vec<Watermarks>,
}

/// Waits for ClickHouse and Kafka for as long as it takes, lets the bootstrap do its part, and looks at the topic.
///
/// # Errors
/// What no waiting mends: credentials, an unknown database or topic that the bootstrap may not create, properties that are
/// not valid.
pub(super) async fn prepare(
    config: &Config,
    definitions: &Definitions,
    health: &Health,
    telemetry: &Telemetry,
) -> Result<Start, RunError> {
    let client = Client::new(&config.clickhouse).map_err(RunError::ClickHouse)?;
    let admin = Admin::new(&config.kafka).map_err(RunError::Kafka)?;

    wait_for("ClickHouse", &health.clickhouse, || async {
        match tokio::time::timeout(ANSWER, client.ping()).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) if error.is_fatal() => Err(Obstacle::Lasting(RunError::ClickHouse(error))),
            Ok(Err(error)) => Err(Obstacle::Passing(error.to_string())),
            Err(_) => {
                let cause = format!("{} took the question and did not answer within {ANSWER:?}", client.host());
                Err(Obstacle::Passing(cause))
            }
        }
    })
    .await?;
    let passing = |error: kafka::Error| {
        if error.is_away() { Obstacle::Passing(error.to_string()) } else { Obstacle::Lasting(RunError::Kafka(error)) }
    };
    wait_for("Kafka", &health.kafka, || async { admin.brokers().await.map(drop).map_err(passing) }).await?;

    let schema = Schema::new(&definitions.registry, &definitions.errors().name, config.kafka.framing);
    let parameters = Parameters::of(config, &definitions.manifest);
    let controller = Controller::new(&client, &admin, definitions, &parameters, config.bootstrap).watched(|report| {
        health.schema_pass(report);
        telemetry.schema_pass(report);
    });
    converge(&controller, &schema, &health.schema).await?;
    drop(controller);

    let topic = &config.kafka.topic;
    let watermarks = wait_for("Kafka", &health.kafka, || async {
        let partitions = admin.partitions(topic).await.map_err(passing)?;
        let partitions = partitions.ok_or_else(|| Obstacle::Lasting(RunError::Topic(topic.clone())))?;
        admin.watermarks(topic, &partitions).await.map_err(passing)
    })
    .await?;
    if config.delivery == Delivery::ExactlyOnce {
        let tables: Vec<_> = schema.targets().iter().map(|target| target.table.as_str()).collect();
        let takeover = session(&config.kafka) + 2 * kafka::LAPSE;
        let load = Load { partitions: watermarks.len(), takeover, age: config.batch.age };
        wait_for("ClickHouse", &health.clickhouse, || async {
            deduplication::check(&client, &tables, load).await.map_err(|obstacle| match obstacle {
                deduplication::Obstacle::Server(error) if error.is_fatal() => {
                    Obstacle::Lasting(RunError::Deduplication(format!(
                        "whether the server drops a block that comes again can't be seen: {error}; grant what docs/delivery.md \
                         lists, or give `delivery = \"at_least_once\"`"
                    )))
                }
                deduplication::Obstacle::Server(error) => Obstacle::Passing(error.to_string()),
                unfit @ deduplication::Obstacle::Unfit(_) => Obstacle::Lasting(RunError::Deduplication(unfit.to_string())),
            })
        })
        .await?;
    }
    Ok(Start { schema, client, admin, watermarks })
}

/// After how long without a sign of life the group gives the partitions of a member to others.
pub(super) fn session(kafka: &config::Kafka) -> Duration {
    let given = kafka.properties.get("session.timeout.ms").and_then(|text| text.reveal().trim().parse().ok());
    given.map_or(SESSION, Duration::from_millis)
}

/// Runs pass after pass until everything that is inserted into is as declared. A pass that failed, or that another process
/// kept this one from, is run again: what is amiss may be mended by others.
async fn converge<T: Topics>(controller: &Controller<'_, T>, schema: &Schema, check: &Check) -> Result<(), RunError> {
    let minute = Every::new(Every::MINUTE);
    let mut pause = AGAIN.0;
    loop {
        let report = controller.pass().await;
        let tables = schema.targets().iter().map(|target| target.table.as_str());
        let cause = match &report.error {
            Some(error) if error.is_fatal() => return Err(RunError::Bootstrap(error.to_string())),
            Some(error) => error.to_string(),
            None => report.blocked(tables).join("; "),
        };
        if cause.is_empty() {
            check.ok();
            return Ok(());
        }
        if minute.ready().is_some() {
            tracing::warn!("not ready, nothing is consumed: {cause}");
        }
        check.fail(cause);
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(AGAIN.1);
    }
}

enum Obstacle {
    /// Worth another try.
    Passing(String),
    /// Not mended by waiting.
    Lasting(RunError),
}

/// Asks a service until it answers, with a line a minute.
async fn wait_for<T, F: Future<Output = Result<T, Obstacle>>>(
    service: &str,
    check: &Check,
    ask: impl Fn() -> F,
) -> Result<T, RunError> {
    let minute = Every::new(Every::MINUTE);
    let (begin, mut pause) = (Instant::now(), PAUSE.0);
    loop {
        match ask().await {
            Ok(answer) => {
                check.ok();
                return Ok(answer);
            }
            Err(Obstacle::Lasting(error)) => return Err(error),
            Err(Obstacle::Passing(cause)) => {
                if begin.elapsed() >= QUIET && minute.ready().is_some() {
                    tracing::warn!("waiting for {service}: {cause}");
                }
                check.fail(cause);
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE.1);
    }
}
