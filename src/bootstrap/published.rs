//! A published definition is never altered: it gets a successor, with a version of its own.

use std::fmt::Write as _;

use super::{
    definitions::Definitions,
    manifest,
    publication::{altered, lines, read, said},
};
use crate::tree::Tree;

const PUBLISHED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/ddl/published.txt");

/// What is wrong with `definitions` in view of what was published.
fn faults(published: &str, release: &str, lines: &[(String, u32, String)]) -> Vec<String> {
    let (releases, known) = read(published).expect("a list of what was published");
    let mut faults = altered(&known, lines);
    if releases.last() != Some(&release) {
        faults.push(format!("release {release} is not the last one that is listed"));
    }
    for (id, version, _) in lines {
        let newest = known.iter().filter(|(known, ..)| known == id).map(|(_, version, _)| *version).max();
        if !known.iter().any(|(known, v, _)| known == id && v == version) {
            faults.push(format!("{id}: version {version} is not listed"));
        }
        if newest.is_some_and(|newest| *version < newest) {
            faults.push(format!("{id}: version {version} is older than what was published"));
        }
    }
    faults
}

#[test]
fn what_was_published_is_as_it_was() {
    let tree = Tree::embedded();
    let definitions = Definitions::embedded().expect("sound");
    let lines = lines(&tree, &definitions);
    let release = definitions.manifest.release.as_str();
    if std::env::var_os("PUBLISH").is_some() {
        let mut text = std::fs::read_to_string(PUBLISHED).unwrap_or_default();
        let _ = writeln!(text, "release {release}");
        for (id, version, sum) in
            lines.iter().filter(|(id, v, _)| !text.contains(&format!("\n{id} {v} "))).cloned().collect::<Vec<_>>()
        {
            let _ = writeln!(text, "{id} {version} {sum}");
        }
        std::fs::write(PUBLISHED, text).expect("ddl/ can be written");
    }
    let published = std::fs::read_to_string(PUBLISHED).expect("ddl/published.txt");
    let faults = faults(&published, release, &lines);
    assert!(
        faults.is_empty(),
        "{}\nA published definition is not altered: give it the next version and {} the next release, then \
         `PUBLISH=1 cargo test published` lists them",
        faults.join("\n"),
        manifest::FILE
    );
}

#[test]
fn an_altered_definition_needs_a_version() {
    let line = |version: u32, sum: &str| vec![("a".to_owned(), version, sum.to_owned())];
    let published = "release 1\na 1 x\nrelease 2\na 2 y\n";
    assert_eq!(faults(published, "2", &line(2, "y")), [""; 0]);
    assert_eq!(faults(published, "2", &line(2, "z")), ["a: version 2 was published and says something else now"]);
    assert_eq!(faults(published, "2", &line(3, "z")), ["a: version 3 is not listed"]);
    assert_eq!(faults(published, "2", &line(1, "x")), ["a: version 1 is older than what was published"]);
    assert_eq!(faults(published, "3", &line(2, "y")), ["release 3 is not the last one that is listed"]);
    assert_ne!(said("a: 1\n# b\n"), said("a: 2\n"));
    assert_eq!(said("a: 1\n# b\n\n"), said("# c\na: 1"));
}
