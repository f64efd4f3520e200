//! The commit floor: up to where every offset of a partition is wholly placed or diverted.

use std::collections::VecDeque;

/// The floor of one partition for as long as this process owns it. Batches begin in the order of the partition; their
/// parts are acknowledged in any order.
#[derive(Debug, Default)]
pub(super) struct Floor {
    /// Batches from the floor on, in the order in which they began.
    pending: VecDeque<Range>,
    /// The number of the batch at the front of `pending`.
    front: u64,
    floor: Option<i64>,
}

#[derive(Debug)]
struct Range {
    next: i64,
    /// Parts that are not acknowledged yet.
    parts: usize,
}

impl Floor {
    /// A batch of `parts` parts that ends before `next` begins. Returns its number. A batch without parts is done at
    /// once.
    pub(super) fn begin(&mut self, next: i64, parts: usize) -> u64 {
        let number = self.front + self.pending.len() as u64;
        self.pending.push_back(Range { next, parts });
        self.advance();
        number
    }

    /// One more part of that batch is acknowledged. Says whether it was the last.
    pub(super) fn acknowledge(&mut self, number: u64) -> bool {
        let Some(index) = number.checked_sub(self.front).and_then(|index| usize::try_from(index).ok()) else {
            return false;
        };
        let Some(range) = self.pending.get_mut(index) else { return false };
        range.parts = range.parts.saturating_sub(1);
        let whole = range.parts == 0;
        self.advance();
        whole
    }

    /// What may be committed: the offset after the last one of an unbroken row of done batches. `None` before the
    /// first is done.
    pub(super) const fn offset(&self) -> Option<i64> {
        self.floor
    }

    /// Batches that are not done, or wait for one before them.
    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    fn advance(&mut self) {
        while let Some(range) = self.pending.front().filter(|range| range.parts == 0) {
            self.floor = Some(range.next);
            self.pending.pop_front();
            self.front += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_batch_without_parts_is_done_at_once_but_waits_its_turn() {
        let mut floor = Floor::default();
        assert_eq!(floor.offset(), None);
        let first = floor.begin(10, 1);
        floor.begin(20, 0);
        assert_eq!((floor.offset(), floor.pending()), (None, 2));
        assert!(floor.acknowledge(first));
        assert_eq!((floor.offset(), floor.pending()), (Some(20), 0));
    }

    #[test]
    fn an_acknowledgement_of_what_is_done_changes_nothing() {
        let mut floor = Floor::default();
        let first = floor.begin(10, 1);
        assert!(floor.acknowledge(first));
        let second = floor.begin(20, 1);
        assert!(!floor.acknowledge(first));
        assert_eq!(floor.offset(), Some(10));
        assert!(floor.acknowledge(second));
        assert_eq!(floor.offset(), Some(20));
    }

    #[derive(Debug, Clone)]
    enum Step {
        /// A batch of that many offsets and parts.
        Begin(i64, usize),
        /// One of the outstanding parts is acknowledged.
        Acknowledge(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (1_i64..50, 0_usize..4).prop_map(|(length, parts)| Step::Begin(length, parts)),
            any::<usize>().prop_map(Step::Acknowledge),
        ]
    }

    proptest! {
        /// Whatever the order of acknowledgements, the floor is the end of the longest row of whole batches, and so
        /// never beyond an offset with an unacknowledged part; once all are in, it is the end.
        #[test]
        fn never_passes_what_is_not_placed(steps in prop::collection::vec(step(), 1..200)) {
            let mut floor = Floor::default();
            // The end of each batch and its outstanding parts.
            let mut batches: Vec<(i64, usize)> = Vec::new();
            let mut outstanding: Vec<usize> = Vec::new();
            let rest = std::iter::repeat_n(Step::Acknowledge(0), 1000);
            for step in steps.into_iter().chain(rest) {
                match step {
                    Step::Begin(length, parts) => {
                        let end = batches.last().map_or(0, |(end, _)| *end) + length;
                        outstanding.extend(std::iter::repeat_n(batches.len(), parts));
                        prop_assert_eq!(floor.begin(end, parts), batches.len() as u64);
                        batches.push((end, parts));
                    }
                    Step::Acknowledge(_) if outstanding.is_empty() => {}
                    Step::Acknowledge(index) => {
                        let batch = outstanding.swap_remove(index % outstanding.len());
                        batches[batch].1 -= 1;
                        prop_assert_eq!(floor.acknowledge(batch as u64), batches[batch].1 == 0);
                    }
                }
                let whole = batches.iter().take_while(|(_, parts)| *parts == 0).last().map(|(end, _)| *end);
                prop_assert_eq!(floor.offset(), whole);
            }
            prop_assert_eq!(floor.offset(), batches.last().map(|(end, _)| *end));
            prop_assert_eq!(floor.pending(), 0);
        }
    }
}
