//! What went wrong between us and the server.

use std::{error, fmt, time::Duration};

use super::{Class, class, hint};

/// A fault of one statement. Holds no credentials: neither the password nor a URL that could carry one.
#[derive(Debug)]
pub struct Error {
    host: String,
    statement: String,
    kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// No connection, or it broke before the whole reply was there. Whether the statement took effect isn't known.
    Connection(reqwest::Error),
    /// No reply within the time. Whether the statement took effect isn't known.
    Timeout(Duration),
    /// The server's own refusal.
    Server { code: i32, message: String },
    /// An HTTP status without the server's code: something between us and the server spoke.
    Status { status: u16, message: String },
    /// A reply that isn't what was asked for.
    Reply(String),
    /// The client can't be built.
    Setup(String),
    /// The server doesn't take a setting that every insert carries; it stands in the place of the statement.
    Setting { is_configured: bool, code: i32, message: String },
}

/// The code of a server, or of a profile, that lets nothing be changed.
pub(super) const READONLY: i32 = 164;

/// What the TLS library says of a certificate that is not trusted. It has no type of its own for that.
const DISTRUST: &str = "certificate verify failed";

/// As much of a statement or a message as an operator needs to recognise it.
const SHOWN: usize = 400;

impl Error {
    #[cold]
    pub(super) fn new(host: &str, statement: &str, kind: Kind) -> Self {
        Self { host: host.to_owned(), statement: shortened(statement, 120), kind }
    }

    /// The fault of a request that got no whole reply.
    #[cold]
    pub(super) fn transport(host: &str, statement: &str, error: reqwest::Error, timeout: Duration) -> Self {
        // A failed connection is one whether it was refused or took too long: nothing was sent.
        let kind = if error.is_timeout() && !error.is_connect() {
            Kind::Timeout(timeout)
        } else {
            Kind::Connection(error.without_url())
        };
        Self::new(host, statement, kind)
    }

    /// The fault that a reply tells of.
    #[cold]
    pub(super) fn refused(host: &str, statement: &str, status: u16, code: Option<i32>, body: &[u8]) -> Self {
        let message = shortened(&String::from_utf8_lossy(body), SHOWN);
        let kind = match code {
            Some(code) => Kind::Server { code, message },
            None => Kind::Status { status, message },
        };
        Self::new(host, statement, kind)
    }

    /// What to do about it.
    #[must_use]
    pub fn class(&self) -> Class {
        match &self.kind {
            Kind::Server { code, .. } => Class::of(*code),
            // A server that is read-only for a while may refuse settings for as long.
            Kind::Setting { code: READONLY, .. } => Class::Retry,
            Kind::Status { status: 401 | 403, .. } | Kind::Setup(_) | Kind::Setting { .. } => Class::Fatal,
            Kind::Connection(_) | Kind::Timeout(_) | Kind::Status { .. } | Kind::Reply(_) => Class::Retry,
        }
    }

