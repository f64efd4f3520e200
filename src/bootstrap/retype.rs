//! What becomes of the values of a column whose type is changed.

use crate::epoch::ColumnType;

/// Why a type may, or may not, be changed where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retype {
    /// Every value stays as it is, and more of them have a place.
    Widening,
    /// Numbers stay as they are; some have another label, or more have one.
    Labels,
    /// The same values, stored or shown in another way.
    Same,
    /// Values would be cut, or wrapped round, in silence.
    Narrowing,
    /// A number in use may lose its label, and its rows could not be read any more.
    LabelsLost,
    /// A label would move to another number.
    LabelsMoved,
    /// Anything else.
    Other,
}

impl Retype {
    /// What a change from the live to the declared type is.
    pub(super) fn of(live: &str, declared: &ColumnType) -> Self {
        use ColumnType::{DateTime, DateTime64, Float32, Float64, LowCardinalityString, String};
        let Ok(live) = ColumnType::parse(live) else { return Self::Other };
        match (&live, declared) {
            (live, declared) if live == declared => Self::Same,
            (LowCardinalityString, String) | (String, LowCardinalityString) => Self::Same,
            (DateTime { .. }, DateTime { .. }) => Self::Same,
            (DateTime64 { scale: a, .. }, DateTime64 { scale: b, .. }) if a == b => Self::Same,
            (Float32, Float64) => Self::Widening,
            (Float64, Float32) => Self::Narrowing,
            _ => match (labels(&live), labels(declared), whole(&live), whole(declared)) {
                (Some(live), Some(declared), ..) => relabel(&live, &declared),
                (_, _, Some(live), Some(declared)) if fits(live, declared) => Self::Widening,
                (_, _, Some(_), Some(_)) => Self::Narrowing,
                _ => Self::Other,
            },
        }
    }

    /// Why an operator can't have it carried out; `None` when it can be.
    pub(super) const fn refusal(self) -> Option<&'static str> {
        match self {
            Self::Widening | Self::Labels | Self::Same => None,
            Self::Narrowing => Some("values that don't fit would be altered in silence"),
            Self::LabelsLost => Some("rows with a number that loses its label could not be read any more"),
            Self::LabelsMoved => Some("a label would move to another number, and old rows would change their meaning"),
            Self::Other => Some("values can't be carried over for sure"),
        }
    }
}

/// Whether it is signed, and its bits.
const fn whole(column: &ColumnType) -> Option<(bool, u8)> {
    Some(match column {
        ColumnType::UInt8 => (false, 8),
        ColumnType::UInt16 => (false, 16),
        ColumnType::UInt32 => (false, 32),
        ColumnType::UInt64 => (false, 64),
        ColumnType::Int8 => (true, 8),
        ColumnType::Int16 => (true, 16),
        ColumnType::Int32 => (true, 32),
        ColumnType::Int64 => (true, 64),
        _ => return None,
    })
}

const fn fits((live_signed, live): (bool, u8), (signed, bits): (bool, u8)) -> bool {
    match (live_signed, signed) {
        (true, false) => false,
        (false, true) => bits > live,
        _ => bits >= live,
    }
}

fn labels(column: &ColumnType) -> Option<Vec<(i16, &str)>> {
    match column {
        ColumnType::Enum8(labels) => Some(labels.iter().map(|(l, n)| (i16::from(*n), l.as_str())).collect()),
        ColumnType::Enum16(labels) => Some(labels.iter().map(|(l, n)| (*n, l.as_str())).collect()),
        _ => None,
    }
}

fn relabel(live: &[(i16, &str)], declared: &[(i16, &str)]) -> Retype {
    if live.iter().any(|(number, _)| !declared.iter().any(|(n, _)| n == number)) {
        return Retype::LabelsLost;
    }
    let moved = |(number, label): &(i16, &str)| live.iter().any(|(n, l)| l == label && n != number);
    if declared.iter().any(moved) { Retype::LabelsMoved } else { Retype::Labels }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_has_its_kind() {
        for (live, declared, kind) in [
            ("UInt8", "UInt32", Retype::Widening),
            ("UInt32", "Int64", Retype::Widening),
            ("UInt32", "Int32", Retype::Narrowing),
            ("Int8", "UInt64", Retype::Narrowing),
            ("UInt64", "UInt32", Retype::Narrowing),
            ("Float32", "Float64", Retype::Widening),
            ("Float64", "Float32", Retype::Narrowing),
            ("String", "LowCardinality(String)", Retype::Same),
            ("DateTime64(9)", "DateTime64(9, 'UTC')", Retype::Same),
            ("DateTime64(3, 'UTC')", "DateTime64(9, 'UTC')", Retype::Other),
            ("DateTime", "DateTime('UTC')", Retype::Same),
            ("Enum('b'=1,'a'=0)", "Enum8('a' = 0, 'b' = 1)", Retype::Same),
            ("Enum8('a' = 0, 'b' = 1)", "Enum8('a' = 0, 'c' = 1)", Retype::Labels),
            ("Enum8('a' = 0)", "Enum16('a' = 0, 'b' = 300)", Retype::Labels),
            ("Enum8('a' = 0, 'b' = 1)", "Enum8('a' = 0)", Retype::LabelsLost),
            ("Enum8('a' = 0, 'b' = 1)", "Enum8('b' = 0, 'a' = 1)", Retype::LabelsMoved),
            ("Enum8('a' = 0, 'b' = 1)", "Enum8('a' = 0, 'b' = 2)", Retype::LabelsLost),
            ("String", "UInt32", Retype::Other),
            ("UInt32", "String", Retype::Other),
            ("Array(UInt8)", "UInt8", Retype::Other),
            ("Bool", "UInt8", Retype::Other),
        ] {
            let declared = ColumnType::parse(declared).expect("a type");
            assert_eq!(Retype::of(live, &declared), kind, "{live} -> {declared}");
        }
    }
}
