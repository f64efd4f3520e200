//! Problems, collected: where each is, and what was read.

use std::{fmt, sync::Arc};

/// Where a value stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, as an operator would open it.
    pub file: Arc<str>,
    /// The line, from 1; 0 when a file as a whole is meant.
    pub line: u64,
    /// The path of the field in the file, for instance `columns[hostname].type`; empty for the whole file.
    pub field: String,
}

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Its place.
    pub place: Place,
}

/// One thing that is wrong with a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub place: Place,
    /// What was read, and what is allowed.
    pub text: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if !self.field.is_empty() {
            write!(f, ": {}", self.field)?;
        }
        Ok(())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.text)
    }
}

/// Collects problems while definitions are read.
#[derive(Debug, Default)]
pub struct Report {
    problems: Vec<Problem>,
}

impl Report {
    /// Notes a problem.
    pub fn add(&mut self, place: &Place, text: impl Into<String>) {
        self.problems.push(Problem { place: place.clone(), text: text.into() });
    }

    /// Whether nothing was wrong so far.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }

    /// `value`, or every problem in the order of files and lines.
    ///
    /// # Errors
    /// [`Refused`] when there is any problem.
    ///
    /// # Panics
    /// When there is neither a value nor a problem: whoever gives up on a value has to say why.
    pub fn finish<T>(mut self, value: Option<T>) -> Result<T, Refused> {
        if self.problems.is_empty() {
            return Ok(value.expect("a definition was given up without a reason"));
        }
        self.problems.sort_by(|a, b| (&a.place.file, a.place.line).cmp(&(&b.place.file, b.place.line)));
        self.problems.dedup();
        Err(Refused { problems: self.problems })
    }
}

/// The definitions can't be used. `Display` names every problem on a line of its own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Refused {
    problems: Vec<Problem>,
}

impl Refused {
    /// The problems by file and line; there is at least one.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.problems.len();
        write!(f, "definitions refused, {count} problem{}:", if count == 1 { "" } else { "s" })?;
        for problem in &self.problems {
            write!(f, "\n  {problem}")?;
        }
        Ok(())
    }
}