    /// Whether the same may go through later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.class() == Class::Retry
    }

    /// Whether some row of the block is at fault, given that the table is as declared.
    #[must_use]
    pub fn is_row_fault(&self) -> bool {
        self.class() == Class::Split
    }

    /// Whether database, table, column or type isn't as declared.
    #[must_use]
    pub fn is_schema_fault(&self) -> bool {
        self.class() == Class::Schema
    }

    /// Whether it needs a person.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        self.class() == Class::Fatal
    }

    /// Whether the statement may have taken effect although this error came of it.
    #[must_use]
    pub fn is_outcome_unknown(&self) -> bool {
        match &self.kind {
            Kind::Connection(error) => !error.is_connect(),
            Kind::Timeout(_) | Kind::Status { .. } | Kind::Reply(_) => true,
            // Even a memory limit can be met after a part was written, in a view behind the table for instance.
            Kind::Server { code, .. } => Class::of(*code) == Class::Retry,
            Kind::Setup(_) | Kind::Setting { .. } => false,
        }
    }

    /// Whether another server may do better: nobody was there, the connection broke, or a proxy had nobody to ask.
    #[must_use]
    pub fn is_away(&self) -> bool {
        match &self.kind {
            // A body that its guard ended is no fault of the server.
            Kind::Connection(error) => !error.is_body(),
            Kind::Status { status, .. } => matches!(status, 502..=504),
            _ => false,
        }
    }

    /// Whether the request was taken and no reply came within its time.
    #[must_use]
    pub const fn is_unanswered(&self) -> bool {
        matches!(self.kind, Kind::Timeout(_))
    }

    /// The server's numeric code, if it was the server that refused.
    #[must_use]
    pub const fn code(&self) -> Option<i32> {
        match &self.kind {
            Kind::Server { code, .. } | Kind::Setting { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// The server's message, shortened, if it was the server that refused.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        match &self.kind {
            Kind::Server { message, .. } | Kind::Setting { message, .. } => Some(message),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClickHouse at {}: ", self.host)?;
        let hint = match &self.kind {
            Kind::Connection(error) => {
                f.write_str("no connection")?;
                // reqwest keeps the useful part, "connection refused" for instance, in its sources.
                let mut source: Option<&dyn error::Error> = Some(error);
                let mut is_distrust = false;
                while let Some(cause) = source {
                    let text = cause.to_string();
                    write!(f, ": {text}")?;
                    is_distrust |= text.contains(DISTRUST);
                    source = cause.source();
                }
                match error.is_connect() {
                    true if is_distrust => hint::DISTRUSTED,
                    true => hint::UNREACHABLE,
                    false => "",
                }
            }
            Kind::Timeout(after) => {
                write!(f, "no reply within {} s", after.as_secs_f32())?;
                ""
            }
            Kind::Server { code, message } => {
                write_code(f, *code, message)?;
                hint::of_code(*code)
            }
            Kind::Status { status, message } => {
                write!(f, "HTTP status {status} without a code: {message}")?;
                hint::of_status(*status)
            }
            Kind::Reply(what) => {
                write!(f, "unexpected reply: {what}")?;
                hint::NOT_CLICKHOUSE
            }
            Kind::Setup(error) => return write!(f, "can't set the client up: {error}"),
            Kind::Setting { is_configured, code, message } => {
                write!(f, "it refuses `{}`, ", self.statement)?;
                write_code(f, *code, message)?;
                return f.write_str(if *is_configured {
                    "; correct this setting, or leave it out"
                } else {
                    "; every insert needs this setting: let the profile of `clickhouse.user` allow it"
                });
            }
        };
        write!(f, " (in `{}`){hint}", self.statement)
    }
}

/// The code with the server's symbol for it, and what the server said.
fn write_code(f: &mut fmt::Formatter<'_>, code: i32, message: &str) -> fmt::Result {
    write!(f, "code {code}")?;
    if let Some(symbol) = class::symbol(code) {
        write!(f, " {symbol}")?;
    }
    write!(f, ": {message}")
}

impl error::Error for Error {}

/// The start of a text on one line.
pub(super) fn shortened(text: &str, limit: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_host_code_symbol_and_statement() {
        let error = Error::refused("h:8123", "SELECT\n  1", 500, Some(241), b"Code: 241. DB::Exception: too much\n");
        assert_eq!(
            error.to_string(),
            "ClickHouse at h:8123: code 241 MEMORY_LIMIT_EXCEEDED: Code: 241. DB::Exception: too much (in `SELECT 1`)"
        );
        assert!(error.is_retryable() && error.code() == Some(241));
        assert!(!Error::refused("h", "x", 500, Some(469), b"").is_outcome_unknown());
    }

    #[test]
    fn an_error_that_a_setting_mends_names_it() {
        for (code, setting) in [
            (81, "`clickhouse.database`"),
            (164, "`clickhouse.user`"),
            (192, "`clickhouse.password`"),
            (193, "`clickhouse.password_file`"),
            (194, "`clickhouse.user`"),
            (195, "from this machine"),
            (497, "ddl/roles"),
            (516, "`clickhouse.user` and `clickhouse.password`"),
        ] {
            let text = Error::refused("h", "x", 500, Some(code), b"no").to_string();
            let hint = text.split("(in `x`); ").nth(1).unwrap_or_default();
            assert!(hint.contains(setting), "{code}: {text}");
        }
        for status in [400, 404, 502] {
            let text = Error::refused("h", "x", status, None, b"<html>").to_string();
            assert!(text.contains("does `clickhouse.url` lead to"), "{text}");
        }
        let text = Error::refused("h", "x", 403, None, b"").to_string();
        assert!(text.contains("`clickhouse.password`"), "{text}");
    }

    #[test]
    fn a_status_without_a_code_is_no_refusal_of_the_server() {
        for (status, class) in [(502, Class::Retry), (500, Class::Retry), (404, Class::Retry), (401, Class::Fatal)] {
            let error = Error::refused("h", "x", status, None, b"<html>");
            assert_eq!((error.class(), error.code()), (class, None), "{status}");
            assert!(error.is_outcome_unknown());
        }
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(shortened("äöü", 2), "äö…");
        assert_eq!(shortened("a  b\n", 9), "a b");
    }
}
