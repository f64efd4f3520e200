//! One record into one row: the hot path, and the careful path behind it.
//!
//! [`Row::fast`] predicts the layout and, field by field, the next field; the moment anything is odd it gives up and says no
//! more than that. [`Row::careful`] reads the record with every check and names what is wrong. They agree on every record
//! that the fast one accepts; a property test holds them to it.

use super::{
    plan::{NONE, Op, Plan},
    read::{Read, Unplaceable},
    varint::{Shifts, Squeeze},
};
use crate::{
    block::{Columns, Tile},
    epoch::{ColumnType, WireType},
    wire::{Cursor, RawField, Value},
};

/// How far beyond the start of a field the hot path may read: key, ten bytes of varint, rounded up to whole loads.
const REACH: usize = 32;

/// What a record leaves behind besides its row's fixed-width columns. Reused from record to record.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// Start and end in the message of each text column's value.
    pub texts: Vec<(usize, usize)>,
    /// Numbers of fields that the layout does not define.
    pub unknown: Vec<u32>,
    /// Text values that are not UTF-8.
    pub not_utf8: u64,
    /// The dictionaries that the record added a value to, in order.
    pub added: Vec<usize>,
}

impl Scratch {
    fn reset(&mut self, texts: usize) {
        self.texts.clear();
        self.texts.resize(texts, (0, 0));
        self.unknown.clear();
        self.not_utf8 = 0;
        self.added.clear();
    }
}

/// Why a record of a known layout can't be placed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Refused {
    /// The field came with another wire type.
    WireType { number: u32, column: Option<usize>, found: u8, expected: u8, at: usize },
    /// The field's value can't be stored.
    Value { number: u32, column: usize, why: Unplaceable },
}

/// The row being written, and where its parts go.
pub(super) struct Row<'a> {
    pub plan: &'a Plan,
    pub tile: &'a mut Tile,
    pub columns: &'a mut Columns,
    pub scratch: &'a mut Scratch,
}

