//! What a pass makes of a server that isn't as it should be: it says what it read and what to do, and the next one mends
//! it.

use std::time::Duration;

use serde::Deserialize;
use xtcp_ingest::{
    bootstrap::{Action, Definitions, Error, Recorded, State, TopicShape, TopicsError},
    clickhouse::Client,
    config,
    tree::Tree,
};

use crate::{
    drift::tree_with,
    proxy::{self, Mode, Proxy},
    setup::{Setup, all_on, assert_empty, ids},
    support,
};

fn briefly() -> config::Bootstrap {
    config::Bootstrap { wait: Duration::from_secs(1), ..all_on() }
}

#[derive(Deserialize, Debug)]
struct Count {
    n: u64,
}

#[tokio::test]
async fn a_database_of_another_engine_is_refused_before_anything_is_created() {
    let setup = Setup::new("engine").await;
    setup.database.execute("CREATE DATABASE {db} ENGINE = Memory").await;
    let report = setup.report(all_on()).await;
    let text = report.error.as_ref().expect("refused").to_string();
    assert_eq!(report.state, State::Failed);
    assert!(text.contains("has engine Memory; on platform single it has to be Atomic"), "{text}");
    let rows: Vec<Count> = setup.database.query("SELECT count() AS n FROM system.tables WHERE database = '{db}'").await;
    assert_eq!(rows[0].n, 0);
}

#[tokio::test]
async fn a_server_without_keeper_is_refused_unless_it_is_single_by_name() {
    let setup = Setup::new("keeperless").await;
    for platform in [config::Platform::Auto, config::Platform::SelfHosted] {
        let report = setup.report(config::Bootstrap { platform, ..briefly() }).await;
        let text = report.error.as_ref().expect("refused").to_string();
        for piece in ["Keeper", "{cluster}", "{shard}", "{replica}", "`platform = \"single\"`"] {
            assert!(text.contains(piece), "{piece}: {text}");
        }
        assert_eq!(report.state, State::Failed);
        assert!(!report.error.expect("an error").is_fatal(), "the process stays up, not ready");
    }
}

#[tokio::test]
async fn a_view_that_does_not_compile_fails_the_pass_and_holds_nothing_else_back() {
    let embedded = Tree::embedded();
    let mut files: Vec<(String, String)> = embedded.files().map(|(p, f)| (p.to_owned(), f.text.clone())).collect();
    for (path, text) in &mut files {
        if path.ends_with("unified.sql") {
            *text = "CREATE OR REPLACE VIEW {db}.xtcp_flat_records_unified AS SELECT no_such_function(1)\n".to_owned();
        }
    }
    let tree = Tree::from_files("ddl", files.iter().map(|(p, t)| (p.as_str(), t.as_str())));
    let setup = Setup::with("view", Definitions::of(&tree).expect("sound")).await;
    let report = setup.report(all_on()).await;
    assert_eq!(report.state, State::Failed);
    let text = report.error.as_ref().expect("an error").to_string();
    assert!(text.contains("xtcp_flat_records_unified") && text.contains("no_such_function"), "{text}");
    assert_eq!(ids(&report, Action::Skipped), ["data.flat_unified"]);
    assert_eq!(report.count(Action::Created), report.objects.len() - 1, "the topics as well");

    // Mended, it is the only thing left.
    let mended = Setup { definitions: Definitions::embedded().expect("sound"), ..setup };
    assert_eq!(ids(&mended.apply(false).await, Action::Created), ["data.flat_unified"]);
}

