//! The ingest tier beside ClickHouse for xtcp2 records: Kafka envelopes in, one ClickHouse table per record epoch out.
//!
//! Data flows one way: `kafka` → `lane` (frames → records → columns) → `pipeline` (inserts, commit floor) → `clickhouse`.
//! Inner modules know nothing of outer ones: `wire` ← `epoch` ← `block` ← `lane` ← `pipeline`.

pub mod bench;
pub mod block;
pub mod bootstrap;
pub mod cli;
pub mod clickhouse;
pub mod config;
pub mod delivery;
pub mod epoch;
pub mod fleet;
#[cfg(test)]
mod generated;
pub mod http;
pub mod inspect;
pub mod kafka;
pub mod lane;
pub mod migrate;
pub mod pipeline;
pub mod proto;
pub mod telemetry;
pub mod tree;
pub mod wire;
