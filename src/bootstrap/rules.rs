//! `docs/bootstrap.md` claims nothing that no test shows.

use std::{fs, path::Path};

fn collect(folder: &Path, sources: &mut String) {
    for entry in fs::read_dir(folder).expect("the sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, sources);
        } else if path.extension().is_some_and(|e| e == "rs" || e == "py") {
            *sources += &fs::read_to_string(&path).expect("text");
        }
    }
}

#[test]
fn every_rule_of_the_page_has_its_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/bootstrap.md")).expect("docs/bootstrap.md");
    let mut sources = String::new();
    for folder in ["src", "tests", "dev/tests"] {
        collect(&root.join(folder), &mut sources);
    }
    let mut rules = 0;
    for line in page.lines().filter(|line| line.starts_with("| R")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").collect();
        assert_eq!(cells.len(), 3, "{line}");
        let names: Vec<&str> = cells[2].split(',').map(|name| name.trim().trim_matches('`')).collect();
        assert!(names.iter().all(|name| !name.is_empty()), "no test: {line}");
        for name in names {
            let function = [format!("fn {name}("), format!("def {name}(")];
            assert!(function.iter().any(|f| sources.contains(f)), "there is no test `{name}`: {line}");
        }
        rules += 1;
    }
    assert!(rules > 40, "{rules}");
}

#[test]
fn every_right_is_explained() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/bootstrap.md")).expect("docs/bootstrap.md");
    let digits = |c: char| c.is_ascii_digit();
    for role in ["bootstrap", "ingest", "migrate"] {
        let grants = fs::read_to_string(root.join(format!("ddl/roles/{role}.sql"))).expect("the role");
        for grant in grants.lines().filter_map(|line| line.strip_prefix("GRANT ")) {
            let right = grant.trim_end_matches(';').replace(" ON {db}.*", "").replace("{db}.", "");
            // What is said of one epoch's table is said of all.
            let of_epoch = right.trim_end_matches(digits);
            let right = if of_epoch.ends_with("_v") { format!("{of_epoch}N") } else { right };
            assert!(page.contains(&format!("| `{right}` |")), "docs/bootstrap.md says nothing of `{right}`");
        }
    }
}
