//! The commands, and nothing else: parse, call into the module that does the work, print.
//!
//! Data goes to standard output, logs and progress to standard error. A command ends in an exit code: 0 done, 1 failed,
//! 2 refused to start because of what it was given; `schema` and `migrate` have their own. 64 is a command line that
//! isn't understood; for `schema` and `migrate` one with a value that isn't allowed as well.

mod bench;
mod config;
mod failure;
mod generate;
mod inspect;
mod migrate;
mod migrate_adopt;
mod migrate_adopt_group;
mod migrate_adopt_text;
mod migrate_rollout;
mod migrate_text;
mod output;
mod run;
mod schema;
mod schema_text;
mod settings;

use std::{ffi::OsString, process::ExitCode};

use clap::{Parser, Subcommand, error::ErrorKind};

pub use failure::Failure;

/// Places xtcp2's TCP socket records from Kafka into ClickHouse, each in the table of its epoch.
#[derive(Debug, Parser)]
#[command(name = "xtcp-ingest", version, max_term_width = 120, disable_help_subcommand = true)]
#[command(
    after_help = "Exit codes: those of each command (`xtcp-ingest COMMAND --help`), and 64 for a command line that isn't understood."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Generate(Box<generate::Generate>),
    Inspect(inspect::Inspect),
    Bench(bench::Bench),
    #[command(subcommand)]
    Config(config::Command),
    Run(run::Command),
    #[command(subcommand)]
    Schema(schema::Command),
    #[command(subcommand)]
    Migrate(migrate::Command),
}

/// Runs the command of these arguments, the program's name first.
#[must_use]
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    // There 2 says something of the work, so that no mistake in the command line may end with it.
    let has_own_codes = arguments.get(1).is_some_and(|command| command == "schema" || command == "migrate");
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors and go to standard output; a closed pipe is nobody's concern.
            let _ = error.print();
            return match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitCode::SUCCESS,
                // The line is understood, and a value in it isn't allowed.
                ErrorKind::ValueValidation if !has_own_codes => ExitCode::from(Failure::REFUSED),
                _ => ExitCode::from(Failure::USAGE),
            };
        }
    };
    let done = match cli.command {
        Command::Generate(command) => command.run(),
        Command::Inspect(inspect) => inspect::run(inspect),
        Command::Bench(bench) => bench.run(),
        Command::Config(command) => config::run(command),
        Command::Run(command) => run::run(command),
        Command::Schema(command) => schema::run(command),
        Command::Migrate(command) => migrate::run(command),
    };
    done.unwrap_or_else(|failure| failure.report())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_commands_are_well_formed() {
        Cli::command().debug_assert();
    }
}
