//! The selected lock beside Locks: its queue, the diagnosis, and what to do.
//!
//! ```text
//! ┌ /locks/billing ────────────────────────┐
//! │ kazoo lock · 2 waiting · held 23m14s   │
//! │ ●  billing-worker-1  23m14s live       │
//! │ ├○ billing-worker-2  23m14s ✓          │
//! │ ╰○ billing-worker-3  23m13s ✓          │
//! │                                        │
//! │ ! stuck: billing-worker-1 has held …   │
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use super::list::{client_style, countdown_of, life, who, who_is};
use super::queue::{summary, watches};
use super::{View, draw_lines, draw_page_lines};
use crate::tui::app::{ListScreen, VanishedLock};
use crate::tui::app::{LockList, LockRow, QueueList, QueueRow};
use crate::tui::page::Page;
use crate::tui::widget::Panel;
use crate::tui::widget::write::write_line;
use lockscope_base::recipe::LockKind;
use lockscope_model::diagnose::OwnerState;
use lockscope_model::queue::{ContenderState, HoldBounds, LockQueue};
use lockscope_model::text::human::{bounded, count, duration};
use lockscope_model::text::{Keep, width};

/// Contenders that are shown even if the diagnosis is long.
const MIN_CONTENDERS: usize = 3;

/// Columns before a client: a branch, its sign and a space.
const BEFORE_CLIENT: usize = 3;

/// Minimum columns of a client, and of one that is known by words such as `no session`.
const MIN_CLIENT: usize = 8;

const MIN_WORDS: usize = "no session".len();

