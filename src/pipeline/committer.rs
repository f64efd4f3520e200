//! Writes of floors and intents, one at a time.
//!
//! A write that fails is never simply repeated: it may have taken place, and another member may own the partition by now.
//! What the group holds is read first.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use super::{
    event::{Event, Events},
    partition::Partition,
    proof::{Moment, Proof},
    report::Report,
    tenure::Tenure,
};
use crate::{
    delivery::{Entry, ReadBack},
    kafka,
};

/// How long the group's coordinator may take to say what is committed.
const PATIENCE: Duration = Duration::from_secs(10);

/// The group's offsets. Calls block.
pub(super) trait Ledger: Send + Sync + 'static {
    /// Writes what the group is to hold for each partition. `holds` says whether all of them are still this process's.
    fn commit(&self, entries: &[(i32, Entry)], holds: &dyn Fn() -> bool) -> Result<(), kafka::Error>;

    /// Reads what it holds for each partition.
    fn committed(&self, partitions: &[i32]) -> Result<Vec<(i32, Option<Entry>)>, kafka::Error>;

    /// Reads what there is of each partition.
    fn survey(&self, partitions: &[i32]) -> Result<kafka::Survey, kafka::Error>;

    /// Has a partition revoked and assigned again that was another member's for a while. It doesn't wait for that.
    fn retake(&self, partition: i32);
}

/// Plain commits.
impl Ledger for kafka::Offsets {
    fn commit(&self, entries: &[(i32, Entry)], _: &dyn Fn() -> bool) -> Result<(), kafka::Error> {
        let offsets: Vec<_> = entries.iter().map(|(partition, entry)| (*partition, entry.offset)).collect();
        Self::commit(self, &offsets)
    }

    fn committed(&self, partitions: &[i32]) -> Result<Vec<(i32, Option<Entry>)>, kafka::Error> {
        Self::committed(self, partitions, PATIENCE)
    }

    fn survey(&self, partitions: &[i32]) -> Result<kafka::Survey, kafka::Error> {
        Self::survey(self, partitions, PATIENCE)
    }

    fn retake(&self, partition: i32) {
        Self::retake(self, partition);
    }
}

/// Transactions, which a process that lost its partitions can't make.
impl Ledger for kafka::Transactions {
    fn commit(&self, entries: &[(i32, Entry)], holds: &dyn Fn() -> bool) -> Result<(), kafka::Error> {
        Self::commit(self, entries, holds)
    }

    fn committed(&self, partitions: &[i32]) -> Result<Vec<(i32, Option<Entry>)>, kafka::Error> {
        self.offsets().committed(partitions, PATIENCE)
    }

    fn survey(&self, partitions: &[i32]) -> Result<kafka::Survey, kafka::Error> {
        self.offsets().survey(partitions, PATIENCE)
    }

    fn retake(&self, partition: i32) {
        self.offsets().retake(partition);
    }
}

/// Writes floors and intents; one exchange with the group's coordinator is under way at most.
pub(super) struct Committer {
    ledger: Arc<dyn Ledger>,
    events: Events,
    report: Arc<Report>,
    proof: Arc<Proof>,
    busy: bool,
    /// The last write failed, and what the group has was not read since.
    doubt: bool,
}

impl Committer {
    pub(super) fn new(ledger: Arc<dyn Ledger>, events: Events, report: Arc<Report>, proof: Arc<Proof>) -> Self {
        Self { ledger, events, report, proof, busy: false, doubt: false }
    }

    /// Has a partition revoked and assigned again.
    pub(super) fn retake(&self, partition: i32) {
        self.ledger.retake(partition);
    }

    /// Whether an answer is awaited.
    pub(super) const fn is_busy(&self) -> bool {
        self.busy
    }

    /// Whether the last write failed, so that the next exchange only reads.
    pub(super) const fn is_in_doubt(&self) -> bool {
        self.doubt
    }

    pub(super) fn ledger(&self) -> Arc<dyn Ledger> {
        self.ledger.clone()
    }

