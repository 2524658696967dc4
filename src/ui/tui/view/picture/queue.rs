//! The queue of the open lock as a picture, whoever its contenders are.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::list;
use super::super::who::who_is;
use super::rows::{self, DrawnQueue};
use crate::tui::app::Queue;
use crate::tui::picture::RowId;
use crate::tui::view::View;

/// Columns of a client's address and session.
const CLIENT_WIDTH: usize = 32;

/// Draws the open queue in place of its list.
pub fn draw_queue(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let app = view.app;
    let panel = list::panel(&Queue, view, app.world().open_lock().map_or(0, lockscope_model::queue::LockQueue::len));
    let inner = panel.draw(area, buffer, view.theme);
    let mut picture = app.queue_picture(usize::from(inner.height) + 1);
    for row in &mut picture.rows {
        let session = app.session_in_picture(row.id);
        let room = (usize::from(inner.width) / 3).min(CLIENT_WIDTH);
        if let Some(session) = session.filter(|_| matches!(row.id, RowId::Client(_))) {
            let who = who_is(view, session, room);
            let number = if row.name == session.to_string() { String::new() } else { format!("{} ", row.name) };
            row.name = format!("{number}{who}");
        }
    }
    let shown = DrawnQueue {
        picture: &picture,
        flying: &[],
        requests: &[],
        now: app.now(),
        selected: app.selected_in_picture(),
        spacing: if app.is_large() { 2 } else { 1 },
    };
    rows::draw(view, &shown, inner, buffer);
}
