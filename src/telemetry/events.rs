//! What can be told of the flow: the values that are recorded, without their metrics.

/// Bytes that the flow holds.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Open batches.
    pub open: u64,
    /// Sealed blocks that are not acknowledged.
    pub sealed: u64,
    /// Messages in the Kafka client's queues.
    pub queued: u64,
    /// Partitions that don't fetch, for want of room there.
    pub paused: usize,
}

/// What came of an insert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The server has the rows.
    Acknowledged,
    /// It has not, or did not say.
    Failed,
}

/// What closed a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// Its number of rows.
    Rows,
    /// Its size.
    Bytes,
    /// Its age.
    Age,
    /// The memory of all batches together.
    Memory,
    /// A shutdown, or the end of what was to be read.
    Drain,
    /// A former owner of the partition had ended it there.
    Intent,
}

/// A change of this process's partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rebalance {
    /// Partitions came.
    Assigned,
    /// Partitions were taken in order.
    Revoked,
    /// Partitions were gone before this process heard of it.
    Lost,
    /// The offsets of a partition turned out to be another member's.
    Foreign,
}

impl Rebalance {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Assigned, Self::Revoked, Self::Lost, Self::Foreign];

    /// What the metric calls it.
    pub(super) const fn code(self) -> &'static str {
        match self {
            Self::Assigned => "assigned",
            Self::Revoked => "revoked",
            Self::Lost => "lost",
            Self::Foreign => "foreign",
        }
    }
}

/// What may be found when a partition is taken over.
pub(super) const TAKEOVERS: [&str; 8] =
    ["continued", "first", "missing", "foreign", "corrupt", "recreated", "expired", "truncated"];
