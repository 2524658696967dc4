//! The box before something is deleted: the list goes on above it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use super::View;
use crate::tui::deletion::{LABEL, Page, Tone};
use crate::tui::widget::panel::Panel;

/// Draws it over the lower end of `area`.
pub fn draw(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let Some((page, deletion)) = Page::of(view.app).zip(view.app.deletion()) else { return };
    let theme = view.theme;
    let height = page.height.min(area.height);
    let area = Rect { y: area.bottom() - height, height, ..area };
    Clear.render(area, buffer);
    buffer.set_style(area, theme.text);
    let (shown, top) = (page.shown(), deletion.scrolled().min(page.scroll_end()));
    let [up, down] = theme.signs.more;
    let more = match (top > 0, top < page.scroll_end()) {
        (false, false) => None,
        (above, below) => Some(format!("{}{} more", if above { up } else { "" }, if below { down } else { "" })),
    };
    let left = vec![(page.title.clone(), theme.strong)];
    let bottom = more.map(|text| (text, theme.wait));
    let inner = Panel { left, right: None, bottom, focused: true }.draw(area, buffer, theme);
    let below = inner.bottom().saturating_sub(u16::try_from(page.asks.len()).unwrap_or(inner.height)).max(inner.top());
    let asks = page.asks.iter().zip(below..inner.bottom());
    let plan = page.plan.iter().skip(top).take(shown).zip(inner.top()..inner.bottom());
    for (line, y) in plan.chain(asks) {
        let (sign, style) = match line.tone {
            Tone::Strong => (" ", theme.strong),
            Tone::Plain => (" ", theme.text),
            Tone::Careful => (theme.signs.warning, theme.wait),
            Tone::Bad => (theme.signs.bad, theme.bad),
            Tone::Ask => (theme.signs.cursor, theme.accent),
        };
        let sign = if line.first { sign } else { " " };
        let label = line.label.map_or_else(String::new, |label| format!("{label:<LABEL$}"));
        Line::from(vec![
            Span::styled(format!(" {sign} "), style),
            Span::styled(label, theme.title),
            Span::styled(line.text.as_str(), style),
        ])
        .render(Rect { y, height: 1, ..inner }, buffer);
    }
}
