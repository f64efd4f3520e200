//! A model of one partition: processes that read, intend, send, commit, crash, freeze and wake, a group's coordinator that
//! takes writes of the current owner alone, and a server that drops tokens it knows. All interleavings of a small world
//! are gone through, and long random ones of a larger. Whatever happens, each message is placed once.

use std::collections::{BTreeSet, HashSet};

use proptest::prelude::*;

use super::{Entry, Journal, Range, ReadBack, Reset, take_over, token};

/// What is broken on purpose, to see that the model notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Sabotage {
    Nothing,
    /// Batches are sent as they close.
    NoIntent,
    /// The coordinator takes writes of whoever was once the owner.
    NoFence,
    /// After a doubtful write the owner goes on as if it had taken place.
    NoDoubt,
    /// A new owner closes its batches as it likes.
    NoForce,
    /// Tokens are made from the first message instead of the last boundary. Only a log that loses its beginning tells.
    NoBoundary,
    /// A block that is acknowledged is not looked for, whatever became of its token before.
    NoLook,
    /// What a former owner may have sent is not looked for.
    NoLookAtRecut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The lane of a process reads a message.
    Read(usize),
    /// It closes its batch.
    Close(usize),
    /// A process writes what there is to write; the answer comes, or is lost after the write, or before it.
    Write(usize, Answer),
    /// After a lost answer: it looks.
    Look(usize),
    /// An insert that is on the way reaches the server; the answer comes or is lost.
    Land(usize, bool),
    /// An insert reaches the server, which notes the token and then fails to keep the rows. If it is killed there, whatever
    /// else was on its way to it is gone, but for what living processes send again.
    Tear(usize, bool),
    /// A process is gone; what it sent is still on its way.
    Crash(usize),
    /// The group gives the partition to a new process. The last owner, if it lives, has not noticed.
    TakeOver,
    /// The first message that is there expires.
    Expire,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Comes,
    LostAfter,
    LostBefore,
}

#[derive(Debug, Clone)]
struct Process {
    journal: Journal,
    era: u64,
    generation: u32,
    forced: Vec<i64>,
    /// What the open batch holds.
    open: Vec<i64>,
    position: i64,
    boundary: i64,
    /// Closed and not sent.
    waiting: Vec<Waiting>,
    in_doubt: bool,
}

#[derive(Debug, Clone)]
struct Waiting {
    number: u64,
    range: Range,
    messages: Vec<i64>,
    is_recut: bool,
}

#[derive(Debug, Clone)]
struct Insert {
    /// The index of its process, and the number of the batch.
    of: (usize, u64),
    token: String,
    messages: Vec<i64>,
    /// The server may have been given the token before.
    may_be_known: bool,
}

#[derive(Debug, Clone)]
struct World {
    sabotage: Sabotage,
    low: i64,
    end: i64,
    held: Option<Entry>,
    generation: u32,
    processes: Vec<Option<Process>>,
    under_way: Vec<Insert>,
    tokens: BTreeSet<String>,
    /// How often each message was placed.
    placed: Vec<u8>,
    /// Messages that expired before the committed offset had passed them.
    expired: BTreeSet<i64>,
}

impl World {
    fn new(messages: i64, sabotage: Sabotage) -> Self {
        let placed = vec![0; usize::try_from(messages).expect("few")];
        Self {
            sabotage,
            low: 0,
            end: messages,
            held: None,
            generation: 0,
            processes: Vec::new(),
            under_way: Vec::new(),
            tokens: BTreeSet::new(),
            placed,
            expired: BTreeSet::new(),
        }
    }

    fn process(&mut self, index: usize) -> Option<&mut Process> {
        self.processes.get_mut(index)?.as_mut()
    }

    /// Whether the step did anything.
    fn step(&mut self, step: Step) -> bool {
        match step {
            Step::Read(index) => self.read(index),
            Step::Close(index) => self.close(index, false),
            Step::Write(index, answer) => self.write(index, answer),
            Step::Look(index) => self.look(index),
            Step::Land(index, answered) => self.land(index, answered),
            Step::Tear(index, killed) => self.tear(index, killed),
            Step::Crash(index) => self.processes.get_mut(index).is_some_and(|process| process.take().is_some()),
            Step::TakeOver => self.take_over(),
            Step::Expire => {
                if self.low >= self.end {
                    return false;
                }
                self.expired.insert(self.low);
                self.low += 1;
                true
            }
        }
    }

