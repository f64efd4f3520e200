//! The protocol of exactly-once delivery, without I/O and without a clock.
//!
//! Where a batch ends depends on time: on its age, on memory, on a shutdown. So that whoever takes a partition over sends
//! the same blocks once more and not others beside them, the end of a batch is written into the group's offsets before any
//! row of it is sent, as an *intent*. The offset says up to where everything is settled; the intents after it say which
//! batches may have been sent, wholly or in part. A new owner cuts exactly those again, under the same tokens, and
//! ClickHouse drops what it has.
//!
//! ```text
//! closed → intended (the group's coordinator has its end) → sent → acknowledged → below the floor → committed
//! ```
//!
//! It is not the transport: `kafka` commits and fences, `pipeline` sends.

mod entry;
mod intents;
mod journal;
#[cfg(test)]
mod model;
mod split;
mod takeover;
mod token;

pub use entry::Entry;
pub use intents::{Intents, Unreadable};
pub use journal::{AHEAD, Journal, Range, ReadBack};
pub use split::{Next, Split, Step};
pub use takeover::{Log, Notice, Reset, Takeover, take_over};
pub use token::token;
