//! The box above the line in which a number of test clients is typed.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use super::View;
use crate::text::wrap_words;
use crate::tui::contend_prompt::Asked;
use crate::tui::widget::panel::Panel;

/// Draws it over the lower end of `area`.
pub fn draw(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let Some(asked) = Asked::of(view.app) else { return };
    let theme = view.theme;
    let room = usize::from(area.width).saturating_sub(6);
    let mut lines = Vec::new();
    for says in &asked.says {
        lines.extend(wrap_words(says, room, theme.signs.charset).into_iter().map(|text| (" ", text, theme.text)));
    }
    if let Some(warning) = &asked.warning {
        let wrapped = wrap_words(warning, room, theme.signs.charset).into_iter().enumerate();
        lines.extend(wrapped.map(|(at, text)| (if at == 0 { theme.signs.warning } else { " " }, text, theme.wait)));
    }
    // The box below a list is covered as a whole: its upper border alone would look broken.
    let below = view.app.layout().map_or(0, |layout| layout.side.height);
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX).max(below).min(area.height);
    let area = Rect { y: area.bottom() - height, height, ..area };
    Clear.render(area, buffer);
    buffer.set_style(area, theme.text);
    let panel = Panel { left: vec![(asked.title.to_owned(), theme.strong)], focused: true, ..Panel::default() };
    let inner = panel.draw(area, buffer, theme);
    for ((sign, text, style), y) in lines.into_iter().zip(inner.top()..inner.bottom()) {
        Line::from(Span::styled(format!(" {sign} {text}"), style)).render(Rect { y, height: 1, ..inner }, buffer);
    }
}
