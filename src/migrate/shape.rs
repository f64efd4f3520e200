//! What a record looks like, whether a `.proto` file says so or the definitions do.

use std::collections::{BTreeMap, BTreeSet};

use crate::epoch::ProtoType;

/// A place in a file, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// A record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// Where it is from, for messages.
    pub file: String,
    /// Where the record begins.
    pub spot: Option<Spot>,
    /// The fields, ascending by number.
    pub fields: Vec<Field>,
    /// Numbers and names that are never used again.
    pub reserved: Reserved,
    /// What an envelope holds; `None` where there is none.
    pub envelope: Option<Envelope>,
}

/// One field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The number.
    pub number: u32,
    /// The name.
    pub name: String,
    /// The type.
    pub proto: ProtoType,
    /// Whether it holds any number of values.
    pub is_repeated: bool,
    /// Whether it is told apart from its default: proto3's `optional`.
    pub is_optional: bool,
    /// The labels of an enum as a column shows them, by number.
    pub labels: BTreeMap<i32, String>,
    /// The comment before it.
    pub heading: Option<String>,
    /// The comment after it.
    pub comment: Option<String>,
    /// Where it stands.
    pub spot: Option<Spot>,
}

/// What must not be used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reserved {
    /// Ranges of numbers, ends included.
    pub numbers: Vec<(u32, u32)>,
    /// Names.
    pub names: BTreeSet<String>,
}

/// An envelope: what stands around records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// Where it begins.
    pub spot: Option<Spot>,
    /// Number, type and whether it is repeated, of each field.
    pub fields: Vec<(u32, String, bool)>,
}

impl Shape {
    /// The field of that name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The field of that number.
    #[must_use]
    pub fn numbered(&self, number: u32) -> Option<&Field> {
        self.fields.iter().find(|field| field.number == number)
    }
}

impl Reserved {
    /// Whether a number is.
    #[must_use]
    pub fn has_number(&self, number: u32) -> bool {
        self.numbers.iter().any(|(from, to)| (*from..=*to).contains(&number))
    }
}

/// The labels of an enum as a column shows them: `LOCALITY_SELF` of `Locality` is `self`.
#[must_use]
pub fn labels<'a>(type_name: &str, values: impl Iterator<Item = (i32, &'a str)> + Clone) -> BTreeMap<i32, String> {
    let is_common = |prefix: &String| {
        values.clone().all(|(_, name)| name.len() > prefix.len() && name.starts_with(prefix.as_str()))
    };
    // The name of the type is on no wire: one that was renamed alone leaves the labels as they are.
    let of_zero =
        values.clone().find(|(number, _)| *number == 0).and_then(|(_, name)| name.strip_suffix("UNSPECIFIED"));
    let prefixes = [Some(format!("{}_", upper_snake(type_name))), of_zero.map(str::to_owned)];
    let prefix = prefixes.into_iter().flatten().find(is_common).unwrap_or_default();
    let short = |name: &'a str| &name[prefix.len()..];
    values.clone().map(|(number, name)| (number, short(name).to_lowercase())).collect()
}

fn upper_snake(name: &str) -> String {
    let mut text = String::new();
    for (index, c) in name.chars().enumerate() {
        if c.is_ascii_uppercase() && index > 0 {
            text.push('_');
        }
        text.push(c.to_ascii_uppercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_lose_what_all_have_in_common_with_the_type() {
        let of = |name, values: &[(i32, &'static str)]| labels(name, values.iter().copied());
        let locality = of("Locality", &[(0, "LOCALITY_UNSPECIFIED"), (1, "LOCALITY_SELF")]);
        assert_eq!(locality, BTreeMap::from([(0, "unspecified".to_owned()), (1, "self".to_owned())]));
        let two = of("TcpState", &[(0, "TCP_STATE_X"), (-1, "TCP_STATE_Y_Z")]);
        assert_eq!(two, BTreeMap::from([(0, "x".to_owned()), (-1, "y_z".to_owned())]));
        let renamed = of("Place", &[(0, "LOCALITY_UNSPECIFIED"), (1, "LOCALITY_SELF")]);
        assert_eq!(renamed, locality);
        let mixed = of("Side", &[(0, "SIDE_LEFT"), (1, "RIGHT")]);
        assert_eq!(mixed, BTreeMap::from([(0, "side_left".to_owned()), (1, "right".to_owned())]));
    }
}
