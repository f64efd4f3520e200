//! The reference page and the example file, made from the table of settings.

use std::fmt::Write as _;

use super::{
    kind::Kind,
    settings::{self, ENVIRONMENT_PREFIX, FILE_VARIABLE, Preset, Setting},
};

const INTRODUCTION: &str = "\
# Configuration

<!-- Generated from src/config/settings.rs: `UPDATE_DOCS=1 cargo test` writes it anew. -->

Three places give a setting its value, each stronger than the one before:

1. the file that `--config FILE` or the environment variable `{FILE}` names (TOML; `docs/config.example.toml` holds \
every setting),
2. the environment variables below,
3. the flags below.

A name that isn't known is an error, in the file and among the environment variables that start with `{PREFIX}`. All \
problems are reported at once, with the place, what was read and what is allowed, and the exit code is 2; of `schema …` and \
`migrate …`, where 2 says something else, it is 1. \
`xtcp-ingest config check` prints the merged result with the source of each value; secrets are hidden.

Sizes are whole numbers with a unit (`B`, `KiB`, `MiB`, `GiB`, `kB`, `MB`, `GB`), durations whole numbers with `ms`, `s`, \
`m` or `h`.
";

/// `docs/configuration.md`.
#[must_use]
pub fn page() -> String {
    let mut page = INTRODUCTION.replace("{FILE}", FILE_VARIABLE).replace("{PREFIX}", ENVIRONMENT_PREFIX);
    let mut table = None;
    for setting in settings::ALL {
        let group = group(setting);
        if table != Some(group) {
            table = Some(group);
            let _ = write!(page, "\n## {}\n", heading(group));
        }
        let _ = write!(page, "\n### `{}`\n\n{}\n\n", setting.key, setting.doc);
        let places = [
            setting.variable().map(|v| format!("`{v}`")),
            setting.flag().map(|f| if setting.is_map() { format!("`--{f} NAME=VALUE`") } else { format!("`--{f}`") }),
        ];
        let places: Vec<_> = places.into_iter().flatten().collect();
        let _ = writeln!(page, "- Also: {}", places.join(", "));
        let _ = writeln!(page, "- Default: {}", preset(setting));
        let _ = writeln!(page, "- Allowed: {}", setting.kind.allowed());
    }
    page
}

/// `docs/config.example.toml`: every setting with its default, or an example where it has none, commented out.
#[must_use]
pub fn example() -> String {
    let mut text =
        "# Every setting of xtcp-ingest with its default, or with an example where it says so. Generated: `UPDATE_DOCS=1 cargo \
         test` writes it anew.\n"
            .to_owned();
    let (top, tables): (Vec<_>, Vec<_>) = settings::ALL.iter().partition(|s| group(s).is_empty());
    for setting in top {
        example_of(&mut text, setting);
    }
    let mut table = "";
    for setting in tables {
        if table != group(setting) {
            table = group(setting);
            let _ = write!(text, "\n[{table}]\n");
        }
        example_of(&mut text, setting);
    }
    text
}

/// Behind a value that is no default.
const EXAMPLE: &str = "# an example, not the default";

fn example_of(text: &mut String, setting: &Setting) {
    let name = setting.key.rsplit('.').next().unwrap_or(setting.key);
    let _ = write!(text, "\n# {}\n", setting.doc);
    let _ = match setting.preset {
        _ if setting.is_map() => writeln!(text, "# {name} = {{ \"name\" = \"value\" }} {EXAMPLE}"),
        Preset::Text(preset) => match setting.kind.read(preset) {
            Some(super::kind::Value::Number(_) | super::kind::Value::Switch(_)) => {
                writeln!(text, "# {name} = {preset}")
            }
            _ => writeln!(text, "# {name} = {preset:?}"),
        },
        Preset::Cores => writeln!(text, "# {name} = 4 {EXAMPLE}"),
        Preset::Absent => match setting.kind {
            Kind::Number { min, .. } => writeln!(text, "# {name} = {min} {EXAMPLE}"),
            _ => writeln!(text, "# {name} = \"/path\" {EXAMPLE}"),
        },
    };
}

fn group(setting: &Setting) -> &'static str {
    setting.key.split_once('.').map_or("", |(table, _)| table)
}

fn heading(group: &str) -> String {
    if group.is_empty() { "Without a table".to_owned() } else { format!("`[{group}]`") }
}

fn preset(setting: &Setting) -> String {
    match setting.preset {
        Preset::Text("") | Preset::Absent => "none".to_owned(),
        Preset::Text(text) => format!("`{text}`"),
        Preset::Cores => "the number of cores".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generated::assert_current;

    #[test]
    fn the_page_is_current() {
        assert_current("docs/configuration.md", &page());
    }

    #[test]
    fn what_the_example_shows_is_a_default_or_said_to_be_none() {
        let example = example();
        for setting in settings::ALL {
            let name = setting.key.rsplit('.').next().expect("a name");
            let has_default = matches!(setting.preset, Preset::Text(_));
            let shown =
                |line: &&str| line.starts_with(&format!("# {name} = ")) && line.ends_with(EXAMPLE) != has_default;
            assert!(example.lines().any(|line| shown(&line)), "{}", setting.key);
        }
    }

    #[test]
    fn the_example_is_current() {
        assert_current("docs/config.example.toml", &example());
    }
}
