//! What a fleet is to be like.

use std::{collections::BTreeMap, ops::RangeInclusive, time::Duration};

use super::{Fault, Oddity, fault::FAULTS};
use crate::{config::Framing, lane::Reason};

/// What a fleet is to be like. The same options give the same bytes.
#[derive(Debug, Clone)]
pub struct Options {
    /// Makes fleets differ.
    pub seed: u64,
    /// The time of the last poll, in nanoseconds since 1970.
    pub now_ns: i64,
    /// How far back the first poll was.
    pub span: Duration,
    /// Records that must land, exactly. Those of faults come on top.
    pub rows: u64,
    /// Hosts, at least one for each layout of the mix.
    pub hosts: u32,
    /// Sockets of a host.
    pub sockets: u32,
    /// Layouts by name with their shares.
    pub mix: Mix,
    /// Records in an envelope.
    pub envelope: RangeInclusive<u32>,
    /// An envelope is closed when its records reach this size.
    pub envelope_bytes: usize,
    /// Every so many envelopes one holds records of all layouts; 0 for never.
    pub mixed_every: u32,
    /// The socket cookie of the first record, which counts up: it tells all records apart.
    pub first_cookie: u64,
    /// How many of each fault.
    pub faults: BTreeMap<Fault, u64>,
    /// How many of each oddity.
    pub oddities: BTreeMap<Oddity, u64>,
    /// How a message value is made of envelopes.
    pub framing: Framing,
    /// Whether [`Totals::checksums`](super::Totals::checksums) is filled.
    pub checksums: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 1,
            now_ns: 1_790_000_000_000_000_000,
            span: Duration::from_secs(600),
            rows: 100_000,
            hosts: 50,
            sockets: 1000,
            mix: Mix::Default,
            envelope: 100..=800,
            envelope_bytes: 768 << 10,
            mixed_every: 20,
            first_cookie: 1,
            faults: BTreeMap::new(),
            oddities: BTreeMap::new(),
            framing: Framing::Delimited,
            checksums: false,
        }
    }
}

/// Layouts with their shares.
#[derive(Debug, Clone, PartialEq)]
pub enum Mix {
    /// All layouts, the newer the more: 60, 20, 10, 7, 3.
    Default,
    /// These layouts.
    Shares(Vec<(String, f64)>),
}

/// Why a fleet can't be made.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum OptionError {
    /// A list entry isn't `NAME=AMOUNT`.
    #[error("`{entry}` is no `NAME=AMOUNT`")]
    Form {
        /// What was read.
        entry: String,
    },
    /// An amount is no number, or out of its range.
    #[error("`{name}` can't be `{amount}`; allowed is {allowed}")]
    Amount {
        /// The name before it.
        name: String,
        /// What was read.
        amount: String,
        /// What may stand there.
        allowed: &'static str,
    },
    /// A name that isn't known.
    #[error("there is no {what} `{name}`; known are {known}")]
    Unknown {
        /// What was looked for.
        what: &'static str,
        /// What was read.
        name: String,
        /// All names.
        known: String,
    },
    /// A fault that needs another way of sending.
    #[error("`{name}` can't be sent {how}")]
    Unfit {
        /// The fault or oddity.
        name: &'static str,
        /// Why not.
        how: &'static str,
    },
    /// Too few hosts.
    #[error("{hosts} hosts can't have {layouts} layouts; a host has one")]
    Hosts {
        /// As given.
        hosts: u32,
        /// Layouts with a share.
        layouts: usize,
    },
    /// More than there can be.
    #[error("{what} can't be {count}; allowed are up to {most}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// As given, all together.
        count: u64,
        /// The limit.
        most: u64,
    },
    /// A mix without a layout.
    #[error("a mix can't be empty; allowed is at least one `LAYOUT=SHARE`")]
    EmptyMix,
    /// A time that some table can't hold.
    #[error("the last poll can't be {now_ns} ns after 1970; allowed is {TIMES}")]
    Now {
        /// As given.
        now_ns: i64,
    },
    /// The first poll would be before all times.
    #[error(
        "a span can't be {seconds} s; allowed are up to {most} with this time of the last poll: all are in {TIMES}"
    )]
    Span {
        /// As given.
        seconds: u64,
        /// What is left before the last poll.
        most: u64,
    },
    /// A fault needs a layout that no definition has.
    #[error("no layout can have the fault `{name}`")]
    NoLayout {
        /// The fault.
        name: &'static str,
    },
    /// An empty range.
    #[error("an envelope can't hold {from} to {to} records; allowed is a range from 1 up")]
    Envelope {
        /// As given.
        from: u32,
        /// As given.
        to: u32,
    },
}

