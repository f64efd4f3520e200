//! The text beside a committed offset: which topic it belongs to and where the batches after it end.
//!
//! `xtcp-ingest/1 TOPIC ERA ENDS SPLITS SUM`: numbers in base 36, each end as its distance from the one before (the first
//! from the offset), `-` for no ends or no splits, the sum over all before it. A broker takes 4096 bytes unless told
//! otherwise.

use std::fmt::Write as _;

use super::Split;

/// The bytes that a broker takes by default (`offset.metadata.max.bytes`).
const LONGEST: usize = 4096;
const NAME: &str = "xtcp-ingest/";
const VERSION: u32 = 1;

/// What was written beside an offset by this service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intents {
    /// The identity of the topic, which a topic that is created again under the same name doesn't share.
    pub topic: String,
    /// Part of every token.
    pub era: u64,
    /// The ends of the batches after the offset that may have been sent, ascending, all beyond the offset.
    pub ends: Vec<i64>,
    /// Blocks of these batches that are taken apart.
    pub splits: Vec<Split>,
}

/// Why a text tells nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    /// There is none: the offset was committed by something else, or by hand.
    Missing,
    /// Another program's.
    Foreign,
    /// This service's own, and damaged.
    Corrupt,
    /// A later version's. What it intends must not be passed over.
    Newer,
}

impl Intents {
    /// The text to be kept beside `offset`. Ends that don't fit are left out, from the last on: their batches wait.
    #[must_use]
    pub fn encode(&self, offset: i64) -> String {
        let mut text = format!("{NAME}{VERSION} {} {} ", self.topic, Base36(self.era));
        let splits = self.splits.iter().map(Split::encode).collect::<Vec<_>>().join(";");
        let splits = if splits.is_empty() { "-".to_owned() } else { splits };
        let mut before = offset;
        let begin = text.len();
        for end in &self.ends {
            let length = text.len();
            let separator = if length == begin { "" } else { "," };
            let _ = write!(text, "{separator}{}", Base36(end.abs_diff(before)));
            // The splits and the sum come after it.
            if text.len() + 1 + splits.len() + 1 + 13 > LONGEST {
                text.truncate(length);
                break;
            }
            before = *end;
        }
        if text.len() == begin {
            text.push('-');
        }
        let _ = write!(text, " {splits}");
        let sum = Base36(sum(&text));
        let _ = write!(text, " {sum}");
        text
    }

    /// Reads the text beside `offset`.
    ///
    /// # Errors
    /// See [`Unreadable`].
    pub fn decode(text: &str, offset: i64) -> Result<Self, Unreadable> {
        if text.is_empty() {
            return Err(Unreadable::Missing);
        }
        let rest = text.strip_prefix(NAME).ok_or(Unreadable::Foreign)?;
        let version: u32 = rest.split(' ').next().and_then(|v| v.parse().ok()).ok_or(Unreadable::Corrupt)?;
        match version {
            VERSION => Self::read(text, offset).ok_or(Unreadable::Corrupt),
            version if version > VERSION => Err(Unreadable::Newer),
            _ => Err(Unreadable::Corrupt),
        }
    }

    fn read(text: &str, offset: i64) -> Option<Self> {
        let (before, last) = text.rsplit_once(' ')?;
        if number(last)? != sum(before) {
            return None;
        }
        let fields: Vec<&str> = before.split(' ').collect();
        let [_, topic, era, ends, splits] = fields[..] else { return None };
        let mut at = offset;
        let ends = match ends {
            "-" => Vec::new(),
            ends => ends
                .split(',')
                .map(|distance| {
                    let distance = i64::try_from(number(distance)?).ok().filter(|distance| *distance > 0)?;
                    at = at.checked_add(distance)?;
                    Some(at)
                })
                .collect::<Option<_>>()?,
        };
        let splits = match splits {
            "-" => Vec::new(),
            splits => splits.split(';').map(Split::decode).collect::<Option<_>>()?,
        };
        Some(Self { topic: topic.to_owned(), era: number(era)?, ends, splits })
    }
}

