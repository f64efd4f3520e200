//! Messages into a lane, turn by turn, as `run` reads them.

use crate::lane::{Decoder, Lane, Message, TURN_BYTES, TURN_MESSAGES};

/// When a batch is closed.
#[derive(Debug, Clone, Copy)]
pub struct Full {
    /// At so many rows over all tables.
    pub rows: u64,
    /// At so many bytes of columns before compression.
    pub bytes: usize,
}

impl Full {
    /// Only at the end of the messages.
    pub const NEVER: Self = Self { rows: u64::MAX, bytes: usize::MAX };

    pub(super) const fn is_reached(self, rows: u64, bytes: usize) -> bool {
        rows >= self.rows || bytes >= self.bytes
    }
}

/// Pushes as many messages, offsets and values, as `run` reads into a lane in one turn, or closes a batch after.
pub fn turn<'m>(
    lane: &mut Lane,
    decoder: &mut Decoder,
    messages: &mut impl Iterator<Item = (i64, Option<&'m [u8]>)>,
    full: Full,
) {
    let (mut filling, mut bytes) = (lane.fill(decoder), 0);
    for (offset, payload) in messages.take(TURN_MESSAGES) {
        filling.push(Message { offset, time_ms: Some(0), payload });
        bytes += payload.map_or(0, <[u8]>::len);
        if bytes >= TURN_BYTES || full.is_reached(filling.rows(), filling.bytes()) {
            break;
        }
    }
}
