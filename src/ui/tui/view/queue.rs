//! The queue of one lock: a row for each contender, the holders first.
//!
//! ```text
//! ┌ /locks/billing ── Curator mutex ── next sequence 4840 ── 128 waiting · held ≤14m02s ┐
//! │     #    SEQ    STATE    SESSION    DATA          AGE   WAITS FOR                    │
//! │▸    0   4711    ● holds  0x1…0001b  10.0.4.17  14m02s   held ≥14m                    │
//! │     1   4712 R  ○ waits  0x1…0001c  10.0.4.18  13m58s   ╰─▶ 4711                     │
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::View;
use super::list::{ListTitle, ListView, client, countdown_of, life};
use super::locks::held;
use crate::tui::app::{QueueColumn, QueueList, QueueRow};
use crate::tui::screen::Placed;
use crate::tui::widget::write::write_text;
use crate::tui::widget::{Cell, row};
use lockscope_base::recipe::{LockKind, RequestMode};
use lockscope_base::znode::Sequence;
use lockscope_model::diagnose::{Code, Finding, OwnerFacts, Severity, WatchTarget};
use lockscope_model::queue::{ClientIdentity, ContenderRow, ContenderState, HoldBounds, LockQueue};
use lockscope_model::text::human::{bounded, count, count_within, date_and_time, duration, plural};
use lockscope_model::text::{Keep, fit_bytes, session, width};

impl ListView for QueueList {
    fn title(&self, view: View<'_>) -> ListTitle {
        let (app, theme) = (view.app, view.theme);
        let name = app.opened().map_or_else(|| "Queue".to_owned(), ToString::to_string);
        let room = if app.layout().is_some_and(|layout| layout.main.width >= 110) { 60 } else { 28 };
        let name = view.fit(&name, room, Keep::End);
        let Some(lock) = app.world().open_lock() else { return ListTitle { name, ..ListTitle::default() } };
        let tags = app.tags();
        let before_filter =
            (!tags.is_empty()).then(|| (format!("{} tagged", count(tags.len())), theme.wait)).into_iter().collect();
        let mut after_filter = vec![(lock.recipe().title().to_owned(), theme.text)];
        if lock.kind() == LockKind::ReadWrite {
            let letters = [("R", "reads"), ("W", "writes")].map(|(letter, does)| format!("{letter} {does}"));
            after_filter.push((letters.join(", "), theme.dim));
        }
        if let Some(next) = lock.next_sequence() {
            after_filter.push((format!("next sequence {next}"), theme.dim));
        }
        let right = Some((summary(view, lock), view.data(theme.text))).filter(|_| !app.knows_nothing());
        ListTitle { name, before_filter, all: lock.len(), after_filter, right, ..ListTitle::default() }
    }

    fn why_empty(&self, view: View<'_>, _: usize) -> Vec<String> {
        let Some(lock) = view.app.world().open_lock() else {
            let was_open = view.app.opened().is_some();
            let what = if was_open { "This lock is gone: its parent was deleted." } else { "No lock is open." };
            return vec![what.to_owned(), view.sentence("{back} goes back to the list.")];
        };
        if !view.app.filter().is_empty() && !lock.is_empty() {
            return view.nothing_contains("No contender");
        }
        vec!["Nobody holds this lock, and nobody waits for it.".to_owned()]
    }

