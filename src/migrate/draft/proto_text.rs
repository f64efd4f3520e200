//! The new `.proto`, with what left it reserved.

use super::super::{Left, Shape};

/// How wide lines are.
const WIDTH: usize = 118;

/// The text with `reserved` lines for what the record before used and this one doesn't.
pub(super) fn with_reserved(text: &str, shape: &Shape, left: &Left, said: &str) -> String {
    let lines = lines(left, said);
    let is_crlf = text.contains("\r\n");
    let lines = if is_crlf { lines.replace('\n', "\r\n") } else { lines };
    let Some(at) = shape.spot.and_then(|spot| body(text, spot.line)).filter(|_| !lines.is_empty()) else {
        return text.to_owned();
    };
    // A body that begins on the line of its brace is pushed down.
    let (before, after) = text.split_at(at);
    let end = if is_crlf { "\r\n" } else { "\n" };
    match after.strip_prefix(end) {
        Some(after) => format!("{before}{end}{lines}{after}"),
        None => format!("{before}{end}{lines} {after}"),
    }
}

/// Where the body of the message begins that starts in that line: behind its brace, which no comment holds.
fn body(text: &str, line: u32) -> Option<usize> {
    let skipped = usize::try_from(line).ok()?.checked_sub(1)?;
    let mut at: usize = text.split_inclusive('\n').take(skipped).map(str::len).sum();
    // Another message may end on the line.
    at += text[at..].find("message ")?;
    loop {
        let rest = &text[at..];
        let brace = rest.find('{')?;
        let comment =
            rest.find("/*").map(|from| (from, "*/")).into_iter().chain(rest.find("//").map(|from| (from, "\n")));
        match comment.min().filter(|(from, _)| *from < brace) {
            None => return Some(at + brace + 1),
            Some((from, end)) => at += from + rest[from..].find(end)? + end.len(),
        }
    }
}

fn lines(left: &Left, said: &str) -> String {
    if left.numbers.is_empty() && left.names.is_empty() {
        return String::new();
    }
    let mut text = format!("  // {said}\n");
    wrapped(&mut text, left.numbers.iter().map(ToString::to_string));
    wrapped(&mut text, left.names.iter().map(|name| format!("\"{name}\"")));
    text
}

/// `reserved a, b, c;` over as many lines as it takes.
fn wrapped(text: &mut String, parts: impl Iterator<Item = String>) {
    let mut line = "  reserved".to_owned();
    let mut is_first = true;
    for part in parts {
        if !is_first {
            line.push(',');
            if line.len() + part.len() + 2 > WIDTH {
                text.push_str(&line);
                text.push('\n');
                line = "   ".to_owned();
            }
        }
        line.push(' ');
        line.push_str(&part);
        is_first = false;
    }
    if !is_first {
        text.push_str(&line);
        text.push_str(";\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_wrapped_and_closed() {
        let left = Left { numbers: (1000..1030).collect(), names: vec!["a".to_owned(), "b".to_owned()] };
        let text = lines(&left, "Left by epoch 3.");
        assert!(text.starts_with("  // Left by epoch 3.\n  reserved 1000, 1001,"), "{text}");
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        assert_eq!(text.matches(';').count(), 2, "{text}");
        assert!(text.ends_with("  reserved \"a\", \"b\";\n"), "{text}");
        assert_eq!(lines(&Left::default(), "x"), "");
    }

    #[test]
    fn they_go_behind_the_brace_of_the_message() {
        let text = "message A {}\nmessage B\n{\n  uint32 a = 1;\n}\n";
        assert_eq!(body(text, 2), text.find("{\n").map(|at| at + 1));
        assert_eq!(body(text, 1), Some(11));
        for text in ["message A /* { */ { uint32 a = 1; }", "message A // {\n{ uint32 a = 1; }"] {
            assert_eq!(body(text, 1), text.rfind("{ u").map(|at| at + 1), "{text}");
        }
    }
}