/// The most hosts: each has an address of its own, and is held in memory.
pub const MOST_HOSTS: u32 = 1 << 16;

/// The most faults and oddities: each is held in memory until it is sent.
pub const MOST_PIECES: u64 = 10_000_000;

/// From when to when polls can be: what tables and nanoseconds in 64 bits hold, with room for hosts that wake up earlier.
pub const TIMES: &str = "1970-01-02T00:00:00Z to 2262-04-11T00:00:00Z";

const FIRST_NS: i64 = 86_400 * 1_000_000_000;
const LAST_NS: i64 = 106_751 * FIRST_NS;

/// Whether there can be a poll at that time.
#[must_use]
pub fn is_time(ns: i128) -> bool {
    (i128::from(FIRST_NS)..=i128::from(LAST_NS)).contains(&ns)
}

impl Options {
    /// What no fleet can be like, whatever its layouts are.
    pub(super) fn check(&self) -> Result<(), OptionError> {
        let (from, to) = self.envelope.clone().into_inner();
        if from < 1 || to < from {
            return Err(OptionError::Envelope { from, to });
        }
        if self.hosts > MOST_HOSTS {
            let (count, most) = (self.hosts.into(), MOST_HOSTS.into());
            return Err(OptionError::TooMany { what: "hosts", count, most });
        }
        let counts = self.faults.values().chain(self.oddities.values());
        let count = counts.fold(0_u64, |all, count| all.saturating_add(*count));
        if count > MOST_PIECES {
            return Err(OptionError::TooMany { what: "faults and oddities", count, most: MOST_PIECES });
        }
        if self.mix == Mix::Shares(Vec::new()) {
            return Err(OptionError::EmptyMix);
        }
        if !is_time(self.now_ns.into()) {
            return Err(OptionError::Now { now_ns: self.now_ns });
        }
        let most = (self.now_ns - FIRST_NS) / 1_000_000_000;
        if self.span > Duration::from_secs(most.unsigned_abs()) {
            return Err(OptionError::Span { seconds: self.span.as_secs(), most: most.unsigned_abs() });
        }
        Ok(())
    }
}

/// What a message value can carry, which some faults don't fit in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// A message of its own.
    Message(Framing),
    /// A file of frames back to back.
    File,
}

/// Faults of the framing make no sense where a message is one envelope without a length.
const CONFLUENT: &str = "with `kafka.framing = confluent`: such a message is one envelope";

const FILE: &str = "into a file: there it would change what comes after it";

impl Fault {
    /// Why that carrier can't carry the fault.
    pub(super) fn refusal(self, carrier: Carrier) -> Option<&'static str> {
        match carrier {
            Carrier::File if !self.facts().in_file => Some(FILE),
            Carrier::Message(Framing::Confluent) if self.reason() == Reason::Framing => Some(CONFLUENT),
            Carrier::File | Carrier::Message(_) => None,
        }
    }
}

impl Oddity {
    /// Why that carrier can't carry the oddity.
    pub(super) fn refusal(self, carrier: Carrier) -> Option<&'static str> {
        match (carrier, self) {
            (Carrier::File, Self::EmptyEnvelope) => Some(FILE),
            (Carrier::Message(Framing::Confluent), Self::TwoFrames) => Some(CONFLUENT),
            _ => None,
        }
    }
}

