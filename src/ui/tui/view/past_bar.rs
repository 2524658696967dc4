//! The bar below a recording: events over time, gaps, findings, and the time that is shown.
//!
//! ```text
//!  ▶ x10 02:13:07  ▁▁▂▁▁▇█▇▁▁▁░░░▁▁│▁▁▂▁▁▁▁▁
//!  01:40:00  ✖ 02:13:01 stuck 6s before                                      02:40:00
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::View;
use crate::tui::app::{Outline, Replay, replay_sentence};
use crate::tui::widget::write::{clear, write_line};
use lockscope_base::znode::Timestamp;
use lockscope_model::diagnose::Severity;
use lockscope_model::text::human::{exact_time, time_of_day};
use lockscope_model::text::{Keep, width};

/// Minimum columns of the bar.
const MIN_BAR: usize = 10;

/// Draws the bar and the line below it.
pub fn draw(view: View<'_>, replay: &Replay, area: Rect, buffer: &mut Buffer) {
    if area.height == 0 {
        return;
    }
    clear(area, buffer);
    let (theme, utc) = (view.theme, view.app.settings().utc);
    let outline = replay.outline();
    let state = if replay.is_playing() { theme.signs.play[0] } else { theme.signs.play[1] };
    let left = format!(" {state} {:<6} {}  ", replay.speed().label(), exact_time(replay.at(), utc));
    let columns = usize::from(area.width).saturating_sub(width(&left) + 1);
    let mut spans = vec![Span::styled(left, theme.strong)];
    if columns >= MIN_BAR {
        spans.extend(bar(view, outline, replay.at(), columns));
    }
    write_line(spans, Rect { height: 1, ..area }, buffer);
    if area.height < 2 {
        return;
    }
    let line = Rect { y: area.y + 1, height: 1, ..area };
    let (from, until) = (time_of_day(outline.from, utc), format!("{} ", time_of_day(outline.until, utc)));
    let room = usize::from(area.width).saturating_sub(width(&from) + width(&until) + 4);
    let sentence = view.fit(&replay_sentence(replay, utc), room, Keep::Start);
    write_line(vec![Span::styled(format!(" {from}  "), theme.dim), Span::styled(sentence, theme.text)], line, buffer);
    let columns = u16::try_from(width(&until)).unwrap_or(0).min(line.width);
    let right = Rect { x: line.right() - columns, width: columns, ..line };
    write_line(Line::styled(until, theme.dim), right, buffer);
}

/// Returns the bar. A column with several things shows the most important one.
fn bar(view: View<'_>, outline: &Outline, at: Timestamp, columns: usize) -> Vec<Span<'static>> {
    let theme = view.theme;
    let signs = &theme.signs;
    let scale = Scale { from: outline.from.0, length: outline.until.0.saturating_sub(outline.from.0).max(1), columns };
    let density = spread(&outline.density, columns);
    let highest = density.iter().copied().max().unwrap_or(0);
    let levels = crate::tui::widget::spark::line(&density, columns, highest, &signs.levels);
    let cell = |level: char| match level {
        ' ' => (signs.dot.to_owned(), theme.dim),
        level => (level.to_string(), theme.good),
    };
    let mut cells: Vec<(String, Style)> = levels.chars().map(cell).collect();
    for gap in &outline.gaps {
        // Where the clock was set back, a gap ends before it begins.
        let (from, until) = (scale.column(gap.from), scale.column(gap.to.unwrap_or(outline.until)));
        for cell in &mut cells[from.min(until)..=from.max(until)] {
            *cell = (signs.gap.to_owned(), theme.unsure);
        }
    }
    for finding in &outline.findings {
        let cell = &mut cells[scale.column(finding.at)];
        match finding.severity {
            Severity::Critical => *cell = (signs.bad.to_owned(), theme.bad),
            Severity::Warning if cell.0 != signs.bad => *cell = (signs.warning.to_owned(), theme.wait),
            _ => {}
        }
    }
    let cell = &mut cells[scale.column(at)];
    *cell = (signs.here.to_owned(), theme.mark);
    cells.into_iter().map(|(sign, style)| Span::styled(sign, style)).collect()
}

struct Scale {
    from: i64,
    length: i64,
    columns: usize,
}

impl Scale {
    fn column(&self, at: Timestamp) -> usize {
        let into = i128::from(at.0.saturating_sub(self.from).clamp(0, self.length));
        let column = into * self.columns as i128 / i128::from(self.length);
        usize::try_from(column).unwrap_or(0).min(self.columns - 1)
    }
}

/// Sums the density into one part for each column.
fn spread(density: &[u32], columns: usize) -> Vec<u64> {
    let mut parts = vec![0; columns];
    for (at, count) in density.iter().enumerate() {
        parts[at * columns / density.len()] += u64::from(*count);
    }
    if density.len() < columns {
        // The bar is wider than the data is fine: each part fills several columns.
        for (column, part) in parts.iter_mut().enumerate() {
            *part = u64::from(density.get(column * density.len() / columns).copied().unwrap_or(0));
        }
    }
    parts
}
