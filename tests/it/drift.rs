//! Differences between a live table and its declaration: what plan, apply, `--allow-drift` and the next plan make of each.

use std::fmt::Write as _;

use serde::Deserialize;
use xtcp_ingest::{
    bootstrap::{Action, Definitions, Outcome, Report, State},
    tree::Tree,
};

use crate::setup::{Setup, assert_empty, ids};

/// The embedded tree with one more table, `probe`, whose columns a case decides.
pub fn tree_with(table: &str) -> Tree {
    let embedded = Tree::embedded();
    let mut files: Vec<(String, String)> = embedded.files().map(|(p, f)| (p.to_owned(), f.text.clone())).collect();
    let manifest = files.iter_mut().find(|(path, _)| path == "manifest.yaml").expect("a manifest");
    manifest.1.push_str(
        "  - { id: data.subject, kind: table, database: data, defines: tables/subject, depends_on: [db.data], \
         topology: resolved, additive: true }\n",
    );
    files.push(("tables/subject.yaml".to_owned(), table.to_owned()));
    Tree::from_files("ddl", files.iter().map(|(path, text)| (path.as_str(), text.as_str())))
}

const SUBJECT: &str = "\
table:
  name: subject
  engine: MergeTree
  order_by: [k]
  ttl: { column: at, days: 9 }
  settings: { merge_with_ttl_timeout: 3600 }
