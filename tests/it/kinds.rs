//! Kinds of objects that the core has none of: materialized views and roles, as an overlay declares them.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use xtcp_ingest::{
    bootstrap::{Action, Controller, Definitions, Report, State},
    clickhouse::Client,
    tree::Tree,
};

use crate::{
    interposer::{Answer, Interposer},
    setup::{QUICK, Setup, all_off, all_on, assert_empty, ids},
    support,
};

const MANIFEST: &str = "\
manifest_version: 1
release: site
parameters:
  data_database: { description: d, setting: XTCP_INGEST_CLICKHOUSE_DATABASE, default: xtcp }
databases:
  - { key: data, parameter: data_database }
objects:
";

/// The core with an overlay: lines of its manifest, and its files.
fn overlaid(objects: &str, files: &[(&str, &str)]) -> Definitions {
    let manifest = MANIFEST.to_owned() + objects;
    let files = [("manifest.yaml", manifest.as_str())].into_iter().chain(files.iter().copied());
    let definitions = Definitions::embedded().expect("sound").overlaid(&Tree::from_files("overlay", files));
    assert_eq!(definitions.overlay_refused, [""; 0]);
    definitions
}

const REASONS: &str = concat!(
    "  - { id: site.reasons, kind: table, database: data, defines: site/reasons, topology: resolved, additive: true }\n",
    "  - { id: site.feed, kind: materialized_view, database: data, defines: site/feed, depends_on: [site.reasons], ",
    "topology: resolved, additive: false }\n",
);
const TABLE: &str =
    "table: { name: site_reasons, engine: MergeTree, order_by: [reason] }\ncolumns: [{ name: reason, type: String }]\n";

fn feed(query: &str) -> Definitions {
    let view =
        format!("-- Reasons alone.\nCREATE MATERIALIZED VIEW {{db}}.site_feed TO {{db}}.site_reasons AS\n{query}\n");
    overlaid(REASONS, &[("site/reasons.yaml", TABLE), ("site/feed.sql", &view)])
}

fn refused(report: &Report) -> String {
    assert_eq!(
        (report.state, ids(report, Action::Refused)),
        (State::Converged, vec!["site.feed"]),
        "{:?}",
        report.error
    );
    report.refused().join("\n")
}

#[tokio::test]
async fn a_materialized_view_is_created_compared_and_never_altered() {
    let setup = Setup::with("feed", feed("SELECT reason FROM {db}.xtcp_flat_records_errors")).await;
    let report = setup.apply(false).await;
    assert_eq!(report.count(Action::Created), setup.definitions.objects.len(), "{:?}", report.error);
    assert_empty(&setup.plan().await);
    setup.pass(all_off()).await.expect("everything is there");
    setup.database.execute("INSERT INTO {db}.xtcp_flat_records_errors (reason) SELECT 'framing'").await;
    assert_eq!(setup.database.count("{db}.site_reasons WHERE reason = 'framing'").await, 1, "it writes");

    // Another query is refused with both, also when drift may be carried out.
    let setup =
        Setup { definitions: feed("SELECT concat(reason, '!') AS reason FROM {db}.xtcp_flat_records_errors"), ..setup };
    for allow_drift in [false, true] {
        let text = refused(&setup.apply(allow_drift).await);
        assert!(
            text.contains("query is SELECT reason FROM") && text.contains("declared is SELECT concat(reason, '!')"),
            "{text}"
        );
        assert!(text.contains("drop it by hand, and the next pass creates it"), "{text}");
    }
    // So is another target, and whatever else bears the name.
    setup.database.execute("DROP TABLE {db}.site_feed SYNC").await;
    setup.database.execute("CREATE TABLE {db}.other (reason String) ENGINE = Memory").await;
    let query = "SELECT concat(reason, '!') AS reason FROM {db}.xtcp_flat_records_errors";
    setup.database.execute(&format!("CREATE MATERIALIZED VIEW {{db}}.site_feed TO {{db}}.other AS {query}")).await;
    let text = refused(&setup.apply(true).await);
    let name = &setup.database.name;
    assert!(
        text.contains(&format!("table that it writes to is {name}.other; declared is {name}.site_reasons")),
        "{text}"
    );
    setup.database.execute("DROP TABLE {db}.site_feed SYNC").await;
    setup.database.execute("CREATE VIEW {db}.site_feed AS SELECT 1 AS reason").await;
    assert!(refused(&setup.apply(true).await).contains("engine is View; declared is MaterializedView"));
    // Dropped by hand, it is created.
    setup.database.execute("DROP VIEW {db}.site_feed SYNC").await;
    assert_eq!(ids(&setup.apply(false).await, Action::Created), ["site.feed"]);
    assert_empty(&setup.plan().await);
}

