//! The protobuf wire format: varints, the field cursor, and how a message is cut into records. No I/O, no allocation.
//!
//! This is the careful reading: every step checks its bounds and names the fault. The hot path in `lane` reads faster and
//! falls back to this whenever anything looks odd, so what is said here is what counts.

mod cursor;
mod cut;
mod fault;
mod pieces;
mod varint;

pub use cursor::{Cursor, RawField, Value};
pub use cut::{Cut, CutKind, Hint, NoEnvelope};
pub use fault::{Fault, FaultKind};
pub use pieces::{Piece, Pieces};
pub use varint::read_varint;

/// The envelope's only field: its records.
pub const ENVELOPE_RECORDS: u32 = 10;
