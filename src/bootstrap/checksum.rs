//! One number for what an object is, whatever the platform and the layout of its text.

use sha2::{Digest as _, Sha256};

/// SHA-256 in hexadecimal of a statement that names no platform. White space outside of quotes counts as one space.
#[must_use]
pub(super) fn of(statement: &str) -> String {
    hex(&Sha256::digest(collapsed(statement).as_bytes()))
}

/// The text with every run of white space outside of quotes as one space.
pub(super) fn collapsed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.trim().chars();
    let mut quote = None;
    while let Some(c) = chars.next() {
        match quote {
            Some(open) => {
                out.push(c);
                if c == '\\' {
                    out.extend(chars.next());
                } else if c == open {
                    quote = None;
                }
            }
            None if c.is_whitespace() => {
                if !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            None => {
                if matches!(c, '\'' | '"' | '`') {
                    quote = Some(c);
                }
                out.push(c);
            }
        }
    }
    out
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_counts_in_quotes_alone() {
        assert_eq!(of("SELECT  1\n\tFROM t "), of("SELECT 1 FROM t"));
        assert_ne!(of("SELECT 'a  b'"), of("SELECT 'a b'"));
        assert_ne!(of("SELECT 'it\\'s  x'"), of("SELECT 'it\\'s x'"));
        assert_ne!(of("a UInt32"), of("a UInt64"));
        assert_eq!(of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