    fn cell(
        &self,
        view: View<'_>,
        &QueueRow { lock, ref row, ref facts }: &QueueRow<'_>,
        column: Placed<QueueColumn>,
    ) -> Cell {
        let theme = view.theme;
        let signs = &theme.signs;
        let width = usize::from(column.width);
        let plain = view.data(theme.text);
        let contender = row.contender;
        match column.key {
            QueueColumn::Position => Cell::new(count_within(row.position, width), theme.dim),
            QueueColumn::Sequence => Cell::new(number(contender.sequence), view.data(theme.strong)),
            QueueColumn::Mode => Cell::new(letter(row.mode), view.data(theme.wait)),
            QueueColumn::State => state(view, row.state),
            QueueColumn::StateAndWatches => match watches(view, row, facts) {
                Some((sign, _, style)) => Cell::new(format!("{} {sign}", state(view, row.state).text), style),
                None => state(view, row.state),
            },
            QueueColumn::Session => match contender.session() {
                Some(id) => Cell::new(session(id, width, signs.charset), plain),
                None if !contender.is_read() => Cell::new(signs.unknown, theme.dim),
                None => Cell::new(view.fit("none", width, Keep::Start), view.data(theme.wait)),
            },
            QueueColumn::Client => client(view, &view.app.world().table().clients().identity_of(contender), width),
            QueueColumn::Liveness => {
                let (text, style) = life(view, facts.owner, facts.expires_in);
                let text = countdown_of(view, contender.session(), facts, width).unwrap_or(text);
                Cell::new(view.fit(&text, width, Keep::Start), style)
            }
            QueueColumn::Watches => match watches(view, row, facts) {
                Some((sign, words, style)) => {
                    let whole = format!("{sign} {words}");
                    let text =
                        if whole.chars().count() <= width { &whole } else { whole.split(':').next().unwrap_or(&whole) };
                    Cell::new(view.fit(text, width, Keep::Start), style)
                }
                None => Cell::new("", plain),
            },
            QueueColumn::Data => Cell::new(fit_bytes(contender.data.bytes(), width, signs.charset), plain),
            QueueColumn::Age => Cell::new(duration(view.app.server_now().since(contender.created_at)), plain),
            QueueColumn::WaitsFor | QueueColumn::WaitsForAndWatches if row.state == ContenderState::Holds => {
                let bounds = view.app.world().table().clock().hold_bounds(contender, view.app.now());
                let held = bounds.filter(|_| !view.app.knows_nothing()).map(|HoldBounds { at_least, at_most }| {
                    format!("held {}", bounded(at_least, at_most, signs.charset))
                });
                Cell::new(view.fit(&held.unwrap_or_default(), width, Keep::Start), view.data(theme.good))
            }
            QueueColumn::WaitsFor | QueueColumn::WaitsForAndWatches if facts.watching == WatchTarget::Parent => {
                let text = format!("{} the parent", signs.herd);
                Cell::new(view.fit(&text, width, Keep::Start), view.data(theme.wait))
            }
            QueueColumn::WaitsFor | QueueColumn::WaitsForAndWatches => {
                let sign = watches(view, row, facts).filter(|_| column.key == QueueColumn::WaitsForAndWatches);
                let room = if sign.is_some() { width.saturating_sub(2) } else { width };
                let shown = view.fit(&waits_for(view, lock, row, facts, room), room, Keep::Start);
                match sign {
                    Some((sign, _, style)) if facts.watching == WatchTarget::Nothing => {
                        Cell::new(format!("{shown} {sign}"), style)
                    }
                    Some((sign, ..)) => Cell::new(format!("{shown} {sign}"), plain),
                    None => Cell::new(shown, plain),
                }
            }
            QueueColumn::Node => Cell::new(view.fit(&contender.node, width, Keep::Ends), plain),
            QueueColumn::Czxid | QueueColumn::Created if !contender.is_read() => Cell::new(signs.unknown, theme.dim),
            QueueColumn::Czxid => Cell::new(contender.czxid.to_string(), theme.dim),
            QueueColumn::Created => Cell::new(date_and_time(contender.created_at, view.app.settings().utc), theme.dim),
        }
    }

    fn mark(&self, view: View<'_>, row: &QueueRow<'_>) -> Option<(&'static str, Style)> {
        let tagged = view.app.tags().has(&row.lock.path_of(row.row.contender));
        if tagged {
            return Some((view.theme.signs.tag, view.theme.wait));
        }
        let found = view.app.world().diagnosis().of(row.lock.id());
        let severity = found.filter(|finding| concerns(finding, row)).map(|finding| finding.severity).max()?;
        let sign = match severity {
            Severity::Critical => view.theme.signs.bad,
            Severity::Warning => view.theme.signs.warning,
            Severity::Info => return None,
        };
        Some((sign, view.theme.severity(severity)))
    }

    fn draw_below(&self, view: View<'_>, area: Rect, placed: &[Placed<QueueColumn>], buffer: &mut Buffer) {
        if let Some(lock) = view.app.world().open_lock().filter(|_| view.app.filter().is_empty()) {
            watchers(view, lock, placed, area, buffer);
        }
    }
}

/// Returns whether a finding is about the node of a row. A client that waits behind its own
/// forgotten node has two of them.
fn concerns(finding: &Finding, row: &QueueRow<'_>) -> bool {
    let contender = row.row.contender;
    let of_client = |client: &ClientIdentity| client.session.is_some() && client.session == contender.session();
    finding.muted.is_none()
        && (finding.node.as_ref() == Some(&contender.node)
            || finding.code == Code::Orphan && finding.client.as_deref().is_some_and(of_client))
}

/// Returns how many wait for a lock, and for how long it is held.
pub fn summary(view: View<'_>, lock: &LockQueue) -> String {
    let (app, dot) = (view.app, view.theme.signs.dot);
    let nobody = if lock.waiting() > 0 { "nobody holds" } else { "free" };
    let held = held(view, lock).map_or_else(|| nobody.to_owned(), |held| format!("held {held}"));
    let waiting = match lock.kind() {
        LockKind::SingleNode => match app.world().table_at(app.now()).waiters(lock) {
            Some(watchers) if watchers.whole => format!("{} waiting", count(watchers.sessions.len())),
            Some(watchers) => format!("{} waiting or more", count(watchers.sessions.len())),
            None => "waiters not in the tree".to_owned(),
        },
        _ => match app.world().table().sampled(lock) {
            Some(counts) => format!("~{} contenders", counts.children),
            None if lock.is_assumed() => plural(lock.len(), "contender", "contenders"),
            None => format!("{} waiting", count(lock.waiting())),
        },
    };
    if lock.kind() == LockKind::Semaphore {
        let most = lock.maximum().map_or(String::new(), |most| format!(" of {most}"));
        return format!("{} held{most} {dot} {waiting} {dot} {held}", plural(lock.holding(), "lease", "leases"));
    }
    format!("{waiting} {dot} {held}")
}

