//! ```text
//! ┌ /locks/billing ── Curator mutex ────── 128 waiting · held ≤14m02s · next number 4840 ┐
//! │     #     SEQUENCE    STATE    SESSION    DATA          AGE   WAITS FOR              │
//! │▸    0         4711    ● holds  0x1…0001b  10.0.4.17  14m02s                          │
//! │     1         4712 R  ○ waits  0x1…0001c  10.0.4.18  13m58s   ╰─▶ 4711               │
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::who::{client, life};
use super::{View, filter_title, window};
use crate::diagnose::{Facts, WatchTarget};
use crate::queue::{ContenderRow, ContenderState, HeldSince, LockQueue};
use crate::recipe::{LockKind, RequestMode};
use crate::text::human::{count, date_and_time, duration, plural};
use crate::text::{Keep, fit_bytes, session};
use crate::tui::app::{Pane, Rows};
use crate::tui::widget::panel::Panel;
use crate::tui::widget::table::{Cell, Column, Placed, place, row, titles};
use crate::znode::Sequence;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QueueColumn {
    Mark,
    Position,
    Sequence,
    Mode,
    State,
    Session,
    Client,
    Liveness,
    Watches,
    Data,
    Age,
    WaitsFor,
    Node,
    Czxid,
    Created,
}

const COLUMNS: &[Column<QueueColumn>] = &[
    Column::text(QueueColumn::Mark, "", 1, 1, 0),
    Column::number(QueueColumn::Position, "#", 6, 3),
    Column::number(QueueColumn::Sequence, "SEQUENCE", 10, 0),
    Column::text(QueueColumn::Mode, "", 1, 1, 0),
    Column::text(QueueColumn::State, "STATE", 9, 9, 0),
    Column::text(QueueColumn::Session, "SESSION", 9, 18, 1),
    Column::text(QueueColumn::Data, "DATA", 12, 28, 4),
    Column::number(QueueColumn::Age, "AGE", 6, 0),
    Column::text(QueueColumn::WaitsFor, "WAITS FOR", 15, 18, 2),
    Column::text(QueueColumn::Node, "NODE", 36, 54, 5),
    Column::number(QueueColumn::Czxid, "CZXID", 14, 6),
    Column::text(QueueColumn::Created, "CREATED", 26, 26, 7),
];

/// When servers tell who is connected: the client's address says more than the session's id.
const COLUMNS_WITH_CLIENTS: &[Column<QueueColumn>] = &[
    Column::text(QueueColumn::Mark, "", 1, 1, 0),
    Column::number(QueueColumn::Position, "#", 6, 3),
    Column::number(QueueColumn::Sequence, "SEQUENCE", 10, 0),
    Column::text(QueueColumn::Mode, "", 1, 1, 0),
    Column::text(QueueColumn::State, "STATE", 9, 9, 0),
    Column::text(QueueColumn::Session, "SESSION", 9, 18, 5),
    Column::text(QueueColumn::Client, "CLIENT", 15, 21, 1),
    Column::text(QueueColumn::Liveness, "LIVENESS", 12, 13, 0),
    Column::number(QueueColumn::Age, "AGE", 6, 0),
    Column::text(QueueColumn::WaitsFor, "WAITS FOR", 15, 18, 2),
    Column::text(QueueColumn::Watches, "WATCHES", 17, 24, 4),
    Column::text(QueueColumn::Data, "DATA", 12, 28, 6),
    Column::text(QueueColumn::Node, "NODE", 36, 54, 7),
    Column::number(QueueColumn::Czxid, "CZXID", 14, 8),
    Column::text(QueueColumn::Created, "CREATED", 26, 26, 9),
];

