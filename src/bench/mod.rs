//! How fast would these messages go on this machine? The stages of the data path, timed on a corpus, beside prost.
//!
//! Machines are shared and noisy, so every round times each stage on the same messages and ratios are taken round by round;
//! what is shown is the median over the rounds.

mod corpus;
mod report;
mod stages;

use std::{sync::Arc, thread, time::Duration};

pub use corpus::Corpus;
pub use report::{Report, Stage};

use crate::lane::Schema;

/// How to measure.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// How long to measure, all stages and rounds together, on one core and again on all.
    pub time: Duration,
    /// Rows at which a batch is closed.
    pub batch_rows: u64,
    /// Threads of the run on all cores.
    pub threads: usize,
}

/// The least number of rounds, however slow they are: a median of fewer says nothing.
const ROUNDS: usize = 3;

/// Measures on one core, then on all.
///
/// # Panics
/// If a thread can't be started.
#[must_use]
pub fn measure(schema: &Arc<Schema>, corpus: &Corpus, options: Options, mut progress: impl FnMut(f64)) -> Report {
    let mut one = stages::Bench::new(schema, corpus, options.batch_rows);
    let _ = one.round();
    let mut rounds = Vec::new();
    let mut spent = Duration::ZERO;
    while rounds.len() < ROUNDS || spent < options.time {
        let round = one.round();
        spent += round.spent();
        rounds.push(round);
        progress((spent.as_secs_f64() / options.time.as_secs_f64() / 2.0).min(0.5));
    }
    let all = all_cores(schema, corpus, options);
    progress(1.0);
    Report::new(corpus, &rounds, options.threads, all)
}

/// The whole path on several threads at once: seconds for one pass of each.
fn all_cores(schema: &Arc<Schema>, corpus: &Corpus, options: Options) -> f64 {
    let start = std::sync::Barrier::new(options.threads);
    let per_thread = thread::scope(|scope| {
        let run = || {
            let mut bench = stages::Bench::new(schema, corpus, options.batch_rows);
            bench.whole();
            start.wait();
            let begin = std::time::Instant::now();
            let mut passes = 0u32;
            while passes < ROUNDS as u32 || begin.elapsed() < options.time / 2 {
                bench.whole();
                passes += 1;
            }
            begin.elapsed().as_secs_f64() / f64::from(passes)
        };
        let threads: Vec<_> = (0..options.threads).map(|_| scope.spawn(run)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a bench thread")).collect::<Vec<_>>()
    });
    per_thread.iter().sum::<f64>() / per_thread.len() as f64
}
