//! The bootstrap against the real engine.

use std::{
    io,
    net::{Shutdown, TcpListener, TcpStream},
    thread,
    time::Duration,
};

use serde::Deserialize;
use xtcp_ingest::{
    bootstrap::{self, Action, Controller, Difference, Error, Kind, Parameters, State, What},
    clickhouse::Client,
    config,
};

use crate::setup::{QUICK, Setup, all_off, all_on, assert_empty, ids};

#[tokio::test]
async fn an_empty_server_gets_everything_and_a_second_pass_nothing() {
    let setup = Setup::new("empty").await;
    let first = setup.pass(all_on()).await.expect("a pass");
    let all: Vec<&str> = setup.definitions.objects.iter().map(|o| o.entry.id.value.as_str()).collect();
    assert_eq!(ids(&first, Action::Created), all, "in the order of the manifest");
    let second = setup.pass(all_on()).await.expect("a pass");
    assert_eq!(ids(&second, Action::Created), [""; 0]);
    assert_eq!(second.objects.len(), all.len());
    let topics = setup.topics.topics.lock().expect("no panic").clone();
    assert_eq!(topics["xtcp"].replication, 1, "clipped to the one broker");

    setup.database.execute("DROP TABLE {db}.xtcp_flat_records_v1 SYNC").await;
    setup.database.execute("DROP TABLE {db}.xtcp_flat_records_unified SYNC").await;
    let third = setup.pass(all_on()).await.expect("a pass");
    assert_eq!(ids(&third, Action::Created), ["data.flat_v1", "data.flat_unified"]);
    setup.pass(all_off()).await.expect("everything is there");
}

#[derive(Deserialize, Debug, PartialEq, Eq)]
struct ColumnRow {
    name: String,
    #[serde(rename = "type")]
    column_type: String,
    compression_codec: String,
    default_expression: String,
}

#[tokio::test]
async fn the_server_reports_every_column_as_declared() {
    let setup = Setup::new("columns").await;
    setup.pass(all_on()).await.expect("a pass");
    let mut seen = 0;
    for object in &setup.definitions.objects {
        let Some(columns) = setup.definitions.columns(object) else { continue };
        let (merge, name) = match (&object.body, setup.definitions.table(object)) {
            (bootstrap::Body::Merge(merge), _) => (true, merge.name.clone()),
            (_, table) => (false, table.expect("a table").name.clone()),
        };
        let declared: Vec<ColumnRow> = columns
            .iter()
            .map(|c| ColumnRow {
                name: c.name.clone(),
                column_type: c.column_type.to_string(),
                compression_codec: match &c.codec {
                    Some(codec) if !merge => format!("CODEC({codec})"),
                    _ => String::new(),
                },
                default_expression: c.default.clone().filter(|_| !merge).unwrap_or_default(),
            })
            .collect();
        let sql = format!(
            "SELECT name, type, compression_codec, default_expression FROM system.columns \
             WHERE database = '{{db}}' AND table = '{name}' ORDER BY position"
        );
        let live: Vec<ColumnRow> = setup.database.query(&sql).await;
        for (live, declared) in live.iter().zip(&declared) {
            assert_eq!(live, declared, "{name}");
        }
        assert_eq!(live.len(), declared.len(), "{name}");
        seen += live.len();
    }
    let registry = &setup.definitions.registry;
    let of_epochs: usize = registry.epochs().iter().map(|epoch| epoch.columns.len()).sum();
    assert_eq!(seen, 11 + 5 + of_epochs + 11 + 2 + registry.newest().columns.len());
}

#[derive(Deserialize, Debug, PartialEq, Eq)]
struct TableRow {
    name: String,
    engine: String,
    sorting_key: String,
    partition_key: String,
}

