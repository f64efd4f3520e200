//! The coordinator when partitions come: what the group holds of them, and where reading begins.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rand::Rng as _;
use tokio::time::Instant;

use super::{
    coordinator::Coordinator,
    event::{Control, Event, Fatal, Found},
    partition::{Name, Partition},
    seat::Cut,
    source::Source,
    tenure::Tenure,
    worker::Command,
};
use crate::{
    delivery::{Journal, Log, Reset, Takeover, take_over},
    kafka,
    telemetry::Rebalance,
};

/// How long to wait before the group is asked again: at first, and after a while.
const AGAIN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// A take-over has no end but its own, or that of the process.
const FOREVER: Duration = Duration::from_secs(86_400 * 365);

impl Coordinator {
    /// Partitions come. Says where reading begins, where that isn't the group's offset.
    pub(super) async fn assign(&mut self, sources: Vec<(i32, Box<dyn Source>)>) -> Vec<kafka::Start> {
        self.report.health.kafka.ok();
        if sources.is_empty() {
            return Vec::new();
        }
        let numbers: Vec<i32> = sources.iter().map(|(partition, _)| *partition).collect();
        tracing::info!(partitions = ?numbers, "assigned");
        self.report.telemetry.rebalance(Rebalance::Assigned);
        if self.finishing {
            return Vec::new();
        }
        // A queue has one reader: what is still owned, which the group's protocol rules out, is taken from its worker before
        // the new tenure begins on the same one.
        let workers: Vec<usize> = numbers.iter().map(|partition| self.vacate(*partition)).collect();
        let takeovers = match self.exactly_once {
            None => None,
            Some(reset) => match self.survey(&numbers).await.map(|found| decide(found, reset)) {
                Some(Ok(takeovers)) => Some(takeovers),
                Some(Err(fatal)) => {
                    self.later.push_front(Control::Fatal(fatal));
                    return Vec::new();
                }
                // The process ends: nothing is read.
                None => return Vec::new(),
            },
        };
        let mut starts = Vec::new();
        for (index, (partition, source)) in sources.into_iter().enumerate() {
            self.generation += 1;
            let tenure = Tenure { partition, generation: self.generation };
            let worker = match workers[index] {
                usize::MAX => self.least_busy(),
                worker => worker,
            };
            let (journal, name, cut) = match &takeovers {
                None => {
                    let name = Name { topic: self.topic.clone(), era: rand::rng().random() };
                    (Journal::at_least_once(), name, None)
                }
                Some((topic, takeovers)) => {
                    let Some(takeover) = takeovers.iter().find(|(of, _)| *of == partition).map(|(_, t)| t) else {
                        continue;
                    };
                    self.report.taken_over(partition, takeover);
                    starts.push(kafka::Start { partition, offset: Some(takeover.start) });
                    let cut = Cut { start: takeover.start, ends: takeover.forced.iter().copied().collect() };
                    let name = Name { topic: topic.clone(), era: takeover.era };
                    (Journal::exactly_once(topic, takeover), name, Some(cut))
                }
            };
            self.partitions.insert(partition, Partition::new(tenure, worker, journal, name));
            self.workers[worker].tell(Command::Take { tenure, source, cut });
        }
        starts
    }

    /// Ends what there may be of a former tenure. Gives its worker, or a number that no worker has.
    fn vacate(&mut self, partition: i32) -> usize {
        let Some(mut old) = self.partitions.remove(&partition) else { return usize::MAX };
        old.end();
        self.workers[old.worker].tell(Command::Forget(old.tenure));
        old.worker
    }

    fn least_busy(&self) -> usize {
        let load = |worker: usize| self.partitions.values().filter(|partition| partition.worker == worker).count();
        (0..self.workers.len()).min_by_key(|&worker| load(worker)).unwrap_or(0)
    }

    /// Reads what the group holds, for as long as it takes. The flow of the other partitions goes on meanwhile. `None` when
    /// the process is to end.
    async fn survey(&mut self, partitions: &[i32]) -> Option<Found> {
        let given_up = GivenUp::default();
        let (ledger, events, report) = (self.committer.ledger(), self.events_back.clone(), self.report.clone());
        let (flag, partitions) = (given_up.0.clone(), partitions.to_vec());
        tokio::task::spawn_blocking(move || {
            let mut pause = AGAIN.0;
            while !flag.load(Ordering::SeqCst) {
                let entries = ledger.committed(&partitions);
                match entries.and_then(|entries| Ok(Found { entries, survey: ledger.survey(&partitions)? })) {
                    Ok(found) => {
                        let _ = events.blocking_send(Event::Surveyed(found));
                        return;
                    }
                    Err(error) => {
                        let what = "what is committed can't be read, so nothing of the partition is; it is asked again";
                        report.trouble("takeover", what, &error);
                    }
                }
                std::thread::sleep(pause);
                pause = (pause * 2).min(AGAIN.1);
            }
        });
        self.found = None;
        let ending =
            |c: &Self| c.later.iter().any(|control| matches!(control, Control::Finish { .. } | Control::Fatal(_)));
        self.flow_until(Instant::now() + FOREVER, |c| c.found.is_some() || ending(c)).await;
        drop(given_up);
        self.found.take()
    }
}

/// Tells the thread that asks that nobody waits any more, also when the coordinator is dropped.
#[derive(Default)]
struct GivenUp(Arc<AtomicBool>);

impl Drop for GivenUp {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

type Takeovers = (Arc<str>, Vec<(i32, Takeover)>);

fn decide(found: Found, reset: Reset) -> Result<Takeovers, Fatal> {
    let Found { entries, survey } = found;
    let mut takeovers = Vec::new();
    for (partition, entry) in entries {
        let log = survey.watermarks.iter().find(|marks| marks.partition == partition);
        let log: Log = log.map_or(0..0, |marks| marks.low..marks.high);
        let takeover = take_over(entry, &survey.topic_id, &log, reset, rand::rng().random())
            .map_err(|_| Fatal::Newer(partition))?;
        takeovers.push((partition, takeover));
    }
    Ok((survey.topic_id.as_str().into(), takeovers))
}