/// A line about a contender or a watcher.
struct Contending {
    sign: (&'static str, Style),
    client: (String, Style),
    age: String,
    /// What is said of it, in a long and a short form.
    state: ([String; 2], Style),
}

/// Draws the pane for the selected row of Locks.
pub fn draw(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let app = view.app;
    let Some(row) = LockList.row(app, LockList.cursor(app).rank()).filter(|_| area.height > 2) else { return };
    let name = match &row {
        LockRow::Lock(lock) => lock.lock_name().to_string(),
        LockRow::Vanished(gone) => gone.name.to_string(),
    };
    let name = view.fit(&name, usize::from(area.width).saturating_sub(6), Keep::Ends);
    let inner = Panel { left: vec![(name, view.theme.strong)], ..Panel::default() }.draw(area, buffer, view.theme);
    let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    match row {
        LockRow::Lock(lock) => draw_lock(view, lock, inner, buffer),
        LockRow::Vanished(gone) => draw_vanished(view, gone, inner, buffer),
    }
}

fn draw_lock(view: View<'_>, lock: &LockQueue, area: Rect, buffer: &mut Buffer) {
    let theme = view.theme;
    let columns = usize::from(area.width);
    let head = format!("{} {} {}", lock.recipe().title(), theme.signs.dot, summary(view, lock));
    let head = if view.app.knows_nothing() { lock.recipe().title().to_owned() } else { head };
    line(vec![Span::styled(view.fit(&head, columns, Keep::Start), view.data(theme.text))], area, 0, buffer);
    let page = view.app.lock_diagnosis(lock, area.width + 4);
    let (all, height) = (contenders(view, lock), usize::from(area.height).saturating_sub(1));
    // The queue and the diagnosis share the lines; a blank line is between them.
    let room = height.saturating_sub(page.lines.len() + 1).max(MIN_CONTENDERS.min(all)).min(height);
    let shown = if all > room { room.saturating_sub(1) } else { all };
    let lines = lines(view, lock, shown);
    let widest = |of: fn(&Contending) -> usize| lines.iter().map(of).max().unwrap_or(0);
    let age = widest(|line| width(&line.age));
    let state = widest(|line| width(&line.state.0[1]));
    let most = columns.saturating_sub(BEFORE_CLIENT + age + state + 2).max(MIN_CLIENT);
    let client = widest(|line| width(&line.client.0)).min(most);
    for (at, one) in lines.iter().enumerate() {
        let is_last = at + 1 == all;
        line(one.spans(view, (client, age), columns, is_last), area, at + 1, buffer);
    }
    let mut used = 1 + lines.len();
    if shown < all {
        let text = format!("{} and {} more", theme.signs.charset.ellipsis(), count(all - shown));
        line(vec![Span::styled(text, theme.dim)], area, used, buffer);
        used += 1;
    }
    draw_diagnosis(view, &page, area, used + 1, buffer);
}

/// Draws the diagnosis below the first `used` lines.
fn draw_diagnosis(view: View<'_>, page: &Page, area: Rect, used: usize, buffer: &mut Buffer) {
    let used = u16::try_from(used).unwrap_or(area.height).min(area.height);
    // The text has a space at either end, as in a box.
    let below = Rect { x: area.x - 1, width: area.width + 2, y: area.y + used, height: area.height - used };
    if page.stale || page.lines.len() <= usize::from(below.height) {
        draw_page_lines(view, page, &page.lines, below, buffer);
    } else {
        draw_lines(view, &page.lines, page.columns, below, buffer);
    }
}

fn draw_vanished(view: View<'_>, gone: &VanishedLock, area: Rect, buffer: &mut Buffer) {
    let since = format!("gone {}", duration(view.app.now().since(gone.at)));
    line(vec![Span::styled(since, view.theme.dim)], area, 0, buffer);
    if let Some(last) = view.app.world().histories().last_hold(gone.name.id) {
        let last = format!("last held by {}", who(view, &last.client, usize::from(area.width).saturating_sub(13)));
        line(vec![Span::styled(last, view.theme.dim)], area, 1, buffer);
    }
    let open = view.sentence("{open} opens its history");
    line(vec![Span::styled(open, view.theme.dim)], area, 3, buffer);
}

/// Returns the number of contenders; at a single node, the holder and those that watch the node.
fn contenders(view: View<'_>, lock: &LockQueue) -> usize {
    let watchers = view.app.world().table_at(view.app.now()).waiters(lock);
    lock.len() + watchers.filter(|_| lock.kind() == LockKind::SingleNode).map_or(0, |known| known.sessions.len())
}

fn lines(view: View<'_>, lock: &LockQueue, most: usize) -> Vec<Contending> {
    let (app, theme) = (view.app, view.theme);
    if app.knows_nothing() {
        return Vec::new();
    }
    let rows = lock.rows(0..lock.len().min(most)).map(|row| contending(view, &QueueList::known(app, lock, row)));
    let mut lines: Vec<_> = rows.collect();
    let table_at = app.world().table_at(app.now());
    if let Some(watchers) = table_at.waiters(lock).filter(|_| lock.kind() == LockKind::SingleNode) {
        let room = most.saturating_sub(lines.len());
        lines.extend(watchers.sessions.iter().take(room).map(|session| Contending {
            sign: (theme.signs.waits, view.data(theme.wait)),
            client: (who_is(view, *session, MAX_CLIENT), view.data(theme.text)),
            age: String::new(),
            state: (["watches it", ""].map(str::to_owned), view.data(theme.text)),
        }));
    }
    lines
}

/// Columns of the time until a session expires, with a bar and without.
const COUNTDOWNS: [usize; 2] = [24, 13];

/// Maximum columns of a client.
const MAX_CLIENT: usize = 40;

fn contending(view: View<'_>, QueueRow { lock, row, facts }: &QueueRow<'_>) -> Contending {
    let (app, theme) = (view.app, view.theme);
    let (signs, contender) = (&theme.signs, row.contender);
    let client = app.world().table().clients().identity_of(contender);
    let columns = client.columns_of_first().clamp(MIN_WORDS, MAX_CLIENT);
    let (owner, owner_style) = life(view, facts.owner, facts.expires_in);
    let owner = |columns| countdown_of(view, contender.session(), facts, columns).unwrap_or_else(|| owner.clone());
    let owner = COUNTDOWNS.map(owner);
    let is_well = matches!(facts.owner, OwnerState::Live | OwnerState::Unknown);
    let (sign, age, state) = match row.state {
        ContenderState::Holds => {
            let bounds = app.world().table().clock().hold_bounds(contender, app.now());
            let age = bounds.map(|HoldBounds { at_least, at_most }| bounded(at_least, at_most, signs.charset));
            let owner = if facts.owner == OwnerState::Unknown { Default::default() } else { owner };
            let style = if lock.is_assumed() { theme.wait } else { theme.good };
            ((signs.holds, view.data(style)), age.unwrap_or_default(), (owner, owner_style))
        }
        ContenderState::Waits => {
            let watched = watches(view, row, facts).filter(|_| is_well);
            let watched = watched.map(|(sign, words, style)| {
                let words = words.split(':').next().unwrap_or_default();
                ([format!("{sign} {words}"), sign.to_owned()], style)
            });
            let age = duration(app.server_now().since(contender.created_at));
            ((signs.waits, view.data(theme.wait)), age, watched.unwrap_or((owner, owner_style)))
        }
        ContenderState::Unknown => ((signs.unknown, theme.unsure), String::new(), (owner, owner_style)),
    };
    Contending { sign, client: (who(view, &client, columns), client_style(view, &client)), age, state }
}

impl Contending {
    fn spans(
        &self,
        view: View<'_>,
        (client, age): (usize, usize),
        columns: usize,
        is_last: bool,
    ) -> Vec<Span<'static>> {
        let (theme, signs) = (view.theme, &view.theme.signs);
        let branch = if is_last { signs.last_branch } else { signs.branch };
        let branch = branch.get(..branch.chars().next().map_or(0, char::len_utf8)).unwrap_or_default();
        let sign =
            if self.sign.0 == signs.holds { format!("{}  ", self.sign.0) } else { format!("{branch}{} ", self.sign.0) };
        let name = view.fit(&self.client.0, client, Keep::End);
        let name = format!("{name}{}", " ".repeat(client.saturating_sub(width(&name))));
        let used = BEFORE_CLIENT + client + 1 + age + 1;
        let [long, short] = &self.state.0;
        let room = columns.saturating_sub(used);
        let state = if width(long) <= room { long } else { short };
        let state = view.fit(state, room, Keep::Start);
        vec![
            Span::styled(sign, self.sign.1),
            Span::styled(name, self.client.1),
            Span::styled(format!(" {:>age$} ", self.age), view.data(theme.text)),
            Span::styled(state, self.state.1),
        ]
    }
}

/// Writes the line at this position, if there is one.
fn line(spans: Vec<Span<'_>>, area: Rect, at: usize, buffer: &mut Buffer) {
    let at = u16::try_from(at).unwrap_or(u16::MAX);
    if at < area.height {
        write_line(spans, Rect { y: area.y + at, height: 1, ..area }, buffer);
    }
}
