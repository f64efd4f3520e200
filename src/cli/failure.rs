//! How a command fails: one clear message, what to do next, an exit code.

use std::{error::Error, io::Write as _, process::ExitCode};

use crate::{config, telemetry};

/// What ends a command.
#[derive(Debug)]
pub struct Failure {
    message: String,
    hint: Option<String>,
    code: u8,
}

impl Failure {
    /// Exit code of work that failed.
    pub const FAILED: u8 = 1;

    /// Exit code of what can't start as it was asked to.
    pub const REFUSED: u8 = 2;

    /// Work failed; the message holds the error and all its causes.
    pub fn failed(error: &dyn Error) -> Self {
        Self { message: chain(error), hint: None, code: Self::FAILED }
    }

    /// Exit code of a command line that isn't understood: `EX_USAGE` of sysexits.h, and nothing that a command says of its
    /// work.
    pub const USAGE: u8 = 64;

    /// The start is refused; the message holds the error and all its causes.
    pub fn refused(error: &dyn Error) -> Self {
        Self { message: chain(error), hint: None, code: Self::REFUSED }
    }

    /// The same with another exit code.
    #[must_use]
    pub fn with_code(self, code: u8) -> Self {
        Self { code, ..self }
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Prints the failure and gives its exit code.
    pub(super) fn report(&self) -> ExitCode {
        let (red, bold, plain) = if telemetry::colour() { ("\x1b[1;31m", "\x1b[1m", "\x1b[0m") } else { ("", "", "") };
        let mut text = format!("{red}error:{plain} {}\n", self.message);
        if let Some(hint) = &self.hint {
            text += &format!("\n{bold}hint:{plain} {hint}\n");
        }
        // There is no other place to complain.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
        ExitCode::from(self.code)
    }
}

impl From<config::Error> for Failure {
    fn from(error: config::Error) -> Self {
        Self::refused(&error).hint("docs/configuration.md lists every setting with what is allowed")
    }
}

fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        // Some errors repeat their source in their own text.
        if !text.ends_with(&next) {
            text += &format!(": {next}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] std::io::Error);

    #[derive(Debug, thiserror::Error)]
    #[error("outer: {0}")]
    struct Repeats(#[source] std::io::Error);

    #[test]
    fn the_message_holds_every_cause_once() {
        let io = || std::io::Error::other("inner");
        assert_eq!(Failure::failed(&Outer(io())).message, "outer: inner");
        assert_eq!(Failure::failed(&Repeats(io())).message, "outer: inner");
    }
}