#[tokio::test]
async fn what_bears_a_name_and_may_hold_data_is_never_replaced() {
    let setup = Setup::new("names").await;
    setup.apply(false).await;
    for table in ["xtcp_flat_records", "xtcp_flat_records_unified", "xtcp_flat_records_v0"] {
        setup.database.execute(&format!("DROP TABLE {{db}}.{table} SYNC")).await;
        let engine = if table.ends_with("v0") { "Memory" } else { "MergeTree ORDER BY a" };
        setup.database.execute(&format!("CREATE TABLE {{db}}.{table} (a UInt8) ENGINE = {engine}")).await;
        setup.database.execute(&format!("INSERT INTO {{db}}.{table} SELECT 1")).await;
    }
    for allow_drift in [false, true] {
        let report = setup.apply(allow_drift).await;
        assert_eq!(report.state, State::Converged, "{:?}", report.error);
        let refused = ids(&report, Action::Refused);
        assert_eq!(refused, ["data.flat_v0", "data.flat_merge", "data.flat_unified"], "{:#?}", report.refused());
        assert!(report.refused()[0].contains("engine is Memory; declared is MergeTree"), "{:?}", report.refused());
        assert!(
            !report.blocked(["xtcp_flat_records_v0"]).is_empty() && report.blocked(["xtcp_flat_records_v1"]).is_empty()
        );
    }
    let rows: Vec<Count> = setup.database.query("SELECT count() AS n FROM {db}.xtcp_flat_records").await;
    assert_eq!(rows[0].n, 1);
}

#[tokio::test]
async fn merge_and_view_follow_their_definitions() {
    let setup = Setup::new("follow").await;
    setup.apply(false).await;
    for sql in [
        "CREATE OR REPLACE TABLE {db}.xtcp_flat_records (hostname String, gone UInt8) ENGINE = Merge('{db}', '^x$')",
        "CREATE OR REPLACE VIEW {db}.xtcp_flat_records_unified AS SELECT 1 AS a",
    ] {
        setup.database.execute(sql).await;
    }
    let both = ["data.flat_merge", "data.flat_unified"];
    let plan = setup.plan().await;
    assert_eq!(ids(&plan, Action::Altered), both);
    let changes = plan.objects.iter().find(|o| o.id == both[0]).expect("it is there").changes.join("; ");
    assert!(changes.contains("engine Merge(") && changes.contains("column `gone` goes"), "{changes}");
    assert_eq!(ids(&setup.apply(false).await, Action::Altered), both);
    assert_empty(&setup.plan().await);
}

#[tokio::test]
async fn garbage_in_the_ledger_changes_nothing() {
    let setup = Setup::new("garbage").await;
    setup.apply(false).await;
    setup
        .database
        .execute(
            "INSERT INTO {db}.schema_migrations (database, object, kind, checksum, action, platform) \
             SELECT '{db}', arrayJoin(['xtcp_flat_records_v2', '', 'nothing']), '?', 'x', 'y', unhex('ff')",
        )
        .await;
    assert_empty(&setup.plan().await);
    assert_empty(&setup.apply(false).await);
    let recorded = setup.controller(all_on()).recorded().await.expect("an answer").expect("a ledger");
    let row = recorded.iter().find(|r| r.object == "xtcp_flat_records_v2").expect("a row");
    assert_eq!((row.kind.as_str(), row.action.as_str()), ("table", "unchanged"), "the newest row counts");
}

