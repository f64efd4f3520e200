//! The HTTP surface: metrics for Prometheus, liveness and readiness for whoever starts and stops processes.
//!
//! It reports, it never acts, and it never asks Kafka or ClickHouse anything: the parts that talk to them say how it went
//! in [`Health`].

mod health;
mod routes;
mod server;
#[cfg(test)]
mod tests;

pub use health::{Check, Health, State};
pub use server::{Error, Server};