#[tokio::test]
async fn the_server_reports_keys_engines_and_retention_as_declared() {
    let setup = Setup::new("tables").await;
    let supply = |setting: &str| match setting {
        "XTCP_INGEST_CLICKHOUSE_DATABASE" => Some(setup.database.name.clone()),
        "XTCP_INGEST_RETENTION_DAYS" => Some("31".to_owned()),
        _ => None,
    };
    let parameters = Parameters::supplied(&setup.definitions.manifest, supply);
    let client = &setup.database.client;
    let controller = Controller::new(client, &setup.topics, &setup.definitions, &parameters, all_on()).timing(QUICK);
    assert_eq!(controller.pass().await.state, State::Converged);
    assert_empty(&controller.plan().await.expect("a plan"));
    let sql =
        "SELECT name, engine, sorting_key, partition_key FROM system.tables WHERE database = '{db}' ORDER BY name";
    let rows: Vec<TableRow> = setup.database.query(sql).await;
    let row = |name: &str, engine: &str, key: &str| TableRow {
        name: name.to_owned(),
        engine: engine.to_owned(),
        sorting_key: key.to_owned(),
        partition_key: String::new(),
    };
    let key = "timestamp_ns, hostname, record_counter, netlinker_id, socket_fd";
    let mut expected = vec![
        row("schema_lock", "ReplacingMergeTree", "lock_name, holder"),
        row("schema_migrations", "ReplacingMergeTree", "database, object, action"),
        row("xtcp_flat_records", "Merge", ""),
        row("xtcp_flat_records_errors", "MergeTree", "observed_at"),
        row("xtcp_flat_records_unified", "View", ""),
        row("xtcp_flat_records_v0", "MergeTree", key),
        row("xtcp_flat_records_v1", "MergeTree", key),
        row("xtcp_flat_records_v2", "MergeTree", key),
        row("xtcp_ingest_probe", "MergeTree", "probe"),
    ];
    // A key goes along with its column's name.
    for epoch in &setup.definitions.registry.epochs()[3..] {
        expected.push(row(&epoch.table.name, "MergeTree", &epoch.table.order_by.join(", ")));
    }
    expected.sort_by(|a, b| a.name.cmp(&b.name));
    assert_eq!(rows, expected);
    #[derive(Deserialize)]
    struct Engine {
        name: String,
        engine_full: String,
    }
    let sql = "SELECT name, engine_full FROM system.tables WHERE database = '{db}' AND engine LIKE '%MergeTree'";
    for Engine { name, engine_full } in setup.database.query::<Engine>(sql).await {
        let ttl = match name.as_str() {
            "xtcp_flat_records_errors" => "TTL observed_at + toIntervalDay(1)",
            "xtcp_ingest_probe" => "TTL probed_at + toIntervalDay(1)",
            "schema_lock" => "TTL expires_at + toIntervalDay(7)",
            "schema_migrations" => "",
            _ => "TTL toDateTime(timestamp_ns) + toIntervalDay(31)",
        };
        assert!(engine_full.contains(ttl) && engine_full.contains("TTL ") != ttl.is_empty(), "{name}: {engine_full}");
        let window = "non_replicated_deduplication_window = 10000";
        assert_eq!(engine_full.contains(window), name.starts_with("xtcp_"), "{name}: {engine_full}");
    }
}

#[tokio::test]
async fn what_is_missing_is_named_when_the_bootstrap_is_off() {
    let setup = Setup::new("off").await;
    let error = setup.pass(all_off()).await.expect_err("no database");
    let name = &setup.database.name;
    assert_eq!(
        error.to_string(),
        format!(
            "not as declared: database {name} doesn't exist: create it, let `bootstrap.tables` be on, or give another \
             `clickhouse.database`"
        )
    );
    assert!(error.is_fatal());

    setup.pass(all_on()).await.expect("a pass");
    let off = setup.pass(all_off()).await.expect("everything is there");
    assert_eq!(off.state, State::Unknown);
    assert_eq!(off.topics_skipped.as_deref(), Some("bootstrap.topics is off"));
    assert!(off.notice.expect("a notice").contains("bootstrap.tables is off"));

    setup.database.execute("DROP TABLE {db}.xtcp_flat_records_v1 SYNC").await;
    setup.database.execute("DROP TABLE {db}.xtcp_flat_records SYNC").await;
    setup.database.execute("ALTER TABLE {db}.xtcp_flat_records_v2 DROP COLUMN tag").await;
    setup.database.execute("ALTER TABLE {db}.xtcp_flat_records_v2 MODIFY COLUMN nsid UInt64").await;
    setup.database.execute("ALTER TABLE {db}.xtcp_flat_records_v2 ADD COLUMN extra UInt8").await;
    setup.database.execute("CREATE TABLE {db}.xtcp_flat_records (a UInt8) ENGINE = Memory").await;
    let error = setup.pass(all_off()).await.expect_err("differences");
    assert!(!error.is_fatal(), "it is held, not given up: {error}");
    let differences = setup.differences().await;
    let of = |table: &str, what: What| Difference { object: format!("{name}.{table}"), what };
    let v2 = "xtcp_flat_records_v2";
    let some = [
        of("xtcp_flat_records_v1", What::Absent(Kind::Table)),
        of(v2, What::ColumnAbsent { column: "tag".into(), declared: "LowCardinality(String)".into() }),
        of(v2, What::ColumnType { column: "nsid".into(), live: "UInt64".into(), declared: "UInt32".into() }),
        of("xtcp_flat_records", What::Engine { live: "Memory".into(), declared: "Merge".into() }),
    ];
    for expected in &some {
        assert!(differences.contains(expected), "{expected} is not among {differences:#?}");
    }
    let merged = setup.definitions.registry.newest().columns.len();
    assert_eq!(differences.len(), some.len() + merged, "the columns of the Merge table besides: {differences:#?}");
}

