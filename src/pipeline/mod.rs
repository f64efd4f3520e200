//! From queue to acknowledged offset: wiring, back-pressure, shutdown.
//!
//! ```text
//! consumer thread ──assigned, revoked──► coordinator ──commit──► Kafka
//! lane workers    ──closed batches─────►     │  ▲
//!                                       blocks  outcomes
//!                                            ▼  │
//!                                          writer ──INSERT──► ClickHouse
//! ```

mod backoff;
mod budget;
mod caught_up;
mod committer;
mod coordinator;
mod deduplication;
mod event;
#[cfg(test)]
mod fake;
mod gate;
mod group;
mod letter;
mod limits;
mod outdated;
mod pace;
mod partition;
mod presence;
mod proof;
mod pulse;
mod report;
mod run;
mod seat;
mod shutdown;
mod sight;
mod sink;
mod source;
mod splitter;
mod start;
mod takeover;
mod tenure;
mod unowned;
mod worker;
mod writer;

pub use run::{RunError, RunOptions, run};
pub(crate) use shutdown::Asked;
