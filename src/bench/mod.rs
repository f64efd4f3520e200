//! How fast would these messages go on this machine? The stages of the data path, timed on a corpus, beside prost.
//!
//! Machines are shared and noisy, so every round times each stage on the same messages and ratios are taken round by round;
//! what is shown is the median over the rounds.

mod chunk;
mod corpus;
mod gather;
mod report;
mod stages;
mod turn;

use std::{sync::Arc, thread, time::Duration};

pub use chunk::Chunk;
pub use corpus::Corpus;
pub use gather::Gathering;
pub use report::{Report, Stage};
pub use turn::{Full, turn};

use crate::lane::Schema;

/// How to measure.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// How long to measure, all stages and rounds together, on one core and again on all.
    pub time: Duration,
    /// When a batch is closed.
    pub full: Full,
    /// Threads of the run on all cores.
    pub threads: usize,
}

/// The least number of rounds, however slow they are: a median of fewer says nothing.
const ROUNDS: usize = 3;

/// The largest number of rounds: a median of more says nothing new, and all of them are kept.
const MOST_ROUNDS: usize = 10_000;

/// Measures on one core, then on all.
///
/// # Panics
/// If a thread can't be started.
#[must_use]
pub fn measure(schema: &Arc<Schema>, corpus: &Corpus, options: Options, mut progress: impl FnMut(f64)) -> Report {
    let mut one = stages::Bench::new(schema, corpus, options.full);
    let _ = one.round();
    let mut rounds = Vec::new();
    let mut spent = Duration::ZERO;
    while rounds.len() < ROUNDS || spent < options.time && rounds.len() < MOST_ROUNDS {
        let round = one.round();
        spent += round.spent();
        rounds.push(round);
        progress((spent.as_secs_f64() / options.time.as_secs_f64() / 2.0).min(0.5));
    }
    // In turn, as both are compared.
    let (mut alone, mut together) = (0.0, 0.0);
    for turn in 1..=TURNS {
        alone += at_once(schema, corpus, options, 1) / f64::from(TURNS);
        together += at_once(schema, corpus, options, options.threads) / f64::from(TURNS);
        progress(0.5 + f64::from(turn) / f64::from(2 * TURNS));
    }
    Report::new(corpus, &rounds, options.threads, Passes { alone, together })
}

/// How often one thread and all threads are timed in turn.
const TURNS: u32 = 2;

/// Seconds for one pass of the whole path.
#[derive(Debug, Clone, Copy)]
struct Passes {
    /// Of one thread while no other works.
    alone: f64,
    /// Of each of all threads at once.
    together: f64,
}

/// The whole path on several threads at once: seconds for one pass of each.
fn at_once(schema: &Arc<Schema>, corpus: &Corpus, options: Options, threads: usize) -> f64 {
    let time = options.time / (4 * TURNS);
    let start = std::sync::Barrier::new(threads);
    let per_thread = thread::scope(|scope| {
        let run = || {
            let mut bench = stages::Bench::new(schema, corpus, options.full);
            bench.whole();
            start.wait();
            let begin = std::time::Instant::now();
            let mut passes = 0u32;
            while passes < ROUNDS as u32 || begin.elapsed() < time {
                bench.whole();
                passes += 1;
            }
            begin.elapsed().as_secs_f64() / f64::from(passes)
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a bench thread")).collect::<Vec<_>>()
    });
    per_thread.iter().sum::<f64>() / per_thread.len() as f64
}