#[tokio::test]
async fn a_block_is_held_against_the_live_columns() {
    let setup = Setup::new("insertable").await;
    setup.pass(all_on()).await.expect("a pass");
    let client = &setup.database.client;
    let columns = |columns: &[(&str, &str)]| -> Vec<(String, String)> {
        columns.iter().map(|(name, kind)| ((*name).to_owned(), (*kind).to_owned())).collect()
    };
    let good = columns(&[("topic", "LowCardinality(String)"), ("partition", "UInt64")]);
    let errors = "xtcp_flat_records_errors";
    bootstrap::assert_insertable(client, [(errors, good.as_slice())]).await.expect("as declared");
    setup.database.execute("ALTER TABLE {db}.xtcp_flat_records_errors MODIFY COLUMN partition UInt32").await;
    setup.database.execute("ALTER TABLE {db}.xtcp_flat_records_errors ADD COLUMN twice UInt64 ALIAS offset * 2").await;
    let asked = columns(&[("partition", "UInt64"), ("nothing", "UInt8"), ("twice", "UInt64")]);
    let error = bootstrap::assert_insertable(client, [(errors, asked.as_slice()), ("no_table", &[])]).await;
    let name = &setup.database.name;
    assert_eq!(
        error.expect_err("four differences").to_string(),
        format!(
            "not as declared, 4 differences:\n  \
             column `partition` of {name}.xtcp_flat_records_errors is UInt32; declared is UInt64\n  \
             {name}.xtcp_flat_records_errors has no column `nothing`; declared is UInt8\n  \
             column `twice` of {name}.xtcp_flat_records_errors is ALIAS and can't be inserted into\n  \
             table {name}.no_table doesn't exist"
        )
    );
}

#[tokio::test]
async fn a_detached_table_is_named_and_not_taken_for_created() {
    let setup = Setup::new("detached").await;
    setup.pass(all_on()).await.expect("a pass");
    setup.database.execute("DETACH TABLE {db}.xtcp_flat_records_v0 PERMANENTLY").await;
    let error = setup.pass(all_on()).await.expect_err("a detached table");
    let text = error.to_string();
    assert!(text.contains("xtcp_flat_records_v0") && text.contains("is a table of that name detached?"), "{error}");
    assert!(text.contains("xtcp_flat_records: needs data.flat_v0"), "what stands on it is named as well: {error}");
    assert!(!error.is_fatal());
    setup.database.execute("ATTACH TABLE {db}.xtcp_flat_records_v0").await;
    setup.pass(all_on()).await.expect("it is back");
}

#[derive(Deserialize, Debug, PartialEq, Eq)]
struct Unified {
    schema_version: u32,
    hostname: String,
    tcp_info_rttvar: String,
    enrich_socket_dest_locality: String,
    inet_diag_cong_enum: String,
    inet_diag_cgroup_id: String,
    tcp_info_options2: u32,
}

