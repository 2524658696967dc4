//! The list of the locks, and the pane below it.
//!
//! ```text
//! ┌ Locks ── 37 locks, 412 contenders ── sort: waiting ▼ ──────────────────────┐
//! │  LOCK            RECIPE         HOLDER         HELD   WAIT  OLDEST  ACQ/s …│
//! │▸ /locks/billing  Curator mutex  0x1…0001b   ≤14m02s    128  13m58s      0  │
//! └ ! 2 places cannot be read ─────────────────────────────────────────────────┘
//! ```
//!
//! The pane has the watch events that the changes of the last minute would cost if every lock were
//! a herd and if every lock were a chain, and those that the servers sent.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use super::list::{ListTitle, ListView, below, client_style, in_a_word, lock_name, waited_for, who};
use super::{View, lanes};
use crate::tui::app::{ASSUMED, LEADER, LockColumn, LockList, LockRow, LockStyle, VanishedLock};
use crate::tui::page::details;
use crate::tui::page::details::is_shown_as_election;
use crate::tui::screen::Placed;
use crate::tui::widget;
use crate::tui::widget::write::write_line;
use crate::tui::widget::{Bottom, Cell, Panel};
use lockscope_base::recipe::LockKind;
use lockscope_model::diagnose::Severity;
use lockscope_model::queue::{HoldBounds, LockQueue};
use lockscope_model::text::human::{bounded, count, count_within, duration, no_less, plural, rate};
use lockscope_model::text::{Charset, Keep, fit_bytes, width, width as columns_of};

/// Columns that must stay for the name of an assumed holder. With fewer, the cell says only that the
/// holder is assumed: a name alone would claim more than is known.
const MIN_ASSUMED_HOLDER: usize = 12;

/// Columns that must stay for the name of a leader.
const MIN_LEADER: usize = 8;

/// Precedes the last holder of a vanished lock, provided that `MIN_LAST` columns stay for the name.
const LAST: &str = ", last ";

const MIN_LAST: usize = 8;

impl ListView for LockList {
    fn title(&self, view: View<'_>) -> ListTitle {
        let (theme, table) = (view.theme, view.app.world().table());
        let contenders = plural(table.contender_count(), "contender", "contenders");
        let (critical, warning, info) = view.app.world().troubled();
        let muted = view.app.world().diagnosis().muted_count();
        // A muted finding is one: a lock with several of them is rather not counted.
        let without = table.lock_count().saturating_sub(critical + warning + info + muted);
        let open = view.app.world().open_checks();
        let mut after_filter = Vec::new();
        let tags = view.app.tags();
        if !tags.is_empty() {
            after_filter.push((format!("{} tagged", count(tags.len())), theme.wait));
        }
        let untagged = after_filter.len();
        if critical > 0 {
            after_filter.push((format!("{} {} critical", theme.signs.bad, count(critical)), view.data(theme.bad)));
        }
        if warning > 0 {
            let warnings = plural(warning, "warning", "warnings");
            after_filter.push((format!("{} {warnings}", theme.signs.warning), view.data(theme.wait)));
        }
        if info > 0 {
            after_filter.push((format!("{} info", count(info)), view.data(theme.text)));
        }
        if muted > 0 {
            after_filter.push((format!("{} muted", count(muted)), theme.dim));
        }
        if after_filter.len() == untagged {
            let locks = plural(table.lock_count(), "lock", "locks");
            after_filter.push((format!("{locks}, {contenders}"), theme.text));
        } else {
            after_filter.push((format!("{} no finding", count(without)), theme.text));
            after_filter.push((contenders, theme.dim));
        }
        if open > 0 {
            after_filter.push((format!("{} still open", count(open)), view.data(theme.unsure)));
        }
        let bottom = table.unreadable().iter().next().map(|(path, why)| {
            let count = plural(table.unreadable().len(), "place", "places");
            let text = format!("{} {count} cannot be read: {path}: {why}", theme.signs.warning);
            Bottom { end: view.sentence(" ({unreadable}: all)"), ..view.bottom(&text, theme.wait, Keep::Start) }
        });
        let uncounted = view.app.world().vanished().shown();
        if uncounted > 0 {
            after_filter.push((format!("{} gone", count(uncounted)), theme.dim));
        }
        let (name, all) = ("Locks".to_owned(), table.lock_count());
        let prefix = LockList.prefix(view.app).map(|prefix| (below(view, prefix), theme.strong));
        let before_filter = prefix.into_iter().collect();
        ListTitle { name, before_filter, all, uncounted, after_filter, bottom, ..ListTitle::default() }
    }

