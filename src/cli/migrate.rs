//! `migrate`: evolution of the record.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use serde_json::json;

use super::{Failure, migrate_adopt, migrate_rollout, migrate_text, output, schema};
use crate::{
    bootstrap::Definitions,
    migrate::{
        DraftError, ProtoError, ProtoFile, RenameError, Request, Rules, Shape, Source, declared, differences, draft,
        parse_renames, take_back, verdict, write,
    },
};

/// Take a changed record from its `.proto` to the tables: what changed, the definitions, the rollout
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Tell every difference of a `.proto` from the newest definitions: additive, a new epoch, or not allowed, and why
    #[command(
        after_help = "Exit codes: 0 nothing to do, 2 additive, 3 a new epoch is needed, 1 refused or not readable.

Examples:
  xtcp-ingest migrate diff new.proto
  xtcp-ingest migrate diff --from old.proto -I vendor/protos --json new.proto"
    )]
    Diff(Diff),
    /// Write the definitions of a changed `.proto`: a new epoch, or more columns of the newest
    ///
    /// Writes the epoch's file, the manifest, the list of what was published, a file under `migrations/` and the `.proto`
    /// itself with what has to be reserved. What is there and says something else is never overwritten; given twice, the
    /// command changes nothing the second time. Ended in the middle, it is finished by the same command.
    #[command(
        after_help = "Exit codes: 0 written, or nothing to do; 1 refused, or a file can't be written: nothing was changed, unless
the message says so.

Examples:
  xtcp-ingest migrate new --dir ddl new.proto
  xtcp-ingest migrate new --dir ddl --epoch 3 --rename tcp_info_rto=tcp_info_rto_us new.proto"
    )]
    New(New),
    /// Show what a rollout of the definitions would do: tables of epochs, then the Merge table, then the view
    #[command(after_help = "Exit codes: 0 nothing to do, 2 something to create, to alter or refused, 1 error.")]
    Plan(schema::Plan),
    /// Roll out the definitions, step by step, under the same lease as `run` and `schema apply`
    ///
    /// Each step is recorded as soon as it is done. Ended in the middle, in whatever way, it is finished by the same command.
    #[command(
        after_help = "Exit codes: 0 rolled out, 1 failed, 2 rolled out but for what is refused, 3 another process has the \
lease: nothing was applied."
    )]
    Apply(schema::Apply),
    /// Show what was rolled out, and how many records wait for a definition
    #[command(after_help = "Exit codes: 0 done, 1 error.")]
    Status(schema::Plan),
    /// Place diverted records whose cause is mended, each of them once
    ///
    /// Reads them from the error table, decodes them by the definitions and sends them to the tables of their epochs. Their
    /// rows in the error table stay until their own end; what was placed is written down, and never placed again. Ended in
    /// the middle, in whatever way, it is finished by the same command.
    #[command(
        after_help = "Exit codes: 0 placed, or nothing to place; 2 some are refused still; 1 failed; 3 another process \
has the lease: nothing was placed."
    )]
    Replay(migrate_rollout::Replay),
    /// Take over from tables with the Kafka engine and their materialized views
    ///
    /// Shows what is there and what would be done; --apply does it: the schema first, which replaces nothing, then the
    /// reader is stopped, then its views, then the group is watched until its offsets stand still. `run` goes on from exactly
    /// these offsets. Ended in the middle, it is finished by the same command.
    #[command(
        after_help = "Exit codes: without --apply 0 nothing to take over, 2 something; with it 0 taken over; with --verify 0 \
sound, 2 counts differ; 1 refused or failed."
    )]
    Adopt(migrate_adopt::Adopt),
}

/// The record's `.proto`, and how it is read.
#[derive(Debug, Args)]
pub(super) struct Changed {
    /// The `.proto` with the changed record
    #[arg(value_name = "NEW.proto")]
    new: PathBuf,
    /// A directory in which imports are looked for, besides that of the file
    #[arg(short = 'I', long = "include", value_name = "DIRECTORY")]
    includes: Vec<PathBuf>,
    /// The record's message with its package
    #[arg(long, default_value = declared::MESSAGE, value_name = "NAME")]
    message: String,
    /// A field that was renamed: without it a rename is only likely
    #[arg(long = "rename", value_name = "OLD=NEW", value_delimiter = ',', value_parser = rename)]
    renames: Vec<String>,
}

#[derive(Debug, Args)]
pub(super) struct Diff {
    #[command(flatten)]
    changed: Changed,
    /// The definitions to compare with [default: those inside the binary]
    #[arg(long = "dir", value_name = "DEFINITIONS")]
    directory: Option<PathBuf>,
    /// Compare with another `.proto` instead of the definitions
    #[arg(long, value_name = "OLD.proto", conflicts_with = "directory")]
    from: Option<PathBuf>,
    /// Print one JSON value
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct New {
    #[command(flatten)]
    changed: Changed,
    /// The number of the new epoch [default: the next one, where a new one is needed]
    #[arg(long, value_name = "N")]
    epoch: Option<u32>,
    /// The definitions to change
    #[arg(long = "dir", value_name = "DEFINITIONS", default_value = "ddl")]
    directory: PathBuf,
    /// The `.proto` to replace [default: proto/xtcp_flat_record.proto beside the definitions]
    #[arg(long, value_name = "FILE")]
    proto: Option<PathBuf>,
    /// Where the file that shows the migration goes [default: migrations beside the definitions]
    #[arg(long, value_name = "DIRECTORY")]
    migrations: Option<PathBuf>,
    /// Print one JSON value
    #[arg(long)]
    json: bool,
}

pub(super) fn run(command: Command) -> Result<ExitCode, Failure> {
    // 2 says something else here than that the start was refused.
    let done = match command {
        Command::Diff(diff) => diff.run(),
        Command::New(new) => new.run(),
        Command::Plan(plan) => migrate_rollout::plan(plan),
        Command::Apply(apply) => migrate_rollout::apply(apply),
        Command::Status(plan) => migrate_rollout::status(plan),
        Command::Replay(replay) => migrate_rollout::replay(replay),
        Command::Adopt(adopt) => migrate_adopt::run(adopt),
    };
    done.map_err(|failure| failure.with_code(Failure::FAILED))
}

impl Changed {
    fn read(&self, path: PathBuf) -> Result<ProtoFile, Failure> {
        let source = Source { path, includes: self.includes.clone(), message: self.message.clone() };
        ProtoFile::read(&source).map_err(|error| proto_failure(&error))
    }