#[tokio::test]
async fn the_unified_view_reads_all_epochs_under_the_newest_names() {
    let setup = Setup::new("unified").await;
    setup.pass(all_on()).await.expect("a pass");
    for epoch in [0, 1] {
        setup
            .database
            .execute(&format!(
                "INSERT INTO {{db}}.xtcp_flat_records_v{epoch} (timestamp_ns, schema_version, hostname, tcp_info_rtt_var, \
                 enrich_socket_dest_locality, congestion_algorithm_enum, c_group) \
                 SELECT toDateTime64({epoch} + 1, 9, 'UTC'), {epoch}, 'h{epoch}', 7{epoch}, 'connected_subnet', 'bbr1', \
                 18446744073709551615"
            ))
            .await;
    }
    let newest = "INSERT INTO {db}.xtcp_flat_records_v2 (timestamp_ns, schema_version, hostname, tcp_info_rttvar, \
                  enrich_socket_dest_locality, inet_diag_cong_enum, inet_diag_cgroup_id, tcp_info_options2) \
                  SELECT toDateTime64(3, 9, 'UTC'), 2, 'h2', 72, 'local_subnet', '', 5, 9";
    setup.database.execute(newest).await;
    // Under the names that they have now.
    let names = ["tcp_info_rttvar", "enrich_socket_dest_locality", "inet_diag_cong_enum", "inet_diag_cgroup_id"];
    let now = |name| crate::content::newest_name(&setup.definitions.registry, 2, name);
    let renamed: String = names.iter().map(|name| format!("toString({}) AS {name}, ", now(name))).collect();
    let select = format!("SELECT schema_version, hostname, {renamed}{} AS tcp_info_options2", now("tcp_info_options2"));
    let sql = format!("{select} FROM {{db}}.xtcp_flat_records_unified ORDER BY timestamp_ns");
    let rows: Vec<Unified> = setup.database.query(&sql).await;
    let row = |epoch: u32, congestion: &str, cgroup: u64, options2: u32| Unified {
        schema_version: epoch,
        hostname: format!("h{epoch}"),
        tcp_info_rttvar: (70 + epoch).to_string(),
        enrich_socket_dest_locality: "local_subnet".to_owned(),
        inet_diag_cong_enum: congestion.to_owned(),
        inet_diag_cgroup_id: cgroup.to_string(),
        tcp_info_options2: options2,
    };
    assert_eq!(rows, [row(0, "bbr1", u64::MAX, 0), row(1, "bbr1", u64::MAX, 0), row(2, "", 5, 9)]);

    // The Merge table keeps the documented behaviour: what was renamed reads as the default for older rows.
    let merged: Vec<Unified> = setup.database.query(&sql.replace("_unified", "")).await;
    let values: Vec<_> =
        merged.iter().map(|r| (r.schema_version, &*r.tcp_info_rttvar, &*r.inet_diag_cgroup_id)).collect();
    let is_newest = setup.definitions.registry.newest().number == 2;
    let of_newest = if is_newest { (2, "72", "5") } else { (2, values[2].1, values[2].2) };
    assert_eq!(values, [(0, "0", "0"), (1, "0", "0"), of_newest]);
    #[derive(Deserialize, Debug, PartialEq, Eq)]
    struct Source {
        table: String,
        n: u64,
    }
    let sql = "SELECT _table AS table, count() AS n FROM {db}.xtcp_flat_records GROUP BY table ORDER BY table";
    let sources: Vec<Source> = setup.database.query(sql).await;
    let source = |epoch: u32| Source { table: format!("xtcp_flat_records_v{epoch}"), n: 1 };
    assert_eq!(sources, [source(0), source(1), source(2)]);
}

#[tokio::test]
async fn the_unified_view_has_the_columns_of_the_newest_epoch() {
    let setup = Setup::new("unified_columns").await;
    setup.pass(all_on()).await.expect("a pass");
    let sql = "SELECT name, type, '' AS compression_codec, '' AS default_expression FROM system.columns \
               WHERE database = '{db}' AND table = 'xtcp_flat_records_unified' ORDER BY position";
    let live: Vec<ColumnRow> = setup.database.query(sql).await;
    let newest = setup.definitions.registry.newest();
    for (live, declared) in live.iter().zip(&newest.columns) {
        assert_eq!((&live.name, &live.column_type), (&declared.name, &declared.column_type.to_string()));
    }
    assert_eq!(live.len(), newest.columns.len());
}