    fn why_empty(&self, view: View<'_>, _: usize) -> Vec<String> {
        if !view.app.filter().is_empty() {
            return view.nothing_contains("No lock");
        }
        if view.app.knows_nothing() {
            return vec!["No lock is known yet.".to_owned()];
        }
        if view.app.replay().is_some() {
            return vec!["There was no lock at that time.".to_owned()];
        }
        if !view.app.world().table().unreadable().is_empty() {
            return vec!["There is no lock in what can be read.".to_owned()];
        }
        vec!["There is no lock.".to_owned(), "It will show here as soon as an application makes one.".to_owned()]
    }

    fn cell(&self, view: View<'_>, row: &LockRow<'_>, column: Placed<LockColumn>) -> Cell {
        match row {
            LockRow::Lock(lock) => cell(view, lock, column),
            LockRow::Vanished(gone) => vanished(view, gone, column),
        }
    }

    fn draw_below(&self, view: View<'_>, area: Rect, placed: &[Placed<LockColumn>], buffer: &mut Buffer) {
        lanes::draw(view, area, placed, buffer);
    }

    /// Returns the sign of the worst finding. The sign stays visible whichever columns are left
    /// out.
    fn mark(&self, view: View<'_>, row: &LockRow<'_>) -> Option<(&'static str, Style)> {
        let LockRow::Lock(lock) = row else { return None };
        let worst = view.app.world().diagnosis().worst(lock.id())?;
        let style = view.data(view.theme.finding(worst));
        (worst.severity >= Severity::Warning).then_some((view.theme.signs.severity(worst.severity), style))
    }
}

fn cell(view: View<'_>, lock: &LockQueue, column: Placed<LockColumn>) -> Cell {
    let (theme, now, server_now) = (view.theme, view.app.now(), view.app.server_now());
    let signs = &theme.signs;
    let width = usize::from(column.width);
    let plain = view.data(theme.text);
    if let Some(sampled) = sampled(view, lock, column) {
        return sampled;
    }
    let figure = |number: f64| Cell::new(rate(number), if number < 0.05 { theme.dim } else { plain });
    match column.key {
        // Until the first full reading, holders and waiters are unknown.
        LockColumn::Holder | LockColumn::Held | LockColumn::Holding | LockColumn::Waiting | LockColumn::Oldest
            if view.app.knows_nothing() =>
        {
            Cell::new(signs.unknown, theme.unsure)
        }
        // The waiters of a single node are not in the tree.
        LockColumn::Waiting if lock.kind() == LockKind::SingleNode => {
            match view.app.world().table_at(now).waiters(lock) {
                Some(watchers) if watchers.whole => {
                    let sessions = watchers.sessions.len();
                    Cell::new(count_within(sessions, width), faint(sessions, theme.dim, view.data(theme.wait)))
                }
                _ => Cell::new(signs.unknown, theme.dim),
            }
        }
        LockColumn::Oldest if lock.kind() == LockKind::SingleNode => Cell::new(signs.unknown, theme.dim),
        LockColumn::Lock => Cell::new(lock_name(view, &lock.lock_name(), width), view.data(theme.strong)),
        LockColumn::Recipe => Cell::new(view.fit(lock.recipe().title(), width, Keep::Start), plain),
        LockColumn::Holder => match lock.first_holder() {
            None if lock.is_empty() => Cell::new(view.fit(&free(view, lock), width, Keep::Start), theme.dim),
            None => Cell::new("nobody", view.data(theme.wait)),
            Some(holder) => {
                let client = view.app.world().table().clients().identity_of(holder);
                let style = if client.session.is_some() { client_style(view, &client) } else { view.data(theme.wait) };
                if is_shown_as_election(view.app.world().table(), lock, view.app.now())
                    && let Some(room) = width.checked_sub(LEADER.len()).filter(|room| *room >= MIN_LEADER)
                {
                    return Cell::new(format!("{LEADER}{}", who(view, &client, room)), style);
                }
                if !lock.is_assumed() {
                    return Cell::new(who(view, &client, width), style);
                }
                match width.checked_sub(ASSUMED.len()).filter(|room| *room >= MIN_ASSUMED_HOLDER) {
                    Some(room) => Cell::new(format!("{}{ASSUMED}", who(view, &client, room)), style),
                    None => Cell::new(format!("{} assumed", signs.holds), view.data(theme.wait)),
                }
            }
        },
        LockColumn::Data => {
            let data = lock.first_holder().map(|holder| fit_bytes(holder.data.bytes(), width, signs.charset));
            Cell::new(data.unwrap_or_default(), plain)
        }
        LockColumn::Held => match held(view, lock) {
            None => Cell::new("-", theme.dim),
            Some(held) => Cell::new(held, plain),
        },
        LockColumn::Holding => Cell::new(count(lock.holding()), faint(lock.holding(), theme.dim, plain)),
        LockColumn::Bar => {
            let longest = view.app.longest_visible_queue().max(1);
            let cells = (lock.waiting() * width).div_ceil(longest).min(width);
            Cell::new(signs.cell.repeat(cells), view.data(theme.wait))
        }
        LockColumn::Waiting => {
            Cell::new(count_within(lock.waiting(), width), faint(lock.waiting(), theme.dim, view.data(theme.wait)))
        }
        LockColumn::Oldest => match lock.first_waiter() {
            None => Cell::new("-", theme.dim),
            Some(waiter) => Cell::new(duration(server_now.since(waiter.created_at)), plain),
        },
        LockColumn::Cost => waited_for(view, view.app.world().table().waits().of_lock(lock.id(), now), plain),
        LockColumn::Acquisitions => figure(lock.rates(now).acquisitions),
        LockColumn::Herd => figure(lock.rates(now).herd),
        LockColumn::Chain => figure(lock.rates(now).chain),
        LockColumn::Style => match LockStyle::of(view.app, lock) {
            Some(style) => Cell::new(style.id(), if style == LockStyle::Chain { plain } else { view.data(theme.wait) }),
            None => Cell::new("-", theme.dim),
        },
        LockColumn::Finding => finding(view, lock, width),
    }
}

