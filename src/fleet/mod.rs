//! A realistic fleet: the records that many hosts' daemons would send, of any mix of layouts, with any faults, and what must
//! come of each message.
//!
//! Nothing here knows a field number: records are written by the definitions of the epochs, values are known by the newest
//! names of their columns. The same options give the same bytes.

mod broken;
mod checksum;
mod columns;
mod crew;
mod destination;
mod envelope;
mod expected;
pub mod fault;
#[allow(clippy::module_inception)]
mod fleet;
mod host;
mod layout;
pub mod oddity;
pub mod options;
mod pace;
mod random;
mod schedule;
mod slots;
mod socket;
mod sockets;
#[cfg(test)]
mod tests;
mod values;

pub use checksum::Checksum;
pub use destination::{Destination, SendError};
pub use expected::{Expected, Message, Totals};
pub use fault::Fault;
pub use fleet::Fleet;
pub use oddity::Oddity;
pub use options::{Carrier, Mix, OptionError, Options};
pub use pace::Pace;
