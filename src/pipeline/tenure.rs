//! Which assignment of a partition something belongs to.

use std::fmt;

/// One partition for as long as this process owns it without a break. The same partition, revoked and assigned again, is
/// another tenure: what is still under way for the old one must not count for the new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Tenure {
    /// The partition.
    pub(super) partition: i32,
    /// Counts the assignments of this process.
    pub(super) generation: u64,
}

impl fmt::Display for Tenure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "partition {}", self.partition)
    }
}
