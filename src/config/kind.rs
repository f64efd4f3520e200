//! What a setting's text may be, and what it becomes.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, time::Duration};

use tracing_subscriber::EnvFilter;
use url::Url;

use super::units;

/// The kind of a setting: how its text is read and what is allowed.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Text that a rule accepts.
    Text {
        /// Whether the text is allowed.
        rule: fn(&str) -> bool,
        /// The same in words.
        allowed: &'static str,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// `true` or `false`.
    Switch,
    /// A whole number in this range.
    Number { min: u64, max: u64 },
    /// Bytes in this range.
    Size { min: u64, max: u64 },
    /// A duration in this range.
    Span { min: Duration, max: Duration },
    /// An `http` or `https` URL.
    Urls,
    /// An IP address and a port.
    Address,
    /// A path.
    Path,
    /// Names and values that belong to another program.
    Map {
        /// The flag that adds one entry.
        flag: &'static str,
        /// Whether a name is allowed.
        rule: fn(&str) -> bool,
        /// The same in words.
        allowed: &'static str,
    },
}

/// A setting's value after reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    Switch(bool),
    Number(u64),
    Size(u64),
    Span(Duration),
    Urls(Vec<Url>),
    Address(SocketAddr),
    Path(PathBuf),
    Map(BTreeMap<String, String>),
}

impl Kind {
    /// Reads one text. Entries of a map are checked by [`Kind::accepts_name`]; their values are anybody's.
    pub(super) fn read(self, text: &str) -> Option<Value> {
        match self {
            Self::Text { rule, .. } => rule(text).then(|| Value::Text(text.to_owned())),
            Self::Choice(words) => words.contains(&text).then(|| Value::Text(text.to_owned())),
            Self::Switch => text.parse().ok().map(Value::Switch),
            Self::Number { min, max } => text.parse().ok().filter(|n| (min..=max).contains(n)).map(Value::Number),
            Self::Size { min, max } => units::size(text).filter(|n| (min..=max).contains(n)).map(Value::Size),
            Self::Span { min, max } => units::duration(text).filter(|d| (min..=max).contains(d)).map(Value::Span),
            Self::Urls => text.split(',').map(|one| url(one.trim())).collect::<Option<_>>().map(Value::Urls),
            Self::Address => text.parse().ok().map(Value::Address),
            Self::Path => (!text.is_empty()).then(|| Value::Path(PathBuf::from(text))),
            Self::Map { .. } => None,
        }
    }

    /// Whether its value is text, and no number or switch that may be written as one.
    pub(super) const fn is_text(self) -> bool {
        matches!(self, Self::Text { .. } | Self::Choice(_) | Self::Urls | Self::Address | Self::Path)
    }

    /// Whether a map may have an entry of that name.
    pub(super) fn accepts_name(self, name: &str) -> bool {
        matches!(self, Self::Map { rule, .. } if rule(name))
    }

    /// What is allowed, in words that go after "allowed is".
    pub(super) fn allowed(self) -> String {
        match self {
            Self::Text { allowed, .. } | Self::Map { allowed, .. } => allowed.to_owned(),
            Self::Choice(words) => words.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(" or "),
            Self::Switch => "`true` or `false`".to_owned(),
            Self::Number { min, max } => format!("a whole number from {min} to {max}"),
            Self::Size { min, max } => {
                format!("a size from {} to {}", units::show_size(min), units::show_size(max))
            }
            Self::Span { min, max } => {
                format!("a duration from {} to {}, with its unit", units::show_duration(min), units::show_duration(max))
            }
            Self::Urls => "`http://host:port` or `https://host:port`, one or more with commas between them, without credentials, query or fragment"
                .to_owned(),
            Self::Address => "an IP address and a port, like `127.0.0.1:9464` or `[::1]:9464`".to_owned(),
            Self::Path => "a path".to_owned(),
        }
    }
}

impl Value {
    /// The text that reads back as this value; a map is shown entry by entry elsewhere.
    pub(super) fn show(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Switch(on) => on.to_string(),
            Self::Number(n) => n.to_string(),
            Self::Size(bytes) => units::show_size(*bytes),
            Self::Span(duration) => units::show_duration(*duration),
            Self::Urls(urls) => urls.iter().map(Url::to_string).collect::<Vec<_>>().join(","),
            Self::Address(address) => address.to_string(),
            Self::Path(path) => path.display().to_string(),
            Self::Map(entries) => format!("{} entries", entries.len()),
        }
    }
}

/// Credentials belong into settings of their own, which are never shown.
fn url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let plain =
        url.username().is_empty() && url.password().is_none() && url.query().is_none() && url.fragment().is_none();
    (plain && matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
}

/// `host:port`, comma separated. No scheme and no credentials: librdkafka would heed the former and not the latter, and
/// messages name the brokers.
pub(super) fn is_broker_list(text: &str) -> bool {
    text.split(',').all(|broker| {
        broker
            .trim()
            .rsplit_once(':')
            .is_some_and(|(host, port)| is_host(host) && port.parse::<u16>().is_ok_and(|port| port > 0))
    })
}

