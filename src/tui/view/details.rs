//! The pane below Queue: all that is known of the selected contender.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::{View, more, queue};
use crate::tui::app::Pane;
use crate::tui::details::{LABEL, Tone, lines};
use crate::tui::widget::panel::Panel;

/// The details of the selected contender.
pub fn draw(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    if area.height == 0 {
        return;
    }
    let (app, theme) = (view.app, view.theme);
    let selected = app.world().queue_rows().row(app.contender_cursor().rank());
    let title = selected.map_or_else(|| "Details".to_owned(), |row| queue::called(view, row.contender));
    let all = lines(app, usize::from(area.width.saturating_sub(4)));
    let height = usize::from(area.height.saturating_sub(2));
    let focused = app.pane() == Pane::Details;
    let scrolled = if focused { app.scrolled() } else { 0 };
    let top = scrolled.min(all.len().saturating_sub(height));
    let bottom = more(view, top, height, all.len());
    let panel = Panel { left: vec![(title, theme.strong)], right: None, bottom, focused };
    let inner = panel.draw(area, buffer, theme);
    for (line, y) in all.iter().skip(top).zip(inner.top()..inner.bottom()) {
        let style = match line.tone {
            Tone::Plain => theme.text,
            Tone::Careful => theme.wait,
        };
        Line::from(vec![
            Span::styled(format!(" {:<LABEL$}", line.label), theme.title),
            Span::styled(line.text.as_str(), view.data(style)),
        ])
        .render(Rect { y, height: 1, ..inner }, buffer);
    }
}
