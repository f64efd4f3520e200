//! How a message value is cut: into records that can be decoded, and pieces that can't.
//!
//! A message is one or more frames, each a varint length and an `Envelope` whose only field holds the records. Every byte
//! of the message ends in exactly one piece (lengths and keys of what was cut well belong to nobody). A frame is looked
//! through before its first record is handed out, since a foreign field late in a frame condemns all of it.

use super::{Cut, CutKind, ENVELOPE_RECORDS, Hint, NoEnvelope, read_varint};

/// A piece of a message value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// The bytes of one record.
    Record {
        /// The 0-based index of the record in the message.
        index: u32,
        /// Where it starts in the message.
        at: usize,
        /// The record.
        bytes: &'a [u8],
    },
    /// Bytes that can't be cut into records.
    Refused {
        /// What is wrong.
        cut: Cut,
        /// The piece, whole.
        bytes: &'a [u8],
    },
}

/// Iterates over the pieces of one message value.
#[derive(Debug, Clone)]
pub struct Pieces<'a> {
    message: &'a [u8],
    /// The next byte to read.
    at: usize,
    /// Up to where the current frame's records are known to be good.
    records_end: usize,
    /// The piece after the current frame's last good record.
    pending: Option<Piece<'a>>,
    frame: u32,
    record: u32,
}

/// The record key as every encoder writes it.
const RECORD_KEY: u8 = (ENVELOPE_RECORDS as u8) << 3 | 2;

impl<'a> Pieces<'a> {
    /// Cuts a message of length-delimited frames.
    #[must_use]
    pub const fn delimited(message: &'a [u8]) -> Self {
        Self { message, at: 0, records_end: 0, pending: None, frame: 0, record: 0 }
    }

    /// Cuts a message of a Confluent header and one envelope without a length.
    #[must_use]
    pub fn confluent(message: &'a [u8]) -> Self {
        let mut pieces = Self::delimited(message);
        match confluent_payload(message) {
            Some(start) => {
                pieces.at = start;
                pieces.open_frame(0, message.len());
            }
            None => pieces.refuse_rest(CutKind::NoConfluentHeader, 0),
        }
        pieces
    }

    /// Ends the message with one piece from `from` on.
    fn refuse_rest(&mut self, kind: CutKind, from: usize) {
        let hint = self.hint(kind, from);
        let cut = Cut { kind, at: from, frame: self.frame, hint };
        self.pending = Some(Piece::Refused { cut, bytes: &self.message[from..] });
        self.at = self.message.len();
        self.records_end = self.at;
    }

    fn hint(&self, kind: CutKind, from: usize) -> Option<Hint> {
        let rest = &self.message[from..];
        if kind == CutKind::EmptyFrame {
            // With good frames before it, another framing would refuse those as well.
            return (from == 0).then_some(Hint::ConfluentHeader);
        }
        if from == 0 && is_bare_envelope(rest) {
            return Some(Hint::NoLengthPrefix);
        }
        let (_, inner) = read_varint(rest, 0).ok()?;
        let (length, start) = read_varint(rest, inner).ok()?;
        let doubled = rest.get(start) == Some(&RECORD_KEY) && length == (rest.len() - start) as u64;
        doubled.then_some(Hint::DoubleLengthPrefix)
    }

    /// Reads the next frame's length and looks the frame through. `false` at the end of the message.
    fn next_frame(&mut self) -> bool {
        let from = self.at;
        if from == self.message.len() {
            return false;
        }
        let Ok((length, start)) = read_varint(self.message, from) else {
            self.refuse_rest(CutKind::LengthUnreadable, from);
            return true;
        };
        let left = self.message.len() - start;
        if length == 0 {
            if from > 0 || left > 0 {
                self.refuse_rest(CutKind::EmptyFrame, from);
            } else {
                self.at = start;
            }
            return true;
        }
        match usize::try_from(length) {
            Ok(length) if length <= left => {
                self.at = start;
                self.open_frame(from, start + length);
            }
            _ => self.refuse_rest(CutKind::LengthBeyondMessage { length, left }, from),
        }
        true
    }

    /// Looks through the envelope `self.at..end` of the frame that starts at `from`.
    fn open_frame(&mut self, from: usize, end: usize) {
        let envelope = &self.message[..end];
        let mut at = self.at;
        self.records_end = end;
        let mut ahead = at;
        while at < end {
            let record_at = at;
            ahead = prefetch(envelope, ahead, at + AHEAD);
            let kind = match record_span(envelope, at) {
                Ok((_, record_end)) => {
                    at = record_end;
                    continue;
                }
                Err(kind) => kind,
            };
            // What looks like a broken first frame may be an envelope that nobody put a length before: then its first
            // byte was read as one, and no frame is to be believed.
            if from == 0 && is_bare_envelope(self.message) {
                return self.refuse_rest(CutKind::NoEnvelope { at: 0, key: 0, why: NoEnvelope::IsBare }, 0);
            }
            let (piece_at, piece_end) = match kind {
                CutKind::NoEnvelope { .. } => return self.refuse_rest(kind, from),
                CutKind::ForeignField { .. } => (from, end),
                _ => (record_at, end),
            };
            let hint = if piece_at == from { self.hint(kind, from) } else { None };
            let cut = Cut { kind, at: piece_at, frame: self.frame, hint };
            self.pending = Some(Piece::Refused { cut, bytes: &self.message[piece_at..piece_end] });
            self.records_end = if piece_at == from { self.at } else { record_at };
            break;
        }
    }

