//! `config check`.

use std::process::ExitCode;

use clap::Args;

use super::{
    Failure, output,
    settings::{Everything, Settings},
};
use crate::{bootstrap::Definitions, config};

/// Look at the configuration
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Print the merged configuration with the source of each value, or everything that is wrong with it
    ///
    /// What is printed is TOML that reads back as the same configuration; secrets are hidden. The definitions in
    /// `schemas_dir` and `overlay_dir` are read as well. Neither Kafka nor ClickHouse is asked anything.
    #[command(after_help = "Examples:
  xtcp-ingest config check --config /etc/xtcp-ingest.toml
  XTCP_INGEST_BATCH_ROWS=1000 xtcp-ingest config check --json | jq '.\"batch.rows\"'

Exit codes: 0 the configuration is good, 2 it is not.")]
    Check(Check),
}

#[derive(Debug, Args)]
pub(super) struct Check {
    /// Print one JSON object: setting → value and source
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: Settings<Everything>,
}

pub(super) fn run(command: Command) -> Result<ExitCode, Failure> {
    let Command::Check(Check { json, settings }) = command;
    let config::Loaded { config, shown } = settings.load()?;
    Definitions::configured(&config).map_err(|error| Failure::refused(&error))?;
    if json {
        output::print_json(&config::json(&shown))?
    } else {
        output::print(&config::toml(&shown))?
    }
    Ok(ExitCode::SUCCESS)
}
