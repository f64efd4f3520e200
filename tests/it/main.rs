//! Tests against a real Kafka and a real ClickHouse. They fail, and never pass by skipping, when one isn't reachable:
//! `make up` starts both, or the two variables of `.dev/env` name some that run elsewhere.

mod bootstrap;
mod clickhouse_client;
mod drift;
mod generate;
mod process;
mod proxy;
mod run;
mod setup;
mod support;
mod topic;