/// Reads `NAME=AMOUNT,…`: an amount is a count, or a share of `rows` with a percent sign. A name is a fault's, a reason's
/// (all its faults in turn) or `all` (each fault that the carrier can carry).
///
/// # Errors
/// A name or amount that isn't known, a fault that the carrier can't carry.
pub fn faults(list: &str, rows: u64, carrier: Carrier) -> Result<BTreeMap<Fault, u64>, OptionError> {
    let mut counts = BTreeMap::new();
    for (name, amount) in entries(list) {
        let count = count(name, amount?, rows)?;
        if name == "all" {
            for fault in Fault::all().filter(|f| f.refusal(carrier).is_none()) {
                add(&mut counts, fault, count);
            }
            continue;
        }
        let named: Vec<Fault> =
            FAULTS.iter().filter(|f| f.name == name || f.reason.code() == name).map(|f| f.fault).collect();
        if named.is_empty() {
            return Err(unknown("fault", name, reasons().chain(Fault::all().map(Fault::name)).chain(["all"])));
        }
        for (index, fault) in (0..).zip(&named) {
            if let Some(how) = fault.refusal(carrier) {
                return Err(OptionError::Unfit { name: fault.name(), how });
            }
            let kinds = named.len() as u64;
            add(&mut counts, *fault, count / kinds + u64::from(index < count % kinds));
        }
    }
    Ok(counts)
}

/// Reads `NAME=AMOUNT,…` of oddities, as [`faults`] does.
///
/// # Errors
/// As for faults.
pub fn oddities(list: &str, rows: u64, carrier: Carrier) -> Result<BTreeMap<Oddity, u64>, OptionError> {
    let mut counts = BTreeMap::new();
    for (name, amount) in entries(list) {
        let count = count(name, amount?, rows)?;
        if name == "all" {
            for oddity in Oddity::all().filter(|o| o.refusal(carrier).is_none()) {
                add(&mut counts, oddity, count);
            }
            continue;
        }
        let Some(oddity) = Oddity::all().find(|o| o.name() == name) else {
            return Err(unknown("oddity", name, Oddity::all().map(Oddity::name).chain(["all"])));
        };
        if let Some(how) = oddity.refusal(carrier) {
            return Err(OptionError::Unfit { name: oddity.name(), how });
        }
        add(&mut counts, oddity, count);
    }
    Ok(counts)
}

/// Reads `LAYOUT=SHARE,…`.
///
/// # Errors
/// A share that is no positive number. Names are looked up when the fleet is made.
pub fn mix(list: &str) -> Result<Mix, OptionError> {
    let share = |(name, amount): (&str, Result<&str, OptionError>)| {
        let amount = amount?;
        let allowed = "a positive number";
        let share = amount.parse().ok().filter(|share: &f64| share.is_finite() && *share > 0.0);
        let share =
            share.ok_or_else(|| OptionError::Amount { name: name.to_owned(), amount: amount.to_owned(), allowed })?;
        Ok((name.to_owned(), share))
    };
    entries(list).map(share).collect::<Result<_, _>>().map(Mix::Shares)
}

fn entries(list: &str) -> impl Iterator<Item = (&str, Result<&str, OptionError>)> {
    list.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(|entry| match entry.split_once('=') {
        Some((name, amount)) => (name.trim(), Ok(amount.trim())),
        None => (entry, Err(OptionError::Form { entry: entry.to_owned() })),
    })
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)] // up to 2^53 rows
fn count(name: &str, amount: &str, rows: u64) -> Result<u64, OptionError> {
    let count = match amount.strip_suffix('%') {
        Some(share) => {
            let share = share.trim().parse().ok().filter(|share: &f64| (0.0..=100.0).contains(share));
            share.map(|share| (rows as f64 * share / 100.0).round() as u64)
        }
        None => amount.parse().ok(),
    };
    let allowed = "a whole number, or a percentage of the rows like `0.1%`";
    count.ok_or_else(|| OptionError::Amount { name: name.to_owned(), amount: amount.to_owned(), allowed })
}

