//! Definitions as a whole: what they render to, and what is refused.

use super::*;
use crate::{config, tree::Tree};

const MANIFEST: &str = "\
manifest_version: 1
parameters:
  db: { description: d, setting: XTCP_INGEST_CLICKHOUSE_DATABASE, default: x }
  days: { description: d, setting: XTCP_INGEST_RETENTION_DAYS, default: 31 }
databases:
  - { key: data, parameter: db }
objects:
  - { id: db.data, kind: database, database: data, topology: resolved, additive: false }
  - { id: v0, kind: table, database: data, defines: epochs/v0, depends_on: [db.data], topology: resolved, additive: true }
  - { id: v1, kind: table, database: data, defines: epochs/v1, topology: resolved, additive: true }
  - { id: data.flat_errors, kind: table, database: data, defines: tables/e, topology: resolved, additive: true }
  - { id: all, kind: merge, database: data, defines: merge/all, topology: resolved, additive: true }
  - { id: one, kind: view, database: data, defines: views/one, topology: resolved, additive: true }
  - { id: topic, kind: topic, defines: topics/t, topology: fixed, additive: false }
release: r1
";

const FILES: [(&str, &str); 7] = [
    (
        "epochs/v0.yaml",
        "epoch: 0\ntable: { name: t0, engine: MergeTree, order_by: [at, old], ttl: { column: at, days: days } }\n\
         layouts: [{ name: l }]\ncolumns:\n  \
         - { name: at, type: \"DateTime64(9, 'UTC')\", codec: \"DoubleDelta, LZ4\", wire: { l: int64 10 } }\n  \
         - { name: old, type: UInt32, wire: { l: uint32 2 } }\n  \
         - { name: e, type: \"Enum8('' = 0, 'was' = 1)\", wire: { l: enum 3 } }\n  \
         - { name: n, type: UInt32, wire: { l: uint32 4 } }\n",
    ),
    (
        "epochs/v1.yaml",
        "epoch: 1\ntable: { name: t1, engine: MergeTree, order_by: [], settings: { a: 1, b: it's } }\n\
         layouts: [{ name: l }]\ncolumns:\n  \
         - { name: v, type: UInt32, wire: { l: uint32 1 } }\n  \
         - { name: at, type: \"DateTime64(9, 'UTC')\", wire: { l: int64 10 } }\n  \
         - { name: new, type: UInt32, was: old, wire: { l: uint32 2 } }\n  \
         - { name: e, type: \"Enum8('' = 0, 'is' = 1)\", wire: { l: enum 3 } }\n  \
         - { name: n, type: UInt64, wire: { l: uint64 4 } }\n",
    ),
    (
        "tables/e.yaml",
        "table: { name: errors, engine: MergeTree, order_by: [at], ttl: { column: at, days: days } }\n\
         columns:\n  - { name: at, type: DateTime, default: now(), codec: LZ4 }\n",
    ),
    ("merge/all.yaml", "merge: { name: every, tables: '^t[0-9]$' }\n"),
    ("views/one.sql", "-- why\n\nCREATE OR REPLACE VIEW {db}.one AS\n{epochs}\n"),
    (
        "topics/t.yaml",
        "topic: { role: landing, name: t, partitions: 3, replication: 3, config: { retention.ms: 5 } }\n",
    ),
    ("manifest.yaml", MANIFEST),
];

fn tree(edits: &[(&str, &str)]) -> Tree {
    let mut texts: Vec<(&str, String)> = FILES.iter().map(|(path, text)| (*path, (*text).to_owned())).collect();
    for (from, to) in edits {
        let found =
            texts.iter_mut().find(|(_, text)| text.contains(from)).unwrap_or_else(|| panic!("no file has `{from}`"));
        found.1 = found.1.replacen(from, to, 1);
    }
    Tree::from_files("ddl", texts.iter().map(|(path, text)| (*path, text.as_str())))
}

fn definitions(edits: &[(&str, &str)]) -> Definitions {
    Definitions::of(&tree(edits)).unwrap_or_else(|refused| panic!("{refused}"))
}

#[track_caller]
fn assert_refused(from: &str, to: &str, problem: &str) {
    let refused = Definitions::of(&tree(&[(from, to)])).expect_err(to).to_string();
    let expected = format!("definitions refused, 1 problem:\n  ddl/{problem}");
    assert!(refused.starts_with(&expected), "\n{from} -> {to}\n{refused}\nexpected\n{expected}");
}

