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
    sync::{mpsc, watch},
    time::{Instant, Interval, MissedTickBehavior, interval, timeout_at},
};

use super::{
    budget::{Budget, Share},
    committer::{Committer, Ledger, owned},
    event::{Closed, Control, Event, Events, Fatal, Found, Unfinished},
    pace::Pace,
    partition::Partition,
    proof::Proof,
    report::Report,
    splitter::{Messages, Splitter},
    tenure::Tenure,
    worker::{Command, Worker},
    writer::{Parcel, Writer},
};
use crate::{
    delivery::Reset,
    lane::{Block, Schema},
    telemetry::Rebalance,
};

/// How often floors are committed. Intents are as soon as a batch waits for one.
const COMMIT: Duration = Duration::from_millis(500);
/// How long the group has to say that a partition is not this process's, after the offsets said so. A member that was frozen
/// may have lost it and got it back without being told: it takes the partition once more then.
const RETAKE: Duration = Duration::from_secs(5);
/// How long the group may take in all.
const FOREIGN: Duration = Duration::from_secs(120);
/// How long inserts under way may take to be answered when their partition is revoked: what is not acknowledged by then
/// is read again by the next owner, who waits meanwhile.
const REVOKE: Duration = Duration::from_secs(5);
/// How much of that time what is open may take to be placed, if inserts are in order: then nobody has to read it again.
const DRAIN: Duration = Duration::from_secs(1);
/// How long a commit may take before the partition is given back, or the process ends, without it.
const LAST_COMMIT: Duration = Duration::from_secs(5);

/// The coordinator. Runs until every sender of events is gone, or something fatal happens.
pub(super) struct Coordinator {
    pub(super) topic: Arc<str>,
    /// Where to begin when the group holds nothing, if delivery is exactly once.
    pub(super) exactly_once: Option<Reset>,
    pub(super) workers: Vec<Worker>,
    writer: Arc<Writer>,
    splitter: Arc<Splitter>,
    pub(super) committer: Committer,
    pub(super) report: Arc<Report>,
    events: mpsc::Receiver<Event>,
    pub(super) events_back: Events,
    /// What was asked while something else was being done.
    pub(super) later: VecDeque<Control>,
    tick: Interval,
    pub(super) partitions: BTreeMap<i32, Partition>,
    pub(super) generation: u64,
    /// What the take-over that is under way waits for.
    pub(super) found: Option<Found>,
    /// No partition is read any more.
    pub(super) finishing: bool,
    pub(super) settled: watch::Sender<BTreeSet<i32>>,
    pub(super) budget: Arc<Budget>,
    pub(super) pace: Arc<Pace>,
    /// Partitions that don't fetch at the moment.
    pub(super) paused: usize,
}

/// What a coordinator works with.
pub(super) struct Parts {
    pub(super) topic: Arc<str>,
    pub(super) exactly_once: Option<Reset>,
    pub(super) workers: Vec<Worker>,
    pub(super) writer: Arc<Writer>,
    pub(super) schema: Arc<Schema>,
    pub(super) messages: Arc<dyn Messages>,
    pub(super) ledger: Arc<dyn Ledger>,
    pub(super) proof: Arc<Proof>,
    pub(super) report: Arc<Report>,
    pub(super) budget: Arc<Budget>,
    pub(super) pace: Arc<Pace>,
}

