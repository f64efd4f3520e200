//! The clauses of a table's engine as the server reports them.

/// `engine_full`, taken apart. It is never compared as a whole: the server adds defaults, and settings keep the order in
/// which somebody wrote them.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Clauses {
    /// The engine with its arguments.
    pub engine: String,
    /// The TTL expression; empty for none.
    pub ttl: String,
    /// The settings with their values as SQL writes them.
    pub settings: Vec<(String, String)>,
}

const KEYWORDS: [&str; 6] = ["PARTITION BY", "PRIMARY KEY", "ORDER BY", "SAMPLE BY", "TTL", "SETTINGS"];

impl Clauses {
    /// Takes a text apart at the words that begin a clause, outside of quotes and parentheses.
    #[must_use]
    pub fn parse(engine_full: &str) -> Self {
        let mut clauses = Self::default();
        let mut starts: Vec<(usize, &str)> = vec![(0, "")];
        for (at, _) in top_level(engine_full).filter(|(_, c)| *c == ' ') {
            let rest = &engine_full[at + 1..];
            let keyword = KEYWORDS.into_iter().find(|k| rest.strip_prefix(k).is_some_and(|r| r.starts_with(' ')));
            starts.extend(keyword.map(|keyword| (at, keyword)));
        }
        for (index, (at, keyword)) in starts.iter().enumerate() {
            let end = starts.get(index + 1).map_or(engine_full.len(), |(next, _)| *next);
            let text = engine_full[*at..end].trim_start()[keyword.len()..].trim();
            match *keyword {
                "" => clauses.engine = text.to_owned(),
                "TTL" => clauses.ttl = text.to_owned(),
                "SETTINGS" => clauses.settings = split(text).into_iter().filter_map(setting).collect(),
                _ => {}
            }
        }
        clauses
    }

    /// The value of a setting.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The engine without what a platform adds to it: whether it is replicated, its plain name, its own arguments.
    #[must_use]
    pub fn variant(&self) -> (bool, String, Vec<String>) {
        variant(&self.engine)
    }
}

/// The parts of an engine: whether it is replicated, its plain name, its arguments without the path and name of a replica.
pub(super) fn variant(engine: &str) -> (bool, String, Vec<String>) {
    let (name, arguments) = match engine.split_once('(') {
        Some((name, rest)) => (name, split(rest.strip_suffix(')').unwrap_or(rest))),
        None => (engine, Vec::new()),
    };
    let plain = name.strip_prefix("Replicated").or_else(|| name.strip_prefix("Shared"));
    let is_path = |at: usize, argument: &str| plain.is_some() && at < 2 && argument.starts_with('\'');
    let own = arguments.into_iter().enumerate().filter(|(at, argument)| !is_path(*at, argument));
    (plain.is_some(), plain.unwrap_or(name).to_owned(), own.map(|(_, argument)| argument.to_owned()).collect())
}

fn setting(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once('=')?;
    Some((name.trim().to_owned(), value.trim().to_owned()))
}

/// The parts between commas, outside of quotes and parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, _) in top_level(text).filter(|(_, c)| *c == ',') {
        parts.push(text[start..at].trim());
        start = at + 1;
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

/// The characters outside of quotes and parentheses, each with its position.
fn top_level(text: &str) -> impl Iterator<Item = (usize, char)> {
    let (mut depth, mut quote, mut escaped) = (0_usize, None, false);
    text.char_indices().filter(move |(_, c)| {
        if let Some(open) = quote {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                _ if *c == open => quote = None,
                _ => {}
            }
            return false;
        }
        match c {
            '\'' | '`' | '"' => quote = Some(*c),
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => return depth == 0,
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_are_told_apart() {
        let clauses = Clauses::parse(
            "ReplacingMergeTree(v) PARTITION BY toYYYYMM(d) ORDER BY (x, ` TTL `) TTL d + toIntervalMonth(1) WHERE x = ' \
             SETTINGS ' SETTINGS index_granularity = 8192, storage_policy = 'a, b'",
        );
        assert_eq!(clauses.engine, "ReplacingMergeTree(v)");
        assert_eq!(clauses.ttl, "d + toIntervalMonth(1) WHERE x = ' SETTINGS '");
        assert_eq!(clauses.setting("index_granularity"), Some("8192"));
        assert_eq!(clauses.setting("storage_policy"), Some("'a, b'"));
        assert_eq!(clauses.setting("nothing"), None);
        assert_eq!(Clauses::parse("Merge('d', '^a b$')").engine, "Merge('d', '^a b$')");
        assert_eq!(Clauses::parse(""), Clauses::default());
    }

    #[test]
    fn an_engine_keeps_its_own_arguments() {
        let parts = |engine: &str| {
            let (replicated, name, arguments) = variant(engine);
            (replicated, name, arguments.join(";"))
        };
        let replacing = |replicated| (replicated, "ReplacingMergeTree".to_owned(), "v".to_owned());
        assert_eq!(parts("ReplacingMergeTree(v)"), replacing(false));
        assert_eq!(parts("ReplicatedReplacingMergeTree('/p/{uuid}', '{replica}', v)"), replacing(true));
        assert_eq!(parts("SharedReplacingMergeTree('/p', '{replica}', v)"), replacing(true));
        assert_eq!(parts("ReplicatedReplacingMergeTree(v)"), replacing(true));
        assert_eq!(parts("MergeTree"), (false, "MergeTree".to_owned(), String::new()));
        assert_eq!(parts("MergeTree()"), (false, "MergeTree".to_owned(), String::new()));
        assert_eq!(parts("Merge('d', '^x$')").2, "'d';'^x$'");
    }
}