/// A name, an IPv4 address, or an IPv6 address in brackets.
fn is_host(text: &str) -> bool {
    match text.strip_prefix('[').map(|rest| rest.strip_suffix(']')) {
        Some(address) => address.is_some_and(|address| {
            address.contains(':')
                && address.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, ':' | '.' | '%' | '_' | '-'))
        }),
        None => !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-')),
    }
}

/// A name that Kafka accepts for a topic.
pub(super) fn is_topic(text: &str) -> bool {
    (1..=249).contains(&text.len())
        && !matches!(text, "." | "..")
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

/// A topic's name, or none.
pub(super) fn is_topic_or_none(text: &str) -> bool {
    text.is_empty() || is_topic(text)
}

/// Text that is not empty.
pub(super) fn is_some_text(text: &str) -> bool {
    !text.trim().is_empty()
}

/// Any text at all.
pub(super) fn is_any_text(_: &str) -> bool {
    true
}

/// A name that needs no quotes in SQL.
pub(super) fn is_identifier(text: &str) -> bool {
    text.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// A filter that the log can use.
pub(super) fn is_log_filter(text: &str) -> bool {
    !text.is_empty() && EnvFilter::try_new(text).is_ok()
}

/// librdkafka properties that have settings of their own, or that the delivery stands on.
pub(super) const RESERVED_PROPERTIES: [&str; 8] = [
    "bootstrap.servers",
    "metadata.broker.list",
    "group.id",
    "transactional.id",
    "transaction.timeout.ms",
    "enable.auto.commit",
    "enable.auto.offset.store",
    "enable.partition.eof",
];

/// A librdkafka property that this service doesn't set itself.
pub(super) fn is_free_property(name: &str) -> bool {
    is_some_text(name) && !RESERVED_PROPERTIES.contains(&name)
}

/// Settings that every insert has from this service, which win over any other.
pub(super) const RESERVED_INSERT_SETTINGS: [&str; 8] = [
    "async_insert",
    "input_format_native_allow_types_conversion",
    "insert_deduplicate",
    "insert_deduplication_token",
    "deduplicate_blocks_in_dependent_materialized_views",
    "max_insert_block_size",
    "min_insert_block_size_rows",
    "min_insert_block_size_bytes",
];

/// What ClickHouse's HTTP interface takes in a request beside settings: who asks, in which session, how the body is packed.
const REQUEST_PARAMETERS: [&str; 18] = [
    "buffer_size",
    "client_protocol_version",
    "close_session",
    "compress",
    "database",
    "decompress",
    "default_format",
    "password",
    "query",
    "query_id",
    "quota_key",
    "role",
    "session_check",
    "session_id",
    "session_timeout",
    "stacktrace",
    "user",
    "wait_end_of_query",
];

/// A ClickHouse setting that this service doesn't send itself. What a query's parameters are called begins with `param_`.
pub(super) fn is_free_insert_setting(name: &str) -> bool {
    is_identifier(name)
        && !name.starts_with("param_")
        && !REQUEST_PARAMETERS.contains(&name)
        && !RESERVED_INSERT_SETTINGS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broker_lists_name_a_port_each() {
        assert!(is_broker_list("127.0.0.1:9092"));
        assert!(is_broker_list("a:1, b:2,[::1]:3"));
        assert!(is_broker_list("kafka-1.example_net:9092,[fe80::1%eth0]:9092"));
        for bad in ["", "a", "a:", ":1", "a:0", "a:70000", "a:1,", "a b:1", "[a]:1", "[::1:1", "::1:1"] {
            assert!(!is_broker_list(bad), "{bad}");
        }
    }

    #[test]
    fn broker_lists_hold_no_scheme_and_no_credentials() {
        for bad in ["SASL://u:p@h:9092", "u:p@h:9092", "u@h:9092", "PLAINTEXT://h:9092", "h:1,ssl://h:2", "h/p:1"] {
            assert!(!is_broker_list(bad), "{bad}");
        }
    }

    #[test]
    fn topics_are_what_kafka_accepts() {
        assert!(is_topic("xtcp") && is_topic("a.b_c-1"));
        for bad in ["", ".", "..", "a b", "ä", &"x".repeat(250)] {
            assert!(!is_topic(bad), "{bad}");
        }
    }

    #[test]
    fn urls_carry_no_secret_and_no_query() {
        assert!(Kind::Urls.read("http://127.0.0.1:8123").is_some());
        assert!(Kind::Urls.read("https://host/path/").is_some());
        for bad in
            ["host:8123", "ftp://host", "http://u@host", "http://u:p@host", "http://host/?x=1", "http://host/#x", ""]
        {
            assert!(Kind::Urls.read(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn what_the_service_sets_itself_is_not_free() {
        assert!(is_free_property("security.protocol") && !is_free_property(""));
        assert!(RESERVED_PROPERTIES.iter().all(|name| !is_free_property(name)));
        assert!(is_free_insert_setting("insert_quorum") && !is_free_insert_setting("a b"));
        assert!(RESERVED_INSERT_SETTINGS.iter().all(|name| !is_free_insert_setting(name)));
    }

    #[test]
    fn parameters_of_the_request_are_no_insert_settings() {
        for name in ["user", "password", "session_id", "role", "quota_key", "query_id", "param_x", "query", "database"]
        {
            assert!(!is_free_insert_setting(name), "{name}");
        }
    }
}
