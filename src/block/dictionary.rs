//! The distinct values of one `LowCardinality(String)` column in one block.

use hashbrown::HashTable;

/// Slots of the cache before the hash map.
const CACHE: usize = 64;

/// Values in order of first use, and two ways to find one again: a small cache by length and ends, then a hash map.
///
/// Value 0 is the empty string, which is what a row without the field holds.
#[derive(Debug)]
pub struct Dictionary {
    /// The values as a Native block spells strings: varint length and bytes, back to back.
    keys: Vec<u8>,
    /// Start and end of each value in `keys`.
    spans: Vec<(u32, u32)>,
    /// By hash of a value's ends.
    cache: [Known; CACHE],
    map: HashTable<u32>,
    /// Which values are not UTF-8, ascending; empty as long as all are.
    not_utf8: Vec<u32>,
}

/// A value that was asked for lately.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    start: u32,
    length: u32,
    index: u32,
}

impl Default for Dictionary {
    fn default() -> Self {
        let mut dictionary = Self {
            keys: Vec::new(),
            spans: Vec::new(),
            cache: [Known::default(); CACHE],
            map: HashTable::new(),
            not_utf8: Vec::new(),
        };
        dictionary.clear();
        dictionary
    }
}

/// A hash of length, first and last eight bytes: cheap, and enough to spread the few values of a column.
#[inline(always)]
fn ends(value: &[u8]) -> u64 {
    let n = value.len();
    let (head, tail) = if let (Some(head), Some(tail)) = (value.first_chunk::<8>(), value.last_chunk::<8>()) {
        (u64::from_le_bytes(*head), u64::from_le_bytes(*tail))
    } else if let (Some(head), Some(tail)) = (value.first_chunk::<4>(), value.last_chunk::<4>()) {
        (u64::from(u32::from_le_bytes(*head)), u64::from(u32::from_le_bytes(*tail)))
    } else {
        let byte = |i: usize| value.get(i).copied().map_or(0, u64::from);
        (byte(0) | byte(1) << 8 | byte(2) << 16, 0)
    };
    let mixed = (head ^ tail.rotate_left(29) ^ n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 32)
}

/// Equality without a call for the lengths that values mostly have.
#[inline(always)]
fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    match a.len() {
        0 => true,
        1..4 => a[0] == b[0] && a[a.len() / 2] == b[b.len() / 2] && a[a.len() - 1] == b[b.len() - 1],
        4..8 => a.first_chunk::<4>() == b.first_chunk::<4>() && a.last_chunk::<4>() == b.last_chunk::<4>(),
        8..=16 => a.first_chunk::<8>() == b.first_chunk::<8>() && a.last_chunk::<8>() == b.last_chunk::<8>(),
        17..=32 => a.first_chunk::<16>() == b.first_chunk::<16>() && a.last_chunk::<16>() == b.last_chunk::<16>(),
        _ => a == b,
    }
}

fn full_hash(value: &[u8]) -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // One seed per process: the order of the values does not depend on it, and nobody outside can aim at it.
    static STATE: std::sync::LazyLock<foldhash::fast::RandomState> = std::sync::LazyLock::new(Default::default);
    let mut hasher = STATE.build_hasher();
    hasher.write(value);
    hasher.finish()
}

impl Dictionary {
    /// The index of a value, which is added if it is new.
    #[inline(always)]
    pub fn index(&mut self, value: &[u8]) -> u32 {
        let slot = (ends(value) % CACHE as u64) as usize;
        let Known { start, length, index } = self.cache[slot];
        if same(&self.keys[start as usize..(start + length) as usize], value) {
            return index;
        }
        self.find_or_add(value, slot)
    }

    #[inline(never)]
    fn find_or_add(&mut self, value: &[u8], slot: usize) -> u32 {
        let hash = full_hash(value);
        let index = match self.map.find(hash, |&i| self.value(i) == value) {
            Some(&found) => found,
            None => self.add(value, hash),
        };
        let (start, end) = self.spans[index as usize];
        self.cache[slot] = Known { start, length: end - start, index };
        index
    }

