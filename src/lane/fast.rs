//! The hot path: a record as its daemon wrote the one before.
//!
//! It predicts the layout, field by field the next field, and whole stretches of text, and checks each prediction against the
//! bytes. The moment anything is odd it gives up and says no more than that; [`super::decode`] then reads the record with care.
//! Both agree on every record that this one accepts: a property test holds them to it.

use super::{
    decode::Row,
    memory::{Memo, Memory, Recall, Stored},
    plan::{Kind, NO_SPAN, NONE, Op},
    read::Read,
    varint::{Shifts, Squeeze},
};
use crate::{
    block::INDEX_BYTES,
    wire::{Cursor, read_varint},
};

/// How far beyond the start of a field this may read: key, ten bytes of varint, rounded up to whole loads.
const REACH: usize = 32;

/// The shift of a dictionary column in the tile.
const INDEX_SHIFT: u8 = INDEX_BYTES.trailing_zeros() as u8;

/// The bit that says of each byte of a varint that another follows.
const GOES_ON: u64 = 0x8080_8080_8080_8080;

impl Row<'_> {
    /// Decodes `message[start..end]` as a record of the plan's layout.
    ///
    /// `false` if anything at all is odd; the row is then to be abandoned.
    pub(super) fn fast(&mut self, memory: &mut Memory, message: &[u8], start: usize, end: usize, pext: bool) -> bool {
        #[cfg(target_arch = "x86_64")]
        if pext {
            // SAFETY: `pext` is what `fast_pext()` returned, which asks the processor for BMI1 and BMI2.
            return unsafe { self.fast_bmi2(memory, message, start, end) };
        }
        let _ = pext;
        self.fast_with::<Shifts>(memory, message, start, end)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "bmi1,bmi2")]
    fn fast_bmi2(&mut self, memory: &mut Memory, message: &[u8], start: usize, end: usize) -> bool {
        self.fast_with::<super::varint::Pext>(memory, message, start, end)
    }

    #[inline(always)]
    fn fast_with<S: Squeeze>(&mut self, memory: &mut Memory, message: &[u8], start: usize, end: usize) -> bool {
        let plan = self.plan;
        let row = self.tile.rows();
        let Memory { steps, spans } = memory;
        steps.study(plan, &message[start..end]);
        self.scratch.reset(plan.texts);
        let fast_end = end.min(message.len().saturating_sub(REACH));
        let mut at = start;
        let mut walk = steps.walk();
        let mut seen = 0;
        let mut span = NO_SPAN;
        while at < fast_end {
            // Numbers, most of a record, go through here without a look at anything but their steps.
            let tile = self.tile.bytes_mut();
            let mut word = load(message, at);
            let passed = 'numbers: loop {
                // Each of these is code of its own: what the processor foresees of a field by where it is in the code, it would
                // have to foresee by what came before if one loop did for all.
                macro_rules! numbers {
                    ($($ahead:literal)*) => {$(
                        // SAFETY: the step before, if this is not the first, is not the last one: that would have matched.
                        let step = unsafe { walk.ahead($ahead) };
                        if step.matches(word as u32) {
                            if word & step.stop_mask == step.stop_bits {
                                store(tile, step.offset, step.shift, row, S::extract(word, step.expected));
                                at += usize::from(step.length);
                            } else {
                                let stop = !word & step.stops;
                                if stop == 0 {
                                    break 'numbers $ahead;
                                }
                                let value = S::extract(word & (stop ^ stop.wrapping_sub(1)), step.value);
                                store(tile, step.offset, step.shift, row, value);
                                at += (stop.trailing_zeros() as usize >> 3) + 1;
                            }
                            if at >= fast_end {
                                break 'numbers $ahead;
                            }
                            word = load(message, at);
                        }
                    )*};
                }
                numbers!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
                // SAFETY: none of these was the last one.
                unsafe { walk.pass(32) };
            };
            if at >= fast_end {
                break;
            }
            // SAFETY: as above.
            let step = unsafe { walk.ahead(passed) };
            let index = if step.op != NONE {
                // SAFETY: neither is this the last one.
                unsafe { walk.pass(passed + 1) };
                usize::from(step.op)
            } else if let Some(found) = self.op_at(message, at, end) {
                walk = steps.from(found + 1);
                found
            } else if let Some((number, after)) = self.skip_unknown(message, at, end) {
                (at, walk) = (after, steps.from(plan.first_from(number)));
                continue;
            } else {
                return false;
            };
            let op = plan.op(index);
            if op.kind == Kind::Varint {
                // Longer than a word: nanoseconds since 1970, a rate without a limit.
                let value = at + usize::from(op.key_len);
                let Some((raw, after)) = varint::<S>(message, value, load(message, value)) else { return false };
                store(self.tile.bytes_mut(), op.offset, op.shift(), row, raw & op.mask);
                at = after;
                continue;
            }
            if op.kind == Kind::Label {
                // A label from 64 on is rare enough for the careful path.
                let label = word >> (8 * op.key_len) & 0xff;
                if label >= 64 || op.mask >> label & 1 == 0 {
                    return false;
                }
                store(self.tile.bytes_mut(), op.offset, op.shift(), row, label);
                at += usize::from(op.key_len) + 1;
                continue;
            }
            if op.span != span {
                span = op.span;
                if span != NO_SPAN {
                    match spans.recall(span, message, at, end) {
                        Recall::Same(memo) => {
                            let tile = self.tile.bytes_mut();
                            memo.stores.iter().for_each(|s| store(tile, s.offset, s.shift, row, s.bits));
                            self.scratch.not_utf8 += memo.not_utf8;
                            at += memo.bytes.len();
                            walk = steps.from(memo.last + 1);
                            continue;
                        }
                        Recall::Learn(memo) => {
                            let Some(after) = self.learn::<S>(memo, span, message, at, fast_end, end) else {
                                return false;
                            };
                            at = after;
                            walk = steps.from(memo.last + 1);
                            continue;
                        }
                        Recall::Rest => {}
                    }
                }
            }
            // Nearly all strings are shorter than 128 bytes.
            let start = at + usize::from(op.key_len) + 1;
            let length = message[start - 1];
            let after = start + usize::from(length);
            if length < 0x80 && after <= end && self.string(op, message, start, after).is_some() {
                seen |= op.sign;
                at = after;
                continue;
            }
            let Some((_, after)) = self.field::<S>(op, &mut seen, message, at, end) else { return false };
            at = after;
        }
        at <= end && self.rest_is_plain(message, at, end, &mut seen) && seen == plan.signs
    }

    /// Any field, its key at `at`: the bits that were stored, and the byte after it.
    #[inline(never)]
    fn field<S: Squeeze>(
        &mut self,
        op: &Op,
        seen: &mut u32,
        message: &[u8],
        at: usize,
        end: usize,
    ) -> Option<(u64, usize)> {
        *seen |= op.sign;
        let at = at + usize::from(op.key_len);
        let word = load(message, at);
        let (raw, after) = match op.kind {
            Kind::Varint | Kind::Label | Kind::OddVarint => varint::<S>(message, at, word)?,
            Kind::Fixed64 => (word, at + 8),
            Kind::Fixed32 => (word & 0xffff_ffff, at + 4),
            Kind::Dictionary | Kind::Text => {
                let (length, start) = match word & 0xff {
                    short @ 0..0x80 => (short, at + 1),
                    _ => read_varint(message.get(..end)?, at).ok()?,
                };
                let after = start.checked_add(usize::try_from(length).ok()?).filter(|after| *after <= end)?;
                return Some((self.string(op, message, start, after)?, after));
            }
        };
        // A label that is not among the first 64 is rare enough for the careful path.
        let bits = op.read.convert(raw, |_| false).ok()?;
        if op.read == Read::Version && bits != u64::from(self.plan.schema_version) {
            return None;
        }
        self.tile.store(op.offset as usize, op.width.into(), bits);
        Some((bits, after))
    }

    /// Takes in the string `message[start..after]`: the bits that were stored. `None` if the field is no string.
    #[inline(always)]
    fn string(&mut self, op: &Op, message: &[u8], start: usize, after: usize) -> Option<u64> {
        match op.read {
            Read::Dictionary(text) => {
                let index = u64::from(self.dictionary_index(op, text, &message[start..after]));
                let row = self.tile.rows();
                store(self.tile.bytes_mut(), op.offset, INDEX_SHIFT, row, index);
                Some(index)
            }
            Read::Text(text) => {
                self.note_text(op, text, message, start, after);
                Some(0)
            }
            _ => None,
        }
    }

    /// Reads the fields of a span from `at` on and remembers what they stand for. Returns the byte after them.
    #[inline(never)]
    fn learn<S: Squeeze>(
        &mut self,
        memo: &mut Memo,
        span: u8,
        message: &[u8],
        start: usize,
        fast_end: usize,
        end: usize,
    ) -> Option<usize> {
        let not_utf8 = self.scratch.not_utf8;
        let mut at = start;
        while at < fast_end {
            let Some(index) = self.op_at(message, at, end) else { break };
            let op = self.plan.op(index);
            if op.span != span {
                break;
            }
            // The fields of a span are no signs of a layout.
            let (bits, after) = self.field::<S>(op, &mut 0, message, at, end)?;
            memo.stores.push(Stored { offset: op.offset, shift: op.shift(), bits });
            memo.last = index;
            at = after;
        }
        memo.not_utf8 = self.scratch.not_utf8 - not_utf8;
        memo.bytes.extend_from_slice(message.get(start..at)?);
        Some(at)
    }

    /// The operation whose plain key is at `at`. `None` for a field that the layout does not define, a padded key, another
    /// wire type, or no key at all.
    #[inline(never)]
    fn op_at(&self, message: &[u8], at: usize, end: usize) -> Option<usize> {
        let (key, after) = read_varint(&message[..end], at).ok()?;
        let found = self.plan.find(u32::try_from(key >> 3).ok()?);
        let found = (found != NONE).then(|| usize::from(found))?;
        let op = self.plan.op(found);
        (after - at == usize::from(op.key_len) && (key & 7) as u8 == op.wire as u8).then_some(found)
    }

    /// Skips the field at `at` if the layout does not define it: its number, and the byte after it. `None` is for the careful
    /// path.
    #[inline(never)]
    fn skip_unknown(&mut self, message: &[u8], at: usize, end: usize) -> Option<(u32, usize)> {
        let mut cursor = Cursor::starting_at(&message[..end], at);
        let field = cursor.next()?.ok()?;
        if self.plan.find(field.number) != NONE {
            return None;
        }
        self.scratch.unknown.push(field.number);
        Some((field.number, cursor.position()))
    }
}

