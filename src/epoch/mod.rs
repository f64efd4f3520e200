//! Epochs: what a `schema_version` means, on the wire and in the table.
//!
//! Everything here comes from the definition files under `ddl/epochs/`; the code knows no field and no column by name.
//! [`Registry`] is the validated whole; [`load`] reads and refuses, nothing else may build one.

mod aliases;
mod codec;
mod column_type;
mod definition;
#[cfg(test)]
mod every_type;
mod fits;
mod identify;
mod layouts;
pub mod load;
mod parse_type;
mod proto_type;
mod raw;
mod table;

pub use column_type::ColumnType;
pub use definition::{Column, Condition, Days, Deduplication, Epoch, Field, Layout, PlainTable, Registry, Table, Ttl};
#[cfg(test)]
pub(crate) use every_type::EVERY_TYPE;
pub use identify::{Identity, Place, Unidentified};
pub use layouts::SCHEMA_VERSION;
pub use parse_type::TypeError;
pub use proto_type::{ProtoType, WireType};
