//! When each fault and oddity is due: spread evenly over the rows.

use std::collections::VecDeque;

/// Things with the row at which each is due, ascending.
#[derive(Debug)]
pub(super) struct Schedule<T>(VecDeque<(u64, T)>);

impl<T: Copy + Ord> Schedule<T> {
    pub(super) fn new(counts: impl Iterator<Item = (T, u64)>, rows: u64) -> Self {
        let mut due: Vec<(u64, T)> = counts
            .flat_map(|(thing, count)| {
                // In the middle of its share of the rows: at neither end, and not all kinds at one place.
                let at = move |n: u64| u128::from(2 * n + 1) * u128::from(rows) / (2 * u128::from(count));
                (0..count).map(move |n| (u64::try_from(at(n)).unwrap_or(rows), thing))
            })
            .collect();
        due.sort_unstable();
        Self(due.into())
    }

    /// The next thing that is due by this row.
    pub(super) fn take(&mut self, row: u64) -> Option<T> {
        self.0.front().filter(|(due, _)| *due <= row)?;
        self.take_any()
    }

    /// The next thing, due or not.
    pub(super) fn take_any(&mut self) -> Option<T> {
        self.0.pop_front().map(|(_, thing)| thing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_spread_over_the_rows() {
        let mut schedule = Schedule::new([('a', 2), ('b', 1)].into_iter(), 100);
        assert_eq!(schedule.take(24), None);
        assert_eq!(schedule.take(25), Some('a'));
        assert_eq!(schedule.take(25), None);
        assert_eq!(schedule.take(60), Some('b'));
        assert_eq!(schedule.take(60), None);
        assert_eq!(schedule.take_any(), Some('a'));
        assert_eq!(schedule.take_any(), None);
    }
}