#[tokio::test]
async fn the_ledger_says_what_ran_and_who() {
    let setup = Setup::new("ledger").await;
    assert!(setup.controller(all_on()).recorded().await.expect("an answer").is_none(), "no ledger yet");
    let first = setup.apply(false).await;
    let recorded = setup.controller(all_on()).recorded().await.expect("an answer").expect("a ledger");
    let of = |id: &str| first.objects.iter().find(|o| o.id == id).expect("an object").clone();
    let v2 = recorded.iter().find(|r| r.object == "xtcp_flat_records_v2").expect("a row");
    assert_eq!((&v2.checksum, v2.action.as_str()), (&of("data.flat_v2").checksum, "created"));
    assert_eq!((v2.platform.as_str(), v2.engine_version.as_str()), ("single", env!("CARGO_PKG_VERSION")));
    assert_eq!(v2.schemas_version, setup.definitions.manifest.release);
    assert!(v2.holder.contains('#'), "{}", v2.holder);
    let own: Vec<&Recorded> = recorded.iter().filter(|r| r.object == setup.database.name).collect();
    assert_eq!((own.len(), own[0].kind.as_str()), (1, "database"));
    assert!(recorded.iter().any(|r| r.object == "schema_migrations"), "the ledger records itself");
    assert_eq!(recorded.len(), setup.definitions.objects.len() - 2, "all but the topics");

    setup.database.execute("ALTER TABLE {db}.xtcp_flat_records_v2 DROP COLUMN tag").await;
    setup.database.execute("ALTER TABLE {db}.xtcp_flat_records_v1 MODIFY COLUMN nsid UInt64").await;
    setup.apply(false).await;
    #[derive(Deserialize)]
    struct Statement {
        statement: String,
        action: String,
    }
    let sql = "SELECT statement, action FROM {db}.schema_migrations WHERE object = 'xtcp_flat_records_v2' \
               ORDER BY applied_at DESC LIMIT 1";
    let row = setup.database.query::<Statement>(sql).await.remove(0);
    assert_eq!(row.action, "altered");
    let expected =
        format!("ALTER TABLE `{}`.`xtcp_flat_records_v2` ADD COLUMN IF NOT EXISTS `tag`", setup.database.name);
    assert!(row.statement.starts_with(&expected), "{}", row.statement);
    let sql = "SELECT count() AS n FROM {db}.schema_migrations WHERE object = 'xtcp_flat_records_v1'";
    let rows: Vec<Count> = setup.database.query(sql).await;
    assert_eq!(rows[0].n, 1, "what is refused isn't recorded: the last good checksum stays");
}

#[tokio::test]
async fn a_server_that_dies_in_the_middle_is_finished_by_the_next_pass() {
    let setup = Setup::new("dies").await;
    for after in [3_u64, 6, 9, 12] {
        let proxy = Proxy::new(&proxy::clickhouse(), Mode::Pass);
        let mut config = support::clickhouse(&setup.database.name);
        config.urls = vec![format!("http://{}", proxy.address).parse().expect("a URL")];
        let client = Client::new(&config).expect("a client");
        let dying = async {
            tokio::time::sleep(Duration::from_millis(after * 60)).await;
            proxy.set(Mode::Away);
        };
        let dials = briefly();
        let pass = xtcp_ingest::bootstrap::pass(&client, &setup.topics, &setup.definitions, &setup.parameters, &dials);
        let (ended, ()) = tokio::join!(pass, dying);
        if let Err(error) = ended {
            assert!(matches!(error, Error::Unanswered { .. } | Error::Occupied(_)), "{error}");
            assert!(!error.is_fatal());
        }
    }
    // What was taken and could not be given back lapses; here nobody waits for that.
    setup.database.execute("TRUNCATE TABLE IF EXISTS {db}.schema_lock").await;
    assert_eq!(setup.apply(false).await.state, State::Converged);
    assert_empty(&setup.plan().await);
}

#[tokio::test]
async fn a_table_of_700_kb_is_created_and_one_more_byte_than_allowed_is_not() {
    let mut columns = String::new();
    for column in 0..30 {
        let labels: Vec<String> = (0..310).map(|n| format!("'{}_{column}_{n}' = {n}", "label".repeat(12))).collect();
        columns += &format!("  - {{ name: c{column}, type: \"Enum16({})\" }}\n", labels.join(", "));
    }
    let table = format!("table: {{ name: subject, engine: MergeTree, order_by: [c0] }}\ncolumns:\n{columns}");
    let setup = Setup::with("large", Definitions::of(&tree_with(&table)).expect("sound")).await;
    let platform = xtcp_ingest::bootstrap::Platform::Single;
    let statements = setup.definitions.statements(&setup.parameters, platform);
    let size = statements.iter().find(|s| s.id == "data.subject").expect("a statement").sql.len() as u64;
    assert!(size > 690_000, "{size}");
    let tight = config::Bootstrap { ddl_max_query_size: size + 4095, ..all_on() };
    let report = setup.report(tight).await;
    let text = report.error.as_ref().expect("too large").to_string();
    let needed = format!("its statement of {size} bytes needs max_query_size {}", size + 4096);
    assert!(text.contains(&needed) && text.contains("`ddl_max_query_size`"), "{text}");
    assert_eq!(ids(&report, Action::Skipped), ["data.subject"]);
    let enough = config::Bootstrap { ddl_max_query_size: size + 4096, ..all_on() };
    assert_eq!(ids(&setup.report(enough).await, Action::Created), ["data.subject"]);
    assert_empty(&setup.plan().await);
}

