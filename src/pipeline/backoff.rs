//! How long to wait before the next attempt.

use std::time::Duration;

use rand::Rng as _;

const FIRST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(10);

/// The wait after that many failures in a row: doubles from 0.2 s to 10 s, less a random part of up to a half, so that
/// those who failed together don't come back together.
pub(super) fn backoff(failures: u32) -> Duration {
    let full = FIRST.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(LONGEST);
    full.mul_f64(rand::rng().random_range(0.5..=1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_up_to_the_longest() {
        for (failures, full) in [(0, 200), (1, 200), (2, 400), (5, 3200), (7, 10_000), (u32::MAX, 10_000)] {
            let full = Duration::from_millis(full);
            for _ in 0..100 {
                let wait = backoff(failures);
                assert!(wait <= full && wait >= full / 2, "{failures}: {wait:?}");
            }
        }
    }
}
