//! Diverted records, placed once their cause is mended.

use serde_json::Value;

use super::*;
use crate::{process::generate, support::bench};

#[tokio::test(flavor = "multi_thread")]
async fn diverted_records_are_placed_once_wherever_a_replay_is_killed() {
    let (database, topic) = bench("replay", 3).await;
    let base = Repository::new();
    apply_schema(&database, &base.ddl());
    let repository = Repository::new();
    repository.make(THIRD, THIRD_RENAMES);
    let ddl = repository.ddl();
    let sent = generate(
        &topic.name,
        &["--rows", "3000", "--schemas-dir", &ddl, "--mix", "e3=50,e2=50", "--faults", "enum_value=5"],
    );
    ingest(&database, &topic, Some(&base.ddl()));
    let early = sent["rows"]["xtcp_flat_records_v3"].as_u64().expect("rows of epoch 3");
    let errors = database.count("{db}.xtcp_flat_records_errors").await;
    assert!(early > 500 && errors >= early);
    let replay = |arguments: &[&str], ddl: Option<&str>| {
        ended(operate(&[&["migrate", "replay"], arguments].concat(), &database, None, ddl))
    };
    let (code, out, err) = replay(&[], Some(&base.ddl()));
    assert!(code == 0 && out == "no record of unknown_epoch can be placed\n", "{code} {out}{err}");
    let (code, out, err) = ended(operate(&["migrate", "apply"], &database, None, Some(&ddl)));
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("migrate replay` places them"), "{out}");

    // Killed at: the table of marks, the marks, the records, and the end's mark when the records are there.
    let mut seen = Vec::new();
    for at in [1, 2, 3, 3] {
        let (code, steps) = killed_at(at, |url| operate(&["migrate", "replay"], &database, Some(url), Some(&ddl)));
        seen.push(steps);
        assert_eq!(code, None, "killed: {seen:?}");
        database.execute("TRUNCATE TABLE {db}.schema_lock").await;
        let there = database.count("{db}.xtcp_flat_records_v3").await;
        assert_eq!(there > 0, seen.len() == 4, "{there} rows after {seen:?}");
    }
    assert!(seen[2][2].contains("query=INSERT") && seen[3][1].contains("query=INSERT"), "{seen:?}");
    // Records that were broken on purpose could not be told from good ones before their epoch was known.
    let broken = database.count("{db}.xtcp_flat_records_errors WHERE reason = 'unknown_epoch'").await - early;
    let (code, out, err) = replay(&["--json"], Some(&ddl));
    assert_eq!(code, if broken > 0 { 2 } else { 0 }, "{seen:?} {out}{err}");
    let done: Value = serde_json::from_str(&out).expect("JSON");
    let count = |of: &str| done[of]["xtcp_flat_records_v3"].as_u64().unwrap_or(0);
    assert_eq!(count("finished") + count("placed"), database.count("{db}.xtcp_flat_records_v3").await, "{done}");
    let once = "SELECT DISTINCT inet_diag_msg_socket_cookie FROM {db}.xtcp_flat_records_v3";
    let rows = database.count("{db}.xtcp_flat_records_v3").await;
    assert_eq!(database.count(&format!("({once})")).await, rows, "every record once");
    assert_eq!(rows, early, "{done}");
    assert_eq!(done["refused"]["enum_value"].as_u64().unwrap_or(0), broken, "{done}");

    let again = replay(&[], Some(&ddl));
    assert!(!again.1.contains("placed\n") && !again.1.contains("are there"), "{again:?}");
    assert_eq!(database.count("{db}.xtcp_flat_records_v3").await, rows, "and not again");
    assert_eq!(database.count("{db}.xtcp_flat_records_errors").await, errors, "the error table is as it was");
    let (code, out, err) = replay(&["--reason", "framing"], Some(&ddl));
    assert!(code == 64 && err.contains("`framing` is no reason that records are diverted for"), "{code} {out}{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_label_that_was_missing_is_mended_and_its_records_are_placed() {
    let (database, topic) = bench("label", 1).await;
    let base = Repository::new();
    apply_schema(&database, &base.ddl());
    generate(
        &topic.name,
        &["--rows", "500", "--mix", "e2=1", "--faults", "enum_value=5", "--schemas-dir", &base.ddl()],
    );
    ingest(&database, &topic, Some(&base.ddl()));
    assert_eq!(database.count("{db}.xtcp_flat_records_errors WHERE reason = 'enum_value'").await, 5);
    let words = ["migrate", "replay", "--reason", "enum_value"];
    let (code, out, err) = ended(operate(&words, &database, None, Some(&base.ddl())));
    assert!(code == 2 && out == "5 records are refused still: enum_value\n", "{code} {out}{err}");

    let repository = Repository::new();
    let made = repository.make(&[("LOCALITY_REMOTE = 3;", "LOCALITY_REMOTE = 3;\n  LOCALITY_TUNNEL = 4;")], &[]);
    assert_eq!(made["is_new_epoch"], false);
    let ddl = repository.ddl();
    let refused = ended(operate(&["migrate", "apply"], &database, None, Some(&ddl)));
    assert_eq!(refused.0, 2, "a label needs to be asked for: {refused:?}");
    let (code, out, err) = ended(operate(&["migrate", "apply", "--allow-drift"], &database, None, Some(&ddl)));
    assert_eq!(code, 0, "{out}{err}");
    let (code, out, err) = ended(operate(&words, &database, None, Some(&ddl)));
    assert!(code == 0 && out == "xtcp_flat_records_v2: 5 records placed\n", "{code} {out}{err}");
    let tunnel = "{db}.xtcp_flat_records_v2 WHERE enrich_socket_dest_locality = 'tunnel'";
    assert_eq!(database.count(tunnel).await, 5);
    assert_eq!(database.count("{db}.xtcp_flat_records_v2").await, 505);
}
