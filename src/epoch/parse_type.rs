//! Column types out of their text.
//!
//! The parser is more lenient than the definitions are: it takes what ClickHouse takes in spacing and order of labels, so
//! that a refusal can name the canonical text, which is [`ColumnType`]'s `Display`.

use std::{collections::HashSet, fmt};

use super::ColumnType;

/// A text that is no column type of ours. `Display` says what was read and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TypeError {
    /// No type of that name, or arguments that it doesn't take.
    #[error("unknown type `{0}`; known: {KNOWN}")]
    Unknown(String),
    /// A scale of `DateTime64` beyond nanoseconds.
    #[error("`{0}` is no scale of DateTime64; 0 to 9 are allowed")]
    Scale(String),
    /// A time zone that is no name.
    #[error("`{0}` is no time zone name")]
    Zone(String),
    /// What stands between the parentheses of an enum is no list of labels.
    #[error("can't read the enum at `{0}`; labels look like 'name' = 1, 'other' = 2")]
    Labels(String),
    /// A label that stands twice.
    #[error("label '{0}' stands twice")]
    LabelTwice(String),
    /// A number that has two labels.
    #[error("number {0} has two labels")]
    NumberTwice(i64),
    /// A number that the enum's width can't hold.
    #[error("number {number} of label '{label}' is out of the range of {kind}, {range}")]
    Range {
        /// The label.
        label: String,
        /// Its number.
        number: i64,
        /// `Enum8` or `Enum16`.
        kind: &'static str,
        /// What the type can hold.
        range: &'static str,
    },
}

const KNOWN: &str = "UInt8, UInt16, UInt32, UInt64, Int8, Int16, Int32, Int64, Float32, Float64, Bool, String, \
                     LowCardinality(String), DateTime, DateTime('zone'), DateTime64(scale), DateTime64(scale, 'zone'), \
                     Enum8('label' = 0, …), Enum16('label' = 0, …)";

impl ColumnType {
    /// The type that `text` names.
    ///
    /// # Errors
    /// When it is none of the types that a record's field can land in.
    pub fn parse(text: &str) -> Result<Self, TypeError> {
        let unknown = || TypeError::Unknown(text.to_owned());
        let text = text.trim();
        let Some((name, arguments)) = text.split_once('(') else { return plain(text).ok_or_else(unknown) };
        let arguments = arguments.strip_suffix(')').ok_or_else(unknown)?.trim();
        match name.trim_end() {
            "LowCardinality" if arguments == "String" => Ok(Self::LowCardinalityString),
            "DateTime" => Ok(Self::DateTime { zone: Some(zone(arguments)?) }),
            "DateTime64" => {
                let (scale, zone_text) = match arguments.split_once(',') {
                    Some((scale, zone)) => (scale.trim_end(), Some(zone.trim_start())),
                    None => (arguments, None),
                };
                let number = scale.parse().ok().filter(|s| *s <= 9);
                let scale = number.ok_or_else(|| TypeError::Scale(scale.to_owned()))?;
                Ok(Self::DateTime64 { scale, zone: zone_text.map(zone).transpose()? })
            }
            "Enum8" => Ok(Self::Enum8(narrow(labels(arguments)?, "Enum8", "-128 to 127")?)),
            "Enum16" => Ok(Self::Enum16(narrow(labels(arguments)?, "Enum16", "-32768 to 32767")?)),
            // The server resolves the width itself: the narrower one that holds every number.
            "Enum" => {
                let labels = labels(arguments)?;
                match narrow(labels.clone(), "Enum8", "") {
                    Ok(narrowed) => Ok(Self::Enum8(narrowed)),
                    Err(_) => Ok(Self::Enum16(narrow(labels, "Enum16", "-32768 to 32767")?)),
                }
            }
            _ => Err(unknown()),
        }
    }
}

fn plain(name: &str) -> Option<ColumnType> {
    Some(match name {
        "UInt8" => ColumnType::UInt8,
        "UInt16" => ColumnType::UInt16,
        "UInt32" => ColumnType::UInt32,
        "UInt64" => ColumnType::UInt64,
        "Int8" => ColumnType::Int8,
        "Int16" => ColumnType::Int16,
        "Int32" => ColumnType::Int32,
        "Int64" => ColumnType::Int64,
        "Float32" => ColumnType::Float32,
        "Float64" => ColumnType::Float64,
        "Bool" => ColumnType::Bool,
        "String" => ColumnType::String,
        "DateTime" => ColumnType::DateTime { zone: None },
        _ => return None,
    })
}

fn zone(quoted: &str) -> Result<String, TypeError> {
    let inner = quoted.strip_prefix('\'').and_then(|q| q.strip_suffix('\''));
    let named = |z: &&str| !z.is_empty() && z.chars().all(|c| c.is_ascii_alphanumeric() || "/_+-".contains(c));
    inner.filter(named).map(str::to_owned).ok_or_else(|| TypeError::Zone(quoted.to_owned()))
}

