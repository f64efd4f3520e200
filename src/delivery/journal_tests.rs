use proptest::prelude::*;

use super::*;
use crate::delivery::{Log, Notice, Reset, take_over};

const LOG: Log = 0..1000;

fn take(held: Option<Entry>) -> Journal {
    Journal::exactly_once("t", &take_over(held, "t", &LOG, Reset::Earliest, 7).expect("readable"))
}

fn ends(entry: &Entry) -> Vec<i64> {
    Intents::decode(&entry.metadata, entry.offset).expect("readable").ends
}

fn write(journal: &mut Journal) -> Entry {
    let entry = journal.to_write(false).expect("something to write");
    journal.writing(entry.clone());
    journal.written();
    entry
}

#[test]
fn a_batch_waits_for_its_intent_and_its_range_begins_where_the_last_one_ended() {
    let mut journal = take(None);
    assert_eq!(journal.to_write(false), None, "nothing is intended and nothing settled");
    assert_eq!(journal.close(3, 10, 2), (0, Range { first: 0, next: 10 }));
    assert!(journal.let_go().is_empty() && journal.waits());
    let entry = write(&mut journal);
    assert_eq!((entry.offset, ends(&entry)), (0, vec![10]));
    assert_eq!(journal.let_go(), 0..1);
    assert!(journal.let_go().is_empty() && !journal.waits(), "each is given once");
    assert!(!journal.acknowledge(0) && journal.to_write(false).is_none());
    assert!(journal.acknowledge(0));
    assert_eq!(journal.close(15, 20, 1).1, Range { first: 10, next: 20 });
    let entry = write(&mut journal);
    assert_eq!((entry.offset, ends(&entry), journal.held()), (10, vec![20], Some(10)));
}

#[test]
fn ends_that_were_not_met_again_stay_written() {
    let mut journal = take(None);
    for next in [10, 20, 30] {
        journal.close(0, next, 1);
    }
    let entry = write(&mut journal);
    let mut next = take(Some(entry.clone()));
    assert_eq!(next.to_write(false), None);
    assert_eq!(next.close(0, 10, 1), (0, Range { first: 0, next: 10 }));
    assert_eq!(next.let_go(), 0..1, "it is intended already");
    next.acknowledge(0);
    let entry = write(&mut next);
    assert_eq!((entry.offset, ends(&entry)), (10, vec![20, 30]));
    // Without blocks: nothing of it is there any more.
    next.close(10, 20, 0);
    let entry = write(&mut next);
    assert_eq!((entry.offset, ends(&entry)), (20, vec![30]));
}

#[test]
fn only_so_many_are_ahead_but_none_that_was_is_left_out() {
    let mut journal = take(None);
    let count = AHEAD as i64;
    for n in 1..=count + 5 {
        journal.close(0, n * 10, 1);
    }
    let entry = write(&mut journal);
    assert_eq!(ends(&entry).len(), AHEAD);
    assert_eq!(journal.let_go(), 0..AHEAD as u64);
    assert!(journal.waits());
    journal.acknowledge(1);
    assert_eq!(journal.to_write(false), None, "the floor is where it was");
    journal.acknowledge(0);
    assert_eq!(ends(&write(&mut journal)).last(), Some(&((count + 2) * 10)));

    // A former owner was allowed more.
    let many: Vec<i64> = (1..=40).map(|n| n * 10).collect();
    let metadata = Intents { topic: "t".into(), era: 1, ends: many.clone(), splits: Vec::new() }.encode(0);
    let mut journal = take(Some(Entry { offset: 0, metadata }));
    journal.close(0, 10, 0);
    assert_eq!(ends(&write(&mut journal)), many[1..]);
}

#[test]
fn after_a_doubtful_write_either_outcome_is_this_owners_and_any_other_is_not() {
    for outcome in ["took place", "did not", "somebody else's"] {
        let mut journal = take(None);
        journal.close(0, 10, 1);
        let first = write(&mut journal);
        assert_eq!(journal.let_go(), 0..1);
        journal.close(0, 20, 1);
        let second = journal.to_write(false).expect("a second end");
        journal.writing(second.clone());
        let found = match outcome {
            "took place" => second.clone(),
            "did not" => first,
            _ => Entry { offset: 10, metadata: second.metadata.clone() },
        };
        let answer = journal.read_back(Some(found));
        assert_eq!(answer == ReadBack::Foreign, outcome == "somebody else's");
        assert_eq!(journal.let_go().is_empty(), outcome != "took place", "{outcome}");
        if outcome == "did not" {
            assert_eq!(write(&mut journal), second);
            assert_eq!(journal.let_go(), 1..2);
        }
    }
}

