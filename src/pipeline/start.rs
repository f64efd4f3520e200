//! What has to be true before anything is consumed.

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    deduplication::{self, Load},
    run::RunError,
    shutdown::Asked,
};
use crate::{
    bootstrap::{Controller, Definitions, Error, Parameters, Stop, Topics},
    clickhouse::{self, Client},
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
/// An answer that takes longer is spoken of, although the client may go on for a while before it says why there is none.
const SOON: Duration = Duration::from_millis(1500);
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

/// Waits for ClickHouse and Kafka for as long as it takes, lets the bootstrap do its part, and looks at the topic. `None` when
/// it was asked to end before that was done.
///
/// # Errors
/// What no waiting mends: credentials, an unknown database or topic that the bootstrap may not create, properties that are
/// not valid.
pub(super) async fn prepare(
    config: &Config,
    definitions: &Definitions,
    health: &Health,
    telemetry: &Telemetry,
    asked: &mut Asked,
) -> Result<Option<Start>, RunError> {
    let client = Client::new(&config.clickhouse).map_err(RunError::ClickHouse)?;
    let admin = Admin::new(&config.kafka).map_err(RunError::Kafka)?;
    if let Some(what) = kafka::ignored(&config.kafka) {
        tracing::warn!("{what}");
    }

    let (server, brokers) = (format!("ClickHouse at {}", client.host()), format!("Kafka at {}", config.kafka.brokers));
    let refused = |error: clickhouse::Error| {
        if error.is_fatal() {
            Obstacle::Lasting(RunError::ClickHouse(error))
        } else {
            Obstacle::Passing(error.to_string())
        }
    };
    let clickhouse = wait_for(&server, &health.clickhouse, || async {
        client.look(ANSWER).await.map_err(refused)?;
        match tokio::time::timeout(ANSWER, client.check_insert_settings()).await {
            Ok(answer) => answer.map_err(refused),
            Err(_) => {
                let cause = format!("{} took the question and did not answer within {ANSWER:?}", client.host());
                Err(Obstacle::Passing(cause))
            }
        }
    });
    if unless(asked, clickhouse).await?.is_none() {
        return Ok(None);
    }
    let passing = |error: kafka::Error| {
        if error.is_away() { Obstacle::Passing(error.to_string()) } else { Obstacle::Lasting(RunError::Kafka(error)) }
    };
    let kafka_answers =
        wait_for(&brokers, &health.kafka, || async { admin.brokers().await.map(drop).map_err(passing) });
    if unless(asked, kafka_answers).await?.is_none() {
        return Ok(None);
    }

    let schema = Schema::new(&definitions.registry, &definitions.errors().name, config.kafka.framing);
    let parameters = Parameters::of(config, &definitions.manifest);
    let controller = Controller::new(&client, &admin, definitions, &parameters, config.bootstrap).watched(|report| {
        health.schema_pass(report);
        telemetry.schema_pass(report);
    });
    let controller = controller.stopped_by(Stop::on(asked.seen()));
    if !converge(&controller, &schema, &health.schema, asked, config.limits.shutdown_timeout).await? {
        return Ok(None);
    }
    drop(controller);

    let topic = &config.kafka.topic;
    let watermarks = unless(
        asked,
        wait_for(&brokers, &health.kafka, || async {
            let partitions = admin.partitions(topic).await.map_err(passing)?;
            let partitions = partitions.ok_or_else(|| Obstacle::Lasting(RunError::Topic(topic.clone())))?;
            admin.watermarks(topic, &partitions).await.map_err(passing)
        }),
    );
    let Some(watermarks) = watermarks.await? else { return Ok(None) };
    let may_look = wait_for(&server, &health.clickhouse, || async {
        deduplication::may_look(&client, &schema).await.map_err(|error| {
            let what = "whether a block is there of which the server knows the token";
            unseen(&error, what, "grant SELECT and CREATE TEMPORARY TABLE as ddl/roles/ingest.sql lists them")
        })
    });
    if unless(asked, may_look).await?.is_none() {
        return Ok(None);
    }
    if config.delivery == Delivery::ExactlyOnce {
        let tables: Vec<_> = schema.targets().iter().map(|target| target.table.as_str()).collect();
        let takeover = session(&config.kafka) + 2 * kafka::LAPSE;
        let load = Load { partitions: watermarks.len(), takeover, age: config.batch.age };
        let checked = wait_for(&server, &health.clickhouse, || async {
            deduplication::check(&client, &tables, load).await.map_err(|obstacle| match obstacle {
                deduplication::Obstacle::Server(error) => {
                    let advice = "grant what docs/delivery.md lists, or give `delivery = \"at_least_once\"`";
                    unseen(&error, "whether the server drops a block that comes again", advice)
                }
                unfit @ deduplication::Obstacle::Unfit(_) => {
                    Obstacle::Lasting(RunError::Deduplication(unfit.to_string()))
                }
            })
        });
        if unless(asked, checked).await?.is_none() {
            return Ok(None);
        }
    }
    Ok(Some(Start { schema, client, admin, watermarks }))
}

/// Something could not be asked of the server. No waiting mends it if the account isn't let.
fn unseen(error: &clickhouse::Error, what: &str, advice: &str) -> Obstacle {
    if error.is_fatal() {
        Obstacle::Lasting(RunError::Deduplication(format!("{what} can't be seen: {error}; {advice}")))
    } else {
        Obstacle::Passing(error.to_string())
    }
}

/// Waits for something that may be given up at any moment, unless it is asked to end before.
async fn unless<T>(asked: &mut Asked, wait: impl Future<Output = Result<T, RunError>>) -> Result<Option<T>, RunError> {
    tokio::select! {
        biased;
        () = asked.wait() => Ok(None),
        done = wait => done.map(Some),
    }
}

/// After how long without a sign of life the group gives the partitions of a member to others.
pub(super) fn session(kafka: &config::Kafka) -> Duration {
    let given = kafka.properties.get("session.timeout.ms").and_then(|text| text.reveal().trim().parse().ok());
    given.map_or(SESSION, Duration::from_millis)
}

/// Runs pass after pass until everything that is inserted into is as declared. A pass that failed, or that another process
/// kept this one from, is run again: what is amiss may be mended by others. False when it was asked to end before that.
async fn converge<T: Topics>(
    controller: &Controller<'_, T>,
    schema: &Schema,
    check: &Check,
    asked: &mut Asked,
    patience: Duration,
) -> Result<bool, RunError> {
    let minute = Every::new(Every::MINUTE);
    let (first, mut pause) = (Instant::now(), AGAIN.0);
    loop {
        let mut end = asked.clone();
        // A pass that is asked to end gives the lease back first. A server that leaves its statement unanswered holds that up.
        let overdue = async {
            end.wait().await;
            tokio::time::sleep(patience).await;
        };
        let mut pass = pin!(controller.pass());
        let mut overdue = pin!(overdue);
        let begin = Instant::now();
        let report = loop {
            tokio::select! {
                report = &mut pass => break report,
                () = &mut overdue => return Ok(false),
                () = tokio::time::sleep(Every::MINUTE) => {
                    tracing::info!(seconds = begin.elapsed().as_secs(), "the pass over the schema has not ended yet");
                }
            }
        };
        let tables = schema.targets().iter().map(|target| target.table.as_str());
        let cause = match &report.error {
            Some(Error::Stopped) => return Ok(false),
            Some(error) if error.is_fatal() => return Err(RunError::Bootstrap(error.to_string())),
            Some(error) => error.to_string(),
            None => report.blocked(tables).join("; "),
        };
        if cause.is_empty() {
            check.ok();
            return Ok(true);
        }
        if minute.ready().is_some() {
            tracing::warn!(seconds = first.elapsed().as_secs(), "not ready, nothing is consumed: {cause}");
        }
        check.fail(cause);
        let again = async {
            tokio::time::sleep(pause).await;
            Ok(())
        };
        if unless(asked, again).await?.is_none() {
            return Ok(false);
        }
        pause = (pause * 2).min(AGAIN.1);
    }
}

enum Obstacle {
    /// Worth another try.
    Passing(String),
    /// Not mended by waiting.
    Lasting(RunError),
}

/// Asks a service until it answers. That it is waited for is said at once, and why with a line a minute.
async fn wait_for<T, F: Future<Output = Result<T, Obstacle>>>(
    service: &str,
    check: &Check,
    ask: impl Fn() -> F,
) -> Result<T, RunError> {
    let minute = Every::new(Every::MINUTE);
    let (begin, mut pause) = (Instant::now(), PAUSE.0);
    let mut is_told = false;
    loop {
        let mut asked = pin!(ask());
        let answer = loop {
            tokio::select! {
                answer = &mut asked => break answer,
                () = tokio::time::sleep(if is_told { Every::MINUTE } else { SOON }) => {
                    is_told = true;
                    tracing::info!(seconds = begin.elapsed().as_secs(), "waiting for {service}: no answer yet");
                    check.fail(format!("{service} has not answered yet"));
                }
            }
        };
        match answer {
            Ok(answer) => {
                check.ok();
                return Ok(answer);
            }
            Err(Obstacle::Lasting(error)) => return Err(error),
            Err(Obstacle::Passing(cause)) => {
                if begin.elapsed() >= QUIET && minute.ready().is_some() {
                    tracing::warn!(seconds = begin.elapsed().as_secs(), "waiting for {service}: {cause}");
                }
                check.fail(cause);
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE.1);
    }
}
