//! The definition file of an epoch: a new one after the newest, or the newest with more columns.

use std::fmt::Write as _;

use super::{column, items::Items, yaml};
use crate::{
    epoch::{Column, Days, Epoch, ProtoType, Table},
    migrate::shape::{Field, Shape},
};

/// How wide comments are.
const WIDTH: usize = 118;

/// A field of the new record and what it was before.
pub(super) struct Pair<'a> {
    pub field: &'a Field,
    /// The column before, by position.
    pub before: Option<usize>,
}

/// The pairs of a new record, ascending by number.
pub(super) fn pairs<'a>(epoch: &Epoch, new: &'a Shape, was: impl Fn(&str) -> Option<String>) -> Vec<Pair<'a>> {
    let before = |field: &Field| epoch.column(&was(&field.name).unwrap_or_else(|| field.name.clone()));
    new.fields.iter().map(|field| Pair { field, before: before(field) }).collect()
}

/// A column and where it is read from.
struct Line<'a> {
    column: Column,
    wire: Option<(ProtoType, u32)>,
    before: Option<usize>,
    field: Option<&'a Field>,
}

/// The file of epoch `number`. `None` when the columns of the file before aren't written one below the other.
pub(super) fn next(number: u32, epoch: &Epoch, file: &str, pairs: &[Pair<'_>]) -> Option<String> {
    let items = Items::of(file).filter(|items| items.items.len() == epoch.columns.len())?;
    let lines = lines(epoch, pairs);
    let mut text = header(number, epoch, &lines);
    table(&mut text, number, epoch, &lines);
    let layout = format!("e{number}");
    let _ = write!(text, "\nlayouts:\n  - name: {layout}\n\ncolumns:\n");
    let mut group = None;
    for (index, line) in lines.iter().enumerate() {
        let own = line.before.map(|at| items.items[at].1);
        let between = || lines[index + 1..].iter().find_map(|next| next.before).map(|at| items.items[at].1) == group;
        match (own, line.field.and_then(|field| field.heading.as_deref())) {
            (Some(own), _) => {
                if group != Some(own) {
                    heading(&mut text, items.headings[own], index > 0);
                }
                group = Some(own);
            }
            (None, Some(comment)) if group.is_none() || !between() => {
                let comment = yaml::comment(comment, "  #", WIDTH);
                heading(&mut text, &comment, index > 0);
                group = None;
            }
            (None, _) => {}
        }
        let wire: Vec<(&str, ProtoType, u32)> =
            line.wire.iter().map(|(proto, number)| (layout.as_str(), *proto, *number)).collect();
        text.push_str(&yaml::item(&line.column, &wire));
    }
    Some(text)
}

/// A heading, with an empty line before it but for the first.
fn heading(text: &mut String, heading: &str, is_apart: bool) {
    if is_apart {
        text.push('\n');
    }
    text.push_str(heading.trim_start_matches('\n'));
}

/// Columns by the number of their field; those without one come last.
fn lines<'a>(epoch: &Epoch, pairs: &[Pair<'a>]) -> Vec<Line<'a>> {
    let mut lines: Vec<Line<'a>> = pairs
        .iter()
        .map(|pair| Line {
            column: match pair.before {
                Some(at) => column::heir(&epoch.columns[at], pair.field),
                None => column::fresh(pair.field),
            },
            wire: Some((pair.field.proto, pair.field.number)),
            before: pair.before,
            field: Some(pair.field),
        })
        .collect();
    let on_the_wire = |at: &usize| epoch.layouts.iter().any(|layout| layout.fields.iter().any(|f| f.column == *at));
    for at in (0..epoch.columns.len()).filter(|at| !on_the_wire(at)) {
        let column = Column { was: None, ..epoch.columns[at].clone() };
        lines.push(Line { column, wire: None, before: Some(at), field: None });
    }
    lines
}

