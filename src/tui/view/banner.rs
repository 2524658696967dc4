use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::View;
use crate::queue::Link;
use crate::tui::widget::figure::{plural, time_of_day};
use crate::tui::widget::text::{Keep, width};

/// What is wrong with the connection, since when what is shown is old, and what comes next.
pub fn draw(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    if area.height == 0 {
        return;
    }
    let (app, theme) = (view.app, view.theme);
    let (sign, style, reason, next) = explain(view);
    let shown = match app.last_true() {
        Some(time) => format!("shown as of {}", time_of_day(time, app.settings().utc)),
        None => String::new(),
    };
    let dot = theme.signs.dot;
    let tail: String = [next, shown].iter().filter(|part| !part.is_empty()).fold(String::new(), |tail, part| {
        if tail.is_empty() { format!(" {dot} {part}") } else { format!("{tail} {dot} {part}") }
    });
    let room = usize::from(area.width).saturating_sub(width(&tail) + 4);
    let reason = view.fit(&reason, room, Keep::Start);
    Line::from(vec![Span::styled(format!(" {sign} {reason}"), style), Span::styled(tail, theme.unsure)])
        .render(area, buffer);
}

/// Its sign and style, what happened, and what comes next.
fn explain(view: View<'_>) -> (&'static str, ratatui::style::Style, String, String) {
    let (app, theme) = (view.app, view.theme);
    let signs = &theme.signs;
    match app.link() {
        Link::Refused { reason } => (signs.bad, theme.bad, reason.clone(), String::new()),
        _ if !app.is_observing() => {
            (signs.bad, theme.bad, "The connection was closed: start lockscope again.".to_owned(), String::new())
        }
        Link::Lost { reason } => {
            (signs.bad, theme.bad, format!("connection lost: {reason}"), "reconnecting".to_owned())
        }
        Link::Connecting { attempt, reason, next_try } => {
            let next = match next_try {
                Some(at) if *at > app.clock() => {
                    format!("try {} in {}s", attempt, at.since(app.clock()).as_millis().div_ceil(1000))
                }
                _ => format!("try {attempt}"),
            };
            match reason {
                Some(reason) => (signs.bad, theme.bad, format!("no connection: {reason}"), next),
                None => (signs.busy, theme.wait, "connecting".to_owned(), String::new()),
            }
        }
        Link::Connected { .. } => {
            let table = app.world().table();
            let found = format!(
                "reading: {}, {} so far",
                plural(table.lock_count(), "lock", "locks"),
                plural(table.contender_count(), "contender", "contenders")
            );
            (signs.busy, theme.wait, found, String::new())
        }
    }
}