    fn take_over(&mut self) -> bool {
        self.generation += 1;
        let log = self.low..self.end;
        let fresh = 100 + u64::from(self.generation);
        let mut takeover = take_over(self.held.clone(), "t", &log, Reset::Earliest, fresh).expect("readable");
        if self.sabotage == Sabotage::NoForce {
            takeover.forced.clear();
        }
        self.processes.push(Some(Process {
            journal: Journal::exactly_once("t", &takeover),
            era: takeover.era,
            generation: self.generation,
            open: Vec::new(),
            position: takeover.start,
            boundary: takeover.base,
            forced: takeover.forced,
            waiting: Vec::new(),
            in_doubt: false,
        }));
        true
    }

    fn read(&mut self, index: usize) -> bool {
        let (low, end) = (self.low, self.end);
        let Some(process) = self.process(index) else { return false };
        process.position = process.position.max(low);
        match process.forced.first() {
            // As a lane does: what is beyond the end is left for the next batch.
            Some(forced) if process.position >= *forced => return self.close(index, true),
            _ if process.position >= end => return false,
            _ => {}
        }
        process.open.push(process.position);
        process.position += 1;
        true
    }

    fn close(&mut self, index: usize, forced: bool) -> bool {
        let no_boundary = self.sabotage == Sabotage::NoBoundary;
        let Some(process) = self.process(index) else { return false };
        let next = if forced {
            process.forced.remove(0)
        } else if process.open.is_empty() || !process.forced.is_empty() {
            return false;
        } else {
            process.position
        };
        let messages = std::mem::take(&mut process.open);
        let is_recut = process.journal.is_recut(next);
        let (number, mut range) = process.journal.close(process.boundary, next, usize::from(!messages.is_empty()));
        process.boundary = next;
        if let Some(first) = messages.first() {
            if no_boundary {
                range.first = *first;
            }
            process.waiting.push(Waiting { number, range, messages, is_recut });
        }
        self.send(index);
        true
    }

    fn send(&mut self, index: usize) {
        let no_intent = self.sabotage == Sabotage::NoIntent;
        let no_look_at_recut = self.sabotage == Sabotage::NoLookAtRecut;
        let Some(process) = self.process(index) else { return };
        let mut may = process.journal.let_go();
        if no_intent {
            may = 0..u64::MAX;
        }
        let (go, wait) = std::mem::take(&mut process.waiting)
            .into_iter()
            .partition(|waiting: &Waiting| may.contains(&waiting.number));
        process.waiting = wait;
        let go: Vec<Waiting> = go;
        let era = process.era;
        for Waiting { number, range, messages, is_recut } in go {
            let token = token("t", 0, era, range, "table");
            let may_be_known = is_recut && !no_look_at_recut;
            self.under_way.push(Insert { of: (index, number), token, messages, may_be_known });
        }
    }

    fn write(&mut self, index: usize, answer: Answer) -> bool {
        let (current, sabotage) = (self.generation, self.sabotage);
        let Some(process) = self.process(index) else { return false };
        if process.in_doubt {
            return false;
        }
        let Some(entry) = process.journal.to_write(false) else { return false };
        process.journal.writing(entry.clone());
        let fenced = process.generation != current && sabotage != Sabotage::NoFence;
        let done = answer != Answer::LostBefore && !fenced;
        if (done && answer == Answer::Comes) || sabotage == Sabotage::NoDoubt {
            process.journal.written();
        } else {
            process.in_doubt = true;
        }
        if done {
            self.held = Some(entry);
        }
        self.send(index);
        true
    }

    fn look(&mut self, index: usize) -> bool {
        let held = self.held.clone();
        let Some(process) = self.process(index).filter(|process| process.in_doubt) else { return false };
        process.in_doubt = false;
        if process.journal.read_back(held) == ReadBack::Foreign {
            self.processes[index] = None;
        } else {
            self.send(index);
        }
        true
    }

    fn land(&mut self, at: usize, answered: bool) -> bool {
        let Some(insert) = self.under_way.get(at).cloned() else { return false };
        if self.tokens.insert(insert.token) {
            for message in &insert.messages {
                self.placed[usize::try_from(*message).expect("few")] += 1;
            }
        }
        // Without an answer it is sent again, as long as its process lives.
        let (index, number) = insert.of;
        let looks = insert.may_be_known && self.sabotage != Sabotage::NoLook;
        // As the first row of a block tells of all.
        let is_missing = looks && insert.messages.iter().take(1).any(|first| self.placed[*first as usize] == 0);
        match self.processes.get_mut(index).and_then(Option::as_mut) {
            Some(_) if answered && is_missing => self.under_way[at].token.push_str("/again"),
            Some(process) if answered => {
                process.journal.acknowledge(number);
                self.under_way.remove(at);
            }
            Some(_) => self.under_way[at].may_be_known = true,
            None => drop(self.under_way.remove(at)),
        }
        true
    }

