//! A deployment that has the tables of the first two epochs alone.

use serde::Deserialize;
use xtcp_ingest::bootstrap::{Definitions, Platform};

use super::{ended, operate};
use crate::{content, support::Database};

#[derive(Debug, PartialEq, Deserialize)]
struct Column {
    table: String,
    name: String,
    r#type: String,
    compression_codec: String,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_of_the_first_epochs_gains_the_second_and_keeps_what_it_has() {
    for extra in [true, false] {
        let database = Database::new("first_epochs").await;
        let definitions = Definitions::embedded().expect("sound definitions");
        let parameters = database.parameters(&definitions);
        let v0 = definitions.objects.iter().find(|o| o.entry.id.value == "data.flat_v0").expect("epoch 0");
        let statement = definitions.statement(v0, &parameters, Platform::Single).expect("a table");
        // As such deployments were made: no settings, a month, two columns that nobody ever filled, one table like the other.
        let (table, _) = statement.sql.split_once("\nSETTINGS").expect("settings");
        let cookie = "    `inet_diag_msg_expires`";
        let never = "    `inet_diag_msg_socket_dest_asn` UInt64 CODEC(LZ4),\n    \
                     `inet_diag_msg_socket_next_hop_asn` UInt64 CODEC(LZ4),\n";
        assert!(table.contains(cookie) && table.contains("'connected_subnet' = 2"), "{table}");
        let table = if extra { table.replace(cookie, &format!("{never}{cookie}")) } else { table.to_owned() };
        database.execute("CREATE DATABASE {db}").await;
        database.execute(&format!("{table}\nTTL toDateTime(timestamp_ns) + toIntervalMonth(1)")).await;
        database.execute("CREATE TABLE {db}.xtcp_flat_records_v1 AS {db}.xtcp_flat_records_v0").await;
        let merge = "CREATE TABLE {db}.xtcp_flat_records AS {db}.xtcp_flat_records_v1 \
                     ENGINE = Merge('{db}', '^xtcp_flat_records_v[0-9]+$')";
        database.execute(merge).await;
        for epoch in [0, 1] {
            let row =
                format!("(schema_version, timestamp_ns, c_group) SELECT {epoch}, now64(9), number FROM numbers(10)");
            database.execute(&format!("INSERT INTO {{db}}.xtcp_flat_records_v{epoch} {row}")).await;
        }
        let columns = "SELECT table, name, type, compression_codec FROM system.columns WHERE database = '{db}' \
                       AND table IN ('xtcp_flat_records_v0', 'xtcp_flat_records_v1') ORDER BY table, position";
        let before: Vec<Column> = database.query(columns).await;

        let (code, out, err) = ended(operate(&["migrate", "plan"], &database, None, None));
        assert_eq!(code, 2, "{out}{err}");
        let created: Vec<&str> = out.lines().filter(|line| line.starts_with('+')).collect();
        let epochs = definitions.registry.epochs()[2..].iter().map(|epoch| epoch.table.name.as_str());
        let expected: Vec<&str> =
            ["schema_migrations", "schema_lock", "xtcp_flat_records_unified"].into_iter().chain(epochs).collect();
        for name in &expected {
            assert!(created.iter().any(|line| line.ends_with(*name)), "{name}: {out}");
        }
        assert_eq!(created.len(), expected.len(), "{out}");
        assert!(out.lines().any(|line| line.starts_with("~ alter    merge")), "{out}");
        assert_eq!(out.contains("inet_diag_msg_socket_next_hop_asn"), extra, "{out}");

        // The month is named and left alone: whoever wants it otherwise asks for it.
        let (code, out, err) = ended(operate(&["migrate", "apply"], &database, None, None));
        assert!(code == 2 && out.contains("TTL"), "{code} {out}{err}");
        assert_eq!(database.query::<Column>(columns).await, before);
        let group = content::newest_name(&definitions.registry, 2, "inet_diag_cgroup_id");
        for epoch in [0, 1] {
            let of = format!("{{db}}.xtcp_flat_records_unified WHERE schema_version = {epoch} AND {group} = 7");
            assert_eq!(database.count(&of).await, 1);
        }
        assert_eq!(database.count("{db}.xtcp_flat_records").await, 20);
        assert_eq!(database.count("{db}.xtcp_flat_records_v2").await, 0);
    }
}