/// A varint of any length at `at`, where the eight bytes `word` stand.
#[inline(always)]
fn varint<S: Squeeze>(message: &[u8], at: usize, word: u64) -> Option<(u64, usize)> {
    let stop = !word & GOES_ON;
    if stop != 0 {
        let low = S::squeeze(word & (stop ^ stop.wrapping_sub(1)));
        return Some((low, at + (stop.trailing_zeros() as usize >> 3) + 1));
    }
    // Nine or ten bytes: 2^64 - 1 is in every record.
    let tail = load(message, at + 8);
    let (ninth, tenth) = (tail & 0xff, tail >> 8 & 0xff);
    let low = S::squeeze(word);
    if ninth < 0x80 {
        Some((low | ninth << 56, at + 9))
    } else if tenth <= 1 {
        Some((low | (ninth & 0x7f) << 56 | tenth << 63, at + 10))
    } else {
        None
    }
}

/// Eight bytes, little endian.
#[inline(always)]
fn load(message: &[u8], at: usize) -> u64 {
    debug_assert!(at + 8 <= message.len());
    // SAFETY: callers stay within REACH (32) bytes behind `fast_end`, which is REACH bytes before the message's end: a field
    // starts before `fast_end`, its key has at most 5 bytes, and the furthest load starts 8 bytes after the key.
    u64::from_le(unsafe { message.as_ptr().add(at).cast::<u64>().read_unaligned() })
}

/// Eight bytes of `bits` at the row's place in a column. What goes beyond the column's width is zero and falls
/// into rows that are not written yet, or into the column's slack.
#[inline(always)]
fn store(tile: &mut [u8], offset: u32, shift: u8, row: usize, bits: u64) {
    let at = offset as usize + (row << (shift & 63));
    debug_assert!(at + 8 <= tile.len() && (shift == 3 || bits >> (8 << shift) == 0));
    // SAFETY: `offset` and `shift` are those of a column of this very shape's tile, `row` is below TILE_ROWS, and each column
    // is followed by 64 bytes of slack, so eight bytes are in the tile.
    unsafe { tile.as_mut_ptr().add(at).cast::<u64>().write_unaligned(bits.to_le()) };
}
