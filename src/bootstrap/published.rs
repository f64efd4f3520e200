//! A published definition is never altered: it gets a successor, with a version of its own.

use std::fmt::Write as _;

use super::{checksum, definitions::Definitions, manifest};
use crate::tree::Tree;

const PUBLISHED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/ddl/published.txt");

/// A definition without its comments: what is said about it may become clearer.
fn said(text: &str) -> String {
    let is_comment = |line: &&str| line.trim_start().starts_with('#') || line.trim_start().starts_with("--");
    text.lines().filter(|line| !is_comment(line) && !line.trim().is_empty()).collect::<Vec<_>>().join("\n")
}

/// A line for each object: id, version, and what its file says.
fn lines(tree: &Tree, definitions: &Definitions) -> Vec<(String, u32, String)> {
    let objects = definitions.objects.iter().filter(|o| o.entry.defines.is_some());
    let line = |o: &super::Object| {
        let file = o.entry.file().and_then(|path| tree.get(&path)).expect("a file");
        (o.entry.id.value.clone(), o.entry.version, checksum::of(&said(&file.text)))
    };
    objects.map(line).collect()
}

/// What is wrong with `definitions` in view of what was published.
fn faults(published: &str, release: &str, lines: &[(String, u32, String)]) -> Vec<String> {
    let mut releases: Vec<&str> = Vec::new();
    let mut known: Vec<(&str, u32, &str)> = Vec::new();
    for line in published.lines().filter(|line| !line.starts_with('#')) {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["release", name] => releases.push(name),
            [id, version, sum] => known.push((id, version.parse().expect("a version"), sum)),
            _ => panic!("{line}"),
        }
    }
    let mut faults = Vec::new();
    if releases.last() != Some(&release) {
        faults.push(format!("release {release} is not the last one that is listed"));
    }
    for (id, version, sum) in lines {
        let newest = known.iter().filter(|(known, ..)| known == id).map(|(_, version, _)| *version).max();
        match known.iter().find(|(known, v, _)| known == id && v == version) {
            Some((.., published)) if published == sum => {}
            Some(_) => faults.push(format!("{id}: version {version} was published and says something else now")),
            None => faults.push(format!("{id}: version {version} is not listed")),
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