columns:
  - { name: k, type: UInt32 }
  - { name: at, type: DateTime('UTC') }
  - { name: n, type: UInt32, codec: ZSTD(1) }
  - { name: e, type: \"Enum8('a' = 0, 'b' = 1)\" }
  - { name: d, type: UInt32, default: \"7\" }
";

/// The table that is declared, as somebody would write it by hand.
const LIVE: &str = "CREATE TABLE {db}.subject (k UInt32, at DateTime('UTC'), n UInt32 CODEC(ZSTD(1)), \
                    e Enum8('a' = 0, 'b' = 1), d UInt32 DEFAULT 7) ENGINE = MergeTree ORDER BY k \
                    TTL at + INTERVAL 9 DAY SETTINGS merge_with_ttl_timeout = 3600";

/// A kind of difference, and what in [`LIVE`] makes it.
const CASES: &[(&str, &str, &str)] = &[
    ("nothing", "k UInt32", "k UInt32"),
    ("column type, wider than live", "n UInt32", "n UInt16"),
    ("column type, narrower than live", "n UInt32", "n UInt64"),
    ("column type, another family", "n UInt32", "n String"),
    ("column type, dictionary or time zone", "at DateTime('UTC')", "at DateTime('Europe/Vienna')"),
    ("key column's type, wider than live", "k UInt32", "k UInt16"),
    ("enum, another label", "'b' = 1", "'c' = 1"),
    ("enum, more labels than live", "'a' = 0, 'b' = 1", "'a' = 0"),
    ("enum, fewer labels than live", "'b' = 1", "'b' = 1, 'c' = 2"),
    ("enum, a label at another number", "'a' = 0, 'b' = 1", "'b' = 0, 'a' = 1"),
    ("codec, another one", "ZSTD(1)", "LZ4"),
    ("codec, another level", "ZSTD(1)", "ZSTD(3)"),
    ("codec, none live", " CODEC(ZSTD(1))", ""),
    ("codec, none declared", "k UInt32", "k UInt32 CODEC(LZ4)"),
    ("default, another one", "DEFAULT 7", "DEFAULT 8"),
    ("default, none live", " DEFAULT 7", ""),
    ("column computed by the server", "DEFAULT 7", "MATERIALIZED 7"),
    ("sorting key", "ORDER BY k", "ORDER BY (k, n)"),
    ("primary key", "ORDER BY k", "PRIMARY KEY k ORDER BY (k, n)"),
    ("partition key", "ORDER BY k", "PARTITION BY toYYYYMM(at) ORDER BY k"),
    ("sampling key", "ORDER BY k", "ORDER BY k SAMPLE BY k"),
    ("TTL, another number", "INTERVAL 9 DAY", "INTERVAL 8 DAY"),
    ("TTL, another unit", "INTERVAL 9 DAY", "INTERVAL 9 MONTH"),
    ("TTL, none live", " TTL at + INTERVAL 9 DAY", ""),
    ("TTL, with a condition", "INTERVAL 9 DAY", "INTERVAL 9 DAY DELETE WHERE n > 5"),
    ("engine", "ENGINE = MergeTree", "ENGINE = ReplacingMergeTree(n)"),
    ("column that the table lacks", " n UInt32 CODEC(ZSTD(1)),", ""),
    ("column that no definition has", "k UInt32", "k UInt32, extra String"),
    ("setting, another value", "merge_with_ttl_timeout = 3600", "merge_with_ttl_timeout = 7200"),
    ("setting, none live", " SETTINGS merge_with_ttl_timeout = 3600", ""),
    ("index that no definition has", "DEFAULT 7", "DEFAULT 7, INDEX i n TYPE minmax"),
    ("comment", "k UInt32", "k UInt32 COMMENT 'x'"),
];

fn subject(report: &Report) -> &Outcome {
    report.objects.iter().find(|o| o.id == "data.subject").expect("the table")
}

/// An outcome on one line.
fn told(report: &Report) -> String {
    let outcome = subject(report);
    let mut text = outcome.action.name().to_owned();
    for (what, list) in [
        ("", outcome.changes.clone()),
        ("drift: ", outcome.drift.iter().map(ToString::to_string).collect()),
        ("extra: ", outcome.extra_columns.clone()),
    ] {
        if !list.is_empty() {
            let _ = write!(text, "; {what}{}", list.join("; "));
        }
    }
    // The server's release and this run's database are no part of what is promised.
    let text = text.split(": Code: ").next().unwrap_or("").to_owned();
    let start = text.find(": it_drift_").or_else(|| text.find(": ClickHouse at"));
    start.map_or(text.clone(), |at| format!("{})", &text[..at]))
}

const HEADING: &str = "\
# What becomes of a difference

<!-- Written by a run against the real engine: `UPDATE_DOCS=1 cargo test --test it drift` writes it anew. -->

A table that exists is compared with its declaration. What can be added without taking anything away is; everything else is
named and left alone (`refused`), and the rest of the pass goes on. `schema apply --allow-drift` carries out what loses
nothing. Each line below was made by hand with one difference, then planned, applied, applied with `--allow-drift` and
planned again.

| difference | `plan` | `apply` | `apply --allow-drift` | the next `plan` |
|---|---|---|---|---|
";

#[tokio::test]
async fn the_matrix_of_differences_is_what_the_engine_does() {
    let setup = Setup::with("drift", Definitions::of(&tree_with(SUBJECT)).expect("sound")).await;
    let first = setup.apply(false).await;
    assert_eq!(first.state, State::Converged, "{:?}", first.error);
    let mut page = HEADING.to_owned();
    for (kind, from, to) in CASES {
        setup.database.execute("DROP TABLE {db}.subject SYNC").await;
        assert!(LIVE.contains(from), "{kind}: {from}");
        setup.database.execute(&LIVE.replacen(from, to, 1)).await;
        setup.database.execute("INSERT INTO {db}.subject (k) SELECT number FROM numbers(3)").await;
        let plan = setup.plan().await;
        let reports = [plan, setup.apply(false).await, setup.apply(true).await, setup.plan().await];
        for report in &reports {
            assert!(report.error.is_none(), "{kind}: {:?}", report.error);
        }
        let [plan, apply, allowed, next] = &reports;
        assert_eq!(told(plan), told(apply), "{kind}: a plan says what an apply does");
        let settled = matches!(subject(allowed).action, Action::Altered | Action::Unchanged);
        assert_eq!(settled, subject(next).action == Action::Unchanged, "{kind}: {}", told(next));
        let left = |report: &Report| subject(report).drift.iter().map(|d| d.part.clone()).collect::<Vec<_>>();
        assert_eq!(left(allowed), left(next), "{kind}: what is left is what the next plan refuses");
        let texts: Vec<String> = reports.iter().map(|report| told(report).replace('|', "\\|")).collect();
        let cell =
            |at: usize| if at > 0 && texts[at] == texts[at - 1] { "the same".to_owned() } else { texts[at].clone() };
        let cells: Vec<String> = (0..texts.len()).map(cell).collect();
        let _ = writeln!(page, "| {kind} | {} |", cells.join(" | "));
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/drift.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &page).expect("docs/ can be written");
    }
    let current = std::fs::read_to_string(path).unwrap_or_default();
    for (current, now) in current.lines().zip(page.lines()) {
        assert_eq!(current, now);
    }
    assert!(current == page, "docs/drift.md: `UPDATE_DOCS=1 cargo test --test it drift` writes it anew");
}

#[derive(Deserialize)]
struct Rows {
    n: u64,
}

#[tokio::test]
async fn a_server_made_by_hand_from_the_older_scripts_is_taken_over() {
    let setup = Setup::new("by_hand").await;
    let supply = |setting: &str| match setting {
        "XTCP_INGEST_CLICKHOUSE_DATABASE" => Some(setup.database.name.clone()),
        _ => None,
    };
    let setup = Setup {
        parameters: xtcp_ingest::bootstrap::Parameters::supplied(&setup.definitions.manifest, supply),
        ..setup
    };
    let table = |number: u32| {
        let columns = &setup.definitions.registry.get(number).expect("an epoch").columns;
        let column = |column: &xtcp_ingest::epoch::Column| {
            // As those scripts have it: bare Enum, codecs without their arguments.
            let codec =
                column.codec.as_ref().map_or(String::new(), |c| format!(" CODEC({})", c.replace("ZSTD(1)", "ZSTD")));
            format!("`{}` {}{codec}", column.name, column.column_type.to_string().replace("Enum8(", "Enum("))
        };
        let columns: Vec<String> = columns.iter().map(column).collect();
        format!(
            "CREATE TABLE {{db}}.xtcp_flat_records_v{number} ({}) ENGINE = MergeTree \
             ORDER BY (timestamp_ns, hostname, record_counter, netlinker_id, socket_fd) \
             TTL toDateTime(timestamp_ns) + INTERVAL 1 MONTH DELETE",
            columns.join(", ")
        )
    };
    for sql in [
        "CREATE DATABASE {db}",
        &table(0),
        "CREATE TABLE {db}.xtcp_flat_records_v1 AS {db}.xtcp_flat_records_v0",
        &table(2),
        "CREATE TABLE {db}.xtcp_flat_records_errors (observed_at DateTime DEFAULT now(), topic LowCardinality(String), \
         partition UInt64, offset UInt64, err String CODEC(ZSTD), raw_message String CODEC(ZSTD)) ENGINE = MergeTree \
         ORDER BY observed_at TTL observed_at + INTERVAL 1 DAY",
        "CREATE TABLE {db}.xtcp_flat_records AS {db}.xtcp_flat_records_v2 \
         ENGINE = Merge('{db}', '^xtcp_flat_records_v[0-9]+$')",
        "INSERT INTO {db}.xtcp_flat_records_v1 (timestamp_ns, hostname) VALUES (now64(9), 'h')",
    ] {
        setup.database.execute(sql).await;
    }
    let tables = ["data.flat_v0", "data.flat_v1", "data.flat_v2"];
    let applied = setup.apply(false).await;
    assert_eq!(applied.state, State::Converged, "{:?}", applied.error);
    assert_eq!(ids(&applied, Action::Refused), tables, "{:#?}", applied.refused());
    for outcome in applied.objects.iter().filter(|o| o.action == Action::Refused) {
        let drift: Vec<String> = outcome.drift.iter().map(ToString::to_string).collect();
        let ttl = "TTL is toDateTime(timestamp_ns) + toIntervalMonth(1); declared is toDateTime(timestamp_ns) + toIntervalDay(31)";
        assert_eq!(drift, [ttl], "{}", outcome.id);
        assert_eq!(outcome.changes, ["set non_replicated_deduplication_window = 10000"], "{}", outcome.id);
    }
    let errors = applied.objects.iter().find(|o| o.id == "data.flat_errors").expect("the error table");
    assert_eq!(errors.action, Action::Altered);
    assert_eq!(errors.columns_added, ["reason", "record", "byte_offset", "schema_version", "message_time"]);
    assert_eq!(ids(&setup.plan().await, Action::Refused), tables, "nothing but what was refused is left");

    let allowed = setup.apply(true).await;
    assert_eq!(ids(&allowed, Action::Altered), tables, "{:#?}", allowed.refused());
    assert_empty(&setup.plan().await);
    assert_empty(&setup.apply(false).await);
    let rows: Vec<Rows> =
        setup.database.query("SELECT count() AS n FROM {db}.xtcp_flat_records WHERE hostname = 'h'").await;
    assert_eq!(rows[0].n, 1, "and the rows are still there");
}

/// An ALTER may fail and leave the new type in the catalogue: compared by that alone, the table would be as declared.
#[tokio::test]
async fn a_change_of_data_that_got_stuck_is_drift_and_one_under_way_is_told() {
    let setup = Setup::with("mutations", Definitions::of(&tree_with(SUBJECT)).expect("sound")).await;
    assert_eq!(setup.apply(false).await.state, State::Converged);
    setup.database.execute("DROP TABLE {db}.subject SYNC").await;
    setup.database.execute(&LIVE.replacen("n UInt32", "n String", 1)).await;
    setup.database.execute("INSERT INTO {db}.subject (k, at, n) SELECT 1, now(), 'no number'").await;
    let alter = format!("ALTER TABLE {}.subject MODIFY COLUMN n UInt32", setup.database.name);
    setup.database.client.execute(&alter, &[]).await.expect_err("it doesn't fit");
    for report in [setup.plan().await, setup.apply(true).await] {
        let outcome = subject(&report);
        assert_eq!(outcome.action, Action::Refused, "{}", told(&report));
        let text = outcome.drift.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        assert!(text.contains("is stuck: `") && text.contains("MODIFY COLUMN `n` UInt32"), "{text}");
        assert!(text.contains("Cannot parse"), "with the server's reason: {text}");
    }
    setup.database.execute("KILL MUTATION WHERE database = '{db}' AND table = 'subject' SYNC").await;

    setup.database.execute("DROP TABLE {db}.subject SYNC").await;
    setup.database.execute(&LIVE.replacen("= 3600", "= 7200", 1)).await;
    setup.database.execute("INSERT INTO {db}.subject (k, at, n) SELECT 1, now(), 2").await;
    setup.database.execute("SYSTEM STOP MERGES {db}.subject").await;
    setup.database.execute("ALTER TABLE {db}.subject UPDATE n = n + 1 WHERE 1 SETTINGS mutations_sync = 0").await;
    let report = setup.apply(true).await;
    let outcome = subject(&report);
    assert_eq!(outcome.action, Action::Altered, "{}", told(&report));
    assert_eq!(outcome.unfinished.len(), 1, "{:?}", outcome.unfinished);
    assert!(outcome.unfinished[0].contains("UPDATE n = n + 1"), "{:?}", outcome.unfinished);
    setup.database.execute("SYSTEM START MERGES {db}.subject").await;
}
