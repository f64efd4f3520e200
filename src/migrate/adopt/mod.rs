//! Taking over from the ClickHouse-only topology: what of it is on the server, how its consumption is stopped, where this
//! service begins.
//!
//! There, a table with the Kafka engine reads the topic and materialized views write what it reads into the tables. Here
//! it is looked for, held against what this service can go on with, and stopped. Every step is in the ledger before it is
//! done and when it is done.

mod judge;
mod record;
mod seam;
mod steps;
mod topology;

pub use judge::Wanted;
pub use record::{KINDS, Moment, Record, Recorded};
pub use seam::{Gained, Verification, Verified, counts, moved};
pub use steps::{How, Part, restores};
pub use topology::{Feed, Reader, Topology};