fn header(number: u32, epoch: &Epoch, lines: &[Line<'_>]) -> String {
    let before = epoch.number;
    let mut text = format!("# Epoch {number}, after epoch {before}.\n#\n");
    let mut say = |what: &str, of: Vec<String>| {
        if !of.is_empty() {
            text.push_str(&yaml::comment(&format!("{what}: {}.", of.join(", ")), "#", WIDTH));
        }
    };
    let layout = epoch.layouts.last();
    let number_of = |at: usize| layout.and_then(|l| l.fields.iter().find(|f| f.column == at)).map(|f| f.number);
    let renamed =
        lines.iter().filter_map(|line| Some(format!("{} was {}", line.column.name, line.column.was.as_ref()?)));
    say("Renamed", renamed.collect());
    let renumbered = lines.iter().filter_map(|line| {
        let (before, (_, now)) = (number_of(line.before?)?, line.wire?);
        (before != now).then(|| format!("{} {before} -> {now}", line.column.name))
    });
    say("Renumbered", renumbered.collect());
    let retyped = lines.iter().filter_map(|line| {
        let before = &epoch.columns[line.before?].column_type;
        (*before != line.column.column_type).then(|| format!("{} was {before}", line.column.name))
    });
    say("Of another type", retyped.collect());
    let fresh = lines.iter().filter(|line| line.before.is_none()).map(|line| line.column.name.clone());
    say("New", fresh.collect());
    let gone = (0..epoch.columns.len()).filter(|at| !lines.iter().any(|line| line.before == Some(*at)));
    say("Gone", gone.map(|at| epoch.columns[at].name.clone()).collect());
    text.push('\n');
    text
}

/// The table of the epoch before, under the new name and by the new names.
fn table(text: &mut String, number: u32, epoch: &Epoch, lines: &[Line<'_>]) {
    let Table { engine, order_by, ttl, deduplication, settings, .. } = &epoch.table;
    let now = |name: &String| {
        let at = epoch.column(name);
        let line = lines.iter().find(|line| at.is_some() && line.before == at);
        line.map_or_else(|| name.clone(), |line| line.column.name.clone())
    };
    let keys: Vec<String> = order_by.iter().map(now).collect();
    let _ = write!(
        text,
        "epoch: {number}\n\ntable:\n  name: {}\n  engine: {engine}\n  order_by: [{}]\n",
        table_name(&epoch.table.name, number),
        keys.join(", ")
    );
    if let Some(ttl) = ttl {
        let days = match &ttl.days {
            Days::Parameter(name) => name.clone(),
            Days::Fixed(days) => days.to_string(),
        };
        let _ = writeln!(text, "  ttl: {{ column: {}, days: {days} }}", now(&ttl.column));
    }
    if let Some(window) = deduplication {
        let _ = writeln!(text, "  deduplication: {{ blocks: {}, seconds: {} }}", window.blocks, window.seconds);
    }
    if !settings.is_empty() {
        let one = |(name, value): &(String, String)| match value.strip_prefix('\'').and_then(|v| v.strip_suffix('\'')) {
            Some(value) => format!("{name}: \"{}\"", value.replace('"', "\\\"")),
            None => format!("{name}: {value}"),
        };
        let _ = writeln!(text, "  settings: {{ {} }}", settings.iter().map(one).collect::<Vec<_>>().join(", "));
    }
}

/// The name of an epoch's table: that of the one before, with its number.
pub(super) fn table_name(before: &str, number: u32) -> String {
    format!("{}{number}", before.trim_end_matches(|c: char| c.is_ascii_digit()))
}

/// The newest epoch's file with more columns, and with more labels. `None` as in [`next`].
pub(super) fn widened(epoch: &Epoch, file: &str, pairs: &[Pair<'_>]) -> Option<String> {
    let items = Items::of(file).filter(|items| items.items.len() == epoch.columns.len())?;
    let layout = epoch.layouts.last()?;
    let (mut replaced, mut added) = (Vec::new(), Vec::new());
    let mut after = None;
    for (index, pair) in pairs.iter().enumerate() {
        if let Some(at) = pair.before {
            after = Some(at);
            let column = column::heir(&epoch.columns[at], pair.field);
            if column.column_type != epoch.columns[at].column_type {
                let column = Column { was: epoch.columns[at].was.clone(), ..column };
                let wire: Vec<(&str, ProtoType, u32)> = epoch
                    .layouts
                    .iter()
                    .filter_map(|layout| {
                        let field = layout.fields.iter().find(|field| field.column == at)?;
                        Some((layout.name.as_str(), field.proto, field.number))
                    })
                    .collect();
                replaced.push((at, yaml::item(&column, &wire)));
            }
            continue;
        }
        let mut text = String::new();
        // Inside of a group it is one more of them; behind a group it may open another one.
        let next = pairs[index + 1..].iter().find_map(|next| next.before);
        let group = |at: Option<usize>| at.map(|at| items.items[at].1);
        if let Some(comment) = pair.field.heading.as_deref().filter(|_| group(after) != group(next)) {
            text.push('\n');
            text.push_str(&yaml::comment(comment, "  #", WIDTH));
        }
        let wire = [(layout.name.as_str(), pair.field.proto, pair.field.number)];
        text.push_str(&yaml::item(&column::fresh(pair.field), &wire));
        added.push((after, text));
    }
    Some(items.with(&replaced, &added))
}