impl Row<'_> {
    /// Decodes `message[start..end]` as a record of the plan's layout. `next` is the memory of which field follows which.
    ///
    /// `false` if anything at all is odd; the row is then to be abandoned.
    pub(super) fn fast(&mut self, next: &mut [u16], message: &[u8], start: usize, end: usize, pext: bool) -> bool {
        #[cfg(target_arch = "x86_64")]
        if pext {
            // SAFETY: `pext` is what `fast_pext()` returned, which asks the processor for BMI2.
            return unsafe { self.fast_bmi2(next, message, start, end) };
        }
        let _ = pext;
        self.fast_with::<Shifts>(next, message, start, end)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "bmi1,bmi2")]
    fn fast_bmi2(&mut self, next: &mut [u16], message: &[u8], start: usize, end: usize) -> bool {
        self.fast_with::<super::varint::Pext>(next, message, start, end)
    }

    #[inline(always)]
    fn fast_with<S: Squeeze>(&mut self, next: &mut [u16], message: &[u8], start: usize, end: usize) -> bool {
        self.scratch.reset(self.plan.texts);
        let plan = self.plan;
        let ops = &plan.ops[..];
        let row = self.tile.rows();
        let fast_end = end.min(message.len().saturating_sub(REACH));
        let mut at = start;
        let mut seen = 0;
        let mut before = ops.len() - 1;
        let mut expected = usize::from(next[before]);
        while at < fast_end {
            let word = load(message, at);
            let mut op = &ops[expected];
            if (word ^ op.key) & op.key_mask != 0 {
                // Mostly a field or two are absent that the record before had.
                op = &ops[expected + 1];
                expected += 1;
                if (word ^ op.key) & op.key_mask != 0 {
                    let Ok(found) = self.look_up(message, at, end) else { return false };
                    match found {
                        Found::Op(found) => expected = found,
                        Found::Unknown(after) => {
                            at = after;
                            expected -= 1;
                            continue;
                        }
                    }
                    op = &ops[expected];
                }
                next[before] = expected as u16;
            }
            at += op.key_len;
            let word = load(message, at);
            if let Read::Dictionary(text) | Read::Text(text) = op.read {
                let length = if word & 0x80 == 0 {
                    at += 1;
                    (word & 0x7f) as usize
                } else {
                    let Ok((length, after)) = crate::wire::read_varint(&message[..end], at) else { return false };
                    at = after;
                    if length > (end - at) as u64 {
                        return false;
                    }
                    length as usize
                };
                if length > end.wrapping_sub(at) || at > end {
                    return false;
                }
                self.store_bytes(op, text, message, at, at + length);
                at += length;
            } else {
                let raw = match op.wire {
                    WireType::Varint => {
                        let stop = !word & 0x8080_8080_8080_8080;
                        if stop != 0 {
                            at += (stop.trailing_zeros() as usize >> 3) + 1;
                            S::squeeze(word & (stop ^ stop.wrapping_sub(1)))
                        } else {
                            // Nine or ten bytes: 2^64 - 1 is in every record.
                            let tail = load(message, at + 8);
                            let ninth = tail & 0xff;
                            let tenth = tail >> 8 & 0xff;
                            let low = S::squeeze(word);
                            if ninth < 0x80 {
                                at += 9;
                                low | ninth << 56
                            } else if tenth <= 1 {
                                at += 10;
                                low | (ninth & 0x7f) << 56 | tenth << 63
                            } else {
                                return false;
                            }
                        }
                    }
                    WireType::Fixed64 => {
                        at += 8;
                        word
                    }
                    WireType::Fixed32 => {
                        at += 4;
                        word & 0xffff_ffff
                    }
                    WireType::Len => return false,
                };
                match op.read {
                    Read::Masked(mask) => store(self.tile, op, row, raw & mask),
                    Read::Version => {
                        if raw as u32 != plan.schema_version {
                            return false;
                        }
                        self.tile.store(op.offset, op.width, raw);
                    }
                    // A label that is not among the first 64 is rare enough for the careful path.
                    read => match read.convert(raw, |_| false) {
                        Ok(bits) => store(self.tile, op, row, bits),
                        Err(_) => return false,
                    },
                }
            }
            seen |= op.sign;
            before = expected;
            expected = usize::from(next[before]);
        }
        if at > end || !self.rest_is_plain(message, at, end, &mut seen) {
            return false;
        }
        seen == self.plan.signs
    }

    /// The last bytes of a message have no room for loads of eight bytes: these fields are read one by one.
    #[inline]
    fn rest_is_plain(&mut self, message: &[u8], at: usize, end: usize, seen: &mut u32) -> bool {
        if at == end {
            return true;
        }
        for field in Cursor::starting_at(&message[..end], at) {
            let Ok(field) = field else { return false };
            match self.plan.find(field.number) {
                NONE => self.scratch.unknown.push(field.number),
                op => {
                    let op = self.plan.ops[usize::from(op)];
                    let other_epoch = matches!((op.read, field.value),
                        (Read::Version, Value::Varint(version)) if version as u32 != self.plan.schema_version);
                    if other_epoch || self.place(&op, &field, message, |_, _| false).is_err() {
                        return false;
                    }
                    *seen |= op.sign;
                }
            }
        }
        true
    }

    /// Finds the operation for the key at `at`, or skips a field that the layout does not define.
    #[inline(never)]
    fn look_up(&mut self, message: &[u8], at: usize, end: usize) -> Result<Found, ()> {
        let (key, after) = crate::wire::read_varint(&message[..end], at).map_err(drop)?;
        let number = u32::try_from(key >> 3).map_err(drop)?;
        let found = self.plan.find(number);
        if found != NONE {
            let op = &self.plan.ops[usize::from(found)];
            // A padded key, or one of another wire type, is for the careful path.
            let plain = after - at == op.key_len && (key & 7) as u8 == op.wire as u8;
            return if plain { Ok(Found::Op(usize::from(found))) } else { Err(()) };
        }
        let mut cursor = Cursor::starting_at(&message[..end], at);
        match cursor.next() {
            Some(Ok(field)) => {
                self.scratch.unknown.push(field.number);
                Ok(Found::Unknown(cursor.position()))
            }
            _ => Err(()),
        }
    }

    #[inline(always)]
    fn store_bytes(&mut self, op: &Op, text: bool, message: &[u8], start: usize, end: usize) {
        if let Read::Dictionary(_) = op.read {
            let dictionary = self.columns.dictionary_mut(op.part);
            let values = dictionary.len();
            let index = dictionary.index(&message[start..end]);
            if dictionary.len() > values {
                self.scratch.added.push(op.part);
            }
            if text && !dictionary.is_utf8(index) {
                self.scratch.not_utf8 += 1;
            }
            store(self.tile, op, self.tile.rows(), u64::from(index));
        } else {
            self.scratch.texts[op.part] = (start, end);
            if text && !message[start..end].is_ascii() && std::str::from_utf8(&message[start..end]).is_err() {
                self.scratch.not_utf8 += 1;
            }
        }
    }

    /// Stores one field that was read with care. `has_label` is asked with the column for labels that the bits don't hold.
    fn place(
        &mut self,
        op: &Op,
        field: &RawField<'_>,
        message: &[u8],
        has_label: impl FnOnce(usize, i32) -> bool,
    ) -> Result<(), Refused> {
        let raw = match (op.wire as u8, field.value) {
            (0, Value::Varint(raw)) | (1, Value::Fixed64(raw)) => raw,
            (5, Value::Fixed32(raw)) => u64::from(raw),
            (2, Value::Len(bytes)) => {
                let start = bytes.as_ptr() as usize - message.as_ptr() as usize;
                let (Read::Dictionary(text) | Read::Text(text)) = op.read else { unreachable!("only bytes are Len") };
                self.store_bytes(op, text, message, start, start + bytes.len());
                return Ok(());
            }
            (expected, other) => {
                let column = (op.width > 0 || op.wire == WireType::Len).then_some(op.column);
                let (number, found, at) = (op.number, other.wire_type(), field.at);
                return Err(Refused::WireType { number, column, found, expected, at });
            }
        };
        let bits = op.read.convert(raw, |number| has_label(op.column, number)).map_err(|why| Refused::Value {
            number: op.number,
            column: op.column,
            why,
        })?;
        self.tile.store(op.offset, op.width, bits);
        Ok(())
    }

    /// Decodes a record that is known to be well-formed and of the plan's layout.
    ///
    /// # Errors
    /// The first field of a wrong wire type, or else the first whose last value can't be stored. The row is then to be
    /// abandoned.
    pub(super) fn careful(
        &mut self,
        types: &[&ColumnType],
        message: &[u8],
        start: usize,
        end: usize,
    ) -> Result<(), Refused> {
        self.scratch.reset(self.plan.texts);
        // The last value of a field counts, so a value that can't be stored is forgiven if another follows.
        let mut unplaceable: Vec<Refused> = Vec::new();
        for field in Cursor::starting_at(&message[..end], start).flatten() {
            let found = self.plan.find(field.number);
            if found == NONE {
                self.scratch.unknown.push(field.number);
                continue;
            }
            let op = self.plan.ops[usize::from(found)];
            unplaceable.retain(|refused| !matches!(refused, Refused::Value { number, .. } if *number == field.number));
            match self.place(&op, &field, message, |column, number| has_label(types[column], number)) {
                Ok(()) => {}
                Err(refused @ Refused::Value { .. }) => unplaceable.push(refused),
                Err(refused) => return Err(refused),
            }
        }
        match unplaceable.first() {
            Some(refused) => Err(*refused),
            None => Ok(()),
        }
    }
}

