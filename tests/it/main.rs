//! Tests against a real Kafka and a real ClickHouse. They fail, and never pass by skipping, when one isn't reachable:
//! `make up` starts both, or the two variables of `.dev/env` name some that run elsewhere.

mod bootstrap;
mod broker;
mod cases;
mod certificates;
mod clickhouse_client;
mod content;
mod drift;
mod endings;
mod engine;
mod faults;
mod fleet;
mod generate;
mod interposer;
mod kafka_rights;
mod kinds;
mod lease;
mod migrate;
mod once;
mod oracle;
mod outage;
mod pausing;
mod platforms;
mod presence;
mod process;
mod proxy;
mod refusals;
#[path = "../repository/mod.rs"]
mod repository;
mod roles;
mod roll;
mod run;
mod schema;
mod security;
mod servers;
mod setup;
mod support;
mod topic;
mod unowned;
#[path = "../wire_cases/mod.rs"]
mod wire_cases;
