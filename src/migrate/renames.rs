//! Which field of the new record is which of the old one.

use std::collections::BTreeMap;

use super::shape::{Field, Shape};

/// Renames that a maintainer confirmed: old name to new name.
pub type Renames = BTreeMap<String, String>;

/// A confirmed rename that can't be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenameError {
    /// No `=` in it, or nothing on a side.
    #[error("`{0}` is no rename; write OLD=NEW")]
    Form(String),
    /// A name that isn't there.
    #[error("`--rename {old}={new}`: {whose} has no field `{name}`")]
    Absent {
        /// The old name.
        old: String,
        /// The new name.
        new: String,
        /// Which of both is absent.
        name: String,
        /// Who lacks it.
        whose: String,
    },
    /// Two renames to or from one name.
    #[error("`{0}` is renamed twice")]
    Twice(String),
}

/// Reads `OLD=NEW` arguments.
///
/// # Errors
/// When one has another form, or two contradict each other.
pub fn parse<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<Renames, RenameError> {
    let mut renames = Renames::new();
    for argument in arguments {
        let pair = argument.split_once('=').filter(|(old, new)| !old.is_empty() && !new.is_empty());
        let Some((old, new)) = pair else { return Err(RenameError::Form(argument.to_owned())) };
        if renames.values().any(|other| other == new) {
            return Err(RenameError::Twice(new.to_owned()));
        }
        if renames.insert(old.to_owned(), new.to_owned()).is_some() {
            return Err(RenameError::Twice(old.to_owned()));
        }
    }
    Ok(renames)
}

/// Pairs of an old field and what became of it.
#[derive(Debug)]
pub(super) struct Pairs<'a> {
    /// In the order of the old record.
    pub pairs: Vec<(&'a Field, Became<'a>)>,
    /// New fields that are none of the old ones.
    pub fresh: Vec<&'a Field>,
}

/// What became of an old field.
#[derive(Debug, Clone, Copy)]
pub(super) enum Became<'a> {
    /// It is there, under its name or under one that was confirmed.
    Known(&'a Field),
    /// A field of another name has its number and its type.
    Likely(&'a Field),
    /// It is gone.
    Gone,
}

/// Finds the pairs.
pub(super) fn pairs<'a>(old: &'a Shape, new: &'a Shape, confirmed: &Renames) -> Result<Pairs<'a>, RenameError> {
    let mut done = Renames::new();
    for (from, to) in confirmed {
        let absent = |name: &str, shape: &Shape| RenameError::Absent {
            old: from.clone(),
            new: to.clone(),
            name: name.to_owned(),
            whose: shape.file.clone(),
        };
        if new.named(to).is_none() {
            return Err(absent(to, new));
        }
        match (old.named(from).is_some(), old.named(to).is_some()) {
            (true, false) => drop(done.insert(from.clone(), to.clone())),
            // It happened before: the command may be given twice.
            (false, true) => {}
            (false, false) => return Err(absent(from, old)),
            (true, true) => return Err(RenameError::Twice(to.clone())),
        }
    }
    let mut taken: Vec<u32> = Vec::new();
    let mut pairs = Vec::new();
    for field in &old.fields {
        let name = done.get(&field.name).unwrap_or(&field.name);
        let found = new.named(name);
        taken.extend(found.map(|found| found.number));
        pairs.push((field, found.map_or(Became::Gone, Became::Known)));
    }
    for (field, became) in &mut pairs {
        let heir = new.numbered(field.number).filter(|heir| {
            matches!(became, Became::Gone)
                && heir.proto == field.proto
                && !heir.is_repeated
                && !taken.contains(&heir.number)
                // A name that was in use before is no new name for something else.
                && !old.reserved.names.contains(&heir.name)
        });
        if let Some(heir) = heir {
            taken.push(heir.number);
            *became = Became::Likely(heir);
        }
    }
    let fresh = new.fields.iter().filter(|field| !taken.contains(&field.number)).collect();
    Ok(Pairs { pairs, fresh })
}
