//! Stand-ins for the two services, for tests of what lies between them.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use prost::encoding::{bytes, encode_varint, uint32, uint64};

use super::{
    committer::Ledger,
    proof::Proof,
    source::{Look, Source},
    splitter::Messages,
    writer::{About, Refusal, Sink},
};
use crate::{
    config::Framing,
    delivery::Entry,
    epoch, kafka,
    lane::{Block, Message, Schema},
};

/// The identity of the topic.
pub(super) const TOPIC_ID: &str = "dGhlIHRvcGljJ3MgaWRlbg";

/// The embedded definitions.
pub(super) fn schema() -> Arc<Schema> {
    Schema::new(&epoch::load::embedded().expect("sound definitions"), "errors", Framing::Delimited)
}

/// Polls a condition for at most ten seconds.
pub(super) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(10), "not in time: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A partition's queue. Every message is an empty one, which is one row of the error table.
#[derive(Clone, Default)]
pub(super) struct Queue(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    messages: VecDeque<(i64, Option<Vec<u8>>)>,
    at_end: bool,
    polls: u64,
    wake: Option<Box<dyn Fn() + Send + Sync>>,
}

impl Queue {
    /// Messages without a value at these offsets.
    pub(super) fn put(&self, offsets: impl IntoIterator<Item = i64>) {
        self.put_values(offsets.into_iter().map(|offset| (offset, None)));
    }

    /// Messages of these values.
    pub(super) fn put_values(&self, messages: impl IntoIterator<Item = (i64, Option<Vec<u8>>)>) {
        let mut inner = self.0.lock().expect("alive");
        let was_empty = inner.messages.is_empty();
        inner.messages.extend(messages);
        if was_empty
            && !inner.messages.is_empty()
            && let Some(wake) = &inner.wake
        {
            wake();
        }
    }

    /// Tells the end once, when everything has been read.
    pub(super) fn end(&self) {
        self.0.lock().expect("alive").at_end = true;
    }

    /// Messages that nobody has read.
    pub(super) fn left(&self) -> usize {
        self.0.lock().expect("alive").messages.len()
    }

    /// Looks into the queue so far.
    pub(super) fn polls(&self) -> u64 {
        self.0.lock().expect("alive").polls
    }
}

impl Source for Queue {
    fn poll(&self, take: &mut dyn FnMut(Message<'_>)) -> Look {
        let mut inner = self.0.lock().expect("alive");
        inner.polls += 1;
        if let Some((offset, value)) = inner.messages.pop_front() {
            drop(inner);
            take(Message { offset, time_ms: None, payload: value.as_deref() });
            return Look::Message;
        }
        if std::mem::take(&mut inner.at_end) { Look::End } else { Look::Empty }
    }

    fn on_nonempty(&mut self, wake: Box<dyn Fn() + Send + Sync>) {
        self.0.lock().expect("alive").wake = Some(wake);
    }
}

/// A server: answers as told, and remembers what it was asked.
#[derive(Clone, Default)]
pub(super) struct Server(Arc<Mutex<Answers>>);

#[derive(Default)]
struct Answers {
    /// What each table answers; takes everything if there is nothing here.
    refusals: BTreeMap<String, About>,
    /// How long an answer takes.
    takes: Duration,
    /// Table and rows of each attempt, and whether it was taken.
    attempts: Vec<(String, u64, bool)>,
    /// Tokens of what was taken. What comes again under one of them is acknowledged and dropped.
    tokens: BTreeSet<String>,
    /// Rows that were taken and not dropped, by table.
    rows: BTreeMap<String, u64>,
    /// How many more tokens will be noted without their rows.
    tears: usize,
    /// Samples of the blocks that are there.
    there: BTreeSet<(String, Vec<u8>)>,
    /// Looks for a block, and whether they fail.
    looks: usize,
    refuses_looks: bool,
    /// Offsets whose rows are refused, where each message is one row.
    bad: BTreeSet<i64>,
    under_way: usize,
    most_under_way: usize,
}

impl Server {
    /// What a table answers from now on.
    pub(super) fn answer(&self, table: &str, refusal: Option<About>) {
        let refusals = &mut self.0.lock().expect("alive").refusals;
        match refusal {
            Some(about) => drop(refusals.insert(table.to_owned(), about)),
            None => drop(refusals.remove(table)),
        }
    }

    /// How long an answer takes from now on.
    pub(super) fn takes(&self, takes: Duration) {
        self.0.lock().expect("alive").takes = takes;
    }

