//! Writes text into the terminal's buffer. In tests, everything written is recorded, so that cut
//! and overlapping texts can be found.

#[cfg(test)]
pub mod record;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::{Clear, Widget};

/// Writes a line into the first line of an area, following the line's alignment.
pub fn write_line<'a>(line: impl Into<Line<'a>>, area: Rect, buffer: &mut Buffer) {
    let line = line.into();
    #[cfg(test)]
    record::wrote_line(&line, area);
    line.render(area, buffer);
}

/// Writes a text at a position, in at most `room` columns.
pub fn write_text(buffer: &mut Buffer, (x, y): (u16, u16), room: u16, text: &str, style: Style) {
    let end = x.saturating_add(room).min(buffer.area.right());
    if y >= buffer.area.bottom() || x >= end {
        return;
    }
    #[cfg(test)]
    record::wrote((x, y), end, text);
    buffer.set_stringn(x, y, text, usize::from(end - x), style);
}

/// Clears an area before another text covers it.
pub fn clear(area: Rect, buffer: &mut Buffer) {
    #[cfg(test)]
    record::cleared(area);
    Clear.render(area, buffer);
}