/// Draws the clients that watch a single node, below its holder. They have no nodes of their own,
/// so they cannot be selected.
fn watchers(view: View<'_>, lock: &LockQueue, placed: &[Placed<QueueColumn>], area: Rect, buffer: &mut Buffer) {
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
                QueueColumn::State | QueueColumn::StateAndWatches => state(view, ContenderState::Waits),
                QueueColumn::Session => Cell::new(session(*id, width, theme.signs.charset), plain),
                QueueColumn::Client => client(view, &app.world().table().clients().identity(*id), width),
                // Since when the session waits is unknown.
                QueueColumn::Liveness => {
                    let (owner, expires_in) = table_at.owner_state(*id, app.now());
                    let (text, style) = life(view, owner, expires_in);
                    Cell::new(view.fit(&text, width, Keep::Start), style)
                }
                QueueColumn::WaitsFor | QueueColumn::WaitsForAndWatches => {
                    Cell::new(view.fit("watches it", width, Keep::Start), plain)
                }
                _ => Cell::new("", plain),
            }
        });
    }
    if shown < all {
        let text = format!("   and {} more", count(all - shown));
        write_text(buffer, (area.x, area.bottom().saturating_sub(1)), area.width, &text, theme.dim);
    }
}

/// Returns what a contender does, with a sign.
fn state(view: View<'_>, state: ContenderState) -> Cell {
    let (theme, signs) = (view.theme, &view.theme.signs);
    match state {
        _ if view.app.knows_nothing() => Cell::new(format!("{} unknown", signs.unknown), theme.unsure),
        // The rules of such a queue are unknown.
        ContenderState::Holds if view.app.world().open_lock().is_some_and(LockQueue::is_assumed) => {
            Cell::new(format!("{} assumed", signs.holds), view.data(theme.wait))
        }
        ContenderState::Holds => Cell::new(format!("{} holds", signs.holds), view.data(theme.good)),
        ContenderState::Waits => Cell::new(format!("{} waits", signs.waits), view.data(theme.wait)),
        ContenderState::Unknown => Cell::new(format!("{} unknown", signs.unknown), theme.unsure),
    }
}

pub fn number(sequence: Option<Sequence>) -> String {
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

/// Returns what a waiter watches: a sign, words and their style; `None` for holders.
pub fn watches(
    view: View<'_>,
    row: &ContenderRow<'_>,
    facts: &OwnerFacts<'_>,
) -> Option<(&'static str, &'static str, Style)> {
    let (theme, signs) = (view.theme, &view.theme.signs);
    if row.state != ContenderState::Waits || !view.app.shows_truth() {
        return None;
    }
    Some(match facts.watching {
        // The head has no predecessor: nobody holds, and its watch is the reason.
        WatchTarget::Predecessor if row.position == 0 => (signs.nothing, "what it waits for", view.data(theme.bad)),
        WatchTarget::Predecessor => (signs.good, "its predecessor", view.data(theme.good)),
        WatchTarget::TwoBefore => (signs.good, "the two before", view.data(theme.good)),
        WatchTarget::Parent => (signs.herd, "the parent: herd", view.data(theme.wait)),
        WatchTarget::Nothing => (signs.nothing, "nothing: lost wake-up", view.data(theme.bad)),
        WatchTarget::Unknown => (signs.unknown, "not known", theme.dim),
    })
}

/// Draws an arrow to the contenders that the row waits for: a short arrow when the first of them is
/// the row above. Names as many as fit in `columns`.
pub fn waits_for<'a>(
    view: View<'_>,
    lock: &'a LockQueue,
    row: &ContenderRow<'_>,
    facts: &OwnerFacts<'a>,
    columns: usize,
) -> String {
    const MORE: &str = ", ...";
    let signs = &view.theme.signs;
    // Each takes at least three columns.
    let awaited = facts.blockers(lock, row, columns / 3 + 1);
    let Some(first) = awaited.first() else { return String::new() };
    let above = row.position.checked_sub(1).and_then(|position| lock.row(position));
    let arrow = match above {
        Some(above) if *above.contender.node == **first => signs.next,
        _ => signs.far,
    };
    let name =
        |node: &&str| Sequence::split(node).map_or_else(|| (*node).to_owned(), |(_, sequence)| number(Some(sequence)));
    let mut shown = format!("{arrow} {}", name(first));
    for (at, node) in awaited.iter().enumerate().skip(1) {
        let with_it = format!("{shown}, {}", name(node));
        let more = if at + 1 < awaited.len() { MORE.len() } else { 0 };
        if width(&with_it) + more > columns {
            return if width(&shown) + MORE.len() > columns { shown + " +" } else { shown + MORE };
        }
        shown = with_it;
    }
    shown
}
