//! Taking a partition over: where to begin, which batches to cut again, and what to say about it.
//!
//! | what the group holds | outcome |
//! |---|---|
//! | nothing | from where `auto.offset.reset` says, in a new era |
//! | an offset, and intents for this topic | what is intended is cut again, under the same tokens |
//! | an offset alone, or another program's text, or a damaged one | from the offset, in a new era |
//! | intents for a topic that is no more | from the beginning of the new one, in a new era |
//! | intents of a later version | refused |
//!
//! Offsets that are no longer there are passed over, offsets that are not there yet are taken back to the end. A new era
//! means new tokens: what was placed before isn't recognised, so that nothing is dropped that is meant to be read again.

use std::ops::Range;

use super::{Entry, Intents, Split, Unreadable};

/// What there is of the partition: the first offset, and the one after the last.
pub type Log = Range<i64>;

/// Where to begin when the group holds nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reset {
    /// At the beginning of what there is.
    Earliest,
    /// At its end.
    Latest,
}

/// How a partition is taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Takeover {
    /// Everything before it is settled, or gone.
    pub base: i64,
    /// The first offset to read: the base, or the first one that there is.
    pub start: i64,
    /// Ends of the batches that may have been sent, ascending.
    pub forced: Vec<i64>,
    /// Blocks of them that are taken apart.
    pub splits: Vec<Split>,
    /// Part of every token.
    pub era: u64,
    /// What the group holds.
    pub held: Option<Entry>,
    /// What there is to say about it.
    pub notices: Vec<Notice>,
}

/// Something that an operator should know of a take-over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The group holds an offset without intents: what was sent beyond it can't be told.
    Missing,
    /// The text beside the offset is another program's.
    Foreign,
    /// The text beside the offset is damaged.
    Corrupt,
    /// The topic was deleted and created again.
    Recreated,
    /// That many offsets from the committed one on are gone, expired or deleted.
    Expired {
        /// The number of offsets.
        offsets: u64,
    },
    /// The partition ends before what was committed or intended: the brokers have lost its end.
    Truncated {
        /// The number of offsets.
        offsets: u64,
    },
}

