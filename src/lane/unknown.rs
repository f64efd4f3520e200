//! Looks for records of an epoch without a definition before a message is taken in: for those who would rather wait for the
//! definition than divert them.

use super::Filling;
use crate::{epoch::SCHEMA_VERSION, wire::Piece};

impl Filling<'_> {
    /// The first `schema_version` in a message that has no definition, among the records whose version can be read.
    #[must_use]
    pub fn unknown_epoch(&self, payload: &[u8]) -> Option<u32> {
        self.schema().pieces(payload).find_map(|piece| self.unknown(&piece))
    }

    fn unknown(&self, piece: &Piece<'_>) -> Option<u32> {
        const KEY: u8 = (SCHEMA_VERSION as u8) << 3;
        let Piece::Record { bytes, .. } = piece else { return None };
        match **bytes {
            // A daemon writes its version first, and once. One that came again at another place would be diverted.
            [KEY, version, ..] if version < 0x80 && self.schema().epoch(version).is_some() => None,
            _ => {
                let identity = self.schema().registry.identify(bytes).ok()?;
                identity.place.is_none().then_some(identity.schema_version)
            }
        }
    }
}
