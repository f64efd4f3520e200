//! `generate`.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    ops::RangeInclusive,
    path::PathBuf,
    process::ExitCode,
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use clap::Args;
use jiff::Timestamp;
use serde_json::{Map, json};

use super::{
    Failure, output,
    settings::{Scope, Settings},
};
use crate::{
    bootstrap::Definitions,
    config::{Config, Framing},
    fleet::{self, Carrier, Destination, Fleet, Mix, OptionError, Options, Pace, Totals},
    telemetry,
};

/// Send the records of a realistic fleet, of any mix of layouts and with any faults, and say what must come of them
///
/// Hosts with their cards, switches, containers and sockets are made up from a seed; a socket stays the same from poll
/// to poll and its counters grow. The same arguments with the same --now give the same bytes. Each record has a number
/// of its own in `inet_diag_msg_socket_cookie`. Records go to the topic, which must be there, or into a file.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n`generate --help` lists the faults and oddities."))]
#[command(after_long_help = after_long_help())]
pub(super) struct Generate {
    /// Records that must land, exactly; those of faults come on top
    #[arg(long, default_value_t = 100_000, value_name = "N")]
    rows: u64,
    /// Layouts with their shares, like `e2=60,e1=20,legacy=7` [default: all, the newer the more]
    #[arg(long, value_name = "LAYOUT=SHARE,…")]
    mix: Option<String>,
    /// Faults with their number, like `truncated=5,framing=0.1%`
    #[arg(long, default_value = "", hide_default_value = true, value_name = "FAULT=N,…")]
    faults: String,
    /// Legal oddities with their number, like `unknown_fields=100`
    #[arg(long, default_value = "", hide_default_value = true, value_name = "ODDITY=N,…")]
    oddities: String,
    /// Hosts
    #[arg(long, default_value_t = 50, value_name = "N")]
    hosts: u32,
    /// Sockets of a host
    #[arg(long, default_value_t = 1000, value_name = "N")]
    sockets: u32,
    /// Records in an envelope: a number, or a range
    #[arg(long, default_value = "100..800", value_name = "FROM..TO", value_parser = range)]
    envelope: RangeInclusive<u32>,
    /// An envelope is closed when its records reach this many bytes
    #[arg(long, default_value_t = 768 << 10, value_name = "BYTES")]
    envelope_bytes: usize,
    /// Every so many envelopes one holds records of all layouts; 0 for never
    #[arg(long, default_value_t = 20, value_name = "N")]
    mixed_every: u32,
    /// Makes fleets differ
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The time of the last poll, like 2026-09-01T12:00:00Z [default: the clock]
    #[arg(long, value_name = "TIME", value_parser = time)]
    now: Option<Timestamp>,
    /// Seconds between the first poll and the last
    #[arg(long, default_value_t = 600, value_name = "SECONDS")]
    span: u64,
    /// The number of the first record
    #[arg(long, default_value_t = 1, value_name = "N")]
    first_cookie: u64,
    /// Rows a second, evenly [default: as fast as it goes]
    #[arg(long, value_name = "ROWS", value_parser = rate)]
    rate: Option<f64>,
    /// Into a file instead of the topic: the frames back to back
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print what was sent as one JSON object
    #[arg(long)]
    json: bool,
    /// With --json, say for each column of each table what its rows must add up to: each value times the row's socket
    /// cookie, modulo 2^64, where a text counts as its CRC-32 and a time as its nanoseconds
    #[arg(long, requires = "json")]
    checksums: bool,
    #[command(flatten)]
    settings: Settings<Heeded>,
}

/// What matters to a producer.
#[derive(Debug, Clone)]
struct Heeded;

impl Scope for Heeded {
    fn heeds(key: &str) -> bool {
        matches!(
            key,
            "kafka.brokers"
                | "kafka.topic"
                | "kafka.framing"
                | "kafka.properties"
                | "schemas_dir"
                | "log"
                | "log_format"
        )
    }
}

