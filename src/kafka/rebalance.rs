//! The life of partitions as the group decides it, and who is told.

use super::{Error, Queue};

/// Where the reading of a partition starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// The partition.
    pub partition: i32,
    /// The offset; `None` for the one that the group committed, or `auto.offset.reset` if it committed none.
    pub offset: Option<i64>,
}

/// One partition's end as the broker last told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// The partition.
    pub partition: i32,
    /// The offset after the last message that may be read.
    pub next: i64,
    /// Bytes that wait in this client's queue.
    pub queued_bytes: u64,
}

/// The cluster as this member sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    /// Some broker is connected.
    pub connected: bool,
    /// The ends of the partitions that are read.
    pub ends: Vec<End>,
    /// Partitions that don't fetch because the queues of others take all the room.
    pub paused: usize,
}

/// Who is told. Every call comes on the consumer's thread, which serves the group with nothing else meanwhile: a call
/// may block, but not for longer than the group waits for a member that rebalances.
pub trait Listener: Send + Sync + 'static {
    /// These partitions are this member's from now on. Nothing is fetched before the call returns; it may name the
    /// offsets to start at.
    fn assigned(&self, queues: Vec<(i32, Queue)>) -> Vec<Start>;

    /// These partitions go. When the call returns their queues must have been dropped and nothing of them may be
    /// committed any more. With `lost` they are somebody else's already, and nothing may be committed at all.
    fn revoked(&self, partitions: &[i32], lost: bool);

    /// How things look, now and then.
    fn sight(&self, sight: Sight);

    /// Something failed that librdkafka mends by itself.
    fn trouble(&self, error: Error);

    /// The consumer can't go on.
    fn fatal(&self, error: Error);
}