fn sql(definitions: &Definitions, id: &str, days: &str) -> String {
    let supply = |setting: &str| (setting == "XTCP_INGEST_RETENTION_DAYS").then(|| days.to_owned());
    let parameters = Parameters::supplied(&definitions.manifest, supply);
    definitions
        .statements(&parameters, Platform::Single)
        .into_iter()
        .find(|s| s.id == id)
        .expect("an object of that id")
        .sql
}

#[test]
fn tables_render_whole() {
    let definitions = definitions(&[]);
    assert_eq!(sql(&definitions, "db.data", "31"), "CREATE DATABASE `x`");
    assert_eq!(
        sql(&definitions, "v0", "31"),
        "CREATE TABLE `x`.`t0`\n(\n    \
         `at` DateTime64(9, 'UTC') CODEC(DoubleDelta, LZ4),\n    \
         `old` UInt32,\n    \
         `e` Enum8('' = 0, 'was' = 1),\n    \
         `n` UInt32\n)\n\
         ENGINE = MergeTree\nORDER BY (`at`, `old`)\nTTL toDateTime(`at`) + toIntervalDay(31)"
    );
    assert!(sql(&definitions, "v0", "0").ends_with("ORDER BY (`at`, `old`)"), "0 days are no TTL");
    assert!(sql(&definitions, "v1", "7").ends_with("\nORDER BY tuple()\nSETTINGS a = 1, b = 'it\\'s'"));
    assert_eq!(
        sql(&definitions, "data.flat_errors", "2"),
        "CREATE TABLE `x`.`errors`\n(\n    `at` DateTime DEFAULT now() CODEC(LZ4)\n)\n\
         ENGINE = MergeTree\nORDER BY `at`\nTTL `at` + toIntervalDay(2)"
    );
}

#[test]
fn a_merge_table_has_the_columns_of_the_newest_epoch() {
    assert_eq!(
        sql(&definitions(&[]), "all", "31"),
        "CREATE TABLE `x`.`every`\n(\n    `v` UInt32,\n    `at` DateTime64(9, 'UTC'),\n    `new` UInt32,\n    \
         `e` Enum8('' = 0, 'is' = 1),\n    `n` UInt64\n)\nENGINE = Merge('x', '^t[0-9]$')"
    );
}

#[test]
fn a_view_over_all_epochs_has_the_names_of_the_newest() {
    assert_eq!(
        sql(&definitions(&[]), "one", "31"),
        "CREATE OR REPLACE VIEW `x`.one AS\n\
         SELECT\n    defaultValueOfTypeName('UInt32') AS `v`,\n    `at`,\n    `old` AS `new`,\n    \
         CAST(toInt8(`e`), 'Enum8(\\'\\' = 0, \\'is\\' = 1)') AS `e`,\n    CAST(`n`, 'UInt64') AS `n`\nFROM `x`.`t0`\n\
         UNION ALL\n\
         SELECT\n    `v`,\n    `at`,\n    `new`,\n    `e`,\n    `n`\nFROM `x`.`t1`"
    );
}

#[test]
fn topics_are_clipped_to_the_brokers() {
    let definitions = definitions(&[]);
    let parameters = Parameters::supplied(&definitions.manifest, |_| None);
    let (id, topic) = definitions.topics().next().expect("a topic");
    assert_eq!(id, "topic");
    for (brokers, replication) in [(0, 1), (1, 1), (2, 2), (3, 3), (9, 3)] {
        let config = vec![("retention.ms".to_owned(), "5".to_owned())];
        assert_eq!(
            topic.on(brokers, &parameters, &config::Bootstrap::default()),
            NewTopic { name: "t".into(), partitions: 3, replication, config }
        );
    }
}

#[test]
fn a_manifest_of_another_version_is_not_read() {
    for (version, read) in [("manifest_version: 2", "`2`"), ("manifest_version: x", "`x`")] {
        let edit = format!("{version}\nnonsense: [");
        let problem = format!("manifest.yaml:1: manifest_version: read {read}; this release reads manifest_version 1");
        assert_refused("manifest_version: 1", &edit.replace("\nnonsense: [", "\nnonsense: 1"), &problem);
    }
    assert_refused("manifest_version: 1\n", "", "manifest.yaml:1: `manifest_version` is missing");
    let without: Vec<_> = FILES.iter().filter(|(path, _)| *path != "manifest.yaml").copied().collect();
    let refused = Definitions::of(&Tree::from_files("ddl", without)).expect_err("no manifest").to_string();
    assert!(refused.ends_with("ddl/manifest.yaml: the tree has no manifest"), "{refused}");
}

