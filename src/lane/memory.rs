//! What a decoder remembers of the records before, per layout: which fields there were, and stretches of text.
//!
//! Right or wrong, it changes no value: each prediction is checked against the bytes before it is believed.

use super::{plan::Plan, steps::Steps};

/// Predictions for the next record of a layout.
#[derive(Debug)]
pub(super) struct Memory {
    pub steps: Steps,
    pub spans: Spans,
}

/// By span: what it looked like the last time.
#[derive(Debug)]
pub(super) struct Spans(Vec<Memo>);

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
    /// As [`super::plan::Op::shift`].
    pub shift: u8,
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
    /// Nothing seen yet.
    pub(super) fn new(plan: &Plan) -> Self {
        let memos = std::iter::repeat_with(Memo::default).take(plan.spans).collect();
        Self { steps: Steps::new(plan), spans: Spans(memos) }
    }
}

impl Spans {
    /// Forgets what spans stand for: dictionary indexes are good for one block alone.
    pub(super) fn forget(&mut self) {
        self.0.iter_mut().for_each(|memo| memo.bytes.clear());
    }

    /// What is remembered of a span whose first field is at `at`.
    #[inline]
    pub(super) fn recall(&mut self, span: u8, message: &[u8], at: usize, end: usize) -> Recall<'_> {
        let memo = &mut self.0[usize::from(span)];
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
