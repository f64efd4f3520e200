//! A lane worker: a thread that reads, decodes and seals for its share of the partitions.
//!
//! It never waits for the network. When there is nothing to read, or no room for it, it sleeps until a queue, a command or
//! the budget wakes it, or a batch comes of age.

use std::{
    io,
    sync::Arc,
    thread::{self, Thread},
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, Sender, TryRecvError};

use super::{
    budget::Budget,
    event::{Control, Event, Events, Fatal},
    limits::Limits,
    seat::{Cut, Seat},
    source::Source,
    tenure::Tenure,
};
use crate::{
    lane::{Decoder, Lane, Schema},
    telemetry::{Closed, Telemetry},
};

/// The longest sleep.
const REST: Duration = Duration::from_millis(100);
/// How often every queue is looked into, told or not: no wake-up may be able to stall a partition by being lost.
const ROUND: Duration = Duration::from_secs(1);

/// What a worker is told to do.
pub(super) enum Command {
    /// Read this partition from now on; with a cut, close its first batches as told and let no offset go back.
    Take { tenure: Tenure, source: Box<dyn Source>, cut: Option<Cut> },
    /// Forget this partition, with what is open of it.
    Forget(Tenure),
    /// Read no more of this partition: close what is open, then let go of it.
    Drain(Tenure),
    /// The same for every partition.
    Finish,
}

/// What every worker is given.
#[derive(Clone)]
pub(super) struct Equipment {
    pub(super) schema: Arc<Schema>,
    pub(super) topic: Arc<str>,
    pub(super) limits: Limits,
    pub(super) budget: Arc<Budget>,
    pub(super) events: Events,
    pub(super) telemetry: Arc<Telemetry>,
}

/// The handle of a worker. The thread ends when the handle is gone.
pub(super) struct Worker {
    commands: Sender<Command>,
    thread: Thread,
}

impl Worker {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(super) fn start(number: usize, equipment: Equipment) -> io::Result<Self> {
        let (commands, receiver) = crossbeam_channel::unbounded();
        let budget = equipment.budget.clone();
        let handle = thread::Builder::new().name(format!("lanes-{number}")).spawn(move || {
            let _alarm = Alarm { number, events: equipment.events.clone() };
            Lanes::new(equipment, receiver).run();
        })?;
        let thread = handle.thread().clone();
        let sleeper = thread.clone();
        budget.on_release(move || sleeper.unpark());
        Ok(Self { commands, thread })
    }

    /// Gives a command. One to a worker that is gone has no effect.
    pub(super) fn tell(&self, command: Command) {
        let _ = self.commands.send(command);
        self.thread.unpark();
    }
}

/// Tells the coordinator when the thread panics.
struct Alarm {
    number: usize,
    events: Events,
}

impl Drop for Alarm {
    fn drop(&mut self) {
        if thread::panicking() {
            let _ = self.events.blocking_send(Event::Control(Control::Fatal(Fatal::Worker(self.number))));
        }
    }
}

struct Lanes {
    equipment: Equipment,
    commands: Receiver<Command>,
    decoder: Decoder,
    seats: Vec<Seat>,
    /// The seat that has the first turn of the next round.
    first: usize,
    looked: Instant,
}

impl Lanes {
    fn new(equipment: Equipment, commands: Receiver<Command>) -> Self {
        let decoder = Decoder::new(equipment.schema.clone());
        Self { equipment, commands, decoder, seats: Vec::new(), first: 0, looked: Instant::now() }
    }

    fn run(mut self) {
        loop {
            loop {
                match self.commands.try_recv() {
                    Ok(command) => self.obey(command),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return,
                }
            }
            let mut moved = self.read();
            moved |= self.close_due();
            if self.equipment.budget.should_close() {
                moved |= self.close_largest();
            }
            self.report_ends();
            if !moved {
                self.rest();
            }
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Take { tenure, source, cut } => {
                let Equipment { schema, topic, budget, .. } = &self.equipment;
                let lane = Lane::new(schema.clone(), topic.clone(), tenure.partition);
                let thread = thread::current();
                self.seats.push(Seat::new(tenure, source, lane, cut, budget, move || thread.unpark()));
            }
            Command::Forget(tenure) => {
                // The queue is gone before the coordinator hears of it.
                self.seats.retain(|seat| seat.tenure != tenure);
                self.send(Event::Released(tenure));
            }
            Command::Drain(tenure) => self.drain(|of| of == tenure),
            Command::Finish => self.drain(|_| true),
        }
    }

