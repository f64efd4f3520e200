//! Columns that join the newest epoch while records land.

use serde_json::Value;

use super::*;
use crate::{process::generate, support::bench};

#[tokio::test(flavor = "multi_thread")]
async fn columns_join_a_live_epoch_while_records_land() {
    let (database, topic) = bench("columns", 2).await;
    let base = Repository::new();
    apply_schema(&database, &base.ddl());
    let mut running = Ingest::start(&database, &topic, &[], &[("SCHEMAS_DIR", &base.ddl())]);
    running.wait_for_log("HTTP surface");
    let count = async |of: &str| database.count(&format!("{{db}}.{of}")).await;
    // Records of all epochs were there before.
    let sent = generate(&topic.name, &["--rows", "2000", "--schemas-dir", &base.ddl()]);
    let v2 = sent["rows"]["xtcp_flat_records_v2"].as_u64().expect("rows of epoch 2");
    assert!(v2 > 500 && v2 < 1900, "{sent}");

    let columns: Vec<String> = (1..=11)
        .map(|n| format!("  uint32 tcp_info_later_{n} = {};\u{20}// tcp_info.tcpi_later_{n}\n", 1276 + n))
        .collect();
    let last = "  uint32 tcp_info_options2 = 1276; // tcp_info.tcpi_options2\n";
    let with = format!("{last}{}", columns.concat());
    let repository = Repository::new();
    let made = repository.make(&[(last, &with)], &[]);
    assert_eq!((&made["epoch"], &made["is_new_epoch"]), (&Value::from(2), &Value::from(false)));
    let ddl = repository.ddl();

    // Records of daemons with the new fields come while the tables change.
    let sender = {
        let (topic, ddl) = (topic.name.clone(), ddl.clone());
        std::thread::spawn(move || {
            generate(&topic, &["--rows", "4000", "--mix", "e2=1", "--rate", "1000", "--schemas-dir", &ddl])
        })
    };
    // Some give the older tables the columns as well: they stay, and nothing of them is lacking elsewhere.
    database.execute("ALTER TABLE {db}.xtcp_flat_records_v1 ADD COLUMN tcp_info_later_1 UInt32").await;
    let (code, out, err) = ended(operate(&["migrate", "apply"], &database, None, Some(&ddl)));
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("tcp_info_later_1") && out.contains("converged: 0 created, 3 altered"), "{out}");
    sender.join().expect("sent");
    for _ in 0..900 {
        if count("xtcp_flat_records").await == 6000 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    assert_eq!(count("xtcp_flat_records").await, 6000, "{}", running.log());
    assert_eq!(count("xtcp_flat_records_v2").await, v2 + 4000);
    assert_eq!(running.lines("ERROR", ""), 0, "{}", running.log());
    running.signal("TERM");
    assert_eq!(running.exit_code(), Some(0));

    // With the new definitions the fields land; rows before read the default, those of older tables as well.
    // One record, of epoch 2 and with 7 in field 1287, in its envelope and frame.
    topic.send(0, [[7, 0x52, 5, 0x08, 2, 0xb8, 0x50, 7]]);
    ingest(&database, &topic, Some(&ddl));
    let readers =
        [("xtcp_flat_records_v2", v2 + 4000), ("xtcp_flat_records", 6000), ("xtcp_flat_records_unified", 6000)];
    for (reader, before) in readers {
        assert_eq!(count(&format!("{reader} WHERE tcp_info_later_11 = 0")).await, before, "{reader}");
        assert_eq!(count(&format!("{reader} WHERE tcp_info_later_11 = 7")).await, 1, "{reader}");
    }
    assert_eq!(count("xtcp_flat_records_errors").await, 0);
    for words in [["migrate", "plan"], ["schema", "plan"]] {
        assert_eq!(ended(operate(&words, &database, None, Some(&ddl))).0, 0);
    }
}
