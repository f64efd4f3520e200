//! Everything that the coordinator is told, in one queue: what one sender reports arrives in its order.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::{budget::Share, proof::Moment, source::Source, tenure::Tenure, writer::Parcel};
use crate::{
    delivery::{Entry, Split},
    kafka,
    lane::Batch,
    telemetry::Held,
};

/// Where events go. Bounded: a thread that is ahead of the coordinator waits.
pub(super) type Events = mpsc::Sender<Event>;

/// How many events may wait.
pub(super) const QUEUE: usize = 1024;

/// Something that happened to a partition, a batch or the group.
pub(super) enum Event {
    /// The group or the operator wants something; may take a while.
    Control(Control),
    /// A lane closed a batch.
    Closed { tenure: Tenure, closed: Closed },
    /// A lane has read its partition to the end and holds nothing.
    AtEnd(Tenure),
    /// A worker let go of a lane and its queue.
    Released(Tenure),
    /// A block is placed or given up.
    Settled { tenure: Tenure, batch: u64, placed: bool },
    /// The server refuses a block for some of its rows.
    Refused(Parcel),
    /// A block is taken apart so far; the reply comes when that is written.
    Intend { tenure: Tenure, split: Split, reply: oneshot::Sender<()> },
    /// A block was taken apart to its end, so many of its rows being diverted.
    Apart { tenure: Tenure, batch: u64, epoch: Option<u32>, refused: u64 },
    /// A write to the group's offsets, begun at that moment, has its answer.
    Committed { tenures: Vec<Tenure>, begun: Moment, result: Result<(), kafka::Error> },
    /// What the group holds, read after a write failed.
    ReadBack { result: Result<Vec<(Tenure, Option<Entry>)>, kafka::Error> },
    /// What the group holds of partitions that are being taken over, and what there is of them.
    Surveyed(Found),
    /// The identity that the topic has now.
    Identity(String),
    /// The cluster as the consumer sees it.
    Sight(kafka::Sight),
    /// A lane waits before a message, for the definition of an epoch.
    Waits { partition: i32, offset: i64, epoch: u32 },
    /// Something failed that mends itself.
    Trouble(kafka::Error),
}

/// What a take-over stands on.
pub(super) struct Found {
    pub(super) entries: Vec<(i32, Option<Entry>)>,
    pub(super) survey: kafka::Survey,
}

/// A batch on its way out of its lane.
pub(super) struct Closed {
    pub(super) batch: Batch,
    /// Its pieces in the ledger.
    pub(super) held: Held,
    /// The bytes of each block on the account.
    pub(super) shares: Vec<Share>,
}

/// What the coordinator does one at a time.
pub(super) enum Control {
    /// Partitions come; nothing is fetched before the reply.
    Assigned { sources: Vec<(i32, Box<dyn Source>)>, reply: oneshot::Sender<Vec<kafka::Start>> },
    /// Partitions go; they are somebody else's after the reply.
    Revoked { partitions: Vec<i32>, lost: bool, reply: oneshot::Sender<()> },
    /// Close what is open, finish what is under way by the deadline, commit.
    Finish { deadline: tokio::time::Instant, reply: oneshot::Sender<Unfinished> },
    /// The process can't go on.
    Fatal(Fatal),
}

/// What a shutdown left for the next owner to read again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Unfinished {
    /// Batches that were not acknowledged in time.
    pub(super) batches: usize,
    /// Partitions whose last offsets could not be committed.
    pub(super) uncommitted: usize,
}

/// Why the process can't go on.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fatal {
    /// The consumer is out of order for good.
    #[error("the consumer can't go on: {0}")]
    Consumer(kafka::Error),
    /// A bug: the thread is gone and its partitions with it.
    #[error("lane worker {0} panicked; its partitions can't be read any more")]
    Worker(usize),
    /// A later version was at work here.
    #[error(
        "partition {0} was last owned by a later version of this service, which may have sent batches that this one can't \
         tell; run that version, or later"
    )]
    Newer(i32),
    /// Kafka gives messages from before those it gave.
    #[error(
        "partition {partition} went back from offset {from} to {to}: the topic was created again, or its end was lost; a \
         new start sees which, and goes on from there"
    )]
    WentBack { partition: i32, from: i64, to: i64 },
    /// The topic is another one.
    #[error(
        "topic {0} was deleted and created again while it was read; a new start reads the new one from its beginning"
    )]
    Recreated(Arc<str>),
    /// Somebody else writes offsets of a partition that the group gave to this process.
    #[error(
        "partition {0} is this process's, and somebody else committed for it; a new start goes on from what is committed"
    )]
    Foreign(i32),
}
