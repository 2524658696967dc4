//! The last ten minutes of the locks, one lane each, below a list that leaves room for them.
//!
//! ```text
//!   Last 10 minutes: █ held  ✖ stuck  ░ not known
//!   /locks/billing   ░░░░░░░░░░███████████✖✖✖✖✖✖✖
//!   /locks/orders    ░░░░░░░░░░▄▄ ▂▅▇▆▃▂ ▁▄▆▇▅▃▂▁
//! ```
//!
//! The height of a cell is the share of its time in which the lock was held.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use super::View;
use super::list::lock_name;
use crate::tui::app::{ListScreen, LockColumn, LockList, LockRow, Rows};
use crate::tui::lock_lanes::{LaneCell, SLOTS};
use crate::tui::screen::Placed;
use crate::tui::widget::write::write_line;
use lockscope_model::text::width;

/// Slots in a cell, where there is less room.
const SLOTS_OF_WIDE_CELL: usize = 2;

/// Columns between a name and its lane.
const GAP: usize = 2;

/// Maximum number of locks whose lanes are looked at.
const MAX_LANES: usize = 60;

/// Draws the lanes of all listed locks that were held, as far as there is room.
pub fn draw(view: View<'_>, area: Rect, placed: &[Placed<LockColumn>], buffer: &mut Buffer) {
    let Some(column) = placed.iter().find(|column| column.key == LockColumn::Lock) else { return };
    let rows = LockList.rows(view.app).len().min(MAX_LANES);
    if area.height < 3 || view.app.knows_nothing() {
        return;
    }
    let locks = (0..rows).filter_map(|rank| match LockList.row(view.app, rank)? {
        LockRow::Lock(lock) => Some((lock, lock_name(view, &lock.lock_name(), usize::from(column.width)))),
        LockRow::Vanished(_) => None,
    });
    let locks: Vec<_> = locks.collect();
    let columns = locks.iter().map(|(_, name)| width(name)).max().unwrap_or(0) + GAP;
    let room = usize::from(area.width.saturating_sub(column.x + 1)).saturating_sub(columns);
    let slots = if room >= SLOTS { 1 } else { SLOTS_OF_WIDE_CELL };
    if room < SLOTS / slots {
        return;
    }
    let lanes = locks.into_iter().map(|(lock, name)| (name, view.app.world().lane(lock, view.app.now(), slots)));
    let was_held = |cells: &[LaneCell]| cells.iter().any(|cell| matches!(cell, LaneCell::Held(_) | LaneCell::Stuck));
    let lanes = lanes.filter(|(_, cells)| was_held(cells)).take(usize::from(area.height) - 2);
    let lanes: Vec<_> = lanes.collect();
    if lanes.is_empty() {
        return;
    }
    let line = |at: usize| Rect {
        x: area.x + column.x,
        width: area.width.saturating_sub(column.x),
        y: area.y + 1 + u16::try_from(at).unwrap_or(0),
        height: 1,
    };
    write_line(legend(view), line(0), buffer);
    for (at, (name, cells)) in lanes.into_iter().enumerate() {
        let padding = " ".repeat(columns.saturating_sub(width(&name)));
        let mut spans = vec![Span::styled(name + &padding, view.data(view.theme.text))];
        spans.extend(cells.chunk_by(|one, next| kind(*one) == kind(*next)).map(|cells| run(view, cells)));
        write_line(spans, line(at + 1), buffer);
    }
}

fn legend(view: View<'_>) -> Vec<Span<'static>> {
    let (theme, signs) = (view.theme, &view.theme.signs);
    vec![
        Span::styled("Last 10 minutes: ", theme.title),
        Span::styled(signs.levels[8], view.data(theme.accent)),
        Span::styled(" held  ", theme.dim),
        Span::styled(signs.bad, view.data(theme.bad)),
        Span::styled(" stuck  ", theme.dim),
        Span::styled(format!("{} not known", signs.gap), theme.dim),
    ]
}

/// Returns what the cells of a run have in common.
fn kind(cell: LaneCell) -> u8 {
    match cell {
        LaneCell::NotKnown => 0,
        LaneCell::Free | LaneCell::Held(_) => 1,
        LaneCell::Stuck => 2,
    }
}

fn run(view: View<'_>, cells: &[LaneCell]) -> Span<'static> {
    let (theme, signs) = (view.theme, &view.theme.signs);
    let sign = |cell: &LaneCell| match cell {
        LaneCell::NotKnown => signs.gap,
        LaneCell::Free => signs.levels[0],
        LaneCell::Held(eighths) => signs.levels[usize::from(*eighths).min(8)],
        LaneCell::Stuck => signs.bad,
    };
    let style = match cells.first().copied().map_or(0, kind) {
        0 => theme.dim,
        1 => view.data(theme.accent),
        _ => view.data(theme.bad),
    };
    Span::styled(cells.iter().map(sign).collect::<String>(), style)
}
