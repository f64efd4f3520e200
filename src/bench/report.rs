//! What was measured, for people and for programs.

use std::fmt;

use serde_json::{Value, json};

use super::{Corpus, Passes, stages::Round};

/// The medians over all rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Messages of the corpus.
    pub messages: u64,
    /// Bytes of the corpus.
    pub bytes: u64,
    /// Rows that came of it, the diverted pieces among them.
    pub rows: u64,
    /// Diverted pieces.
    pub diverted: u64,
    /// Rounds that were measured.
    pub rounds: usize,
    /// The stages on one core.
    pub stages: Vec<Stage>,
    /// How many times as fast as prost's decoding alone our decoding, routing and encoding is, on the messages that prost
    /// can decode. `None` if there is none.
    pub ratio_to_prost: Option<f64>,
    /// Messages that prost's newest types can't decode record by record.
    pub not_for_prost: u64,
    /// Diverted pieces of the messages that prost can decode.
    pub comparable_diverted: u64,
    /// Threads of the run on all cores.
    pub threads: usize,
    /// Rows a second of all threads together, from message value to compressed block.
    pub all_cores_rows_per_second: f64,
    /// The same of one thread while no other works.
    pub one_core_rows_per_second: f64,
    /// Bytes of the Native blocks.
    pub native_bytes: u64,
    /// Bytes of the blocks after compression.
    pub packed_bytes: u64,
}

/// One stage on one core.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// The stable name.
    pub name: &'static str,
    /// Rows a second.
    pub rows_per_second: f64,
    /// Bytes of message values a second.
    pub bytes_per_second: f64,
    /// Nanoseconds a row.
    pub ns_per_row: f64,
}

impl Report {
    pub(super) fn new(corpus: &Corpus, rounds: &[Round], threads: usize, passes: Passes) -> Self {
        // The same in each round.
        let last = rounds.last().copied().unwrap_or_default();
        let rows = corpus.rows();
        let comparable_bytes = corpus.comparable().map(|message| message.len() as u64).sum();
        let stage = |name, rows: u64, bytes: u64, time: &dyn Fn(&Round) -> f64| {
            let seconds = median(rounds.iter().map(time));
            let rows = rows as f64;
            Stage {
                name,
                rows_per_second: rows / seconds,
                bytes_per_second: bytes as f64 / seconds,
                ns_per_row: seconds * 1e9 / rows,
            }
        };
        let bytes = corpus.bytes();
        let mut stages = vec![
            stage("decode_route_encode", rows, bytes, &|round| round.encode.as_secs_f64()),
            stage("compress", rows, bytes, &|round| round.compress.as_secs_f64()),
        ];
        let mut ratio_to_prost = None;
        if corpus.comparable_rows() > 0 {
            let time = |round: &Round| round.prost.as_secs_f64();
            stages.push(stage("prost_decode", corpus.comparable_rows(), comparable_bytes, &time));
            let ratio = |round: &Round| round.prost.as_secs_f64() / round.comparable.as_secs_f64();
            ratio_to_prost = Some(median(rounds.iter().map(ratio)));
        }
        Self {
            messages: corpus.messages().len() as u64,
            bytes,
            rows,
            diverted: corpus.diverted(),
            rounds: rounds.len(),
            stages,
            ratio_to_prost,
            not_for_prost: (corpus.messages().len() - corpus.comparable().count()) as u64,
            comparable_diverted: corpus.comparable_diverted(),
            threads,
            all_cores_rows_per_second: rows as f64 * threads as f64 / passes.together,
            one_core_rows_per_second: rows as f64 / passes.alone,
            native_bytes: last.native_bytes,
            packed_bytes: last.packed_bytes,
        }
    }

    /// How many times as much all threads do as one alone.
    #[must_use]
    pub fn ratio_to_one_core(&self) -> f64 {
        self.all_cores_rows_per_second / self.one_core_rows_per_second
    }

    /// One object; `stages` with name, rows and bytes a second, nanoseconds a row.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let stages = self.stages.iter().map(|stage| {
            json!({
                "name": stage.name,
                "rows_per_second": stage.rows_per_second,
                "bytes_per_second": stage.bytes_per_second,
                "ns_per_row": stage.ns_per_row,
            })
        });
        json!({
            "messages": self.messages,
            "bytes": self.bytes,
            "rows": self.rows,
            "diverted": self.diverted,
            "rounds": self.rounds,
            "stages": stages.collect::<Vec<_>>(),
            "ratio_to_prost": self.ratio_to_prost,
            "messages_not_for_prost": self.not_for_prost,
            "diverted_beside_prost": self.comparable_diverted,
            "all_cores": {
                "threads": self.threads,
                "rows_per_second": self.all_cores_rows_per_second,
                "rows_per_second_of_one": self.one_core_rows_per_second,
                "ratio_to_one": self.ratio_to_one_core(),
            },
            "native_bytes": self.native_bytes,
            "compressed_bytes": self.packed_bytes,
        })
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let per_row = |bytes: u64| bytes as f64 / self.rows as f64;
        writeln!(
            f,
            "{} messages, {} rows ({} diverted), {:.0} bytes a row; Native {:.0}, compressed {:.0}; median of {} rounds\n",
            self.messages,
            self.rows,
            self.diverted,
            per_row(self.bytes),
            per_row(self.native_bytes),
            per_row(self.packed_bytes),
            self.rounds
        )?;
        writeln!(f, "{:<22}{:>14}{:>12}{:>12}", "one core", "rows/s", "MB/s in", "ns/row")?;
        for stage in &self.stages {
            let megabytes = stage.bytes_per_second / 1e6;
            writeln!(
                f,
                "{:<22}{:>14.0}{megabytes:>12.0}{:>12.0}",
                stage.name, stage.rows_per_second, stage.ns_per_row
            )?;
        }
        match self.ratio_to_prost {
            Some(ratio) => {
                write!(f, "\ndecode_route_encode is {ratio:.2} times as fast as prost_decode")?;
                if self.not_for_prost > 0 {
                    write!(f, ", on the messages that prost can decode (not {} of them)", self.not_for_prost)?;
                }
                if self.comparable_diverted > 0 {
                    write!(f, "; {} of their records are diverted, which is more work", self.comparable_diverted)?;
                }
            }
            None => f.write_str("\nprost can decode none of the messages record by record: no ratio")?,
        }
        writeln!(
            f,
            "\n{} threads, message to compressed block: {:.0} rows/s together, {:.2} times one alone",
            self.threads,
            self.all_cores_rows_per_second,
            self.ratio_to_one_core()
        )
    }
}
