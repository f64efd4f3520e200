//! The one place that owns the state of every partition.
//!
//! Workers report closed batches, writers report outcomes, the consumer's thread reports what the group decides; only this
//! task begins batches, moves floors and commits. It does the group's bidding one thing at a time, and the flow goes on
//! while it waits.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, Interval, MissedTickBehavior, interval, timeout_at},
};

use super::{
    committer::{Committer, Ledger, owned},
    event::{Closed, Control, Event, Events, Fatal, Unfinished},
    partition::Partition,
    report::Report,
    source::Source,
    tenure::Tenure,
    worker::{Command, Worker},
    writer::{Parcel, Writer},
};
use crate::{kafka, telemetry::Rebalance};

/// How often floors are committed.
const COMMIT: Duration = Duration::from_millis(500);
/// How long inserts under way may take to be answered when their partition is revoked: what is not acknowledged by then
/// is read again by the next owner, who waits meanwhile.
const REVOKE: Duration = Duration::from_secs(5);
/// How long a commit may take before the partition is given back, or the process ends, without it.
const LAST_COMMIT: Duration = Duration::from_secs(5);

/// The coordinator. Runs until every sender of events is gone, or something fatal happens.
pub(super) struct Coordinator {
    topic: Arc<str>,
    workers: Vec<Worker>,
    writer: Arc<Writer>,
    committer: Committer,
    report: Arc<Report>,
    events: mpsc::Receiver<Event>,
    /// What was asked while something else was being done.
    later: VecDeque<Control>,
    tick: Interval,
    partitions: BTreeMap<i32, Partition>,
    generation: u64,
    /// No partition is read any more.
    finishing: bool,
    settled: watch::Sender<BTreeSet<i32>>,
}

/// What a coordinator works with.
pub(super) struct Parts {
    pub(super) topic: Arc<str>,
    pub(super) workers: Vec<Worker>,
    pub(super) writer: Arc<Writer>,
    pub(super) ledger: Arc<dyn Ledger>,
    pub(super) report: Arc<Report>,
}

impl Coordinator {
    /// A coordinator that takes what comes through `receiver`; `events` is the other side of it. The watch tells which
    /// partitions have been read to their end with everything placed and committed.
    pub(super) fn new(
        parts: Parts,
        events: Events,
        receiver: mpsc::Receiver<Event>,
    ) -> (Self, watch::Receiver<BTreeSet<i32>>) {
        let Parts { topic, workers, writer, ledger, report } = parts;
        let (settled, seen) = watch::channel(BTreeSet::new());
        let mut tick = interval(COMMIT);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let coordinator = Self {
            topic,
            workers,
            writer,
            committer: Committer::new(ledger, events, report.clone()),
            report,
            events: receiver,
            later: VecDeque::new(),
            tick,
            partitions: BTreeMap::new(),
            generation: 0,
            finishing: false,
            settled,
        };
        (coordinator, seen)
    }

    /// Runs until it is dropped or can't go on.
    pub(super) async fn run(mut self) -> Fatal {
        loop {
            let control = match self.later.pop_front() {
                Some(control) => control,
                None => self.until_control().await,
            };
            match control {
                Control::Assigned { sources, reply } => {
                    self.assign(sources);
                    let _ = reply.send(Vec::new());
                }
                Control::Revoked { partitions, lost, reply } => {
                    self.revoke(&partitions, lost).await;
                    let _ = reply.send(());
                }
                Control::Finish { deadline, reply } => {
                    let unfinished = self.finish(deadline).await;
                    let _ = reply.send(unfinished);
                }
                Control::Fatal(fatal) => return fatal,
            }
        }
    }

    async fn until_control(&mut self) -> Control {
        loop {
            if let Some(control) = self.next().await {
                return control;
            }
        }
    }

    /// Goes on with the flow until `done`, or the deadline; says whether it was done. What is asked meanwhile waits.
    async fn flow_until(&mut self, deadline: Instant, done: impl Fn(&Self) -> bool) -> bool {
        while !done(self) {
            match timeout_at(deadline, self.next()).await {
                Err(_) => return done(self),
                Ok(Some(control)) => self.later.push_back(control),
                Ok(None) => {}
            }
        }
        true
    }