const READER: &str =
    "  - { id: site.reader, kind: role, database: data, defines: site/reader, topology: fixed, additive: false }\n";

fn reader(grants: &str) -> Definitions {
    let role = format!("CREATE ROLE IF NOT EXISTS site_reader;\n{grants}\n");
    overlaid(READER, &[("site/reader.sql", &role)])
}

#[tokio::test]
async fn a_server_that_keeps_no_roles_is_named_and_holds_nothing_else_back() {
    // The engine here has nowhere to keep a role.
    let setup = Setup::with("no_roles", reader("GRANT SELECT ON {db}.* TO site_reader;")).await;
    let report = setup.report(all_on()).await;
    assert_eq!(
        (report.state, ids(&report, Action::Skipped)),
        (State::Converged, vec!["site.reader"]),
        "{:?}",
        report.error
    );
    let outcome = report.objects.iter().find(|o| o.id == "site.reader").expect("it is there");
    let reason = outcome.reason.as_deref().expect("a reason");
    assert!(reason.contains("code 514") && reason.contains("no writeable access storage"), "{reason}");
    // The statements are such as the engine reads.
    for sql in outcome.statements.iter().chain(&setup.plan().await.objects.last().expect("the role").statements) {
        setup.database.query::<serde_json::Value>(&format!("EXPLAIN AST {sql} FORMAT JSONEachRow")).await;
    }
}

/// What the server would have kept: the name alone, and what was sent.
#[derive(Default)]
struct Kept {
    is_there: AtomicBool,
    sent: Mutex<Vec<String>>,
}

#[tokio::test]
async fn a_role_is_asserted_when_its_definition_changes_and_left_alone_otherwise() {
    let kept = Arc::new(Kept::default());
    let seen = kept.clone();
    let interposer = Interposer::new(move |statement| {
        if statement.starts_with("CREATE ROLE") || statement.starts_with("GRANT") {
            seen.is_there.store(true, Ordering::SeqCst);
            seen.sent.lock().expect("alive").push(statement.to_owned());
            return Answer::Reply("");
        }
        match (statement.contains("FROM system.roles"), seen.is_there.load(Ordering::SeqCst)) {
            (true, true) => Answer::Reply("{\"name\":\"site_reader\"}\n"),
            (true, false) => Answer::Reply(""),
            (false, _) => Answer::Forward,
        }
    });
    let setup = Setup::with("roles", reader("GRANT SELECT ON {db}.* TO site_reader;")).await;
    let mut config = support::clickhouse(&setup.database.name);
    config.urls = vec![interposer.url.parse().expect("a URL")];
    let client = Client::new(&config).expect("a client");
    let pass = async |definitions: &Definitions| {
        let controller = Controller::new(&client, &setup.topics, definitions, &setup.parameters, all_on());
        let controller = controller.timing(QUICK);
        let plan = controller.plan().await.expect("a plan");
        let report = controller.pass().await;
        assert_eq!(report.state, State::Converged, "{:?}", report.error);
        let action =
            |report: &Report| report.objects.iter().find(|o| o.id == "site.reader").expect("it is there").action;
        assert_eq!(action(&plan), action(&report), "a plan says what a pass does");
        (action(&report), std::mem::take(&mut *kept.sent.lock().expect("alive")))
    };
    let name = &setup.database.name;
    let (create, grant) =
        ("CREATE ROLE IF NOT EXISTS site_reader", format!("GRANT SELECT ON `{name}`.* TO site_reader"));
    assert_eq!(pass(&setup.definitions).await, (Action::Created, vec![create.to_owned(), grant.clone()]));
    assert_eq!(pass(&setup.definitions).await, (Action::Unchanged, vec![]));
    let more = reader("GRANT SELECT ON {db}.* TO site_reader;\nGRANT SHOW ON {db}.* TO site_reader;");
    let show = format!("GRANT SHOW ON `{name}`.* TO site_reader");
    assert_eq!(pass(&more).await, (Action::Altered, vec![create.to_owned(), grant.clone(), show.clone()]));
    assert_eq!(pass(&more).await, (Action::Unchanged, vec![]));
    // Dropped by somebody, it comes back.
    kept.is_there.store(false, Ordering::SeqCst);
    assert_eq!(pass(&more).await, (Action::Created, vec![create.to_owned(), grant, show]));
}
