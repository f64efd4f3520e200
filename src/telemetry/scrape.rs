//! What a scrape shows: everything that was recorded, at one moment.

use std::sync::PoisonError;

use super::{catalogue, events::Memory, recorder::Telemetry};
use crate::lane::Reason;

impl Telemetry {
    /// The text of a scrape. The ledger's sums in it are of one moment.
    #[must_use]
    pub fn render(&self) -> String {
        // Nobody else writes the ledger's metrics, so two renderings must not publish at once.
        let _one = self.rendering.lock().unwrap_or_else(PoisonError::into_inner);
        self.publish_ledger();
        self.publish_partitions();
        let Memory { open, sealed, queued, paused } = *self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        for (part, bytes) in [("open", open), ("sealed", sealed), ("queued", queued)] {
            self.gauge(&catalogue::MEMORY, &[part]).set(float(bytes));
        }
        self.gauge(&catalogue::PAUSED, &[]).set(float(paused as u64));
        self.publish_schema();
        self.gauge(&catalogue::BUILD_INFO, &[env!("CARGO_PKG_VERSION")]).set(1.0);
        self.handle.render()
    }

    fn publish_ledger(&self) {
        let sums = self.ledger.sums();
        self.counter(&catalogue::MESSAGES_CONSUMED, &[]).absolute(sums.messages);
        self.counter(&catalogue::BYTES_CONSUMED, &[]).absolute(sums.bytes);
        self.counter(&catalogue::PIECES_CONSUMED, &[]).absolute(sums.consumed);
        self.gauge(&catalogue::PIECES_HELD, &[]).set(float(sums.held));
        self.counter(&catalogue::PIECES_RETURNED, &[]).absolute(sums.returned);
        for (epoch, rows) in &sums.placed {
            self.counter(&catalogue::ROWS_PLACED, &[&epoch.to_string()]).absolute(*rows);
        }
        // A reason is there before its first piece, or the first increase would be seen by nobody.
        for reason in Reason::ALL {
            let pieces = sums.diverted.get(&reason).copied().unwrap_or_default();
            self.counter(&catalogue::PIECES_DIVERTED, &[reason.code()]).absolute(pieces);
        }
        for ((epoch, field), count) in &sums.unknown_fields {
            self.counter(&catalogue::UNKNOWN_FIELDS, &[&epoch.to_string(), &field.to_string()]).absolute(*count);
        }
        for (epoch, count) in &sums.not_utf8 {
            self.counter(&catalogue::NOT_UTF8, &[&epoch.to_string()]).absolute(*count);
        }
    }

    fn publish_schema(&self) {
        let schema = self.schema.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.gauge(&catalogue::SCHEMA_STATE, &[]).set(f64::from(schema.state.number()));
        let Some(version) = schema.version else { return };
        self.gauge(&catalogue::SCHEMA_SECONDS, &[]).set(schema.seconds);
        self.gauge(&catalogue::SCHEMA_REFUSED, &[]).set(float(schema.refused as u64));
        self.gauge(&catalogue::SCHEMA_VERSION, &[&version]).set(1.0);
    }

    fn publish_partitions(&self) {
        let partitions = self.partitions.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for ((topic, partition), values) in partitions {
            let labels = [&*topic, &partition.to_string()];
            if let Some(lag) = values.lag {
                self.gauge(&catalogue::LAG, &labels).set(float(lag));
            }
            if let Some(offset) = values.committed {
                self.gauge(&catalogue::COMMITTED_OFFSET, &labels).set(float(offset));
            }
        }
    }
}

