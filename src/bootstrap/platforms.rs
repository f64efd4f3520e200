//! What the definitions become on each platform, whole.

use super::{Definitions, Kind, Parameters, Platform, Statement};

fn statements(platform: Platform) -> Vec<Statement> {
    let definitions = Definitions::embedded().expect("sound");
    definitions.statements(&Parameters::supplied(&definitions.manifest, |_| None), platform)
}

/// One file a platform: every statement, so that a change of any shows in review.
#[test]
fn statements_are_as_they_were_reviewed() {
    for platform in Platform::ALL {
        let text: Vec<String> =
            statements(platform).iter().map(|s| format!("-- {} {}\n{};\n", s.id, s.checksum, s.sql)).collect();
        let path = format!("{}/tests/snapshots/{platform}.sql", env!("CARGO_MANIFEST_DIR"));
        let text = text.join("\n");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, &text).expect("it can be written");
        }
        let current = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(current == text, "{path} is not what is rendered: `UPDATE_DOCS=1 cargo test` writes it anew");
    }
}

#[test]
fn one_schema_has_one_checksum() {
    let sums = |platform| statements(platform).into_iter().map(|s| (s.id, s.checksum)).collect::<Vec<_>>();
    assert_eq!(sums(Platform::SelfHosted), sums(Platform::Cloud));
    assert_eq!(sums(Platform::SelfHosted), sums(Platform::Single));
}

/// The gate: a table is replicated without arguments, and no table names a cluster. The Merge table alone is none.
fn faults(platform: Platform, statements: &[Statement]) -> Vec<String> {
    let mut faults = Vec::new();
    for statement in statements {
        let engine = statement.sql.split("\nENGINE = ").nth(1).and_then(|rest| rest.lines().next()).unwrap_or("");
        let name = engine.split('(').next().unwrap_or("");
        let fault = match statement.kind {
            Kind::Table
                if platform.is_replicated() && !(name.starts_with("Replicated") && name.ends_with("MergeTree")) =>
            {
                "is not replicated"
            }
            Kind::Table if !name.ends_with("MergeTree") => "is no MergeTree",
            Kind::Table if engine.contains('\'') => "names a path",
            Kind::Merge if name != "Merge" => "is no Merge table",
            Kind::Table | Kind::Merge | Kind::View | Kind::MaterializedView if statement.sql.contains("ON CLUSTER") => {
                "names a cluster"
            }
            _ => continue,
        };
        faults.push(format!("{} {fault}", statement.id));
    }
    faults
}

#[test]
fn tables_are_of_the_kinds_that_are_allowed() {
    for platform in Platform::ALL {
        assert_eq!(faults(platform, &statements(platform)), [""; 0], "{platform}");
    }
    // And the gate closes.
    let spoilt = |from: &str, to: &str| {
        let mut all = statements(Platform::SelfHosted);
        for statement in all.iter_mut().filter(|s| s.id == "data.flat_v2" || s.id == "data.flat_merge") {
            statement.sql = statement.sql.replace(from, to);
        }
        faults(Platform::SelfHosted, &all)
    };
    assert_eq!(spoilt("ReplicatedMergeTree", "MergeTree"), ["data.flat_v2 is not replicated"]);
    assert_eq!(spoilt("ReplicatedMergeTree", "ReplicatedMergeTree('/x', 'y')"), ["data.flat_v2 names a path"]);
    assert_eq!(spoilt("ENGINE = Merge(", "ENGINE = Distributed("), ["data.flat_merge is no Merge table"]);
    assert_eq!(
        spoilt("\n(\n", " ON CLUSTER x\n(\n"),
        ["data.flat_v2 names a cluster", "data.flat_merge names a cluster"]
    );
    let mut plain = statements(Platform::Single);
    plain[3].sql = plain[3].sql.replace("ENGINE = MergeTree", "ENGINE = Log");
    assert_eq!(faults(Platform::Single, &plain), ["data.flat_v0 is no MergeTree"]);
}

/// A statement may name what the manifest declares, and nothing else of the database.
#[test]
fn statements_name_declared_objects_alone() {
    for platform in Platform::ALL {
        let all = statements(platform);
        for statement in &all {
            for (at, _) in statement.sql.match_indices("`xtcp`.") {
                let rest = statement.sql[at + 7..].trim_start_matches('`');
                let name: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
                assert!(all.iter().any(|s| s.name == name), "{} names `{name}`", statement.id);
            }
        }
    }
}
