//! One record into one row, with every check: what is wrong is named.

use super::{
    plan::{Op, Plan},
    read::{Read, Unplaceable},
};
use crate::{
    block::{Strings, Tile},
    epoch::{Column, ColumnType, WireType},
    wire::{Cursor, RawField, Value},
};

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
    /// What is wrong with a record that is read with care.
    verdict: Verdict,
}

impl Scratch {
    pub(super) fn reset(&mut self, texts: usize) {
        self.texts.clear();
        self.texts.resize(texts, (0, 0));
        self.unknown.clear();
        self.not_utf8 = 0;
        self.added.clear();
        self.verdict.wire_type = None;
        self.verdict.values.clear();
    }
}

/// Why a record of a known layout can't be placed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Refused {
    /// The field at byte `at` of the message came with another wire type.
    WireType { number: u32, column: Option<usize>, found: u8, expected: u8, at: usize },
    /// The field's value can't be stored.
    Value { number: u32, column: usize, why: Unplaceable },
}

/// The row being written, and where its parts go.
pub(super) struct Row<'a> {
    pub plan: &'a Plan,
    pub tile: &'a mut Tile,
    pub strings: &'a mut Strings,
    pub scratch: &'a mut Scratch,
}

impl Row<'_> {
    /// The last bytes of a message have no room for loads of eight bytes: these fields are read one by one.
    #[inline]
    pub(super) fn rest_is_plain(&mut self, message: &[u8], at: usize, end: usize, seen: &mut u32) -> bool {
        if at == end {
            return true;
        }
        for field in Cursor::starting_at(&message[..end], at) {
            let Ok(field) = field else { return false };
            match self.plan.op_of(field.number) {
                None => self.scratch.unknown.push(field.number),
                Some(op) => {
                    let other_epoch = matches!((op.read, field.value),
                        (Read::Version, Value::Varint(version)) if version as u32 != self.plan.schema_version);
                    if other_epoch || self.place(op, &field, message, |_, _| false).is_err() {
                        return false;
                    }
                    *seen |= op.sign;
                }
            }
        }
        true
    }

    /// The index of a value in its dictionary.
    #[inline(always)]
    pub(super) fn dictionary_index(&mut self, op: &Op, text: bool, value: &[u8]) -> u32 {
        let dictionary = self.strings.dictionary_mut(op.part.into());
        let values = dictionary.len();
        let index = dictionary.index(value);
        if dictionary.len() > values {
            self.scratch.added.push(op.part.into());
        }
        if text && !dictionary.is_utf8(index) {
            self.scratch.not_utf8 += 1;
        }
        index
    }

    /// Notes where a text column's value stands in the message.
    #[inline(always)]
    pub(super) fn note_text(&mut self, op: &Op, text: bool, message: &[u8], start: usize, end: usize) {
        self.scratch.texts[usize::from(op.part)] = (start, end);
        if text && !message[start..end].is_ascii() && std::str::from_utf8(&message[start..end]).is_err() {
            self.scratch.not_utf8 += 1;
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
        match (bits(op, field, has_label)?, field.value) {
            (Some(bits), _) => self.tile.store(op.offset as usize, op.width.into(), bits),
            (None, Value::Len(bytes)) => match op.read {
                Read::Dictionary(text) => {
                    let index = self.dictionary_index(op, text, bytes);
                    self.tile.store(op.offset as usize, op.width.into(), u64::from(index));
                }
                Read::Text(text) => {
                    let start = bytes.as_ptr() as usize - message.as_ptr() as usize;
                    self.note_text(op, text, message, start, start + bytes.len());
                }
                _ => unreachable!("only bytes are Len"),
            },
            (None, _) => unreachable!("what has no bits is Len"),
        }
        Ok(())
    }

    /// Decodes a record that is known to be well-formed and of the plan's layout.
    ///
    /// # Errors
    /// The first field of a wrong wire type, or else the first whose last value can't be stored. The row is then to be
    /// abandoned.
    pub(super) fn careful(
        &mut self,
        columns: &[Column],
        message: &[u8],
        start: usize,
        end: usize,
    ) -> Result<(), Refused> {
        self.scratch.reset(self.plan.texts);
        for field in Cursor::starting_at(&message[..end], start).flatten() {
            let placed = match self.plan.op_of(field.number) {
                Some(op) => {
                    self.place(op, &field, message, |column, number| has_label(&columns[column].column_type, number))
                }
                None => {
                    self.scratch.unknown.push(field.number);
                    Ok(())
                }
            };
            self.scratch.verdict.note(field.number, placed);
            if self.scratch.verdict.is_final() {
                break;
            }
        }
        self.scratch.verdict.refused().map_or(Ok(()), Err)
    }
}

