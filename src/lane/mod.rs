//! One partition's way from message to sealed blocks: frames → records → epoch → columns.
//!
//! No I/O and no clock of its own beyond the one it is told. What comes out depends on the messages and their offsets
//! alone (invariant 3).

mod batch;
mod reason;

pub use batch::{Batch, Block, Counts, Target};
pub use reason::Reason;

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
