//! The lists of sessions: all of them, the places of one in its queues, and the waits between them.
//!
//! ```text
//! ┌ Sessions ── 412 sessions ── sort: liveness ▲ ──────────────────────────────┐
//! │  SESSION    CLIENT           LIVENESS    HEARD  HOLDS         WAITS FOR    │
//! │▸ 0x1…0001b  10.0.4.17:51586  live         2.1s  …ks/billing   …ocks/orders │
//! ```
//!
//! ```text
//! ┌ 10.0.4.17:51586  0x1…0001b ── holds 1 ── waits for 1 ────────────────────────┐
//! │  STATE    LOCK             FOR        SEQ  WAITS FOR        WATCHES            │
//! │▸ ● holds  /locks/billing   ≥14m      4711  128 wait behind                     │
//! │  ○ waits  /locks/orders     38s        31  ╰──▶ 7           ✓ its predecessor  │
//! ```
//!
//! ```text
//! ┌ Waits ── 1 cycle ── 3 sessions hold others up ────────────────────────────┐
//! │▸ ✖ cycle: 2 sessions wait for each other                                  │
//! │    ╭▶ ○ 10.0.4.17  0x1…0001b  holds /locks/billing, waits for /locks/orders   │
//! │    ╰─ ○ 10.0.4.18  0x1…00007  holds /locks/orders, waits for /locks/billing   │
//! │  ● 10.0.4.20  0x1…0002a  holds up 128 sessions                             │
//! │    ╰─ /locks/report  128 wait                                              │
//! ```

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use super::View;
use super::list::{ListTitle, ListView, below, client, client_style, in_a_word, life, lifetime, who, who_is};
use super::locks::held;
use super::queue::{number, waits_for, watches};
use crate::tui::app::{
    PlaceColumn, SessionColumn, SessionList, SessionPlaceRow, SessionPlaces, WaitKind, WaitList, WaitRow,
};
use crate::tui::screen::{MARK_WIDTH, Placed};
use crate::tui::widget::Cell;
use crate::tui::widget::write::write_line;
use lockscope_base::znode::{SessionId, Timestamp};
use lockscope_model::diagnose::{SessionLocks, WaitStyle};
use lockscope_model::queue::{ClientIdentity, ContenderState, LockId, SameClient};
use lockscope_model::text::human::{bounded, count, countdown, duration, plural};
use lockscope_model::text::{Keep, session, width};

