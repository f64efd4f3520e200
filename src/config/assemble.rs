//! From merged values to the typed configuration, and the rules that only the whole shows.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fs,
    net::SocketAddr,
    path::PathBuf,
    time::Duration,
};

use reqwest::Certificate;
use url::Url;

use super::{
    kind::Value,
    merge::Merged,
    model::{
        Batch, Bootstrap, ClickHouse, Config, Delivery, Framing, Http, Kafka, Limits, Log, LogFormat, Platform, Secret,
        UnknownEpoch,
    },
    origin::Origin,
    problem::Problem,
    properties, units,
};

/// Builds the configuration.
pub(super) fn assemble(merged: &Merged, problems: &mut Vec<Problem>) -> Config {
    let values = Values { merged, taken: RefCell::default() };
    let config = Config {
        kafka: Kafka {
            brokers: values.text("kafka.brokers"),
            topic: values.text("kafka.topic"),
            group: values.text("kafka.group"),
            framing: match values.text("kafka.framing").as_str() {
                "confluent" => Framing::Confluent,
                _ => Framing::Delimited,
            },
            properties: values.map("kafka.properties").into_iter().map(|(k, v)| (k, Secret::new(v))).collect(),
        },
        clickhouse: ClickHouse {
            urls: values.urls("clickhouse.url"),
            database: values.text("clickhouse.database"),
            user: values.text("clickhouse.user"),
            password: password(&values, problems),
            ca: ca(&values, problems),
            insert_timeout: values.span("clickhouse.insert_timeout"),
            writers: values.count("clickhouse.writers"),
            insert_settings: values.map("clickhouse.insert_settings"),
        },
        delivery: match values.text("delivery").as_str() {
            "at_least_once" => Delivery::AtLeastOnce,
            _ => Delivery::ExactlyOnce,
        },
        unknown_epoch: match values.text("unknown_epoch").as_str() {
            "hold" => UnknownEpoch::Hold,
            _ => UnknownEpoch::Divert,
        },
        batch: Batch {
            rows: values.number("batch.rows"),
            bytes: values.size("batch.bytes"),
            age: values.span("batch.age"),
            max_inserts_per_second: values.number("batch.max_inserts_per_second"),
        },
        limits: Limits {
            memory_bytes: values.size("limits.memory"),
            workers: values.count("workers"),
            shutdown_timeout: values.span("shutdown_timeout"),
        },
        http: Http { listen: values.address("http.listen") },
        bootstrap: Bootstrap {
            tables: values.switch("bootstrap.tables"),
            topics: values.switch("bootstrap.topics"),
            wait: Duration::from_secs(values.number("bootstrap.wait_seconds")),
            platform: match values.text("platform").as_str() {
                "self_hosted" => Platform::SelfHosted,
                "cloud" => Platform::Cloud,
                "single" => Platform::Single,
                _ => Platform::Auto,
            },
            ddl_max_query_size: values.number("ddl_max_query_size"),
            tiered_storage: values.switch("kafka.tiered_storage"),
            topic_max_message_bytes: values.optional_number("kafka.topic_max_message_bytes"),
        },
        log: Log {
            filter: values.text("log"),
            format: match values.text("log_format").as_str() {
                "json" => LogFormat::Json,
                _ => LogFormat::Text,
            },
        },
        retention_days: values.days("retention_days"),
        errors_retention_days: values.days("errors_retention_days"),
        dead_letter_topic: values.text("kafka.dead_letter_topic"),
        schemas_dir: values.path("schemas_dir"),
        overlay_dir: values.path("overlay_dir"),
    };
    if config.batch.bytes > config.limits.memory_bytes {
        problems.push(Problem::Contradiction(format!(
            "`batch.bytes` ({}, {}) is more than `limits.memory` ({}, {}), so no batch could ever be filled",
            units::show_size(config.batch.bytes as u64),
            values.origin("batch.bytes"),
            units::show_size(config.limits.memory_bytes as u64),
            values.origin("limits.memory"),
        )));
    }
    if config.dead_letter_topic == config.kafka.topic {
        problems.push(Problem::Contradiction(format!(
            "`kafka.dead_letter_topic` ({}) and `kafka.topic` ({}) are both `{}`: what can't be placed would come back",
            values.origin("kafka.dead_letter_topic"),
            values.origin("kafka.topic"),
            config.kafka.topic,
        )));
    }
    problems.extend(properties::refused(&config.kafka.properties).map(|(name, why)| Problem::Property {
        origin: values.origin_in("kafka.properties", name).clone(),
        name: name.to_owned(),
        why,
    }));
    if config.delivery == Delivery::ExactlyOnce {
        problems.extend(what_exactly_once_rules_out(&config.kafka).map(Problem::Contradiction));
    }
    debug_assert!(values.all_taken(), "a setting is read, checked and then not used");
    config
}

/// Properties that would take the ground from under the protocol.
fn what_exactly_once_rules_out(kafka: &Kafka) -> impl Iterator<Item = String> {
    let allowed: [(&str, &[&str]); 2] = [
        ("isolation.level", &["read_committed"]),
        ("auto.offset.reset", &["smallest", "earliest", "beginning", "largest", "latest", "end"]),
    ];
    allowed.into_iter().filter_map(|(name, allowed)| {
        let given = kafka.properties.get(name)?.reveal();
        (!allowed.contains(&given)).then(|| {
            let allowed = allowed.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ");
            format!(
                "`delivery` is `exactly_once`, and the property `{name}` is `{given}`: it can be {allowed} then; give \
                 another, or `delivery = \"at_least_once\"`"
            )
        })
    })
}

