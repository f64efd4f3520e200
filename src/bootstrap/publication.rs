//! What was published of the definitions: a list of each object's versions, with a number for what each said.

use super::{checksum, definitions::Definitions};
use crate::tree::Tree;

/// The file of a tree that lists it.
pub(crate) const FILE: &str = "published.txt";

/// An object as it was published or is now: id, version, checksum of its file.
pub(crate) type Line = (String, u32, String);

/// What a list says: the releases, and every object's id, version and checksum.
pub(crate) type Published<'a> = (Vec<&'a str>, Vec<(&'a str, u32, &'a str)>);

/// A definition without its comments: what is said about it may become clearer.
pub(crate) fn said(text: &str) -> String {
    let is_comment = |line: &&str| line.trim_start().starts_with('#') || line.trim_start().starts_with("--");
    text.lines().filter(|line| !is_comment(line) && !line.trim().is_empty()).collect::<Vec<_>>().join("\n")
}

/// A line for each object: id, version, and what its file says.
pub(crate) fn lines(tree: &Tree, definitions: &Definitions) -> Vec<Line> {
    let objects = definitions.objects.iter().filter(|o| o.entry.defines.is_some());
    let line = |o: &super::Object| {
        let file = o.entry.file().and_then(|path| tree.get(&path)).expect("a file");
        (o.entry.id.value.clone(), o.entry.version, checksum::of(&said(&file.text)))
    };
    objects.map(line).collect()
}

/// What was published: the releases, and the objects. `None` when the text is no such list.
pub(crate) fn read(published: &str) -> Option<Published<'_>> {
    let (mut releases, mut objects) = (Vec::new(), Vec::new());
    for line in published.lines().filter(|line| !line.starts_with('#')) {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["release", name] => releases.push(name),
            [id, version, sum] => objects.push((id, version.parse().ok()?, sum)),
            _ => return None,
        }
    }
    Some((releases, objects))
}

/// The objects whose file says something else than what was published under their version.
pub(crate) fn altered(objects: &[(&str, u32, &str)], lines: &[Line]) -> Vec<String> {
    let is_other = |(id, version, sum): &&Line| {
        objects.iter().any(|(known, v, published)| known == id && v == version && published != sum)
    };
    let text = |(id, version, _): &Line| format!("{id}: version {version} was published and says something else now");
    lines.iter().filter(is_other).map(text).collect()
}
