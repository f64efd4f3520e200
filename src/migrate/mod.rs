//! Evolution of the record: what a changed `.proto` means, the definitions of a new epoch, and the way there.
//!
//! [`differences`] tells two records apart by class and consequence. It knows no field by name: what a record looks like
//! comes from a `.proto` file ([`ProtoFile`]) or from the definitions ([`declared`]).

pub mod adopt;
mod compare;
pub mod declared;
mod difference;
mod draft;
mod places;
mod proto_file;
mod reading;
mod renames;
pub mod replay;
pub mod rollout;
mod shape;
mod types;

pub use compare::{Left, PAYLOAD, Rules, differences, left, verdict};
pub use difference::{Class, Difference, Verdict};
pub use draft::{Draft, DraftError, ManifestError, Request, Write, draft, take_back, write};
pub use proto_file::{Problem, ProtoError, ProtoFile, Source};
pub use renames::{RenameError, Renames, parse as parse_renames};
pub use shape::{Envelope, Field, Reserved, Shape, Spot};

#[cfg(test)]
mod bad_input_tests;
#[cfg(test)]
mod reference;