#[tokio::test]
async fn what_an_overlay_gets_wrong_on_the_server_does_not_fail_the_pass() {
    let manifest = "manifest_version: 1\nrelease: s\ndatabases: [{ key: data, parameter: data_database }]\nparameters:\n  \
                    data_database: { description: d, setting: XTCP_INGEST_CLICKHOUSE_DATABASE, default: xtcp }\nobjects:\n  \
                    - { id: a, kind: table, database: data, defines: site/a, topology: resolved, additive: true }\n  \
                    - { id: v, kind: view, database: data, defines: site/v, topology: resolved, additive: true }\n";
    let files = [
        ("manifest.yaml", manifest),
        (
            "site/a.yaml",
            "table: { name: site, engine: MergeTree, order_by: [x] }\ncolumns: [{ name: x, type: UInt8 }]\n",
        ),
        ("site/v.sql", "CREATE OR REPLACE VIEW {db}.site_view AS SELECT nonsense FROM {db}.site\n"),
    ];
    let definitions = Definitions::embedded().expect("sound").overlaid(&Tree::from_files("overlay", files));
    assert_eq!(definitions.overlay_refused, [""; 0]);
    let setup = Setup::with("overlay", definitions).await;
    let report = setup.report(all_on()).await;
    assert_eq!(report.state, State::Converged, "{:?}", report.error);
    assert_eq!(ids(&report, Action::Skipped), ["v"]);
    assert!(ids(&report, Action::Created).contains(&"a"));
}

#[tokio::test]
async fn a_pass_with_nothing_to_do_asks_a_handful_of_questions() {
    let mut files: Vec<(String, String)> =
        Tree::embedded().files().map(|(p, f)| (p.to_owned(), f.text.clone())).collect();
    for number in 0..60 {
        let manifest = files.iter_mut().find(|(path, _)| path == "manifest.yaml").expect("a manifest");
        manifest.1 += &format!(
            "  - {{ id: many.t{number}, kind: table, database: data, defines: tables/t{number}, topology: resolved, \
             additive: true }}\n"
        );
        let table = format!(
            "table: {{ name: t{number}, engine: MergeTree, order_by: [x] }}\ncolumns: [{{ name: x, type: UInt8 }}]\n"
        );
        files.push((format!("tables/t{number}.yaml"), table));
    }
    let tree = Tree::from_files("ddl", files.iter().map(|(p, t)| (p.as_str(), t.as_str())));
    let setup = Setup::with("many", Definitions::of(&tree).expect("sound")).await;
    assert_eq!(setup.apply(false).await.count(Action::Created), 72);
    let proxy = Proxy::new(&proxy::clickhouse(), Mode::Pass);
    let mut config = support::clickhouse(&setup.database.name);
    config.urls = vec![format!("http://{}", proxy.address).parse().expect("a URL")];
    let before = proxy.requests();
    let counted = Client::new(&config).expect("a client");
    let pass =
        xtcp_ingest::bootstrap::pass(&counted, &setup.topics, &setup.definitions, &setup.parameters, &all_on()).await;
    assert_eq!(pass.expect("a pass").count(Action::Unchanged), 72);
    let asked = proxy.requests() - before;
    assert!(asked <= 25, "{asked} requests for 72 objects");
}

