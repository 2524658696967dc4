//! ```text
//! ┌ Sessions ── 412 sessions ── sort: liveness ▲ ──────────────────────────────┐
//! │  SESSION    CLIENT           LIVENESS    HEARD  HOLDS         WAITS FOR    │
//! │▸ 0x1…0001b  10.0.4.17:51586  live         2.1s  …ks/billing   …ocks/orders │
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::who::{client, countdown, life};
use super::{View, filter_title, window};
use crate::queue::LockId;
use crate::text::human::{duration, plural};
use crate::text::{Keep, session, width};
use crate::tui::app::{Rows, SessionOrder, SessionRow, WaitStyle};
use crate::tui::widget::panel::Panel;
use crate::tui::widget::table::{Cell, Column, Placed, place, row, titles};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionColumn {
    Mark,
    Session,
    Client,
    Liveness,
    Heard,
    Timeout,
    Expires,
    Holds,
    Waits,
    Style,
    Server,
    Last,
}

const COLUMNS: &[Column<SessionColumn>] = &[
    Column::text(SessionColumn::Mark, "", 1, 1, 0),
    Column::text(SessionColumn::Session, "SESSION", 9, 18, 0),
    Column::text(SessionColumn::Client, "CLIENT", 15, 21, 1),
    Column::text(SessionColumn::Liveness, "LIVENESS", 12, 13, 0),
    Column::number(SessionColumn::Heard, "HEARD", 6, 3),
    Column::number(SessionColumn::Timeout, "TIMEOUT", 7, 5),
    Column::number(SessionColumn::Expires, "EXPIRES", 7, 6),
    Column::text(SessionColumn::Holds, "HOLDS", 14, 36, 0),
    Column::text(SessionColumn::Waits, "WAITS FOR", 14, 36, 0),
    Column::text(SessionColumn::Style, "STYLE", 7, 7, 4),
    Column::text(SessionColumn::Server, "SERVER", 15, 24, 7),
    Column::text(SessionColumn::Last, "LAST", 4, 4, 8),
];

impl SessionColumn {
    fn sorts(self) -> Option<SessionOrder> {
        match self {
            Self::Session => Some(SessionOrder::Session),
            Self::Client => Some(SessionOrder::Client),
            Self::Liveness => Some(SessionOrder::Liveness),
            Self::Heard => Some(SessionOrder::Heard),
            Self::Holds => Some(SessionOrder::Holds),
            Self::Waits => Some(SessionOrder::Waits),
            _ => None,
        }
    }
}

/// Every session that holds or waits.
pub fn draw(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let (app, theme) = (view.app, view.theme);
    let sessions = app.world().sessions();
    let mut left = vec![("Sessions".to_owned(), theme.strong)];
    left.extend(filter_title(view, sessions.len(), sessions.all()));
    left.push((plural(sessions.all(), "session holds or waits", "sessions hold or wait"), theme.text));
    let order = theme.signs.order[usize::from(sessions.reversed())];
    left.push((format!("sort: {} {order}", sessions.by().id()), theme.dim));
    let inner = Panel { left, ..Panel::default() }.draw(area, buffer, theme);
    if inner.height < 2 {
        return;
    }
    if sessions.len() == 0 {
        view.placeholder(&why_empty(view), inner, buffer);
        return;
    }
    let placed = place(COLUMNS, inner.width);
    titles(buffer, inner, &placed, |key| if key.sorts() == Some(sessions.by()) { theme.strong } else { theme.title });
    let list = Rect { y: inner.y + 1, height: inner.height - 1, ..inner };
    let cursor = app.session_cursor();
    for (rank, line) in window(cursor.top(), sessions.len(), list) {
        if let Some(found) = sessions.row(rank) {
            row(buffer, line, &placed, |column| cell(view, found, column));
        }
        if rank == cursor.rank() {
            view.select(line, buffer, true);
        }
    }
}