    /// Takes the next event, if it belongs to the flow; hands it out if not.
    async fn next(&mut self) -> Option<Control> {
        let event = tokio::select! {
            event = self.events.recv() => event.expect("the coordinator holds a sender"),
            _ = self.tick.tick() => {
                self.committer.begin(self.partitions.values());
                self.publish();
                return None;
            }
        };
        match event {
            Event::Control(control) => return Some(control),
            Event::Closed { tenure, closed } => self.send(tenure, closed),
            Event::AtEnd(tenure) => {
                if let Some(partition) = owned(&mut self.partitions, tenure) {
                    partition.reach_end();
                }
            }
            Event::Released(tenure) => {
                if let Some(partition) = owned(&mut self.partitions, tenure) {
                    partition.release();
                }
            }
            Event::Settled { tenure, batch, placed } => {
                if let Some(partition) = owned(&mut self.partitions, tenure) {
                    partition.settle(batch, placed);
                }
            }
            Event::Committed { offsets, result } => self.committer.committed(&mut self.partitions, &offsets, result),
            Event::ReadBack { result } => self.committer.read_back(&mut self.partitions, result),
            Event::Sight(sight) => self.look(&sight),
            Event::Trouble(error) => self.report.trouble("consumer", "the consumer has trouble and goes on", &error),
        }
        None
    }

    /// A batch is closed: from here on its range is known, and its blocks are sent.
    fn send(&mut self, tenure: Tenure, closed: Closed) {
        let Some(partition) = owned(&mut self.partitions, tenure).filter(|partition| !partition.is_stopped()) else {
            return;
        };
        let Closed { batch, held, shares } = closed;
        let number = partition.begin(batch.next, batch.blocks.len(), held, batch.counts);
        for (block, share) in batch.blocks.into_iter().zip(shares) {
            let parcel = Parcel { tenure, batch: number, block, share, stop: partition.stopped() };
            partition.sending.spawn(self.writer.clone().deliver(parcel));
        }
    }

    fn assign(&mut self, sources: Vec<(i32, Box<dyn Source>)>) {
        self.report.health.kafka.ok();
        if sources.is_empty() {
            return;
        }
        tracing::info!(partitions = ?sources.iter().map(|(partition, _)| partition).collect::<Vec<_>>(), "assigned");
        self.report.telemetry.rebalance(Rebalance::Assigned);
        if self.finishing {
            return;
        }
        for (partition, source) in sources {
            // A queue has one reader: what is still owned, which the group's protocol rules out, is taken from its worker
            // before the new tenure begins on the same one.
            let worker = match self.partitions.remove(&partition) {
                Some(old) => {
                    self.workers[old.worker].tell(Command::Forget(old.tenure));
                    old.worker
                }
                None => self.least_busy(),
            };
            self.generation += 1;
            let tenure = Tenure { partition, generation: self.generation };
            self.partitions.insert(partition, Partition::new(tenure, worker));
            self.workers[worker].tell(Command::Take { tenure, source });
        }
    }

    fn least_busy(&self) -> usize {
        let load = |worker: usize| self.partitions.values().filter(|partition| partition.worker == worker).count();
        (0..self.workers.len()).min_by_key(|&worker| load(worker)).unwrap_or(0)
    }

    /// Lets partitions go: what is acknowledged is committed, the rest is dropped and read again by the next owner.
    async fn revoke(&mut self, partitions: &[i32], lost: bool) {
        if partitions.is_empty() {
            return;
        }
        tracing::info!(?partitions, lost, "revoked");
        self.report.telemetry.rebalance(if lost { Rebalance::Lost } else { Rebalance::Revoked });
        // After a shutdown everything that could be committed is.
        let over = lost || self.finishing;
        for number in partitions {
            let Some(partition) = self.partitions.get_mut(number) else { continue };
            partition.stop();
            if over {
                partition.sending.abort_all();
            }
            self.workers[partition.worker].tell(Command::Forget(partition.tenure));
        }
        let gone = |partition: &Partition| if over { partition.is_released() } else { partition.is_quiet() };
        let deadline = Instant::now() + REVOKE;
        let all = |c: &Self| partitions.iter().filter_map(|partition| c.partitions.get(partition)).all(gone);
        self.flow_until(deadline, all).await;
        if !over {
            self.commit(|partition| partitions.contains(&partition.tenure.partition)).await;
        }
        for partition in partitions {
            self.partitions.remove(partition);
            self.report.telemetry.forget(&self.topic, *partition);
        }
    }

