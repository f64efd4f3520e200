use super::*;
use crate::epoch::{ColumnType, Condition, ProtoType, WireType};

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
fn tables_name_their_own_columns() {
    assert_refused(
        "order_by: [at, host]",
        "order_by: [at, hst]",
        "v1.yaml:5: table.order_by[1]: sorts by `hst`, which is no",
    );
    assert_refused(
        "column: at, days",
        "column: att, days",
        "v0.yaml:2: table.ttl.column: `att` is no column of this table",
    );
    assert_refused(
        "column: at, days",
        "column: family, days",
        "v0.yaml:2: table.ttl.column: rows leave by a DateTime or DateTime64; `family` is UInt32",
    );
    for engine in ["ReplicatedMergeTree", "Memory", "MergeTree('x')", "MergeTree(", "SharedMergeTree"] {
        let problem = format!("v1.yaml:4: table.engine: read `{engine}`; a plain engine of the MergeTree family");
        assert_refused("ReplacingMergeTree(version)", engine, &problem);
    }
    assert_refused("name: t1", "name: t0", "v1.yaml:3: table.name: `t0` is already the table of epoch 0");
    assert_refused("name: t1", "name: t 1", "v1.yaml:3: table.name: `t 1` can't be a table name");
    assert_refused("epoch: 1", "epoch: 0", "v1.yaml:1: epoch: epoch 0 is already defined in another file");
    assert_refused(
        "index_granularity: 1024",
        "index_granularity: [1]",
        "v1.yaml:6: table.settings.index_granularity: read a list",
    );
}

#[test]
fn layouts_can_be_told_apart() {
    assert_refused(
        "e1: string 20",
        "e2: string 20",
        "v1.yaml:13: columns[host].wire.e2: no layout `e2`; layouts here: e1",
    );
    assert_refused(
        "like: old",
        "like: older",
        "v0.yaml:4: layouts[seconds].like: no layout `older`; layouts here: seconds, old, new",
    );
    let circle = refusal(&[("{ name: old, when", "{ name: old, like: seconds, when")]);
    assert!(circle.contains("v0.yaml:5: layouts[old].like: `seconds` is like itself by way of `old`"), "{circle}");
    assert_refused(
        "- { name: new }",
        "- { name: new, when: { 5: len } }",
        "v0.yaml:3: layouts: the last layout has to be one",
    );
    assert_refused(
        "old, when: { 101: varint }",
        "old, when: {}",
        "v0.yaml:6: layouts[new].name: no record ever has layout `new`",
    );
    assert_refused(
        "101: varint, 10: fixed64",
        "101: varint, 10: f64",
        "v0.yaml:4: layouts[seconds].when.10: unknown wire type `f64`; known: varint",
    );
    assert_refused(
        "101: varint, 10: fixed64",
        "101: varint, 10: varint",
        "v0.yaml:4: layouts[seconds].when.10: field 10 is double_seconds",
    );
    assert_refused(
        "101: varint, 10: fixed64",
        "101: varint, 0: fixed64",
        "v0.yaml:4: layouts[seconds].when.0: `0` is no field number",
    );
    let twice = refusal(&[("  - name: e1", "  - name: e1\n  - name: e1")]);
    assert!(twice.contains("v1.yaml:9: layouts[e1].name: layout `e1` stands twice"), "{twice}");
    let none = refusal(&[("layouts:\n  - name: e1", "layouts: []")]);
    assert!(none.contains("v1.yaml:7: layouts: the last layout has to be one"), "{none}");
}

