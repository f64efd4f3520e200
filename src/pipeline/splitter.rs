//! A block that the server refuses for its rows is taken apart until they stand alone, and those are diverted.
//!
//! The rows of a sealed block can't be told apart, so its messages are read once more. What was refused is written before
//! the next parts are sent: see [`Split`].

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::sync::{oneshot, watch};

use super::{
    backoff::backoff,
    event::{Event, Events},
    letter::Letter,
    report::Report,
    writer::{Parcel, Placing, Writer},
};
use crate::{
    delivery::{Next, Split, Step},
    kafka::{self, Fetched},
    lane::{Message, RowSource, Schema},
};

/// Where messages are read once more. Calls block.
pub(super) trait Messages: Send + Sync + 'static {
    /// Those of a partition from `first` on, before `next`, as far as they are still there.
    fn range(&self, partition: i32, first: i64, next: i64) -> Result<Vec<Fetched>, kafka::Error>;
}

impl Messages for kafka::Fetcher {
    fn range(&self, partition: i32, first: i64, next: i64) -> Result<Vec<Fetched>, kafka::Error> {
        Self::range(self, partition, first, next)
    }
}

/// What is said of a row whose refusal another process saw.
const UNKNOWN: &str = "refused by the server; what it said is lost with the process that asked";
/// How long to wait before messages that are not all there are read again.
const AGAIN: Duration = Duration::from_secs(10);

/// Takes blocks apart.
pub(super) struct Splitter {
    pub(super) writer: Arc<Writer>,
    pub(super) messages: Arc<dyn Messages>,
    pub(super) schema: Arc<Schema>,
    pub(super) topic: Arc<str>,
    pub(super) events: Events,
    pub(super) report: Arc<Report>,
}

/// The partition goes, or the coordinator has.
struct Stopped;

impl Splitter {
    /// Takes one block apart, from where it was left, and tells the coordinator what became of it.
    pub(super) async fn run(self: Arc<Self>, parcel: Parcel, left: Option<Split>) {
        let (tenure, batch) = (parcel.tenure, parcel.batch);
        let event = match self.split(&parcel, left).await {
            Ok(refused) => Event::Apart { tenure, batch, epoch: parcel.block.target.epoch, refused },
            Err(Stopped) => Event::Settled { tenure, batch, placed: false },
        };
        // Its bytes are given back before anyone hears of it.
        drop(parcel);
        let _ = self.events.send(event).await;
    }

    /// Gives the number of rows that were diverted.
    async fn split(&self, parcel: &Parcel, left: Option<Split>) -> Result<u64, Stopped> {
        let table = &parcel.block.target.table;
        if parcel.block.target.epoch.is_none() {
            // There is no other place for what is in the error table.
            let letter = Letter::new(&parcel.block, &parcel.token, parcel.may_be_known);
            self.place_surely(parcel, letter).await?;
            return Ok(0);
        }
        let target = self.schema.targets().iter().position(|target| *target == parcel.block.target).ok_or(Stopped)?;
        let Some(sources) = self.sources(parcel, target, left.is_none()).await? else { return Ok(0) };
        let rows = u32::try_from(sources.len()).unwrap_or(u32::MAX);
        // What a former owner had begun to send.
        let may_be_known = left.is_some();
        let mut split = match left {
            Some(split) => split,
            None => self.intend(parcel, Split::new(parcel.range.next, table, rows)).await?,
        };
        let (mut causes, mut diverted) = (BTreeMap::new(), 0);
        loop {
            let mut refused = Vec::new();
            match split.step(rows) {
                Step::Send(ranges) => {
                    for range in ranges {
                        let part = RowSource::block(&self.schema, target, &sources[span(&range)]).ok_or(Stopped)?;
                        let token = format!("{}{}", parcel.token, Split::suffix(&range));
                        let mut letter = Letter::new(&part, &token, may_be_known);
                        if let Some(cause) = self.place(parcel, &mut letter).await? {
                            causes.insert(range.start, cause);
                            refused.push(range.start);
                        }
                    }
                }
                Step::Divert(list) => {
                    diverted += list.len() as u64;
                    let cause = |row: &u32| causes.get(row).map_or(UNKNOWN, String::as_str);
                    let of: Vec<_> = list.iter().map(|row| (&sources[*row as usize], cause(row))).collect();
                    let block = RowSource::refused(&self.schema, target, &self.topic, parcel.tenure.partition, &of);
                    let token = format!("{}{}", parcel.token, split.divert_suffix());
                    let block = block.ok_or(Stopped)?;
                    self.place_surely(parcel, Letter::new(&block, &token, may_be_known)).await?;
                }
            }
            split = match split.after(rows, &refused) {
                Next::Go(next) => next,
                Next::Intend(next) => self.intend(parcel, next).await?,
                Next::Done => return Ok(diverted),
            };
        }
    }

