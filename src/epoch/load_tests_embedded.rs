//! The definitions inside the binary.

use super::*;

#[test]
fn the_embedded_definitions_hold_the_known_facts() {
    let registry = embedded().unwrap_or_else(|refused| panic!("{refused}"));
    // Epochs that came after these are held against the `.proto`.
    let count: Vec<_> =
        registry.epochs().iter().map(|e| (e.number, e.columns.len(), e.layouts.len())).take(3).collect();
    assert_eq!(count[..2], [(0, 161, 3), (1, 161, 1)]);
    // As long as it is the newest, columns join it.
    assert!(count[2].0 == 2 && count[2].1 >= 172 && count[2].2 == 1, "{count:?}");
    let fields = |epoch: usize, layout: &str| {
        let epoch = &registry.epochs()[epoch];
        let layout = epoch.layouts.iter().find(|l| l.name == layout).expect("a layout");
        layout.fields.iter().map(|f| (f.number, f.proto, epoch.columns[f.column].name.as_str())).collect::<Vec<_>>()
    };
    let legacy = fields(0, "legacy");
    assert_eq!((legacy.len(), fields(0, "legacy_seconds").len()), (124, 124));
    assert_eq!((fields(0, "renumbered").len(), fields(1, "e1").len(), fields(2, "e2").len()), (161, 161, count[2].1));
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
    let columns = &registry.epochs()[2].columns;
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
        let kinds = [
            ("DateTime64(9, 'UTC')", 1),
            ("LowCardinality(String)", 32),
            ("String", 4),
            ("UInt32", if epoch.number == 2 { 115 } else { 104 }),
            ("UInt64", 18),
        ];
        for (kind, known) in kinds {
            let found = count.get(kind).copied().unwrap_or(0);
            // Columns join the newest epoch.
            assert!(found == known || (found > known && epoch.number == 2), "epoch {}: {found} {kind}", epoch.number);
        }
        let locality = format!("Enum8('unspecified' = 0, 'self' = 1, '{label}' = 2, 'remote' = 3");
        let congestion =
            "Enum8('' = 0, 'cubic' = 1, 'dctcp' = 2, 'vegas' = 3, 'prague' = 4, 'bbr1' = 5, 'bbr2' = 6, 'bbr3' = 7";
        for labels in [&locality, congestion] {
            assert!(count.keys().any(|kind| kind.starts_with(labels)), "epoch {}: {labels}", epoch.number);
        }
        let key = ["timestamp_ns", "hostname", "record_counter", "netlinker_id", "socket_fd"];
        assert_eq!(epoch.table.order_by, key);
        assert_eq!(epoch.columns[0].name, if epoch.number == 2 { "schema_version" } else { "timestamp_ns" });
    }
    let epoch = &registry.epochs()[2];
    assert!(matches!(epoch.columns[2].column_type, ColumnType::DateTime64 { scale: 9, .. }));
}

#[test]
fn columns_are_followed_from_the_newest_epoch_to_the_oldest() {
    let registry = embedded().unwrap_or_else(|refused| panic!("{refused}"));
    let names = |at: usize| -> Vec<Option<&str>> {
        let history = registry.history(at);
        registry
            .epochs()
            .iter()
            .zip(history)
            .map(|(epoch, at)| Some(epoch.columns[at?].name.as_str()))
            .take(3)
            .collect()
    };
    let all: Vec<_> = (0..registry.newest().columns.len()).map(names).collect();
    assert!(all.contains(&vec![Some("c_group"), Some("c_group"), Some("inet_diag_cgroup_id")]));
    assert!(all.contains(&vec![None, None, Some("tcp_info_options2")]));
}
