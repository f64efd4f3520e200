//! Blocks to ClickHouse: one INSERT each, repeated until it is acknowledged.
//!
//! Nothing is ever given up because of an error: a block leaves when it is placed, or when its partition does. What failed
//! decides who waits: behind a connection all blocks, behind a server's answer the blocks of that table. A block that is
//! refused for its own rows is handed on to be taken apart.

use std::{
    collections::HashMap,
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::{
    sync::{Semaphore, watch},
    time::Instant as Time,
};

use super::{
    budget::Share,
    event::{Event, Events},
    gate::{Gate, Pass},
    letter::Letter,
    pace::Pace,
    proof::Proof,
    report::Report,
    tenure::Tenure,
};
use crate::{delivery::Range, lane::Block};

/// How long the server may have no memory for a block before it is taken apart, as one that it refuses for its rows. By then
/// no attempt is on its way any more that this process or a former owner of the partition began, at least not within the
/// time-outs that either side has by default; one that lands all the same would double rows.
const STARVED: Duration = Duration::from_secs(600);
/// Blocks up to this are not made smaller for want of memory.
const SMALL: u64 = 4096;

/// Where blocks go.
pub(super) trait Sink: Send + Sync + 'static {
    /// Sends one block as one INSERT and waits for the answer. A block of the same token is placed once.
    fn insert<'a>(
        &'a self,
        block: &'a Block,
        token: &'a str,
        proof: &'a Arc<Proof>,
    ) -> Pin<Box<dyn Future<Output = Result<(), Refusal>> + Send + 'a>>;

    /// Whether the block is there. Whoever may know the token of a block that it doesn't have looks; of others it is true.
    fn holds<'a>(&'a self, block: &'a Block) -> Pin<Box<dyn Future<Output = Result<bool, Refusal>> + Send + 'a>>;
}

/// An insert that was not acknowledged.
#[derive(Debug)]
pub(super) struct Refusal {
    /// What it is about, and so who has to wait.
    pub(super) about: About,
    /// What went wrong, for the operator.
    pub(super) cause: String,
}

/// What a refusal is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum About {
    /// No answer: the server or the way to it.
    Server,
    /// The server can't take anything for this table at the moment.
    Table,
    /// The server has no memory for this block at the moment.
    Memory,
    /// The table is not what the blocks are made for.
    Schema,
    /// The account, or something else that only an operator mends.
    Account,
    /// The rows of this block.
    Rows,
}

impl About {
    /// The name in metrics.
    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Server => "connection",
            Self::Table | Self::Memory => "retry",
            Self::Schema => "schema",
            Self::Account => "fatal",
            Self::Rows => "split",
        }
    }
}

/// One block on its way.
pub(super) struct Parcel {
    pub(super) tenure: Tenure,
    /// The number of its batch.
    pub(super) batch: u64,
    /// The offsets of its batch.
    pub(super) range: Range,
    pub(super) block: Block,
    /// The name of the block, by which the server knows it when it comes again.
    pub(super) token: String,
    /// The server may have been given this token before, by a former owner or by this process.
    pub(super) may_be_known: bool,
    /// Its bytes on the account, until it has left.
    pub(super) share: Share,
    /// Turns true when no further attempt may begin.
    pub(super) stop: watch::Receiver<bool>,
}

/// What became of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Placing {
    /// The server has it.
    Placed,
    /// The server refuses some of its rows, and says this.
    Refused(String),
    /// The partition goes.
    Stopped,
}

/// Sends parcels, a bounded number at once.
pub(super) struct Writer {
    sink: Box<dyn Sink>,
    slots: Semaphore,
    server: Arc<Gate>,
    tables: Mutex<HashMap<String, Arc<Gate>>>,
    events: Events,
    report: Arc<Report>,
    proof: Arc<Proof>,
    pace: Arc<Pace>,
}

impl Writer {
    /// A writer with at most `slots` inserts under way.
    pub(super) fn new(
        sink: Box<dyn Sink>,
        slots: usize,
        events: Events,
        report: Arc<Report>,
        proof: Arc<Proof>,
        pace: Arc<Pace>,
    ) -> Arc<Self> {
        Arc::new(Self {
            sink,
            slots: Semaphore::new(slots.max(1)),
            server: Arc::default(),
            tables: Mutex::default(),
            events,
            report,
            proof,
            pace,
        })
    }

    /// Sends one parcel and tells the coordinator what became of it.
    pub(super) async fn deliver(self: Arc<Self>, mut parcel: Parcel) {
        let Parcel { tenure, batch, may_be_known, .. } = parcel;
        let mut letter = Letter::new(&parcel.block, &parcel.token, may_be_known);
        let placing = self.place(tenure, &mut letter, &mut parcel.stop.clone()).await;
        parcel.may_be_known = letter.may_be_known;
        let event = match placing {
            Placing::Refused(_) => Event::Refused(parcel),
            Placing::Placed | Placing::Stopped => {
                let placed = matches!(placing, Placing::Placed);
                // Its bytes are given back before anyone hears of it.
                let Parcel { block, share, .. } = parcel;
                drop((block, share));
                Event::Settled { tenure, batch, placed }
            }
        };
        let _ = self.events.send(event).await;
    }

