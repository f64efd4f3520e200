//! When a lane closes its batch.

use std::time::Instant;

use crate::{
    config::{self, UnknownEpoch},
    telemetry::Closed,
};

/// So many times its age is a batch left open while more of its partition is there to be read.
const BACKLOG_AGE: u32 = 10;

/// A batch is full at rows or bytes, and due at an age: whichever is first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    batch: config::Batch,
    /// A partition waits before a record of an epoch without a definition.
    pub(super) holds: bool,
}

impl Limits {
    pub(super) const fn new(batch: config::Batch, unknown_epoch: UnknownEpoch) -> Self {
        Self { batch, holds: matches!(unknown_epoch, UnknownEpoch::Hold) }
    }

    /// Whether no further message should go into the batch, and why.
    pub(super) const fn full(&self, rows: u64, bytes: usize) -> Option<Closed> {
        if rows >= self.batch.rows {
            Some(Closed::Rows)
        } else if bytes >= self.batch.bytes {
            Some(Closed::Bytes)
        } else {
            None
        }
    }

    /// When a batch whose oldest message came at `opened` is to be closed. As long as the partition is not read to its end,
    /// what is late is the backlog, and larger parts make that shorter.
    pub(super) fn due(&self, opened: Instant, at_end: bool) -> Instant {
        opened + self.batch.age * if at_end { 1 } else { BACKLOG_AGE }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn whichever_is_first() {
        let limits =
            Limits::new(config::Batch { rows: 10, bytes: 1000, age: Duration::from_secs(1) }, UnknownEpoch::Divert);
        assert_eq!(limits.full(9, 999), None);
        assert_eq!(limits.full(10, 0), Some(Closed::Rows));
        assert_eq!(limits.full(0, 1000), Some(Closed::Bytes));
        let opened = Instant::now();
        assert_eq!(limits.due(opened, true) - opened, Duration::from_secs(1));
        assert_eq!(limits.due(opened, false) - opened, Duration::from_secs(10));
    }
}
