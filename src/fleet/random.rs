//! Random numbers that are the same on every machine and in every version: what a seed makes is part of the interface.

/// `SplitMix64`.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    /// A stream of its own for each path of numbers, for instance seed, host, socket.
    pub(super) fn of(path: &[u64]) -> Self {
        Self(path.iter().fold(0x9e37_79b9_7f4a_7c15, |state, part| mix(state ^ mix(part.wrapping_add(1)))))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Less than `bound`, which is not 0.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        // The high half of a product: no division, and even enough for bounds as small as these.
        u64::try_from((u128::from(self.next()) * u128::from(bound)) >> 64).unwrap_or_default()
    }

    /// From 0 up to, not including, 1.
    #[allow(clippy::cast_precision_loss)] // 53 bits are what a double holds
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// One of a list that is not empty.
    pub(super) fn of_list<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.index(list.len())]
    }

    /// An index below `length`, which is not 0.
    pub(super) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or_default()
    }

    /// Whether something of this share of 100 happens.
    pub(super) fn percent(&mut self, share: u64) -> bool {
        self.below(100) < share
    }
}

const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_always_gives_the_same_numbers() {
        assert_eq!(Random::of(&[1, 2, 3]).next(), Random::of(&[1, 2, 3]).next());
        assert_ne!(Random::of(&[1, 2, 3]).next(), Random::of(&[1, 3, 2]).next());
        // The first output of SplitMix64 for seed 0 as its authors publish it.
        assert_eq!(Random(0).next(), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn numbers_stay_in_their_range() {
        let mut random = Random::of(&[7]);
        let mut seen = [false; 6];
        for _ in 0..1000 {
            seen[random.index(6)] = true;
            assert!((0.0..1.0).contains(&random.unit()));
        }
        assert_eq!(seen, [true; 6]);
    }
}
