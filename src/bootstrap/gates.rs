//! What the sources may not hold: schema statements outside this module, names of objects that the manifest doesn't have.

use std::{fs, path::Path};

use super::Definitions;

/// Words that a statement which changes the schema begins with.
const VERBS: [&str; 12] = [
    "CREATE TABLE",
    "CREATE DATABASE",
    "CREATE VIEW",
    "CREATE MATERIALIZED",
    "CREATE OR REPLACE",
    "CREATE ROLE",
    "ALTER TABLE",
    "DROP TABLE",
    "DROP DATABASE",
    "DROP VIEW",
    "RENAME TABLE",
    "TRUNCATE TABLE",
];

/// The code of a file: no comments, nothing from its tests on.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or(text);
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Statements in literals: a verb right behind a quote, so that prose may speak of them.
fn statements(code: &str) -> Vec<&'static str> {
    VERBS.into_iter().filter(|verb| code.contains(&format!("\"{verb}"))).collect()
}

/// Names that look like objects of ours and aren't declared.
fn strangers(code: &str, declared: &[String]) -> Vec<String> {
    let mut strangers = Vec::new();
    for prefix in ["xtcp_flat_records", "schema_migrations", "schema_lock", "xtcp_ingest_probe"] {
        for (at, _) in code.match_indices(prefix) {
            let name: String = code[at..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            let begins = !code[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            if begins && !declared.contains(&name) {
                strangers.push(name);
            }
        }
    }
    strangers
}

fn walk(folder: &Path, each: &mut impl FnMut(&Path, &str)) {
    for entry in fs::read_dir(folder).expect("the sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            walk(&path, each);
        } else if path.extension().is_some_and(|e| e == "rs") {
            each(&path, &fs::read_to_string(&path).expect("text"));
        }
    }
}

fn is_test(path: &str) -> bool {
    path.ends_with("tests.rs") || path.contains("/tests/") || path.contains("_tests")
}

#[test]
fn statements_stand_in_this_module_alone() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let definitions = Definitions::embedded().expect("sound");
    let parameters = super::Parameters::supplied(&definitions.manifest, |_| None);
    let declared: Vec<String> = definitions
        .statements(&parameters, super::Platform::Single)
        .into_iter()
        .map(|statement| statement.name)
        .collect();
    let mut faults = Vec::new();
    walk(&root, &mut |path, text| {
        let name = path.strip_prefix(&root).expect("below it").display().to_string();
        if is_test(&name) || name == "bootstrap/gates.rs" {
            return;
        }
        let code = code(text);
        if !name.starts_with("bootstrap/") && !name.starts_with("migrate/") {
            faults.extend(statements(&code).iter().map(|verb| format!("{name}: {verb}")));
        }
        // The names of the record itself, of files and functions are no objects.
        let code = code.replace("xtcp_flat_record.proto", "").replace("xtcp_flat_record.v1", "");
        faults
            .extend(strangers(&code, &declared).iter().map(|stranger| format!("{name}: `{stranger}` is not declared")));
    });
    assert_eq!(faults, [""; 0]);
}

#[test]
fn the_gates_close() {
    assert_eq!(statements("execute(\"CREATE TABLE x\")"), ["CREATE TABLE"]);
    assert_eq!(statements("execute(\"DROP TABLE x\")"), ["DROP TABLE"]);
    assert_eq!(statements("\"to CREATE TABLE is not ours\""), [""; 0]);
    assert_eq!(code("// CREATE TABLE\na\n#[cfg(test)]\nmod tests {\n\"CREATE TABLE\""), "a");
    let declared = ["xtcp_flat_records_v2".to_owned()];
    assert_eq!(strangers("a.xtcp_flat_records_v2 b.xtcp_flat_records_v9", &declared), ["xtcp_flat_records_v9"]);
    assert_eq!(strangers("it_xtcp_flat_records_v9", &declared), [""; 0]);
}
