//! When a lane closes its batch.

use std::{sync::Arc, time::Instant};

use super::pace::Pace;
use crate::{
    config::{self, UnknownEpoch},
    telemetry::Closed,
};

/// So many times its age is a batch left open while more of its partition is there to be read.
const BACKLOG_AGE: u32 = 10;

/// What of its age the first batch of a partition is left open.
const FIRST_AGE: u32 = 10;

/// A batch is full at rows or bytes, and due at an age: whichever is first.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    batch: config::Batch,
    pace: Arc<Pace>,
    /// A partition waits before a record of an epoch without a definition.
    pub(super) holds: bool,
}

impl Limits {
    pub(super) const fn new(batch: config::Batch, pace: Arc<Pace>, unknown_epoch: UnknownEpoch) -> Self {
        Self { batch, pace, holds: matches!(unknown_epoch, UnknownEpoch::Hold) }
    }

    /// Whether no further message should go into the batch, and why.
    pub(super) fn full(&self, rows: u64, bytes: usize) -> Option<Closed> {
        if rows >= self.pace.rows(self.batch.rows) {
            Some(Closed::Rows)
        } else if bytes >= self.batch.bytes {
            Some(Closed::Bytes)
        } else {
            None
        }
    }

    /// When a batch whose oldest message came at `opened` is to be closed. As long as the partition is not read to its end,
    /// what is late is the backlog, and larger parts make that shorter. The first one after the partition changed hands is
    /// closed soon: what is in it has waited for its owner.
    pub(super) fn due(&self, opened: Instant, at_end: bool, is_first: bool) -> Instant {
        opened
            + match (at_end, is_first) {
                (true, false) => self.pace.age(self.batch.age),
                (true, true) => self.pace.age(self.batch.age) / FIRST_AGE,
                (false, _) => self.pace.age(self.batch.age * BACKLOG_AGE),
            }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn whichever_is_first() {
        let batch =
            config::Batch { rows: 10_000, bytes: 1000, age: Duration::from_secs(1), max_inserts_per_second: 20 };
        let pace = Pace::new(batch.max_inserts_per_second);
        let limits = Limits::new(batch, pace.clone(), UnknownEpoch::Divert);
        assert_eq!(limits.full(9999, 999), None);
        assert_eq!(limits.full(10_000, 0), Some(Closed::Rows));
        assert_eq!(limits.full(0, 1000), Some(Closed::Bytes));
        let opened = Instant::now();
        assert_eq!(limits.due(opened, true, false) - opened, Duration::from_secs(1));
        assert_eq!(limits.due(opened, false, false) - opened, Duration::from_secs(10));
        assert_eq!(limits.due(opened, true, true) - opened, Duration::from_millis(100));
        assert_eq!(limits.due(opened, false, true) - opened, Duration::from_secs(10), "a backlog was late before");
        pace.read(100);
        assert_eq!(limits.due(opened, true, false) - opened, Duration::from_secs(5));
        assert_eq!(limits.due(opened, false, false) - opened, Duration::from_secs(10));
        pace.refuse(10_000, opened);
        assert_eq!(limits.full(5000, 0), Some(Closed::Rows));
    }
}
