//! What the process says about itself: logs on standard error, metrics, progress.
//!
//! Every metric is declared once, in [`catalogue`]; recording goes through the methods of [`Telemetry`], so a call site
//! can't misspell a name or forget a label. What was consumed and what became of it goes through the [`Ledger`], which a
//! scrape sees at one moment.

pub mod catalogue;
mod events;
mod every;
mod ledger;
mod logs;
mod progress;
mod recorder;
mod scrape;

pub use catalogue::Metric;
pub use events::{Closed, Memory, Outcome, Rebalance};
pub use every::Every;
pub use ledger::{Held, Ledger, Sums};
pub(crate) use logs::colour;
pub use logs::init;
pub use progress::{bar, spinner};
pub use recorder::Telemetry;