/// Decides how to take over a partition of the topic with that identity. `fresh` is an era that nobody had.
///
/// # Errors
/// [`Unreadable::Newer`]: a later version intends something that this one can't read. Nothing else is an error.
pub fn take_over(
    held: Option<Entry>,
    topic: &str,
    log: &Log,
    reset: Reset,
    fresh: u64,
) -> Result<Takeover, Unreadable> {
    let mut notices = Vec::new();
    let mut splits = Vec::new();
    let (mut base, mut forced, mut era) = match &held {
        None => (if reset == Reset::Earliest { log.start } else { log.end }, Vec::new(), fresh),
        Some(entry) => match Intents::decode(&entry.metadata, entry.offset) {
            Ok(intents) if intents.topic == topic => {
                splits = intents.splits;
                (entry.offset, intents.ends, intents.era)
            }
            Ok(_) => {
                notices.push(Notice::Recreated);
                (log.start, Vec::new(), fresh)
            }
            Err(Unreadable::Newer) => return Err(Unreadable::Newer),
            Err(why) => {
                notices.push(match why {
                    Unreadable::Foreign => Notice::Foreign,
                    Unreadable::Corrupt => Notice::Corrupt,
                    Unreadable::Missing | Unreadable::Newer => Notice::Missing,
                });
                (entry.offset, Vec::new(), fresh)
            }
        },
    };
    let last = forced.last().copied().unwrap_or(base);
    if last > log.end {
        // The same offsets will be given to other messages. Under the old tokens those could be taken for the lost ones.
        notices.push(Notice::Truncated { offsets: last.abs_diff(log.end) });
        (base, forced, era) = (base.min(log.end), Vec::new(), fresh);
    }
    if log.start > base {
        notices.push(Notice::Expired { offsets: log.start.abs_diff(base) });
        // Of a batch that is gone in part, the rest is sent under the token of the whole.
        let gone = forced.iter().take_while(|end| **end <= log.start).count();
        let ended = forced.drain(..gone).next_back();
        base = if forced.is_empty() { log.start } else { ended.unwrap_or(base) };
    }
    splits.retain(|split| forced.contains(&split.next));
    Ok(Takeover { base, start: base.max(log.start), forced, splits, era, held, notices })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: Log = 100..900;

    fn entry(offset: i64, ends: &[i64]) -> Option<Entry> {
        let intents = Intents { topic: "t".into(), era: 7, ends: ends.to_vec(), splits: Vec::new() };
        Some(Entry { offset, metadata: intents.encode(offset) })
    }

    fn plain(offset: i64, metadata: &str) -> Option<Entry> {
        Some(Entry { offset, metadata: metadata.into() })
    }

    #[track_caller]
    fn check(
        held: Option<Entry>,
        topic: &str,
        log: Log,
        (base, start): (i64, i64),
        forced: &[i64],
        era: u64,
        notices: &[Notice],
    ) {
        let takeover = take_over(held.clone(), topic, &log, Reset::Earliest, 99).expect("readable");
        let expected =
            Takeover { base, start, forced: forced.to_vec(), splits: Vec::new(), era, held, notices: notices.to_vec() };
        assert_eq!(takeover, expected);
    }

    #[test]
    fn what_is_intended_is_cut_again() {
        check(entry(200, &[250, 300]), "t", LOG, (200, 200), &[250, 300], 7, &[]);
        check(entry(200, &[]), "t", LOG, (200, 200), &[], 7, &[]);
        check(entry(200, &[900]), "t", LOG, (200, 200), &[900], 7, &[]);
    }

    #[test]
    fn a_group_that_holds_nothing_begins_where_it_is_told() {
        check(None, "t", LOG, (100, 100), &[], 99, &[]);
        let latest = take_over(None, "t", &LOG, Reset::Latest, 99).expect("readable");
        assert_eq!((latest.base, latest.start, latest.notices), (900, 900, Vec::new()));
    }

    #[test]
    fn without_intents_a_new_era_begins_at_the_offset() {
        check(plain(200, ""), "t", LOG, (200, 200), &[], 99, &[Notice::Missing]);
        check(plain(200, "a note"), "t", LOG, (200, 200), &[], 99, &[Notice::Foreign]);
        check(plain(200, "xtcp-ingest/1 t"), "t", LOG, (200, 200), &[], 99, &[Notice::Corrupt]);
        // An operator moved it beyond either end.
        check(plain(50, ""), "t", LOG, (100, 100), &[], 99, &[Notice::Missing, Notice::Expired { offsets: 50 }]);
        check(plain(950, ""), "t", LOG, (900, 900), &[], 99, &[Notice::Missing, Notice::Truncated { offsets: 50 }]);
    }

    #[test]
    fn a_later_version_is_not_passed_over() {
        let held = plain(200, "xtcp-ingest/2 something");
        assert_eq!(take_over(held, "t", &LOG, Reset::Earliest, 99), Err(Unreadable::Newer));
    }

    #[test]
    fn a_topic_that_was_created_again_is_read_from_its_beginning() {
        check(entry(200, &[250]), "other", 0..30, (0, 0), &[], 99, &[Notice::Recreated]);
        check(entry(200, &[250]), "other", LOG, (100, 100), &[], 99, &[Notice::Recreated]);
    }

    #[test]
    fn what_expired_is_passed_over_and_the_rest_keeps_its_ranges() {
        let expired = |offsets| [Notice::Expired { offsets }];
        // In the first batch: the rest of it goes under the token of the whole.
        check(entry(50, &[150, 200]), "t", LOG, (50, 100), &[150, 200], 7, &expired(50));
        // In the second one, and at its very end.
        check(entry(50, &[80, 150]), "t", LOG, (80, 100), &[150], 7, &expired(50));
        check(entry(50, &[100, 150]), "t", LOG, (100, 100), &[150], 7, &expired(50));
        // All of them.
        check(entry(50, &[80, 90]), "t", LOG, (100, 100), &[], 7, &expired(50));
        check(entry(50, &[]), "t", LOG, (100, 100), &[], 7, &expired(50));
        check(entry(50, &[90]), "t", 100..100, (100, 100), &[], 7, &expired(50));
    }

    #[test]
    fn a_log_that_lost_its_end_is_read_in_a_new_era() {
        check(entry(800, &[850, 950]), "t", LOG, (800, 800), &[], 99, &[Notice::Truncated { offsets: 50 }]);
        check(entry(950, &[]), "t", LOG, (900, 900), &[], 99, &[Notice::Truncated { offsets: 50 }]);
    }
}
