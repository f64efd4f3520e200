//! The fields that a record of a layout mostly has, in the order of their numbers, for the hot path to walk along.
//!
//! Now and then a record is studied: fields that have not been seen for long are left out, and a varint that always has one
//! length is expected to have it.

use super::plan::{Kind, NONE, Op, Plan};
use crate::wire::{Cursor, Value};

/// One record of so many is studied. Tests have few records, and every prediction is to be wrong at times.
const LESSON: u32 = if cfg!(test) { 1 } else { 256 };

/// A field that was in none of so many studied records is left out.
const ABSENT: u8 = if cfg!(test) { 2 } else { 64 };

/// After so many lessons with one length, a field is expected to have it. A wrong guess costs more than some right ones save.
const RUN: u8 = if cfg!(test) { 1 } else { 8 };

/// Bytes of a key that are compared at most. Numbers from 2^25 on have longer ones: such a field has no step and is looked up.
const KEY: usize = size_of::<u32>();

/// The steps of one layout.
#[derive(Debug)]
pub(super) struct Steps {
    /// Ascending by operation, and behind them one that matches whatever comes.
    list: Vec<Step>,
    /// By position of an operation, the one behind the last too: the first step of it or of a later one.
    first: Vec<u16>,
    /// By operation: what was learned.
    learned: Vec<Learned>,
    /// Records until the next lesson.
    lesson: u32,
}

/// What the hot path needs of one field: one line of the cache.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Step {
    /// The key, and which of its bits count.
    key: u32,
    key_mask: u32,
    /// Of the eight bytes from the key on: the bits that say where a varint ends, and how they stand if it is as long as it
    /// mostly is. They can't stand so if no length is expected.
    pub stop_mask: u64,
    pub stop_bits: u64,
    /// Of the same bytes: the bits of the value that are stored, if it is so long.
    pub expected: u64,
    /// Of the same bytes: the bits that say where a varint ends, whatever its length. None for what is no plain varint.
    pub stops: u64,
    /// Of the same bytes: the bits of the value that are stored, whatever its length.
    pub value: u64,
    /// As [`Op::offset`].
    pub offset: u32,
    /// The position of the operation; [`NONE`] for what matches whatever comes.
    pub op: u16,
    /// As [`Op::shift`].
    pub shift: u8,
    /// Bytes of the field, key included, if it is as long as expected.
    pub length: u8,
}

/// What the lessons said of one operation.
#[derive(Debug, Clone, Copy, Default)]
struct Learned {
    /// Lessons since it was there.
    absent: u8,
    /// How long its varint was the last time, key included, and in how many lessons before that.
    length: u8,
    run: u8,
}

impl Learned {
    /// The length that a varint is expected to have.
    fn expects(self) -> Option<u8> {
        (self.run == RUN && self.length <= 8).then_some(self.length)
    }
}

/// A place in the list of steps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Walk<'a> {
    at: *const Step,
    steps: std::marker::PhantomData<&'a [Step]>,
}

impl Steps {
    /// All fields of the plan, of any length.
    pub(super) fn new(plan: &Plan) -> Self {
        let learned = vec![Learned::default(); plan.ops.len()];
        let mut steps = Self { list: Vec::new(), first: Vec::new(), learned, lesson: LESSON };
        steps.list_fields(plan);
        steps
    }

    fn list_fields(&mut self, plan: &Plan) {
        self.list.clear();
        self.first.clear();
        for (position, (op, learned)) in plan.ops.iter().zip(&self.learned).enumerate() {
            self.first.push(self.list.len() as u16);
            if learned.absent < ABSENT && usize::from(op.key_len) <= KEY {
                self.list.push(Step::new(position as u16, op, *learned));
            }
        }
        self.first.push(self.list.len() as u16);
        self.list.push(Step::END);
    }

    /// Studies a record, if it is time to.
    #[inline]
    pub(super) fn study(&mut self, plan: &Plan, record: &[u8]) {
        self.lesson -= 1;
        if self.lesson == 0 {
            self.learn(plan, record);
        }
    }

    #[cold]
    fn learn(&mut self, plan: &Plan, record: &[u8]) {
        self.lesson = LESSON;
        let mut changed = false;
        for learned in &mut self.learned {
            learned.absent = learned.absent.saturating_add(1);
            changed |= learned.absent == ABSENT;
        }
        let mut fields = Cursor::new(record);
        let mut at = 0;
        while let Some(Ok(field)) = fields.next() {
            let bytes = u8::try_from(fields.position() - at).unwrap_or(u8::MAX);
            at = fields.position();
            let found = plan.find(field.number);
            if found == NONE {
                continue;
            }
            let learned = &mut self.learned[usize::from(found)];
            let expected = (learned.absent < ABSENT, learned.expects());
            learned.absent = 0;
            let same = bytes == learned.length && matches!(field.value, Value::Varint(_));
            learned.run = if same { RUN.min(learned.run + 1) } else { 0 };
            learned.length = bytes;
            changed |= expected != (true, learned.expects());
        }
        // Sooner or later every field is as it mostly is, and the list stays.
        if changed {
            self.list_fields(plan);
        }
    }

    /// The place of the first step.
    #[inline]
    pub(super) fn walk(&self) -> Walk<'_> {
        Walk { at: self.list.as_ptr(), steps: std::marker::PhantomData }
    }

    /// The place of the first step that is of the operation at that position or of a later one.
    #[inline]
    pub(super) fn from(&self, op: usize) -> Walk<'_> {
        let position = usize::from(self.first[op]);
        Walk { at: self.list[position..].as_ptr(), steps: std::marker::PhantomData }
    }
}

impl<'a> Walk<'a> {
    /// The step so many ahead.
    ///
    /// # Safety
    /// None of those before it may be the last one.
    #[inline(always)]
    pub(super) unsafe fn ahead(self, steps: usize) -> &'a Step {
        // SAFETY: this is a place in the list, which outlives `'a` unchanged, and the last step is not passed.
        unsafe { &*self.at.add(steps) }
    }

    /// Goes on by so many steps.
    ///
    /// # Safety
    /// None of those that are passed may be the last one.
    #[inline(always)]
    pub(super) unsafe fn pass(&mut self, steps: usize) {
        // SAFETY: at least one step follows.
        self.at = unsafe { self.at.add(steps) };
    }
}

impl Step {
    /// Matches whatever comes.
    const END: Self = Self {
        key: 0,
        key_mask: 0,
        stop_mask: 0,
        stop_bits: 1,
        expected: 0,
        stops: 0,
        value: 0,
        offset: 0,
        op: NONE,
        shift: 0,
        length: 0,
    };

    /// Whether these four bytes start with this field's key.
    #[inline(always)]
    pub(super) const fn matches(&self, key: u32) -> bool {
        (key ^ self.key) & self.key_mask == 0
    }

    fn new(position: u16, op: &Op, learned: Learned) -> Self {
        let key_bits = 8 * u32::from(op.key_len);
        let mut step = Self {
            key: op.key as u32,
            key_mask: u32::MAX >> 32u32.saturating_sub(key_bits).min(31),
            offset: op.offset,
            op: position,
            shift: op.shift(),
            ..Self::END
        };
        if op.kind == Kind::Varint {
            step.stops = 0x8080_8080_8080_8080 << key_bits;
            step.value = op.value;
            if let Some(length) = learned.expects() {
                let through = |bytes: u8| u64::MAX >> (64 - 8 * bytes);
                step.length = length;
                step.stop_mask = step.stops & through(step.length);
                step.stop_bits = step.stops & through(step.length - 1);
                step.expected = step.value & through(step.length);
            }
        }
        step
    }
}