    fn add(&mut self, value: &[u8], hash: u64) -> u32 {
        let index = u32::try_from(self.spans.len()).expect("a block has fewer than 2^32 rows");
        prost::encoding::encode_varint(value.len() as u64, &mut self.keys);
        let start = self.keys.len();
        self.keys.extend_from_slice(value);
        let narrow = |n: usize| u32::try_from(n).expect("a block has fewer than 2^32 bytes of one column");
        self.spans.push((narrow(start), narrow(self.keys.len())));
        let Self { map, spans, keys, .. } = self;
        map.insert_unique(hash, index, |&i| {
            let (start, end) = spans[i as usize];
            full_hash(&keys[start as usize..end as usize])
        });
        if std::str::from_utf8(value).is_err() {
            self.not_utf8.push(index);
        }
        index
    }

    /// Forgets the newest value, as if it had never been asked for. The empty string stays.
    #[cold]
    pub fn forget_newest(&mut self) {
        let Some(newest) = u32::try_from(self.spans.len() - 1).ok().filter(|newest| *newest > 0) else { return };
        let hash = full_hash(self.value(newest));
        if let Ok(entry) = self.map.find_entry(hash, |&index| index == newest) {
            entry.remove();
        }
        self.spans.pop();
        let end = self.spans.last().map_or(0, |(_, end)| *end);
        self.keys.truncate(end as usize);
        if self.not_utf8.last() == Some(&newest) {
            self.not_utf8.pop();
        }
        self.cache.iter_mut().filter(|known| known.index == newest).for_each(|known| *known = Known::default());
    }

    /// The value at an index.
    ///
    /// # Panics
    /// If there is no such index.
    #[inline]
    #[must_use]
    pub fn value(&self, index: u32) -> &[u8] {
        let (start, end) = self.spans[index as usize];
        &self.keys[start as usize..end as usize]
    }

    /// Whether the value at an index is UTF-8.
    #[inline]
    #[must_use]
    pub fn is_utf8(&self, index: u32) -> bool {
        self.not_utf8.is_empty() || self.not_utf8.binary_search(&index).is_err()
    }

    /// The number of values; the empty string is always one.
    #[must_use]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Never: the empty string is always there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The values as a Native block spells them.
    #[must_use]
    pub fn keys(&self) -> &[u8] {
        &self.keys
    }

    /// Memory that the values take, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.keys.len() + self.spans.len() * 12
    }

    /// Forgets every value but the empty string.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.spans.clear();
        self.map.clear();
        self.not_utf8.clear();
        self.cache = [Known::default(); CACHE];
        self.add(b"", full_hash(b""));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a plain list of distinct values, with some of the newest forgotten on the way.
        #[test]
        fn finds_and_forgets(steps in prop::collection::vec((any::<bool>(), prop::collection::vec(b'a'..b'c', 0..12)), 1..200)) {
            let mut dictionary = Dictionary::default();
            let mut model: Vec<Vec<u8>> = vec![Vec::new()];
            for (forget, value) in steps {
                if forget && value.len() < 4 {
                    dictionary.forget_newest();
                    model.truncate((model.len() - 1).max(1));
                } else {
                    let expected = model.iter().position(|known| *known == value).unwrap_or_else(|| {
                        model.push(value.clone());
                        model.len() - 1
                    });
                    prop_assert_eq!(dictionary.index(&value) as usize, expected);
                }
                prop_assert_eq!(dictionary.len(), model.len());
            }
            let keys = model.iter().flat_map(|value| std::iter::once(value.len() as u8).chain(value.iter().copied()));
            prop_assert_eq!(dictionary.keys(), keys.collect::<Vec<_>>());
        }
    }
}
