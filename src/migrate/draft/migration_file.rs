//! The file under `migrations/`: what a bump does, for people who read it before they let it be done.

use std::fmt::Write as _;

use super::epoch_file::table_name;
use crate::{
    bootstrap::{Body, Definitions, Parameters, Platform},
    epoch::{Epoch, Registry},
};

/// What is the same about both kinds.
const ABOUT: &str = "\
-- `xtcp-ingest migrate apply` does this, under the lease, and records it. The statements are those for plain tables in
-- the default database; `xtcp-ingest migrate plan` shows what a server needs.
";

/// The file of a new epoch.
pub(super) fn epoch(definitions: &Definitions) -> String {
    let registry = &definitions.registry;
    let newest = registry.newest();
    let mut text = format!("-- Epoch {}.\n--\n{ABOUT}", newest.number);
    table_of_names(&mut text, registry);
    let parameters = Parameters::supplied(&definitions.manifest, |_| None);
    text.push_str("\n-- 1. The table, 2. the Merge table over all epochs, 3. the view over all epochs.\n");
    for object in &definitions.objects {
        let is_step = match &object.body {
            Body::Epoch(number) => *number == newest.number,
            Body::Merge(_) | Body::View(_) => true,
            _ => false,
        };
        let Some(statement) = definitions.statement(object, &parameters, Platform::Single).filter(|_| is_step) else {
            continue;
        };
        let sql = if matches!(object.body, Body::Merge(_)) { statement.replacing() } else { statement.sql };
        let _ = write!(text, "\n{};\n", sql.trim_end());
    }
    text
}

/// The file of columns that an epoch gains. Only what `before` doesn't have is in it.
pub(super) fn columns(before: &Epoch, definitions: &Definitions) -> String {
    let newest = definitions.registry.newest();
    let (number, release) = (newest.number, &definitions.manifest.release);
    let mut text = format!("-- Epoch {number}, release {release}: columns that joined within the epoch.\n--\n{ABOUT}");
    let parameters = Parameters::supplied(&definitions.manifest, |_| None);
    let database =
        definitions.objects.iter().find_map(|object| definitions.database(object, &parameters)).unwrap_or_default();
    for column in &newest.columns {
        let kind = &column.column_type;
        let codec = column.codec.as_ref().map_or(String::new(), |codec| format!(" CODEC({codec})"));
        let (verb, name) = match before.column(&column.name) {
            None => ("ADD COLUMN IF NOT EXISTS", &column.name),
            Some(at) if before.columns[at].column_type != *kind => ("MODIFY COLUMN", &column.name),
            Some(_) => continue,
        };
        let _ = write!(text, "\nALTER TABLE `{database}`.`{}` {verb} `{name}` {kind}{codec};", newest.table.name);
    }
    text.push('\n');
    for object in definitions.objects.iter().filter(|o| matches!(o.body, Body::Merge(_) | Body::View(_))) {
        let Some(statement) = definitions.statement(object, &parameters, Platform::Single) else { continue };
        let sql = if matches!(object.body, Body::Merge(_)) { statement.replacing() } else { statement.sql };
        let _ = write!(text, "\n{};\n", sql.trim_end());
    }
    text
}

/// The rename and renumber table against the epoch before.
fn table_of_names(text: &mut String, registry: &Registry) {
    let [.., before, newest] = registry.epochs() else { return };
    let number = |epoch: &Epoch, at: usize| {
        epoch.layouts.last().and_then(|layout| layout.fields.iter().find(|f| f.column == at)).map(|f| f.number)
    };
    let shown = |number: Option<u32>| number.map_or("-".to_owned(), |number| number.to_string());
    let mut rows = Vec::new();
    for (at, column) in newest.columns.iter().enumerate() {
        let was = column.was.as_ref().unwrap_or(&column.name);
        let now = number(newest, at);
        match before.column(was) {
            None => rows.push((column.name.clone(), "new".to_owned(), shown(now))),
            Some(old) => {
                let then = number(before, old);
                if then != now {
                    let moved = format!("{} -> {}", shown(then), shown(now));
                    rows.push((column.name.clone(), was.clone(), moved));
                } else if column.was.is_some() {
                    rows.push((column.name.clone(), was.clone(), shown(now)));
                }
            }
        }
    }
    for (at, old) in before.columns.iter().enumerate() {
        let stays = newest.columns.iter().any(|column| column.was.as_ref().unwrap_or(&column.name) == &old.name);
        if !stays {
            rows.push(("gone".to_owned(), old.name.clone(), shown(number(before, at))));
        }
    }
    let _ = writeln!(text, "--\n-- epoch {} | epoch {} | number", newest.number, before.number);
    for (now, then, number) in rows {
        let _ = writeln!(text, "-- {now} | {then} | {number}");
    }
}

/// The file's name.
pub(super) fn name(definitions: &Definitions, is_new_epoch: bool) -> String {
    let number = definitions.registry.newest().number;
    match is_new_epoch {
        true => format!("{}.sql", table_name("v", number)),
        false => format!("v{number}.release-{}.sql", definitions.manifest.release),
    }
}
