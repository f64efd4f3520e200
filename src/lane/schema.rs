//! The definitions, compiled for decoding and shared by all lanes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::{Identity, Target, divert, plan::Plan};
use crate::{
    block::{Columns, Shape, Tile, sample},
    config::Framing,
    epoch::{ColumnType, Registry},
    wire::Pieces,
};

/// Everything that a lane needs to know, compiled once.
#[derive(Debug)]
pub struct Schema {
    pub(super) registry: Registry,
    /// By position in the registry.
    pub(super) epochs: Vec<EpochPlan>,
    pub(super) errors: TablePlan,
    /// Positions of the epochs whose number fits one byte of varint.
    by_version: [Option<u16>; 0x80],
    pub(super) framing: Framing,
    targets: Vec<Arc<Target>>,
    spare: Mutex<Spare>,
}

/// Emptied blocks and tiles, by position in [`Schema::targets`].
#[derive(Debug)]
struct Spare {
    columns: Vec<Vec<Columns>>,
    tiles: Vec<Vec<Tile>>,
    /// Bytes of memory in all of them.
    bytes: usize,
}

/// One epoch, compiled.
#[derive(Debug)]
pub(super) struct EpochPlan {
    pub table: TablePlan,
    /// By position in the epoch's layouts.
    pub layouts: Vec<Plan>,
}

/// One table, compiled.
#[derive(Debug)]
pub(super) struct TablePlan {
    pub shape: Shape,
    pub target: Arc<Target>,
}

/// Memory of emptied blocks that is kept for reuse, in bytes: mapping fresh memory for every block costs as much as decoding
/// into it.
const SPARE_BYTES: usize = 64 << 20;

impl Schema {
    /// Compiles the definitions. `errors` is the name of the error table.
    ///
    /// # Panics
    /// If a field does not fit its column, which a registry never holds.
    #[must_use]
    pub fn new(registry: &Registry, errors: &str, framing: Framing) -> Arc<Self> {
        let epochs: Vec<EpochPlan> = registry
            .epochs()
            .iter()
            .map(|epoch| {
                let columns: Vec<_> = epoch.columns.iter().map(|c| (c.name.as_str(), &c.column_type)).collect();
                let key: Vec<_> = epoch.table.order_by.iter().map(String::as_str).collect();
                let leaves_by = epoch.table.ttl.as_ref().map(|ttl| ttl.column.as_str());
                let identity = identity(&columns, &key, &[], leaves_by);
                let table = TablePlan::new(&epoch.table.name, Some(epoch.number), &columns, identity);
                let layouts = epoch.layouts.iter().map(|layout| Plan::new(epoch, layout, &table.shape)).collect();
                EpochPlan { table, layouts }
            })
            .collect();
        let columns = divert::columns();
        let columns: Vec<_> = columns.iter().map(|(name, column_type)| (*name, column_type)).collect();
        let identity = identity(&columns, &divert::TEXTS, &divert::SELECTIVE, None);
        let errors = TablePlan::new(errors, None, &columns, identity);
        let targets =
            epochs.iter().map(|epoch| &epoch.table).chain([&errors]).map(|table| Arc::clone(&table.target)).collect();
        let none = || epochs.iter().map(|_| ()).chain([()]);
        let spare = Mutex::new(Spare {
            columns: none().map(|()| Vec::new()).collect(),
            tiles: none().map(|()| Vec::new()).collect(),
            bytes: 0,
        });
        let mut by_version = [None; 0x80];
        for (position, epoch) in registry.epochs().iter().enumerate() {
            if let Some(entry) = by_version.get_mut(epoch.number as usize) {
                *entry = u16::try_from(position).ok();
            }
        }
        Arc::new(Self { by_version, registry: registry.clone(), epochs, errors, framing, targets, spare })
    }

    /// The tables that blocks go to: epochs ascending, then the error table.
    #[must_use]
    pub fn targets(&self) -> &[Arc<Target>] {
        &self.targets
    }

