//! How a block is taken apart that the server refuses for its rows, until those stand alone.
//!
//! Which part is sent next depends on what was refused before, and that is written before the next parts are sent. So whoever
//! takes over sends the same parts under the same tokens, and never a part together with what it was cut into. What was
//! accepted needs no record: sent again it is dropped.

use std::{fmt, ops::Range};

/// Rows that are sent together at first.
const WINDOW: u32 = 256;
/// Rows of the parts of a window.
const PART: u32 = 16;

/// How far a block is taken apart. Windows before this one are settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// The end of the block's batch.
    pub next: i64,
    /// The block's table.
    pub table: String,
    /// The first row of the window.
    window: u32,
    stage: Stage,
}

/// What was refused so far of the window.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Stage {
    /// Nothing: this window and those after it are sent whole.
    Whole,
    /// The whole: its parts are sent.
    Parts,
    /// These parts: their rows are sent one by one.
    Rows(Bits),
    /// These rows: they are diverted.
    Divert(Bits),
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Send each of these ranges of rows as a block of its own.
    Send(Vec<Range<u32>>),
    /// Divert these rows together.
    Divert(Vec<u32>),
}

/// What comes after a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// The next step, at once.
    Go(Split),
    /// The next step, once it is written that it comes.
    Intend(Split),
    /// All rows are settled.
    Done,
}

impl Split {
    /// A block of so many rows that was refused as a whole.
    #[must_use]
    pub fn new(next: i64, table: &str, rows: u32) -> Self {
        let stage = if rows <= PART {
            Stage::Rows(Bits::of(std::iter::once(0)))
        } else if rows <= WINDOW {
            Stage::Parts
        } else {
            Stage::Whole
        };
        Self { next, table: table.to_owned(), window: 0, stage }
    }

    /// Whether it is about the same block.
    #[must_use]
    pub fn is_of(&self, next: i64, table: &str) -> bool {
        self.next == next && self.table == table
    }

    /// What to do now with a block of that many rows.
    #[must_use]
    pub fn step(&self, rows: u32) -> Step {
        let end = rows.min(self.window.saturating_add(WINDOW));
        let parts = || (self.window..end).step_by(PART as usize).map(|from| from..end.min(from + PART));
        match &self.stage {
            Stage::Whole => Step::Send(std::iter::once(self.window..end).collect()),
            Stage::Parts => Step::Send(parts().collect()),
            Stage::Rows(refused) => {
                let of = parts().filter(|part| refused.has((part.start - self.window) / PART));
                Step::Send(of.flatten().map(|row| row..row + 1).collect())
            }
            Stage::Divert(refused) => {
                Step::Divert((self.window..end).filter(|row| refused.has(row - self.window)).collect())
            }
        }
    }

    /// What comes after the step, of whose ranges those that begin at these rows were refused.
    #[must_use]
    pub fn after(self, rows: u32, refused: &[u32]) -> Next {
        let bits = |size: u32| Bits::of(refused.iter().map(|row| (row - self.window) / size));
        let stage = match self.stage {
            Stage::Whole if !refused.is_empty() => Stage::Parts,
            Stage::Parts if !refused.is_empty() => Stage::Rows(bits(PART)),
            Stage::Rows(_) if !refused.is_empty() => Stage::Divert(bits(1)),
            _ => {
                let window = self.window.saturating_add(WINDOW);
                if window >= rows {
                    return Next::Done;
                }
                return Next::Go(Self { window, stage: Stage::Whole, ..self });
            }
        };
        Next::Intend(Self { stage, ..self })
    }

    /// What the tokens of a step's blocks end with.
    #[must_use]
    pub fn suffix(rows: &Range<u32>) -> String {
        format!("/r{}-{}", rows.start, rows.end)
    }

    /// What the token of a step's diverted rows ends with.
    #[must_use]
    pub fn divert_suffix(&self) -> String {
        format!("/{}/x{}", self.table, self.window)
    }

    /// The text of it, without spaces and commas.
    #[must_use]
    pub(super) fn encode(&self) -> String {
        let Self { next, table, window, stage } = self;
        format!("{next}:{table}:{window}:{stage}")
    }

