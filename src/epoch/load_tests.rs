use super::*;
use crate::epoch::{ColumnType, Condition, ProtoType, WireType};

#[path = "load_tests_embedded.rs"]
mod embedded_definitions;
#[path = "load_tests_tables.rs"]
mod tables_and_layouts;

const OLD: &str = "\
epoch: 0
table: { name: t0, engine: MergeTree, order_by: [at], ttl: { column: at, days: retention_days } }
layouts:
  - { name: seconds, like: old, when: { 101: varint, 10: fixed64 } }
  - { name: old, when: { 101: varint } }
  - { name: new }
columns:
  - { name: at, type: \"DateTime64(9, 'UTC')\", codec: \"DoubleDelta, LZ4\", wire: { new: int64 10, old: int64 10, seconds: double_seconds 10 } }
  - { name: version, type: UInt32, wire: { new: uint32 1 } }
  - { name: family, type: UInt32, wire: { new: uint32 1001, old: uint32 101 } }
  - { name: rtt_var, type: UInt32, codec: LZ4, wire: { new: uint32 7, old: uint32 8 } }
";

const NEW: &str = "\
epoch: 1
table:
  name: t1
  engine: ReplacingMergeTree(version)
  order_by: [at, host]
  settings: { index_granularity: 1024 }
layouts:
  - name: e1
columns:
  - { name: version, type: UInt32, codec: LZ4, wire: { e1: uint32 1 } }
  - { name: at, type: \"DateTime64(9, 'UTC')\", wire: { e1: int64 10 } }
  - { name: rttvar, type: UInt32, was: rtt_var, wire: { e1: uint32 7 } }
  - { name: host, type: LowCardinality(String), codec: ZSTD(1), wire: { e1: string 20 } }
  - name: where
    type: Enum8('' = 0, 'self' = 1)
    wire: { e1: enum 30 }
";

fn try_load(texts: &[(&str, &str)]) -> Result<Registry, String> {
    let tree = Tree::from_files("ddl", texts.iter().copied());
    let files: Vec<&File> = texts.iter().map(|(path, _)| tree.get(path).expect("inserted")).collect();
    load(files).map_err(|refused| refused.to_string())
}

/// Loads both epochs after replacing text in one of them, and returns the refusal.
fn refusal(edits: &[(&str, &str)]) -> String {
    let (mut old, mut new) = (OLD.to_owned(), NEW.to_owned());
    for (from, to) in edits {
        assert!(old.contains(from) != new.contains(from), "`{from}` has to be in one of the two");
        old = old.replacen(from, to, 1);
        new = new.replacen(from, to, 1);
    }
    match try_load(&[("v0.yaml", &old), ("v1.yaml", &new)]) {
        Ok(_) => panic!("accepted: {edits:?}"),
        Err(refused) => refused,
    }
}

/// One edit, one problem, which names file, line and field and says the rest.
fn assert_refused(from: &str, to: &str, problem: &str) {
    let refused = refusal(&[(from, to)]);
    let expected = format!("definitions refused, 1 problem:\n  ddl/{problem}");
    assert!(refused.starts_with(&expected), "\n{from} -> {to}\n{refused}\nexpected\n{expected}");
}

#[test]
fn small_definitions_load() {
    let registry = try_load(&[("v1.yaml", NEW), ("v0.yaml", OLD)]).expect("sound");
    assert_eq!(registry.epochs().iter().map(|e| e.number).collect::<Vec<_>>(), [0, 1], "ascending, whatever the order");
    let seconds = &registry.epochs()[0].layouts[0];
    let varint = Condition { number: 101, wire: WireType::Varint };
    assert_eq!(seconds.when, [varint, Condition { number: 10, wire: WireType::Fixed64 }]);
    let fields: Vec<_> = seconds.fields.iter().map(|f| (f.number, f.proto)).collect();
    let expected = [(8, ProtoType::Uint32), (10, ProtoType::DoubleSeconds), (101, ProtoType::Uint32)];
    assert_eq!(fields, expected, "inherited but for its own, ascending");
    assert_eq!(registry.newest().table.settings, [("index_granularity".to_owned(), "1024".to_owned())]);
    assert_eq!(registry.history(2), [Some(3), Some(2)], "through the rename");
    assert_eq!(registry.history(3), [None, Some(3)], "a column that epoch 0 lacks");
}

#[test]
fn tags_are_used_once_and_in_range() {
    assert_refused(
        "wire: { e1: string 20 }",
        "wire: { e1: string 10 }",
        "v1.yaml:13: columns[host].wire.e1: field 10 is already that of columns[at].wire.e1 in line 11",
    );
    assert_refused(
        "seconds: double_seconds 10",
        "seconds: double_seconds 8",
        "v0.yaml:11: columns[rtt_var].wire.old: field 8 is already that of columns[at].wire.seconds in line 8",
    );
    for number in ["0", "536870912", "19000", "19999", "-1", "x"] {
        let problem =
            format!("v1.yaml:13: columns[host].wire.e1: `{number}` is no field number; 1 to 536870911 without 19000");
        assert_refused("string 20", &format!("string {number}"), &problem);
    }
    assert_refused(
        "string 20",
        "string",
        "v1.yaml:13: columns[host].wire.e1: read `string`; a protobuf type and a field",
    );
    assert_refused("string 20", "string 20 21", "v1.yaml:13: columns[host].wire.e1: read `string 20 21`;");
}

#[test]
fn columns_are_what_the_server_would_say() {
    let place = "v1.yaml:13: columns[host]";
    assert_refused(
        "name: rttvar,",
        "name: version,",
        "v1.yaml:12: columns[version].name: column `version` stands twice",
    );
    assert_refused(
        "type: LowCardinality(String)",
        "type: Text",
        &format!("{place}.type: unknown type `Text`; known: UInt8"),
    );
    assert_refused(
        "columns:\n  - { name: at, type: \"DateTime64(9, 'UTC')\"",
        "columns:\n  - { name: at, type: \"DateTime64(9,'UTC')\"",
        "v0.yaml:8: columns[at].type: read `DateTime64(9,'UTC')`; write it as the server does: `DateTime64(9, 'UTC')`",
    );
    assert_refused("ZSTD(1)", "ZSTD", &format!("{place}.codec: read `ZSTD`; write it as the server does: `ZSTD(1)`"));
    assert_refused("ZSTD(1)", "LZ5", &format!("{place}.codec: unknown codec `LZ5`"));
    assert_refused(
        "    wire: { e1: enum 30 }\n",
        "",
        "v1.yaml:14: columns[where].name: column `where` has neither a field in any layout nor a default",
    );
    for name in ["a b", "a`b", "a'b", "9a", "a;b"] {
        let edit = format!("name: \"{name}\", type: LowCard");
        let problem = format!("v1.yaml:13: columns[{name}].name: `{name}` can't be a column name");
        let refused = refusal(&[("name: host, type: LowCard", &edit), ("order_by: [at, host]", "order_by: [at]")]);
        assert!(refused.contains(&problem), "{refused}");
    }
}

#[test]
fn enums_are_whole() {
    let at = "v1.yaml:15: columns[where].type: ";
    let edit = |to: &str, problem: &str| assert_refused("Enum8('' = 0, 'self' = 1)", to, &format!("{at}{problem}"));
    edit("Enum8('' = 0, '' = 1)", "label '' stands twice");
    edit("Enum8('' = 0, 'self' = 0)", "number 0 has two labels");
    edit("Enum8('' = 0, 'self' = 200)", "number 200 of label 'self' is out of the range of Enum8, -128 to 127");
    edit("Enum8('a' = 1, 'self' = 2)", "the enum has no label for 0");
    edit(
        "Enum('' = 0, 'self' = 1)",
        "read `Enum('' = 0, 'self' = 1)`; write it as the server does: `Enum8('' = 0, 'self' = 1)`",
    );
    edit("Enum8('self' = 1, '' = 0)", "read `Enum8('self' = 1, '' = 0)`; write it");
}

#[test]
fn an_enum_keeps_the_numbers_of_the_epoch_before() {
    let old = "{ name: where, type: \"Enum8('' = 0, 'x' = 7)\", wire: { new: enum 9 } }";
    let refused = refusal(&[(
        "columns:\n  - { name: at, type: \"DateTime64(9, 'UTC')\", codec",
        &format!("columns:\n  - {old}\n  - {{ name: at, type: \"DateTime64(9, 'UTC')\", codec"),
    )]);
    assert!(
        refused.contains("v1.yaml:15: columns[where].type: number 7 of epoch 0 has no label any more"),
        "{refused}"
    );
}

#[test]
fn wire_types_fit_their_columns() {
    let place = "v1.yaml:13: columns[host].wire.e1: ";
    assert_refused("string 20", "text 20", &format!("{place}unknown protobuf type `text`; known: int32, int64"));
    assert_refused(
        "string 20",
        "uint32 20",
        &format!("{place}uint32 can't go into LowCardinality(String) unaltered; it fits UInt32, UInt64, Int64"),
    );
    assert_refused(
        "was: rtt_var, wire: { e1: uint32 7 }",
        "was: rtt_var, wire: { e1: uint64 7 }",
        "v1.yaml:12: columns[rttvar].wire.e1: uint64 can't go into UInt32 unaltered; it fits UInt64",
    );
}

#[test]
fn renames_have_a_source() {
    let place = "v1.yaml:12: columns[rttvar].was: ";
    assert_refused("was: rtt_var", "was: nothing", &format!("{place}epoch 0 has no column `nothing`"));
    assert_refused(
        "was: rtt_var",
        "was: at",
        &format!("{place}`at` of the epoch before is already that of `at` in line 11"),
    );
    assert_refused(
        "name: host, ",
        "name: host, was: rtt_var, ",
        "v1.yaml:13: columns[host].was: `rtt_var` of the epoch before is already that of `rttvar` in line 12",
    );
    assert_refused(
        "{ name: rtt_var, ",
        "{ name: rtt_var, was: x, ",
        "v0.yaml:11: columns[rtt_var].was: there is no epoch before this one",
    );
}

#[test]
fn unknown_keys_are_named_wherever_they_are() {
    assert_refused(
        "epoch: 1\n",
        "epoch: 1\nepochs: 2\n",
        "v1.yaml:2: epochs: unknown key; known here: epoch, table, layouts, columns",
    );
    assert_refused(
        "name: host, ",
        "name: host, nullable: true, ",
        "v1.yaml:13: columns[host].nullable: unknown key; known here: name, type",
    );
    assert_refused(
        "like: old, ",
        "like: old, if: 1, ",
        "v0.yaml:4: layouts[seconds].if: unknown key; known here: name, like, when",
    );
    assert_refused("days: retention_days }", "days: retention_days, by: x }", "v0.yaml:2: table.ttl.by: unknown key");
    assert_refused("codec: ZSTD(1)", "codec: 5", "v1.yaml:13: columns[host].codec: read `5`; a text is needed here");
    assert_refused("  name: t1\n", "", "v1.yaml:2: table: `name` is missing");
}

#[test]
fn all_problems_come_at_once_in_the_order_of_the_files() {
    let refused = refusal(&[
        ("epoch: 1\n", "epoch: 1\nx: 2\n"),
        ("string 20", "string 10"),
        ("was: rtt_var", "was: nothing"),
        ("column: at, days", "column: att, days"),
    ]);
    let lines: Vec<&str> = refused.lines().map(|l| l.trim().split(": ").next().unwrap_or("")).collect();
    let expected =
        ["definitions refused, 4 problems:", "ddl/v0.yaml:2", "ddl/v1.yaml:2", "ddl/v1.yaml:13", "ddl/v1.yaml:14"];
    assert_eq!(lines, expected, "{refused}");
}

#[test]
fn a_file_that_is_no_yaml_hides_no_other() {
    let refused = try_load(&[("v0.yaml", "a: [1"), ("v1.yaml", "[]")]).expect_err("two broken files");
    assert!(refused.contains("ddl/v0.yaml:") && refused.contains("ddl/v1.yaml:1: read a list; a mapping"), "{refused}");
    assert!(try_load(&[("v0.yaml", "")]).expect_err("an empty file").contains("a mapping is needed"));
}
