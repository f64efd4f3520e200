//! A lane on its worker: the queue it reads, what it may read in one turn, and when it closes.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use super::{
    budget::{Budget, Share},
    event::{Closed, Event},
    limits::Limits,
    source::{Look, Source},
    tenure::Tenure,
};
use crate::{
    kafka,
    lane::{Batch, Counts, Decoder, Lane, Message, TURN_BYTES, TURN_MESSAGES},
    telemetry::{Closed as Cause, Held, Ledger},
};

/// How a turn ended.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// Messages that were read.
    pub(super) messages: usize,
    /// The batch must be closed before more is read, and why.
    pub(super) full: Option<Cause>,
    /// The partition could not be read.
    pub(super) trouble: Option<kafka::Error>,
    /// A message came from before those that were read: the offset that was due, and its own. The lane reads no more.
    pub(super) went_back: Option<(i64, i64)>,
    /// The lane waits before a message: its offset, and the epoch that has no definition.
    pub(super) waits: Option<(i64, u32)>,
}

/// How a lane cuts what a former owner may have cut and sent.
#[derive(Debug, Clone, Default)]
pub(super) struct Cut {
    /// The first offset that will be read.
    pub(super) start: i64,
    /// Where the first batches end, whatever their rows, size and age.
    pub(super) ends: VecDeque<i64>,
}

/// One lane and its queue.
pub(super) struct Seat {
    pub(super) tenure: Tenure,
    source: Box<dyn Source>,
    lane: Lane,
    /// The queue has something, as far as is known.
    ready: Arc<AtomicBool>,
    /// When the oldest message of the open batch came.
    opened: Option<Instant>,
    /// No batch was closed by age yet: what comes first has waited for its owner.
    is_fresh: bool,
    share: Share,
    /// The pieces of the open batch in the ledger.
    held: Option<Held>,
    /// The offset that the next message has at least.
    next: i64,
    /// A message that belongs to the next batch.
    kept: Option<Owned>,
    end: Reach,
    /// Where batches have to end, the next one first.
    ends: VecDeque<i64>,
    /// Offsets may not go back, as what was cut would not be cut again.
    strict: bool,
    went_back: bool,
    /// What it waits before: the message that is kept is not to be taken in.
    waits: Option<(i64, u32)>,
}

/// Whether the partition has been read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    No,
    Reached,
    /// Reached, and the coordinator knows.
    Told,
}

struct Owned {
    offset: i64,
    time_ms: Option<i64>,
    payload: Option<Vec<u8>>,
}

impl Seat {
    /// A lane that reads `source`; `wake` is called when there is something to read after there was nothing.
    pub(super) fn new(
        tenure: Tenure,
        mut source: Box<dyn Source>,
        lane: Lane,
        cut: Option<Cut>,
        budget: &Arc<Budget>,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        // What came before the callback was set is not told.
        let ready = Arc::new(AtomicBool::new(true));
        let flag = ready.clone();
        source.on_nonempty(Box::new(move || {
            flag.store(true, Ordering::Release);
            wake();
        }));
        let strict = cut.is_some();
        let Cut { start, ends } = cut.unwrap_or_default();
        Self {
            tenure,
            source,
            lane,
            ready,
            opened: None,
            is_fresh: true,
            share: budget.lane(),
            held: None,
            next: start,
            kept: None,
            end: Reach::No,
            ends,
            strict,
            went_back: false,
            waits: None,
        }
    }

    /// Looks into the queue at the next turn, whatever is known of it.
    pub(super) fn look_again(&self) {
        self.ready.store(true, Ordering::Release);
    }