    /// Sends one block until it is placed, or refused for its rows, or the partition goes.
    pub(super) async fn place(
        &self,
        tenure: Tenure,
        letter: &mut Letter<'_>,
        stop: &mut watch::Receiver<bool>,
    ) -> Placing {
        let block = letter.block;
        let mut starved: Option<Time> = None;
        loop {
            let leave = tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => return Placing::Stopped,
                leave = self.leave(block) => leave,
            };
            // An attempt that has begun is finished: its answer is worth more than the time it takes.
            match self.attempt(tenure, letter, leave).await {
                Ok(true) => return Placing::Placed,
                Ok(false) => {}
                Err(Refusal { about: About::Rows, cause }) => return Placing::Refused(cause),
                Err(Refusal { about: About::Memory, cause }) if block.rows > SMALL => {
                    if starved.get_or_insert_with(Time::now).elapsed() >= STARVED {
                        return Placing::Refused(cause);
                    }
                }
                // What became of it may be unknown: from here on it is seen whether that changes.
                Err(_) => starved = None,
            }
        }
    }

    /// One step towards having the block placed; says whether it is.
    ///
    /// # Design
    /// The acknowledgement of a token that may have been known stands for nothing, since a server that has the token alone drops
    /// the block. So it is looked for. Once a token is acknowledged no other attempt under it can land any more, so a block that
    /// is missing then can be sent under another one, whoever else may still be at it. It is not looked for sooner, as
    /// rows that are alike may be there from another block.
    async fn attempt(&self, tenure: Tenure, letter: &mut Letter<'_>, leave: Leave<'_>) -> Result<bool, Refusal> {
        let block = letter.block;
        let result = if letter.is_acknowledged {
            self.sink.holds(block).await.map(|holds| {
                let renewed = !holds && letter.renew();
                if !holds {
                    self.report.missing(tenure, block, renewed);
                }
                !renewed
            })
        } else {
            self.insert(letter).await
        };
        if result.is_err() && !self.proof.holds() {
            // It may have been broken off on this side: that says nothing of the server.
            return result;
        }
        match &result {
            Ok(_) => {
                leave.server.succeeded();
                leave.table.succeeded();
                self.report.taken(&block.target.table);
            }
            Err(Refusal { about, cause }) => {
                self.report.refused(tenure, block, *about, cause);
                if *about == About::Memory
                    && let Some(rows) = self.pace.refuse(block.rows, Instant::now())
                {
                    tracing::warn!(
                        rows,
                        "batches are closed at fewer rows, as the server ran out of memory; twice as many are tried after a minute"
                    );
                }
                match about {
                    About::Server => leave.server.failed(),
                    About::Table | About::Memory | About::Schema | About::Account => {
                        leave.server.succeeded();
                        leave.table.failed();
                    }
                    // The table took the question and answered it: it is in order.
                    About::Rows => {
                        leave.server.succeeded();
                        leave.table.succeeded();
                    }
                }
            }
        }
        result
    }

    /// Sends a block; says whether it is placed beyond doubt.
    async fn insert(&self, letter: &mut Letter<'_>) -> Result<bool, Refusal> {
        let begin = Instant::now();
        let result = self.sink.insert(letter.block, letter.token(), &self.proof).await;
        let about = result.as_ref().err().map(|refusal| refusal.about);
        if about.is_none() || self.proof.holds() {
            self.report.insert(letter.block, begin.elapsed(), about);
        }
        letter.is_acknowledged = about.is_none();
        // A server without memory may have noted the token before it found out.
        letter.may_be_known |= matches!(about, Some(About::Server | About::Table | About::Memory));
        result.map(|()| !letter.may_be_known)
    }

    /// Waits for a slot and for both gates.
    async fn leave(&self, block: &Block) -> Leave<'_> {
        let gate = self.table(&block.target.table);
        loop {
            self.proof.ready().await;
            self.server.ready().await;
            gate.ready().await;
            // The gates are asked with the slot in hand: among the many that wait for a slot, only those that still may
            // pass should.
            let slot = self.slots.acquire().await.expect("the slots are never closed");
            if self.proof.holds()
                && let Some(server) = self.server.enter()
                && let Some(table) = gate.enter()
            {
                return Leave { server, table, _slot: slot };
            }
        }
    }

    fn table(&self, name: &str) -> Arc<Gate> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.entry(name.to_owned()).or_default().clone()
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("slots", &self.slots.available_permits()).finish_non_exhaustive()
    }
}

/// Leave to make one attempt.
struct Leave<'a> {
    server: Pass,
    table: Pass,
    _slot: tokio::sync::SemaphorePermit<'a>,
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