#[tokio::test]
async fn topics_are_created_compared_and_never_altered() {
    let setup = Setup::new("topics").await;
    setup.apply(false).await;
    let created = setup.topics.topics.lock().expect("no panic")["xtcp"].clone();
    assert_eq!((created.partitions, created.replication), (12, 1), "clipped to the one broker");
    assert!(!created.config.iter().any(|(key, _)| key == "remote.storage.enable"), "off leaves the key out");
    assert_eq!(setup.plan().await.topics_drift, [""; 0]);

    let config = [("retention.ms", "1"), ("cleanup.policy", "delete"), ("max.message.bytes", "16777216")];
    let config = config.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let shape = TopicShape { partitions: 24, replication: 2, config };
    setup.topics.shapes.lock().expect("no panic").insert("xtcp".to_owned(), Ok(shape));
    let report = setup.apply(true).await;
    assert_eq!(
        report.topics_drift,
        [
            "xtcp: replication factor is 2; declared is 1 (partitions have to be reassigned)",
            "xtcp: has 24 partitions; declared are 12 (they can't be taken away)",
            "xtcp: retention.ms is 1; declared is 604800000",
        ]
    );
    assert_eq!((report.state, report.count(Action::Refused)), (State::Converged, 0), "it is told, and nothing else");
    let unreadable = Err(TopicsError::lasting("not authorized"));
    setup.topics.shapes.lock().expect("no panic").insert("xtcp".to_owned(), unreadable);
    assert_eq!(setup.plan().await.topics_drift, ["xtcp: drift unknown, its shape can't be read: not authorized"]);
}

#[tokio::test]
async fn dials_shape_the_topics_that_are_created() {
    let setup = Setup::new("dials").await;
    *setup.topics.brokers.lock().expect("no panic") = Some(Err(TopicsError::passing("who knows")));
    let dials = config::Bootstrap { tiered_storage: true, topic_max_message_bytes: Some(1_000_000), ..all_on() };
    assert_eq!(setup.report(dials).await.state, State::Converged);
    let topics = setup.topics.topics.lock().expect("no panic").clone();
    let value = |topic: &str, key: &str| topics[topic].config.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone());
    for topic in ["xtcp", "xtcp_dead"] {
        assert_eq!(value(topic, "max.message.bytes").as_deref(), Some("1000000"));
        assert_eq!(topics[topic].replication, 1, "nobody knows how many brokers there are");
    }
    assert_eq!(value("xtcp", "remote.storage.enable").as_deref(), Some("true"));
    assert_eq!(value("xtcp_dead", "remote.storage.enable"), None, "a dead-letter topic is never tiered");

    // A dead-letter topic is tried for the whole wait, a landing topic that is refused fails the pass at once.
    setup.topics.topics.lock().expect("no panic").remove("xtcp_dead");
    *setup.topics.refusal.lock().expect("no panic") = Some(TopicsError::lasting("policy: 1 partition at most"));
    let start = std::time::Instant::now();
    let report = setup.report(briefly()).await;
    let text = report.error.as_ref().expect("it is missing").to_string();
    assert!(text.contains("topic xtcp_dead is missing: policy: 1 partition at most"), "{text}");
    assert!(start.elapsed() >= Duration::from_secs(1) && report.state == State::Failed);
    setup.topics.topics.lock().expect("no panic").clear();
    let report = setup.report(all_on()).await;
    let text = report.error.as_ref().expect("it is missing").to_string();
    assert!(text.contains("can't create topic xtcp: policy") && start.elapsed() < Duration::from_secs(15), "{text}");
}

#[tokio::test]
async fn without_kafka_clickhouse_converges_all_the_same() {
    let setup = Setup::new("no_kafka").await;
    *setup.topics.is_away.lock().expect("no panic") = true;
    let report = setup.report(briefly()).await;
    assert_eq!(report.state, State::Failed);
    let text = report.error.as_ref().expect("an error").to_string();
    assert!(text.starts_with("Kafka did not answer within 1 s: Kafka: 127.0.0.1:9 refuses"), "{text}");
    assert!(report.topics_skipped.is_some());
    let recorded = setup.controller(all_on()).recorded().await.expect("an answer").expect("a ledger");
    assert_eq!(recorded.len(), 10, "what was applied is recorded");
    *setup.topics.is_away.lock().expect("no panic") = false;
    assert_eq!(ids(&setup.apply(false).await, Action::Created), ["topic.landing", "topic.dead_letter"]);
}
