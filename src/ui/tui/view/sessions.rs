//! ```text
//! ┌ Sessions ── 412 sessions ── sort: liveness ▲ ──────────────────────────────┐
//! │  SESSION    CLIENT           LIVENESS    HEARD  HOLDS         WAITS FOR    │
//! │▸ 0x1…0001b  10.0.4.17:51586  live         2.1s  …ks/billing   …ocks/orders │
//! ```

use super::View;
use super::list::{ListTitle, ListView};
use super::who::{client, client_style, life, who};
use crate::tui::app::{SessionColumn, Sessions};
use crate::tui::columns::Placed;
use crate::tui::widget::table::Cell;
use lockscope_model::diagnose::{SessionLocks, WaitStyle};
use lockscope_model::queue::LockId;
use lockscope_model::text::human::{countdown, duration, plural};
use lockscope_model::text::{Keep, session, width};

impl ListView for Sessions {
    fn title(&self, view: View<'_>) -> ListTitle {
        let all = view.app.world().sessions().all();
        let count = plural(all, "session holds or waits", "sessions hold or wait");
        ListTitle {
            name: "Sessions".to_owned(),
            all,
            after_filter: vec![(count, view.theme.text)],
            ..ListTitle::default()
        }
    }

    fn why_empty(&self, view: View<'_>, _: usize) -> Vec<String> {
        if view.app.filter().is_empty() {
            return vec!["No session holds a lock or waits for one.".to_owned()];
        }
        view.nothing_contains("No session")
    }

    fn cell(&self, view: View<'_>, row: &&SessionLocks, column: Placed<SessionColumn>) -> Cell {
        cell(view, row, column)
    }
}

fn cell(view: View<'_>, row: &SessionLocks, column: Placed<SessionColumn>) -> Cell {
    let (theme, now) = (view.theme, view.app.now());
    let table_at = view.app.world().table_at(now);
    let columns = usize::from(column.width);
    let plain = view.data(theme.text);
    let unknown = || Cell::new(theme.signs.unknown, theme.dim);
    let connection = table_at.view().connection_of(row.session);
    match column.key {
        SessionColumn::Session => {
            Cell::new(session(row.session, columns, theme.signs.charset), view.data(theme.strong))
        }
        SessionColumn::Client => client(view, &row.identity(table_at.table()), columns),
        SessionColumn::ClientOrSession => {
            let known = row.identity(table_at.table());
            Cell::new(who(view, &known, columns), client_style(view, &known))
        }
        SessionColumn::Liveness => {
            let (owner, expires_in) = table_at.owner_state(row.session, row.since);
            let (text, style) = life(view, owner, expires_in);
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

/// Names the first of several locks, and counts the others.
fn named(view: View<'_>, first: Option<&LockId>, count: usize, columns: usize) -> String {
    let Some(first) = first else { return String::new() };
    let lock = view.app.world().table().lock(*first);
    let name = lock.map_or_else(|| "gone".to_owned(), |lock| lock.lock_name().to_string());
    let more = if count > 1 { format!(" +{}", count - 1) } else { String::new() };
    format!("{}{more}", view.fit(&name, columns.saturating_sub(width(&more)), Keep::End))
}
