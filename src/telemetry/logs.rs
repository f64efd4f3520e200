//! The log.

use std::{
    env,
    io::{self, IsTerminal},
};

use tracing_subscriber::{EnvFilter, fmt, prelude::*};

use super::progress::Stderr;
use crate::config::{Log, LogFormat};

/// Starts logging to standard error. A second call changes nothing.
pub fn init(log: &Log) {
    // The configuration was checked with the same parser.
    let filter = EnvFilter::try_new(&log.filter).unwrap_or_else(|_| EnvFilter::new("info"));
    let registry = tracing_subscriber::registry().with(filter);
    // An error means that there is a logger already: a test's, or that of an earlier call.
    let _ = match log.format {
        LogFormat::Json => registry.with(fmt::layer().json().flatten_event(true).with_writer(Stderr)).try_init(),
        LogFormat::Text => {
            registry.with(fmt::layer().with_target(false).with_ansi(colour()).with_writer(Stderr)).try_init()
        }
    };
}

/// Whether standard error takes colour: a terminal, and nobody said no.
pub(crate) fn colour() -> bool {
    io::stderr().is_terminal() && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
