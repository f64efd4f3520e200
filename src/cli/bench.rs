//! `bench`.

use std::{
    fs::File,
    io::{self, Read as _},
    ops::ControlFlow,
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

use clap::Args;

use super::{
    Failure, output,
    settings::{Scope, Settings},
};
use crate::{
    bench::{self, Corpus, Options},
    bootstrap::Definitions,
    fleet::{self, Fleet, Mix},
    lane::Schema,
    telemetry,
};

/// Measure how fast messages are decoded, routed, encoded and compressed here, per core and with all cores
///
/// Each file holds frames back to back, as `generate --out` writes them; without a file a fleet is made up. All is held in memory,
/// 1 GiB at most: what is beyond is left out. Prost decoding the same bytes is timed in the same rounds, and the ratio is the
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
    #[arg(long, default_value_t = 100_000, value_name = "N", conflicts_with = "files")]
    rows: u64,
    /// Layouts of the made-up fleet with their shares, like `e2=60,legacy=40` [default: all, the newer the more]
    #[arg(long, value_name = "LAYOUT=SHARE,…", conflicts_with = "files")]
    mix: Option<String>,
    /// Seconds to measure
    #[arg(long, default_value_t = 10.0, value_name = "SECONDS", value_parser = seconds)]
    seconds: f64,
    /// Print the report as one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: Settings<Heeded>,
}

/// Bytes of messages that are measured at most: more would take long to go through and tell nothing new.
const MOST: usize = 1 << 30;

/// The settings that say how a message becomes a block.
#[derive(Debug, Clone)]
struct Heeded;

impl Scope for Heeded {
    fn heeds(key: &str) -> bool {
        matches!(key, "kafka.framing" | "schemas_dir" | "batch.rows" | "limits.workers")
    }
}

/// A file that can't be read, or holds nothing.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    #[error("can't read {}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("there is nothing to measure: the files hold no message of at most 1 GiB")]
    Empty,
    #[error("there is nothing to measure: none of the {0} messages holds a record or a piece")]
    NoRows(u64),
}

impl Bench {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let config = self.settings.clone().load()?.config;
        let definitions = Definitions::open(config.schemas_dir.as_deref()).map_err(|e| Failure::refused(&e))?;
        let schema = Schema::new(&definitions.registry, &definitions.errors().name, config.kafka.framing);
        let corpus = if self.files.is_empty() { self.fleet(&config, &definitions)? } else { self.read()? };
        if corpus.messages().is_empty() {
            return Err(Failure::refused(&Unusable::Empty)
                .hint("give files of frames back to back, as `generate --out` writes them"));
        }
        let options = Options {
            time: Duration::from_secs_f64(self.seconds),
            batch_rows: config.batch.rows,
            threads: config.limits.workers,
        };
        let bar = telemetry::bar(100, "%");
        let report = bench::measure(&schema, &corpus, options, |done| bar.set_position((100.0 * done) as u64));
        bar.finish_and_clear();
        if report.rows == 0 {
            return Err(Failure::refused(&Unusable::NoRows(report.messages))
                .hint("give files of frames back to back, as `generate --out` writes them"));
        }
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

    fn read(&self) -> Result<Corpus, Failure> {
        let mut messages = Messages::new(MOST);
        for path in &self.files {
            let read = File::open(path).and_then(|file| messages.read(file));
            read.map_err(|source| Failure::failed(&Unusable::Unreadable { path: path.clone(), source }))?;
        }
        Ok(messages.corpus())
    }

    fn fleet(&self, config: &crate::config::Config, definitions: &Definitions) -> Result<Corpus, Failure> {
        let mix =
            self.mix.as_deref().map_or(Ok(Mix::Default), fleet::options::mix).map_err(|e| Failure::refused(&e))?;
        // An envelope is one daemon's, so of one host and one layout.
        let options = fleet::Options {
            rows: self.rows,
            mix,
            framing: config.kafka.framing,
            mixed_every: 0,
            ..fleet::Options::default()
        };
        let fleet = Fleet::new(options, &definitions.registry).map_err(|e| Failure::refused(&e))?;
        let mut messages = Messages::new(MOST);
        let _ = fleet.filter_map(|message| message.payload).try_for_each(|payload| messages.push(payload));
        Ok(messages.corpus())
    }
}

/// Messages up to so many bytes.
struct Messages {
    messages: Vec<Vec<u8>>,
    room: usize,
    is_cut: bool,
}

impl Messages {
    fn new(most: usize) -> Self {
        Self { messages: Vec::new(), room: most, is_cut: false }
    }

    /// Adds a message. Breaks if there is no room for it.
    fn push(&mut self, message: Vec<u8>) -> ControlFlow<()> {
        if message.len() > self.room {
            self.is_cut = true;
            return ControlFlow::Break(());
        }
        self.room -= message.len();
        self.messages.push(message);
        ControlFlow::Continue(())
    }

    /// Adds the frames of a file, as many as there is room for.
    fn read(&mut self, file: impl io::Read) -> io::Result<()> {
        let mut bytes = Vec::new();
        // One byte more shows whether there is more.
        file.take(self.room as u64 + 1).read_to_end(&mut bytes)?;
        let mut frames = Corpus::frames(&bytes);
        if bytes.len() > self.room {
            // The last one may be cut off.
            self.is_cut = frames.pop().is_some();
        }
        let _ = frames.into_iter().try_for_each(|frame| self.push(frame));
        Ok(())
    }

    fn corpus(self) -> Corpus {
        let corpus = Corpus::new(self.messages);
        if self.is_cut {
            tracing::warn!(
                "the first {} messages, {} bytes, are measured: the rest has no room in memory",
                corpus.messages().len(),
                corpus.bytes()
            );
        }
        corpus
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.1..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("a number of seconds from 0.1 to 3600 is needed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_is_left_out() {
        let frame = |byte: u8| vec![3, byte, byte, byte];
        let file = [frame(1), frame(2), frame(3)].concat();
        for (most, whole, is_cut) in [(12, 3, false), (11, 2, true), (9, 2, true), (8, 2, true), (3, 0, true)] {
            let mut messages = Messages::new(most);
            messages.read(&file[..]).expect("a slice");
            assert_eq!((messages.messages.len(), messages.is_cut), (whole, is_cut), "room for {most} bytes");
            // The next file finds no more room than there is.
            messages.read(&frame(4)[..]).expect("a slice");
            assert!(messages.messages.concat().len() <= most, "room for {most} bytes");
        }
    }
}
