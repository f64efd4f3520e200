//! What a decoder remembers of the record before, per layout: which field followed which, and stretches of text.
//!
//! Right or wrong, it changes no value: each prediction is checked against the bytes before it is believed.

use super::plan::Plan;

/// Predictions for the next record of a layout.
#[derive(Debug)]
pub(super) struct Memory {
    /// By operation, and in the last place for the start of a record: the operation that came next.
    next: Vec<u16>,
    /// By span: what it looked like the last time.
    memos: Vec<Memo>,
}

/// A span's bytes, and what they decode to.
#[derive(Debug, Default)]
pub(super) struct Memo {
    /// From the key of its first field to the end of its last. Empty for a memo that stands for nothing.
    pub bytes: Vec<u8>,
    /// The stores into the tile that it stands for, in order.
    pub stores: Vec<Stored>,
    /// The last operation in it.
    pub last: usize,
    /// Text values in it that are not UTF-8.
    pub not_utf8: u64,
    /// Records to leave it alone for, since it keeps changing.
    rest: u32,
    misses: u32,
}

/// A store into the tile.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stored {
    pub offset: u32,
    pub width: u8,
    pub bits: u64,
}

/// What is remembered of a span.
pub(super) enum Recall<'a> {
    /// It is the same as the last time.
    Same(&'a Memo),
    /// It is another one, to be remembered in this place.
    Learn(&'a mut Memo),
    /// It is another one every time: not worth it.
    Rest,
}

/// So many misses in a row, and a span is left alone for [`REST`] records.
const MISSES: u32 = 4;
const REST: u32 = 100;

impl Memory {
    /// Nothing seen yet: fields are expected in ascending order.
    pub(super) fn new(plan: &Plan) -> Self {
        Self { next: plan.first_guess(), memos: std::iter::repeat_with(Memo::default).take(plan.spans).collect() }
    }

    /// The operation that is expected after operation `before`.
    #[inline(always)]
    pub(super) fn after(&self, before: usize) -> usize {
        debug_assert!(before < self.next.len());
        // SAFETY: `next` has a place for each position of the plan's operations, and `before` is one of them.
        usize::from(unsafe { *self.next.get_unchecked(before) })
    }

    /// Remembers that operation `index`, which is no sentinel, came after `before`.
    #[inline(always)]
    pub(super) fn expect(&mut self, before: usize, index: usize) {
        self.next[before] = index as u16;
    }

    /// Forgets what spans stand for: dictionary indexes are good for one block alone.
    pub(super) fn forget_spans(&mut self) {
        self.memos.iter_mut().for_each(|memo| memo.bytes.clear());
    }

    /// What is remembered of a span whose first field is at `at`.
    #[inline]
    pub(super) fn recall(&mut self, span: u8, message: &[u8], at: usize, end: usize) -> Recall<'_> {
        let memo = &mut self.memos[usize::from(span)];
        let length = memo.bytes.len();
        if length > 0 && length <= end - at && message[at..at + length] == memo.bytes[..] {
            memo.misses = 0;
            return Recall::Same(memo);
        }
        memo.missed()
    }
}

impl Memo {
    #[cold]
    fn missed(&mut self) -> Recall<'_> {
        if self.rest > 0 {
            self.rest -= 1;
            return Recall::Rest;
        }
        self.bytes.clear();
        self.stores.clear();
        self.misses += 1;
        if self.misses > MISSES {
            (self.misses, self.rest) = (0, REST);
            return Recall::Rest;
        }
        Recall::Learn(self)
    }
}