/// The open lock's queue.
pub fn draw(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let (app, theme) = (view.app, view.theme);
    let rows = app.world().queue_rows();
    let lock = app.world().open_lock();
    let inner = panel(view, lock).draw(area, buffer, theme);
    if inner.height < 2 {
        return;
    }
    let Some(lock) = lock.filter(|_| rows.len() > 0) else {
        view.placeholder(&why_empty(view, lock), inner, buffer);
        return;
    };
    let told = app.world().table().view().members.iter().any(|member| member.connections.is_some());
    let placed = place(if told { COLUMNS_WITH_CLIENTS } else { COLUMNS }, inner.width);
    let marks = told && !placed.iter().any(|column| column.key == QueueColumn::Watches);
    titles(buffer, inner, &placed, |_| theme.title);
    let list = Rect { y: inner.y + 1, height: inner.height - 1, ..inner };
    let cursor = app.contender_cursor();
    for (rank, line) in window(cursor.top(), rows.len(), list) {
        if let Some(contender) = rows.row(rank) {
            let facts = app.world().table_at(app.now()).facts(lock, &contender);
            row(buffer, line, &placed, |column| cell(view, lock, (&contender, &facts, marks), column));
        }
        if rank == cursor.rank() {
            view.select(line, buffer, app.pane() == Pane::List);
        }
        if rows.id(rank).is_some_and(|path| app.tags().has(&path)) {
            // Between the sign of the selection and the first column there is always room.
            let x = (line.x + 1).min(line.right().saturating_sub(1));
            buffer.set_stringn(x, line.y, theme.signs.tag, 1, theme.wait);
        }
    }
    if app.filter().is_empty() {
        let below = Rect { y: list.y + u16::try_from(rows.len()).unwrap_or(list.height).min(list.height), ..list };
        let below = Rect { height: list.bottom() - below.y, ..below };
        watchers(view, lock, (below, &placed), buffer);
    }
}

/// Below a single node's holder: who watches the node. They are not in the tree, so they cannot be selected.
fn watchers(view: View<'_>, lock: &LockQueue, (area, placed): (Rect, &[Placed<QueueColumn>]), buffer: &mut Buffer) {
    let (app, theme) = (view.app, view.theme);
    let table_at = app.world().table_at(app.now());
    let Some(watchers) = table_at.waiters(lock).filter(|_| app.shows_truth()) else { return };
    let height = usize::from(area.height);
    let all = watchers.sessions.len();
    let shown = if all > height { height.saturating_sub(1) } else { all };
    let lines = (area.top()..area.bottom()).map(|y| Rect { y, height: 1, ..area });
    for (id, line) in watchers.sessions.iter().take(shown).zip(lines) {
        row(buffer, line, placed, |column| {
            let width = usize::from(column.width);
            let plain = view.data(theme.text);
            match column.key {
                QueueColumn::State => Cell::new(format!("{} waits", theme.signs.waits), theme.wait),
                QueueColumn::Session => Cell::new(session(*id, width, theme.signs.charset), plain),
                QueueColumn::Client => {
                    let known = client(view, *id).unwrap_or(theme.signs.unknown);
                    Cell::new(view.fit(known, width, Keep::Start), plain)
                }
                // Since when it waits is told by nobody.
                QueueColumn::Liveness => {
                    let (text, style) = life(view, table_at.owner_state(*id, app.now()));
                    Cell::new(view.fit(&text, width, Keep::Start), style)
                }
                QueueColumn::WaitsFor => Cell::new(view.fit("watches it", width, Keep::Start), plain),
                _ => Cell::new("", plain),
            }
        });
    }
    if shown < all {
        let text = format!("   and {} more", count(all - shown));
        buffer.set_stringn(area.x, area.bottom().saturating_sub(1), text, usize::from(area.width), theme.dim);
    }
}

