//! One record's values before they are encoded.

use super::columns::Slot;

/// Numbers and texts by slot; 0 and the empty text are not on the wire, as proto3 has it.
#[derive(Debug)]
pub(super) struct Values {
    numbers: Vec<u64>,
    texts: Vec<(usize, usize)>,
    bytes: Vec<u8>,
}

/// A value that many records share.
#[derive(Debug, Clone)]
pub(super) enum Shared {
    Number(u64),
    Text(Box<[u8]>),
}

impl From<u64> for Shared {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Shared {
    fn from(text: &str) -> Self {
        Self::Text(text.as_bytes().into())
    }
}

impl From<String> for Shared {
    fn from(text: String) -> Self {
        Self::Text(text.into_bytes().into())
    }
}

impl Values {
    pub(super) fn new(slots: usize) -> Self {
        Self { numbers: vec![0; slots], texts: vec![(0, 0); slots], bytes: Vec::with_capacity(1024) }
    }

    /// Takes everything out.
    pub(super) fn clear(&mut self) {
        self.numbers.fill(0);
        self.texts.fill((0, 0));
        self.bytes.clear();
    }

    pub(super) fn set(&mut self, slot: Slot, number: u64) {
        self.numbers[slot] = number;
    }

    pub(super) fn set_text(&mut self, slot: Slot, text: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(text);
        self.texts[slot] = (start, self.bytes.len());
    }

    pub(super) fn fill(&mut self, shared: &[(Slot, Shared)]) {
        for (slot, value) in shared {
            match value {
                Shared::Number(number) => self.set(*slot, *number),
                Shared::Text(text) => self.set_text(*slot, text),
            }
        }
    }

    pub(super) fn number(&self, slot: Slot) -> u64 {
        self.numbers[slot]
    }

    pub(super) fn text(&self, slot: Slot) -> &[u8] {
        let (start, end) = self.texts[slot];
        &self.bytes[start..end]
    }
}