#[tokio::test]
async fn the_official_client_reads_what_is_there() {
    let setup = Setup::new("official").await;
    setup.pass(all_on()).await.expect("a pass");
    let insert = "INSERT INTO {db}.xtcp_flat_records_v1 (timestamp_ns, schema_version, hostname, tcp_info_rtt_var) \
                  SELECT toDateTime64(1, 9, 'UTC'), 1, 'h', 7";
    setup.database.execute(insert).await;
    #[derive(Deserialize, clickhouse::Row, Debug, PartialEq)]
    struct Row {
        schema_version: u32,
        hostname: String,
        tcp_info_rttvar: u32,
    }
    let client = clickhouse::Client::default()
        .with_url(crate::support::clickhouse_url())
        .with_user("default")
        .with_database(&setup.database.name);
    let now = crate::content::newest_name(&setup.definitions.registry, 2, "tcp_info_rttvar");
    let sql = format!(
        "SELECT schema_version, toString(hostname) AS hostname, {now} AS tcp_info_rttvar FROM xtcp_flat_records_unified"
    );
    let rows = client.query(&sql).fetch_all::<Row>().await.expect("rows");
    assert_eq!(rows, [Row { schema_version: 1, hostname: "h".to_owned(), tcp_info_rttvar: 7 }]);
}

/// A pass by a client of its own.
async fn pass(client: &Client, setup: &Setup, dials: config::Bootstrap) -> Result<bootstrap::Report, Error> {
    bootstrap::pass(client, &setup.topics, &setup.definitions, &setup.parameters, &dials).await
}

#[tokio::test]
async fn a_wrong_password_is_not_waited_for() {
    let setup = Setup::new("password").await;
    let mut config = crate::support::clickhouse(&setup.database.name);
    config.password = config::Secret::new("surely-not-the-password");
    let client = Client::new(&config).expect("a client");
    let start = std::time::Instant::now();
    let pass = pass(&client, &setup, all_on()).await;
    let error = pass.expect_err("a wrong password");
    assert!(error.is_fatal() && !error.to_string().contains("surely-not"), "{error}");
    assert!(error.to_string().contains("AUTHENTICATION_FAILED") && !error.to_string().contains('\n'), "{error}");
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

/// Forwards a port to the real server from a moment on; until then connections are refused.
fn late_server(after: Duration) -> String {
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let url: url::Url = crate::support::clickhouse_url().parse().expect("a URL");
    let real = (url.host_str().expect("a host").to_owned(), url.port_or_known_default().expect("a port"));
    thread::spawn(move || {
        thread::sleep(after);
        for client in TcpListener::bind(port).expect("the port is still free").incoming().flatten() {
            let server = TcpStream::connect(&real).expect("the real server");
            for (mut from, mut to) in
                [(client.try_clone().expect("a handle"), server.try_clone().expect("a handle")), (server, client)]
            {
                thread::spawn(move || {
                    let _ = io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Write);
                });
            }
        }
    });
    format!("http://{port}")
}

#[tokio::test]
async fn a_server_that_comes_up_late_is_waited_for() {
    let setup = Setup::new("late").await;
    let mut config = crate::support::clickhouse(&setup.database.name);
    config.urls = vec![late_server(Duration::from_millis(1500)).parse().expect("a URL")];
    let client = Client::new(&config).expect("a client");
    client.ping().await.expect_err("not yet");
    let pass = pass(&client, &setup, all_on()).await;
    assert_eq!(ids(&pass.expect("a pass"), Action::Created).len(), setup.definitions.objects.len());
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_waited_for_and_named() {
    let setup = Setup::new("unanswered").await;
    let mut config = crate::support::clickhouse(&setup.database.name);
    config.urls = vec!["http://127.0.0.1:1".parse().expect("a URL")];
    let nobody = Client::new(&config).expect("a client");
    let dials = config::Bootstrap { wait: Duration::from_secs(2), ..all_on() };
    let start = std::time::Instant::now();
    let pass = pass(&nobody, &setup, dials).await;
    let error = pass.expect_err("nobody listens");
    assert!(
        error.to_string().starts_with("ClickHouse did not answer within 2 s: ClickHouse at 127.0.0.1:1"),
        "{error}"
    );
    assert!(!error.is_fatal());
    assert!((2..10).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
}
