//! One partition's way from message to sealed blocks: frames → records → epoch → columns.
//!
//! No I/O and no clock. What comes out depends on the messages and their offsets alone (invariant 3): blocks are gathered in
//! offset order, and nothing in them tells when or in which company a message was read.

mod batch;
mod decode;
mod divert;
mod fast;
#[allow(clippy::module_inception)] // the room is named after what it makes
mod lane;
mod memory;
mod plan;
mod read;
mod reason;
mod route;
mod rows;
mod schema;
mod section;
mod steps;
#[cfg(test)]
mod tests;
mod unknown;
mod varint;

pub use batch::{Batch, Block, Counts, Identity, Target};
pub use divert::Diverted;
pub use lane::{Lane, SECTION_ROWS};
pub use reason::Reason;
pub use route::{Decoder, Filling, Outcome};
pub use rows::RowSource;
pub use schema::Schema;

/// Bytes of message values that a worker reads into one lane before another has its turn: enough for the decoder to work in
/// bulk, too little for a partition with a long backlog to hold up the others.
pub const TURN_BYTES: usize = 1 << 20;

/// Messages in such a turn at most.
pub const TURN_MESSAGES: usize = 512;

/// One message as the lane sees it; the payload stays where the Kafka client put it.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// Its offset.
    pub offset: i64,
    /// Its time stamp in milliseconds since 1970, if it has one.
    pub time_ms: Option<i64>,
    /// Its value; `None` for a null value.
    pub payload: Option<&'a [u8]>,
}
