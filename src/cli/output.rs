//! Standard output.

use std::io::{self, Write as _};

use super::Failure;

/// Prints data. A reader that went away, as `head` does, is no failure.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::failed(&error)),
        _ => Ok(()),
    }
}

/// Prints one JSON value on lines of its own.
pub(super) fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    print(&format!("{value:#}\n"))
}