fn why_empty(view: View<'_>) -> Vec<String> {
    if view.app.filter().is_empty() {
        return vec!["No session holds a lock or waits for one.".to_owned()];
    }
    vec![
        format!("No session contains \"{}\".", view.fit(view.app.filter().text(), 30, Keep::Start)),
        "Esc clears the filter.".to_owned(),
    ]
}

fn cell(view: View<'_>, row: &SessionRow, column: Placed<SessionColumn>) -> Cell {
    let (theme, now) = (view.theme, view.app.now());
    let table_at = view.app.world().table_at(now);
    let columns = usize::from(column.width);
    let plain = view.data(theme.text);
    let unknown = || Cell::new(theme.signs.unknown, theme.dim);
    let connection = table_at.view().connection_of(row.session);
    match column.key {
        SessionColumn::Mark => Cell::new(" ", plain),
        SessionColumn::Session => {
            Cell::new(session(row.session, columns, theme.signs.charset), view.data(theme.strong))
        }
        SessionColumn::Client => match client(view, row.session) {
            Some(client) => Cell::new(view.fit(client, columns, Keep::Start), plain),
            None => unknown(),
        },
        SessionColumn::Liveness => {
            let (text, style) = life(view, table_at.owner_state(row.session, row.since));
            Cell::new(view.fit(&text, columns, Keep::Start), style)
        }
        SessionColumn::Heard => match connection.and_then(|(_, connection)| connection.last_heard) {
            Some(heard) => Cell::new(duration(now.since(heard)), plain),
            None => unknown(),
        },
        SessionColumn::Timeout => match connection.and_then(|(_, connection)| connection.timeout()) {
            Some(timeout) => Cell::new(duration(timeout), plain),
            None => unknown(),
        },
        SessionColumn::Expires => match table_at.view().session(row.session).and_then(|found| found.expires_at) {
            Some(at) => Cell::new(countdown(at.since(now)), plain),
            None => unknown(),
        },
        SessionColumn::Holds => Cell::new(locks(view, &row.holds, columns), view.data(theme.good)),
        SessionColumn::Waits => {
            let awaited: Vec<_> = row.awaits.iter().take(2).map(|(lock, _)| *lock).collect();
            let more = row.awaits.len().saturating_sub(awaited.len());
            Cell::new(named(view, awaited.first(), awaited.len() + more, columns), view.data(theme.wait))
        }
        SessionColumn::Style => match row.style(table_at) {
            Some(WaitStyle::Unknown) => unknown(),
            Some(style @ WaitStyle::Nothing) => Cell::new(style.id(), view.data(theme.bad)),
            Some(style) => Cell::new(style.id(), plain),
            None => Cell::new("", plain),
        },
        SessionColumn::Server => match connection {
            Some((server, _)) => Cell::new(view.fit(&server.address, columns, Keep::Start), plain),
            None => unknown(),
        },
        SessionColumn::Last => {
            let last = connection.and_then(|(_, connection)| connection.last_operation.as_deref());
            last.map_or_else(unknown, |last| Cell::new(view.fit(last, columns, Keep::Start), plain))
        }
    }
}

fn locks(view: View<'_>, locks: &[LockId], columns: usize) -> String {
    named(view, locks.first(), locks.len(), columns)
}

/// The first of some locks, and how many more there are.
fn named(view: View<'_>, first: Option<&LockId>, count: usize, columns: usize) -> String {
    let Some(first) = first else { return String::new() };
    let lock = view.app.world().table().lock(*first);
    let name = lock.map_or_else(
        || "gone".to_owned(),
        |lock| match lock.name() {
            Some(name) => format!("{} [{name}]", lock.path()),
            None => lock.path().to_string(),
        },
    );
    let more = if count > 1 { format!(" +{}", count - 1) } else { String::new() };
    format!("{}{more}", view.fit(&name, columns.saturating_sub(width(&more)), Keep::End))
}