impl ListView for SessionList {
    fn title(&self, view: View<'_>) -> ListTitle {
        let all = view.app.world().sessions().all();
        let count = plural(all, "session holds or waits", "sessions hold or wait");
        let prefix = self.prefix(view.app).map(|prefix| (below(view, prefix), view.theme.strong));
        ListTitle {
            name: "Sessions".to_owned(),
            before_filter: prefix.into_iter().collect(),
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
            SessionColumn::Holds => {
                let held = self.names_of(view.app, row.holds.first(), row.holds.len(), columns);
                Cell::new(held, view.data(theme.good))
            }
            SessionColumn::Waits => {
                let first = row.awaits.first().map(|(lock, _)| lock);
                Cell::new(self.names_of(view.app, first, row.awaits.len(), columns), view.data(theme.wait))
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
}

impl ListView for SessionPlaces {
    fn title(&self, view: View<'_>) -> ListTitle {
        let detail = view.app.world().session_detail();
        let room =
            usize::from(view.app.layout().map_or(80, |layout| layout.main.width)).saturating_sub(MARK_WIDTH.into());
        let name = detail.session.map_or_else(
            || "Session".to_owned(),
            |id| match who_is(view, id, (room / 2).min(60)) {
                name if name.starts_with("0x") => format!("Session {}", session(id, 18, view.theme.signs.charset)),
                name => name,
            },
        );
        let (holds, all) = (detail.holds, detail.places.len());
        let before_filter = vec![
            (format!("holds {}", count(holds)), view.data(view.theme.good)),
            (format!("waits for {}", count(all - holds)), view.data(view.theme.wait)),
        ];
        ListTitle { name, before_filter, all, ..ListTitle::default() }
    }

    fn why_empty(&self, _: View<'_>, _: usize) -> Vec<String> {
        vec!["This session holds no lock and waits for none.".to_owned()]
    }

    fn cell(&self, view: View<'_>, row: &SessionPlaceRow<'_>, column: Placed<PlaceColumn>) -> Cell {
        let (theme, signs, app) = (view.theme, &view.theme.signs, view.app);
        let width = usize::from(column.width);
        let plain = view.data(theme.text);
        let table = app.world().table();
        if column.key == PlaceColumn::Lock {
            let name = row.lock.map_or_else(|| "gone".to_owned(), |lock| lock.lock_name().to_string());
            return Cell::new(view.fit(&name, width, Keep::End), view.data(theme.strong));
        }
        let Some((contender, facts)) = &row.contender else {
            // The waiters of a single node have no node in the tree.
            return match (column.key, &row.place.node) {
                (PlaceColumn::State, None) => Cell::new(format!("{} waits", signs.waits), view.data(theme.wait)),
                (PlaceColumn::State, Some(_)) => Cell::new("gone", theme.dim),
                (PlaceColumn::Watches, None) => Cell::new(format!("{} the node", signs.good), view.data(theme.good)),
                _ => Cell::new("", plain),
            };
        };
        let holds = contender.state == ContenderState::Holds;
        match column.key {
            PlaceColumn::State => match contender.state {
                _ if !app.shows_truth() => Cell::new(format!("{} unknown", signs.unknown), theme.unsure),
                ContenderState::Holds => Cell::new(format!("{} holds", signs.holds), theme.good),
                ContenderState::Waits => Cell::new(format!("{} waits", signs.waits), theme.wait),
                ContenderState::Unknown => Cell::new(format!("{} unknown", signs.unknown), theme.unsure),
            },
            PlaceColumn::For => {
                let held = table.clock().hold_bounds(contender.contender, app.now()).filter(|_| holds);
                let waited = || duration(app.now().since(contender.contender.contends_since(table.clock().ahead_ms())));
                let text = held.map_or_else(waited, |held| bounded(held.at_least, held.at_most, signs.charset));
                Cell::new(text, plain)
            }
            PlaceColumn::Number => Cell::new(number(contender.contender.sequence), plain),
            PlaceColumn::WaitsFor => {
                let text = match row.lock {
                    Some(lock) if holds && lock.waiting() > 0 => format!("{} behind it", count(lock.waiting())),
                    Some(lock) if !holds => waits_for(view, lock, contender, facts, width),
                    _ => String::new(),
                };
                Cell::new(view.fit(&text, width, Keep::Start), plain)
            }
            PlaceColumn::Watches => match watches(view, contender, facts) {
                Some((sign, words, style)) => {
                    Cell::new(view.fit(&format!("{sign} {words}"), width, Keep::Start), style)
                }
                None => Cell::new("", plain),
            },
            PlaceColumn::Node => {
                Cell::new(view.fit(&contender.contender.node, width, Keep::Ends), view.data(theme.dim))
            }
            PlaceColumn::Lock => Cell::new("", plain),
        }
    }
}

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

impl ListView for WaitList {
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
    if let WaitKind::InCircle { is_first, .. } | WaitKind::CrossStep { is_first } = row.kind {
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
    let someone = || client_of(view, row).map_or_else(|| "nobody".to_owned(), |client| who(view, &client, columns));
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
            let [held_lock, lock] = [Some(holds), row.lock].map(|lock| lock_path(view, lock, paths.max(8)));
            vec![
                (format!("{} {}", signs.waits, someone()), theme.strong),
                (format!("  holds {held_lock}, waits for {lock}{held}"), theme.text),
            ]
        }
        WaitKind::CrossCycle(clients, same) => {
            let (sign, style) =
                if same == SameClient::Host { (signs.info, theme.text) } else { (signs.bad, theme.bad) };
            let text = format!("{sign} cycle over ensembles: {clients} clients wait for each other");
            vec![(text, style), (format!(", matched {}", same.words()), theme.text)]
        }
        WaitKind::CrossStep { .. } => plain(format!("{} {}", signs.waits, row.name.as_deref().unwrap_or_default())),
        WaitKind::SelfBlocked => {
            let lock = lock_path(view, row.lock, room / 2);
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
            let lock = lock_path(view, row.lock, room.saturating_sub(42).max(12));
            let of = row.lock.and_then(|lock| view.app.world().table().lock(lock));
            let held = of.and_then(|lock| held(view, lock)).map(|held| format!("  held {held}")).unwrap_or_default();
            let mut parts = plain(format!("{lock}{held}{count}"));
            let worst = row.lock.and_then(|lock| {
                Some((view.app.world().table().lock(lock)?, view.app.world().diagnosis().worst(lock)?))
            });
            parts.extend(worst.map(|(lock, finding)| {
                let left = room.saturating_sub(parts_width(&parts) + 2);
                (format!("  {}", in_a_word(view, lock, finding, left)), theme.finding(finding))
            }));
            let name = row.name.as_ref().map(|name| view.fit(name, HOLDER_WIDTH, Keep::End));
            parts.extend(name.map(|name| (format!("  held as {name}"), theme.text)));
            parts
        }
        WaitKind::Through(fresh) => vec![
            (format!("{} {}", signs.waits, someone()), theme.strong),
            (if fresh { "  holds up others itself" } else { "  holds up others: see above" }.to_owned(), theme.text),
        ],
        WaitKind::Waiter => {
            let since = waits_since(view, row).map(|since| format!("  waits {}", duration(since))).unwrap_or_default();
            plain(format!("{} {}{since}", signs.waits, someone()))
        }
        WaitKind::More(number) => vec![(format!("and {} more", count(number)), theme.dim)],
        WaitKind::Cut => vec![("The graph continues: open a lock to see its waiters.".to_owned(), theme.dim)],
    }
}

/// Returns the client of a row under the name in its node: several clients, each with a name of its
/// own, may share one session.
fn client_of(view: View<'_>, row: &WaitRow) -> Option<ClientIdentity> {
    let session = row.session?;
    Some(match (row.kind, &row.node) {
        (WaitKind::InCircle { holds, .. }, _) => holder(view, Some(holds), session),
        (WaitKind::Through(_) | WaitKind::Waiter, Some(node)) => {
            let table = view.app.world().table();
            row.lock.map_or_else(|| table.clients().identity(session), |lock| table.identity_at(lock, node, session))
        }
        (WaitKind::Through(_) | WaitKind::Waiter, None) => view.app.world().table().clients().identity(session),
        _ => holder(view, row.lock, session),
    })
}

/// Returns how long the node of a waiter stands in the queue.
fn waits_since(view: View<'_>, row: &WaitRow) -> Option<Duration> {
    let (table, lock) = (view.app.world().table(), row.lock?);
    let queue = table.lock(lock)?;
    let (of, position) = table.position(&queue.path().child(row.node.as_deref()?))?;
    let contender = queue.row(position).filter(|_| of == lock)?.contender;
    Some(view.app.server_now().since(contender.created_at))
}

fn holder(view: View<'_>, lock: Option<LockId>, session: SessionId) -> ClientIdentity {
    let table = view.app.world().table();
    lock.map_or_else(|| table.clients().identity(session), |lock| table.identity_of_holder(lock, session))
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

fn lock_path(view: View<'_>, lock: Option<LockId>, columns: usize) -> String {
    let lock = lock.and_then(|lock| view.app.world().table().lock(lock));
    let name = lock.map_or_else(|| "a lock that is gone".to_owned(), |lock| lock.lock_name().to_string());
    view.fit(&name, columns, Keep::End)
}