#[test]
fn the_same_is_written_again_when_asked() {
    let mut journal = take(None);
    assert_eq!(journal.to_write(true).expect("asked").offset, 0);
    journal.close(0, 10, 1);
    let entry = write(&mut journal);
    assert_eq!((journal.to_write(false), journal.to_write(true)), (None, Some(entry)));
}

#[test]
fn at_least_once_waits_for_nothing_and_sets_nobody_back() {
    let mut journal = Journal::at_least_once();
    assert_eq!(journal.to_write(true), None);
    assert_eq!(journal.close(5, 10, 1), (0, Range { first: 5, next: 10 }));
    assert_eq!(journal.let_go(), 0..1);
    assert!(journal.acknowledge(0));
    let entry = Entry { offset: 10, metadata: String::new() };
    assert_eq!(journal.to_write(false), Some(entry.clone()));
    journal.writing(entry);
    let ahead = Entry { offset: 25, metadata: String::new() };
    assert_eq!(journal.read_back(Some(ahead)), ReadBack::Ours);
    assert_eq!((journal.to_write(false), journal.held()), (None, Some(25)));
    journal.close(10, 30, 0);
    assert_eq!(journal.to_write(false).map(|entry| entry.offset), Some(30));
}

#[test]
fn notices_do_not_keep_a_journal_from_its_work() {
    let held = Some(Entry { offset: 400, metadata: "a note".into() });
    let takeover = take_over(held, "t", &(500..1000), Reset::Earliest, 7).expect("readable");
    assert_eq!(takeover.notices, [Notice::Foreign, Notice::Expired { offsets: 100 }]);
    let mut journal = Journal::exactly_once("t", &takeover);
    assert_eq!(write(&mut journal).offset, 500, "the floor has moved");
    assert_eq!(journal.close(500, 600, 1).1, Range { first: 500, next: 600 });
}

#[derive(Debug, Clone)]
enum Step {
    /// A batch of that many offsets and blocks.
    Close(i64, usize),
    /// One of the outstanding blocks is acknowledged.
    Acknowledge(usize),
    /// What there is to write is written.
    Write,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1_i64..50, 0_usize..4).prop_map(|(length, blocks)| Step::Close(length, blocks)),
        any::<usize>().prop_map(Step::Acknowledge),
        Just(Step::Write),
    ]
}

proptest! {
    /// Whatever the order, the floor is the end of the longest row of settled batches, and so never beyond an offset with
    /// an unacknowledged block; nothing is let go whose end isn't written; in the end all is settled.
    #[test]
    fn the_floor_never_passes_what_is_not_settled(
        steps in prop::collection::vec(step(), 1..200),
        exactly in any::<bool>(),
    ) {
        let mut journal = if exactly { take(None) } else { Journal::at_least_once() };
        // The end of each batch and its outstanding blocks.
        let mut batches: Vec<(i64, usize)> = Vec::new();
        let mut outstanding: Vec<usize> = Vec::new();
        let mut written = Vec::new();
        let rest = [Step::Write, Step::Acknowledge(0)].into_iter().cycle().take(2000);
        for step in steps.into_iter().chain(rest) {
            match step {
                Step::Close(length, blocks) => {
                    let first = batches.last().map_or(0, |(end, _)| *end);
                    let (number, range) = journal.close(first, first + length, blocks);
                    prop_assert_eq!((number, range), (batches.len() as u64, Range { first, next: first + length }));
                    batches.push((first + length, blocks));
                }
                Step::Acknowledge(_) if outstanding.is_empty() => {}
                Step::Acknowledge(index) => {
                    let batch = outstanding.swap_remove(index % outstanding.len());
                    batches[batch].1 -= 1;
                    prop_assert_eq!(journal.acknowledge(batch as u64), batches[batch].1 == 0);
                }
                Step::Write => if let Some(entry) = journal.to_write(false) {
                    if exactly {
                        written = ends(&entry);
                    }
                    journal.writing(entry);
                    journal.written();
                },
            }
            for number in journal.let_go() {
                let (end, blocks) = batches[usize::try_from(number).expect("few")];
                outstanding.extend(std::iter::repeat_n(usize::try_from(number).expect("few"), blocks));
                prop_assert!(!exactly || blocks == 0 || written.contains(&end));
            }
            let whole = batches.iter().take_while(|(_, blocks)| *blocks == 0).last().map(|(end, _)| *end);
            prop_assert_eq!(journal.floor(), whole.or(exactly.then_some(0)));
        }
        prop_assert_eq!(journal.pending(), 0);
    }
}
