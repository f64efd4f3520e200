//! The known name that a wrong one was most likely meant to be.

/// Of so many letters one may be wrong. A name that is further away is another name, and would lead astray.
const LETTERS: usize = 4;

/// What stands behind an unknown name: the candidate with the smallest edit distance to it, if that is small.
pub(super) fn nearest(name: &str, candidates: impl Iterator<Item = String>) -> String {
    let distance = |known: &String| strsim::damerau_levenshtein(name, known);
    let best = candidates.map(|known| (distance(&known), known)).min();
    match best {
        Some((distance, known)) if distance <= (name.chars().count() / LETTERS).max(1) => {
            format!("; the nearest is `{known}`")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_is_the_one_with_the_fewest_edits() {
        let nearest = |name: &str| {
            nearest(name, ["kafka.topic", "kafka.group", "batch.rows", "log"].map(str::to_owned).into_iter())
        };
        assert_eq!(nearest("kafka.topics"), "; the nearest is `kafka.topic`");
        assert_eq!(nearest("batch.rwos"), "; the nearest is `batch.rows`");
        assert_eq!(nearest("kafak.group"), "; the nearest is `kafka.group`");
        assert_eq!(nearest("lgo"), "; the nearest is `log`");
    }

    #[test]
    fn nothing_is_near_to_what_is_another_name() {
        let nearest = |name: &str| nearest(name, ["kafka.topic", "log"].map(str::to_owned).into_iter());
        for name in ["zookeeper", "kafka.retries", "http", "x", "kafka.compression"] {
            assert_eq!(nearest(name), "", "{name}");
        }
    }
}