    /// What a message value holds, piece by piece, under the configured framing.
    #[inline]
    pub(super) fn pieces<'a>(&self, payload: &'a [u8]) -> Pieces<'a> {
        match self.framing {
            Framing::Delimited => Pieces::delimited(payload),
            Framing::Confluent => Pieces::confluent(payload),
        }
    }

    /// The position of the epoch of a version that fits one byte of varint.
    #[inline]
    pub(super) fn epoch(&self, version: u8) -> Option<usize> {
        self.by_version.get(usize::from(version)).copied().flatten().map(usize::from)
    }

    /// The definitions that this was compiled from.
    #[must_use]
    pub const fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Shape of the table at a position of [`Schema::targets`].
    #[must_use]
    pub fn shape(&self, target: usize) -> &Shape {
        &self.table(target).shape
    }

    /// One of [`super::Block::samples`] without a row, for the table at that position.
    #[must_use]
    pub fn empty_sample(&self, target: usize) -> Bytes {
        let TablePlan { shape, target } = self.table(target);
        sample(shape, &Columns::new(shape), &target.identity.columns, None).into()
    }

    pub(super) fn table(&self, target: usize) -> &TablePlan {
        self.epochs.get(target).map_or(&self.errors, |epoch| &epoch.table)
    }

    /// An empty block for the table at that position.
    pub(super) fn columns(&self, target: usize) -> Columns {
        let mut spare = self.spare();
        let found = spare.columns[target].pop();
        spare.bytes -= found.as_ref().map_or(0, Columns::reserved);
        drop(spare);
        found.unwrap_or_else(|| Columns::new(self.shape(target)))
    }

    /// An empty tile for the table at that position.
    #[cold]
    pub(super) fn tile(&self, target: usize) -> Tile {
        let mut spare = self.spare();
        let found = spare.tiles[target].pop();
        spare.bytes -= found.as_ref().map_or(0, Tile::bytes);
        drop(spare);
        match found {
            Some(mut tile) => {
                tile.clear();
                tile
            }
            None => Tile::new(self.shape(target)),
        }
    }

    /// Takes a block back that is no longer needed.
    pub(super) fn recycle(&self, target: usize, mut columns: Columns) {
        let mut spare = self.spare();
        for tile in columns.clear() {
            if spare.bytes + tile.bytes() <= SPARE_BYTES {
                spare.bytes += tile.bytes();
                spare.tiles[target].push(tile);
            }
        }
        if spare.bytes + columns.reserved() <= SPARE_BYTES {
            spare.bytes += columns.reserved();
            spare.columns[target].push(columns);
        }
    }

    fn spare(&self) -> MutexGuard<'_, Spare> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TablePlan {
    fn new(table: &str, epoch: Option<u32>, columns: &[(&str, &ColumnType)], identity: Identity) -> Self {
        let names = columns.iter().map(|(name, column_type)| ((*name).to_owned(), column_type.to_string())).collect();
        Self {
            shape: Shape::new(columns.iter().copied()),
            target: Arc::new(Target { table: table.to_owned(), epoch, columns: names, identity }),
        }
    }
}

/// All columns of fixed width tell rows apart, and the texts among `key`.
fn identity(columns: &[(&str, &ColumnType)], key: &[&str], selective: &[&str], leaves_by: Option<&str>) -> Identity {
    let tells = |(name, column_type): &(&str, &ColumnType)| match column_type {
        // One may be equal to nothing, itself included.
        ColumnType::Float32 | ColumnType::Float64 => false,
        other => other.width().is_some() || key.contains(name),
    };
    let all: Vec<usize> = (0..columns.len()).filter(|at| tells(&columns[*at])).collect();
    let position = |name: &str| all.iter().copied().find(|at| columns[*at].0 == name);
    let selective = selective.iter().filter_map(|name| position(name)).collect();
    let leaves_by = leaves_by.and_then(position);
    Identity { columns: all, selective, leaves_by }
}