/// Says that nobody holds the lock and, as far as known, for how long.
fn free(view: View<'_>, lock: &LockQueue) -> String {
    match view.app.world().free_since(lock) {
        Some((since, true)) => {
            format!("free {}", no_less(view.app.now().since(since), view.theme.signs.charset))
        }
        Some((since, false)) => format!("free {}", duration(view.app.now().since(since))),
        None => "free".to_owned(),
    }
}

/// Draws a vanished lock: since when it is gone, and its last holder.
fn vanished(view: View<'_>, gone: &VanishedLock, column: Placed<LockColumn>) -> Cell {
    let (theme, width) = (view.theme, usize::from(column.width));
    let text = match column.key {
        LockColumn::Lock => lock_name(view, &gone.name, width),
        LockColumn::Holder => {
            let since = format!("gone {}", duration(view.app.now().since(gone.at)));
            let last = view.app.world().histories().last_hold(gone.name.id);
            let room = width.saturating_sub(columns_of(&since) + LAST.len());
            match last.filter(|_| room >= MIN_LAST) {
                Some(last) => format!("{since}{LAST}{}", who(view, &last.client, room)),
                None => view.fit(&since, width, Keep::Start),
            }
        }
        _ => String::new(),
    };
    Cell::new(text, theme.dim)
}

/// Marks the figures that are sampled during overload: contenders and departures a second.
fn sampled(view: View<'_>, lock: &LockQueue, column: Placed<LockColumn>) -> Option<Cell> {
    let counts = view.app.world().table().sampled(lock)?;
    let room = usize::from(column.width).saturating_sub(1);
    let text = match column.key {
        LockColumn::Waiting => count_within(usize::try_from(counts.children).unwrap_or(usize::MAX), room),
        LockColumn::Acquisitions => rate(counts.per_second?.deleted),
        _ => return None,
    };
    Some(Cell::new(format!("~{text}"), view.theme.unsure))
}

