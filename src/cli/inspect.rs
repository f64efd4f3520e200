//! `inspect`.

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;

use super::{
    Failure, output,
    settings::{Scope, Settings},
};
use crate::{bootstrap::Definitions, inspect, lane::Schema};

/// Show what would come of message values: the rows they would leave, the pieces that would be diverted
///
/// Each file is the value of one Kafka message, byte for byte. It goes the way that a message from Kafka goes, through the
/// same decoder; neither Kafka nor ClickHouse is asked anything.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  xtcp-ingest inspect message.bin
  kcat -C -b localhost -t xtcp -c 1 -D '' -e | xtcp-ingest inspect --json - | jq .errors

Exit codes: 0 all files were read, whatever is in them; 1 one could not be read.")]
pub(super) struct Inspect {
    /// Message values; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print one JSON object per file, a line each: `rows` with table and the values that are no defaults, `errors`
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: Settings<Definitional>,
}

/// The settings that say how a message is read.
#[derive(Debug, Clone)]
struct Definitional;

impl Scope for Definitional {
    fn heeds(key: &str) -> bool {
        matches!(key, "kafka.framing" | "schemas_dir")
    }
}

/// A file that can't be read.
#[derive(Debug, thiserror::Error)]
#[error("can't read {}", path.display())]
struct Unreadable {
    path: PathBuf,
    source: io::Error,
}

pub(super) fn run(inspect: Inspect) -> Result<ExitCode, Failure> {
    let Inspect { files, json, settings } = inspect;
    let config = settings.load()?.config;
    let definitions = Definitions::open(config.schemas_dir.as_deref()).map_err(|error| Failure::refused(&error))?;
    let schema = Schema::new(&definitions.registry, &definitions.errors().name, config.kafka.framing);
    for path in &files {
        let message = read(path).map_err(|source| {
            Failure::failed(&Unreadable { path: path.clone(), source })
                .hint("give the file of one message value, or - for standard input")
        })?;
        let report = inspect::inspect(&schema, &message);
        if json {
            // One line each, so that the objects of several files can be told apart by line.
            output::print(&format!("{}\n", report.to_json()))?;
        } else {
            output::print(&format!("{}: {report}{}", path.display(), if files.len() > 1 { "\n" } else { "" }))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    if path == Path::new("-") {
        let mut message = Vec::new();
        io::stdin().lock().read_to_end(&mut message)?;
        return Ok(message);
    }
    fs::read(path)
}