fn has_label(column_type: &ColumnType, number: i32) -> bool {
    match column_type {
        ColumnType::Enum8(labels) => labels.iter().any(|(_, value)| i32::from(*value) == number),
        ColumnType::Enum16(labels) => labels.iter().any(|(_, value)| i32::from(*value) == number),
        _ => false,
    }
}

enum Found {
    Op(usize),
    /// Skipped; the byte after it.
    Unknown(usize),
}

/// Eight bytes, little endian.
#[inline(always)]
fn load(message: &[u8], at: usize) -> u64 {
    debug_assert!(at + 8 <= message.len());
    // SAFETY: callers stay within REACH (32) bytes behind `fast_end`, which is REACH bytes before the message's end: a field
    // starts before `fast_end`, its key has at most 5 bytes, and the furthest load starts 8 bytes after the key.
    u64::from_le(unsafe { message.as_ptr().add(at).cast::<u64>().read_unaligned() })
}

/// Eight bytes of `bits` at the row's place. What goes beyond the column's width is zero and falls into rows that are not
/// written yet, or into the column's slack.
#[inline(always)]
fn store(tile: &mut Tile, op: &Op, row: usize, bits: u64) {
    let at = op.offset + row * op.width;
    let bytes = tile.bytes_mut();
    debug_assert!(at + 8 <= bytes.len() && (op.width == 8 || bits >> (8 * op.width) == 0));
    // SAFETY: `offset` is a column's start in this very shape's tile, `row` is below TILE_ROWS, and each column is followed
    // by 64 bytes of slack, so eight bytes are in the tile.
    unsafe { bytes.as_mut_ptr().add(at).cast::<u64>().write_unaligned(bits.to_le()) };
}