    fn drain(&mut self, which: impl Fn(Tenure) -> bool) {
        let mut drained = Vec::new();
        for index in 0..self.seats.len() {
            let seat = &self.seats[index];
            if which(seat.tenure) {
                drained.push(seat.tenure);
                // What is bound to an end that it has not reached is read again.
                if !seat.is_bound() {
                    self.close(index, Closed::Drain);
                }
            }
        }
        self.seats.retain(|seat| !which(seat.tenure));
        drained.into_iter().for_each(|tenure| self.send(Event::Released(tenure)));
    }

    /// One turn for each lane, as long as there is room. Says whether anything was read.
    fn read(&mut self) -> bool {
        if self.looked.elapsed() >= ROUND {
            self.seats.iter().for_each(Seat::look_again);
            self.looked = Instant::now();
        }
        let mut moved = false;
        let count = self.seats.len();
        for i in 0..count {
            if !self.equipment.budget.has_room() {
                // Whoever was cut short begins the next round.
                self.first = (self.first + i) % count;
                return moved | self.free_bound();
            }
            moved |= self.turn((self.first + i) % count);
        }
        moved
    }

    /// Where all the memory is taken by batches that may not be closed before their end: one of them is read on.
    fn free_bound(&mut self) -> bool {
        if !self.equipment.budget.should_close() || self.seats.iter().any(|seat| !seat.is_bound() && seat.bytes() > 0) {
            return false;
        }
        let bound = (0..self.seats.len()).filter(|&index| self.seats[index].is_bound());
        bound.max_by_key(|&index| self.seats[index].bytes()).is_some_and(|index| self.turn(index))
    }

    fn turn(&mut self, index: usize) -> bool {
        let Equipment { limits, telemetry, .. } = &self.equipment;
        let turn = self.seats[index].turn(&mut self.decoder, limits, telemetry.ledger());
        let mut moved = turn.messages > 0;
        if let Some(error) = turn.trouble {
            self.send(Event::Trouble(error));
        }
        if let Some((offset, epoch)) = turn.waits {
            let partition = self.seats[index].tenure.partition;
            self.send(Event::Waits { partition, offset, epoch });
        }
        if let Some((from, to)) = turn.went_back {
            let partition = self.seats[index].tenure.partition;
            self.send(Event::Control(Control::Fatal(Fatal::WentBack { partition, from, to })));
        }
        if let Some(cause) = turn.full {
            moved |= self.close(index, cause);
        }
        moved
    }

    /// Closes batches of age. Not while blocks queue up before the writers: the rows would get there no sooner, and in
    /// more and smaller parts.
    fn close_due(&mut self) -> bool {
        if !self.equipment.budget.flows() {
            return false;
        }
        let now = Instant::now();
        let mut closed = false;
        for index in 0..self.seats.len() {
            if self.seats[index].due(&self.equipment.limits).is_some_and(|due| due <= now) {
                closed |= self.close(index, Closed::Age);
            }
        }
        closed
    }

    fn close_largest(&mut self) -> bool {
        let free = (0..self.seats.len()).filter(|&index| !self.seats[index].is_bound());
        let largest = free.max_by_key(|&index| self.seats[index].bytes());
        largest.filter(|&index| self.seats[index].bytes() > 0).is_some_and(|index| self.close(index, Closed::Memory))
    }

    fn close(&mut self, index: usize, cause: Closed) -> bool {
        let Equipment { budget, telemetry, .. } = &self.equipment;
        let seat = &mut self.seats[index];
        let closed =
            if cause == Closed::Intent { seat.close_bound(budget, telemetry.ledger()) } else { seat.close(budget) };
        let Some(closed) = closed else { return false };
        telemetry.closed(cause);
        self.send(closed);
        true
    }

    fn report_ends(&mut self) {
        for index in 0..self.seats.len() {
            if let Some(event) = self.seats[index].report_end() {
                self.send(event);
            }
        }
    }

    /// Sleeps until woken, or the next batch comes of age.
    fn rest(&self) {
        let now = Instant::now();
        let limits = &self.equipment.limits;
        let flows = self.equipment.budget.flows();
        let due = self.seats.iter().filter(|_| flows).filter_map(|seat| seat.due(limits)).min();
        let rest = due.map_or(REST, |due| due.saturating_duration_since(now).min(REST));
        thread::park_timeout(rest);
    }

    /// Waits while the coordinator is behind. When it is gone, nothing that is sent matters any more.
    fn send(&self, event: Event) {
        let _ = self.equipment.events.blocking_send(event);
    }
}

#[cfg(test)]
#[path = "worker_tests.rs"]
mod tests;
