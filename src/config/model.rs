//! The merged and validated configuration. Built by [`super::load`] only; every value is in range.

use std::{collections::BTreeMap, fmt, net::SocketAddr, path::PathBuf, time::Duration};

/// Everything that `run` and its neighbours read.
#[derive(Debug, Clone)]
pub struct Config {
    /// The topic and how it is read.
    pub kafka: Kafka,
    /// The server and how it is reached.
    pub clickhouse: ClickHouse,
    /// What is promised of each record.
    pub delivery: Delivery,
    /// What becomes of records of an epoch without a definition.
    pub unknown_epoch: UnknownEpoch,
    /// When a lane closes its batch.
    pub batch: Batch,
    /// Bounds of the process.
    pub limits: Limits,
    /// Where `/metrics`, `/livez` and `/readyz` are served.
    pub http: Http,
    /// What the bootstrap may do.
    pub bootstrap: Bootstrap,
    /// What is logged and how.
    pub log: Log,
    /// Days after which records leave their table; 0 keeps them for ever.
    pub retention_days: u32,
    /// Days after which rows leave the error table; 0 keeps them for ever.
    pub errors_retention_days: u32,
    /// The topic for what can't be placed; empty for none.
    pub dead_letter_topic: String,
    /// A `ddl/` tree that replaces the one inside the binary.
    pub schemas_dir: Option<PathBuf>,
    /// A tree of further objects.
    pub overlay_dir: Option<PathBuf>,
}

/// What becomes of records of an epoch without a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnknownEpoch {
    /// They go to the error table.
    #[default]
    Divert,
    /// Their partition waits before the message that holds them.
    Hold,
}

/// The topic and how it is read.
#[derive(Debug, Clone)]
pub struct Kafka {
    /// `host:port`, comma separated.
    pub brokers: String,
    /// The landing topic.
    pub topic: String,
    /// The consumer group.
    pub group: String,
    /// How a message value is cut into envelopes.
    pub framing: Framing,
    /// Further librdkafka properties, passed through as they are (`security.protocol`, `sasl.…`, `ssl.…`).
    pub properties: BTreeMap<String, Secret>,
}

/// How a message value is cut into envelopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Framing {
    /// One or more frames: a varint length, then one envelope.
    #[default]
    Delimited,
    /// A Confluent header (magic 0, schema id, message indexes), then one envelope without a length.
    Confluent,
}

/// What is promised of each record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Delivery {
    /// It is placed, or diverted, once.
    #[default]
    ExactlyOnce,
    /// It is placed, or diverted; more than once perhaps, after a crash.
    AtLeastOnce,
}

/// The server and how it is reached.
#[derive(Debug, Clone)]
pub struct ClickHouse {
    /// `http://host:port` or `https://…`.
    pub urls: Vec<url::Url>,
    /// The database of all objects.
    pub database: String,
    /// The account.
    pub user: String,
    /// Its password; empty for none.
    pub password: Secret,
    /// Certificates of the CAs that vouch for the server, as PEM; `None` for those that the system trusts.
    pub ca: Option<String>,
    /// How long an insert may take before it is given up and sent again.
    pub insert_timeout: Duration,
    /// Inserts under way at once.
    pub writers: usize,
    /// Further settings sent with every insert.
    pub insert_settings: BTreeMap<String, String>,
}

/// When a lane closes its batch: at whichever is first.
#[derive(Debug, Clone, Copy)]
pub struct Batch {
    /// Rows over all tables.
    pub rows: u64,
    /// Bytes of columns over all tables.
    pub bytes: usize,
    /// Age of the oldest message.
    pub age: Duration,
    /// Inserts of a table that age may make begin in a second.
    pub max_inserts_per_second: u64,
}

/// Bounds of the process.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of open and sealed blocks over all partitions at which the lanes stop reading.
    pub memory_bytes: usize,
    /// Lane workers: threads that decode.
    pub workers: usize,
    /// How long a shutdown may take to finish what is in flight.
    pub shutdown_timeout: Duration,
}

/// Where the HTTP surface is served.
#[derive(Debug, Clone, Copy)]
pub struct Http {
    /// The address; loopback unless told otherwise.
    pub listen: SocketAddr,
}

/// What the bootstrap may do.
#[derive(Debug, Clone, Copy)]
pub struct Bootstrap {
    /// Bring what is declared about in ClickHouse.
    pub tables: bool,
    /// Create what is absent in Kafka.
    pub topics: bool,
    /// How long a service that does not answer is waited for, and another process that changes the schema.
    pub wait: Duration,
    /// What kind of server it is.
    pub platform: Platform,
    /// The longest statement that is sent, in bytes, with the room that the server needs besides.
    pub ddl_max_query_size: u64,
    /// Whether the brokers tier to object storage.
    pub tiered_storage: bool,
    /// `max.message.bytes` of created topics, in bytes, instead of what is declared.
    pub topic_max_message_bytes: Option<u32>,
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self {
            tables: true,
            topics: true,
            wait: Duration::from_secs(180),
            platform: Platform::Auto,
            ddl_max_query_size: 16 << 20,
            tiered_storage: false,
            topic_max_message_bytes: None,
        }
    }
}

/// What kind of server the schema is rendered for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Platform {
    /// What the server shows itself to be; never `Single`.
    #[default]
    Auto,
    /// Servers of one's own with Keeper.
    SelfHosted,
    /// ClickHouse Cloud.
    Cloud,
    /// One server without Keeper.
    Single,
}

/// What is logged, on standard error.
#[derive(Debug, Clone)]
pub struct Log {
    /// Levels, in the form of `tracing_subscriber::EnvFilter`. It has been parsed once.
    pub filter: String,
    /// How a line looks.
    pub format: LogFormat,
}

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// A value that never shows in a log, an error or `config check`.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(String);

impl Secret {
    /// Hides a value.
    #[must_use]
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, for the one place that sends it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "\"\"" } else { "\"***\"" })
    }
}
