//! What tables and layouts are refused for.

use super::*;

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
