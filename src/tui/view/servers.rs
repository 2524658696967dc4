//! What each server tells about itself, and what to change where it does not.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::View;
use crate::tui::servers::{AROUND, Tone, lines, telling};
use crate::tui::widget::panel::Panel;

/// The servers.
pub fn draw(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let (app, theme) = (view.app, view.theme);
    let all = lines(app, usize::from(area.width.saturating_sub(AROUND)));
    let height = usize::from(area.height.saturating_sub(2));
    let top = app.scrolled().min(all.len().saturating_sub(height));
    let mut left = vec![("Servers".to_owned(), theme.strong)];
    let told = app.world().table().view();
    if !told.members.is_empty() {
        left.push((telling(told), theme.text));
    }
    let [up, down] = theme.signs.more;
    let marks = [(top > 0, up), (all.len() > top + height, down)];
    let marks: String = marks.into_iter().filter_map(|(there, mark)| there.then_some(mark)).collect();
    let bottom = Some((format!("{marks} more"), theme.dim)).filter(|_| !marks.is_empty());
    let inner = Panel { left, right: None, bottom, focused: false }.draw(area, buffer, theme);
    for ((tone, text), y) in all.iter().skip(top).zip(inner.top()..inner.bottom()) {
        let (sign, style) = match tone {
            Tone::Telling => (theme.signs.good, theme.strong),
            Tone::Missing => (theme.signs.warning, theme.strong),
            Tone::Plain => (" ", theme.text),
            Tone::Careful => (" ", theme.wait),
            Tone::Aside => (" ", theme.dim),
        };
        let mark = if *tone == Tone::Telling { theme.good } else { theme.wait };
        Line::from(vec![
            Span::styled(format!("{sign} "), view.data(mark)),
            Span::styled(text.as_str(), view.data(style)),
        ])
        .render(Rect { y, height: 1, ..inner }, buffer);
    }
}
