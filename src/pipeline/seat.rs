//! A lane on its worker: the queue it reads, what it may read in one turn, and when it closes.

use std::{
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
    lane::{Decoder, Lane, Message},
    telemetry::{Closed as Cause, Held, Ledger},
};

/// What one lane may read before the next one has its turn: enough for the decoder to work in bulk, too little for a
/// partition with a long backlog to hold up the others.
const TURN_MESSAGES: usize = 512;
/// The same in bytes of message values.
const TURN_BYTES: usize = 1 << 20;

/// How a turn ended.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// Messages that were read.
    pub(super) messages: usize,
    /// The batch must be closed before more is read, and why.
    pub(super) full: Option<Cause>,
    /// The partition could not be read.
    pub(super) trouble: Option<kafka::Error>,
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
    share: Share,
    /// The pieces of the open batch in the ledger.
    held: Option<Held>,
    /// The offset that the next message has at least.
    next: i64,
    /// A message from before `next`; it begins a batch of its own.
    rewound: Option<Owned>,
    end: Reach,
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
        Self {
            tenure,
            source,
            lane,
            ready,
            opened: None,
            share: budget.lane(),
            held: None,
            next: 0,
            rewound: None,
            end: Reach::No,
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
        if !self.ready.swap(false, Ordering::AcqRel) {
            return turn;
        }
        let mut bytes = 0;
        let mut more = true;
        let pieces = self.lane.rows();
        {
            let mut filling = self.lane.fill(decoder);
            if let Some(message) = self.rewound.take() {
                self.next = message.offset + 1;
                turn.messages += 1;
                bytes += message.payload.as_ref().map_or(0, Vec::len);
                filling.push(message.borrow());
            }
            while turn.messages < TURN_MESSAGES && bytes < TURN_BYTES {
                // An empty batch is never full, or a bound below what the lane holds anyway would stop it for good.
                if turn.messages > 0 || self.opened.is_some() {
                    turn.full = limits.full(filling.rows(), filling.bytes());
                    if turn.full.is_some() {
                        break;
                    }
                }
                let (next, rewound) = (&mut self.next, &mut self.rewound);
                let look = self.source.poll(&mut |message| {
                    if message.offset < *next {
                        *rewound = Some(Owned::from(message));
                        return;
                    }
                    *next = message.offset + 1;
                    bytes += message.payload.map_or(0, <[u8]>::len);
                    filling.push(message);
                });
                match look {
                    Look::Message if rewound.is_some() => {
                        // What was before it has ended.
                        turn.full = Some(Cause::Drain);
                        break;
                    }
                    Look::Message => {
                        turn.messages += 1;
                        self.end = Reach::No;
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
            if turn.messages > 0 && turn.full.is_none() {
                turn.full = limits.full(filling.rows(), filling.bytes());
            }
        }
        if more {
            self.look_again();
        }
        if turn.messages > 0 {
            self.opened.get_or_insert_with(Instant::now);
            self.share.set(self.lane.bytes());
            let held = self.held.get_or_insert_with(|| ledger.open());
            held.consumed(turn.messages as u64, bytes as u64, self.lane.rows() - pieces);
        }
        turn
    }

    /// Bytes of the open batch.
    pub(super) const fn bytes(&self) -> usize {
        self.share.bytes()
    }

    /// When the open batch is to be closed, if there is one.
    pub(super) fn due(&self, limits: &Limits) -> Option<Instant> {
        self.opened.map(|opened| limits.due(opened))
    }

    /// Seals the open batch.
    pub(super) fn close(&mut self, budget: &Arc<Budget>) -> Option<Event> {
        self.opened = None;
        let (batch, held) = (self.lane.close(), self.held.take());
        let event = batch.zip(held).map(|(batch, held)| {
            let shares = batch.blocks.iter().map(|block| budget.seal(block.body.len())).collect();
            Event::Closed { tenure: self.tenure, closed: Closed { batch, held, shares } }
        });
        self.share.set(0);
        event
    }

    /// Says once that the partition has been read to its end, when nothing of it is open any more.
    pub(super) fn report_end(&mut self) -> Option<Event> {
        if self.end == Reach::Reached && self.lane.is_empty() && self.rewound.is_none() {
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
