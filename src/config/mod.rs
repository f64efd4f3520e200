//! Configuration: read (file, environment, flags, in rising order) → validate → one typed value.

mod model;

pub use model::{Batch, Bootstrap, ClickHouse, Config, Framing, Http, Kafka, Limits, Secret};
