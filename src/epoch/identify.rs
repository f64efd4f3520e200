//! Which epoch and layout is this record?

use super::{Epoch, Layout, Registry, SCHEMA_VERSION};
use crate::wire::{Cursor, Fault, RawField, Value};

/// What a look through a whole record tells of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// The value of `schema_version`: the last one in the record, 0 without one.
    pub schema_version: u32,
    /// Positions of epoch and layout in the registry; `None` for an epoch without a definition.
    pub place: Option<Place>,
}

/// A record that is no protobuf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unidentified {
    /// What is wrong with it.
    pub fault: Fault,
    /// The `schema_version` before that place, 0 without one: a hint for people, not for routing.
    pub schema_version: u32,
}

/// An epoch and one of its layouts, by position in the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Position in [`Registry::epochs`].
    pub epoch: usize,
    /// Position in [`Epoch::layouts`].
    pub layout: usize,
}

impl Registry {
    /// Reads the whole record for its `schema_version` and the signs of the layouts.
    ///
    /// `schema_version` is a singular field like any other: the last one counts, its low 32 bits are its value, and where
    /// it stands does not matter. One of another wire type than varint is not a version; decoding refuses it later.
    ///
    /// # Errors
    /// The first place where the record is no protobuf.
    pub fn identify(&self, record: &[u8]) -> Result<Identity, Unidentified> {
        self.identify_with(record, |_| ())
    }

    /// As [`Registry::identify`], for one who wants to see the fields that are read for it.
    ///
    /// # Errors
    /// The same.
    #[inline]
    pub fn identify_with<'r>(
        &self,
        record: &'r [u8],
        mut see: impl FnMut(&RawField<'r>),
    ) -> Result<Identity, Unidentified> {
        let mut schema_version = 0u32;
        for field in Cursor::new(record) {
            let field = field.map_err(|fault| Unidentified { fault, schema_version })?;
            see(&field);
            if let (SCHEMA_VERSION, Value::Varint(value)) = (field.number, field.value) {
                schema_version = value as u32;
            }
        }
        let place = self
            .epochs
            .iter()
            .position(|e| e.number == schema_version)
            .map(|epoch| Place { epoch, layout: self.epochs[epoch].layout_of(record) });
        Ok(Identity { schema_version, place })
    }
}

impl Epoch {
    /// The first layout all of whose signs the record shows; the last one asks for none.
    fn layout_of(&self, record: &[u8]) -> usize {
        if self.layouts.len() == 1 {
            return 0;
        }
        self.layouts.iter().position(|layout| layout.is_shown_by(record)).unwrap_or(self.layouts.len() - 1)
    }
}

impl Layout {
    fn is_shown_by(&self, record: &[u8]) -> bool {
        self.when.iter().all(|sign| {
            Cursor::new(record)
                .flatten()
                .any(|field| field.number == sign.number && field.value.wire_type() == sign.wire as u8)
        })
    }

    /// Whether a record that decodes in this layout without a surprise can't show all signs of `other`: one of them is
    /// on a field that this layout defines with another wire type.
    #[must_use]
    pub fn excludes(&self, other: &Layout) -> bool {
        other.when.iter().any(|sign| {
            self.fields.iter().any(|field| field.number == sign.number && field.proto.wire_type() != sign.wire)
        })
    }

    /// Whether decoding in this layout sees each of its own signs as a field that it defines.
    #[must_use]
    pub fn witnesses_its_signs(&self) -> bool {
        self.when.iter().all(|sign| {
            self.fields.iter().any(|field| field.number == sign.number && field.proto.wire_type() == sign.wire)
        })
    }
}