/// What [`Row::careful`] would say of a record, told without writing anything and field by field, so that one walk through the
/// record is enough for this and for what else has to be known of it.
#[derive(Debug)]
pub(super) struct Look<'a> {
    plan: &'a Plan,
    columns: &'a [Column],
    verdict: Verdict,
}

impl<'a> Look<'a> {
    /// Before the first field of a record that is taken to have the plan's layout.
    pub(super) fn new(plan: &'a Plan, columns: &'a [Column]) -> Self {
        Self { plan, columns, verdict: Verdict::default() }
    }

    /// Looks at the next field of the record.
    #[inline]
    pub(super) fn take(&mut self, field: &RawField<'_>) {
        if self.verdict.is_final() {
            return;
        }
        let label = |column: usize, number| has_label(&self.columns[column].column_type, number);
        let bits = self.plan.op_of(field.number).map_or(Ok(None), |op| bits(op, field, label));
        self.verdict.note(field.number, bits.map(drop));
    }

    /// Why the record, which starts at `record_at` of its message, can't be placed, now that all of its fields were taken.
    pub(super) fn refused(&self, record_at: usize) -> Option<Refused> {
        let mut refused = self.verdict.refused();
        if let Some(Refused::WireType { at, .. }) = &mut refused {
            *at += record_at;
        }
        refused
    }
}

/// What is wrong with a record, as far as it has been read.
#[derive(Debug, Default)]
struct Verdict {
    wire_type: Option<Refused>,
    /// By field, in the order in which they came.
    values: Vec<Refused>,
}

impl Verdict {
    /// Takes note of a field. The last value of one counts, so a value that can't be stored is forgiven if another follows.
    #[inline]
    fn note(&mut self, field: u32, outcome: Result<(), Refused>) {
        if !self.values.is_empty() {
            self.values.retain(|refused| !matches!(refused, Refused::Value { number, .. } if *number == field));
        }
        match outcome {
            Ok(()) => {}
            Err(refused @ Refused::Value { .. }) => self.values.push(refused),
            Err(refused) => self.wire_type = Some(refused),
        }
    }

    /// Whether no field that follows can change it.
    #[inline]
    fn is_final(&self) -> bool {
        self.wire_type.is_some()
    }

    fn refused(&self) -> Option<Refused> {
        self.wire_type.or_else(|| self.values.first().copied())
    }
}

/// The bits of a field's value as its column holds them; `None` for bytes. `has_label` as for [`Row::place`].
#[inline]
fn bits(op: &Op, field: &RawField<'_>, has_label: impl FnOnce(usize, i32) -> bool) -> Result<Option<u64>, Refused> {
    let raw = match (op.wire as u8, field.value) {
        (0, Value::Varint(raw)) | (1, Value::Fixed64(raw)) => raw,
        (5, Value::Fixed32(raw)) => u64::from(raw),
        (2, Value::Len(_)) => return Ok(None),
        (expected, other) => {
            let column = (op.width > 0 || op.wire == WireType::Len).then(|| op.column.into());
            let (number, found, at) = (op.number, other.wire_type(), field.at);
            return Err(Refused::WireType { number, column, found, expected, at });
        }
    };
    let bits = op.read.convert(raw, |number| has_label(op.column.into(), number));
    bits.map(Some).map_err(|why| Refused::Value { number: op.number, column: op.column.into(), why })
}

fn has_label(column_type: &ColumnType, number: i32) -> bool {
    match column_type {
        ColumnType::Enum8(labels) => labels.iter().any(|(_, value)| i32::from(*value) == number),
        ColumnType::Enum16(labels) => labels.iter().any(|(_, value)| i32::from(*value) == number),
        _ => false,
    }
}
