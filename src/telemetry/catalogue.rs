//! Every metric, once: name, type, labels, unit, meaning. The reference page is made from this.

use std::fmt::Write as _;

use metrics::Unit;

/// One metric.
#[derive(Debug)]
pub struct Metric {
    /// The full name.
    pub name: &'static str,
    /// How it moves.
    pub kind: Kind,
    /// What it counts or measures.
    pub unit: Unit,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// What it means.
    pub help: &'static str,
}

/// How a metric moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only up.
    Counter,
    /// Up and down.
    Gauge,
    /// Observations by size.
    Histogram,
}

macro_rules! metrics {
    ($($id:ident: $name:literal $kind:ident $unit:ident [$($label:literal),*] $help:literal;)*) => {
        $(
            #[doc = $help]
            pub const $id: Metric = Metric {
                name: concat!("xtcp_ingest_", $name),
                kind: Kind::$kind,
                unit: Unit::$unit,
                labels: &[$($label),*],
                help: $help,
            };
        )*
        /// All of them, in the order of the reference page.
        pub static ALL: &[&Metric] = &[$(&$id),*];
    };
}

metrics! {
    MESSAGES_CONSUMED: "messages_consumed_total" Counter Count []
        "Messages read, empty ones included.";
    BYTES_CONSUMED: "bytes_consumed_total" Counter Bytes []
        "Bytes of the values of messages read.";
    PIECES_CONSUMED: "pieces_consumed_total" Counter Count []
        "Records and undecodable pieces found in messages. Equals placed + diverted + held + returned at every scrape.";
    ROWS_PLACED: "rows_placed_total" Counter Count ["epoch"]
        "Rows that ClickHouse has acknowledged in the table of their epoch.";
    PIECES_DIVERTED: "pieces_diverted_total" Counter Count ["reason"]
        "Pieces that ClickHouse has acknowledged in the error table.";
    PIECES_HELD: "pieces_held" Gauge Count []
        "Pieces in open batches and in batches that are not acknowledged yet.";
    PIECES_RETURNED: "pieces_returned_total" Counter Count []
        "Pieces given up before they were acknowledged, when their partition went to another process, which reads them \
         again.";
    UNKNOWN_FIELDS: "unknown_fields_total" Counter Count ["epoch", "field"]
        "Fields skipped in records that were placed, as no layout of the epoch defines their number. Beyond 1000 \
         different ones, or 64 in a few messages, they are counted under field 0.";
    NOT_UTF8: "not_utf8_values_total" Counter Count ["epoch"]
        "Text values placed byte for byte that are not UTF-8.";
    LAG: "lag_messages" Gauge Count ["topic", "partition"]
        "Messages of a partition of this process between the committed offset and the end.";
    COMMITTED_OFFSET: "committed_offset" Gauge Count ["topic", "partition"]
        "The committed offset of a partition of this process: everything before it is placed or diverted.";
    INSERT_SECONDS: "insert_seconds" Histogram Seconds ["table"]
        "Time from sending an insert to its answer, failed ones included.";
    INSERTS: "inserts_total" Counter Count ["table", "outcome"]
        "Inserts by what came of them: `acknowledged` or `failed`. A failed one is sent again.";
    INSERTED_ROWS: "inserted_rows_total" Counter Count ["table"]
        "Rows of acknowledged inserts.";
    INSERTED_BYTES: "inserted_bytes_total" Counter Bytes ["table"]
        "Bytes of acknowledged inserts as sent, compressed.";
    BATCHES_CLOSED: "batches_closed_total" Counter Count ["cause"]
        "Batches closed, by what closed them: `rows`, `bytes`, `age`, `memory`, `drain`, or the `intent` of a former owner.";
    RETRIES: "retries_total" Counter Count ["class"]
        "Inserts sent again, by the class of the error before.";
    BLOCKS_MISSING: "blocks_missing_total" Counter Count ["table"]
        "Blocks that the server had acknowledged as known and that were not there when they were looked for, as it was killed \
         between noting one and keeping it. They are sent again under another token.";
    REBALANCES: "rebalances_total" Counter Count ["event"]
        "Changes of the partitions of this process: `assigned`, `revoked`, `lost`, or `foreign` when another member turned \
         out to commit for one.";
    TAKEOVERS: "takeovers_total" Counter Count ["outcome"]
        "Partitions taken over for delivery exactly once: `continued` and `first` are as they should be; `missing`, \
         `foreign` and `corrupt` tell of the text beside the offset, `recreated`, `expired` and `truncated` of the topic.";
    OFFSETS_GONE: "offsets_gone_total" Counter Count []
        "Offsets between what was committed and what the topic still has, or the other way round, when a partition was \
         taken over.";
    MEMORY: "memory_bytes" Gauge Bytes ["part"]
        "Bytes held: `open` batches, `sealed` ones that are not acknowledged, `queued` messages in the Kafka client.";
    PAUSED: "paused_partitions" Gauge Count []
        "Partitions of this process that don't fetch at the moment, as the queues of others in the Kafka client take all the \
         room. They take turns.";
    SCHEMA_STATE: "schema_bootstrap_state" Gauge Count []
        "How the schema stands: 0 unknown, 1 converged, 2 failed, 3 running, 4 observed.";
    SCHEMA_SECONDS: "schema_bootstrap_duration_seconds" Gauge Seconds []
        "How long the last pass over the schema took.";
    SCHEMA_REFUSED: "schema_objects_refused" Gauge Count []
        "Objects that the last pass found otherwise than declared and left alone.";
    SCHEMA_VERSION: "schema_version_info" Gauge Count ["schemas_version"]
        "1, with the release of the definitions.";
    LEASE_LEFT: "schema_lease_release_failures_total" Counter Count []
        "Passes that could not give the lease back: it lapses at its end.";
    BUILD_INFO: "build_info" Gauge Count ["version"]
        "1, with the version of this process.";
}

