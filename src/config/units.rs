//! Sizes and durations as an operator writes them: `48MiB`, `500ms`.

use std::time::Duration;

const SIZES: [(&str, u64); 8] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("KB", 1_000),
    ("B", 1),
];

/// Milliseconds per unit; the longer suffix first, or `ms` would be read as minutes that end in `s`.
const TIMES: [(&str, u64); 4] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

/// Reads a number of bytes: a whole number, alone or with a unit.
pub(super) fn size(text: &str) -> Option<u64> {
    let (digits, factor) = split(text, &SIZES).unwrap_or((text, 1));
    whole(digits)?.checked_mul(factor)
}

/// Reads a duration: a whole number with a unit. A number alone is refused, as nothing tells its unit.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let (digits, factor) = split(text, &TIMES)?;
    whole(digits)?.checked_mul(factor).map(Duration::from_millis)
}

/// Writes a size with the largest binary unit that divides it.
pub(super) fn show_size(bytes: u64) -> String {
    SIZES[..3]
        .iter()
        .find(|(_, factor)| bytes >= *factor && bytes.is_multiple_of(*factor))
        .map_or_else(|| format!("{bytes}B"), |(unit, factor)| format!("{}{unit}", bytes / factor))
}

/// Writes a duration with the largest unit that divides it.
pub(super) fn show_duration(duration: Duration) -> String {
    let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    TIMES
        .iter()
        .rev()
        .find(|(_, factor)| millis >= *factor && millis.is_multiple_of(*factor))
        .map_or_else(|| format!("{millis}ms"), |(unit, factor)| format!("{}{unit}", millis / factor))
}

fn split<'a>(text: &'a str, units: &[(&str, u64)]) -> Option<(&'a str, u64)> {
    units.iter().find_map(|(unit, factor)| text.strip_suffix(unit).map(|digits| (digits.trim_end(), *factor)))
}

fn whole(digits: &str) -> Option<u64> {
    // `parse` alone would take a leading plus sign.
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_and_without_a_unit() {
        assert_eq!(size("256MiB"), Some(256 << 20));
        assert_eq!(size("1 GiB"), Some(1 << 30));
        assert_eq!(size("12"), Some(12));
        assert_eq!(size("12B"), Some(12));
        assert_eq!(size("3kB"), Some(3000));
        for bad in ["", "MiB", "-1", "+1", "1.5GiB", "1TB", "99999999999GiB"] {
            assert_eq!(size(bad), None, "{bad}");
        }
    }

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(duration("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(duration("5s"), Some(Duration::from_secs(5)));
        assert_eq!(duration("2m"), Some(Duration::from_secs(120)));
        assert_eq!(duration("1h"), Some(Duration::from_secs(3600)));
        for bad in ["", "5", "s", "-1s", "1.5s", "1d"] {
            assert_eq!(duration(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for bytes in [0, 1, 1023, 1 << 10, 48 << 20, (48 << 20) + 1, 1 << 30] {
            assert_eq!(size(&show_size(bytes)), Some(bytes));
        }
        for millis in [0, 1, 999, 1000, 90_000, 3_600_000, 3_600_001] {
            let duration_of = Duration::from_millis(millis);
            assert_eq!(duration(&show_duration(duration_of)), Some(duration_of));
        }
    }
}
