//! ```text
//! ┌ Waits ── 1 cycle ── 3 sessions hold others up ────────────────────────────┐
//! │▸ ✖ cycle: 2 sessions wait for each other                                  │
//! │    ╭▶ ○ 10.0.4.17  0x1…0001b  holds /locks/billing, waits for /locks/orders   │
//! │    ╰─ ○ 10.0.4.18  0x1…00007  holds /locks/orders, waits for /locks/billing   │
//! │  ● 10.0.4.20  0x1…0002a  holds up 128 sessions                             │
//! │    ╰─ /locks/report  128 wait                                              │
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use super::View;
use super::finding::in_a_word;
use super::list::{ListTitle, ListView};
use super::who::{life, lifetime, who};
use crate::tui::app::{WaitKind, WaitRow, Waits};
use crate::tui::columns::Placed;
use crate::tui::widget::table::Cell;
use crate::tui::widget::write::write_line;
use lockscope_base::znode::{SessionId, Timestamp};
use lockscope_model::queue::{ClientIdentity, LockId};
use lockscope_model::text::human::{count, plural};
use lockscope_model::text::{Keep, width};

/// Columns of a client's address and session.
const CLIENT_WIDTH: usize = 32;

/// Columns of the more telling of the two.
const MIN_CLIENT_WIDTH: usize = 21;

/// Minimum columns of the screen for both.
const MIN_WIDTH_WITH_SESSION: usize = 58;

/// Columns of the holder of a lock that another session waits for.
const HOLDER_WIDTH: usize = 16;

/// Minimum columns of the screen for the lock's holder, which the next row names too.
const MIN_WIDTH_WITH_HOLDER: usize = 90;

impl ListView for Waits {
    fn heading(&self) -> Option<&'static str> {
        Some("Blocking sessions, the worst first: locks and waiters")
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
        let nothing = if view.app.knows_nothing() { "Nothing is known yet." } else { "No session waits for another." };
        vec![nothing.to_owned()]
    }

    fn cell(&self, view: View<'_>, _: &&WaitRow, _: Placed<()>) -> Cell {
        Cell::new("", view.theme.text)
    }

    fn draw_row(&self, view: View<'_>, row: &&WaitRow, line: Rect, _: &[Placed<()>], buffer: &mut Buffer) {
        let mut room = usize::from(line.width.saturating_sub(3));
        room = room.saturating_sub(if row.follows.is_empty() { 0 } else { 2 + 3 * row.follows.len() });
        let mut spans = vec![Span::styled(format!("  {}", branches(view, row)), view.theme.dim)];
        for (text, style) in sentence(view, row, room) {
            let text = view.fit(&text, room, Keep::Start);
            room = room.saturating_sub(width(&text));
            spans.push(Span::styled(text, view.data(style)));
        }
        write_line(spans, line, buffer);
    }
}

/// Draws the lines that lead to a row.
fn branches(view: View<'_>, row: &WaitRow) -> String {
    let signs = &view.theme.signs;
    let Some((own, above)) = row.follows.split_last() else { return String::new() };
    // The line of a cycle leads from the last session back to the first.
    if let WaitKind::InCircle { is_first, .. } = row.kind {
        let line = if is_first {
            signs.back
        } else if *own {
            signs.trunk
        } else {
            signs.last_branch
        };
        return format!("  {line}");
    }
    let mut drawn = String::from("  ");
    for follows in above {
        drawn.push_str(if *follows { signs.trunk } else { "   " });
    }
    drawn.push_str(if *own { signs.branch } else { signs.last_branch });
    drawn
}

