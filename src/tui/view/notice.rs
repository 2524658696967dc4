//! A notice that is too long for the footer: a box above it, as long as the notice stays.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use super::View;
use crate::text::wrap_words;
use crate::tui::app::Notice;
use crate::tui::widget::panel::Panel;

/// Whether the footer has room for all of it.
pub fn fits(view: View<'_>, notice: &Notice) -> bool {
    let room = view.app.layout().map_or(0, |layout| usize::from(layout.footer.width).saturating_sub(4));
    wrap_words(&notice.text, room, view.theme.signs.charset).len() == 1
}

/// Draws it over the lower end of `area`, unless something is being asked there.
pub fn draw(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let (app, theme) = (view.app, view.theme);
    let Some(notice) = app.notice().filter(|notice| !fits(view, notice)) else { return };
    if app.deletion().is_some() || app.prompt().is_some() {
        return;
    }
    let lines = wrap_words(&notice.text, usize::from(area.width).saturating_sub(6), theme.signs.charset);
    // The box below a list is covered as a whole: its upper border alone would look broken.
    let below = app.layout().map_or(0, |layout| layout.side.height);
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX).max(below).min(area.height);
    let area = Rect { y: area.bottom() - height, height, ..area };
    Clear.render(area, buffer);
    buffer.set_style(area, theme.text);
    let (sign, style) = if notice.failed { (theme.signs.bad, theme.bad) } else { (theme.signs.holds, theme.good) };
    let inner = Panel { focused: true, ..Panel::default() }.draw(area, buffer, theme);
    for (at, (text, y)) in lines.into_iter().zip(inner.top()..inner.bottom()).enumerate() {
        let sign = if at == 0 { sign } else { " " };
        Line::from(vec![Span::styled(format!(" {sign} "), style), Span::styled(text, theme.text)])
            .render(Rect { y, height: 1, ..inner }, buffer);
    }
}
