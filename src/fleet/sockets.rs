//! What the sockets of a fleet look like: classes of sockets and the values of their fields, from `sockets.txt`.

use super::{
    columns::{Columns, Slot},
    random::Random,
    values::Values,
};

const SOCKETS: &str = include_str!("sockets.txt");

/// All classes of sockets.
#[derive(Debug)]
pub(super) struct Sockets {
    classes: Vec<Class>,
    shares: u64,
}

/// One class of sockets.
#[derive(Debug)]
pub(super) struct Class {
    share: u64,
    fields: Vec<Field>,
}

#[derive(Debug)]
struct Field {
    slot: Slot,
    rank: Rank,
    curve: Curve,
}

/// What is drawn together, and when anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rank {
    Socket,
    Moment,
    Volume,
    Delay,
    Rate,
    Cong,
    Timer,
    Flight,
}

#[derive(Debug)]
enum Curve {
    /// Values with the share of sockets at or below them.
    Pick(Vec<(f64, u64)>),
    Words(Vec<(f64, &'static str)>),
    /// Shares and the value below which they are.
    Ramp {
        knots: Vec<(f64, f64)>,
        step: u64,
    },
}

/// The draws that the fields of a rank share.
#[derive(Debug, Clone, Copy)]
struct Draws {
    volume: f64,
    delay: f64,
    rate: f64,
    cong: f64,
    timer: f64,
    flight: f64,
}

impl Sockets {
    /// The classes that come with the program.
    ///
    /// # Panics
    /// Never: a test reads the file.
    pub(super) fn new(columns: &Columns<'_>) -> Self {
        let mut classes: Vec<Class> = Vec::new();
        for line in SOCKETS.lines().filter(|l| !l.starts_with('#') && !l.is_empty()) {
            let mut words = line.split_whitespace();
            let first = words.next().expect("the line isn't empty");
            if line.starts_with(' ') {
                let class = classes.last_mut().expect("a class comes first");
                class.fields.push(Field::parse(columns.slot(first), words));
            } else {
                let share = words.next().and_then(|w| w.parse().ok()).expect("a class has a share");
                classes.push(Class { share, fields: Vec::new() });
            }
        }
        let shares = classes.iter().map(|c| c.share).sum();
        Self { classes, shares }
    }

    /// The class of a socket.
    pub(super) fn class(&self, random: &mut Random) -> &Class {
        let mut place = random.below(self.shares);
        for class in &self.classes {
            if place < class.share {
                return class;
            }
            place -= class.share;
        }
        unreachable!("the place is below the sum of the shares")
    }
}

impl Class {
    /// Draws all fields of a socket in its `poll`-th poll.
    pub(super) fn fill(&self, values: &mut Values, socket: &mut Random, moment: &mut Random, poll: u64) {
        #[allow(clippy::cast_precision_loss)] // at most 50
        let age = poll.min(50) as f64 / 1000.0;
        let draws = Draws {
            volume: (socket.unit() * 0.95 + age).min(0.999),
            delay: (socket.unit() + (moment.unit() - 0.5) * 0.02).clamp(0.0, 0.999),
            rate: socket.unit(),
            cong: socket.unit(),
            timer: moment.unit(),
            flight: moment.unit(),
        };
        for field in &self.fields {
            let draw = match field.rank {
                Rank::Socket => socket.unit(),
                Rank::Moment => moment.unit(),
                Rank::Volume => draws.volume,
                Rank::Delay => draws.delay,
                Rank::Rate => draws.rate,
                Rank::Cong => draws.cong,
                Rank::Timer => draws.timer,
                Rank::Flight => draws.flight,
            };
            match &field.curve {
                Curve::Pick(values_of) => values.set(field.slot, pick(values_of, draw)),
                Curve::Words(words) => values.set_text(field.slot, pick(words, draw).as_bytes()),
                Curve::Ramp { knots, step } => values.set(field.slot, ramp(knots, *step, draw)),
            }
        }
    }
}

impl Field {
    fn parse(slot: Slot, mut words: impl Iterator<Item = &'static str>) -> Self {
        let rank = match words.next() {
            Some("socket") => Rank::Socket,
            Some("moment") => Rank::Moment,
            Some("volume") => Rank::Volume,
            Some("delay") => Rank::Delay,
            Some("rate") => Rank::Rate,
            Some("cong") => Rank::Cong,
            Some("timer") => Rank::Timer,
            Some("flight") => Rank::Flight,
            other => unreachable!("rank {other:?}"),
        };
        let shape = words.next();
        let rest: Vec<&'static str> = words.collect();
        let pairs = |words: &[&'static str]| -> Vec<_> {
            words.iter().map(|w| w.split_once(':').expect("two parts")).collect()
        };
        let curve = match (shape, rest.as_slice()) {
            (Some("pick"), words) => Curve::picks(&pairs(words)),
            (Some("ramp"), [knots @ .., "step", step]) => Curve::ramp(&pairs(knots), number(step)),
            (Some("ramp"), knots) => Curve::ramp(&pairs(knots), 1),
            other => unreachable!("shape {other:?}"),
        };
        Self { slot, rank, curve }
    }
}

impl Curve {
    fn picks(pairs: &[(&'static str, &'static str)]) -> Self {
        let total: f64 = pairs.iter().map(|(_, share)| float(share)).sum();
        let mut sum = 0.0;
        let mut below = |share: &str| {
            sum += float(share) / total;
            sum
        };
        if pairs.iter().all(|(value, _)| value.parse::<u64>().is_ok()) {
            Self::Pick(pairs.iter().map(|(value, share)| (below(share), number(value))).collect())
        } else {
            Self::Words(pairs.iter().map(|(value, share)| (below(share), *value)).collect())
        }
    }

    fn ramp(pairs: &[(&'static str, &'static str)], step: u64) -> Self {
        Self::Ramp { knots: pairs.iter().map(|(at, value)| (float(at) / 100.0, float(value))).collect(), step }
    }
}

fn number(text: &str) -> u64 {
    text.parse().expect("a whole number")
}

fn float(text: &str) -> f64 {
    text.parse().expect("a number")
}

fn pick<T: Copy>(values: &[(f64, T)], draw: f64) -> T {
    let last = values.len() - 1;
    values[..last].iter().find(|(below, _)| draw < *below).map_or(values[last].1, |(_, value)| *value)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between two knots, which are positive
fn ramp(knots: &[(f64, f64)], step: u64, draw: f64) -> u64 {
    if draw < knots[0].0 {
        return 0;
    }
    let value = match knots.iter().position(|(at, _)| draw < *at) {
        Some(next) => {
            let ((from, low), (to, high)) = (knots[next - 1], knots[next]);
            low + (high - low) * (draw - from) / (to - from)
        }
        None => knots[knots.len() - 1].1,
    } as u64;
    if step == 1 { value } else { value / step * step }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_goes_through_its_knots() {
        let knots = [(0.5, 10.0), (0.75, 20.0), (1.0, 4000.0)];
        assert_eq!(ramp(&knots, 1, 0.49), 0);
        assert_eq!(ramp(&knots, 1, 0.5), 10);
        assert_eq!(ramp(&knots, 1, 0.625), 15);
        assert_eq!(ramp(&knots, 1, 0.75), 20);
        assert_eq!(ramp(&knots, 1000, 0.9999), 3000);
        assert_eq!(ramp(&[(0.0, 7.0), (0.5, 9.0)], 1, 0.9), 9);
    }

    #[test]
    fn picks_come_in_their_shares() {
        let Curve::Pick(values) = Curve::picks(&[("1", "30"), ("2", "10")]) else { unreachable!("numbers") };
        assert_eq!(pick(&values, 0.74), 1);
        assert_eq!(pick(&values, 0.76), 2);
        assert_eq!(pick(&values, 0.999_999_9), 2);
    }

    #[test]
    fn every_field_of_the_file_is_a_column() {
        let registry = crate::epoch::load::embedded().expect("good definitions");
        let columns = Columns::new(&registry);
        let sockets = Sockets::new(&columns);
        for class in &sockets.classes {
            let known = class.fields.iter().filter(|f| f.slot < columns.count() - 1).count();
            assert_eq!(known, class.fields.len());
        }
    }
}
