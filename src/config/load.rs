//! Sources → merged → checked → [`Config`].

use std::{ffi::OsString, path::PathBuf};

use super::{
    assemble::assemble,
    environment, file,
    merge::Merged,
    model::Config,
    origin::{Given, Origin},
    problem::Error,
    settings::Setting,
    show::Shown,
};

/// Everything that a configuration is made from, in rising order of precedence.
#[derive(Debug, Default)]
pub struct Sources {
    /// The file of `--config`. Without it, the one that `XTCP_INGEST_CONFIG` names; without that, none.
    pub file: Option<PathBuf>,
    /// The environment: all of it, foreign variables are passed over.
    pub environment: Vec<(OsString, OsString)>,
    /// What the flags give.
    pub flags: Vec<Given>,
}

/// A configuration and how it came about.
#[derive(Debug)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// The same with the source of each value, secrets hidden.
    pub shown: Vec<Shown>,
}

/// Reads and checks a configuration.
///
/// # Errors
/// Names everything that is wrong, in all sources.
pub fn load(sources: Sources) -> Result<Loaded, Error> {
    let Sources { file, environment, flags } = sources;
    let mut problems = Vec::new();
    let file = file.or_else(|| environment::file(&environment).map(PathBuf::from));
    let mut given = file.map_or_else(Vec::new, |path| file::read(&path, &mut problems));
    given.extend(environment::read(&environment, &mut problems));
    given.extend(flags);

    let merged = Merged::new(given, &mut problems);
    let config = assemble(&merged, &mut problems);
    if problems.is_empty() { Ok(Loaded { config, shown: Shown::all(&merged) }) } else { Err(Error::new(problems)) }
}

/// What a flag gives; a map's flag reads `NAME=VALUE`.
#[must_use]
pub fn flag(setting: &'static Setting, flag: &str, text: &str) -> Given {
    let origin = Origin::Flag(flag.to_owned());
    match text.split_once('=').filter(|_| setting.is_map()) {
        Some((name, value)) => Given { setting, entry: Some(name.trim().to_owned()), text: value.to_owned(), origin },
        None => Given { setting, entry: None, text: text.to_owned(), origin },
    }
}