#[test]
fn records_are_routed_by_field_1() {
    let place = "v1.yaml:8: layouts[e1].name: ";
    assert_refused(
        "codec: LZ4, wire: { e1: uint32 1 }",
        "wire: { e1: uint32 2 }",
        &format!("{place}no column has field 1,"),
    );
    assert_refused(
        "type: UInt32, codec: LZ4, wire: { e1: uint32 1 }",
        "type: UInt64, codec: LZ4, wire: { e1: uint64 1 }",
        &format!("{place}field 1 routes the record and is uint32; `version` has it as uint64"),
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

#[test]
fn the_embedded_definitions_hold_the_known_facts() {
    let registry = embedded().unwrap_or_else(|refused| panic!("{refused}"));
    let count: Vec<_> = registry.epochs().iter().map(|e| (e.number, e.columns.len(), e.layouts.len())).collect();
    assert_eq!(count, [(0, 161, 3), (1, 161, 1), (2, 172, 1)]);
    let fields = |epoch: usize, layout: &str| {
        let epoch = &registry.epochs()[epoch];
        let layout = epoch.layouts.iter().find(|l| l.name == layout).expect("a layout");
        layout.fields.iter().map(|f| (f.number, f.proto, epoch.columns[f.column].name.as_str())).collect::<Vec<_>>()
    };
    let legacy = fields(0, "legacy");
    assert_eq!((legacy.len(), fields(0, "legacy_seconds").len()), (124, 124));
    assert_eq!((fields(0, "renumbered").len(), fields(1, "e1").len(), fields(2, "e2").len()), (161, 161, 172));
    assert_eq!(fields(0, "renumbered"), fields(1, "e1"), "epoch 0 without the old numbers is numbered as epoch 1");
    for expected in [
        (10, ProtoType::Int64, "timestamp_ns"),
        (31, ProtoType::String, "container_id"),
        (33, ProtoType::Uint64, "netns_inode"),
        (60, ProtoType::String, "tag"),
        (101, ProtoType::Uint32, "inet_diag_msg_family"),
        (107, ProtoType::Bytes, "inet_diag_msg_socket_source"),
        (331, ProtoType::Uint32, "tcp_info_rtt_var"),
        (401, ProtoType::Enum, "congestion_algorithm_enum"),
        (1203, ProtoType::Uint64, "c_group"),
    ] {
        assert!(legacy.contains(&expected), "{expected:?}");
    }
    assert!(fields(0, "legacy_seconds").contains(&(10, ProtoType::DoubleSeconds, "timestamp_ns")));
    let e1 = fields(1, "e1");
    for expected in [
        (301, ProtoType::Uint32, "enrich_socket_dest_egress_ifindex"),
        (302, ProtoType::String, "enrich_socket_dest_egress_ifname"),
        (310, ProtoType::Enum, "enrich_socket_dest_locality"),
        (2103, ProtoType::Uint64, "c_group"),
    ] {
        assert!(e1.contains(&expected), "{expected:?}");
    }
    let e2 = fields(2, "e2");
    for expected in [
        (1, ProtoType::Uint32, "schema_version"),
        (311, ProtoType::Uint32, "enrich_socket_dest_egress_ifindex"),
        (1266, ProtoType::Uint32, "tcp_info_received_ce"),
        (1276, ProtoType::Uint32, "tcp_info_options2"),
        (2003, ProtoType::Uint64, "inet_diag_cgroup_id"),
    ] {
        assert!(e2.contains(&expected), "{expected:?}");
    }
    let columns = &registry.newest().columns;
    let by_number: Vec<&str> = e2.iter().map(|(_, _, name)| *name).collect();
    assert_eq!(
        columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(),
        by_number,
        "strictly in the order of numbers"
    );
    assert_eq!(columns.iter().filter(|c| c.was.is_some()).count(), 19);
}

#[test]
fn the_embedded_tables_have_the_types_of_their_time() {
    let registry = embedded().unwrap_or_else(|refused| panic!("{refused}"));
    for (epoch, label) in registry.epochs().iter().zip(["connected_subnet", "connected_subnet", "local_subnet"]) {
        let mut count = std::collections::BTreeMap::new();
        for column in &epoch.columns {
            *count.entry(column.column_type.to_string()).or_insert(0) += 1;
        }
        let accecn = if epoch.number == 2 { 11 } else { 0 };
        let locality = format!("Enum8('unspecified' = 0, 'self' = 1, '{label}' = 2, 'remote' = 3)");
        let congestion =
            "Enum8('' = 0, 'cubic' = 1, 'dctcp' = 2, 'vegas' = 3, 'prague' = 4, 'bbr1' = 5, 'bbr2' = 6, 'bbr3' = 7)";
        let expected = [
            ("DateTime64(9, 'UTC')", 1),
            (congestion, 1),
            (&locality, 1),
            ("LowCardinality(String)", 32),
            ("String", 4),
            ("UInt32", 104 + accecn),
            ("UInt64", 18),
        ];
        assert_eq!(count.iter().map(|(t, n)| (t.as_str(), *n)).collect::<Vec<_>>(), expected, "epoch {}", epoch.number);
        let key = ["timestamp_ns", "hostname", "record_counter", "netlinker_id", "socket_fd"];
        assert_eq!(epoch.table.order_by, key);
        assert_eq!(epoch.columns[0].name, if epoch.number == 2 { "schema_version" } else { "timestamp_ns" });
    }
    let newest = registry.newest();
    assert_eq!(
        registry.history(newest.column("inet_diag_cgroup_id").expect("a column")),
        [Some(160), Some(160), Some(171)]
    );
    assert_eq!(registry.history(newest.column("tcp_info_options2").expect("a column")), [None, None, Some(140)]);
    assert!(matches!(newest.columns[2].column_type, ColumnType::DateTime64 { scale: 9, .. }));
}
