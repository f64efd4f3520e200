//! The columns of a definition file as they stand there: each with its lines, and the heading that its group has.

use std::ops::Range;

/// The items of `columns`, in the order of the file.
#[derive(Debug)]
pub(super) struct Items<'a> {
    text: &'a str,
    /// For each item: where it stands, and the group that it is in.
    pub items: Vec<(Range<usize>, usize)>,
    /// The heading of each group: comment and blank lines.
    pub headings: Vec<&'a str>,
}

impl<'a> Items<'a> {
    /// Finds them; `None` when they aren't written one below the other as `  - `.
    pub(super) fn of(text: &'a str) -> Option<Self> {
        let start = text.find("\ncolumns:\n")? + "\ncolumns:\n".len();
        let mut found = Self { text, items: Vec::new(), headings: Vec::new() };
        let mut at = start;
        let mut heading = start..start;
        for line in text[start..].split_inclusive('\n') {
            let end = at + line.len();
            let trimmed = line.trim_start();
            if trimmed.is_empty() || trimmed.starts_with('#') {
                heading.end = end;
            } else if line.starts_with("  - ") {
                if !heading.is_empty() || found.items.is_empty() {
                    found.headings.push(&text[heading.clone()]);
                }
                found.items.push((at..end, found.headings.len() - 1));
                heading = end..end;
            } else if line.starts_with("    ") && heading.is_empty() {
                found.items.last_mut()?.0.end = end;
                heading = end..end;
            } else {
                return None;
            }
            at = end;
        }
        Some(found)
    }

    /// The file with other texts in the stead of some items, and more texts after some.
    pub(super) fn with(&self, replaced: &[(usize, String)], added: &[(Option<usize>, String)]) -> String {
        let first = self.items.first().map_or(self.text.len(), |(range, _)| range.start);
        let first = first - self.headings.first().map_or(0, |heading| heading.len());
        let mut out = self.text[..first].to_owned();
        let append = |out: &mut String, after: Option<usize>| {
            for (_, text) in added.iter().filter(|(at, _)| *at == after) {
                out.push_str(text);
            }
        };
        append(&mut out, None);
        let mut at = first;
        for (index, (range, _)) in self.items.iter().enumerate() {
            out.push_str(&self.text[at..range.start]);
            match replaced.iter().find(|(item, _)| *item == index) {
                Some((_, text)) => out.push_str(text),
                None => out.push_str(&self.text[range.clone()]),
            }
            append(&mut out, Some(index));
            at = range.end;
        }
        out.push_str(&self.text[at..]);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str =
        "epoch: 1\n\ncolumns:\n  # One.\n  - { name: a }\n  - name: b\n    type: c\n\n  # Two.\n  - { name: d }\n";

    #[test]
    fn items_are_found_with_their_groups() {
        let items = Items::of(FILE).expect("items");
        let found: Vec<(&str, usize)> = items.items.iter().map(|(range, g)| (&FILE[range.clone()], *g)).collect();
        assert_eq!(found, [("  - { name: a }\n", 0), ("  - name: b\n    type: c\n", 0), ("  - { name: d }\n", 1)]);
        assert_eq!(items.headings, ["  # One.\n", "\n  # Two.\n"]);
        assert_eq!(items.with(&[], &[]), FILE);
    }

    #[test]
    fn lines_go_where_they_belong() {
        let items = Items::of(FILE).expect("items");
        let text =
            items.with(&[(1, "  - B\n".to_owned())], &[(Some(1), "  - C\n".to_owned()), (None, "  - 0\n".to_owned())]);
        assert_eq!(
            text,
            "epoch: 1\n\ncolumns:\n  - 0\n  # One.\n  - { name: a }\n  - B\n  - C\n\n  # Two.\n  - { name: d }\n"
        );
    }

    #[test]
    fn columns_that_are_written_otherwise_are_not_guessed() {
        assert!(Items::of("epoch: 1\ncolumns: [{ name: a }]\n").is_none());
        assert!(Items::of("epoch: 1\n\ncolumns:\n- { name: a }\n").is_none());
    }
}
