//! `--until-caught-up`: until everything that the topic held at the start is placed or diverted, and committed.
//!
//! Partitions may belong to other members of the group, so the measure is what the group has committed. A partition of this
//! process also counts as done when it was read to its end with all of it committed: its last offsets may be markers of
//! transactions, which no message ever has.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::IsTerminal as _,
    sync::Arc,
    time::Duration,
};

use indicatif::ProgressBar;
use tokio::{sync::watch, time::interval};

use super::committer::Ledger;
use crate::{
    delivery::{Entry, Intents},
    kafka::{self, Watermarks},
    telemetry::{self, Every, Telemetry},
};

/// How often the group is asked.
const LOOK: Duration = Duration::from_millis(300);
/// How often a line says how far it is when there is no bar.
const LINE: Duration = Duration::from_secs(10);

/// How far each partition has to come.
pub(super) struct Goal {
    marks: BTreeMap<i32, Mark>,
    pending: BTreeSet<i32>,
}

#[derive(Debug, Clone, Copy)]
struct Mark {
    /// Where the group stood when it was first asked, or where the partition begins.
    first: Option<i64>,
    low: i64,
    high: i64,
    /// How far the group is, as far as it concerns the goal.
    reached: i64,
}

impl Goal {
    /// Everything that lies between these watermarks.
    pub(super) fn new(watermarks: &[Watermarks]) -> Self {
        let mark = |w: &Watermarks| Mark { first: None, low: w.low, high: w.high, reached: w.low };
        let marks: BTreeMap<_, _> = watermarks.iter().map(|w| (w.partition, mark(w))).collect();
        let pending = marks.iter().filter(|(_, mark)| mark.low < mark.high).map(|(partition, _)| *partition).collect();
        Self { marks, pending }
    }

    /// Whether there is nothing left to wait for.
    pub(super) fn is_reached(&self) -> bool {
        self.pending.is_empty()
    }

    /// Takes in what the group has committed, and which partitions are settled.
    fn look(&mut self, committed: &[(i32, Option<i64>)], settled: &BTreeSet<i32>) {
        for (partition, committed) in committed {
            let Some(mark) = self.marks.get_mut(partition) else { continue };
            let at = committed.unwrap_or(mark.low).clamp(mark.low, mark.high);
            mark.first.get_or_insert(at);
            mark.reached = if settled.contains(partition) { mark.high } else { at };
            if mark.reached == mark.high {
                self.pending.remove(partition);
            }
        }
    }

    /// Offsets done since the first look, and offsets to do in all.
    fn progress(&self) -> (u64, u64) {
        let first = |mark: &Mark| mark.first.unwrap_or(mark.low);
        let sum = |of: &dyn Fn(&Mark) -> i64| self.marks.values().map(|m| u64::try_from(of(m)).unwrap_or(0)).sum();
        (sum(&|mark| mark.reached - first(mark)), sum(&|mark| mark.high - first(mark)))
    }
}

/// Waits until the goal is reached.
pub(super) async fn wait(
    mut goal: Goal,
    ledger: Arc<dyn Ledger>,
    settled: watch::Receiver<BTreeSet<i32>>,
    telemetry: &Telemetry,
) {
    let show = Show::new(telemetry);
    let mut tick = interval(LOOK);
    while !goal.is_reached() {
        tick.tick().await;
        let (ledger, pending) = (ledger.clone(), goal.pending.iter().copied().collect::<Vec<_>>());
        let answer = tokio::task::spawn_blocking(move || reached(&*ledger, &pending)).await;
        match answer {
            Ok(Ok(committed)) => goal.look(&committed, &settled.borrow()),
            // The group's coordinator may still be loading, or be away for a while: it is asked again.
            Ok(Err(error)) => tracing::debug!(%error, "what is committed is not known"),
            Err(error) => tracing::debug!(%error, "what is committed is not known"),
        }
        show.at(&goal);
    }
    show.end();
}

/// How far the group is. What it holds of a topic that is no more says nothing of the one that has its name.
fn reached(ledger: &dyn Ledger, partitions: &[i32]) -> Result<Vec<(i32, Option<i64>)>, kafka::Error> {
    let entries = ledger.committed(partitions)?;
    let intents = |entry: &Entry| Intents::decode(&entry.metadata, entry.offset).ok();
    let topics: BTreeSet<_> =
        entries.iter().filter_map(|(_, entry)| intents(entry.as_ref()?)).map(|i| i.topic).collect();
    let now = if topics.is_empty() { None } else { Some(ledger.survey(&[])?.topic_id) };
    let offset = |entry: Entry| {
        let is_old = intents(&entry).is_some_and(|intents| Some(&intents.topic) != now.as_ref());
        (!is_old).then_some(entry.offset)
    };
    Ok(entries.into_iter().map(|(partition, entry)| (partition, entry.and_then(offset))).collect())
}

/// A bar, or a line now and then.
struct Show<'a> {
    bar: Option<ProgressBar>,
    line: Every,
    telemetry: &'a Telemetry,
}

impl<'a> Show<'a> {
    fn new(telemetry: &'a Telemetry) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| telemetry::bar(0, "messages"));
        let line = Every::new(LINE);
        Self { bar, line, telemetry }
    }

    fn at(&self, goal: &Goal) {
        let (done, all) = goal.progress();
        let rows: u64 = self.telemetry.ledger().sums().placed.values().sum();
        match &self.bar {
            Some(bar) => {
                bar.set_length(all);
                bar.set_position(done);
                bar.set_message(format!(" · {rows} rows"));
            }
            None => {
                if self.line.ready().is_some() {
                    tracing::info!(messages = done, of = all, rows, "catching up");
                }
            }
        }
    }

    fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        let sums = self.telemetry.ledger().sums();
        let (rows, diverted): (u64, u64) = (sums.placed.values().sum(), sums.diverted.values().sum());
        tracing::info!(rows, diverted, "caught up");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goal(ranges: &[(i64, i64)]) -> Goal {
        let marks = (0..).zip(ranges).map(|(partition, &(low, high))| Watermarks { partition, low, high });
        Goal::new(&marks.collect::<Vec<_>>())
    }

    #[test]
    fn an_empty_topic_is_reached_at_once() {
        assert!(goal(&[]).is_reached());
        assert!(goal(&[(0, 0), (7, 7)]).is_reached());
    }

    #[test]
    fn every_partition_has_to_be_committed_up_to_its_mark() {
        let mut goal = goal(&[(0, 10), (5, 20), (3, 3)]);
        let none = BTreeSet::new();
        goal.look(&[(0, None), (1, Some(8))], &none);
        assert_eq!((goal.is_reached(), goal.progress()), (false, (0, 22)));
        goal.look(&[(0, Some(9)), (1, Some(20))], &none);
        assert_eq!((goal.is_reached(), goal.progress()), (false, (21, 22)));
        goal.look(&[(0, Some(12))], &none);
        assert_eq!((goal.is_reached(), goal.progress()), (true, (22, 22)));
    }

    #[test]
    fn a_partition_that_was_read_to_its_end_is_done_without_its_last_offset() {
        let mut goal = goal(&[(0, 10)]);
        goal.look(&[(0, Some(9))], &BTreeSet::from([1]));
        assert!(!goal.is_reached());
        goal.look(&[(0, Some(9))], &BTreeSet::from([0]));
        assert!(goal.is_reached());
    }

    #[test]
    fn offsets_of_an_earlier_life_of_the_topic_are_not_counted() {
        let mut goal = goal(&[(50, 100)]);
        goal.look(&[(0, Some(20))], &BTreeSet::new());
        assert_eq!(goal.progress(), (0, 50));
    }
}
