//! What `migrate adopt` says, to people and to programs.

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::{Value, json};

use super::{migrate_adopt::Work, schema_text};
use crate::{
    bootstrap::{Action, Report},
    migrate::adopt::{self, How, Moment, Part, Recorded, Verified},
};

/// Everything that the takeover stops or stopped.
fn parts(work: &Work<'_>) -> Vec<(Part, How)> {
    let mut parts = if work.recorded.is_under_way() { work.recorded.stopped.clone() } else { Vec::new() };
    let there = work.topology.parts();
    parts.retain(|(part, _)| there.iter().all(|other| other.name != part.name));
    parts.extend(there.into_iter().map(|part| (part, work.how)));
    parts
}

/// The plan.
pub(super) fn plan(work: &Work<'_>, report: &Report, notes: &[String]) -> String {
    let (database, topology) = (work.tools.client.database(), &work.topology);
    let kafka = &work.tools.config.kafka;
    if topology.is_empty() && !work.recorded.is_under_way() {
        let mut text = format!("no table with the Kafka engine in `{database}`: there is nothing to take over\n");
        if let Some(seam) = &work.recorded.seam {
            text.push_str("it was taken over before, at\n");
            text.push_str(&offsets(&seam.committed));
            text.push_str("`xtcp-ingest migrate adopt --verify` holds the tables against the messages since then\n");
        }
        return text;
    }
    let mut text = String::new();
    if work.recorded.is_under_way() {
        text.push_str("a takeover was begun and isn't finished; it goes on\n");
        for (part, how) in &work.recorded.stopped {
            let _ = writeln!(text, "{}: {} before", part.name, how.done());
        }
    }
    for reader in &topology.readers {
        let of = |name: &str| reader.setting(name).unwrap_or("");
        let (topic, group) = (of("kafka_topic_list"), of("kafka_group_name"));
        let _ = writeln!(text, "reader {}: topic `{topic}`, group `{group}`", reader.name);
    }
    for feed in &topology.feeds {
        let _ = writeln!(text, "view {}: {} into {}", feed.name, feed.reader, feed.target);
    }
    if !notes.is_empty() {
        text.push_str("\nnot as declared, or otherwise from then on:\n");
        for note in notes {
            let _ = writeln!(text, "  {note}");
        }
    }
    let changes = report.objects.len() - report.count(Action::Unchanged) - report.count(Action::Refused);
    let _ = writeln!(
        text,
        "\n1. create or alter {changes} objects, as `schema plan` shows; nothing that exists is replaced"
    );
    text.push_str("2. stop the reader, then its views:\n");
    for part in topology.parts() {
        let _ = writeln!(text, "     {}", part.stop(database, work.how));
    }
    let _ = writeln!(
        text,
        "3. wait until nobody is in group `{}` and its committed offsets stand still",
        work.reader_group()
    );
    if work.copies_offsets {
        let _ = writeln!(text, "4. copy its offsets to group `{}`", kafka.group);
        let _ = writeln!(text, "5. `xtcp-ingest run` goes on from those offsets");
    } else {
        text.push_str("4. `xtcp-ingest run` goes on from those offsets\n");
    }
    text.push_str(
        "\nnot sure: a reader that dies between its insert and its commit leaves rows that are read again. What it had \
         inserted since its last commit would be there twice, up to kafka_max_block_size rows\n",
    );
    text.push_str(&way_back(work, &parts(work)));
    text
}

fn offsets(committed: &BTreeMap<i32, i64>) -> String {
    committed.iter().map(|(partition, offset)| format!("  partition {partition}: {offset}\n")).collect()
}

/// How everything becomes as it was.
fn way_back(work: &Work<'_>, parts: &[(Part, How)]) -> String {
    let mut text = "\nthe way back, when `run` is stopped:\n".to_owned();
    if work.copies_offsets {
        let (from, to) = (work.reader_group(), &work.tools.config.kafka.group);
        let _ = writeln!(
            text,
            "     first give group `{from}` the offsets of group `{to}` (kafka-consumer-groups --export, --from-file), or the \
             reader reads what `run` placed once more"
        );
    }
    for sql in adopt::restores(parts, work.tools.client.database()) {
        let _ = writeln!(text, "     {sql}");
    }
    text
}