/// `docs/metrics.md`.
#[must_use]
pub fn page() -> String {
    let mut page = "# Metrics\n\n<!-- Generated from src/telemetry/catalogue.rs: `UPDATE_DOCS=1 cargo test` writes it \
                    anew. -->\n\nServed at `/metrics` in Prometheus' text format. \
                    Rules for Prometheus that warn of what matters are in \
                    [alerts.yaml](alerts.yaml).\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n"
        .to_owned();
    for metric in ALL {
        let kind = match metric.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let labels = metric.labels.iter().map(|l| format!("`{l}`")).collect::<Vec<_>>().join(", ");
        let _ = writeln!(page, "| `{}` | {kind} | {labels} | {} |", metric.name, metric.help);
    }
    page
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::generated::assert_current;

    #[test]
    fn names_are_unique_and_say_what_prometheus_expects() {
        let names: BTreeSet<_> = ALL.iter().map(|m| m.name).collect();
        assert_eq!(names.len(), ALL.len());
        for metric in ALL {
            assert_eq!(metric.name.ends_with("_total"), metric.kind == Kind::Counter, "{}", metric.name);
            assert!(metric.help.ends_with('.'), "{}", metric.name);
            assert!(!metric.help.contains("  "), "{}", metric.name);
        }
    }

    /// What a rule says of a metric that there isn't, Prometheus takes for "nothing is amiss".
    #[test]
    fn alerts_ask_for_metrics_and_labels_that_there_are() {
        let rules: serde_json::Value = serde_saphyr::from_str(include_str!("../../docs/alerts.yaml")).expect("YAML");
        let rules = rules["groups"][0]["rules"].as_array().expect("rules");
        assert!(rules.len() > 5);
        for rule in rules {
            let expr = rule["expr"].as_str().expect("an expression");
            assert!(rule["annotations"]["summary"].is_string() && rule["labels"]["severity"].is_string(), "{rule}");
            let mut asked = 0;
            for (at, _) in expr.match_indices("xtcp_ingest_") {
                let rest = &expr[at..];
                let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(rest.len());
                let metric = ALL.iter().find(|metric| metric.name == &rest[..end]);
                let metric = metric.unwrap_or_else(|| panic!("{} has no metric {}", rule["alert"], &rest[..end]));
                if let Some(matcher) = rest[end..].strip_prefix('{') {
                    let label = matcher.split(['=', '!']).next().expect("a label");
                    assert!(metric.labels.contains(&label), "{} has no label {label}", metric.name);
                }
                asked += 1;
            }
            assert!(asked > 0, "{rule}");
        }
    }

    #[test]
    fn the_page_is_current() {
        assert_current("docs/metrics.md", &page());
    }
}
