//! The settings as flags: made from the table of settings, so that a flag can't be forgotten.

use std::{env, marker::PhantomData, path::PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches, builder::PathBufValueParser};

use super::Failure;
use crate::{
    config::{self, Loaded, Setting, Sources},
    telemetry,
};

/// Which settings a command has flags for. All come from the file and the environment all the same.
pub(super) trait Scope {
    /// Whether the command heeds the setting of that key.
    fn heeds(key: &str) -> bool;
}

/// All of them.
#[derive(Debug, Clone)]
pub(super) struct Everything;

impl Scope for Everything {
    fn heeds(_: &str) -> bool {
        true
    }
}

/// `--config` and the flags of a command, still as texts.
#[derive(Debug, Clone)]
pub(super) struct Settings<S> {
    file: Option<PathBuf>,
    given: Vec<(&'static Setting, String, String)>,
    scope: PhantomData<S>,
}

impl<S: Scope> Settings<S> {
    /// Reads the configuration and starts the log.
    pub(super) fn load(self) -> Result<Loaded, Failure> {
        let flags = self.given.into_iter().map(|(setting, flag, text)| config::flag(setting, &flag, &text)).collect();
        let loaded = config::load(Sources { file: self.file, environment: env::vars_os().collect(), flags })?;
        telemetry::init(&loaded.config.log);
        Ok(loaded)
    }
}

const FILE: &str = "config";

impl<S: Scope> Args for Settings<S> {
    fn augment_args(command: Command) -> Command {
        let file = Arg::new(FILE)
            .long(FILE)
            .value_name("FILE")
            .value_parser(PathBufValueParser::new())
            .help("The configuration file [env: XTCP_INGEST_CONFIG]");
        flags::<S>().fold(command.arg(file), |command, (setting, flag)| {
            let environment = setting.variable().map_or(String::new(), |name| format!(" [env: {name}]"));
            let default = match setting.preset {
                config::settings::Preset::Text(text) if !text.is_empty() => format!(" [default: {text}]"),
                _ => String::new(),
            };
            let arg = Arg::new(setting.key)
                .long(flag)
                .value_name(if setting.is_map() { "NAME=VALUE" } else { "VALUE" })
                .action(if setting.is_map() { ArgAction::Append } else { ArgAction::Set })
                .help_heading("Settings")
                .hide_short_help(true)
                .help(format!("{}{default}{environment}", setting.doc));
            command.arg(arg)
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<S: Scope> FromArgMatches for Settings<S> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = flags::<S>().flat_map(|(setting, flag)| {
            let texts = matches.get_many::<String>(setting.key).unwrap_or_default();
            texts.map(move |text| (setting, flag.clone(), text.clone())).collect::<Vec<_>>()
        });
        Ok(Self { file: matches.get_one(FILE).cloned(), given: given.collect(), scope: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn flags<S: Scope>() -> impl Iterator<Item = (&'static Setting, String)> {
    config::settings::ALL.iter().filter(|s| S::heeds(s.key)).filter_map(|s| Some((s, s.flag()?)))
}
