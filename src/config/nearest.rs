//! The known name that a wrong one was most likely meant to be.

/// The candidate with the smallest edit distance to `name`.
///
/// # Panics
/// When there is no candidate.
pub(super) fn nearest(name: &str, candidates: impl Iterator<Item = String>) -> String {
    candidates.min_by_key(|known| strsim::damerau_levenshtein(name, known)).expect("there is a known name")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_is_the_one_with_the_fewest_edits() {
        let known = || ["kafka.topic", "kafka.group", "batch.rows"].map(str::to_owned).into_iter();
        assert_eq!(nearest("kafka.topics", known()), "kafka.topic");
        assert_eq!(nearest("batch.rwos", known()), "batch.rows");
        assert_eq!(nearest("kafak.group", known()), "kafka.group");
    }
}
