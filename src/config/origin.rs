//! Where a value came from.

use std::{fmt, path::PathBuf};

use super::settings::Setting;

/// One text that some source gives to a setting.
#[derive(Debug, Clone)]
pub struct Given {
    /// The setting.
    pub setting: &'static Setting,
    /// The entry's name, when the setting is a map.
    pub entry: Option<String>,
    /// The text as it was read.
    pub text: String,
    /// The source.
    pub origin: Origin,
}

/// The source of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The table of settings.
    Preset,
    /// A line of the configuration file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// An environment variable.
    Environment(String),
    /// A flag, without its dashes.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Preset => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Environment(name) => f.write_str(name),
            Self::Flag(name) => write!(f, "--{name}"),
        }
    }
}