    /// Has it written that this comes next.
    async fn intend(&self, parcel: &Parcel, split: Split) -> Result<Split, Stopped> {
        let (reply, written) = oneshot::channel();
        let event = Event::Intend { tenure: parcel.tenure, split: split.clone(), reply };
        self.events.send(event).await.map_err(|_| Stopped)?;
        unless_stopped(parcel, written).await?.map_err(|_| Stopped)?;
        Ok(split)
    }

    /// Places a part; gives what the server said if it refuses the rows.
    async fn place(&self, parcel: &Parcel, letter: &mut Letter<'_>) -> Result<Option<String>, Stopped> {
        match self.writer.place(parcel.tenure, letter, &mut parcel.stop.clone()).await {
            Placing::Placed => Ok(None),
            Placing::Stopped => Err(Stopped),
            Placing::Refused(cause) => Ok(Some(cause)),
        }
    }

    /// Places a block that has no other place.
    async fn place_surely(&self, parcel: &Parcel, mut letter: Letter<'_>) -> Result<(), Stopped> {
        for failures in 1.. {
            if self.place(parcel, &mut letter).await?.is_none() {
                break;
            }
            unless_stopped(parcel, tokio::time::sleep(backoff(failures))).await?;
        }
        Ok(())
    }

    /// The records of the block's rows; `None` if the server took the block whole after all, which it is only asked to while
    /// no part of it may have been sent.
    async fn sources(&self, parcel: &Parcel, target: usize, is_whole: bool) -> Result<Option<Vec<RowSource>>, Stopped> {
        let (partition, range) = (parcel.tenure.partition, parcel.range);
        let mut whole = Letter::new(&parcel.block, &parcel.token, parcel.may_be_known);
        loop {
            let (messages, schema) = (self.messages.clone(), self.schema.clone());
            let read = tokio::task::spawn_blocking(move || {
                let fetched = messages.range(partition, range.first, range.next)?;
                let messages = fetched.iter().map(|Fetched { offset, time_ms, payload }| Message {
                    offset: *offset,
                    time_ms: *time_ms,
                    payload: payload.as_deref(),
                });
                Ok::<_, kafka::Error>(RowSource::of(&schema, target, messages))
            });
            match unless_stopped(parcel, read).await? {
                Ok(Ok(sources)) if sources.len() as u64 == parcel.block.rows => return Ok(Some(sources)),
                Ok(Ok(sources)) => {
                    let what = "of a block that the server refuses not all messages are there any more, so its rows can't be \
                                told apart: it is held until the server takes it";
                    let found = format!("{} rows of {}", sources.len(), parcel.block.rows);
                    self.report.trouble("apart", what, &found);
                    if is_whole && self.place(parcel, &mut whole).await?.is_none() {
                        return Ok(None);
                    }
                }
                Ok(Err(error)) => {
                    self.report.trouble("apart", "messages of a refused block can't be read again yet", &error);
                }
                Err(_) => return Err(Stopped),
            }
            unless_stopped(parcel, tokio::time::sleep(AGAIN)).await?;
        }
    }
}

const fn span(range: &std::ops::Range<u32>) -> std::ops::Range<usize> {
    range.start as usize..range.end as usize
}

async fn unless_stopped<T>(parcel: &Parcel, wait: impl Future<Output = T>) -> Result<T, Stopped> {
    let mut stop: watch::Receiver<bool> = parcel.stop.clone();
    tokio::select! {
        biased;
        _ = stop.wait_for(|stop| *stop) => Err(Stopped),
        done = wait => Ok(done),
    }
}