    fn tear(&mut self, at: usize, killed: bool) -> bool {
        let Some(insert) = self.under_way.get_mut(at) else { return false };
        let is_new = self.tokens.insert(insert.token.clone());
        insert.may_be_known = true;
        if killed {
            let processes = &self.processes;
            self.under_way.retain(|insert| processes[insert.of.0].is_some());
            self.under_way.iter_mut().for_each(|insert| insert.may_be_known = true);
        }
        is_new
    }

    /// Everything is mended: all zombies come to rest, what is under way lands, a last owner goes to the end.
    fn finish(mut self) -> Result<(), String> {
        for index in 0..self.processes.len() {
            self.write(index, Answer::Comes);
        }
        while !self.under_way.is_empty() {
            self.land(0, true);
        }
        self.take_over();
        let last = self.processes.len() - 1;
        loop {
            let mut moved = false;
            while self.read(last) {
                moved = true;
            }
            moved |= self.close(last, false);
            moved |= self.write(last, Answer::Comes);
            while !self.under_way.is_empty() {
                moved |= self.land(0, true);
            }
            if !moved {
                break;
            }
        }
        let committed = self.held.as_ref().map_or(self.low, |entry| entry.offset);
        if committed < self.end {
            return Err(format!("committed up to {committed} of {}: {self:#?}", self.end));
        }
        for (message, copies) in self.placed.iter().enumerate() {
            let may_lack = self.expired.contains(&(message as i64));
            if *copies > 1 || (*copies == 0 && !may_lack) {
                return Err(format!("message {message} is placed {copies} times"));
            }
        }
        Ok(())
    }
}

/// All steps that there are at the moment.
fn steps(world: &World, takeovers: usize, expire: bool) -> Vec<Step> {
    let mut steps = Vec::new();
    for index in 0..world.processes.len() {
        steps.extend([Step::Read(index), Step::Close(index), Step::Look(index), Step::Crash(index)]);
        steps.extend([Answer::Comes, Answer::LostAfter, Answer::LostBefore].map(|answer| Step::Write(index, answer)));
    }
    for at in 0..world.under_way.len() {
        steps.extend([Step::Land(at, true), Step::Land(at, false), Step::Tear(at, true), Step::Tear(at, false)]);
    }
    if world.processes.len() < takeovers {
        steps.push(Step::TakeOver);
    }
    if expire {
        steps.push(Step::Expire);
    }
    steps
}

/// Goes through every sequence of at most so many steps; gives the number of different states, or what went wrong.
fn explore(messages: i64, takeovers: usize, depth: usize, expire: bool, sabotage: Sabotage) -> Result<usize, String> {
    let mut world = World::new(messages, sabotage);
    world.take_over();
    let mut seen = HashSet::new();
    let mut layer = vec![(world, Vec::new())];
    for _ in 0..=depth {
        let mut next = Vec::new();
        for (world, path) in layer {
            world.clone().finish().map_err(|error| format!("{path:?}: {error}"))?;
            for step in steps(&world, takeovers, expire) {
                let mut after = world.clone();
                if after.step(step) && seen.insert(format!("{after:?}")) {
                    let mut path: Vec<Step> = path.clone();
                    path.push(step);
                    next.push((after, path));
                }
            }
        }
        layer = next;
    }
    Ok(seen.len())
}

#[test]
fn every_interleaving_of_a_small_world_places_each_message_once() {
    let states = explore(3, 3, 10, false, Sabotage::Nothing).unwrap_or_else(|error| panic!("{error}"));
    assert!(states > 10_000, "{states}");
    explore(2, 2, 9, true, Sabotage::Nothing).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn each_part_of_the_protocol_is_missed() {
    for sabotage in [
        Sabotage::NoIntent,
        Sabotage::NoFence,
        Sabotage::NoDoubt,
        Sabotage::NoForce,
        Sabotage::NoBoundary,
        Sabotage::NoLook,
        Sabotage::NoLookAtRecut,
    ] {
        let found = (3..=8).find_map(|depth| explore(2, 2, depth, true, sabotage).err());
        assert!(found.is_some(), "{sabotage:?} was not noticed");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    /// Five owners one after the other, the old ones still at work, hundreds of steps.
    #[test]
    fn long_random_lives_place_each_message_once(dice in prop::collection::vec(any::<prop::sample::Index>(), 0..400)) {
        let mut world = World::new(30, Sabotage::Nothing);
        world.take_over();
        for dice in dice {
            let steps = steps(&world, 5, false);
            world.step(steps[dice.index(steps.len())]);
        }
        if let Err(error) = world.finish() {
            prop_assert!(false, "{error}");
        }
    }
}
