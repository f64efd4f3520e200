//! The bootstrap: the only one that creates objects in ClickHouse and topics in Kafka, from the definitions alone.
//!
//! [`Definitions`] is everything that is declared, [`pass`] brings a server there, [`assert_declared`] and
//! [`assert_insertable`] only look. Nothing here knows a table, a column or a topic by name.

mod apply;
mod assertion;
mod catalogue;
mod checksum;
mod clauses;
mod compare;
mod ddl;
mod definitions;
mod difference;
mod drift;
mod error;
mod lease;
mod ledger;
mod live;
mod manifest;
mod merge;
mod outcome;
mod overlay;
mod parameters;
mod pass;
mod patience;
mod planner;
mod platform;
mod probe;
pub(crate) mod publication;
mod releases;
mod render;
mod report;
mod retype;
mod role;
mod stop;
mod topic_pass;
mod topics;
mod unify;
mod view;

pub use assertion::{assert_declared, assert_insertable};
pub use catalogue::{Catalogue, LiveColumn, LiveTable, Mutation};
pub use clauses::Clauses;
pub use definitions::{Body, Definitions, ERRORS, LEASE, LEDGER, LoadError, Object};
pub use difference::{Difference, What};
pub use drift::{Drift, Part, Remedy};
pub use error::Error;
pub use lease::{Claim, Lease, Taken, Timing};
pub use ledger::Recorded;
pub use manifest::{DatabaseKey, Entry, Kind, Manifest, NameSource, Parameter};
pub use merge::Merge;
pub use outcome::{Action, Outcome};
pub use parameters::Parameters;
pub use pass::{Controller, pass};
pub use platform::Platform;
pub use releases::newer_release;
pub use render::Statement;
pub use report::{Report, State};
pub use role::Role as RoleDefinition;
pub use stop::Stop;
pub use topics::{NewTopic, Role, TopicDefinition, TopicShape, Topics, TopicsError};
pub use view::View;

#[cfg(test)]
mod gates;
#[cfg(test)]
mod platforms;
#[cfg(test)]
mod published;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod tests;