/// More than there can be stays too many: the fleet refuses it.
fn add<T: Ord>(counts: &mut BTreeMap<T, u64>, thing: T, count: u64) {
    let sum = counts.entry(thing).or_default();
    *sum = sum.saturating_add(count);
}

fn reasons() -> impl Iterator<Item = &'static str> {
    let mut seen = Vec::new();
    FAULTS.iter().map(|f| f.reason.code()).filter(move |code| {
        let new = !seen.contains(code);
        seen.push(code);
        new
    })
}

fn unknown(what: &'static str, name: &str, known: impl Iterator<Item = &'static str>) -> OptionError {
    let known = known.map(|k| format!("`{k}`")).collect::<Vec<_>>().join(", ");
    OptionError::Unknown { what, name: name.to_owned(), known }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: Carrier = Carrier::Message(Framing::Delimited);

    fn pieces(counts: &BTreeMap<Fault, u64>, reason: Reason) -> u64 {
        counts.iter().filter(|(f, _)| f.reason() == reason).map(|(_, n)| n).sum()
    }

    #[test]
    fn a_reason_stands_for_all_its_faults_in_turn() {
        let counts = faults("framing=7, malformed=2,truncated_record=1", 0, MESSAGE).expect("known names");
        assert_eq!(pieces(&counts, Reason::Framing), 7);
        assert_eq!(counts[&Fault::FramePastMessage], 2);
        assert_eq!(counts[&Fault::ConfluentHeader], 1);
        assert_eq!(pieces(&counts, Reason::Malformed), 2);
        assert_eq!(pieces(&counts, Reason::Truncated), 1);
    }

    #[test]
    fn an_amount_is_a_count_or_a_share_of_the_rows() {
        let counts = faults("long_varint=0.5%", 1000, MESSAGE).expect("known names");
        assert_eq!(counts[&Fault::LongVarint], 5);
        for bad in ["long_varint=x", "long_varint=-1", "long_varint=101%", "long_varint"] {
            assert!(faults(bad, 1000, MESSAGE).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_reason_can_be_asked_for_and_all_means_all() {
        let counts = faults("all=2", 0, MESSAGE).expect("known names");
        assert_eq!(counts.len(), FAULTS.len());
        // No value makes a server refuse a row; its tables' constraints do.
        for reason in Reason::ALL.into_iter().filter(|reason| *reason != Reason::RefusedByServer) {
            assert!(pieces(&counts, reason) >= 2, "{reason}");
        }
    }

    #[test]
    fn a_file_refuses_what_it_would_garble() {
        let error = faults("framing=1", 0, Carrier::File).expect_err("it doesn't fit");
        assert_eq!(
            error.to_string(),
            "`frame_past_message` can't be sent into a file: there it would change what comes after it"
        );
        let counts = faults("all=1", 0, Carrier::File).expect("all that fit");
        assert_eq!(pieces(&counts, Reason::Framing) + pieces(&counts, Reason::EmptyMessage), 0);
        assert!(pieces(&counts, Reason::Truncated) == 2 && pieces(&counts, Reason::EnvelopeField) == 1);
        assert!(oddities("empty_envelope=1", 0, Carrier::File).is_err());
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = oddities("unknown_field=1", 0, MESSAGE).expect_err("no such name").to_string();
        assert!(error.starts_with("there is no oddity `unknown_field`; known are `unknown_fields`, "), "{error}");
        let error = faults("x=1", 0, MESSAGE).expect_err("no such name").to_string();
        assert!(error.contains("`truncated`") && error.contains("`field_zero`"), "{error}");
    }

    #[test]
    fn shares_are_positive() {
        assert_eq!(mix("e2=60, e1=0.5"), Ok(Mix::Shares(vec![("e2".to_owned(), 60.0), ("e1".to_owned(), 0.5)])));
        assert!(mix("e2=0").is_err() && mix("e2").is_err() && mix("e2=inf").is_err());
    }
}
