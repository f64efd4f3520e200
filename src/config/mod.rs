//! Configuration: read (file, environment, flags, in rising order) → validate → one typed value.
//!
//! [`settings::ALL`] is the one table of what can be set. Everything that is wrong is reported at once, by its place, and
//! no secret gets into a message, a log or `Debug`.
//!
//! # Design
//! The sources are merged as texts with their place, not through serde: an error has to name the line, the variable or
//! the flag, every problem is to be found in one run, and a key and a variable that nobody knows have to be refused
//! alike.

mod assemble;
mod environment;
mod file;
mod kind;
mod load;
mod merge;
mod model;
mod nearest;
mod origin;
mod problem;
mod properties;
mod reference;
pub mod settings;
mod show;
#[cfg(test)]
mod tests;
mod units;

pub use kind::Kind;
pub use load::{Loaded, Sources, flag, load};
pub use model::{
    Batch, Bootstrap, ClickHouse, Config, Delivery, Framing, Http, Kafka, Limits, Log, LogFormat, Platform, Secret,
    UnknownEpoch,
};
pub use origin::{Given, Origin};
pub use problem::{Error, Problem};
pub use reference::{example, page};
pub use settings::Setting;
pub use show::{Shown, json, toml};
