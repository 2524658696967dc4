//! A progress line on a terminal's stderr.

use std::io::{self, IsTerminal, Stderr, Write};
use std::time::Duration;

use tokio::time::Instant;

/// The shortest time between two redraws.
const REDRAW_INTERVAL: Duration = Duration::from_millis(100);

/// Returns to the start of the line and clears it.
const CLEAR_LINE: &str = "\r\x1b[K";

/// The width of a terminal that does not report it.
const DEFAULT_COLUMNS: usize = 80;

/// The progress line. Dropping it clears the line.
pub(super) struct ProgressLine<W: Write = Stderr> {
    /// `None` without a terminal.
    out: Option<W>,
    columns: usize,
    drawn: Option<Instant>,
}

impl ProgressLine {
    /// Writes to stderr if that is a terminal that can clear a line; otherwise nowhere.
    pub(super) fn on_stderr() -> Self {
        let can_clear = std::env::var_os("TERM").is_some_and(|name| name != "dumb");
        let out = (io::stderr().is_terminal() && can_clear).then(io::stderr);
        let columns = crossterm::terminal::size().map_or(DEFAULT_COLUMNS, |(columns, _)| columns.into());
        Self { out, columns, drawn: None }
    }
}

impl<W: Write> ProgressLine<W> {
    /// Replaces the line by an ASCII text, unless it was drawn just now.
    pub(super) fn show(&mut self, now: Instant, text: impl FnOnce() -> String) {
        if self.out.is_some() && self.drawn.is_none_or(|drawn| now.duration_since(drawn) >= REDRAW_INTERVAL) {
            self.drawn = Some(now);
            self.draw(text());
        }
    }

    /// Shows a last text regardless of the redraw interval.
    pub(super) fn end(&mut self, text: &str) {
        if self.drawn.is_some() {
            self.draw(text.to_owned());
        }
    }

    fn draw(&mut self, mut text: String) {
        let Some(out) = &mut self.out else { return };
        // Some terminals wrap when the last column is used.
        text.truncate(self.columns.saturating_sub(1));
        // A closed terminal is noticed elsewhere.
        let _ = write!(out, "{CLEAR_LINE}{text}").and_then(|()| out.flush());
    }
}

impl<W: Write> Drop for ProgressLine<W> {
    fn drop(&mut self) {
        if let (Some(out), Some(_)) = (&mut self.out, self.drawn) {
            let _ = write!(out, "{CLEAR_LINE}").and_then(|()| out.flush());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_fits_is_drawn_ten_times_a_second_at_most_and_is_cleared_at_the_end() {
        let mut sent = Vec::new();
        let start = Instant::now();
        let mut line = ProgressLine { out: Some(&mut sent), columns: 10, drawn: None };
        for millis in [0, 99, 100, 150, 250] {
            line.show(start + Duration::from_millis(millis), || format!("{millis} clients"));
        }
        line.end("they leave");
        drop(line);
        let sent = String::from_utf8(sent).expect("text");
        let shown: Vec<&str> = sent.split(CLEAR_LINE).collect();
        assert_eq!(shown, ["", "0 clients", "100 clien", "250 clien", "they leav", ""]);
    }

    #[test]
    fn nothing_is_sent_where_nothing_was_shown() {
        let mut sent = Vec::new();
        drop(ProgressLine { out: Some(&mut sent), columns: 10, drawn: None });
        assert!(sent.is_empty());
    }
}
