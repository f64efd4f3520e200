//! What is wrong with a configuration: all of it at once.

use std::{fmt, path::PathBuf};

use super::origin::Origin;

/// Everything that is wrong. There is at least one problem.
#[derive(Debug)]
pub struct Error {
    problems: Vec<Problem>,
}

impl Error {
    pub(super) fn new(problems: Vec<Problem>) -> Self {
        debug_assert!(!problems.is_empty());
        Self { problems }
    }

    /// The problems, in the order file, environment, flags, then what only the whole shows.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [problem] = self.problems.as_slice() {
            return write!(f, "{problem}");
        }
        write!(f, "{} problems in the configuration", self.problems.len())?;
        for problem in &self.problems {
            write!(f, "\n  {problem}")?;
        }
        Ok(())
    }
}

/// One thing that is wrong. The texts hold no value of a secret.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The file can't be read.
    #[error("can't read the configuration file `{}`: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: std::io::Error,
    },
    /// The file is no TOML.
    #[error("{origin}: not TOML: {cause}")]
    Syntax {
        /// The place.
        origin: Origin,
        /// What the parser says.
        cause: String,
    },
    /// The file names a setting that doesn't exist.
    #[error("{origin}: `{key}` is no setting{nearest}")]
    UnknownKey {
        /// The place.
        origin: Origin,
        /// The name that was read.
        key: String,
        /// The known name that is most like it, in words that go behind; empty when none is.
        nearest: String,
    },
    /// The environment names a setting that doesn't exist.
    #[error("environment variable `{variable}` is no setting{nearest}")]
    UnknownVariable {
        /// The name that was read.
        variable: String,
        /// The known name that is most like it, in words that go behind; empty when none is.
        nearest: String,
    },
    /// An environment variable stands for a map.
    #[error(
        "environment variable `{variable}`: `{key}` can't be given in the environment, only in the file (table `[{key}]`) or with `--{flag} NAME=VALUE`"
    )]
    MapInEnvironment {
        /// The variable.
        variable: String,
        /// The setting.
        key: &'static str,
        /// Its flag.
        flag: String,
    },
    /// A value is not allowed.
    #[error("{origin}: `{key}` can't be {found}; allowed is {allowed}")]
    NotAllowed {
        /// The place.
        origin: Origin,
        /// The setting.
        key: String,
        /// What was read.
        found: String,
        /// What may stand there.
        allowed: String,
    },
    /// librdkafka doesn't take a property. Its own words would show the value.
    #[error("{origin}: `kafka.properties` can't have `{name}`: {why}")]
    Property {
        /// The place.
        origin: Origin,
        /// The property.
        name: String,
        /// Why, and what to do.
        why: &'static str,
    },
    /// Two settings contradict each other.
    #[error("{0}")]
    Contradiction(String),
    /// The file that a setting names can't be read.
    #[error("{origin}: can't read `{key}`, `{}`: {cause}", path.display())]
    File {
        /// The place of the setting.
        origin: Origin,
        /// The setting.
        key: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: std::io::Error,
    },
    /// The file that a setting names is not of that kind.
    #[error("{origin}: `{key}`, `{}`, {fault}", path.display())]
    Content {
        /// The place of the setting.
        origin: Origin,
        /// The setting.
        key: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        fault: String,
    },
}
