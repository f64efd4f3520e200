//! Kafka's side: one consumer per process, a queue per partition, commits, topics.
//!
//! Knows offsets and bytes, no records. The consumer's thread serves the group: it tells a [`Listener`] which partitions
//! come and go, and blocks until the listener is done with those that go. Values are read from a [`Queue`] each, by
//! whoever was given it, and stay where librdkafka put them.

mod admin;
mod assignment;
mod client;
mod commit;
mod consumer;
mod context;
mod error;
mod fetch;
mod flow;
mod group;
mod identity;
mod ignored;
mod list;
mod membership;
mod meter;
mod producer;
mod queue;
mod rebalance;
mod topics;
mod transactions;
mod turns;
mod watermarks;

pub use admin::Admin;
pub use commit::{Offsets, Survey};
pub use consumer::{Consumer, ConsumerOptions};
pub use error::Error;
pub use fetch::{Fetched, Fetcher};
pub use group::Group;
pub use ignored::ignored;
pub use membership::Membership;
pub use producer::Producer;
pub use queue::{Polled, Queue, Value};
pub use rebalance::{End, Listener, Sight, Start};
pub use transactions::{LAPSE, Transactions};
pub use watermarks::Watermarks;
