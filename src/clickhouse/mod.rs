//! The ClickHouse server over its HTTP interface: statements, small queries, inserts of sealed blocks.
//!
//! It knows tables and bytes, no records. It never tries twice: what a fault means is said by [`Class`], what is done about
//! it is the caller's business.

mod body;
mod class;
mod client;
mod error;
mod hint;
mod hosts;
mod insert;
mod presence;
mod query;
mod settings;

pub use body::Guard;
pub use class::{Class, Code, KNOWN};
pub use client::Client;
pub use error::Error;
pub use insert::Insert;
pub use presence::Sought;

/// A name in back quotes, ready to stand in a statement.
#[must_use]
pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('\\', "\\\\").replace('`', "\\`"))
}

/// A text as a literal, ready to stand in a statement.
#[must_use]
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod text_tests {
    use super::{literal, quoted};

    #[test]
    fn names_and_literals_end_where_they_should() {
        assert_eq!(quoted("a"), "`a`");
        assert_eq!(quoted("a`; DROP"), "`a\\`; DROP`");
        assert_eq!(quoted("a\\"), "`a\\\\`");
        assert_eq!(literal("it's \\ here"), "'it\\'s \\\\ here'");
    }
}