/// The labels and numbers of an enum, ascending by number.
fn labels(text: &str) -> Result<Vec<(String, i64)>, TypeError> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        let fault = || TypeError::Labels(rest.to_owned());
        let (label, after) = quoted(rest).ok_or_else(fault)?;
        let after = after.trim_start().strip_prefix('=').ok_or_else(fault)?;
        let (number, after) = after.find(',').map_or((after, None), |i| (&after[..i], Some(&after[i + 1..])));
        found.push((label, number.trim().parse().map_err(|_| fault())?));
        let Some(after) = after else { break };
        rest = after.trim_start();
    }
    let (mut names, mut numbers) = (HashSet::new(), HashSet::new());
    for (label, number) in &found {
        if !names.insert(label) {
            return Err(TypeError::LabelTwice(label.clone()));
        }
        if !numbers.insert(number) {
            return Err(TypeError::NumberTwice(*number));
        }
    }
    found.sort_by_key(|(_, number)| *number);
    Ok(found)
}

/// A quoted label at the start of `text`, and what follows it. Escapes that stand for control characters are no labels.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut label = String::new();
    let mut chars = text.strip_prefix('\'')?.char_indices();
    loop {
        match chars.next()? {
            (at, '\'') => return Some((label, &text[at + 2..])),
            (_, '\\') => match chars.next()?.1 {
                c @ ('\'' | '\\') => label.push(c),
                _ => return None,
            },
            (_, c) if c.is_control() => return None,
            (_, c) => label.push(c),
        }
    }
}

fn narrow<V: TryFrom<i64> + fmt::Debug>(
    labels: Vec<(String, i64)>,
    kind: &'static str,
    range: &'static str,
) -> Result<Vec<(String, V)>, TypeError> {
    let fit = |(label, number): (String, i64)| match V::try_from(number) {
        Ok(value) => Ok((label, value)),
        Err(_) => Err(TypeError::Range { label, number, kind, range }),
    };
    labels.into_iter().map(fit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::EVERY_TYPE;

    #[test]
    fn canonical_texts_come_back_as_they_went_in() {
        let arguments = [
            "DateTime('UTC')",
            "DateTime64(9, 'Europe/Vienna')",
            "Enum8('' = 0, 'a' = 1)",
            "Enum8('a' = -128, 'it\\'s' = 0, 'b\\\\' = 127)",
            "Enum16('a' = 0, 'b' = 300)",
        ];
        for text in EVERY_TYPE.map(|(_, text)| text).into_iter().chain(arguments) {
            let parsed = ColumnType::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(parsed.to_string(), text);
        }
    }

    #[test]
    fn other_spellings_have_a_canonical_text() {
        for (text, canonical) in [
            ("DateTime64(9,'UTC')", "DateTime64(9, 'UTC')"),
            ("Enum('b'=1,'a'=0)", "Enum8('a' = 0, 'b' = 1)"),
            ("Enum('b' = 1000, 'a, (x)' = 0)", "Enum16('a, (x)' = 0, 'b' = 1000)"),
            (" LowCardinality( String ) ", "LowCardinality(String)"),
        ] {
            assert_eq!(ColumnType::parse(text).unwrap_or_else(|e| panic!("{text}: {e}")).to_string(), canonical);
        }
    }

    #[test]
    fn what_is_no_type_says_why() {
        for (text, why) in [
            ("Uint32", "unknown type `Uint32`; known: UInt8"),
            ("Nullable(UInt8)", "unknown type"),
            ("LowCardinality(UInt8)", "unknown type"),
            ("DateTime64", "unknown type"),
            ("String(", "unknown type"),
            ("DateTime64(10)", "`10` is no scale"),
            ("DateTime64(9, 'U\\'TC')", "no time zone"),
            ("DateTime(UTC)", "no time zone"),
            ("Enum8()", "can't read the enum"),
            ("Enum8('a')", "can't read the enum"),
            ("Enum8('a' = 1 'b' = 2)", "can't read the enum"),
            ("Enum8('a' = 1,)", "can't read the enum"),
            ("Enum8('a\\n' = 1)", "can't read the enum"),
            ("Enum8('a' = 1, 'a' = 2)", "label 'a' stands twice"),
            ("Enum8('a' = 1, 'b' = 1)", "number 1 has two labels"),
            ("Enum8('a' = 0, 'b' = 128)", "number 128 of label 'b' is out of the range of Enum8, -128 to 127"),
            ("Enum16('b' = 32768)", "out of the range of Enum16"),
        ] {
            let error = ColumnType::parse(text).expect_err(text).to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
