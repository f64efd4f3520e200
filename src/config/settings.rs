//! Every setting, once: the file, the environment, the flags, the errors, `config check` and the reference page are
//! all made from this table.

use std::time::Duration;

use super::kind::{self, Kind};

/// What every environment variable of this service starts with.
pub const ENVIRONMENT_PREFIX: &str = "XTCP_INGEST_";

/// The environment variable that names the configuration file, as `--config` does.
pub const FILE_VARIABLE: &str = "XTCP_INGEST_CONFIG";

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// Its name in the file: `table.name`.
    pub key: &'static str,
    /// What its text may be.
    pub kind: Kind,
    /// Its value when nothing gives one.
    pub preset: Preset,
    /// Whether its value is never shown. A secret has no flag: the arguments of a process are there for all to read.
    pub secret: bool,
    /// What it does, for the reference page and the help.
    pub doc: &'static str,
}

/// The value of a setting that nothing gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// This text.
    Text(&'static str),
    /// No value.
    Absent,
    /// The number of cores that this process may use.
    Cores,
}

impl Setting {
    /// The environment variable; a map has none.
    #[must_use]
    pub fn variable(&self) -> Option<String> {
        let name = || format!("{ENVIRONMENT_PREFIX}{}", self.key.replace('.', "_").to_uppercase());
        (!self.is_map()).then(name)
    }

    /// The flag without its dashes; a secret has none.
    #[must_use]
    pub fn flag(&self) -> Option<String> {
        match self.kind {
            Kind::Map { flag, .. } => Some(flag.to_owned()),
            _ if self.secret => None,
            _ => Some(self.key.replace(['.', '_'], "-")),
        }
    }

    /// Whether the setting holds names and values of its own.
    #[must_use]
    pub fn is_map(&self) -> bool {
        matches!(self.kind, Kind::Map { .. })
    }
}

/// The setting of that key.
#[must_use]
pub fn find(key: &str) -> Option<&'static Setting> {
    ALL.iter().find(|s| s.key == key)
}

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

const fn text(key: &'static str, preset: &'static str, rule: fn(&str) -> bool, allowed: &'static str) -> Setting {
    of(key, Kind::Text { rule, allowed }, Preset::Text(preset))
}

const fn of(key: &'static str, kind: Kind, preset: Preset) -> Setting {
    Setting { key, kind, preset, secret: false, doc: "" }
}

impl Setting {
    const fn doc(self, doc: &'static str) -> Self {
        Self { doc, ..self }
    }

    const fn secret(self) -> Self {
        Self { secret: true, ..self }
    }
}