    /// Attempts on a table: refused ones and taken ones.
    pub(super) fn attempts(&self, table: &str) -> (usize, usize) {
        let answers = self.0.lock().expect("alive");
        let of = |taken| answers.attempts.iter().filter(|(name, _, ok)| name == table && *ok == taken).count();
        (of(false), of(true))
    }

    /// The next that many inserts find the server killed between noting the token and keeping the rows: no answer comes.
    pub(super) fn tear(&self, inserts: usize) {
        self.0.lock().expect("alive").tears = inserts;
    }

    /// Whether the question for a block fails from now on.
    pub(super) fn refuse_looks(&self, refuse: bool) {
        self.0.lock().expect("alive").refuses_looks = refuse;
    }

    /// How often a block was looked for.
    pub(super) fn looks(&self) -> usize {
        self.0.lock().expect("alive").looks
    }

    /// Rows that were taken and not dropped.
    pub(super) fn rows(&self) -> u64 {
        self.0.lock().expect("alive").rows.values().sum()
    }

    /// Refuses no row any more.
    pub(super) fn mend(&self) {
        self.0.lock().expect("alive").bad.clear();
    }

    /// Rows of a table.
    pub(super) fn rows_of(&self, table: &str) -> u64 {
        self.0.lock().expect("alive").rows.get(table).copied().unwrap_or_default()
    }

    /// Refuses blocks with the row of one of these offsets. Each message must be one row of the same table.
    pub(super) fn refuse(&self, offsets: impl IntoIterator<Item = i64>) {
        self.0.lock().expect("alive").bad.extend(offsets);
    }

    /// The tokens of what was taken.
    pub(super) fn tokens(&self) -> BTreeSet<String> {
        self.0.lock().expect("alive").tokens.clone()
    }

    /// The most inserts that were under way at once.
    pub(super) fn most_under_way(&self) -> usize {
        self.0.lock().expect("alive").most_under_way
    }
}

impl Sink for Server {
    fn insert<'a>(
        &'a self,
        block: &'a Block,
        token: &'a str,
        _: &'a Arc<Proof>,
    ) -> Pin<Box<dyn Future<Output = Result<(), Refusal>> + Send + 'a>> {
        Box::pin(async move {
            let takes = {
                let mut answers = self.0.lock().expect("alive");
                answers.under_way += 1;
                answers.most_under_way = answers.most_under_way.max(answers.under_way);
                answers.takes
            };
            tokio::time::sleep(takes).await;
            let mut answers = self.0.lock().expect("alive");
            answers.under_way -= 1;
            let refusal = answers.refusals.get(&block.target.table).copied();
            let is_bad = block.target.epoch.is_some() && answers.bad.range(covered(token)).next().is_some();
            let mut refusal = refusal.or(is_bad.then_some(About::Rows));
            if refusal.is_none() && answers.tears > 0 && !answers.tokens.contains(token) {
                answers.tears -= 1;
                answers.tokens.insert(token.to_owned());
                refusal = Some(About::Server);
            }
            answers.attempts.push((block.target.table.clone(), block.rows, refusal.is_none()));
            if refusal.is_none() && answers.tokens.insert(token.to_owned()) {
                *answers.rows.entry(block.target.table.clone()).or_default() += block.rows;
                answers.there.insert((block.target.table.clone(), block.samples.concat()));
            }
            match refusal {
                None => Ok(()),
                Some(about) => Err(Refusal { about, cause: "as told".into() }),
            }
        })
    }

    fn holds<'a>(&'a self, block: &'a Block) -> Pin<Box<dyn Future<Output = Result<bool, Refusal>> + Send + 'a>> {
        Box::pin(async move {
            let mut answers = self.0.lock().expect("alive");
            answers.looks += 1;
            if answers.refuses_looks {
                return Err(Refusal { about: About::Table, cause: "as told".into() });
            }
            Ok(answers.there.contains(&(block.target.table.clone(), block.samples.concat())))
        })
    }
}

/// The offsets of a block's rows, from its token: of a batch's range, or of a part of it.
fn covered(token: &str) -> std::ops::Range<i64> {
    let numbers = |text: &str| text.split_once('-').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    let mut fields = token.split('/');
    let Some((first, next)) = fields.nth(3).and_then(numbers) else { return 0..0 };
    match fields.nth(1).and_then(|part| numbers(part.strip_prefix('r')?)) {
        Some((from, to)) => first + from..first + to,
        None => first..next,
    }
}

