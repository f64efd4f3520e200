//! New epochs, from a `.proto` to the rows of a mixed fleet.

use serde_json::Value;

use super::*;
use crate::{process::generate, support::bench};

#[tokio::test(flavor = "multi_thread")]
async fn two_new_epochs_go_from_a_proto_to_rows_of_a_mixed_fleet() {
    let (database, topic) = bench("epochs", 3).await;
    let repository = Repository::new();
    let base = Repository::new();
    apply_schema(&database, &base.ddl());

    // The third epoch is sent before anybody is ready for it.
    let made = repository.make(THIRD, THIRD_RENAMES);
    assert_eq!((&made["epoch"], &made["is_new_epoch"]), (&Value::from(3), &Value::from(true)));
    let ddl = repository.ddl();
    let sent = generate(&topic.name, &["--rows", "3000", "--schemas-dir", &ddl, "--mix", "e3=50,e2=50"]);
    ingest(&database, &topic, Some(&base.ddl()));
    let early = sent["rows"]["xtcp_flat_records_v3"].as_u64().expect("rows of epoch 3");
    let v2 = sent["rows"]["xtcp_flat_records_v2"].as_u64().expect("rows of epoch 2");
    assert!(early > 0 && v2 > 0);
    assert_eq!(database.count("{db}.xtcp_flat_records_errors WHERE reason = 'unknown_epoch'").await, early);
    assert_eq!(database.count("{db}.xtcp_flat_records_v2").await, v2);

    let plan = ended(operate(&["migrate", "plan"], &database, None, Some(&ddl)));
    assert_eq!(plan.0, 2, "{plan:?}");
    for part in ["+ create   table", "xtcp_flat_records_v3", "~ alter    merge", "~ alter    view"] {
        assert!(plan.1.contains(part), "{part}: {}", plan.1);
    }
    assert!(plan.1.contains("1 to create, 2 to alter, 0 refused"), "{}", plan.1);
    assert!(plan.1.contains(&format!("{early} records of epoch 3 as unknown_epoch")), "{}", plan.1);
    assert!(!plan.1.contains("topic"), "{}", plan.1);
    let (code, out, err) = ended(operate(&["migrate", "apply"], &database, None, Some(&ddl)));
    assert_eq!(code, 0, "{out}{err}");
    for part in [
        "converged: 1 created, 2 altered",
        "xtcp_flat_records: was definitions 2, is definitions 3",
        "xtcp_flat_records_v3: was nothing, is definitions 3",
        "restart the ingest processes",
        "location (21 -> 22)",
        &format!("{early} records of epoch 3 as unknown_epoch"),
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }

    let made = repository.make(FOURTH, &["tcp_info_rto_us=tcp_info_rto_micros"]);
    assert_eq!(made["epoch"], 4);
    let (code, out, err) = ended(operate(&["migrate", "apply", "--json"], &database, None, Some(&ddl)));
    assert_eq!(code, 0, "{out}{err}");
    let applied: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((&applied["counts"]["created"], &applied["epoch"]), (&Value::from(1), &Value::from(4)), "{applied}");
    for words in [["migrate", "plan"], ["schema", "plan"]] {
        let (code, out, err) = ended(operate(&words, &database, None, Some(&ddl)));
        assert_eq!(code, 0, "nothing is left to do: {out}{err}");
    }

    let arguments = ["--rows", "20000", "--schemas-dir", &ddl, "--first-cookie", "100000", "--hosts", "60"];
    let sent = generate(&topic.name, &arguments);
    ingest(&database, &topic, Some(&ddl));
    let (mut all, mut rto) = (0, 0);
    for (table, name) in [
        ("xtcp_flat_records_v0", "tcp_info_rto"),
        ("xtcp_flat_records_v1", "tcp_info_rto"),
        ("xtcp_flat_records_v2", "tcp_info_rto"),
        ("xtcp_flat_records_v3", "tcp_info_rto_us"),
        ("xtcp_flat_records_v4", "tcp_info_rto_micros"),
    ] {
        let before = if table.ends_with("v2") { v2 } else { 0 };
        let rows = sent["rows"][table].as_u64().expect(table);
        assert!(rows > 1000, "{table}: {rows}");
        assert_eq!(database.count(&format!("{{db}}.{table}")).await, rows + before, "{table}");
        all += rows + before;
        let of_table = sum(&database, name, table).await;
        assert!(of_table > 0, "{table} has its own name");
        rto += of_table;
    }
    for reader in ["xtcp_flat_records", "xtcp_flat_records_unified"] {
        assert_eq!(database.count(&format!("{{db}}.{reader}")).await, all, "{reader}");
    }
    // The view has all epochs under the newest names, the Merge table only what bears them.
    assert_eq!(sum(&database, "tcp_info_rto_micros", "xtcp_flat_records_unified").await, rto);
    assert!(sum(&database, "tcp_info_rto_micros", "xtcp_flat_records").await < rto);
    let far = "{db}.xtcp_flat_records_unified WHERE enrich_socket_dest_locality = 'far'";
    let remote = "{db}.xtcp_flat_records_v0 WHERE enrich_socket_dest_locality = 'remote'";
    assert!(database.count(far).await >= database.count(remote).await);
    assert_eq!(database.count("{db}.xtcp_flat_records_errors WHERE reason != 'unknown_epoch'").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_every_step_a_rollout_is_finished_by_the_next_run() {
    let database = Database::new("killed").await;
    let base = Repository::new();
    apply_schema(&database, &base.ddl());
    let repository = Repository::new();
    repository.make(THIRD, THIRD_RENAMES);
    let ddl = repository.ddl();

    let mut seen_steps = Vec::new();
    for at in [1, 2, 1, 2, 1, 2, 1] {
        let (code, seen) = killed_at(at, |url| operate(&["migrate", "apply"], &database, Some(url), Some(&ddl)));
        seen_steps.push(seen);
        assert_eq!(code, None, "killed: {seen_steps:?}");
        // Nobody gives the lease of a process back that was killed: it lapses, here at once.
        database.execute("TRUNCATE TABLE {db}.schema_lock").await;
    }
    let (code, out, err) = ended(operate(&["migrate", "apply"], &database, None, Some(&ddl)));
    assert_eq!(code, 0, "{seen_steps:?}\n{out}{err}");
    assert!(out.contains("converged: 0 created, 0 altered"), "every step had been done: {seen_steps:?}\n{out}");
    for words in [["migrate", "plan"], ["schema", "plan"]] {
        assert_eq!(ended(operate(&words, &database, None, Some(&ddl))).0, 0, "{words:?}");
    }
    let steps: Vec<&str> = seen_steps.iter().flatten().map(String::as_str).collect();
    for step in ["CREATE TABLE", "CREATE OR REPLACE TABLE", "CREATE OR REPLACE VIEW"] {
        let killed = seen_steps.iter().filter(|run| run.last().is_some_and(|last| last.starts_with(step))).count();
        assert!(killed > 0, "never killed at {step}: {steps:?}");
    }

    let (code, out, err) = ended(operate(&["migrate", "status", "--json"], &database, None, Some(&ddl)));
    assert_eq!(code, 0, "{out}{err}");
    let status: Value = serde_json::from_str(&out).expect("JSON");
    let recorded = status["recorded"].as_array().expect("rows");
    let is_newest = |row: &&Value| row["schemas_version"] == "3";
    let names: Vec<&str> = recorded.iter().filter(is_newest).filter_map(|row| row["object"].as_str()).collect();
    for name in ["xtcp_flat_records_v3", "xtcp_flat_records", "xtcp_flat_records_unified"] {
        assert!(names.contains(&name), "{name}: {status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_process_says_that_it_needs_the_newer_definitions() {
    let (database, topic) = bench("outdated", 1).await;
    let (base, repository) = (Repository::new(), Repository::new());
    apply_schema(&database, &base.ddl());
    let mut running = Ingest::start(&database, &topic, &[], &[("SCHEMAS_DIR", &base.ddl())]);
    repository.make(THIRD, THIRD_RENAMES);
    let arguments = |cookie| ["--rows", "100", "--mix", "e3=1", "--first-cookie", cookie];
    let ddl = repository.ddl();
    let send = |cookie| generate(&topic.name, &[&arguments(cookie)[..], &["--schemas-dir", &ddl]].concat());
    // As long as nobody knows the epoch, there is nothing to restart with.
    send("1");
    let diverted = "{db}.xtcp_flat_records_errors WHERE reason = 'unknown_epoch'";
    while database.count(diverted).await < 100 {
        assert!(running.log().lines().count() < 10_000);
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    tokio::time::sleep(std::time::Duration::from_secs(6)).await;
    let said = "the server was given newer definitions";
    assert_eq!(running.lines("WARN", said), 0, "{}", running.log());
    let (code, out, err) = ended(operate(&["migrate", "apply"], &database, None, Some(&ddl)));
    assert_eq!(code, 0, "{out}{err}");
    send("1000");
    running.wait_until("a warning", |ingest| ingest.lines("WARN", said) == 1);
    assert!(running.log().contains("own=\"2\" applied=\"3\""), "{}", running.log());
    running.signal("TERM");
    assert_eq!(running.exit_code(), Some(0));
}