#[test]
fn objects_are_declared_once_in_order_with_their_files() {
    let at = |line: u32, rest: &str| format!("manifest.yaml:{line}: objects[{rest}");
    assert_refused("{ id: one, ", "{ id: all, ", &at(13, "all].id: `all` is declared twice"));
    assert_refused(
        "depends_on: [db.data]",
        "depends_on: [v1]",
        &at(9, "v0].depends_on[0]: `v1` is not declared before"),
    );
    assert_refused("depends_on: [db.data]", "depends_on: [v0]", &at(9, "v0].depends_on[0]: depends on itself"));
    assert_refused(
        "kind: view",
        "kind: quota",
        &at(13, "one].kind: unknown kind `quota`; known: database, table, merge, view, materialized_view, role, topic"),
    );
    assert_refused("topology: fixed", "topology: any", &at(14, "topic].topology: read `any`; resolved and fixed are"));
    assert_refused("topology: fixed, additive: false", "topology: fixed", &at(14, "topic]: `additive` is missing"));
    assert_refused(
        "kind: topic, ",
        "kind: topic, database: data, ",
        &at(14, "topic].database: a topic is in no database"),
    );
    assert_refused(
        "view, database: data",
        "view, database: dat",
        &at(13, "one].database: no database key `dat`; declared: data"),
    );
    assert_refused("view, database: data, ", "view, ", &at(13, "one]: `database` is missing; declared: data"));
    assert_refused(
        "database, database: data, ",
        "database, database: data, defines: x, ",
        &at(8, "db.data].defines: a database has"),
    );
}

#[test]
fn every_file_is_named_and_every_name_has_a_file() {
    assert_refused(
        "views/one",
        "views/two",
        "manifest.yaml:13: objects[one].defines: there is no file ddl/views/two.sql",
    );
    let files = FILES.iter().copied().chain([("views/two.sql", "")]);
    let refused = Definitions::of(&Tree::from_files("ddl", files)).expect_err("a file too many").to_string();
    assert!(
        refused.ends_with("ddl/views/two.sql: no object of the manifest is defined by `views/two.sql`"),
        "{refused}"
    );
}

#[test]
fn parameters_are_declared_and_can_be_set() {
    assert_refused(
        "parameter: db ",
        "parameter: dat ",
        "manifest.yaml:6: databases[0].parameter: no parameter `dat`; declared: db, days",
    );
    assert_refused(
        "XTCP_INGEST_RETENTION_DAYS",
        "RETENTION",
        "manifest.yaml:4: parameters.days.setting: no setting `RETENTION`;",
    );
    assert_refused(
        "days: days } }\ncolumns",
        "days: dayz } }\ncolumns",
        "manifest.yaml:11: objects[data.flat_errors].id: rows leave after `dayz`",
    );
    assert_refused("name: t, ", "parameter: nope, ", "topics/t.yaml:1: topic.parameter: no parameter `nope`");
    assert_refused("name: t, ", "", "topics/t.yaml:1: topic: either `name` or `parameter` has to be there");
    assert_refused(
        "partitions: 3",
        "partitions: 0",
        "topics/t.yaml:1: topic.partitions: read `0`; 1 or more is allowed",
    );
}

#[test]
fn two_objects_have_two_names() {
    assert_refused(
        "name: every",
        "name: t1",
        "manifest.yaml:12: objects[all].id: another object has the name `t1` already",
    );
}

#[test]
fn views_are_one_statement_with_known_places() {
    assert_refused(
        "VIEW {db}.one AS",
        "VIEW x.one AS",
        "views/one.sql:3: read `CREATE OR REPLACE VIEW x.one AS`; a view starts with",
    );
    assert_refused(
        "VIEW {db}.one AS",
        "VIEW {db}.`o` AS",
        "views/one.sql:3: read `CREATE OR REPLACE VIEW {db}.`o` AS`;",
    );
    assert_refused("AS\n{epochs}", "AS\n{epoch}", "views/one.sql:4: unknown place {epoch}; known: {db}, {epochs}");
    assert_refused("AS\n{epochs}", "AS\n{epochs};", "views/one.sql:3: a view is one statement");
}

