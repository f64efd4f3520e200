//! The grants of accounts, with those on a new epoch's table.

use crate::tree::Tree;

/// Every file of grants that names the table of the epoch before, with the same rights on the new one below each.
pub(super) fn with_table(tree: &Tree, before: &str, table: &str) -> Vec<(String, String)> {
    let changed = |(path, file): (&str, &crate::tree::File)| {
        let text = granted(&file.text, before, table);
        (text != file.text).then(|| (path.to_owned(), text))
    };
    tree.below("roles").filter_map(changed).collect()
}

fn granted(text: &str, before: &str, table: &str) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    for at in (0..lines.len()).rev() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let names = lines[at].starts_with("GRANT ") && lines[at].split(|c| !is_word(c)).any(|word| word == before);
        if names {
            let further = lines[at].replace(before, table);
            // A run that was ended in the middle may have written it.
            if !lines.contains(&further) {
                lines.insert(at + 1, further);
            }
        }
    }
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "-- Inserts into t_v1.\nGRANT INSERT ON {db}.t_v1;\nGRANT INSERT ON {db}.t_v10;\nGRANT x ON {db}.*;\n";

    #[test]
    fn a_table_has_the_rights_of_the_one_before() {
        let tree =
            Tree::from_files("x", [("roles/a.sql", TEXT), ("roles/b.sql", "GRANT x ON {db}.*;\n"), ("t.sql", TEXT)]);
        let expected = TEXT.replace("t_v1;\n", "t_v1;\nGRANT INSERT ON {db}.t_v2;\n");
        assert_eq!(with_table(&tree, "t_v1", "t_v2"), [("roles/a.sql".to_owned(), expected.clone())]);
        assert_eq!(granted(&expected, "t_v1", "t_v2"), expected, "once");
    }
}
