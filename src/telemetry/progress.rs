//! Progress bars on standard error, and how the log gets past them.

use std::{
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

/// Standard error for the log: a bar is taken away while a line is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stderr;

impl<'a> MakeWriter<'a> for Stderr {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        *self
    }
}

impl Write for Stderr {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        BARS.suspend(|| io::stderr().lock().write_all(line))?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