#[test]
fn merge_tables_name_their_tables_from_end_to_end() {
    assert_refused("'^t[0-9]$'", "'^t[0-9]'", "merge/all.yaml:1: merge.tables: read `^t[0-9]`; it has to start with ^");
    assert_refused("name: every", "name: a b", "merge/all.yaml:1: merge.name: `a b` can't be a table name");
}

#[test]
fn records_and_errors_have_a_place() {
    let refused =
        Definitions::of(&tree(&[("id: data.flat_errors", "id: other")])).expect_err("no error table").to_string();
    assert!(refused.contains("no table `data.flat_errors` is declared"), "{refused}");
}

#[test]
fn the_embedded_definitions_are_sound_and_ordered() {
    let definitions = Definitions::embedded().unwrap_or_else(|refused| panic!("{refused}"));
    let ids: Vec<&str> = definitions.objects.iter().map(|o| o.entry.id.value.as_str()).collect();
    let epochs: Vec<String> =
        definitions.registry.epochs().iter().map(|epoch| format!("data.flat_v{}", epoch.number)).collect();
    let before = ["db.data", "data.schema_migrations", "data.schema_lock"];
    let after = [
        "data.flat_errors",
        "data.ingest_probe",
        "data.flat_merge",
        "data.flat_unified",
        "topic.landing",
        "topic.dead_letter",
    ];
    let expected: Vec<&str> = before.into_iter().chain(epochs.iter().map(String::as_str)).chain(after).collect();
    assert_eq!(ids, expected);
    assert_eq!(definitions.errors().name, "xtcp_flat_records_errors");
    let parameters = Parameters::supplied(&definitions.manifest, |_| None);
    let ttls: Vec<String> = definitions
        .statements(&parameters, Platform::Single)
        .into_iter()
        .filter_map(|s| s.sql.lines().find(|l| l.starts_with("TTL")).map(str::to_owned))
        .collect();
    let record = "TTL toDateTime(`timestamp_ns`) + toIntervalDay(31)";
    let (lock, errors, probe) = (
        "TTL `expires_at` + toIntervalDay(7)",
        "TTL `observed_at` + toIntervalDay(1)",
        "TTL `probed_at` + toIntervalDay(1)",
    );
    let records = vec![record; definitions.registry.epochs().len()];
    assert_eq!(ttls, [vec![lock], records, vec![errors, probe]].concat());
    let (_, topic) = definitions.topics().next().expect("a topic");
    let topic = topic.on(1, &parameters, &config::Bootstrap::default());
    assert_eq!((topic.name.as_str(), topic.partitions, topic.replication), ("xtcp", 12, 1));
    assert!(topic.config.contains(&("max.message.bytes".into(), "16777216".into())));
}

#[test]
fn every_epoch_is_read_by_the_merge_table() {
    let definitions = Definitions::embedded().expect("sound");
    let merge = definitions.objects.iter().find_map(|o| match &o.body {
        Body::Merge(merge) => Some(merge),
        _ => None,
    });
    assert_eq!(merge.expect("a Merge table").tables, "^xtcp_flat_records_v[0-9]+$");
    for epoch in definitions.registry.epochs() {
        assert_eq!(epoch.table.name, format!("xtcp_flat_records_v{}", epoch.number));
    }
}

#[test]
fn what_a_lane_inserts_is_declared() {
    let definitions = Definitions::embedded().expect("sound");
    let schema = crate::lane::Schema::new(&definitions.registry, &definitions.errors().name, Default::default());
    for target in schema.targets() {
        let object = definitions.objects.iter().find(|o| definitions.table(o).is_some_and(|t| t.name == target.table));
        let declared = definitions.columns(object.expect("a declared table")).expect("columns");
        for (name, column_type) in &target.columns {
            let column = declared.iter().find(|c| c.name == *name).unwrap_or_else(|| panic!("{}.{name}", target.table));
            assert_eq!(column.column_type.to_string(), *column_type, "{}.{name}", target.table);
        }
        let filled = |c: &&crate::epoch::Column| target.columns.iter().any(|(name, _)| *name == c.name);
        let left: Vec<_> =
            declared.iter().filter(|c| !filled(c)).map(|c| (c.name.as_str(), c.default.is_some())).collect();
        let expected = if target.epoch.is_none() { vec![("observed_at", true)] } else { vec![] };
        assert_eq!(left, expected, "{}: what a block lacks has a default", target.table);
    }
}