    /// Reads a bounded number of messages into the open batch.
    pub(super) fn turn(&mut self, decoder: &mut Decoder, limits: &Limits, ledger: &Arc<Ledger>) -> Turn {
        let mut turn = Turn::default();
        // Cleared before the look: what arrives after the queue was found empty sets it again.
        if self.went_back || !self.ready.swap(false, Ordering::AcqRel) {
            return turn;
        }
        if self.waits.is_some() {
            turn.waits = self.waits;
            return turn;
        }
        let mut bytes = 0;
        let mut more = true;
        let pieces = self.lane.rows();
        {
            let mut filling = self.lane.fill(decoder);
            while turn.messages < TURN_MESSAGES && bytes < TURN_BYTES {
                if let Some(end) = self.ends.front() {
                    // A batch of a former owner: it ends there, whatever is left of it.
                    let beyond = self.kept.as_ref().is_some_and(|message| message.offset >= *end);
                    if beyond || self.next >= *end || self.end != Reach::No {
                        turn.full = Some(Cause::Intent);
                        break;
                    }
                } else if turn.messages > 0 || self.opened.is_some() {
                    // An empty batch is never full, or a bound below what the lane holds anyway would stop it for good.
                    turn.full = limits.full(filling.rows(), filling.bytes());
                    if turn.full.is_some() {
                        break;
                    }
                }
                if let Some(Owned { offset, payload: Some(payload), .. }) = &self.kept
                    && limits.holds
                    && let Some(epoch) = filling.unknown_epoch(payload)
                {
                    // What was before it is placed now, unless it is bound to an end behind it; nothing after it is read.
                    self.waits = Some((*offset, epoch));
                    turn.waits = self.waits;
                    let is_open = self.opened.is_some() || turn.messages > 0;
                    turn.full = (is_open && self.ends.is_empty()).then_some(Cause::Drain);
                    more = false;
                    break;
                }
                if let Some(message) = self.kept.take() {
                    self.next = message.offset + 1;
                    turn.messages += 1;
                    bytes += message.payload.as_ref().map_or(0, Vec::len);
                    filling.push(message.borrow());
                    continue;
                }
                let end = self.ends.front().copied().unwrap_or(i64::MAX);
                let (next, kept) = (&mut self.next, &mut self.kept);
                let look = self.source.poll(&mut |message| {
                    let waits = || message.payload.is_some_and(|payload| filling.unknown_epoch(payload).is_some());
                    if message.offset < *next || message.offset >= end || limits.holds && waits() {
                        *kept = Some(Owned::from(message));
                        return;
                    }
                    *next = message.offset + 1;
                    bytes += message.payload.map_or(0, <[u8]>::len);
                    filling.push(message);
                });
                match look {
                    Look::Message => {
                        self.end = Reach::No;
                        let Some(kept) = &self.kept else {
                            turn.messages += 1;
                            continue;
                        };
                        if kept.offset < self.next && self.strict {
                            turn.went_back = Some((self.next, kept.offset));
                            self.went_back = true;
                            break;
                        }
                        if kept.offset < self.next {
                            // What was before it has ended.
                            turn.full = Some(Cause::Drain);
                            break;
                        }
                    }
                    Look::Empty => {
                        more = false;
                        break;
                    }
                    Look::End => self.end = Reach::Reached,
                    Look::Failed(error) => {
                        turn.trouble = Some(error);
                        break;
                    }
                }
            }
            if turn.messages > 0 && turn.full.is_none() && self.ends.is_empty() {
                turn.full = limits.full(filling.rows(), filling.bytes());
            }
        }
        if more {
            self.look_again();
        }
        if turn.messages > 0 {
            self.lane.seal_sections();
            self.opened.get_or_insert_with(Instant::now);
            self.share.set(self.lane.reserved());
            let held = self.held.get_or_insert_with(|| ledger.open());
            held.consumed(turn.messages as u64, bytes as u64, self.lane.rows() - pieces);
        }
        turn
    }

    /// Bytes of the open batch.
    pub(super) const fn bytes(&self) -> usize {
        self.share.bytes()
    }

    /// Whether the open batch ends where a former owner ended it, and nowhere else.
    pub(super) fn is_bound(&self) -> bool {
        !self.ends.is_empty()
    }

    /// When the open batch is to be closed, if there is one.
    pub(super) fn due(&self, limits: &Limits) -> Option<Instant> {
        self.opened.filter(|_| !self.is_bound()).map(|opened| limits.due(opened, self.end != Reach::No, self.is_fresh))
    }

    /// Seals the open batch at the end that it was bound to, and looks for more.
    pub(super) fn close_bound(&mut self, budget: &Arc<Budget>, ledger: &Arc<Ledger>) -> Option<Event> {
        let next = self.ends.pop_front()?;
        self.look_again();
        let (partition, first) = (self.tenure.partition, next);
        // Nothing may be left of it: then it has no blocks.
        let nothing = || Batch { partition, first, next, blocks: Vec::new(), counts: Counts::default() };
        let batch = Batch { next, ..self.lane.close().unwrap_or_else(nothing) };
        let held = self.held.take().unwrap_or_else(|| ledger.open());
        Some(self.seal(budget, batch, held))
    }

    /// Seals the open batch.
    pub(super) fn close(&mut self, budget: &Arc<Budget>) -> Option<Event> {
        let (batch, held) = (self.lane.close(), self.held.take());
        let event = batch.zip(held).map(|(batch, held)| self.seal(budget, batch, held));
        self.opened = None;
        self.is_fresh = false;
        self.share.set(0);
        event
    }

    fn seal(&mut self, budget: &Arc<Budget>, batch: Batch, held: Held) -> Event {
        self.opened = None;
        let shares = batch.blocks.iter().map(|block| budget.seal(block.body.len())).collect();
        self.share.set(0);
        Event::Closed { tenure: self.tenure, closed: Closed { batch, held, shares } }
    }

    /// Says once that the partition has been read to its end, when nothing of it is open any more.
    pub(super) fn report_end(&mut self) -> Option<Event> {
        if self.end == Reach::Reached && self.lane.is_empty() && self.kept.is_none() && !self.is_bound() {
            self.end = Reach::Told;
            return Some(Event::AtEnd(self.tenure));
        }
        None
    }
}

impl Owned {
    fn from(message: Message<'_>) -> Self {
        Self { offset: message.offset, time_ms: message.time_ms, payload: message.payload.map(<[u8]>::to_vec) }
    }

    fn borrow(&self) -> Message<'_> {
        Message { offset: self.offset, time_ms: self.time_ms, payload: self.payload.as_deref() }
    }
}