fn panel(view: View<'_>, lock: Option<&LockQueue>) -> Panel {
    let (app, theme) = (view.app, view.theme);
    let name = app.opened().map_or_else(
        || "Queue".to_owned(),
        |opened| match &opened.name {
            Some(name) => format!("{} [{name}]", opened.path),
            None => opened.path.to_string(),
        },
    );
    let room = if app.layout().is_some_and(|layout| layout.main.width >= 110) { 60 } else { 28 };
    let mut left = vec![(view.fit(&name, room, Keep::End), theme.strong)];
    let Some(lock) = lock else { return Panel { left, focused: app.pane() == Pane::List, ..Panel::default() } };
    if !app.tags().is_empty() {
        left.push((format!("{} tagged", count(app.tags().len())), theme.wait));
    }
    left.extend(filter_title(view, app.world().queue_rows().len(), lock.len()));
    left.push((lock.recipe().title().to_owned(), theme.text));
    let held = match lock.held() {
        HeldSince::Free => "free".to_owned(),
        HeldSince::Since(time) => format!("held {}", duration(app.now().since(time))),
        HeldSince::AtMostSince(time) => {
            format!("held {}{}", theme.signs.at_most, duration(app.server_now().since(time)))
        }
    };
    let dot = theme.signs.dot;
    let waiting = match lock.kind() {
        LockKind::SingleNode => match app.world().table_at(app.now()).waiters(lock) {
            Some(watchers) if watchers.whole => format!("{} waiting", count(watchers.sessions.len())),
            Some(watchers) => format!("{} waiting or more", count(watchers.sessions.len())),
            None => "waiters not in the tree".to_owned(),
        },
        _ => format!("{} waiting", count(lock.waiting())),
    };
    let mut right = format!("{waiting} {dot} {held}");
    if lock.kind() == LockKind::Semaphore {
        let most = lock.maximum().map_or(String::new(), |most| format!(" of {most}"));
        right = format!("{} held{most} {dot} {right}", plural(lock.holding(), "lease", "leases"));
    }
    if let Some(next) = lock.next_sequence() {
        left.push((format!("next sequence {next}"), theme.dim));
    }
    let right = Some((right, view.data(theme.text))).filter(|_| !app.knows_nothing());
    Panel { left, right, bottom: None, focused: app.pane() == Pane::List }
}

fn why_empty(view: View<'_>, lock: Option<&LockQueue>) -> Vec<String> {
    let app = view.app;
    let Some(lock) = lock else {
        let what =
            if app.opened().is_some() { "This lock is gone: its parent was deleted." } else { "No lock is open." };
        return vec![what.to_owned(), "Esc goes back to the list.".to_owned()];
    };
    if !app.filter().is_empty() && !lock.is_empty() {
        return vec![
            format!("No contender contains \"{}\".", view.fit(app.filter().text(), 30, Keep::Start)),
            "Esc clears the filter.".to_owned(),
        ];
    }
    vec!["Nobody holds this lock, and nobody waits for it.".to_owned()]
}