impl Coordinator {
    /// A coordinator that takes what comes through `receiver`; `events` is the other side of it. The watch tells which
    /// partitions have been read to their end with everything placed and committed.
    pub(super) fn new(
        parts: Parts,
        events: Events,
        receiver: mpsc::Receiver<Event>,
    ) -> (Self, watch::Receiver<BTreeSet<i32>>) {
        let Parts { topic, exactly_once, workers, writer, schema, messages, ledger, proof, report, budget, pace } =
            parts;
        let splitter = Arc::new(Splitter {
            writer: writer.clone(),
            messages,
            schema,
            topic: topic.clone(),
            events: events.clone(),
            report: report.clone(),
        });
        let (settled, seen) = watch::channel(BTreeSet::new());
        let mut tick = interval(COMMIT);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let coordinator = Self {
            topic,
            exactly_once,
            workers,
            writer,
            splitter,
            committer: Committer::new(ledger, events.clone(), report.clone(), proof),
            report,
            events: receiver,
            events_back: events,
            later: VecDeque::new(),
            tick,
            partitions: BTreeMap::new(),
            generation: 0,
            found: None,
            finishing: false,
            settled,
            budget,
            pace,
            paused: 0,
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
                    let starts = self.assign(sources).await;
                    let _ = reply.send(starts);
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
    pub(super) async fn flow_until(&mut self, deadline: Instant, done: impl Fn(&Self) -> bool) -> bool {
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
                self.committer.begin(self.partitions.values_mut());
                self.publish();
                self.retake();
                return self.foreign_for_too_long();
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
            Event::Committed { tenures, begun, result } => {
                self.committer.committed(&mut self.partitions, &tenures, begun, result);
                self.let_go();
            }
            Event::ReadBack { result } => {
                for partition in self.committer.read_back(&mut self.partitions, result) {
                    self.lose(partition);
                }
                self.let_go();
            }
            Event::Refused(parcel) => {
                if let Some(partition) = owned(&mut self.partitions, parcel.tenure) {
                    if partition.is_stopped() {
                        partition.settle(parcel.batch, false);
                    } else {
                        partition.refuse(parcel);
                    }
                }
                self.let_go();
            }
            Event::Intend { tenure, split, reply } => {
                if let Some(partition) = owned(&mut self.partitions, tenure) {
                    partition.intend(split, reply);
                }
                self.let_go();
            }
            Event::Apart { tenure, batch, epoch, refused } => {
                if let Some(partition) = owned(&mut self.partitions, tenure) {
                    partition.end_split(batch, epoch, refused);
                }
                self.let_go();
            }
            Event::Surveyed(found) => self.found = Some(found),
            Event::Identity(id) => {
                if self.partitions.values().any(|partition| !partition.is_of(&id)) {
                    return Some(Control::Fatal(Fatal::Recreated(self.topic.clone())));
                }
            }
            Event::Sight(sight) => self.look(&sight),
            Event::Waits { partition, offset, epoch } => {
                let what =
                    "a partition waits, as `unknown_epoch` is `hold`: restart with definitions that have the epoch";
                let which = format!("partition {partition}: offset {offset} holds a record of epoch {epoch}");
                self.report.trouble("unknown_epoch", what, &which);
            }
            Event::Trouble(error) => self.report.trouble("consumer", "the consumer has trouble and goes on", &error),
        }
        None
    }

    /// A batch is closed: its range is known, and its blocks are sent as soon as they may be.
    fn send(&mut self, tenure: Tenure, closed: Closed) {
        let Some(partition) = owned(&mut self.partitions, tenure).filter(|partition| !partition.is_stopped()) else {
            return;
        };
        let Closed { batch, held, shares } = closed;
        let may_be_known = partition.journal.is_recut(batch.next);
        let (number, range) = partition.begin(batch.first, batch.next, batch.blocks.len(), held, batch.counts);
        let parcel = |(block, share): (Block, Share)| Parcel {
            tenure,
            batch: number,
            range,
            token: partition.token(range, &block.target.table),
            may_be_known,
            block,
            share,
            stop: partition.stopped(),
        };
        let parcels = batch.blocks.into_iter().zip(shares).map(parcel).collect();
        partition.keep(number, parcels);
        self.let_go();
    }

    /// Sends what may be sent, and sees to it that what waits soon may.
    fn let_go(&mut self) {
        for partition in self.partitions.values_mut().filter(|partition| !partition.is_stopped()) {
            for parcel in partition.let_go() {
                partition.sending.spawn(self.writer.clone().deliver(parcel));
            }
            partition.tell_intended();
            if let Some((parcel, left)) = partition.next_to_split() {
                partition.sending.spawn(self.splitter.clone().run(parcel, left));
            }
        }
        let waits = |partition: &Partition| partition.journal.waits() || partition.is_intending();
        if !self.committer.is_in_doubt() && self.partitions.values().any(waits) {
            self.committer.begin(self.partitions.values_mut());
        }
    }

    /// The group's offset of a partition is not what this process wrote: the partition is somebody else's, and the group
    /// will say so.
    fn lose(&mut self, number: i32) {
        let Some(partition) = self.partitions.get_mut(&number) else { return };
        partition.lose();
        self.workers[partition.worker].tell(Command::Forget(partition.tenure));
        self.report.lost(number);
    }

    fn retake(&mut self) {
        for (number, partition) in &mut self.partitions {
            if partition.is_to_be_retaken(RETAKE) {
                self.committer.retake(*number);
            }
        }
    }

    fn foreign_for_too_long(&self) -> Option<Control> {
        let long = |partition: &Partition| partition.foreign_since().is_some_and(|since| since.elapsed() > FOREIGN);
        let (number, _) = self.partitions.iter().find(|(_, partition)| long(partition))?;
        Some(Control::Fatal(Fatal::Foreign(*number)))
    }

    /// Lets partitions go: what is read is placed if that is quick, what is acknowledged is committed, the rest is dropped and
    /// read again by the next owner.
    async fn revoke(&mut self, partitions: &[i32], lost: bool) {
        if partitions.is_empty() {
            return;
        }
        tracing::info!(?partitions, lost, "revoked");
        self.report.telemetry.rebalance(if lost { Rebalance::Lost } else { Rebalance::Revoked });
        // After a shutdown everything that could be committed is.
        let over = lost || self.finishing;
        let gone = |partition: &Partition| if over { partition.is_released() } else { partition.is_quiet() };
        let all = |c: &Self| partitions.iter().filter_map(|partition| c.partitions.get(partition)).all(gone);
        let begin = Instant::now();
        if !over && self.report.is_well() {
            for partition in partitions.iter().filter_map(|number| self.partitions.get(number)) {
                self.workers[partition.worker].tell(Command::Drain(partition.tenure));
            }
            self.flow_until(begin + DRAIN, all).await;
        }
        for number in partitions {
            let Some(partition) = self.partitions.get_mut(number) else { continue };
            partition.stop();
            if lost {
                partition.end();
            }
            if over {
                partition.sending.abort_all();
            }
            if !partition.is_released() {
                self.workers[partition.worker].tell(Command::Forget(partition.tenure));
            }
        }
        self.flow_until(begin + REVOKE, all).await;
        if !over {
            self.commit(|partition| partitions.contains(&partition.tenure.partition)).await;
        }
        for partition in partitions {
            if let Some(mut partition) = self.partitions.remove(partition) {
                partition.end();
            }
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
        let batches = self.partitions.values().map(|partition| partition.journal.pending()).sum();
        self.partitions.values_mut().for_each(|partition| {
            partition.stop();
            partition.sending.abort_all();
        });
        self.commit(|_| true).await;
        let uncommitted = self.partitions.values().filter(|partition| partition.has_more_to_commit()).count();
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
            self.committer.begin(self.partitions.values_mut().filter(|partition| which(partition)));
            self.flow_until(deadline, idle).await;
            if !self.partitions.values().any(|partition| which(partition) && partition.has_more_to_commit()) {
                return;
            }
        }
    }
}

#[cfg(test)]
#[path = "coordinator_tests.rs"]
mod tests;