/// FNV-1a: tells damage, not malice.
fn sum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

fn number(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_lowercase());
    plain.then(|| u64::from_str_radix(text, 36).ok()).flatten()
}

struct Base36(u64);

impl std::fmt::Display for Base36 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut digits = [0; 13];
        let (mut rest, mut at) = (self.0, digits.len());
        loop {
            at -= 1;
            digits[at] = b"0123456789abcdefghijklmnopqrstuvwxyz"[usize::try_from(rest % 36).unwrap_or(0)];
            rest /= 36;
            if rest == 0 {
                break;
            }
        }
        f.write_str(std::str::from_utf8(&digits[at..]).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn intents() -> impl Strategy<Value = (i64, Intents)> {
        let start = prop_oneof![0_i64..1000, Just(i64::MAX / 2)];
        (start, "[A-Za-z0-9+/_-]{1,22}", any::<u64>(), prop::collection::vec(1_i64..100_000, 0..300)).prop_map(
            |(offset, topic, era, distances)| {
                let ends = distances.iter().scan(offset, |at, distance| {
                    *at += distance;
                    Some(*at)
                });
                let ends: Vec<i64> = ends.collect();
                let splits = ends.iter().rev().take(9).map(|next| Split::new(*next, "table_v2", 9)).collect();
                (offset, Intents { topic, era, ends, splits })
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read((offset, intents) in intents()) {
            let text = intents.encode(offset);
            prop_assert!(text.len() <= LONGEST);
            prop_assert_eq!(Intents::decode(&text, offset), Ok(intents));
        }

        /// A damaged text tells nothing rather than something else.
        #[test]
        fn damage_is_seen((offset, intents) in intents(), at in any::<prop::sample::Index>(), with in "[0-9a-z ,-]") {
            let text = intents.encode(offset);
            let at = at.index(text.len());
            let mut damaged = text.clone();
            damaged.replace_range(at..=at, &with);
            if damaged != text {
                let read = Intents::decode(&damaged, offset);
                prop_assert!(read.is_err(), "{damaged}");
            }
            prop_assert!(Intents::decode(&text[..at], offset).is_err());
        }

        #[test]
        fn nothing_panics(text in ".{0,60}", tail in ".{0,40}", offset in any::<i64>()) {
            let _ = Intents::decode(&text, offset);
            let _ = Intents::decode(&format!("{NAME}{tail}"), offset);
            let text = format!("{NAME}1 t 0 {tail}");
            let _ = Intents::decode(&format!("{text} {}", Base36(sum(&text))), offset);
        }
    }

    #[test]
    fn what_does_not_fit_waits() {
        let ends: Vec<i64> = (1..=2000).map(|n| n * 100_000).collect();
        let all = Intents { topic: "dGhlIHRvcGljJ3MgaWRlbg".into(), era: u64::MAX, ends, splits: Vec::new() };
        let text = all.encode(0);
        assert!(text.len() <= LONGEST, "{}", text.len());
        let read = Intents::decode(&text, 0).expect("whole");
        assert!(read.ends.len() > 500 && all.ends.starts_with(&read.ends), "{}", read.ends.len());
    }

    #[test]
    fn what_tells_nothing_is_told_apart() {
        let text = Intents { topic: "a".into(), era: 1, ends: vec![5], splits: Vec::new() }.encode(3);
        for (text, why) in [
            ("", Unreadable::Missing),
            ("some other tool", Unreadable::Foreign),
            ("xtcp-ingest/2 whatever", Unreadable::Newer),
            ("xtcp-ingest/1", Unreadable::Corrupt),
            ("xtcp-ingest/x", Unreadable::Corrupt),
            ("xtcp-ingest/0 a", Unreadable::Corrupt),
            (&text[..text.len() - 1], Unreadable::Corrupt),
        ] {
            assert_eq!(Intents::decode(text, 3), Err(why), "{text}");
        }
    }
}
