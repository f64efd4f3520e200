//! The schema commands' output for people: a line for each object, changes first, a summary at the end.

use std::{
    env,
    fmt::Write as _,
    io::{self, IsTerminal as _},
};

use crate::bootstrap::{Action, Kind, Outcome, Platform, Recorded, Report};

/// What a plan says.
pub(super) fn plan(report: &Report) -> String {
    let mut text = objects(report, [("create", '+'), ("alter", '~'), ("as is", ' '), ("refuse", '!'), ("skip", '!')]);
    let count = |action| report.count(action);
    let _ = writeln!(
        text,
        "\n{} to create, {} to alter, {} refused, {} as declared",
        count(Action::Created),
        count(Action::Altered),
        count(Action::Refused),
        count(Action::Unchanged)
    );
    text + &frame(report)
}

/// What a pass did.
pub(super) fn applied(report: &Report) -> String {
    let words = [("created", '+'), ("altered", '~'), ("as is", ' '), ("refused", '!'), ("skipped", '!')];
    let mut text = objects(report, words);
    let took = report.duration.unwrap_or_default().as_secs_f64();
    let counts: Vec<String> =
        Action::ALL.iter().map(|action| format!("{} {}", report.count(*action), action.name())).collect();
    let _ = writeln!(text, "\n{}: {} in {took:.1} s", report.state.name(), counts.join(", "));
    if let Some(notice) = &report.notice {
        let _ = writeln!(text, "{notice}");
    }
    if let Some(error) = report.error.as_ref().filter(|_| report.state == crate::bootstrap::State::Observed) {
        let _ = writeln!(text, "nothing was applied: {error}");
    }
    text + &frame(report)
}

/// What the ledger says.
pub(super) fn status(recorded: Option<&[Recorded]>, database: &str) -> String {
    let Some(recorded) = recorded.filter(|rows| !rows.is_empty()) else {
        return format!("nothing was applied to `{database}` yet: `xtcp-ingest schema apply` does it\n");
    };
    let rows: Vec<[String; 8]> = recorded
        .iter()
        .map(|row| {
            let is_database = row.kind == Kind::Database.name();
            let object = if is_database { row.object.clone() } else { format!("{}.{}", row.database, row.object) };
            [
                object,
                row.kind.clone(),
                row.action.clone(),
                row.schemas_version.clone(),
                row.engine_version.clone(),
                row.checksum.chars().take(12).collect(),
                row.platform.clone(),
                row.applied_at.clone(),
            ]
        })
        .collect();
    let head = ["OBJECT", "KIND", "ACTION", "DEFINITIONS", "BY", "CHECKSUM", "PLATFORM", "AT"].map(str::to_owned);
    let widths: [usize; 8] =
        std::array::from_fn(|at| rows.iter().chain([&head]).map(|row| row[at].chars().count()).max().unwrap_or(0));
    let mut text = String::new();
    for row in [&head].into_iter().chain(&rows) {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        let _ = writeln!(text, "{}", cells.join("  ").trim_end());
    }
    text
}

/// In which order actions are shown.
const ORDER: [Action; 5] = [Action::Skipped, Action::Refused, Action::Created, Action::Altered, Action::Unchanged];

/// The usual width of a kind.
const KIND: usize = 9;

fn objects(report: &Report, words: [(&str, char); 5]) -> String {
    let paint = colour();
    let mut text = String::new();
    let width = report.objects.iter().map(|o| o.name.chars().count()).max().unwrap_or(0);
    let kinds = report.objects.iter().map(|o| o.kind.name().len()).max().unwrap_or(0).max(KIND);
    for action in ORDER {
        let at = Action::ALL.iter().position(|a| *a == action).unwrap_or(0);
        let (word, sign) = words[at];
        for outcome in report.objects.iter().filter(|outcome| outcome.action == action) {
            let kind = outcome.kind.name();
            let line = format!("{sign} {word:<8} {kind:<kinds$} {:<width$}", outcome.name);
            let line = format!("{line}  {}", summary(outcome));
            let _ = writeln!(text, "{}", painted(line.trim_end(), action, paint));
            for detail in details(outcome) {
                let _ = writeln!(text, "             {detail}");
            }
        }
    }
    text
}

fn summary(outcome: &Outcome) -> String {
    let mut parts = outcome.changes.clone();
    if !outcome.extra_columns.is_empty() {
        parts.push(format!("columns that no definition has: {}", outcome.extra_columns.join(", ")));
    }
    parts.join("; ")
}

fn details(outcome: &Outcome) -> Vec<String> {
    let drift = outcome.drift.iter().map(ToString::to_string);
    let unfinished = outcome.unfinished.iter().map(|mutation| format!("goes on in the background: {mutation}"));
    drift.chain(outcome.reason.clone()).chain(unfinished).collect()
}

/// What is the same for all objects.
fn frame(report: &Report) -> String {
    let mut text = String::new();
    for refused in &report.overlay_refused {
        let _ = writeln!(text, "overlay: {refused}");
    }
    for drift in &report.topics_drift {
        let _ = writeln!(text, "topic {drift}");
    }
    if let Some(why) = &report.topics_skipped {
        let _ = writeln!(text, "topics: {why}");
    }
    let platform = report.platform.map_or("unknown", Platform::name);
    let plain = if report.platform == Some(Platform::Single) { ": plain tables, no replication" } else { "" };
    let _ = writeln!(text, "definitions {}, platform {platform}{plain}", report.schemas_version);
    text
}

fn painted(line: &str, action: Action, paint: bool) -> String {
    let colour = match action {
        _ if !paint => return line.to_owned(),
        Action::Created => "32",
        Action::Altered => "33",
        Action::Refused | Action::Skipped => "31",
        Action::Unchanged => "2",
    };
    format!("\x1b[{colour}m{line}\x1b[0m")
}

fn colour() -> bool {
    io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
