//! Where the live services are, and a database of its own for each test.

use std::{
    collections::BTreeMap,
    env, fs, thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, de::DeserializeOwned};
use xtcp_ingest::{
    bootstrap::{Definitions, Parameters},
    clickhouse::Client,
    config::{ClickHouse, Secret},
};

use crate::topic::Topic;

/// A database and a topic for one test.
pub async fn bench(test: &str, partitions: i32) -> (Database, Topic) {
    let database = Database::new(test).await;
    let topic = Topic::new(&database.name, partitions).await;
    (database, topic)
}

/// The address of the ClickHouse server.
pub fn clickhouse_url() -> String {
    address("XTCP_INGEST_CLICKHOUSE_URL")
}

/// The addresses of the Kafka brokers.
pub fn kafka_brokers() -> String {
    address("XTCP_INGEST_KAFKA_BROKERS")
}

/// An address from the environment, or from what `make up` wrote down.
fn address(variable: &str) -> String {
    let written = || {
        let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/.dev/env")).ok()?;
        text.lines().find_map(|line| line.strip_prefix(variable)?.strip_prefix('=').map(str::to_owned))
    };
    env::var(variable).ok().filter(|v| !v.is_empty()).or_else(written).unwrap_or_else(|| {
        panic!("{variable} is not set and .dev/env doesn't name it: run `make up`, or set it to a running server")
    })
}

/// How tests reach the server.
pub fn clickhouse(database: &str) -> ClickHouse {
    let url = clickhouse_url();
    ClickHouse {
        urls: vec![url.parse().unwrap_or_else(|e| panic!("XTCP_INGEST_CLICKHOUSE_URL is `{url}`: {e}"))],
        database: database.to_owned(),
        user: env::var("XTCP_INGEST_CLICKHOUSE_USER").unwrap_or_else(|_| "default".to_owned()),
        password: Secret::new(env::var("XTCP_INGEST_CLICKHOUSE_PASSWORD").unwrap_or_default()),
        ca: None,
        insert_timeout: Duration::from_secs(60),
        writers: 1,
        insert_settings: BTreeMap::new(),
    }
}

/// A database that no other test knows, dropped with everything in it at the end. It doesn't exist at the start.
pub struct Database {
    pub name: String,
    pub client: Client,
}

impl Database {
    /// Picks a name, and fails when the server doesn't answer.
    pub async fn new(test: &str) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
        let name = format!("it_{test}_{:x}", now.as_nanos() & 0xffff_ffff_ffff);
        let client = Client::new(&clickhouse(&name)).expect("a client");
        if let Err(error) = client.ping().await {
            panic!("ClickHouse is not reachable, run `make up`: {error}");
        }
        Self { name, client }
    }

    /// The manifest's parameters with this database, and nothing ever leaving a table.
    pub fn parameters(&self, definitions: &Definitions) -> Parameters {
        Parameters::supplied(&definitions.manifest, |setting| match setting {
            "XTCP_INGEST_CLICKHOUSE_DATABASE" => Some(self.name.clone()),
            "XTCP_INGEST_KAFKA_DEAD_LETTER_TOPIC" => Some("xtcp_dead".to_owned()),
            "XTCP_INGEST_RETENTION_DAYS" | "XTCP_INGEST_ERRORS_RETENTION_DAYS" => Some("0".to_owned()),
            _ => None,
        })
    }

    /// Runs a statement in which `{db}` stands for this database.
    pub async fn execute(&self, sql: &str) {
        let sql = sql.replace("{db}", &self.name);
        self.client.execute(&sql, &[]).await.unwrap_or_else(|e| panic!("{e}"));
    }

    /// Reads rows of a query in which `{db}` stands for this database.
    pub async fn query<T: DeserializeOwned>(&self, sql: &str) -> Vec<T> {
        let sql = sql.replace("{db}", &self.name);
        self.client.query(&sql, &[]).await.unwrap_or_else(|e| panic!("{e}"))
    }

    /// The number of rows of a table or a query in which `{db}` stands for this database.
    pub async fn count(&self, of: &str) -> u64 {
        #[derive(Deserialize)]
        struct Count {
            n: u64,
        }
        self.query::<Count>(&format!("SELECT count() AS n FROM {of}")).await.remove(0).n
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let (sql, config) = (format!("DROP DATABASE IF EXISTS `{}`", self.name), clickhouse(&self.name));
        // A thread of its own: the runtime of the test may be ending, and can't wait here.
        let dropped = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async { Client::new(&config)?.execute(&sql, &[]).await })
        });
        if let Ok(Err(error)) = dropped.join() {
            eprintln!("database {} is left behind: {error}", self.name);
        }
    }
}
