//! `bench`.

use std::{fs::File, io, path::PathBuf, process::ExitCode, time::Duration};

use clap::Args;

use super::{
    Failure, output,
    settings::{Scope, Settings},
};
use crate::{
    bench::{self, Corpus, Full, Gathering, Options},
    bootstrap::Definitions,
    config::Framing,
    fleet::{self, Fleet, Mix},
    lane::Schema,
    telemetry,
};

/// Measure how fast messages are decoded, routed, encoded and compressed here, per core and with all cores
///
/// Each file holds frames back to back, as `generate --out` writes them, whatever `kafka.framing` says; without a file a fleet is
/// made up. What is beyond 2 GiB of messages is left out. Prost decoding the same bytes is timed in the same rounds, and the ratio is the
/// median over them, so that a noisy machine does no harm.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  xtcp-ingest bench
  xtcp-ingest generate --rows 200000 --mix e2=1 --out fleet.bin && xtcp-ingest bench fleet.bin --json")]
pub(super) struct Bench {
    /// Files of frames back to back [default: a made-up fleet]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Records of the made-up fleet
    #[arg(long, default_value_t = 100_000, value_name = "N", conflicts_with = "files", value_parser = clap::value_parser!(u64).range(1..))]
    rows: u64,
    /// Layouts of the made-up fleet with their shares, like `e2=60,legacy=40` [default: all, the newer the more]
    #[arg(long, value_name = "LAYOUT=SHARE,…", conflicts_with = "files")]
    mix: Option<String>,
    /// Seconds to measure on one core; all cores together take half as long again, and a few passes at least
    #[arg(long, default_value_t = 10.0, value_name = "SECONDS", value_parser = seconds)]
    seconds: f64,
    /// Print the report as one JSON object
    ///
    /// `stages` is a list of `name`, `rows_per_second`, `bytes_per_second` (of message values) and `ns_per_row`; `ratio_to_prost` is
    /// null, and there is no stage `prost_decode`, if prost can decode none of the messages record by record.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: Settings<Heeded>,
}

/// Bytes of messages that are measured at most: more would take long to go through and tell nothing new.
const MOST: usize = 2 << 30;

const FRAMES: &str =
    "give files of frames back to back, as `generate --out` writes them; `inspect` shows what becomes of a message";

/// The settings that say how a message becomes a block.
#[derive(Debug, Clone)]
struct Heeded;

impl Scope for Heeded {
    fn heeds(key: &str) -> bool {
        matches!(key, "schemas_dir" | "batch.rows" | "batch.bytes" | "workers")
    }
}

/// A file that can't be read, or holds nothing.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    #[error("can't read {}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("there is nothing to measure: the files are empty, or hold no message of at most 2 GiB")]
    Empty,
    #[error("there is nothing to measure: none of the {0} messages holds a record or a piece")]
    NoRows(usize),
}

impl Bench {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let config = self.settings.clone().load()?.config;
        let definitions = Definitions::open(config.schemas_dir.as_deref()).map_err(|e| Failure::refused(&e))?;
        let schema = Schema::new(&definitions.registry, &definitions.errors().name, Framing::Delimited);
        let gathered = if self.files.is_empty() { self.fleet(&definitions)? } else { self.read()? };
        let is_cut = gathered.is_cut();
        let corpus = Corpus::new(&schema, gathered.into_messages());
        let (messages, bytes) = (corpus.messages().len(), corpus.bytes());
        if corpus.rows() == 0 {
            let nothing = if messages == 0 { Unusable::Empty } else { Unusable::NoRows(messages) };
            return Err(Failure::refused(&nothing).hint(FRAMES));
        }
        if is_cut {
            tracing::warn!(
                "the first {messages} messages, {bytes} bytes, are measured: the rest has no room in memory"
            );
        }
        if corpus.diverted() > corpus.rows() / 2 {
            let (diverted, rows) = (corpus.diverted(), corpus.rows());
            tracing::warn!("{diverted} of {rows} pieces are diverted, so that is what is measured; {FRAMES}");
        }
        let options = Options {
            time: Duration::from_secs_f64(self.seconds),
            full: Full { rows: config.batch.rows, bytes: config.batch.bytes },
            threads: config.limits.workers,
        };
        let bar = telemetry::bar(100, "%");
        let report = bench::measure(&schema, &corpus, options, |done| bar.set_position((100.0 * done) as u64));
        bar.finish_and_clear();
        if cfg!(debug_assertions) {
            tracing::warn!(
                "this build is hardly optimised: its figures say nothing; build with `cargo build --release`"
            );
        }
        if self.json {
            output::print_json(&report.to_json())?
        } else {
            output::print(&report.to_string())?
        }
        Ok(ExitCode::SUCCESS)
    }

    fn read(&self) -> Result<Gathering, Failure> {
        let mut gathering = Gathering::new(MOST);
        for path in &self.files {
            let read = File::open(path).and_then(|file| {
                let size = file.metadata()?.len();
                gathering.read(file, size)
            });
            read.map_err(|source| Failure::failed(&Unusable::Unreadable { path: path.clone(), source }).hint(FRAMES))?;
        }
        Ok(gathering)
    }

    fn fleet(&self, definitions: &Definitions) -> Result<Gathering, Failure> {
        let mix =
            self.mix.as_deref().map_or(Ok(Mix::Default), fleet::options::mix).map_err(|e| Failure::refused(&e))?;
        // An envelope is one daemon's, so of one host and one layout.
        let options = fleet::Options { rows: self.rows, mix, mixed_every: 0, ..fleet::Options::default() };
        let fleet = Fleet::new(options, &definitions.registry).map_err(|e| Failure::refused(&e))?;
        let mut gathering = Gathering::new(MOST);
        let _ = fleet.filter_map(|message| message.payload).try_for_each(|payload| gathering.push(payload.into()));
        Ok(gathering)
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.1..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("a number of seconds from 0.1 to 3600 is needed".to_owned()),
    }
}
