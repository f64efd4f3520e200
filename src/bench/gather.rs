//! Messages for a corpus, as many as there is room for in memory.

use std::{
    io::{self, Read as _},
    ops::ControlFlow,
};

use bytes::Bytes;

use crate::wire::read_varint;

/// Bytes that a message takes besides its own: its places in lists that grow by doubling.
const BESIDE: usize = 80;

/// Messages up to so many bytes.
#[derive(Debug)]
pub struct Gathering {
    messages: Vec<Bytes>,
    room: usize,
    is_cut: bool,
}

impl Gathering {
    /// No messages, and room for so many bytes.
    #[must_use]
    pub const fn new(room: usize) -> Self {
        Self { messages: Vec::new(), room, is_cut: false }
    }

    /// Adds a message. Breaks if there is no room for it.
    pub fn push(&mut self, message: Bytes) -> ControlFlow<()> {
        let Some(room) = self.room.checked_sub(message.len() + BESIDE) else {
            self.is_cut = true;
            return ControlFlow::Break(());
        };
        self.room = room;
        self.messages.push(message);
        ControlFlow::Continue(())
    }

    /// Adds the frames of a file of about `size` bytes, as many as there is room for.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn read(&mut self, file: impl io::Read, size: u64) -> io::Result<()> {
        // One byte more shows whether there is more.
        let most = self.room as u64 + 1;
        let mut bytes = Vec::with_capacity(usize::try_from(size.min(most)).unwrap_or(0) + 1);
        file.take(most).read_to_end(&mut bytes)?;
        let is_cut = bytes.len() > self.room;
        let mut frames = frames(bytes.into()).peekable();
        while let Some(frame) = frames.next() {
            // The last one of a file that is not read to its end may be a part of a frame.
            if is_cut && frames.peek().is_none() {
                self.is_cut = true;
            } else if self.push(frame).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Whether something was left out.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The messages.
    #[must_use]
    pub fn into_messages(self) -> Vec<Bytes> {
        self.messages
    }
}

/// The frames of a file, each a message of its own. From where the bytes are no frame on, the rest is one message.
fn frames(mut bytes: Bytes) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || {
        let end = read_varint(&bytes, 0)
            .ok()
            .and_then(|(length, start)| start.checked_add(usize::try_from(length).ok()?))
            .filter(|end| *end <= bytes.len())
            .unwrap_or(bytes.len());
        (end > 0).then(|| bytes.split_to(end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_all_of_a_file() {
        let cut = |bytes: &'static [u8]| frames(Bytes::from_static(bytes)).collect::<Vec<_>>();
        assert_eq!(cut(b""), Vec::<Bytes>::new());
        assert_eq!(cut(b"\x02ab\x00\x01c"), [&b"\x02ab"[..], b"\x00", b"\x01c"]);
        assert_eq!(cut(b"\x02ab\x09cd"), [&b"\x02ab"[..], b"\x09cd"]);
        assert_eq!(cut(b"\xff\xff"), [&b"\xff\xff"[..]]);
    }

    #[test]
    fn what_has_no_room_is_left_out() {
        const EACH: usize = 4 + BESIDE;
        let frame = |byte: u8| vec![3, byte, byte, byte];
        let file = [frame(1), frame(2), frame(3)].concat();
        for (room, whole, is_cut) in [
            (3 * EACH, 3, false),
            (3 * EACH - 1, 2, true),
            (2 * EACH, 2, true),
            (11, 0, true),
            (3, 0, true),
            (0, 0, true),
        ] {
            let mut gathering = Gathering::new(room);
            gathering.read(&file[..], 12).expect("a slice");
            assert_eq!((gathering.messages.len(), gathering.is_cut()), (whole, is_cut), "room for {room} bytes");
            // The next file finds no more room than there is.
            gathering.read(&frame(4)[..], 4).expect("a slice");
            assert!(gathering.is_cut() && gathering.into_messages().len() * EACH <= room, "room for {room} bytes");
        }
    }
}