    fn rules(&self) -> Result<Rules, Failure> {
        let renames = parse_renames(self.renames.iter().map(String::as_str)).map_err(|error| rename_failure(&error))?;
        Ok(Rules { renames, is_fleet_record: self.message == declared::MESSAGE })
    }
}

/// A file beside the definitions.
fn beside(directory: &Path, name: &str) -> PathBuf {
    let parent = directory.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).join(name)
}

/// The `.proto` of definitions.
fn proto_beside(directory: &Path) -> PathBuf {
    beside(directory, "proto/xtcp_flat_record.proto")
}

impl Diff {
    fn declared(&self) -> Result<Shape, Failure> {
        let definitions = Definitions::open(self.directory.as_deref()).map_err(|error| Failure::failed(&error))?;
        let beside = self.directory.as_deref().and_then(|directory| declared::reserved_by(&proto_beside(directory)));
        Ok(declared::shape(&definitions.registry, beside.unwrap_or_else(declared::embedded_reserved)))
    }

    fn run(self) -> Result<ExitCode, Failure> {
        let rules = self.changed.rules()?;
        let new = self.changed.read(self.changed.new.clone())?.shape;
        let old = match &self.from {
            Some(path) => self.changed.read(path.clone())?.shape,
            None => self.declared()?,
        };
        let found = differences(&old, &new, &rules).map_err(|error| rename_failure(&error))?;
        let verdict = verdict(&found);
        if self.json {
            let differences: Vec<_> = found.iter().map(|difference| difference.json()).collect();
            output::print_json(&json!({ "from": old.file, "verdict": verdict.name(), "differences": differences }))?;
        } else {
            output::print(&migrate_text::differences(&old.file, &found))?;
        }
        Ok(ExitCode::from(verdict.exit_code()))
    }
}

impl New {
    fn run(self) -> Result<ExitCode, Failure> {
        // Before anything is read: the `.proto` may be one of the files that a run has changed that was ended in the middle.
        take_back(&self.directory).map_err(|error| draft_failure(&error))?;
        let new = self.changed.read(self.changed.new.clone())?;
        let request = Request {
            directory: self.directory.clone(),
            epoch: self.epoch,
            proto: self.proto.clone().unwrap_or_else(|| proto_beside(&self.directory)),
            migrations: self.migrations.clone().unwrap_or_else(|| beside(&self.directory, "migrations")),
            rules: self.changed.rules()?,
        };
        let draft = draft(&new, &self.changed.new, &request).map_err(|error| draft_failure(&error))?;
        write(&self.directory, &draft.writes).map_err(|error| draft_failure(&error))?;
        let files: Vec<String> = draft.writes.iter().map(|write| write.path.display().to_string()).collect();
        if self.json {
            let differences: Vec<_> = draft.differences.iter().map(|difference| difference.json()).collect();
            output::print_json(&json!({
                "epoch": draft.epoch, "is_new_epoch": draft.is_new_epoch, "written": files, "differences": differences,
            }))?;
        } else {
            output::print(&migrate_text::written(&draft, &files))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn draft_failure(error: &DraftError) -> Failure {
    let hint = match error {
        DraftError::Unconfirmed(_) => "confirm each by its `--rename`, or give what is new a free number",
        DraftError::Edited { .. } | DraftError::ProtoEdited { .. } => {
            "take the files back from the repository, or finish and publish what was begun"
        }
        DraftError::Foreign { journal, .. } | DraftError::NoJournal { path: journal } => {
            let journal = journal.display();
            return Failure::failed(error).hint(format!(
                "take the definitions and the `.proto` back from the repository, then remove {journal}"
            ));
        }
        DraftError::HalfWritten { .. } | DraftError::Stuck { .. } => {
            "mend that, then give the same command again: it takes back what was written, and begins anew"
        }
        DraftError::LastEpoch => "a record can still gain fields in free numbers, and labels",
        DraftError::Rename(error) => return rename_failure(error),
        _ => return Failure::failed(error),
    };
    Failure::failed(error).hint(hint)
}

/// One rename, as it is written.
fn rename(text: &str) -> Result<String, RenameError> {
    parse_renames([text]).map(|_| text.to_owned())
}

fn proto_failure(error: &ProtoError) -> Failure {
    Failure::failed(error)
}

fn rename_failure(error: &RenameError) -> Failure {
    Failure::failed(error).hint("`--rename OLD=NEW` names a field of the old record and one of the new")
}