/// Prometheus knows no other numbers; exact up to 2^53.
#[allow(clippy::cast_precision_loss)]
fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use std::{
        collections::{BTreeMap, BTreeSet},
        sync::Arc,
        time::Duration,
    };

    use super::*;
    use crate::{
        bootstrap::{Report, State},
        lane::Counts,
        telemetry::{Closed, Outcome, Rebalance, catalogue::Kind},
    };

    fn value(scrape: &str, series: &str) -> Option<f64> {
        scrape.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok())
    }

    #[test]
    fn the_ledger_shows_in_a_scrape() {
        let telemetry = Telemetry::new();
        let mut held = telemetry.ledger().open();
        held.consumed(2, 300, 5);
        let scrape = telemetry.render();
        assert_eq!(value(&scrape, "xtcp_ingest_messages_consumed_total"), Some(2.0));
        assert_eq!(value(&scrape, "xtcp_ingest_pieces_held"), Some(5.0));
        assert_eq!(value(&scrape, "xtcp_ingest_pieces_diverted_total{reason=\"truncated\"}"), Some(0.0));

        held.settle(&Counts {
            placed: BTreeMap::from([(1, 3)]),
            diverted: BTreeMap::from([(Reason::Truncated, 2)]),
            unknown_fields: BTreeMap::from([((1, 5), 7)]),
            ..Counts::default()
        });
        let scrape = telemetry.render();
        assert_eq!(value(&scrape, "xtcp_ingest_pieces_consumed_total"), Some(5.0));
        assert_eq!(value(&scrape, "xtcp_ingest_rows_placed_total{epoch=\"1\"}"), Some(3.0));
        assert_eq!(value(&scrape, "xtcp_ingest_pieces_diverted_total{reason=\"truncated\"}"), Some(2.0));
        assert_eq!(value(&scrape, "xtcp_ingest_pieces_held"), Some(0.0));
        assert_eq!(value(&scrape, "xtcp_ingest_unknown_fields_total{epoch=\"1\",field=\"5\"}"), Some(7.0));
    }

    #[test]
    fn what_alerts_see_increase_is_there_from_the_start() {
        let scrape = Telemetry::new().render();
        for outcome in ["continued", "first", "missing", "foreign", "corrupt", "recreated", "expired", "truncated"] {
            let series = format!("xtcp_ingest_takeovers_total{{outcome=\"{outcome}\"}}");
            assert_eq!(value(&scrape, &series), Some(0.0), "{scrape}");
        }
        for event in ["assigned", "revoked", "lost", "foreign"] {
            assert_eq!(value(&scrape, &format!("xtcp_ingest_rebalances_total{{event=\"{event}\"}}")), Some(0.0));
        }
        assert_eq!(value(&scrape, "xtcp_ingest_offsets_gone_total"), Some(0.0));
        assert_eq!(value(&scrape, "xtcp_ingest_schema_lease_release_failures_total"), Some(0.0));
    }

    #[test]
    fn the_gauges_of_a_partition_leave_with_it() {
        let (telemetry, topic) = (Telemetry::new(), Arc::from("xtcp"));
        telemetry.lag(&topic, 0, 5);
        telemetry.lag(&topic, 1, 6);
        telemetry.committed(&topic, 0, 7);
        let series = "xtcp_ingest_lag_messages{topic=\"xtcp\",partition=\"0\"}";
        for _ in 0..3 {
            let scrape = telemetry.render();
            assert_eq!(value(&scrape, series), Some(5.0), "an unchanged gauge stays\n{scrape}");
            assert_eq!(value(&scrape, "xtcp_ingest_committed_offset{topic=\"xtcp\",partition=\"0\"}"), Some(7.0));
        }
        telemetry.forget(&topic, 0);
        let scrape = telemetry.render();
        assert_eq!(value(&scrape, series), None, "{scrape}");
        assert!(!scrape.contains("xtcp_ingest_committed_offset{"), "{scrape}");
        assert_eq!(value(&scrape, "xtcp_ingest_lag_messages{topic=\"xtcp\",partition=\"1\"}"), Some(6.0));
        telemetry.lag(&topic, 0, 8);
        assert_eq!(value(&telemetry.render(), series), Some(8.0), "it came back");
    }

    #[test]
    fn everything_in_a_scrape_is_declared_and_everything_declared_can_be_recorded() {
        let (telemetry, topic) = (Telemetry::new(), Arc::from("xtcp"));
        telemetry.insert("t", Outcome::Acknowledged, 10, 100, Duration::from_millis(20));
        telemetry.insert("t", Outcome::Failed, 10, 100, Duration::from_millis(20));
        telemetry.retry("retry");
        telemetry.closed(Closed::Age);
        telemetry.rebalance(Rebalance::Assigned);
        telemetry.takeover("expired", 3);
        telemetry.missing("t");
        telemetry.lag(&topic, 0, 5);
        telemetry.committed(&topic, 0, 7);
        telemetry.ledger().open().settle(&Counts {
            placed: BTreeMap::from([(2, 0)]),
            unknown_fields: BTreeMap::from([((2, 5), 1)]),
            not_utf8: BTreeMap::from([(2, 1)]),
            ..Counts::default()
        });
        let pass = Report { state: State::Converged, lease_left: true, ..Report::new("1", "xtcp") };
        telemetry.schema_pass(&pass);
        telemetry.schema_pass(&Report::new("1", "xtcp"));
        let scrape = telemetry.render();
        assert_eq!(value(&scrape, "xtcp_ingest_schema_bootstrap_state"), Some(3.0), "running");
        assert_eq!(value(&scrape, "xtcp_ingest_schema_lease_release_failures_total"), Some(1.0));
        let seen: BTreeSet<_> = scrape
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE "))
            .map(|line| line.split_once(' ').expect("name and type"))
            .collect();
        let declared: BTreeSet<_> = catalogue::ALL
            .iter()
            .map(|m| {
                let kind = match m.kind {
                    Kind::Counter => "counter",
                    Kind::Gauge => "gauge",
                    Kind::Histogram => "histogram",
                };
                (m.name, kind)
            })
            .collect();
        assert_eq!(seen, declared);
        for metric in catalogue::ALL {
            assert!(scrape.contains(&format!("# HELP {} {}", metric.name, metric.help)), "{}", metric.name);
        }
        assert_eq!(
            value(&scrape, "xtcp_ingest_inserted_rows_total{table=\"t\"}"),
            Some(10.0),
            "a failed one adds none"
        );
        assert_eq!(value(&scrape, "xtcp_ingest_insert_seconds_count{table=\"t\"}"), Some(2.0));
        assert_eq!(value(&scrape, "xtcp_ingest_insert_seconds_bucket{table=\"t\",le=\"0.025\"}"), Some(2.0));
    }
}
