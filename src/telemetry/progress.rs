//! Progress bars on standard error, and how the log gets past them.

use std::{
    borrow::Cow,
    io::{self, Write},
    sync::LazyLock,
    time::Duration,
};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use tracing_subscriber::fmt::MakeWriter;

/// All bars of the process. Nothing is drawn when standard error is no terminal.
static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// A bar that counts up to `total` of `unit`. Its message stands at the end.
///
/// # Panics
/// Never: the template is a good one.
#[must_use]
pub fn bar(total: u64, unit: &str) -> ProgressBar {
    let template = format!("{{bar:30}} {{human_pos}}/{{human_len}} {unit} · {{per_sec}} · {{eta}} left{{msg}}");
    let style = ProgressStyle::with_template(&template).expect("a good template").progress_chars("━╸─");
    BARS.add(ProgressBar::new(total).with_style(style))
}

/// A sign of life for work whose end isn't known.
///
/// # Panics
/// Never: the template is a good one.
#[must_use]
pub fn spinner(message: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {msg} · {elapsed}").expect("a good template");
    let spinner = BARS.add(ProgressBar::new_spinner().with_style(style).with_message(message.to_owned()));
    spinner.enable_steady_tick(Duration::from_millis(120));
    spinner
}

/// Standard error for the log: a bar is taken away while a line is written, and a record is one line, whatever it tells of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stderr;

impl<'a> MakeWriter<'a> for Stderr {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        *self
    }
}

impl Write for Stderr {
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        BARS.suspend(|| io::stderr().lock().write_all(&one_line(record)))?;
        Ok(record.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// A record without line breaks but the last: a list becomes a sentence, and a text from elsewhere can't pose as a record.
fn one_line(record: &[u8]) -> Cow<'_, [u8]> {
    let body = record.strip_suffix(b"\n").unwrap_or(record);
    if !body.contains(&b'\n') {
        return Cow::Borrowed(record);
    }
    let lines = body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    let mut line: Vec<u8> = Vec::with_capacity(record.len());
    for part in lines.filter(|line| !line.trim_ascii_start().is_empty()) {
        let between: &[u8] = match line.last() {
            None => b"",
            Some(b':' | b';') => b" ",
            Some(_) => b"; ",
        };
        line.extend_from_slice(between);
        line.extend_from_slice(if line.is_empty() { part } else { part.trim_ascii_start() });
    }
    line.extend_from_slice(&record[body.len()..]);
    Cow::Owned(line)
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn a_record_is_one_line() {
        let shown = |record: &str| String::from_utf8(one_line(record.as_bytes()).into_owned()).expect("text");
        assert_eq!(shown("INFO as it is\n"), "INFO as it is\n");
        assert_eq!(shown(" WARN two differences:\n  a\n  b\r\n\nc\n"), " WARN two differences: a; b; c\n");
        assert_eq!(shown("a;\nb"), "a; b");
    }
}