/// `marks`: whether what it watches is told by a sign behind whom it waits for.
fn cell(
    view: View<'_>,
    lock: &LockQueue,
    (row, facts, marks): (&ContenderRow<'_>, &Facts<'_>, bool),
    column: Placed<QueueColumn>,
) -> Cell {
    let theme = view.theme;
    let signs = &theme.signs;
    let width = usize::from(column.width);
    let plain = view.data(theme.text);
    let contender = row.contender;
    match column.key {
        QueueColumn::Mark => Cell::new(" ", plain),
        QueueColumn::Position => Cell::new(count(row.position), theme.dim),
        QueueColumn::Sequence => Cell::new(number(contender.sequence), view.data(theme.strong)),
        QueueColumn::Mode => Cell::new(letter(row.mode), view.data(theme.wait)),
        QueueColumn::State => match row.state {
            _ if !view.app.shows_truth() => Cell::new(format!("{} {}", signs.unknown, "unknown"), theme.unsure),
            ContenderState::Holds => Cell::new(format!("{} holds", signs.holds), theme.good),
            ContenderState::Waits => Cell::new(format!("{} waits", signs.waits), theme.wait),
            ContenderState::Unknown => Cell::new(format!("{} unknown", signs.unknown), theme.unsure),
        },
        QueueColumn::Session => match contender.session {
            Some(id) => Cell::new(session(id, width, signs.charset), plain),
            None => Cell::new(view.fit("none", width, Keep::Start), view.data(theme.wait)),
        },
        QueueColumn::Client => match contender.session.and_then(|id| client(view, id)) {
            Some(client) => Cell::new(view.fit(client, width, Keep::Start), plain),
            None => Cell::new(signs.unknown, theme.dim),
        },
        QueueColumn::Liveness => {
            let (text, style) = life(view, (facts.owner, facts.expires_in));
            Cell::new(view.fit(&text, width, Keep::Start), style)
        }
        QueueColumn::Watches => match watches(view, row, facts) {
            Some((sign, words, style)) => Cell::new(view.fit(&format!("{sign} {words}"), width, Keep::Start), style),
            None => Cell::new("", plain),
        },
        QueueColumn::Data => Cell::new(fit_bytes(contender.data.bytes(), width, signs.charset), plain),
        QueueColumn::Age => Cell::new(duration(view.app.server_now().since(contender.created_at)), plain),
        QueueColumn::WaitsFor => match watches(view, row, facts).filter(|_| marks) {
            Some((sign, _, style)) => {
                let shown = view.fit(&waits_for(view, lock, row), width.saturating_sub(2), Keep::Start);
                let style = if facts.watching == WatchTarget::Nothing { style } else { plain };
                Cell::new(format!("{shown} {sign}"), style)
            }
            None => Cell::new(view.fit(&waits_for(view, lock, row), width, Keep::Start), plain),
        },
        QueueColumn::Node => Cell::new(view.fit(&contender.node, width, Keep::Ends), plain),
        QueueColumn::Czxid => Cell::new(contender.czxid.to_string(), theme.dim),
        QueueColumn::Created => Cell::new(date_and_time(contender.created_at, view.app.settings().utc), theme.dim),
    }
}

fn number(sequence: Option<Sequence>) -> String {
    sequence.map_or_else(|| "-".to_owned(), |Sequence(number)| number.to_string())
}

fn letter(mode: RequestMode) -> &'static str {
    match mode {
        RequestMode::Exclusive => "",
        RequestMode::Read => "R",
        RequestMode::Write => "W",
        RequestMode::Lease => "L",
    }
}

/// What a waiter watches: a sign, words, and how they look; `None` for who holds.
fn watches(view: View<'_>, row: &ContenderRow<'_>, facts: &Facts<'_>) -> Option<(&'static str, &'static str, Style)> {
    let (theme, signs) = (view.theme, &view.theme.signs);
    if row.state != ContenderState::Waits || !view.app.shows_truth() {
        return None;
    }
    Some(match facts.watching {
        WatchTarget::Predecessor => (signs.good, "its predecessor", view.data(theme.good)),
        WatchTarget::Parent => (signs.herd, "the parent: herd", view.data(theme.wait)),
        WatchTarget::Nothing => (signs.nothing, "nothing: lost wake-up", view.data(theme.bad)),
        WatchTarget::Unknown => (signs.unknown, "not known", theme.dim),
    })
}

/// An arrow to whom it waits for: a short one when that is the row above.
fn waits_for(view: View<'_>, lock: &LockQueue, row: &ContenderRow<'_>) -> String {
    let signs = &view.theme.signs;
    let awaited = lock.waits_for(row.position, 2);
    let Some(first) = awaited.first() else { return String::new() };
    let above = row.position.checked_sub(1).and_then(|position| lock.row(position));
    let arrow = match above {
        Some(above) if *above.contender.node == **first => signs.next,
        _ => signs.far,
    };
    let name = Sequence::split(first).map_or_else(|| (*first).to_owned(), |(_, sequence)| number(Some(sequence)));
    let more = if awaited.len() > 1 { ", ..." } else { "" };
    format!("{arrow} {name}{more}")
}
