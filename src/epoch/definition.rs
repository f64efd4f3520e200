//! The validated shape of the definitions: plain data, in the order of the files.

use super::{ColumnType, ProtoType, WireType};

/// All epochs that this process can place, ascending by number.
#[derive(Debug, Clone)]
pub struct Registry {
    pub(super) epochs: Vec<Epoch>,
}

impl Registry {
    /// The epochs, ascending by number. There is at least one.
    #[must_use]
    pub fn epochs(&self) -> &[Epoch] {
        &self.epochs
    }

    /// The epoch of that `schema_version`, if there is a definition for it.
    #[must_use]
    pub fn get(&self, number: u32) -> Option<&Epoch> {
        self.epochs.iter().find(|e| e.number == number)
    }

    /// The epoch with the highest number: its column names are the ones that views over all epochs show.
    ///
    /// # Panics
    /// Never: a registry without an epoch can't be built.
    #[must_use]
    pub fn newest(&self) -> &Epoch {
        self.epochs.last().expect("a registry has an epoch")
    }
}

/// One epoch: one physical table, one set of column names, one or more layouts on the wire.
#[derive(Debug, Clone)]
pub struct Epoch {
    /// The value of `schema_version`.
    pub number: u32,
    /// The table that its records land in.
    pub table: Table,
    /// The columns in table order.
    pub columns: Vec<Column>,
    /// The layouts, most specific first; exactly the last one has no condition.
    pub layouts: Vec<Layout>,
}

impl Epoch {
    /// The position of the column of that name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }

    /// Whether the column at that position is filled from a `bytes` field, in whatever layout.
    #[must_use]
    pub fn holds_bytes(&self, column: usize) -> bool {
        let mut fields = self.layouts.iter().flat_map(|layout| &layout.fields);
        fields.any(|field| field.column == column && field.proto == ProtoType::Bytes)
    }
}

/// A table that no record lands in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainTable {
    /// The table.
    pub table: Table,
    /// Its columns in table order.
    pub columns: Vec<Column>,
}

/// What a table is besides its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The name without the database.
    pub name: String,
    /// The engine as a plain variant with its parameters, for instance `MergeTree`.
    pub engine: String,
    /// The sorting key, one expression each.
    pub order_by: Vec<String>,
    /// When rows leave.
    pub ttl: Option<Ttl>,
    /// How far back a block that is sent again is known, if that is declared.
    pub deduplication: Option<Deduplication>,
    /// Table settings in the order of the file, each with its value as SQL writes it.
    pub settings: Vec<(String, String)>,
}

/// Retention: rows leave when `column` is older than the number of days; 0 days is no TTL at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ttl {
    /// A `DateTime` or `DateTime64` column of the table.
    pub column: String,
    /// After how many days.
    pub days: Days,
}

/// A number of days.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Days {
    /// What the manifest parameter of that name says.
    Parameter(String),
    /// The same everywhere.
    Fixed(u16),
}

/// The window in which a table knows the token of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deduplication {
    /// The last so many blocks.
    pub blocks: u32,
    /// And, where tables are replicated, no longer than this many seconds.
    pub seconds: u32,
}

/// One column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The name in this epoch.
    pub name: String,
    /// The type, canonical: as the server reports it.
    pub column_type: ColumnType,
    /// The codec as the server reports it, without `CODEC(…)`.
    pub codec: Option<String>,
    /// The `DEFAULT` expression, if any.
    pub default: Option<String>,
    /// The name that this column has in the epoch before, where it differs.
    pub was: Option<String>,
}

/// One way in which an epoch's fields are numbered on the wire.
#[derive(Debug, Clone)]
pub struct Layout {
    /// A name for logs and for `inspect`, unique in the epoch.
    pub name: String,
    /// How a record shows that it has this layout: all must hold. Empty for an epoch's default layout.
    pub when: Vec<Condition>,
    /// The fields, ascending by number.
    pub fields: Vec<Field>,
}

/// A sign of a layout: some occurrence of field `number` has wire type `wire`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Condition {
    /// The field number.
    pub number: u32,
    /// The wire type.
    pub wire: WireType,
}

/// One field of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// The field number ("tag") on the wire.
    pub number: u32,
    /// The protobuf type.
    pub proto: ProtoType,
    /// The position of its column in [`Epoch::columns`].
    pub column: usize,
}