    /// Begins to write what is not written, or to read what is written if that is in doubt. Does nothing while an answer is
    /// awaited. What is written already is written again when something is being sent and the last proof is old.
    pub(super) fn begin<'a>(&mut self, partitions: impl Iterator<Item = &'a mut Partition>) {
        if self.busy {
            return;
        }
        let partitions: Vec<_> = partitions.filter(|partition| !partition.is_foreign()).collect();
        if self.doubt {
            self.read(partitions.iter().map(|partition| partition.tenure).collect());
            return;
        }
        let again = self.proof.is_old() && partitions.iter().any(|partition| partition.is_sending());
        let (mut tenures, mut entries, mut alive) = (Vec::new(), Vec::new(), Vec::new());
        for partition in partitions {
            if let Some(entry) = partition.journal.to_write(again) {
                partition.journal.writing(entry.clone());
                tenures.push(partition.tenure);
                entries.push((partition.tenure.partition, entry));
                alive.push(partition.alive.clone());
            }
        }
        self.write(tenures, entries, alive);
    }

    fn write(&mut self, tenures: Vec<Tenure>, entries: Vec<(i32, Entry)>, alive: Vec<Arc<AtomicBool>>) {
        if entries.is_empty() {
            return;
        }
        self.exchange(move |ledger| {
            let begun = Moment::now();
            let holds = || alive.iter().all(|alive| alive.load(Ordering::SeqCst));
            Event::Committed { result: ledger.commit(&entries, &holds), tenures, begun }
        });
    }

    fn read(&mut self, tenures: Vec<Tenure>) {
        if tenures.is_empty() {
            self.doubt = false;
            return;
        }
        self.exchange(move |ledger| {
            let partitions: Vec<_> = tenures.iter().map(|tenure| tenure.partition).collect();
            let result = ledger.committed(&partitions).map(|committed| {
                let mut committed: BTreeMap<_, _> = committed.into_iter().collect();
                tenures.into_iter().map(|tenure| (tenure, committed.remove(&tenure.partition).flatten())).collect()
            });
            Event::ReadBack { result }
        });
    }

    fn exchange(&mut self, call: impl FnOnce(&dyn Ledger) -> Event + Send + 'static) {
        self.busy = true;
        let (ledger, events) = (self.ledger.clone(), self.events.clone());
        tokio::task::spawn_blocking(move || {
            let _ = events.blocking_send(call(&*ledger));
        });
    }

    /// Takes the answer to a write. What belongs to a tenure that has ended is left alone.
    pub(super) fn committed(
        &mut self,
        partitions: &mut BTreeMap<i32, Partition>,
        tenures: &[Tenure],
        begun: Moment,
        result: Result<(), kafka::Error>,
    ) {
        self.busy = false;
        if let Err(error) = result {
            self.doubt = true;
            self.report.commit_failed(&error);
            return;
        }
        self.proof.renew(begun);
        for tenure in tenures {
            if let Some(partition) = owned(partitions, *tenure) {
                partition.journal.written();
            }
        }
    }

    /// Takes the answer to a look at what is written. Gives the partitions that turn out to be somebody else's.
    pub(super) fn read_back(
        &mut self,
        partitions: &mut BTreeMap<i32, Partition>,
        result: Result<Vec<(Tenure, Option<Entry>)>, kafka::Error>,
    ) -> Vec<i32> {
        self.busy = false;
        let entries = match result {
            Err(error) => {
                self.report.commit_failed(&error);
                return Vec::new();
            }
            Ok(entries) => entries,
        };
        self.doubt = false;
        let mut foreign = Vec::new();
        for (tenure, entry) in entries {
            if let Some(partition) = owned(partitions, tenure)
                && partition.journal.read_back(entry) == ReadBack::Foreign
            {
                foreign.push(tenure.partition);
            }
        }
        foreign
    }
}

/// The partition, if this tenure of it lasts.
pub(super) fn owned(partitions: &mut BTreeMap<i32, Partition>, tenure: Tenure) -> Option<&mut Partition> {
    partitions.get_mut(&tenure.partition).filter(|partition| partition.tenure == tenure)
}