    /// Where reading goes on after the current frame's pieces.
    fn close_frame(&mut self) {
        if let Some(Piece::Refused { cut, bytes }) = self.pending {
            self.at = cut.at + bytes.len();
            self.records_end = self.at;
        }
    }
}

/// The bytes of the record whose key is at `at`: start and end.
#[inline]
fn record_span(envelope: &[u8], at: usize) -> Result<(usize, usize), CutKind> {
    // As nearly every record starts: a key as usual, and two bytes of length.
    if let Some([RECORD_KEY, low @ 0x80..=0xff, high @ 1..=0x7f]) = envelope.get(at..at + 3) {
        let (start, length) = (at + 3, usize::from(low & 0x7f) | usize::from(*high) << 7);
        if length <= envelope.len() - start {
            return Ok((start, start + length));
        }
    }
    record_span_with_care(envelope, at)
}

/// The same for whatever is there.
fn record_span_with_care(envelope: &[u8], at: usize) -> Result<(usize, usize), CutKind> {
    let start = if envelope[at] == RECORD_KEY { at + 1 } else { other_key(envelope, at)? };
    let (length, start) = read_varint(envelope, start).map_err(|fault| {
        if fault.kind.is_truncation() {
            return CutKind::RecordLengthCutOff;
        }
        CutKind::NoEnvelope { at: start, key: 0, why: NoEnvelope::VarintTooLong }
    })?;
    let left = envelope.len() - start;
    match usize::try_from(length) {
        Ok(length) if length <= left => Ok((start, start + length)),
        _ => Err(CutKind::RecordBeyondFrame { length, left }),
    }
}

/// A key at `at` that isn't written as usual: where it ends when it is a record's all the same.
#[cold]
fn other_key(envelope: &[u8], at: usize) -> Result<usize, CutKind> {
    let no = |key, why| Err(CutKind::NoEnvelope { at, key, why });
    let (key, end) = match read_varint(envelope, at) {
        Ok(read) => read,
        Err(fault) if fault.kind.is_truncation() => return no(0, NoEnvelope::KeyCutOff),
        Err(_) => return no(0, NoEnvelope::VarintTooLong),
    };
    let (number, wire) = (key >> 3, (key & 7) as u8);
    match (number, wire) {
        (0 | 0x2000_0000.., _) => no(key, NoEnvelope::FieldNumber),
        (_, 6..) => no(key, NoEnvelope::WireType),
        (_, 4) => no(key, NoEnvelope::GroupEnd),
        (number, 2) if number == u64::from(ENVELOPE_RECORDS) => Ok(end),
        _ => Err(CutKind::ForeignField { number: u32::try_from(number).unwrap_or(u32::MAX), wire, at }),
    }
}

/// How far ahead of the record that is looked at memory is asked for, in bytes.
const AHEAD: usize = 8 << 10;

/// Asks for the bytes from `from` to `to`; returns where to go on. Looking a frame through jumps from record to record and would
/// wait for memory each time.
#[inline]
fn prefetch(envelope: &[u8], from: usize, to: usize) -> usize {
    let to = to.min(envelope.len());
    let mut at = from;
    while at < to {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch reads nothing, and the address is that of a byte of the envelope.
        unsafe {
            std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T1 }>(envelope.as_ptr().add(at).cast());
        }
        at += 64;
    }
    at
}

/// Whether all of `bytes` is records of an envelope, at least one.
#[cold]
fn is_bare_envelope(bytes: &[u8]) -> bool {
    let mut at = 0;
    while at < bytes.len() {
        match record_span(bytes, at) {
            Ok((_, end)) => at = end,
            Err(_) => return false,
        }
    }
    at > 0
}

/// Where the envelope starts behind a Confluent header: a 0 byte, four bytes of schema id, the message indexes as zigzag
/// varints with their count before them.
fn confluent_payload(message: &[u8]) -> Option<usize> {
    if message.first() != Some(&0) || message.len() < 6 {
        return None;
    }
    let (count, mut at) = read_varint(message, 5).ok()?;
    if count & 1 == 1 {
        // Fewer than none.
        return None;
    }
    for _ in 0..(count >> 1) {
        at = read_varint(message, at).ok()?.1;
    }
    Some(at)
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    #[inline]
    fn next(&mut self) -> Option<Piece<'a>> {
        loop {
            if self.at < self.records_end {
                // The frame was looked through: this reads what was read before.
                if let Ok((at, end)) = record_span(&self.message[..self.records_end], self.at) {
                    self.at = end;
                    let index = self.record;
                    self.record += 1;
                    return Some(Piece::Record { index, at, bytes: &self.message[at..end] });
                }
                self.at = self.records_end;
            }
            if self.pending.is_some() {
                self.close_frame();
                return self.pending.take();
            }
            if self.at > 0 {
                self.frame += 1;
            }
            if !self.next_frame() {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests;
