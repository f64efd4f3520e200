//! Commits of the floors, one at a time.
//!
//! A commit that fails is never simply repeated: another member may own the partition by now and be ahead, and a plain
//! commit from a member that has rejoined would pass. What the group has is read first; the floor is written only where it
//! is ahead of that.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::{
    event::{Event, Events},
    partition::Partition,
    report::Report,
    tenure::Tenure,
};
use crate::kafka;

/// How long the group's coordinator may take to say what is committed.
const PATIENCE: Duration = Duration::from_secs(10);

/// The group's offsets. Calls block.
pub(super) trait Ledger: Send + Sync + 'static {
    /// Writes the offset after the last message that is done, for each partition.
    fn commit(&self, offsets: &[(i32, i64)]) -> Result<(), kafka::Error>;

    /// Reads what is written for each partition.
    fn committed(&self, partitions: &[i32]) -> Result<Vec<(i32, Option<i64>)>, kafka::Error>;
}

impl Ledger for kafka::Offsets {
    fn commit(&self, offsets: &[(i32, i64)]) -> Result<(), kafka::Error> {
        Self::commit(self, offsets)
    }

    fn committed(&self, partitions: &[i32]) -> Result<Vec<(i32, Option<i64>)>, kafka::Error> {
        Self::committed(self, partitions, PATIENCE)
    }
}

/// Writes floors; one exchange with the group's coordinator is under way at most.
pub(super) struct Committer {
    ledger: Arc<dyn Ledger>,
    events: Events,
    report: Arc<Report>,
    busy: bool,
    /// The last commit failed, and what the group has was not read since.
    doubt: bool,
}

impl Committer {
    pub(super) fn new(ledger: Arc<dyn Ledger>, events: Events, report: Arc<Report>) -> Self {
        Self { ledger, events, report, busy: false, doubt: false }
    }

    /// Whether an answer is awaited.
    pub(super) const fn is_busy(&self) -> bool {
        self.busy
    }

    /// Begins to write the floors that are not written, or to read what is written if that is in doubt. Does nothing
    /// while an answer is awaited.
    pub(super) fn begin<'a>(&mut self, partitions: impl Iterator<Item = &'a Partition>) {
        if self.busy {
            return;
        }
        if self.doubt {
            self.read(partitions.map(|partition| partition.tenure).collect());
        } else {
            self.write(partitions.filter_map(|partition| Some((partition.tenure, partition.to_commit()?))).collect());
        }
    }

    fn write(&mut self, offsets: Vec<(Tenure, i64)>) {
        if offsets.is_empty() {
            return;
        }
        self.exchange(move |ledger| {
            let list: Vec<_> = offsets.iter().map(|(tenure, offset)| (tenure.partition, *offset)).collect();
            Event::Committed { result: ledger.commit(&list), offsets }
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
                let committed: BTreeMap<_, _> = committed.into_iter().collect();
                tenures
                    .into_iter()
                    .map(|tenure| (tenure, committed.get(&tenure.partition).copied().flatten()))
                    .collect()
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

    /// Takes the answer to a commit. What belongs to a tenure that has ended is left alone.
    pub(super) fn committed(
        &mut self,
        partitions: &mut BTreeMap<i32, Partition>,
        offsets: &[(Tenure, i64)],
        result: Result<(), kafka::Error>,
    ) {
        self.busy = false;
        if let Err(error) = result {
            self.doubt = true;
            self.report.commit_failed(&error);
            return;
        }
        for (tenure, offset) in offsets {
            if let Some(partition) = owned(partitions, *tenure) {
                partition.committed = Some(*offset);
            }
        }
    }

    /// Takes the answer to a look at what is committed.
    pub(super) fn read_back(
        &mut self,
        partitions: &mut BTreeMap<i32, Partition>,
        result: Result<Vec<(Tenure, Option<i64>)>, kafka::Error>,
    ) {
        self.busy = false;
        match result {
            Err(error) => self.report.commit_failed(&error),
            Ok(offsets) => {
                self.doubt = false;
                for (tenure, offset) in offsets {
                    if let Some(partition) = owned(partitions, tenure) {
                        partition.read_back(offset);
                    }
                }
            }
        }
    }
}

/// The partition, if this tenure of it lasts.
pub(super) fn owned(partitions: &mut BTreeMap<i32, Partition>, tenure: Tenure) -> Option<&mut Partition> {
    partitions.get_mut(&tenure.partition).filter(|partition| partition.tenure == tenure)
}