    /// Reads the text of it.
    pub(super) fn decode(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split(':').collect();
        let [next, table, window, stage] = parts[..] else { return None };
        let stage = match stage.split_at_checked(1)? {
            ("w", "") => Stage::Whole,
            ("p", "") => Stage::Parts,
            ("r", bits) => Stage::Rows(Bits::read(bits)?),
            ("d", bits) => Stage::Divert(Bits::read(bits)?),
            _ => return None,
        };
        Some(Self { next: next.parse().ok()?, table: table.to_owned(), window: window.parse().ok()?, stage })
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("w"),
            Self::Parts => f.write_str("p"),
            Self::Rows(bits) => write!(f, "r{bits}"),
            Self::Divert(bits) => write!(f, "d{bits}"),
        }
    }
}

/// A set of numbers below [`WINDOW`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bits([u64; 4]);

impl Bits {
    fn of(numbers: impl Iterator<Item = u32>) -> Self {
        let mut bits = [0; 4];
        for number in numbers {
            bits[(number / 64 % 4) as usize] |= 1 << (number % 64);
        }
        Self(bits)
    }

    fn has(&self, number: u32) -> bool {
        self.0[(number / 64 % 4) as usize] >> (number % 64) & 1 == 1
    }

    fn read(text: &str) -> Option<Self> {
        let mut words = text.split('.').map(|word| u64::from_str_radix(word, 16).ok());
        let bits = [words.next()??, words.next()??, words.next()??, words.next()??];
        words.next().is_none().then_some(Self(bits))
    }
}

impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d] = self.0;
        write!(f, "{a:x}.{b:x}.{c:x}.{d:x}")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    /// A server that refuses blocks with a bad row, and drops tokens it knows.
    #[derive(Default)]
    struct Server {
        tokens: BTreeSet<String>,
        placed: BTreeMap<u32, u32>,
        diverted: BTreeMap<u32, u32>,
    }

    impl Server {
        /// Does a step, at most `most` of its blocks; says which ranges were refused, or nothing if it broke off.
        fn take(&mut self, split: &Split, rows: u32, bad: &BTreeSet<u32>, most: usize) -> Option<Vec<u32>> {
            match split.step(rows) {
                Step::Send(ranges) => {
                    let mut refused = Vec::new();
                    for (done, range) in ranges.into_iter().enumerate() {
                        if done == most {
                            return None;
                        }
                        if bad.range(range.clone()).next().is_some() {
                            refused.push(range.start);
                        } else if self.tokens.insert(Split::suffix(&range)) {
                            range.for_each(|row| *self.placed.entry(row).or_default() += 1);
                        }
                    }
                    Some(refused)
                }
                Step::Divert(list) => {
                    if self.tokens.insert(split.divert_suffix()) {
                        list.into_iter().for_each(|row| *self.diverted.entry(row).or_default() += 1);
                    }
                    (most > 0).then(Vec::new)
                }
            }
        }
    }

    proptest! {
        /// With crashes anywhere, and even when the server changes its mind meanwhile, each row is settled once.
        #[test]
        fn each_row_is_placed_or_diverted_once(
            rows in 1_u32..1200,
            bad in prop::collection::btree_set(0_u32..1200, 0..40),
            crashes in prop::collection::vec(0_usize..20, 0..30),
            mended in any::<prop::sample::Index>(),
        ) {
            let mut bad: BTreeSet<u32> = bad.into_iter().filter(|row| *row < rows).collect();
            let (mut server, mut crashes) = (Server::default(), crashes.into_iter());
            let mut written = Split::new(10, "t", rows);
            let mut split = written.clone();
            let mended = mended.index(200);
            for step in 0.. {
                prop_assert!(step < 10_000);
                if step == mended {
                    // The operator takes the constraint off.
                    bad.clear();
                }
                let most = crashes.next().unwrap_or(usize::MAX);
                let Some(refused) = server.take(&split, rows, &bad, most) else {
                    split = Split::decode(&written.encode()).expect("readable");
                    continue;
                };
                match split.clone().after(rows, &refused) {
                    Next::Go(next) => split = next,
                    Next::Intend(next) => {
                        written = next.clone();
                        split = next;
                    }
                    Next::Done => break,
                }
            }
            for row in 0..rows {
                let copies = server.placed.get(&row).unwrap_or(&0) + server.diverted.get(&row).unwrap_or(&0);
                prop_assert_eq!(copies, 1, "row {}", row);
            }
            prop_assert!(bad.iter().all(|row| server.diverted.contains_key(row)));
        }
    }

    #[test]
    fn a_text_that_is_none_is_not_read() {
        for text in ["", "1:t:0", "1:t:0:q", "1:t:0:r1.2.3", "1:t:0:r1.2.3.4.5", "x:t:0:w", "1:t:0:wx", "1:t:0:é"] {
            assert_eq!(Split::decode(text), None, "{text}");
        }
    }
}