impl Generate {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let config = self.settings.clone().load()?.config;
        let definitions = Definitions::open(config.schemas_dir.as_deref()).map_err(|e| Failure::refused(&e))?;
        let options = self.options(&config).map_err(|e| Failure::refused(&e))?;
        let mut fleet = Fleet::new(options, &definitions.registry).map_err(|e| Failure::refused(&e))?;
        let mut destination = self.destination(&config)?;
        let (name, start) = (destination.name(), Instant::now());

        let bar = telemetry::bar(self.rows, "rows");
        let mut pace = self.rate.map(Pace::new);
        for message in fleet.by_ref() {
            let rows = message.expected.row_count();
            if let Some(pace) = &mut pace {
                thread::sleep(pace.wait(rows));
            }
            destination.send(message.payload.as_deref()).map_err(|e| Failure::failed(&e))?;
            bar.inc(rows);
        }
        destination.finish().map_err(|e| Failure::failed(&e))?;
        bar.finish_and_clear();

        let tables = fleet.tables().map(|(epoch, table)| (epoch, table.to_owned())).collect();
        let sent = Sent { name, tables, totals: fleet.totals(), took: start.elapsed() };
        if self.json {
            output::print_json(&sent.json())?
        } else {
            output::print(&sent.text())?
        }
        Ok(ExitCode::SUCCESS)
    }

    fn options(&self, config: &Config) -> Result<Options, OptionError> {
        let carrier = if self.out.is_some() { Carrier::File } else { Carrier::Message(config.kafka.framing) };
        let now = self.now.map_or_else(now_ns, |now| i64::try_from(now.as_nanosecond()).unwrap_or(i64::MAX));
        Ok(Options {
            seed: self.seed,
            now_ns: now,
            span: Duration::from_secs(self.span),
            rows: self.rows,
            hosts: self.hosts,
            sockets: self.sockets,
            mix: self.mix.as_deref().map_or(Ok(Mix::Default), fleet::options::mix)?,
            envelope: self.envelope.clone(),
            envelope_bytes: self.envelope_bytes,
            mixed_every: self.mixed_every,
            first_cookie: self.first_cookie,
            faults: fleet::options::faults(&self.faults, self.rows, carrier)?,
            oddities: fleet::options::oddities(&self.oddities, self.rows, carrier)?,
            framing: config.kafka.framing,
            checksums: self.checksums,
        })
    }

    fn destination(&self, config: &Config) -> Result<Destination, Failure> {
        let Some(path) = &self.out else {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(|e| Failure::failed(&e))?;
            let topic = runtime.block_on(Destination::topic(&config.kafka));
            return topic.map_err(|error| match &error {
                fleet::SendError::NoTopic { .. } => {
                    Failure::failed(&error).hint("create the topic first; `xtcp-ingest run` does when it starts")
                }
                _ => Failure::failed(&error),
            });
        };
        if config.kafka.framing == Framing::Confluent {
            let error = OptionError::Unfit {
                name: "--out",
                how: "with `kafka.framing = confluent`: such messages have no \
                                             length to tell them apart by",
            };
            return Err(Failure::refused(&error));
        }
        Destination::file(path).map_err(|e| Failure::failed(&e))
    }
}

/// What was sent, ready to be shown.
struct Sent {
    name: String,
    tables: BTreeMap<u32, String>,
    totals: Totals,
    took: Duration,
}

impl Sent {
    /// Rows by table, zeros included.
    fn rows(&self) -> impl Iterator<Item = (&str, u64)> {
        let rows = &self.totals.expected.rows;
        self.tables.iter().map(|(epoch, table)| (table.as_str(), rows.get(epoch).copied().unwrap_or_default()))
    }