/// The value of a message of one row of epoch 2.
pub(super) fn record(number: i64) -> Vec<u8> {
    let (mut record, mut envelope, mut message) = (Vec::new(), Vec::new(), Vec::new());
    uint32::encode(1, &2, &mut record);
    // Its counter, as epoch 2 numbers it.
    uint64::encode(60, &u64::try_from(number).expect("not negative"), &mut record);
    bytes::encode(10, &record, &mut envelope);
    encode_varint(envelope.len() as u64, &mut message);
    [message, envelope].concat()
}

/// A topic whose every message is [`record`] of its offset.
pub(super) struct Records;

impl Messages for Records {
    fn range(&self, _: i32, first: i64, next: i64) -> Result<Vec<kafka::Fetched>, kafka::Error> {
        let message = |offset| kafka::Fetched { offset, time_ms: None, payload: Some(record(offset)) };
        Ok((first..next).map(message).collect())
    }
}

/// The group's offsets: remembers every write, fails as told.
#[derive(Clone, Default)]
pub(super) struct Offsets(Arc<Mutex<Written>>);

/// How a write fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// It does not take place.
    Before,
    /// It takes place, and nobody says so.
    After,
}

#[derive(Default)]
struct Written {
    held: BTreeMap<i32, Entry>,
    writes: Vec<(i32, Entry)>,
    reads: usize,
    attempts: usize,
    retaken: Vec<i32>,
    fail: Option<(usize, Failure)>,
}

impl Offsets {
    /// The offset that is held for a partition.
    pub(super) fn of(&self, partition: i32) -> Option<i64> {
        self.entry(partition).map(|entry| entry.offset)
    }

    /// What is held for a partition.
    pub(super) fn entry(&self, partition: i32) -> Option<Entry> {
        self.0.lock().expect("alive").held.get(&partition).cloned()
    }

    /// Another member writes.
    pub(super) fn set(&self, partition: i32, offset: i64, metadata: &str) {
        let entry = Entry { offset, metadata: metadata.to_owned() };
        self.0.lock().expect("alive").held.insert(partition, entry);
    }

    /// That many writes fail from now on.
    pub(super) fn fail(&self, writes: usize, how: Failure) {
        self.0.lock().expect("alive").fail = Some((writes, how));
    }

    /// Every write that took place, in order.
    pub(super) fn writes(&self) -> Vec<(i32, i64)> {
        self.0.lock().expect("alive").writes.iter().map(|(partition, entry)| (*partition, entry.offset)).collect()
    }

    /// Attempts to write, and reads.
    pub(super) fn exchanges(&self) -> usize {
        let written = self.0.lock().expect("alive");
        written.attempts + written.reads
    }

    /// The partitions that were to be taken once more.
    pub(super) fn retaken(&self) -> Vec<i32> {
        self.0.lock().expect("alive").retaken.clone()
    }

    /// How often what is held was read.
    pub(super) fn reads(&self) -> usize {
        self.0.lock().expect("alive").reads
    }
}

impl Ledger for Offsets {
    fn commit(&self, entries: &[(i32, Entry)], holds: &dyn Fn() -> bool) -> Result<(), kafka::Error> {
        let mut written = self.0.lock().expect("alive");
        written.attempts += 1;
        let error = || Err(kafka::Error::other("commit", "nowhere", "as told"));
        let failure = match &mut written.fail {
            Some((left, how)) if *left > 0 => {
                *left -= 1;
                Some(*how)
            }
            _ => None,
        };
        if failure == Some(Failure::Before) || !holds() {
            return error();
        }
        for (partition, entry) in entries {
            written.held.insert(*partition, entry.clone());
            written.writes.push((*partition, entry.clone()));
        }
        if failure.is_some() { error() } else { Ok(()) }
    }

    fn committed(&self, partitions: &[i32]) -> Result<Vec<(i32, Option<Entry>)>, kafka::Error> {
        let mut written = self.0.lock().expect("alive");
        written.reads += 1;
        Ok(partitions.iter().map(|partition| (*partition, written.held.get(partition).cloned())).collect())
    }

    fn survey(&self, partitions: &[i32]) -> Result<kafka::Survey, kafka::Error> {
        let watermarks =
            partitions.iter().map(|&partition| kafka::Watermarks { partition, low: 0, high: 1_000_000 }).collect();
        Ok(kafka::Survey { topic_id: TOPIC_ID.to_owned(), watermarks })
    }

    fn retake(&self, partition: i32) {
        self.0.lock().expect("alive").retaken.push(partition);
    }
}