fn password(values: &Values<'_>, problems: &mut Vec<Problem>) -> Secret {
    const FILE: &str = "clickhouse.password_file";
    let (text, file) = (values.text("clickhouse.password"), values.path(FILE));
    let Some(path) = file else { return Secret::new(text) };
    if !text.is_empty() {
        problems.push(Problem::Contradiction(format!(
            "`clickhouse.password` ({}) and `{FILE}` ({}) are both given; keep one",
            values.origin("clickhouse.password"),
            values.origin(FILE),
        )));
        return Secret::default();
    }
    let text = values.file(FILE, path, problems).unwrap_or_default();
    Secret::new(text.strip_suffix('\n').map_or(text.as_str(), |t| t.strip_suffix('\r').unwrap_or(t)))
}

fn ca(values: &Values<'_>, problems: &mut Vec<Problem>) -> Option<String> {
    const FILE: &str = "clickhouse.ca_file";
    let path = values.path(FILE)?;
    if !values.urls("clickhouse.url").iter().any(|url| url.scheme() == "https") {
        problems.push(Problem::Contradiction(format!(
            "`{FILE}` ({}) is given and `clickhouse.url` ({}) has no `https` address, so no certificate would be looked at",
            values.origin(FILE),
            values.origin("clickhouse.url"),
        )));
    }
    let pem = values.file(FILE, path.clone(), problems)?;
    let cause = match Certificate::from_pem_bundle(pem.as_bytes()) {
        Ok(certificates) if !certificates.is_empty() => return Some(pem),
        Ok(_) => String::new(),
        Err(error) => format!(" ({error})"),
    };
    let fault = format!(
        "holds no certificate in PEM form{cause}; name a file of CA certificates, each between `-----BEGIN CERTIFICATE-----` \
         and `-----END CERTIFICATE-----`"
    );
    problems.push(Problem::Content { origin: values.origin(FILE).clone(), key: FILE, path, fault });
    None
}

/// Typed access by key. A key or type that the table of settings doesn't have is a fault of the program, which any
/// start at all would show.
struct Values<'a> {
    merged: &'a Merged,
    taken: RefCell<BTreeSet<&'static str>>,
}

impl Values<'_> {
    fn get(&self, key: &'static str) -> Option<&Value> {
        self.taken.borrow_mut().insert(key);
        self.merged.get(key).map(|entry| &entry.value)
    }

    fn origin(&self, key: &'static str) -> &Origin {
        self.merged.get(key).map_or(&Origin::Preset, |entry| &entry.origin)
    }

    /// Where an entry of a map came from.
    fn origin_in(&self, key: &'static str, name: &str) -> &Origin {
        let origin = self.merged.get(key).and_then(|entry| entry.origins.get(name));
        origin.unwrap_or_else(|| self.origin(key))
    }

    fn all_taken(&self) -> bool {
        super::settings::ALL.iter().all(|s| self.taken.borrow().contains(s.key))
    }

    fn text(&self, key: &'static str) -> String {
        match self.get(key) {
            Some(Value::Text(text)) => text.clone(),
            other => unreachable!("{key} is {other:?}"),
        }
    }

    fn switch(&self, key: &'static str) -> bool {
        match self.get(key) {
            Some(Value::Switch(on)) => *on,
            other => unreachable!("{key} is {other:?}"),
        }
    }

    fn number(&self, key: &'static str) -> u64 {
        match self.get(key) {
            Some(Value::Number(number)) => *number,
            other => unreachable!("{key} is {other:?}"),
        }
    }

    fn optional_number(&self, key: &'static str) -> Option<u32> {
        match self.get(key)? {
            Value::Number(number) => Some(u32::try_from(*number).unwrap_or(u32::MAX)),
            other => unreachable!("{key} is {other:?}"),
        }
    }

    fn count(&self, key: &'static str) -> usize {
        usize::try_from(self.number(key)).unwrap_or(usize::MAX)
    }

    fn days(&self, key: &'static str) -> u32 {
        u32::try_from(self.number(key)).unwrap_or(u32::MAX)
    }

    fn size(&self, key: &'static str) -> usize {
        match self.get(key) {
            Some(Value::Size(bytes)) => usize::try_from(*bytes).unwrap_or(usize::MAX),
            other => unreachable!("{key} is {other:?}"),
        }
    }

    fn span(&self, key: &'static str) -> Duration {
        match self.get(key) {
            Some(Value::Span(span)) => *span,
            other => unreachable!("{key} is {other:?}"),
        }
    }

    fn urls(&self, key: &'static str) -> Vec<Url> {
        match self.get(key) {
            Some(Value::Urls(urls)) => urls.clone(),
            other => unreachable!("{key} is {other:?}"),
        }
    }

    fn address(&self, key: &'static str) -> SocketAddr {
        match self.get(key) {
            Some(Value::Address(address)) => *address,
            other => unreachable!("{key} is {other:?}"),
        }
    }

    fn map(&self, key: &'static str) -> BTreeMap<String, String> {
        match self.get(key) {
            Some(Value::Map(entries)) => entries.clone(),
            other => unreachable!("{key} is {other:?}"),
        }
    }

    /// What the file holds that a setting names.
    fn file(&self, key: &'static str, path: PathBuf, problems: &mut Vec<Problem>) -> Option<String> {
        match fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(cause) => {
                problems.push(Problem::File { origin: self.origin(key).clone(), key, path, cause });
                None
            }
        }
    }

    fn path(&self, key: &'static str) -> Option<PathBuf> {
        match self.get(key) {
            Some(Value::Path(path)) => Some(path.clone()),
            None => None,
            other => unreachable!("{key} is {other:?}"),
        }
    }
}
