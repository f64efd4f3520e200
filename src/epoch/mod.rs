//! Epochs: what a `schema_version` means, on the wire and in the table.
//!
//! Everything here comes from the definition files under `ddl/epochs/`; the code knows no field and no column by name.
//! [`Registry`] is the validated whole; [`load`] reads and refuses, nothing else may build one.

mod column_type;
mod definition;
mod identify;
pub mod load;
mod proto_type;

pub use column_type::ColumnType;
pub use definition::{Column, Condition, Epoch, Field, Layout, Registry, Table, Ttl};
pub use identify::{Identity, Place, Unidentified};
pub use proto_type::{ProtoType, WireType};
