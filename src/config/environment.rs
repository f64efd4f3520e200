//! The environment.

use std::ffi::OsString;

use super::{
    nearest::nearest,
    origin::{Given, Origin},
    problem::Problem,
    settings::{self, ENVIRONMENT_PREFIX, FILE_VARIABLE, Setting},
};

/// Reads the variables of this service; others are none of its business.
pub(super) fn read(variables: &[(OsString, OsString)], problems: &mut Vec<Problem>) -> Vec<Given> {
    let mut ours: Vec<_> = variables
        .iter()
        .filter_map(|(name, value)| name.to_str().map(|name| (name, value)))
        .filter(|(name, _)| name.starts_with(ENVIRONMENT_PREFIX) && *name != FILE_VARIABLE)
        .collect();
    ours.sort_unstable();
    ours.into_iter().filter_map(|(name, value)| variable(name, value, problems)).collect()
}

/// The file that the environment names.
pub(super) fn file(variables: &[(OsString, OsString)]) -> Option<&OsString> {
    variables.iter().find(|(name, _)| name == FILE_VARIABLE).map(|(_, value)| value)
}

fn variable(name: &str, value: &OsString, problems: &mut Vec<Problem>) -> Option<Given> {
    let origin = Origin::Environment(name.to_owned());
    let Some(setting) = settings::ALL.iter().find(|s| s.variable().as_deref() == Some(name)) else {
        problems.push(map(name).unwrap_or_else(|| {
            let known = settings::ALL.iter().filter_map(Setting::variable).chain([FILE_VARIABLE.to_owned()]);
            Problem::UnknownVariable { variable: name.to_owned(), nearest: nearest(name, known) }
        }));
        return None;
    };
    let Some(text) = value.to_str() else {
        let found = "bytes that are not UTF-8".to_owned();
        problems.push(Problem::NotAllowed {
            origin,
            key: setting.key.to_owned(),
            found,
            allowed: setting.kind.allowed(),
        });
        return None;
    };
    Some(Given { setting, entry: None, text: text.to_owned(), origin })
}

fn map(name: &str) -> Option<Problem> {
    let key = name.strip_prefix(ENVIRONMENT_PREFIX)?;
    let setting = settings::ALL.iter().filter(|s| s.is_map()).find(|s| {
        key.strip_prefix(&s.key.replace('.', "_").to_uppercase()).is_some_and(|r| r.is_empty() || r.starts_with('_'))
    })?;
    Some(Problem::MapInEnvironment { variable: name.to_owned(), key: setting.key, flag: setting.flag()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(variables: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let variables: Vec<_> = variables.iter().map(|(n, v)| (OsString::from(n), OsString::from(v))).collect();
        let mut problems = Vec::new();
        let given = read(&variables, &mut problems);
        (
            given.iter().map(|g| format!("{}={}", g.setting.key, g.text)).collect(),
            problems.iter().map(ToString::to_string).collect(),
        )
    }

    #[test]
    fn only_names_with_the_prefix_count() {
        let (given, problems) = parsed(&[
            ("HOME", "/"),
            ("XTCP_INGEST_BATCH_ROWS", "5"),
            ("XTCP_INGEST_CONFIG", "/x"),
            ("XTCP_OTHER", "1"),
        ]);
        assert_eq!(problems, [""; 0]);
        assert_eq!(given, ["batch.rows=5"]);
    }

    #[test]
    fn an_unknown_name_is_a_problem() {
        let (given, problems) =
            parsed(&[("XTCP_INGEST_KAFKA_BROKER", "a:1"), ("XTCP_INGEST_KAFKA_PROPERTIES_SSL", "x")]);
        assert_eq!(given, [""; 0]);
        assert_eq!(
            problems,
            [
                "environment variable `XTCP_INGEST_KAFKA_BROKER` is no setting; the nearest is `XTCP_INGEST_KAFKA_BROKERS`",
                "environment variable `XTCP_INGEST_KAFKA_PROPERTIES_SSL`: `kafka.properties` can't be given in the environment, only in the file \
                 (table `[kafka.properties]`) or with `--kafka-property NAME=VALUE`",
            ]
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_value_that_is_no_text_is_a_problem() {
        use std::os::unix::ffi::OsStringExt;
        let mut problems = Vec::new();
        let variables = [(OsString::from("XTCP_INGEST_LOG"), OsString::from_vec(vec![0xff]))];
        assert!(read(&variables, &mut problems).is_empty());
        assert!(problems[0].to_string().starts_with("XTCP_INGEST_LOG: `log` can't be bytes that are not UTF-8"));
    }
}
