//! `run`.

use std::{process::ExitCode, time::Duration};

use clap::Args;

use super::{
    Failure,
    settings::{Everything, Settings},
};
use crate::pipeline::{self, RunOptions};

/// Place the records of the topic
///
/// Consumes as a member of the group, places each record in the table of its epoch and what can't be placed in the error
/// table, and commits what ClickHouse has acknowledged. Goes on through outages of either service. SIGTERM and SIGINT end
/// it: what is in flight is finished and committed within `shutdown_timeout`; a second signal ends at once.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  xtcp-ingest run --config /etc/xtcp-ingest.toml
  xtcp-ingest run --until-caught-up
  timeout --signal=TERM 10m xtcp-ingest run --until-caught-up

A service that does not answer is waited for, for as long as it takes, with a line in the log once a minute that says which
one, where and since when; `timeout` bounds that, and what is committed by then stays so. `bootstrap.wait_seconds` bounds
one pass over the schema, after which `run` begins another.

Exit codes: 0 ended as asked, 1 broken off, or ended by a signal before the topic was caught up, 2 refused to start (credentials, an unknown database, a missing topic),
130 or 143 ended at once by a second signal.")]
pub(super) struct Command {
    /// End when everything that the topic holds now is placed or diverted, and committed. Services that don't answer are
    /// waited for
    #[arg(long)]
    until_caught_up: bool,
    #[command(flatten)]
    settings: Settings<Everything>,
}

/// Threads for what waits: HTTP, timers, the coordinator. The work is done on the lane workers.
const THREADS: usize = 2;
/// How long a call into a library that is still blocked may hold up the end.
const LINGER: Duration = Duration::from_millis(500);

pub(super) fn run(command: Command) -> Result<ExitCode, Failure> {
    let Command { until_caught_up, settings } = command;
    let config = settings.load()?.config;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(&error))?;
    let result = runtime.block_on(pipeline::run(config, RunOptions { until_caught_up }));
    runtime.shutdown_timeout(LINGER);
    match result {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) if error.is_refusal() => Err(Failure::refused(&error)),
        Err(error) => Err(Failure::failed(&error)),
    }
}
