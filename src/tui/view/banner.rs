//! The lines that tell what is wrong with the connection.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::View;
use crate::tui::banner::{Banner, Weight};

/// What is wrong, if anything is.
pub fn draw(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let Some(banner) = Banner::of(view.app, area.width) else { return };
    let signs = &view.theme.signs;
    let (sign, style) = match banner.weight {
        Weight::Busy => (signs.busy, view.theme.wait),
        Weight::Bad => (signs.bad, view.theme.bad),
    };
    let mut lines: Vec<_> = banner.reason.iter().map(|text| vec![Span::styled(format!("   {text}"), style)]).collect();
    if let Some(first) = lines.first_mut() {
        *first = vec![Span::styled(format!(" {sign} {}", banner.reason[0]), style)];
    }
    let rest = Span::styled(banner.rest.as_str(), view.theme.unsure);
    match lines.last_mut() {
        Some(last) if banner.behind => last.push(rest),
        _ => lines.push(vec![Span::raw("   "), rest]),
    }
    for (spans, y) in lines.into_iter().zip(area.top()..area.bottom()) {
        Line::from(spans).render(Rect { y, height: 1, ..area }, buffer);
    }
}
