//! The definitions inside the binary.

use super::*;

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
