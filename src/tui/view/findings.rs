//! The pane beside the details: why the open lock is stuck, and what may be done.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::{View, more};
use crate::text::human::plural;
use crate::tui::app::Pane;
use crate::tui::findings::lines;
use crate::tui::widget::panel::Panel;

/// Columns that are not text: the border, a space, a sign and a space, and a space at the end.
pub const AROUND: u16 = 6;

/// The findings of the open lock.
pub fn draw(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    if area.height == 0 {
        return;
    }
    let (app, theme) = (view.app, view.theme);
    let all = lines(app, usize::from(area.width.saturating_sub(AROUND)));
    let count = app.world().open_lock().map_or(0, |lock| app.world().diagnosis().of(lock.id()).len());
    let focused = app.pane() == Pane::Findings;
    let height = usize::from(area.height.saturating_sub(2));
    let scrolled = if focused { app.scrolled() } else { 0 };
    let top = scrolled.min(all.len().saturating_sub(height));
    let mut left = vec![("Why it is stuck".to_owned(), theme.strong)];
    if count > 0 {
        left.push((plural(count, "finding", "findings"), theme.text));
    }
    let panel = Panel { left, right: None, bottom: more(view, top, height, all.len()), focused };
    let inner = panel.draw(area, buffer, theme);
    for (line, y) in all.iter().skip(top).zip(inner.top()..inner.bottom()) {
        let (sign, style) =
            line.sign.map_or((" ", theme.text), |severity| (theme.signs.severity(severity), theme.severity(severity)));
        let text = if line.remedy { theme.text } else { theme.strong };
        Line::from(vec![
            Span::styled(format!(" {sign} "), view.data(style)),
            Span::styled(line.text.as_str(), view.data(text)),
        ])
        .render(Rect { y, height: 1, ..inner }, buffer);
    }
}
