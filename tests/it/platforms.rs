//! Every statement of every platform, read by the real engine, also those that it can't carry out.

use serde::Deserialize;
use xtcp_ingest::bootstrap::{Definitions, Parameters, Platform};

use crate::support::Database;

#[derive(Deserialize)]
struct Formatted {
    text: String,
}

#[tokio::test]
async fn the_engine_reads_every_statement() {
    let database = Database::new("platforms").await;
    let definitions = Definitions::embedded().expect("sound");
    let parameters = Parameters::supplied(&definitions.manifest, |_| None);
    let mut seen = 0;
    for platform in Platform::ALL {
        for statement in definitions.statements(&parameters, platform) {
            let sql =
                format!("SELECT formatQuerySingleLine({}) AS text", xtcp_ingest::clickhouse::literal(&statement.sql));
            let rows: Vec<Formatted> =
                database.client.query(&sql, &[]).await.unwrap_or_else(|e| panic!("{platform} {}: {e}", statement.id));
            assert!(rows[0].text.starts_with("CREATE "), "{}", rows[0].text);
            seen += 1;
        }
    }
    assert_eq!(seen, 3 * definitions.statements(&parameters, Platform::Single).len());
    let broken = "SELECT formatQuerySingleLine('CREATE TABLE a (b UInt8) ENGINE = ') AS text";
    assert!(database.client.query::<Formatted>(broken, &[]).await.is_err(), "what is no statement isn't read");
}
