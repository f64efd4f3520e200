//! The places of a record's values, by the names that any epoch gives its columns.

use crate::epoch::Registry;

/// The place of one value.
pub(super) type Slot = usize;

/// A column has one slot under all names that it had, also one that the newest epoch doesn't have any more. A name that no
/// epoch knows has one too, which no layout ever writes, so that definitions with fewer columns just make smaller records.
#[derive(Debug)]
pub(super) struct Columns<'a> {
    registry: &'a Registry,
    /// For each epoch the slot of each column.
    slots: Vec<Vec<Slot>>,
    count: usize,
}

impl<'a> Columns<'a> {
    pub(super) fn new(registry: &'a Registry) -> Self {
        let epochs = registry.epochs();
        let mut slots: Vec<Vec<Option<Slot>>> = epochs.iter().map(|epoch| vec![None; epoch.columns.len()]).collect();
        let mut count = 0;
        for index in (0..epochs.len()).rev() {
            for (at, column) in epochs[index].columns.iter().enumerate() {
                let slot = *slots[index][at].get_or_insert_with(|| {
                    count += 1;
                    count - 1
                });
                let Some(before) = index.checked_sub(1) else { continue };
                if let Some(was) = epochs[before].column(column.was.as_ref().unwrap_or(&column.name)) {
                    slots[before][was] = Some(slot);
                }
            }
        }
        let slots =
            slots.into_iter().map(|epoch| epoch.into_iter().map(|slot| slot.unwrap_or(count)).collect()).collect();
        Self { registry, slots, count: count + 1 }
    }

    /// How many slots there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The slot of a column by the name that any epoch gives it, the newest first.
    pub(super) fn slot(&self, name: &str) -> Slot {
        let epochs = self.registry.epochs().iter().zip(&self.slots).rev();
        let mut known = epochs.filter_map(|(epoch, slots)| Some(slots[epoch.column(name)?]));
        known.next().unwrap_or(self.count - 1)
    }

    /// The slot of each column of an epoch, in the order of its table.
    pub(super) fn of_epoch(&self, index: usize) -> &[Slot] {
        &self.slots[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::load;

    #[test]
    fn a_column_has_one_slot_under_all_its_names() {
        let registry = load::embedded().expect("good definitions");
        let columns = Columns::new(&registry);
        let slot = columns.slot("inet_diag_cgroup_id");
        assert_eq!(columns.slot("c_group"), slot);
        assert_eq!(columns.slot("no such column"), columns.count() - 1);
        for name in ["inet_diag_cgroup_id", "c_group"] {
            for (index, epoch) in registry.epochs().iter().enumerate() {
                let Some(position) = epoch.column(name) else { continue };
                assert_eq!(columns.of_epoch(index)[position], slot, "{name} of epoch {}", epoch.number);
            }
        }
    }
}
