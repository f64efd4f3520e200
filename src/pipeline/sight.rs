//! The coordinator as others see it: what it knows of the cluster, and what it tells the gauges.

use std::collections::BTreeSet;

use super::coordinator::Coordinator;
use crate::{kafka, telemetry::Memory};

impl Coordinator {
    /// Takes in what the consumer sees of the cluster.
    pub(super) fn look(&mut self, sight: &kafka::Sight) {
        self.report.connected(sight.connected);
        self.paused = sight.paused;
        // One that is paused isn't told of, and has nothing.
        self.partitions.values_mut().for_each(|partition| partition.queued = 0);
        for end in &sight.ends {
            if let Some(partition) = self.partitions.get_mut(&end.partition) {
                partition.end = Some(end.next);
                partition.queued = end.queued_bytes;
            }
        }
    }

    /// Tells the gauges and whoever waits for the end.
    pub(super) fn publish(&self) {
        self.pace.read(self.partitions.len());
        for (number, partition) in &self.partitions {
            if let Some(lag) = partition.lag() {
                self.report.telemetry.lag(&self.topic, *number, lag);
            }
            if let Some(offset) = partition.journal.held() {
                self.report.telemetry.committed(&self.topic, *number, offset);
            }
        }
        self.report.telemetry.memory(Memory {
            open: self.budget.open() as u64,
            sealed: self.budget.sealed() as u64,
            queued: self.partitions.values().map(|partition| partition.queued).sum(),
            paused: self.paused,
        });
        let settled: BTreeSet<_> =
            self.partitions.values().filter(|p| p.is_settled()).map(|p| p.tenure.partition).collect();
        self.settled.send_if_modified(|seen| {
            let changed = *seen != settled;
            *seen = settled;
            changed
        });
    }
}
