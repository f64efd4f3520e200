//! A role: what it may do is written anew whenever its definition says something else.

use crate::{
    clickhouse::quoted,
    tree::{File, Place, Report, is_identifier},
};

/// A role's statements with the database still open. Each may be sent again at any time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    /// Its name; roles are in no database.
    pub name: String,
    statements: Vec<String>,
}

const HEADER: &str = "CREATE ROLE IF NOT EXISTS ";
const DATABASE: &str = "{db}";

impl Role {
    /// Reads a definition file; every problem is reported. Comments are whole lines.
    pub(super) fn read(file: &File, report: &mut Report) -> Option<Self> {
        let place = |line: usize| Place { file: file.name.clone(), line: line as u64, field: String::new() };
        let mut statements = Vec::new();
        let (mut text, mut begins) = (String::new(), 1);
        for (index, line) in file.text.lines().enumerate().filter(|(_, line)| !line.starts_with("--")) {
            if text.trim().is_empty() {
                begins = index + 1;
            }
            text.push_str(line);
            text.push('\n');
            if line.trim_end().ends_with(';') {
                statements.push((begins, text.trim().trim_end_matches(';').to_owned()));
                text.clear();
            }
        }
        if !text.trim().is_empty() {
            statements.push((begins, text.trim().to_owned()));
        }
        let first = statements.first().map(|(_, sql)| sql.as_str()).unwrap_or_default();
        let Some(name) = first.strip_prefix(HEADER).filter(|name| is_identifier(name)).map(str::to_owned) else {
            let read = first.lines().next().unwrap_or("");
            report.add(&place(begins), format!("read `{read}`; a role starts with `{HEADER}name;`"));
            return None;
        };
        let to = format!(" TO {name}");
        for (line, sql) in &statements[1..] {
            if !(sql.starts_with("GRANT ") && sql.ends_with(&to)) || sql.contains(';') {
                let text = format!("read `{sql}`; behind its first statement a role has `GRANT … TO {name};` alone");
                report.add(&place(*line), text);
            }
            if sql.contains('{') && sql.replace(DATABASE, "").contains('{') {
                report.add(&place(*line), format!("unknown place in `{sql}`; known: {DATABASE}"));
            }
        }
        Some(Self { name, statements: statements.into_iter().map(|(_, sql)| sql).collect() })
    }

    /// Its statements, in order.
    #[must_use]
    pub fn statements(&self, database: &str) -> Vec<String> {
        self.statements.iter().map(|sql| sql.replace(DATABASE, &quoted(database))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    fn read(text: &str) -> Result<Role, String> {
        let tree = Tree::from_files("x", [("r.sql", text)]);
        let mut report = Report::default();
        let role = Role::read(tree.get("r.sql").expect("a file"), &mut report);
        report.finish(role).map_err(|refused| refused.to_string())
    }

    #[test]
    fn a_role_is_a_name_and_its_grants() {
        let text = "-- Reads.\n\nCREATE ROLE IF NOT EXISTS reader;\nGRANT SELECT\n  ON {db}.* TO reader;\nGRANT SHOW ON {db}.t TO reader\n";
        let role = read(text).expect("sound");
        assert_eq!(role.name, "reader");
        assert_eq!(
            role.statements("d"),
            ["CREATE ROLE IF NOT EXISTS reader", "GRANT SELECT\n  ON `d`.* TO reader", "GRANT SHOW ON `d`.t TO reader"]
        );
    }

    #[test]
    fn what_is_no_role_is_named_with_its_line() {
        for (text, expected) in [
            ("", "x/r.sql:1: read ``; a role starts with `CREATE ROLE IF NOT EXISTS name;`"),
            ("-- a\nGRANT SELECT ON *.* TO a;", "x/r.sql:2: read `GRANT SELECT ON *.* TO a`; a role starts"),
            ("CREATE ROLE IF NOT EXISTS a b;", "x/r.sql:1: read `CREATE ROLE IF NOT EXISTS a b`"),
            ("CREATE ROLE IF NOT EXISTS a;\nDROP ROLE a;", "x/r.sql:2: read `DROP ROLE a`; behind its first statement"),
            ("CREATE ROLE IF NOT EXISTS a;\nGRANT ALL ON *.* TO b;", "`GRANT … TO a;` alone"),
            ("CREATE ROLE IF NOT EXISTS a;\nGRANT x; GRANT y TO a;", "`GRANT … TO a;` alone"),
            ("CREATE ROLE IF NOT EXISTS a;\nGRANT SELECT ON {d}.* TO a;", "unknown place"),
        ] {
            let refused = read(text).expect_err(text);
            assert!(refused.contains(expected), "{text}: {refused}");
        }
    }
}
