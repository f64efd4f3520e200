//! The configuration file.

use std::{fs, path::Path};

use toml::de::{DeTable, DeValue};

use super::{
    nearest::nearest,
    origin::{Given, Origin},
    problem::Problem,
    settings::{self, Setting},
};

/// Reads a file: what it gives, and what is wrong with it.
pub(super) fn read(path: &Path, problems: &mut Vec<Problem>) -> Vec<Given> {
    match fs::read_to_string(path) {
        Ok(text) => parse(path, &text, problems),
        Err(cause) => {
            problems.push(Problem::Unreadable { path: path.to_owned(), cause });
            Vec::new()
        }
    }
}

fn parse(path: &Path, text: &str, problems: &mut Vec<Problem>) -> Vec<Given> {
    let mut file = File { path, text, given: Vec::new(), problems };
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        file.table("", table.get_ref());
    }
    for error in errors {
        let origin = file.at(error.span().map_or(0, |span| span.start));
        // The parser's own `Display` would quote the line, and the line may hold a password.
        file.problems.push(Problem::Syntax { origin, cause: error.message().to_owned() });
    }
    file.given
}

struct File<'a> {
    path: &'a Path,
    text: &'a str,
    given: Vec<Given>,
    problems: &'a mut Vec<Problem>,
}

impl File<'_> {
    fn at(&self, byte: usize) -> Origin {
        let before = &self.text.as_bytes()[..byte.min(self.text.len())];
        Origin::File { path: self.path.to_owned(), line: 1 + before.iter().filter(|b| **b == b'\n').count() }
    }

    fn table(&mut self, prefix: &str, table: &DeTable<'_>) {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        for (name, value) in entries {
            let key =
                if prefix.is_empty() { name.get_ref().to_string() } else { format!("{prefix}.{}", name.get_ref()) };
            let origin = self.at(name.span().start);
            match (settings::find(&key), value.get_ref()) {
                (Some(setting), DeValue::Table(entries)) if setting.is_map() => self.map(setting, "", entries),
                (None, DeValue::Table(table)) => self.section(&key, origin, table),
                (Some(setting), _) if setting.is_map() => self.problems.push(Problem::NotAllowed {
                    origin,
                    key,
                    found: format!("of type {}", value.get_ref().type_str()),
                    allowed: "a table of names and values".to_owned(),
                }),
                (Some(setting), value) => self.setting(setting, None, value, origin),
                (None, _) => {
                    let nearest = nearest(&key, settings::ALL.iter().map(|s| s.key.to_owned()));
                    self.problems.push(Problem::UnknownKey { origin, key, nearest });
                }
            }
        }
    }

    /// A table that is no map: its name must be the beginning of some setting's, or an empty one would pass unnoticed.
    fn section(&mut self, key: &str, origin: Origin, table: &DeTable<'_>) {
        let known = settings::ALL.iter().any(|s| s.key.strip_prefix(key).is_some_and(|rest| rest.starts_with('.')));
        if known || !table.is_empty() {
            return self.table(key, table);
        }
        let tables = settings::ALL.iter().filter_map(|s| s.key.rsplit_once('.')).map(|(table, _)| format!("[{table}]"));
        self.problems.push(Problem::UnknownKey {
            origin,
            key: format!("[{key}]"),
            nearest: nearest(&format!("[{key}]"), tables),
        });
    }

    /// The entries of a map; a name with dots may be written with or without quotes.
    fn map(&mut self, setting: &'static Setting, prefix: &str, entries: &DeTable<'_>) {
        for (name, value) in entries {
            let name_of = format!("{prefix}{}", name.get_ref());
            match value.get_ref() {
                DeValue::Table(entries) => self.map(setting, &format!("{name_of}."), entries),
                value => {
                    let origin = self.at(name.span().start);
                    self.setting(setting, Some(name_of), value, origin);
                }
            }
        }
    }

    fn setting(&mut self, setting: &'static Setting, entry: Option<String>, value: &DeValue<'_>, origin: Origin) {
        // A number has more than one way to be written, and `007` or `1_000` as a password would be another one.
        let is_quoted = !setting.is_map() && setting.kind.is_text();
        let text = match value {
            DeValue::String(text) => Some(text.to_string()),
            _ if is_quoted => None,
            // As written, but for the underscores and the radix that TOML allows.
            DeValue::Integer(number) => {
                i128::from_str_radix(number.as_str(), number.radix()).ok().map(|n| n.to_string())
            }
            DeValue::Float(number) => Some(number.as_str().to_owned()),
            DeValue::Boolean(on) => Some(on.to_string()),
            DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
        };
        match text {
            Some(text) => self.given.push(Given { setting, entry, text, origin }),
            None => self.problems.push(Problem::NotAllowed {
                origin,
                key: entry.map_or_else(|| setting.key.to_owned(), |entry| format!("{}.{entry}", setting.key)),
                found: format!("{} {}", article(value.type_str()), value.type_str()),
                allowed: match () {
                    () if setting.is_map() => "a text, a number or a boolean".to_owned(),
                    () if is_quoted => format!("{}, in quotes", setting.kind.allowed()),
                    () => setting.kind.allowed(),
                },
            }),
        }
    }
}

fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'i']) { "an" } else { "a" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (Vec<String>, Vec<String>) {
        let mut problems = Vec::new();
        let given = parse(Path::new("x.toml"), text, &mut problems);
        let show = |g: &Given| {
            let entry = g.entry.as_ref().map_or(String::new(), |e| format!("[{e}]"));
            format!("{} {}{entry}={}", g.origin, g.setting.key, g.text)
        };
        (given.iter().map(show).collect(), problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn values_come_with_their_line() {
        let (given, problems) =
            parsed("log = \"debug\"\n[batch]\nrows = 1_000\nage = \"2s\"\n\n[bootstrap]\ntables = false\n");
        assert_eq!(problems, [""; 0]);
        assert_eq!(
            given,
            [
                "x.toml:1 log=debug",
                "x.toml:3 batch.rows=1000",
                "x.toml:4 batch.age=2s",
                "x.toml:7 bootstrap.tables=false"
            ]
        );
    }

    #[test]
    fn a_map_takes_names_with_dots_quoted_or_not() {
        let (given, problems) =
            parsed("[kafka.properties]\n\"ssl.ca.location\" = \"/ca\"\nsession.timeout.ms = 9000\n");
        assert_eq!(problems, [""; 0]);
        assert_eq!(
            given,
            ["x.toml:3 kafka.properties[session.timeout.ms]=9000", "x.toml:2 kafka.properties[ssl.ca.location]=/ca",]
        );
    }

    #[test]
    fn every_unknown_name_is_a_problem_with_its_line_and_the_nearest_name() {
        let (_, problems) = parsed("[kafka]\ntopics = \"x\"\n[btach]\nrows = 1\n[kafak]\n[log]\nx=1\n");
        assert_eq!(
            problems,
            [
                "x.toml:2: `kafka.topics` is no setting; the nearest is `kafka.topic`",
                "x.toml:4: `btach.rows` is no setting; the nearest is `batch.rows`",
                "x.toml:5: `[kafak]` is no setting; the nearest is `[kafka]`",
                "x.toml:6: `log` can't be a table; allowed is a level (`error`, `warn`, `info`, `debug`, `trace`) or filters \
                 like `info,xtcp_ingest=debug`, in quotes",
            ]
        );
    }

    #[test]
    fn every_syntax_error_is_named_without_quoting_the_line() {
        let (given, problems) = parsed("[clickhouse]\npassword = hunter2\nuser = \n");
        assert!(given.is_empty());
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].starts_with("x.toml:2: not TOML: "), "{problems:?}");
        assert!(problems[1].starts_with("x.toml:3: not TOML: "), "{problems:?}");
        assert!(!problems.concat().contains("hunter2"));
    }

    #[test]
    fn a_number_is_no_text() {
        let (given, problems) = parsed(
            "log_format = true\nworkers = 2\n[clickhouse]\npassword = 5\nuser = 1.5\n[clickhouse.insert_settings]\nx = 5\n",
        );
        assert_eq!(given, ["x.toml:2 workers=2", "x.toml:7 clickhouse.insert_settings[x]=5"]);
        assert_eq!(
            problems,
            [
                "x.toml:1: `log_format` can't be a boolean; allowed is `text` or `json`, in quotes",
                "x.toml:4: `clickhouse.password` can't be an integer; allowed is any text, in quotes",
                "x.toml:5: `clickhouse.user` can't be a float; allowed is a name that is not empty, in quotes",
            ]
        );
    }

    #[test]
    fn a_list_is_no_value_and_a_text_is_no_map() {
        let (_, problems) = parsed("[kafka]\nbrokers = [\"a:1\"]\nproperties = \"hunter2\"\n");
        assert_eq!(
            problems,
            [
                "x.toml:2: `kafka.brokers` can't be an array; allowed is `host:port`, several with commas between, \
                 without scheme or credentials, in quotes",
                "x.toml:3: `kafka.properties` can't be of type string; allowed is a table of names and values",
            ]
        );
    }
}