/// All settings, in the order of the reference page.
pub static ALL: &[Setting] = &[
    text(
        "kafka.brokers",
        "127.0.0.1:9092",
        kind::is_broker_list,
        "`host:port`, several with commas between, without scheme or credentials",
    )
    .doc("The brokers to ask first; they name the others."),
    text("kafka.topic", "xtcp", kind::is_topic, "1 to 249 letters, digits, `.`, `_` or `-`").doc("The landing topic."),
    text("kafka.dead_letter_topic", "", kind::is_topic_or_none, "1 to 249 letters, digits, `.`, `_` or `-`, or nothing").doc(
        "A topic for what can't be placed, which the bootstrap creates where it is absent: without it this service is not \
         ready. Empty for none. The error table gets every diverted piece in any case.",
    ),
    text("kafka.group", "xtcp", kind::is_some_text, "a name that is not empty")
        .doc("The consumer group. All processes of one tier share it; its offsets say what has been placed."),
    of("kafka.framing", Kind::Choice(&["delimited", "confluent"]), Preset::Text("delimited")).doc(
        "How a message value is cut: `delimited` is one or more envelopes, each behind its length; `confluent` is one \
         envelope behind a Confluent header.",
    ),
    of(
        "kafka.properties",
        Kind::Map {
            flag: "kafka-property",
            rule: kind::is_free_property,
            allowed: "any librdkafka property but those that this service sets itself (`bootstrap.servers`, \
                      `metadata.broker.list`, `group.id`, `transactional.id`, `transaction.timeout.ms`, \
                      `enable.auto.commit`, `enable.auto.offset.store`, `enable.partition.eof`)",
        },
        Preset::Absent,
    )
    .secret()
    .doc(
        "Further librdkafka properties, passed through as they are: `security.protocol`, `sasl.…`, `ssl.…`. \
         docs/security.md shows which ones each protection needs. What librdkafka doesn't take is refused. With \
         `delivery = \"exactly_once\"`, `isolation.level` can be `read_committed` alone, and `auto.offset.reset` one of \
         `smallest`, `earliest`, `beginning`, `largest`, `latest`, `end`.",
    ),
    of("kafka.tiered_storage", Kind::Switch, Preset::Text("false")).doc(
        "The brokers tier to object storage: the landing topic is created with `remote.storage.enable`. When off, the key \
         is left out.",
    ),
    of("kafka.topic_max_message_bytes", Kind::Number { min: 1024, max: 1 << 30 }, Preset::Absent).doc(
        "`max.message.bytes` of every topic that is created, instead of what the definitions say. Managed brokers may cap \
         it.",
    ),
    of("clickhouse.url", Kind::Urls, Preset::Text("http://127.0.0.1:8123")).doc(
        "ClickHouse's HTTP interface. Several servers of the same tables have commas between them: the first that can be \
         reached is used. Exactly-once delivery needs them to be replicas of each other.",
    ),
    text("clickhouse.database", "xtcp", kind::is_identifier, "letters, digits and `_`, no digit first")
        .doc("The database of all tables and views."),
    text("clickhouse.user", "default", kind::is_some_text, "a name that is not empty").doc("The account."),
    text("clickhouse.password", "", kind::is_any_text, "any text").secret().doc("The account's password."),
    of("clickhouse.password_file", Kind::Path, Preset::Absent)
        .doc("A file that holds the password; a line end after it is not part of it. Instead of `clickhouse.password`."),
    of("clickhouse.ca_file", Kind::Path, Preset::Absent).doc(
        "A file of CA certificates (PEM), one of which has to vouch for a server of `https`, instead of those that the \
         system trusts.",
    ),
    of("clickhouse.insert_timeout", Kind::Span { min: SECOND, max: HOUR }, Preset::Text("2m"))
        .doc("How long one insert may take before it is given up and sent again."),
    of("clickhouse.writers", Kind::Number { min: 1, max: 256 }, Preset::Text("4")).doc("Inserts under way at once."),
    of(
        "clickhouse.insert_settings",
        Kind::Map {
            flag: "clickhouse-insert-setting",
            rule: kind::is_free_insert_setting,
            allowed: "any ClickHouse setting but those that this service sends itself (`async_insert`, \
                      `input_format_native_allow_types_conversion`, `insert_deduplicate`, `insert_deduplication_token`, \
                      `deduplicate_blocks_in_dependent_materialized_views`, `max_insert_block_size`, \
                      `min_insert_block_size_rows`, `min_insert_block_size_bytes`, and the parameters of the request, \
                      like `user`, `password`, `role`, `session_id`, `query_id`)",
        },
        Preset::Absent,
    )
    .doc("Further settings sent with every insert, for instance `insert_quorum`."),
    of("batch.rows", Kind::Number { min: 1, max: 10_000_000 }, Preset::Text("131072"))
        .doc("A partition's batch is closed at this many rows over all tables, or at `batch.bytes` or `batch.age`."),
    of("batch.bytes", Kind::Size { min: 64 << 10, max: 4 << 30 }, Preset::Text("96MiB"))
        .doc(
            "A partition's batch is closed at this size of its columns before compression. No more than `limits.memory`.",
        ),
    of("batch.age", Kind::Span { min: Duration::from_millis(1), max: HOUR }, Preset::Text("1s"))
        .doc(
            "A partition's batch is closed when its first message has waited for this long. Ten times as long while the \
             partition is not read to its end, and longer still while inserts can't keep up, so that parts grow instead of \
             their number.",
        ),
    of("batch.max_inserts_per_second", Kind::Number { min: 1, max: 100_000 }, Preset::Text("20")).doc(
        "Inserts into one table that this process may begin in a second because of `batch.age`: where it reads more \
         partitions than this in a second of age, the age grows with their number, and with it the time until a row can be \
         read. Batches that are full don't wait for it.",
    ),
    of("limits.memory", Kind::Size { min: 1 << 20, max: 1 << 40 }, Preset::Text("160MiB")).doc(
        "Open and closed batches of all partitions together: above it no message is read until an insert is done. Counted beside \
         it: up to 64 MiB of the Kafka client's queues over all partitions, more only where a single message is larger; and \
         what the process needs for itself, columns that are kept for the next batch among it.",
    ),
    of("delivery", Kind::Choice(&["exactly_once", "at_least_once"]), Preset::Text("exactly_once")).doc(
        "What is promised of each record: `exactly_once`, or `at_least_once` for a server that doesn't recognise a block \
         that is sent again: rows may be doubled after a crash. docs/delivery.md says what either stands on.",
    ),
    of("unknown_epoch", Kind::Choice(&["divert", "hold"]), Preset::Text("divert")).doc(
        "What becomes of records whose `schema_version` has no definition: `divert` keeps them in the error table, from \
         where `migrate replay` places them later; with `hold` their partition waits before the message that holds them, \
         until a process with the definition reads it.",
    ),
    of("workers", Kind::Number { min: 1, max: 256 }, Preset::Cores).doc("Threads that decode; one per core unless given."),
    of("shutdown_timeout", Kind::Span { min: Duration::ZERO, max: HOUR }, Preset::Text("30s"))
        .doc("How long a shutdown may take to finish and commit what is in flight."),
    of("http.listen", Kind::Address, Preset::Text("127.0.0.1:9464"))
        .doc("Where `/metrics`, `/livez`, `/readyz` and `/api/v1/` are served. There is no access control: loopback \
              unless the network is trusted."),
    of("bootstrap.tables", Kind::Switch, Preset::Text("true"))
        .doc("Create the database, tables and views that are absent. When off, an absent one stops the start."),
    of("bootstrap.topics", Kind::Switch, Preset::Text("true"))
        .doc("Create the topics that are absent. When off, an absent one stops the start."),
    of("bootstrap.wait_seconds", Kind::Number { min: 0, max: 86_400 }, Preset::Text("180"))
        .doc("How long the bootstrap waits for a service that does not answer, and for another process that changes the schema."),
    of("platform", Kind::Choice(&["auto", "self_hosted", "cloud", "single"]), Preset::Text("auto")).doc(
        "What kind of ClickHouse the schema is made for. `auto` asks the server, then looks at the host name; `self_hosted` \
         and `cloud` pin it; `single` is one server without Keeper, with plain tables, and has to be asked for.",
    ),
    of("ddl_max_query_size", Kind::Number { min: 262_144, max: 1 << 30 }, Preset::Text("16777216")).doc(
        "The most that a schema statement may ask for as `max_query_size`, in bytes: its own size and 4096. One that needs \
         more is refused before it is sent.",
    ),
    // A row's time and the days are added up in 32 bits of seconds, which end in 2106.
    of("retention_days", Kind::Number { min: 0, max: 3650 }, Preset::Text("31"))
        .doc("Days after which records leave their table; 0 keeps them for ever."),
    of("errors_retention_days", Kind::Number { min: 0, max: 3650 }, Preset::Text("1"))
        .doc("Days after which diverted pieces leave the error table; 0 keeps them for ever."),
    of("schemas_dir", Kind::Path, Preset::Absent)
        .doc("A directory of definitions that replaces the one inside the binary."),
    of("overlay_dir", Kind::Path, Preset::Absent)
        .doc("A directory of further definitions, with a manifest of its own. What it gets wrong never hurts the rest."),
    text("log", "info", kind::is_log_filter, "a level (`error`, `warn`, `info`, `debug`, `trace`) or filters like `info,xtcp_ingest=debug`")
        .doc("What is logged, on standard error."),
    of("log_format", Kind::Choice(&["text", "json"]), Preset::Text("text")).doc("How a log line looks."),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_name_is_unique_in_each_of_the_three_places() {
        let unique = |names: Vec<String>| {
            let count = names.len();
            assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), count, "{names:?}");
        };
        unique(ALL.iter().map(|s| s.key.to_owned()).collect());
        unique(ALL.iter().filter_map(Setting::variable).chain([FILE_VARIABLE.to_owned()]).collect());
        unique(ALL.iter().filter_map(Setting::flag).collect());
    }

    #[test]
    fn every_setting_has_a_text_and_a_preset_that_is_allowed() {
        for setting in ALL {
            assert!(setting.doc.ends_with('.'), "{}: {:?}", setting.key, setting.doc);
            for text in [setting.doc, &setting.kind.allowed()] {
                assert!(!text.contains("  ") && !text.contains('\n'), "{}: {text:?}", setting.key);
            }
            if let Preset::Text(text) = setting.preset {
                assert!(setting.kind.read(text).is_some(), "{}: {text}", setting.key);
            }
        }
    }

    #[test]
    fn what_is_refused_is_named() {
        let allowed = |key: &str| find(key).expect("a setting").kind.allowed();
        for (key, names) in [
            ("kafka.properties", &kind::RESERVED_PROPERTIES[..]),
            ("clickhouse.insert_settings", &kind::RESERVED_INSERT_SETTINGS[..]),
        ] {
            for name in names {
                assert!(allowed(key).contains(&format!("`{name}`")), "{key}: {name}");
            }
        }
    }

    #[test]
    fn names_that_others_rely_on_stay() {
        let variable = |key: &str| find(key).and_then(Setting::variable);
        assert_eq!(variable("kafka.brokers").as_deref(), Some("XTCP_INGEST_KAFKA_BROKERS"));
        assert_eq!(variable("clickhouse.password_file").as_deref(), Some("XTCP_INGEST_CLICKHOUSE_PASSWORD_FILE"));
        assert_eq!(variable("bootstrap.wait_seconds").as_deref(), Some("XTCP_INGEST_BOOTSTRAP_WAIT_SECONDS"));
        assert_eq!(variable("retention_days").as_deref(), Some("XTCP_INGEST_RETENTION_DAYS"));
        assert_eq!(find("kafka.brokers").and_then(Setting::flag).as_deref(), Some("kafka-brokers"));
        assert_eq!(find("kafka.properties").and_then(Setting::flag).as_deref(), Some("kafka-property"));
        assert_eq!(find("clickhouse.password").and_then(Setting::flag), None);
    }
}