/// Returns the bounds of how long the first holder has held the lock, such as `≤14m02s`; `None`
/// when nobody holds it.
pub fn held(view: View<'_>, lock: &LockQueue) -> Option<String> {
    let (holder, table) = (lock.first_holder()?, view.app.world().table());
    let HoldBounds { at_least, at_most } = table.clock().hold_bounds(holder, view.app.now())?;
    Some(bounded(at_least, at_most, view.theme.signs.charset))
}

/// Names the worst finding of a lock in a word.
fn finding(view: View<'_>, lock: &LockQueue, width: usize) -> Cell {
    let (theme, world) = (view.theme, view.app.world());
    let Some(worst) = world.diagnosis().worst(lock.id()) else {
        let changes = details::changes(world.table(), lock, view.app.now());
        let changes = changes.filter(|_| is_shown_as_election(world.table(), lock, view.app.now())).unwrap_or_default();
        return Cell::new(view.fit(&changes, width, Keep::Start), theme.dim);
    };
    let text = in_a_word(view, lock, worst, width);
    Cell::new(view.fit(&text, width, Keep::Start), view.data(theme.finding(worst)))
}

/// Returns the style of a number: zero is drawn faintly.
fn faint(number: usize, dim: Style, otherwise: Style) -> Style {
    if number == 0 { dim } else { otherwise }
}

/// Seconds over which the figure beside a sparkline is averaged.
const AVERAGED: usize = 10;

/// Columns of a sparkline: one for each second of the history.
const SPARK: usize = 60;

/// Draws the sparklines on one scale, so that their heights can be compared.
pub fn draw_watch_events(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    if area.height == 0 {
        return;
    }
    let theme = view.theme;
    let title = ("Watch events, all locks, last 60 s".to_owned(), theme.strong);
    let inner = Panel { left: vec![title], ..Panel::default() }.draw(area, buffer, theme);
    let seconds = view.app.world().table().totals().history.seconds(view.app.now());
    let herd: Vec<_> = seconds.iter().map(|second| second.watch_events.herd).collect();
    let chain: Vec<_> = seconds.iter().map(|second| second.watch_events.chain).collect();
    let sent = view.app.world().watch_event_rates().seconds().map(whole);
    let highest = herd.iter().chain(&chain).chain(sent.iter().flatten()).copied().max().unwrap_or(0);
    let rows = [
        ("herd-style ", Some(herd), theme.wait, "had every waiter watched the parent"),
        ("chain-style", Some(chain), theme.good, "had each watched its predecessor"),
        ("server     ", sent, theme.text, "sent to all, by the servers' own count"),
    ];
    for ((label, values, style, meaning), y) in rows.into_iter().zip(inner.top()..inner.bottom()) {
        let area = Rect { y, height: 1, ..inner };
        let Some(values) = values else {
            let asks = view.app.settings().asks_servers;
            let why = view.sentence(if asks { "not reported ({servers}: why)" } else { "not asked" });
            let line = vec![Span::styled(format!(" {label} "), theme.text), Span::styled(why, theme.dim)];
            write_line(line, area, buffer);
            continue;
        };
        let figure = format!("{:>7}/s", rate(average(&values)));
        let room = usize::from(inner.width).saturating_sub(label.len() + 3 + width(&figure));
        let line = widget::sparkline(&values, room.min(SPARK), highest, &theme.signs.levels);
        let mut spans = vec![
            Span::styled(format!(" {label} "), view.data(theme.text)),
            Span::styled(line, view.data(if highest == 0 { theme.dim } else { style })),
            Span::styled(figure, view.data(theme.strong)),
        ];
        if room > SPARK + meaning.len() + 3 {
            let dash = if theme.signs.charset == Charset::Ascii { "" } else { "  " };
            spans.push(Span::styled(format!("{dash} {meaning}"), theme.dim));
        }
        write_line(spans, area, buffer);
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are never negative, and the cast saturates"
)]
fn whole(seconds: Vec<f64>) -> Vec<u64> {
    seconds.into_iter().map(|events| events.round() as u64).collect()
}

/// Returns the average of the full seconds. The current second would lower it.
#[expect(clippy::cast_precision_loss, reason = "a sparkline's figure is rounded anyway")]
fn average(values: &[u64]) -> f64 {
    let full = &values[..values.len().saturating_sub(1)];
    let last = &full[full.len().saturating_sub(AVERAGED)..];
    last.iter().sum::<u64>() as f64 / last.len().max(1) as f64
}
