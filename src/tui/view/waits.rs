//! ```text
//! ┌ Waits ── 1 cycle ── 3 sessions hold others up ────────────────────────────┐
//! │▸ ✖ cycle: 2 sessions wait for each other                                  │
//! │    ├─ ○ 10.0.4.17  0x1…0001b  waits for /locks/orders, held by 0x1…00007     │
//! │    ╰─ ○ 10.0.4.18  0x1…00007  waits for /locks/billing, held by 0x1…0001b    │
//! │  ● 10.0.4.20  0x1…0002a  holds up 128 sessions                             │
//! │    ╰─ /locks/report  128 wait                                              │
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::View;
use super::list::{ListTitle, ListView};
use super::who::{lifetime, who};
use crate::queue::LockId;
use crate::text::Keep;
use crate::text::human::{count, plural};
use crate::tui::app::{WaitKind, WaitRow, Waits};
use crate::tui::widget::table::{Cell, Column, Placed};
use crate::znode::{SessionId, Timestamp};

/// Columns of a client's address and its session.
const CLIENT_WIDTH: usize = 32;

/// From how many columns on there is room for what could be read from the next row too.
const MIN_WIDTH_WITH_HOLDER: usize = 90;

impl ListView for Waits {
    /// Its rows are lines of text.
    type Column = ();

    fn columns(&self, _: View<'_>) -> &'static [Column<()>] {
        &[]
    }

    fn heading(&self) -> Option<&'static str> {
        Some("Who holds up others, the worst first: which locks, and who waits for them")
    }

    fn title(&self, view: View<'_>) -> ListTitle {
        let (theme, graph) = (view.theme, view.app.world().waits().waits());
        let mut before_filter = Vec::new();
        if !graph.cycles().is_empty() {
            let cycles = plural(graph.cycles().len(), "cycle", "cycles");
            before_filter.push((format!("{} {cycles}", theme.signs.bad), theme.bad));
        }
        let blockers = plural(graph.blockers().len(), "session holds up others", "sessions hold up others");
        before_filter.push((blockers, theme.text));
        ListTitle { name: "Waits".to_owned(), before_filter, ..ListTitle::default() }
    }

    fn why_empty(&self, view: View<'_>, _: usize) -> Vec<String> {
        let nothing = if view.app.knows_nothing() { "Nothing is known yet." } else { "Nobody waits for anybody." };
        vec![nothing.to_owned()]
    }

    fn cell(&self, view: View<'_>, _: &&WaitRow, _: Placed<()>) -> Cell {
        Cell::new("", view.theme.text)
    }

    fn draw_row(&self, view: View<'_>, row: &&WaitRow, line: Rect, _: &[Placed<()>], buffer: &mut Buffer) {
        let (text, style) = sentence(view, row, usize::from(line.width.saturating_sub(3)));
        let lead = Span::styled(format!("  {}", branches(view, &row.follows)), view.theme.dim);
        Line::from(vec![lead, Span::styled(text, style)]).render(line, buffer);
    }
}

/// The lines that lead to a row.
fn branches(view: View<'_>, follows: &[bool]) -> String {
    let signs = &view.theme.signs;
    let Some((own, above)) = follows.split_last() else { return String::new() };
    let mut drawn = String::from("  ");
    for follows in above {
        drawn.push_str(if *follows { signs.trunk } else { "   " });
    }
    drawn.push_str(if *own { signs.branch } else { signs.last_branch });
    drawn
}

fn sentence(view: View<'_>, row: &WaitRow, room: usize) -> (String, Style) {
    let (theme, signs) = (view.theme, &view.theme.signs);
    let room = room.saturating_sub(if row.follows.is_empty() { 0 } else { 2 + 3 * row.follows.len() });
    let someone = || row.session.map_or_else(|| "nobody".to_owned(), |session| who(view, session, CLIENT_WIDTH));
    let (text, style) = match row.kind {
        WaitKind::Cycle(sessions) => {
            (format!("{} cycle: {sessions} sessions wait for each other", signs.bad), theme.bad)
        }
        WaitKind::InCircle(next) => {
            // The next row is about the one who holds it.
            let held =
                if room < MIN_WIDTH_WITH_HOLDER { String::new() } else { format!(", held by {}", short(view, next)) };
            let lock = path(view, row.lock, room.saturating_sub(CLIENT_WIDTH + 13 + held.len()).max(12));
            (format!("{} {}  waits for {lock}{held}", signs.waits, someone()), theme.text)
        }
        WaitKind::SelfBlocked => {
            let lock = path(view, row.lock, room / 2);
            (format!("{} {}  waits for {lock}, which it holds itself", signs.bad, someone()), theme.bad)
        }
        WaitKind::Blocker(count, at_least) => {
            let least = if at_least { "at least " } else { "" };
            let sessions = plural(count, "session", "sessions");
            let life =
                row.session.and_then(|session| alive(view, session)).map_or(String::new(), |life| format!(", {life}"));
            let cycle = if view.app.world().waits().is_in_cycle(row.session) { ", in a cycle" } else { "" };
            (format!("{} {}  holds up {least}{sessions}{life}{cycle}", signs.holds, someone()), theme.strong)
        }
        WaitKind::Lock(waiting) => {
            let count = format!("  {} {}", count(waiting), if waiting == 1 { "waits" } else { "wait" });
            let finding = row.lock.and_then(|lock| view.app.world().diagnosis().worst(lock));
            let finding = finding
                .map_or(String::new(), |finding| format!("  {} {}", signs.severity(finding.severity), finding.code));
            (format!("{}{count}{finding}", path(view, row.lock, room.saturating_sub(30).max(12))), theme.good)
        }
        WaitKind::Through(true) => (format!("{} {}  holds up others itself", signs.waits, someone()), theme.wait),
        WaitKind::Through(false) => (format!("{} {}  holds up others: see above", signs.waits, someone()), theme.wait),
        WaitKind::Waiter => (format!("{} {}", signs.waits, someone()), theme.text),
        WaitKind::More(number) => (format!("and {} more", count(number)), theme.dim),
        WaitKind::Cut => ("The graph goes on: open a lock to see who waits for it.".to_owned(), theme.dim),
    };
    (view.fit(&text, room, Keep::Start), view.data(style))
}

fn short(view: View<'_>, session: SessionId) -> String {
    crate::text::session(session, 9, view.theme.signs.charset)
}

/// That a session is about to end, or has ended.
fn alive(view: View<'_>, session: SessionId) -> Option<String> {
    let now = view.app.now();
    // It holds a lock, so it was there at some time; when, does not matter for who is about to end.
    lifetime(view.app.world().table_at(now).owner_state(session, Timestamp(0)))
}

fn path(view: View<'_>, lock: Option<LockId>, columns: usize) -> String {
    let lock = lock.and_then(|lock| view.app.world().table().lock(lock));
    let name = lock.map_or_else(
        || "a lock that is gone".to_owned(),
        |lock| match lock.name() {
            Some(name) => format!("{} [{name}]", lock.path()),
            None => lock.path().to_string(),
        },
    );
    view.fit(&name, columns, Keep::End)
}
