//! The places of a record's values, by the newest names of their columns.

use crate::epoch::Registry;

/// The place of one value.
pub(super) type Slot = usize;

/// Every column of the newest epoch has a slot. A name that no epoch knows has one too, which no layout ever writes, so
/// that definitions with fewer columns just make smaller records.
#[derive(Debug)]
pub(super) struct Columns<'a> {
    registry: &'a Registry,
}

impl<'a> Columns<'a> {
    pub(super) fn new(registry: &'a Registry) -> Self {
        Self { registry }
    }

    /// How many slots there are.
    pub(super) fn count(&self) -> usize {
        self.registry.newest().columns.len() + 1
    }

    /// The slot of a column by the name that any epoch gives it, the newest first.
    pub(super) fn slot(&self, name: &str) -> Slot {
        let unknown = self.count() - 1;
        let epochs = self.registry.epochs();
        epochs
            .iter()
            .enumerate()
            .rev()
            .find_map(|(index, epoch)| {
                let position = epoch.column(name)?;
                (0..unknown).find(|slot| self.registry.history(*slot)[index] == Some(position))
            })
            .unwrap_or(unknown)
    }

    /// The slot of each column of an epoch, in the order of its table.
    pub(super) fn of_epoch(&self, index: usize) -> Vec<Slot> {
        let unknown = self.count() - 1;
        let mut slots = vec![unknown; self.registry.epochs()[index].columns.len()];
        for slot in 0..unknown {
            if let Some(position) = self.registry.history(slot)[index] {
                slots[position] = slot;
            }
        }
        slots
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
        assert_eq!(registry.newest().columns[slot].name, "inet_diag_cgroup_id");
        assert_eq!(columns.slot("no such column"), columns.count() - 1);

        let (index, oldest) = (0, &registry.epochs()[0]);
        let position = oldest.column("c_group").expect("the oldest has it");
        assert_eq!(columns.of_epoch(index)[position], slot);
    }
}