/// Returns a row's sentence in parts: the blocker is strong, trouble has the style of its severity,
/// and the rest is plain.
fn sentence(view: View<'_>, row: &WaitRow, room: usize) -> Vec<(String, Style)> {
    let (theme, signs) = (view.theme, &view.theme.signs);
    let columns = if room < MIN_WIDTH_WITH_SESSION { MIN_CLIENT_WIDTH } else { CLIENT_WIDTH };
    let someone = || named(view, row).map_or_else(|| "nobody".to_owned(), |client| who(view, &client, columns));
    let plain = |text: String| vec![(text, theme.text)];
    match row.kind {
        WaitKind::Cycle(sessions) => {
            vec![(format!("{} cycle: {sessions} sessions wait for each other", signs.bad), theme.bad)]
        }
        WaitKind::InCircle { next, holds, .. } => {
            // The next row describes the holder.
            let held = if room < MIN_WIDTH_WITH_HOLDER {
                String::new()
            } else {
                format!(", held by {}", who(view, &holder(view, row.lock, next), HOLDER_WIDTH))
            };
            let paths = room.saturating_sub(width(&someone()) + 25 + held.len()) / 2;
            let [held_lock, lock] = [Some(holds), row.lock].map(|lock| path(view, lock, paths.max(8)));
            vec![
                (format!("{} {}", signs.waits, someone()), theme.strong),
                (format!("  holds {held_lock}, waits for {lock}{held}"), theme.text),
            ]
        }
        WaitKind::SelfBlocked => {
            let lock = path(view, row.lock, room / 2);
            vec![
                (format!("{} {}", signs.bad, someone()), theme.bad),
                (format!("  waits for {lock}, which it holds itself"), theme.text),
            ]
        }
        WaitKind::Blocker(count, at_least) => {
            let least = if at_least { "at least " } else { "" };
            let sessions = plural(count, "session", "sessions");
            let mut parts = vec![
                (format!("{} {}", signs.holds, someone()), theme.strong),
                (format!("  holds up {least}{sessions}"), theme.text),
            ];
            let endangered = row.session.and_then(|session| alive(view, session));
            parts.extend(endangered.map(|(life, style)| (format!(", {life}"), style)));
            if view.app.world().waits().is_in_cycle(row.session) {
                parts.push((", in a cycle".to_owned(), theme.bad));
            }
            parts
        }
        WaitKind::Lock(waiting) => {
            let count = format!("  {} {}", count(waiting), if waiting == 1 { "waits" } else { "wait" });
            let lock = path(view, row.lock, room.saturating_sub(30).max(12));
            let mut parts = plain(format!("{lock}{count}"));
            let worst = row.lock.and_then(|lock| {
                Some((view.app.world().table().lock(lock)?, view.app.world().diagnosis().worst(lock)?))
            });
            parts.extend(worst.map(|(lock, finding)| {
                let left = room.saturating_sub(parts_width(&parts) + 2);
                (format!("  {}", in_a_word(view, lock, finding, left)), theme.severity(finding.severity))
            }));
            let name = row.name.as_ref().map(|name| view.fit(name, HOLDER_WIDTH, Keep::End));
            parts.extend(name.map(|name| (format!("  held as {name}"), theme.text)));
            parts
        }
        WaitKind::Through(fresh) => vec![
            (format!("{} {}", signs.waits, someone()), theme.strong),
            (if fresh { "  holds up others itself" } else { "  holds up others: see above" }.to_owned(), theme.text),
        ],
        WaitKind::Waiter => plain(format!("{} {}", signs.waits, someone())),
        WaitKind::More(number) => vec![(format!("and {} more", count(number)), theme.dim)],
        WaitKind::Cut => vec![("The graph continues: open a lock to see its waiters.".to_owned(), theme.dim)],
    }
}

/// Returns the client of a row under the name in its node: several clients, each with a name of its
/// own, may share one session.
fn named(view: View<'_>, row: &WaitRow) -> Option<ClientIdentity> {
    let session = row.session?;
    Some(match (row.kind, &row.node) {
        (WaitKind::InCircle { holds, .. }, _) => holder(view, Some(holds), session),
        (WaitKind::Through(_) | WaitKind::Waiter, Some(node)) => {
            let table = view.app.world().table();
            row.lock.map_or_else(|| table.identity(session), |lock| table.identity_at(lock, node, session))
        }
        (WaitKind::Through(_) | WaitKind::Waiter, None) => view.app.world().table().identity(session),
        _ => holder(view, row.lock, session),
    })
}

fn holder(view: View<'_>, lock: Option<LockId>, session: SessionId) -> ClientIdentity {
    let table = view.app.world().table();
    lock.map_or_else(|| table.identity(session), |lock| table.identity_of_holder(lock, session))
}

fn parts_width(parts: &[(String, Style)]) -> usize {
    parts.iter().map(|(text, _)| width(text)).sum()
}

/// Says that a session is about to end or has ended.
fn alive(view: View<'_>, session: SessionId) -> Option<(String, Style)> {
    let now = view.app.now();
    // It holds a lock, so it was there at some time; when, does not matter for who is about to end.
    let (owner, expires_in) = view.app.world().table_at(now).owner_state(session, Timestamp(0));
    lifetime(owner, expires_in).map(|text| (text, life(view, owner, expires_in).1))
}

fn path(view: View<'_>, lock: Option<LockId>, columns: usize) -> String {
    let lock = lock.and_then(|lock| view.app.world().table().lock(lock));
    let name = lock.map_or_else(|| "a lock that is gone".to_owned(), |lock| lock.lock_name().to_string());
    view.fit(&name, columns, Keep::End)
}