    fn json(&self) -> serde_json::Value {
        let totals = &self.totals;
        let object = |entries: &mut dyn Iterator<Item = (String, u64)>| -> Map<_, _> {
            entries.map(|(name, count)| (name, json!(count))).collect()
        };
        let mut json = json!({
            "destination": self.name,
            "messages": totals.messages,
            "bytes": totals.bytes,
            "rows": object(&mut self.rows().map(|(table, rows)| (table.to_owned(), rows))),
            "diverted": object(&mut totals.expected.diverted.iter().map(|(r, n)| (r.code().to_owned(), *n))),
            "record_bytes": totals.record_bytes,
            "layouts": object(&mut totals.layouts.iter().map(|(name, n)| (name.clone(), *n))),
            "faults": object(&mut totals.faults.iter().map(|(f, n)| (f.name().to_owned(), *n))),
            "oddities": object(&mut totals.oddities.iter().map(|(o, n)| (o.name().to_owned(), *n))),
            "seconds": self.took.as_secs_f64(),
        });
        if !totals.checksums.is_empty() {
            let tables = totals.checksums.iter().map(|(epoch, checksum)| {
                // As text: most readers of JSON hold no integers of 64 bits.
                let columns = checksum.columns.iter().map(|(name, sum)| (name.clone(), json!(sum.to_string())));
                (self.tables[epoch].clone(), columns.collect::<Map<_, _>>().into())
            });
            json["checksums"] = tables.collect::<Map<_, _>>().into();
        }
        json
    }

    fn text(&self) -> String {
        let totals = &self.totals;
        let mut text = format!(
            "sent {} messages, {} bytes to {} in {:.1} s\n",
            totals.messages,
            totals.bytes,
            self.name,
            self.took.as_secs_f64()
        );
        let mut section = |title: &str, lines: Vec<(&str, u64)>| {
            if !lines.is_empty() {
                let _ = write!(text, "\n{title}\n");
                for (name, count) in lines {
                    let _ = writeln!(text, "  {name:<28} {count:>12}");
                }
            }
        };
        section("rows that must land", self.rows().collect());
        section("pieces that must be diverted", totals.expected.diverted.iter().map(|(r, n)| (r.code(), *n)).collect());
        section("oddities among the rows", totals.oddities.iter().map(|(o, n)| (o.name(), *n)).collect());
        text
    }
}

const EXAMPLES: &str = "\
Examples:
  xtcp-ingest generate --rows 200000 --faults all=5 --json
  xtcp-ingest generate --rows 1000 --mix e2=1 --now 2026-09-01T12:00:00Z --out records.bin
  xtcp-ingest generate --rows 10000000 --rate 50000
";

fn after_long_help() -> String {
    format!(
        "\
{EXAMPLES}
Faults, with the reason that their piece is diverted for. A number is a count or a
percentage of the rows. A reason stands for all its faults in turn, `all` for each fault
(with --out: for each that a file can hold).
{}
Oddities, all of which land:
{}",
        fleet::fault::list(),
        fleet::oddity::list()
    )
}

fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// A time that every table can hold.
fn time(text: &str) -> Result<Timestamp, String> {
    let time = text.parse::<Timestamp>().map_err(|error| error.to_string())?;
    let is_allowed = fleet::options::is_time(time.as_nanosecond());
    if is_allowed { Ok(time) } else { Err(format!("allowed is {}", fleet::options::TIMES)) }
}

/// `N` or `FROM..TO`, the end included.
fn range(text: &str) -> Result<RangeInclusive<u32>, String> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let number = |part: &str| part.trim_start_matches('=').parse::<u32>().ok().filter(|n| *n > 0);
    match (number(from), number(to)) {
        (Some(from), Some(to)) if from <= to => Ok(from..=to),
        _ => Err(format!("allowed is a number from 1 to {}, or a range like 100..800", u32::MAX)),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0);
    rate.ok_or_else(|| "allowed is a positive number".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_numbers_or_two_of_them() {
        assert_eq!(range("5"), Ok(5..=5));
        assert_eq!(range("5..9"), Ok(5..=9));
        assert_eq!(range("5..=9"), Ok(5..=9));
        for bad in ["", "0", "9..5", "a..b", "1.."] {
            assert!(range(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn rates_are_positive() {
        assert_eq!(rate("0.5"), Ok(0.5));
        assert!(rate("0").is_err() && rate("-1").is_err() && rate("inf").is_err() && rate("x").is_err());
    }
}
