//! Where the server does not let us look.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::View;
use crate::text::human::count;
use crate::text::{Keep, width};
use crate::tui::widget::panel::Panel;

/// Every place that cannot be read, and what the server said.
pub fn draw(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let (app, theme) = (view.app, view.theme);
    let places = app.world().table().unreadable();
    let left = vec![("Cannot be read".to_owned(), theme.strong), (count(places.len()), theme.text)];
    let inner = Panel { left, ..Panel::default() }.draw(area, buffer, theme);
    if places.is_empty() {
        view.placeholder(&["The server lets us look everywhere below the roots.".to_owned()], inner, buffer);
        return;
    }
    let columns = usize::from(inner.width).saturating_sub(2);
    let note = "Locks below these nodes are not known; everything else is complete.";
    Line::from(Span::styled(format!(" {note}"), theme.dim)).render(Rect { height: 1, ..inner }, buffer);
    let height = usize::from(inner.height);
    let top = app.scrolled().min((places.len() + 2).saturating_sub(height));
    for ((path, why), y) in places.iter().skip(top).zip((inner.top() + 2)..inner.bottom()) {
        let path = view.fit(path.as_str(), columns / 2, Keep::End);
        let why = view.fit(why, columns.saturating_sub(width(&path) + 2), Keep::Start);
        Line::from(vec![Span::styled(format!(" {path}"), theme.strong), Span::styled(format!("  {why}"), theme.text)])
            .render(Rect { y, height: 1, ..inner }, buffer);
    }
}
