//! The bootstrap: the only one that creates objects in ClickHouse and topics in Kafka, from the definitions alone.
//!
//! [`Definitions`] is everything that is declared, [`pass`] brings a server there, [`assert_declared`] and
//! [`assert_insertable`] only look. Nothing here knows a table, a column or a topic by name.

mod assertion;
mod catalogue;
mod definitions;
mod difference;
mod error;
mod manifest;
mod merge;
mod parameters;
mod pass;
mod render;
mod topics;
mod unify;
mod view;

pub use assertion::{assert_declared, assert_insertable};
pub use catalogue::{Catalogue, LiveColumn, LiveTable};
pub use definitions::{Body, Definitions, ERRORS, LoadError, Object};
pub use difference::{Difference, What};
pub use error::Error;
pub use manifest::{DatabaseKey, Entry, Kind, Manifest, NameSource, Parameter};
pub use merge::Merge;
pub use parameters::Parameters;
pub use pass::{Action, Outcome, Report, pass};
pub use render::Statement;
pub use topics::{NewTopic, TopicDefinition, Topics, TopicsError};
pub use view::View;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;
