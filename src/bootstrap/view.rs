//! A view, plain or materialized: one statement in a file, with places that the definitions fill.

use crate::{
    clickhouse::quoted,
    tree::{File, Place, Report, is_identifier},
};

/// A view's statement with its places still open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// Its name without the database.
    pub name: String,
    /// For a materialized view, the name of the table of the same database that it writes to.
    pub target: Option<String>,
    template: String,
    /// Where the query begins in the template.
    query: usize,
}

/// What a plain view begins with. It holds nothing, so it may always be replaced.
const PLAIN: Form = Form { header: "CREATE OR REPLACE VIEW {db}.", behind: "name AS", has_target: false };
/// A table of its own would be one that no definition has, so a target is always named.
const MATERIALIZED: Form =
    Form { header: "CREATE MATERIALIZED VIEW {db}.", behind: "name TO {db}.table AS", has_target: true };

/// How the statement of a kind of view begins.
struct Form {
    header: &'static str,
    behind: &'static str,
    has_target: bool,
}

/// The places that a template may hold: the database, and one SELECT for each epoch.
const DATABASE: &str = "{db}";
const EPOCHS: &str = "{epochs}";

impl View {
    /// Reads the definition file of a plain view; every problem is reported. The comment before the statement is left out.
    pub(super) fn read(file: &File, report: &mut Report) -> Option<Self> {
        Self::of(file, &PLAIN, report)
    }

    /// The same of a materialized view.
    pub(super) fn read_materialized(file: &File, report: &mut Report) -> Option<Self> {
        Self::of(file, &MATERIALIZED, report)
    }

    fn of(file: &File, form: &Form, report: &mut Report) -> Option<Self> {
        let Form { header, behind, has_target } = form;
        let comment = file.text.lines().take_while(|line| line.trim().is_empty() || line.starts_with("--")).count();
        let lines: Vec<&str> = file.text.lines().skip(comment).collect();
        let template = lines.join("\n").trim().to_owned();
        let line = comment as u64 + 1;
        let place = Place { file: file.name.clone(), line, field: String::new() };
        let after = template.strip_prefix(header);
        let name = after.and_then(|rest| rest.split_whitespace().next()).filter(|name| is_identifier(name));
        let Some(name) = name.map(str::to_owned) else {
            let read = template.lines().next().unwrap_or("");
            report.add(&place, format!("read `{read}`; a view starts with `{header}{behind}`"));
            return None;
        };
        // A list of columns between name and query isn't taken: the query names them.
        let start = header.len() + name.len();
        let rest = template[start..].trim_start();
        let target =
            if *has_target { rest.strip_prefix("TO {db}.").and_then(|to| to.split_whitespace().next()) } else { None };
        let behind_target = target.map_or(rest, |target| rest["TO {db}.".len() + target.len()..].trim_start());
        let is_sound = target.is_some_and(is_identifier) == *has_target;
        let query = behind_target.strip_prefix("AS").filter(|q| is_sound && q.starts_with(char::is_whitespace));
        let query = query.map_or(template.len(), |query| template.len() - query.trim_start().len());
        if query == template.len() {
            report.add(&place, format!("read `{}`; a view starts with `{header}{behind}`", &template[..start]));
        }
        if template.contains(';') {
            report.add(&place, "a view is one statement, without a semicolon");
        }
        for (index, line) in lines.iter().enumerate() {
            for unknown in places(line).filter(|p| *p != DATABASE && *p != EPOCHS) {
                let place = Place { line: place.line + index as u64, ..place.clone() };
                report.add(&place, format!("unknown place {unknown}; known: {DATABASE}, {EPOCHS}"));
            }
        }
        Some(Self { name, target: target.map(str::to_owned), template, query })
    }

    /// The statement.
    #[must_use]
    pub fn render(&self, database: &str, epochs: &str) -> String {
        filled(&self.template, database, epochs)
    }

    /// The query alone.
    #[must_use]
    pub fn select(&self, database: &str, epochs: &str) -> String {
        filled(&self.template[self.query..], database, epochs)
    }
}

fn filled(template: &str, database: &str, epochs: &str) -> String {
    template.replace(DATABASE, &quoted(database)).replace(EPOCHS, epochs)
}

/// The words in braces of a line.
fn places(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices('{').filter_map(|(at, _)| {
        let rest = &line[at..];
        rest.find('}').map(|end| &rest[..=end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    fn read(text: &str) -> Result<View, String> {
        let tree = Tree::from_files("x", [("v.sql", text)]);
        let mut report = Report::default();
        let view = View::read_materialized(tree.get("v.sql").expect("a file"), &mut report);
        report.finish(view).map_err(|refused| refused.to_string())
    }

    #[test]
    fn a_materialized_view_names_its_table() {
        let view =
            read("-- What for.\nCREATE MATERIALIZED VIEW {db}.v TO {db}.t AS\nSELECT a FROM {db}.s\n").expect("sound");
        assert_eq!((view.name.as_str(), view.target.as_deref()), ("v", Some("t")));
        assert_eq!(view.render("d", ""), "CREATE MATERIALIZED VIEW `d`.v TO `d`.t AS\nSELECT a FROM `d`.s");
        assert_eq!(view.select("d", ""), "SELECT a FROM `d`.s");
        for text in [
            "CREATE MATERIALIZED VIEW {db}.v AS SELECT 1",
            "CREATE MATERIALIZED VIEW {db}.v ENGINE = Memory AS SELECT 1",
            "CREATE MATERIALIZED VIEW {db}.v TO t AS SELECT 1",
            "CREATE MATERIALIZED VIEW {db}.v TO {db}.t-1 AS SELECT 1",
            "CREATE MATERIALIZED VIEW {db}.v TO {db}.t SELECT 1",
            "CREATE OR REPLACE VIEW {db}.v AS SELECT 1",
        ] {
            let refused = read(text).expect_err(text);
            assert!(
                refused.contains("a view starts with `CREATE MATERIALIZED VIEW {db}.name TO {db}.table AS`"),
                "{refused}"
            );
        }
    }
}