/// The plan for programs.
pub(super) fn plan_json(work: &Work<'_>, report: &Report, notes: &[String]) -> Value {
    let database = work.tools.client.database();
    let topology = &work.topology;
    json!({
        "readers": topology.readers.iter().map(|r| json!({ "name": r.name, "settings": r.settings })).collect::<Vec<_>>(),
        "views": topology.feeds.iter()
            .map(|f| json!({ "name": f.name, "reader": f.reader, "target": f.target })).collect::<Vec<_>>(),
        "notes": notes,
        "stops": topology.parts().iter().map(|part| part.stop(database, work.how)).collect::<Vec<_>>(),
        "restores": adopt::restores(&parts(work), database),
        "from_group": work.reader_group(),
        "takeover": recorded_json(&work.recorded),
        "plan": report.json(),
    })
}

/// What the ledger says of a takeover; `null` when there was none.
pub(super) fn recorded_json(recorded: &Recorded) -> Value {
    if recorded.begun.is_none() {
        return Value::Null;
    }
    let stopped = recorded.stopped.iter().map(|(part, how)| json!({ "name": part.name, "how": how.done() }));
    json!({
        "under_way": recorded.is_under_way(),
        "begun": recorded.begun,
        "stopped": stopped.collect::<Vec<_>>(),
        "seam": recorded.seam,
    })
}

/// What the ledger says of a takeover, on a line.
pub(super) fn recorded(recorded: &Recorded) -> String {
    let Some(begun) = &recorded.begun else { return String::new() };
    match &recorded.seam {
        None => format!(
            "a takeover of topic `{}` was begun and isn't finished: `xtcp-ingest migrate adopt --apply` goes on\n",
            begun.topic
        ),
        Some(seam) => {
            let at: Vec<String> =
                seam.committed.iter().map(|(partition, offset)| format!("{partition}:{offset}")).collect();
            format!("topic `{}` was taken over for group `{}` at {}\n", seam.topic, seam.group, at.join(" "))
        }
    }
}

/// The end.
pub(super) fn taken_over(
    work: &Work<'_>,
    report: &Report,
    begun: &Moment,
    seam: &Moment,
    stopped: &[(Part, How)],
    others: &[(String, u64, u64)],
) -> String {
    let mut text = schema_text::applied(report);
    let _ = writeln!(text, "\nstopped; group `{}` stands still at", work.reader_group());
    text.push_str(&offsets(&seam.committed));
    for (table, rows) in &seam.rows {
        let before = begun.rows.get(table).copied().unwrap_or(0);
        let _ = writeln!(text, "{table}: {rows} rows, {before} when it began");
    }
    for (table, then, now) in others {
        let _ = writeln!(
            text,
            "{table} went from {then} to {now} rows while nobody read: somebody else inserts, or rows expire; no count is \
             exact then"
        );
    }
    if work.copies_offsets {
        let _ = writeln!(text, "copied to group `{}`", work.tools.config.kafka.group);
    }
    text.push_str(&way_back(work, stopped));
    let _ = writeln!(
        text,
        "\nnext: start `xtcp-ingest run` in group `{}`; it goes on from exactly these offsets. Then `xtcp-ingest migrate adopt \
         --verify` holds the tables against the messages since",
        work.tools.config.kafka.group
    );
    text
}

/// What a verification found.
pub(super) fn verified(seam: &Moment, verified: &Verified) -> String {
    let mut text = String::new();
    for (partition, from) in &seam.committed {
        let to = verified.committed.get(partition).copied().unwrap_or(0);
        let _ = writeln!(text, "partition {partition}: {from} -> {to}");
    }
    for (table, gained) in &verified.tables {
        let expected = match gained.committed == gained.sent {
            true => gained.sent.to_string(),
            false => format!("{} to {}", gained.committed, gained.sent),
        };
        let told = if gained.is_sound() { "" } else { "  NOT as sent" };
        let _ = writeln!(text, "{table}: {:+} rows since the seam, sent {expected}{told}", gained.rows);
    }
    for partition in &verified.expired {
        let _ = writeln!(text, "partition {partition}: messages since the seam are gone: nobody can count them");
    }
    text.push_str(match verified.is_sound() {
        true => "no row is lost, none is there twice\n",
        false => "counts differ: rows that others insert, and rows that expire, are not told apart from that\n",
    });
    text
}
