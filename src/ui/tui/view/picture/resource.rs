//! The resource that the lock protects, as a box: the accepted write with the highest fencing
//! token, and the last refused write.
//!
//! ```text
//! ┌ resource ───────── 9 writes, 1 refused ┐
//! │ ✓ token 44 from 3: taken               │
//! │ ✖ token 41 from 2: refused             │
//! └────────────────────────────────────────┘
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::super::View;
use super::write;
use crate::tui::widget::panel::Panel;
use lockscope_lab::contend::ResourceStatus;
use lockscope_model::text::human::{count, plural};
use lockscope_model::text::width;

/// Minimum lines of the queue beside the box of a refused write.
const MIN_LINES_OF_QUEUE: u16 = 7;
/// Maximum columns of the box.
const MAX_WIDTH: u16 = 60;

/// Draws the box at the end of an area that is shared with a queue of `rows` rows. Returns how many
/// lines the box takes; 0 before the first write.
///
/// Where queue and box do not both fit, the box appears only once a write was refused. Where even
/// then there is too little room, a single line shows the refused write.
pub fn draw(view: View<'_>, resource: &ResourceStatus, rows: usize, area: Rect, buffer: &mut Buffer) -> u16 {
    let lines = lines(view, resource, usize::from(area.width.min(MAX_WIDTH)).saturating_sub(4));
    let Some(needed) = u16::try_from(lines.len()).ok().filter(|lines| *lines > 0) else { return 0 };
    let height = needed + 2;
    let is_refused = resource.rejected > 0;
    let fits_all = rows + usize::from(height) <= usize::from(area.height);
    let fits = fits_all || is_refused && area.height >= height + MIN_LINES_OF_QUEUE;
    if !fits {
        let last = lines.into_iter().last().filter(|_| is_refused && area.height > MIN_LINES_OF_QUEUE / 2);
        let Some((text, style)) = last else { return 0 };
        write(view, &format!(" {text}"), style, Rect { y: area.bottom() - 1, height: 1, ..area }, buffer);
        return 1;
    }
    let place = Rect { y: area.bottom() - height, height, width: area.width.min(MAX_WIDTH), ..area };
    let panel = Panel {
        left: vec![("resource".to_owned(), view.theme.strong)],
        right: Some((writes(resource), view.theme.dim)),
        ..Panel::default()
    };
    let inner = panel.draw(place, buffer, view.theme);
    for ((text, style), y) in lines.into_iter().zip(inner.top()..inner.bottom()) {
        write(view, &format!(" {text}"), style, Rect { y, height: 1, ..inner }, buffer);
    }
    height
}

fn writes(resource: &ResourceStatus) -> String {
    let all = resource.accepted.saturating_add(resource.rejected);
    let all = plural(usize::try_from(all).unwrap_or(usize::MAX), "write", "writes");
    if resource.rejected > 0 { format!("{all}, {} refused", count(resource.rejected)) } else { all }
}

/// Returns the write with the highest token and the last refused write.
fn lines(view: View<'_>, resource: &ResourceStatus, room: usize) -> Vec<(String, Style)> {
    let (theme, signs) = (view.theme, &view.theme.signs);
    let line = |sign: &str, token: String, from: Option<String>, end: &str| {
        let from = from.map_or_else(String::new, |client| format!(" from {client}"));
        let whole = format!("{sign} token {token}{from}: {end}");
        if width(&whole) <= room { whole } else { format!("{sign} {token}{from}: {end}") }
    };
    let mut lines = Vec::new();
    if let Some(highest) = resource.highest {
        let writer = resource.writer.map(|client| client.to_string());
        lines.push((line(signs.good, highest.to_string(), writer, "taken"), theme.good));
    }
    if let Some((client, token, _)) = resource.last_rejected {
        lines.push((line(signs.bad, token.to_string(), Some(client.to_string()), "refused"), theme.bad));
    }
    lines
}