    /// Closes what is open, sends and commits what can be by the deadline.
    async fn finish(&mut self, deadline: Instant) -> Unfinished {
        self.finishing = true;
        for worker in &self.workers {
            worker.tell(Command::Finish);
        }
        self.flow_until(deadline, |c| c.partitions.values().all(Partition::is_quiet)).await;
        let batches = self.partitions.values().map(Partition::pending).sum();
        self.partitions.values_mut().for_each(|partition| {
            partition.stop();
            partition.sending.abort_all();
        });
        self.commit(|_| true).await;
        let uncommitted = self.partitions.values().filter(|partition| partition.to_commit().is_some()).count();
        Unfinished { batches, uncommitted }
    }

    /// Commits the floors of these partitions and waits for the answer, though not for ever.
    async fn commit(&mut self, which: impl Fn(&Partition) -> bool) {
        let deadline = Instant::now() + LAST_COMMIT;
        let idle = |c: &Self| !c.committer.is_busy();
        // If a commit failed just now, the first exchange only reads.
        for _ in 0..2 {
            if !self.flow_until(deadline, idle).await {
                return;
            }
            self.committer.begin(self.partitions.values().filter(|partition| which(partition)));
            self.flow_until(deadline, idle).await;
            if !self.partitions.values().any(|partition| which(partition) && partition.to_commit().is_some()) {
                return;
            }
        }
    }

    fn look(&mut self, sight: &kafka::Sight) {
        self.report.connected(sight.connected);
        for end in &sight.ends {
            if let Some(partition) = self.partitions.get_mut(&end.partition) {
                partition.end = Some(end.next);
            }
        }
    }

    /// Tells the gauges and whoever waits for the end.
    fn publish(&self) {
        for (number, partition) in &self.partitions {
            if let Some(lag) = partition.lag() {
                self.report.telemetry.lag(&self.topic, *number, lag);
            }
            if let Some(offset) = partition.committed {
                self.report.telemetry.committed(&self.topic, *number, offset);
            }
        }
        let settled: BTreeSet<_> =
            self.partitions.values().filter(|p| p.is_settled()).map(|p| p.tenure.partition).collect();
        self.settled.send_if_modified(|seen| {
            let changed = *seen != settled;
            *seen = settled;
            changed
        });
    }
}

/// The consumer's side of the coordinator: asks, and waits for the answer.
pub(super) struct Group {
    pub(super) events: Events,
}

impl Group {
    fn ask<T>(&self, control: impl FnOnce(oneshot::Sender<T>) -> Control) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.events.blocking_send(Event::Control(control(reply))).ok()?;
        answer.blocking_recv().ok()
    }
}

impl kafka::Listener for Group {
    fn assigned(&self, queues: Vec<(i32, kafka::Queue)>) -> Vec<kafka::Start> {
        let sources = queues.into_iter().map(|(partition, queue)| (partition, Box::new(queue) as Box<dyn Source>));
        let sources = sources.collect();
        self.ask(|reply| Control::Assigned { sources, reply }).unwrap_or_default()
    }

    fn revoked(&self, partitions: &[i32], lost: bool) {
        let partitions = partitions.to_vec();
        let _ = self.ask(|reply| Control::Revoked { partitions, lost, reply });
    }

    fn sight(&self, sight: kafka::Sight) {
        // One that is missed is followed by the next.
        let _ = self.events.try_send(Event::Sight(sight));
    }

    fn trouble(&self, error: kafka::Error) {
        let _ = self.events.try_send(Event::Trouble(error));
    }

    fn fatal(&self, error: kafka::Error) {
        let _ = self.events.blocking_send(Event::Control(Control::Fatal(Fatal::Consumer(error))));
    }
}

#[cfg(test)]
#[path = "coordinator_tests.rs"]
mod tests;
