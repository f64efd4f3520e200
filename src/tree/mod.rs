//! The tree of definition files: which files there are, their YAML with the line of every value, and what is wrong.
//!
//! It knows nothing of what the files mean. Whoever reads a meaning out of them ([`crate::epoch`], [`crate::bootstrap`])
//! reports every fault it finds to one [`Report`], so that an operator sees all of them at once, each with file, line and
//! field.

mod fields;
mod files;
mod node;
mod report;

pub use fields::Fields;
pub(crate) use files::UNFINISHED;
pub use files::{File, Tree, TreeError};
pub use node::{Entry, Node, Value};
pub use report::{At, Place, Problem, Refused, Report};

/// Whether a text can stand between back quotes in SQL, in a URL and in a log line without any escaping.
#[must_use]
pub fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::is_identifier;

    #[test]
    fn identifiers_hold_nothing_that_sql_reads_as_an_end() {
        for good in ["a", "_x", "xtcp_flat_records_v2", "A9"] {
            assert!(is_identifier(good), "{good}");
        }
        for bad in ["", "9a", "a b", "a`b", "a'b", "a\"b", "a(b)", "a;b", "a\\b", "a.b", "a-b", "ä"] {
            assert!(!is_identifier(bad), "{bad}");
        }
    }
}
