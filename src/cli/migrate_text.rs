//! The migrate commands' output for people.

use std::fmt::Write as _;

use super::migrate_rollout::Context;
use crate::{
    lane::Reason,
    migrate::{Difference, Draft, Verdict, replay::Replayed, verdict},
};

/// Differences, what is worst first, each with its reason and its place.
pub(super) fn differences(from: &str, found: &[Difference]) -> String {
    let mut text = String::new();
    for level in Verdict::ALL.into_iter().rev() {
        for difference in found.iter().filter(|difference| difference.class.verdict() == level) {
            let place = match difference.spot {
                Some(spot) => format!("{}:{}:{}", difference.file, spot.line, spot.column),
                None => difference.file.clone(),
            };
            let class = difference.class;
            let _ = writeln!(text, "{:<8} {} {place}: {}", level.name(), class.name(), difference.text);
            let _ = writeln!(text, "         {}", class.about());
            if let Some(confirm) = &difference.confirm {
                let _ = writeln!(text, "         to say so: {confirm}");
            }
        }
    }
    let count = |level: Verdict| found.iter().filter(|d| d.class.verdict() == level).count();
    if !found.is_empty() {
        let counts: Vec<String> =
            Verdict::ALL.into_iter().rev().map(|level| format!("{} {}", count(level), level.name())).collect();
        let _ = writeln!(text, "\n{}", counts.join(", "));
    }
    let conclusion = match verdict(found) {
        Verdict::Note => "nothing to do",
        Verdict::Additive => "additive: the newest epoch gains columns",
        Verdict::Bump => "a new epoch is needed",
        Verdict::Refused => "refused: mend what is refused first",
    };
    let _ = writeln!(text, "compared with {from}: {conclusion}");
    text
}

/// What was written, and what comes next.
pub(super) fn written(draft: &Draft, files: &[String]) -> String {
    let number = draft.epoch;
    if files.is_empty() {
        return format!("epoch {number} says what the .proto says: nothing to do\n");
    }
    let mut text = String::new();
    for file in files {
        let _ = writeln!(text, "wrote {file}");
    }
    let _ = match draft.is_new_epoch {
        true => writeln!(text, "\nepoch {number} is defined; next:"),
        false => writeln!(text, "\nepoch {number} has the new columns; next:"),
    };
    text.push_str(
        "  1. read what was written, and say in the epoch's file what a reader can't see\n  \
         2. UPDATE_DOCS=1 cargo test --lib -- is_current reviewed, then cargo test: pages and snapshots follow the definitions\n  \
         3. xtcp-ingest migrate plan: what a server needs\n",
    );
    text
}

/// Which release each object was from, and is from, where that is another.
pub(super) fn before_and_after(before: &[(String, String)], after: &[(String, String)]) -> String {
    let mut text = String::new();
    for (object, release) in after {
        let was = before.iter().find(|(other, _)| other == object).map(|(_, release)| release);
        if was != Some(release) {
            let was = was.map_or("nothing".to_owned(), |was| format!("definitions {was}"));
            let _ = writeln!(text, "{object}: was {was}, is definitions {release}");
        }
    }
    text
}

/// Records that wait for a definition, or have one now.
pub(super) fn waiting(context: &Context) -> String {
    let mut text = String::new();
    for waiting in context.waiting.iter().flatten() {
        let next = match context.defined.contains(&waiting.schema_version) {
            true => "; restart the ingest processes, then `xtcp-ingest migrate replay` places them",
            false => ", which has no definition here",
        };
        let (rows, epoch) = (waiting.rows, waiting.schema_version);
        let _ = writeln!(text, "the error table holds {rows} records of epoch {epoch} as unknown_epoch{next}");
    }
    text
}

/// What an operator does when the tables are there.
pub(super) fn next(context: &Context) -> String {
    let epoch = context.epoch;
    let mut text = format!(
        "\nnext:\n  1. restart the ingest processes with these definitions: they read them when they start, and until then \
         divert records of epoch {epoch} as unknown_epoch\n  2. roll the daemons; records of all epochs are placed side by side\n"
    );
    let moved: Vec<String> = context
        .moves
        .iter()
        .map(|column| match column.numbers {
            (Some(before), Some(now)) if before != now => format!("{} ({before} -> {now})", column.name),
            _ => column.name.clone(),
        })
        .collect();
    if !moved.is_empty() {
        let _ = writeln!(
            text,
            "  3. change queries of older names; these columns moved with epoch {epoch}, xtcp_flat_records_unified has all \
             epochs under the new names: {}",
            moved.join(", ")
        );
    }
    text.push_str(&waiting(context));
    text
}

/// What a replay did.
pub(super) fn replayed(reason: Reason, done: &Replayed) -> String {
    let mut text = String::new();
    for (table, rows) in &done.finished {
        let _ = writeln!(text, "{table}: {rows} records of a batch that was begun before are there");
    }
    for (table, rows) in &done.placed {
        let _ = writeln!(text, "{table}: {rows} records placed");
    }
    for (refused, records) in &done.refused {
        let _ = writeln!(text, "{records} records are refused still: {refused}");
    }
    if done.given_up > 0 {
        let _ = writeln!(text, "{} batches were left to another process", done.given_up);
    }
    if text.is_empty() {
        let _ = writeln!(text, "no record of {reason} can be placed");
    }
    text
}
