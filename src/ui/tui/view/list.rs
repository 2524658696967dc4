//! Draws every list alike: a box with a title, the columns' titles, the visible rows and the
//! selection; and the texts that cells of several lists share.
//!
//! Clients and sessions stand in a few columns, with whether they are alive. A finding in a few
//! columns is never cut: half a name would tell the reader nothing.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use super::View;
use crate::tui::app::{App, Cursor, Directed, FoldedColumn, ListOrder, ListScreen, LockList, Pane, Rows};
use crate::tui::screen::{MARK_WIDTH, Placed};
use crate::tui::widget::write::write_line;
use crate::tui::widget::{Bottom, Cell, Panel, Title, row, titles};
use lockscope_base::znode::{SessionId, ZnodePath};
use lockscope_model::diagnose::{Code, Finding, OwnerFacts, OwnerState, Standstill};
use lockscope_model::queue::{ClientIdentity, ContenderRow, LockName, LockQueue, WaiterTime};
use lockscope_model::text::human::{bounded, count, countdown, duration, no_less, silent};
use lockscope_model::text::{Keep, width, wrap_words};

/// Maximum columns of a text in the lower border. No terminal is wider.
const MAX_BOTTOM: usize = 1_000;

/// Maximum columns of the node that all locks are below.
const MAX_PREFIX: usize = 40;

/// Lines around the rows: the border and the columns' titles.
const FRAME: u16 = 3;

/// The texts in a list's borders, besides its filter and its order.
#[derive(Default)]
pub struct ListTitle {
    /// The list's name.
    pub name: String,
    /// Parts to the left of the filter.
    pub before_filter: Vec<(String, Style)>,
    /// The number of rows, whether they pass the filter or not.
    pub all: usize,
    /// The number of visible rows that are not in the count.
    pub uncounted: usize,
    /// Parts to the right of the filter.
    pub after_filter: Vec<(String, Style)>,
    /// The text at the right end of the upper border.
    pub right: Option<(String, Style)>,
    /// The text in the lower border.
    pub bottom: Option<Bottom>,
}

/// The looks of one list.
pub trait ListView: ListScreen<App> {
    /// Returns the texts for the list's borders.
    fn title(&self, view: View<'_>) -> ListTitle;
    /// Explains why there are no rows, in lines of at most `columns` columns where the text may be
    /// long.
    fn why_empty(&self, view: View<'_>, columns: usize) -> Vec<String>;
    /// Returns one cell of a row.
    fn cell(&self, view: View<'_>, row: &Self::Row<'_>, column: Placed<Self::Column>) -> Cell;

    /// Returns a sentence that replaces the columns' titles.
    fn heading(&self) -> Option<&'static str> {
        None
    }
    /// Draws one row.
    fn draw_row(
        &self,
        view: View<'_>,
        shown: &Self::Row<'_>,
        line: Rect,
        placed: &[Placed<Self::Column>],
        buffer: &mut Buffer,
    ) {
        row(buffer, line, placed, |column| self.cell(view, shown, column));
    }
    /// Returns a sign to the left of the row, beside the sign of the selection.
    fn mark(&self, _: View<'_>, _: &Self::Row<'_>) -> Option<(&'static str, Style)> {
        None
    }
    /// Draws the area below the last row.
    fn draw_below(&self, _: View<'_>, _: Rect, _: &[Placed<Self::Column>], _: &mut Buffer) {}
    /// Returns what is wrong with the whole list; drawn in its last lines.
    fn trouble<'a>(&self, _: View<'a>) -> Option<&'a str> {
        None
    }
}

/// Draws a list. The cost depends on the height of the terminal, not on the number of rows.
pub fn draw<L: ListView>(list: &L, view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let (app, theme) = (view.app, view.theme);
    let rows = list.rows(app);
    let mut panel = panel(list, view, rows.len());
    panel.bottom_right = position(view, list.cursor(app), rows.len(), area);
    let inner = panel.draw(area, buffer, theme);
    if inner.height < 2 {
        return;
    }
    let inner = match list.trouble(view) {
        Some(trouble) => draw_trouble(view, trouble, inner, buffer),
        None => inner,
    };
    if rows.is_empty() {
        view.placeholder(&list.why_empty(view, usize::from(inner.width).saturating_sub(4)), inner, buffer);
        return;
    }
    let placed = list.place(app, inner.width);
    draw_titles(list, view, inner, &placed, buffer);
    let body = Rect { y: inner.y + 1, height: inner.height - 1, ..inner };
    let cursor = list.cursor(app);
    for (rank, line) in window(cursor.top(), rows.len(), body) {
        let shown = list.row(app, rank);
        if let Some(shown) = &shown {
            list.draw_row(view, shown, line, &placed, buffer);
        }
        if rank == cursor.rank() {
            view.select(line, buffer, app.pane() == Pane::List);
        }
        // While a text pane beside the list has the focus, the search applies to that text.
        if app.pane() == Pane::List {
            view.highlight(line, buffer);
        }
        if let Some((sign, style)) = shown.and_then(|shown| list.mark(view, &shown)) {
            // There is always room between the sign of the selection and the first column.
            let x = (line.x + MARK_WIDTH).min(line.right().saturating_sub(1));
            buffer.set_stringn(x, line.y, sign, 1, style);
        }
    }
    let used = u16::try_from(rows.len()).unwrap_or(body.height).min(body.height);
    let below = Rect { y: body.y + used, height: body.height - used, ..body };
    list.draw_below(view, below, &placed, buffer);
}

fn draw_titles<L: ListView>(list: &L, view: View<'_>, area: Rect, placed: &[Placed<L::Column>], buffer: &mut Buffer) {
    let theme = view.theme;
    if let Some(heading) = list.heading() {
        let heading = view.fit(heading, usize::from(area.width).saturating_sub(3), Keep::Start);
        return write_line(Span::styled(format!("  {heading}"), theme.title), Rect { height: 1, ..area }, buffer);
    }
    let sorting = list.order(view.app);
    titles(buffer, area, placed, |column| {
        let sorts = sorting.zip(list.order_by(column)).and_then(|(sorting, order)| sorting.place_of(order));
        match sorts {
            None => Title { style: theme.title, sign: None },
            Some((at, reversed)) => {
                let sign = theme.signs.order[usize::from(reversed != L::Order::POINTS_DOWN)];
                let sign = if at == 0 {
                    sign.to_owned()
                } else {
                    theme.signs.then_by[usize::from(reversed != L::Order::POINTS_DOWN)].to_owned()
                };
                let style = if at == 0 { theme.strong } else { theme.title };
                Title { style, sign: Some((sign, style)) }
            }
        }
    });
}

pub fn panel<L: ListView>(list: &L, view: View<'_>, shown: usize) -> Panel {
    let (app, theme) = (view.app, view.theme);
    let title = list.title(view);
    let mut left = vec![(title.name, theme.strong)];
    left.extend(title.before_filter);
    let shown = shown.saturating_sub(title.uncounted);
    if !app.filter().is_empty() {
        let text = view.fit(app.filter().text(), 24, Keep::Start);
        left.push((format!("filter: {text} ({shown} of {})", title.all), theme.wait));
    } else if app.is_narrowed() && app.pane() == Pane::List {
        left.push((format!("search: {}", view.fit(app.highlighted().text(), 24, Keep::Start)), theme.wait));
    }
    left.extend(title.after_filter);
    let (words, zero) = folded(list, app);
    left.extend(words.map(|text| (text, theme.dim)));
    if let Some(sorting) = list.order(app) {
        let named = |Directed { by, reversed }: Directed<L::Order>| {
            format!("{} {}", by.id(), theme.signs.order[usize::from(reversed != L::Order::POINTS_DOWN)])
        };
        let then = sorting.then.map(|then| format!(", {}", named(then))).unwrap_or_default();
        left.push((format!("sort: {}{then}", named(sorting.first)), theme.dim));
    }
    left.extend(zero.map(|text| (text, theme.dim)));
    let focused = app.screen().panes().count() > 1 && app.pane() == Pane::List;
    Panel { left, right: title.right, bottom: title.bottom, focused, bottom_right: None }
}

/// Says what stands in the columns that say the same in all visible rows: words, and which are 0.
fn folded<L: ListView>(list: &L, app: &App) -> (impl Iterator<Item = String>, Option<String>) {
    let (zero, words): (Vec<_>, Vec<_>) = list.folded(app).into_iter().partition(|folded| folded.says == "0");
    let zero: Vec<_> = zero.into_iter().map(|folded| folded.name).collect();
    // Nobody has looked at rows that were never visible.
    let all = list.rows(app).len() <= app.layout().map_or(0, |layout| layout.rows().1);
    let (every, is_zero) = if all { ("all", "0") } else { ("in view:", "0 in view") };
    let zero = (!zero.is_empty()).then(|| format!("{} {is_zero}", zero.join(", ")));
    let words = words.into_iter().filter(|folded| !folded.says.is_empty());
    let words = words.map(move |FoldedColumn { says, some_unknown, .. }| match (all, some_unknown) {
        (true, true) => format!("{says} where known"),
        (false, true) => format!("{every} {says} where known"),
        (_, false) => format!("{every} {says}"),
    });
    (words, zero)
}

/// Returns the selection's position in a list that does not fit, with arrows to the hidden rows.
fn position<Id>(view: View<'_>, cursor: &Cursor<Id>, rows: usize, area: Rect) -> Option<(String, Style)> {
    let height = usize::from(area.height.saturating_sub(FRAME));
    let [up, down] = view.theme.signs.more;
    let above = if cursor.top() > 0 { up } else { "" };
    let below = if cursor.top() + height < rows { down } else { "" };
    let text = format!("{} of {} {above}{below}", count(cursor.rank() + 1), count(rows));
    (rows > height).then_some((text, view.theme.dim))
}

/// Draws `trouble` in the last lines of an area. Returns the area above.
fn draw_trouble(view: View<'_>, trouble: &str, area: Rect, buffer: &mut Buffer) -> Rect {
    let theme = view.theme;
    let lines = wrap_words(trouble, usize::from(area.width).saturating_sub(4), theme.signs.charset);
    let most = usize::from(area.height).saturating_sub(4);
    let height = u16::try_from(lines.len().min(most)).unwrap_or(0);
    let rest = Rect { height: area.height - height, ..area };
    let all = lines.len();
    for (at, (mut text, y)) in lines.into_iter().zip(rest.bottom()..area.bottom()).enumerate() {
        if y + 1 == area.bottom() && at + 1 < all {
            text = view.goes_on(&text, usize::from(area.width).saturating_sub(4));
        }
        let sign = if at == 0 { theme.signs.bad } else { " " };
        write_line(Span::styled(format!(" {sign} {text}"), theme.bad), Rect { y, height: 1, ..area }, buffer);
    }
    rest
}

/// Returns the rank and the line of each visible row.
fn window(top: usize, rows: usize, area: Rect) -> impl Iterator<Item = (usize, Rect)> {
    let end = rows.min(top + usize::from(area.height));
    let lines = (0..area.height).map(move |line| Rect { y: area.y + line, height: 1, ..area });
    (top..end).zip(lines)
}

impl View<'_> {
    /// Explains that the filter hides all rows. `what` is the subject, such as "No change".
    pub fn nothing_contains(self, what: &str) -> Vec<String> {
        let text = self.fit(self.app.filter().text(), 30, Keep::Start);
        let mut lines = vec![format!("{what} contains \"{text}\".")];
        if text.contains(['|', '*', '^', '$', '[', '(']) && !text.contains('/') {
            lines.push("A pattern stands between slashes, as in /a|b/.".to_owned());
        }
        lines.push(self.sentence("{back} clears the filter."));
        lines
    }

    /// Returns a text for the lower border, which shortens it where there is less room.
    pub fn bottom(self, text: &str, style: Style, keep: Keep) -> Bottom {
        Bottom { keep, ..Bottom::new(self.fit(text, MAX_BOTTOM, keep), style) }
    }

    /// Says whether the selection stays with the last row as rows are added.
    pub fn following(self, follows: bool) -> (String, Style) {
        (self.sentence(if follows { "following" } else { "{letter of last}: follow" }), self.theme.dim)
    }
}

/// Minimum and maximum columns of a bar.
const BAR: (usize, usize) = (4, 8);

/// Columns of the longest countdown before a bar, with a blank.
const BEFORE_BAR: usize = 13;

/// Draws what was waited for a lock, or in an ensemble; a dash where nobody waited.
pub fn waited_for(view: View<'_>, WaiterTime(waited): WaiterTime, style: Style) -> Cell {
    // A replay knows only what it has played.
    match view.app.replay() {
        _ if waited.is_zero() => Cell::new("-", view.theme.dim),
        Some(_) => Cell::new(no_less(waited, view.theme.signs.charset), style),
        None => Cell::new(duration(waited), style),
    }
}

/// Returns the name of a lock of Locks, which looks unlike those of the other visible locks.
pub fn lock_name(view: View<'_>, lock: &LockName, columns: usize) -> String {
    let short = view.app.short_name(lock.id).filter(|short| width(short) <= columns);
    short.map_or_else(|| view.fit(&LockList.name_of(view.app, lock), columns, Keep::End), str::to_owned)
}

/// Says in a title that all locks are below this node.
pub fn below(view: View<'_>, prefix: &ZnodePath) -> String {
    format!("in {}", view.fit(prefix.as_str(), MAX_PREFIX, Keep::Ends))
}

/// Identifies a client in `columns` columns.
pub fn who(view: View<'_>, client: &ClientIdentity, columns: usize) -> String {
    client.fit(columns, view.theme.signs.charset)
}

/// Identifies a session's client in `columns` columns.
pub fn who_is(view: View<'_>, session: SessionId, columns: usize) -> String {
    who(view, &view.app.world().table().clients().identity(session), columns)
}

/// Identifies a client whose session has a column of its own; a sign where nothing else is known.
pub fn client(view: View<'_>, client: &ClientIdentity, columns: usize) -> Cell {
    if client.shown_name().is_none() && client.address.is_none() {
        return Cell::new(view.theme.signs.unknown, view.theme.dim);
    }
    let alone = ClientIdentity { session: None, ..client.clone() };
    Cell::new(who(view, &alone, columns), client_style(view, client))
}

/// Clients that are no longer connected stand out.
pub fn client_style(view: View<'_>, client: &ClientIdentity) -> Style {
    view.data(if client.last_listed.is_some() { view.theme.wait } else { view.theme.text })
}

/// Returns the state of a session that is not live, or the time until it expires; `None` when the
/// session is live or its state is unknown.
pub fn lifetime(life: OwnerState, expires_in: Option<Duration>) -> Option<String> {
    match (life, expires_in) {
        (OwnerState::Live | OwnerState::Unknown, _) => None,
        (OwnerState::Expiring, Some(left)) => Some(format!("expiring {}", countdown(left))),
        (life, _) => Some(life.id().to_owned()),
    }
}

/// Returns the countdown of a contender's owner in `columns` columns. Where there is room, a bar
/// follows that shrinks with the time left. The timeout of a disconnected client is that of its
/// last connection.
pub fn countdown_of(
    view: View<'_>,
    session: Option<SessionId>,
    facts: &OwnerFacts<'_>,
    columns: usize,
) -> Option<String> {
    let text = match (facts.owner, facts.silence) {
        (OwnerState::Silent, Some(silence)) => {
            let whole = silent(silence.lasted(view.app.now()), silence.timeout);
            if width(&whole) <= columns { whole } else { whole.split(" of ").next().unwrap_or_default().to_owned() }
        }
        (OwnerState::Silent | OwnerState::Expiring, _) => lifetime(facts.owner, facts.expires_in)?,
        _ => return None,
    };
    let last = || {
        session.and_then(|session| view.app.world().table().clients().last_connection(session)?.connection.timeout())
    };
    let timeout = facts.silence.map(|silence| silence.timeout).or_else(last);
    let bar = facts.expires_in.zip(timeout).and_then(|(left, timeout)| drained(view, left, timeout, columns));
    let bar = bar.filter(|bar| width(&text) + 1 + width(bar) <= columns);
    Some(bar.map_or_else(|| text.clone(), |bar| format!("{text} {bar}")))
}

/// Returns a bar that is as full as the share of the time left; `None` where there is no room for
/// it.
fn drained(view: View<'_>, left: Duration, timeout: Duration, columns: usize) -> Option<String> {
    let [full, empty] = view.theme.signs.bar;
    let length = columns.saturating_sub(BEFORE_BAR).min(BAR.1);
    let cells = (left.as_millis() * length as u128).div_ceil(timeout.as_millis().max(1));
    let cells = usize::try_from(cells).unwrap_or(length).min(length);
    (length >= BAR.0).then(|| full.repeat(cells) + &empty.repeat(length - cells))
}

/// Returns the state of an owner and its style. Every state but `live` is marked.
pub fn life(view: View<'_>, owner: OwnerState, expires_in: Option<Duration>) -> (String, Style) {
    let theme = view.theme;
    match owner {
        OwnerState::Live => ("live".to_owned(), view.data(theme.good)),
        OwnerState::Unknown => (view.app.unheard().unwrap_or_else(|| theme.signs.unknown.to_owned()), theme.dim),
        OwnerState::Silent | OwnerState::Expiring | OwnerState::Ownerless => {
            (lifetime(owner, expires_in).unwrap_or_default(), view.data(theme.wait))
        }
        OwnerState::Ghost => (lifetime(owner, expires_in).unwrap_or_default(), view.data(theme.bad)),
    }
}

/// Returns the first text that fits, with the severity's sign if there is room for both.
fn first_that_fits(sign: &str, texts: &[String], columns: usize) -> Option<String> {
    let signed = texts.iter().flat_map(|text| [format!("{sign} {text}"), text.clone()]);
    signed.into_iter().find(|text| width(text) <= columns)
}

/// Names a finding in a word: its code, or its title where the code does not fit.
pub fn name_of(code: Code, sign: &str, columns: usize) -> String {
    let texts = [code.id(), code.title()].map(str::to_owned);
    first_that_fits(sign, &texts, columns).unwrap_or_else(|| code.title().to_owned())
}

/// Names a current finding in a word. An expiring holder is shown with the time left, a stuck lock
/// with the time since it last changed hands.
pub fn in_a_word(view: View<'_>, lock: &LockQueue, finding: &Finding, columns: usize) -> String {
    let muted = if finding.muted.is_some() { "muted " } else { "" };
    format!("{muted}{}", in_a_loud_word(view, lock, finding, columns.saturating_sub(muted.len())))
}

fn in_a_loud_word(view: View<'_>, lock: &LockQueue, finding: &Finding, columns: usize) -> String {
    let sign = view.theme.signs.severity(finding.severity);
    let texts = match finding.code {
        Code::ExpiringHolder | Code::SilentHolder => time_left(view, lock, columns.saturating_sub(width(sign) + 1)),
        Code::MayBeStuck => doubt(view, lock),
        _ if finding.is_standstill() => standstill(view, lock),
        _ => Vec::new(),
    };
    first_that_fits(sign, &texts, columns).unwrap_or_else(|| name_of(finding.code, sign, columns))
}

fn time_left(view: View<'_>, lock: &LockQueue, columns: usize) -> Vec<String> {
    let of = |row: ContenderRow<'_>| {
        let facts = view.app.world().table_at(view.app.now()).facts(lock, &row);
        countdown_of(view, row.contender.session(), &facts, columns)
    };
    lock.row(0).and_then(of).into_iter().collect()
}

/// Returns `stuck 13m42s, 2 wait` and shorter forms of it.
fn standstill(view: View<'_>, lock: &LockQueue) -> Vec<String> {
    let Some(standstill) = view.app.world().table_at(view.app.now()).standstill(lock) else { return Vec::new() };
    let Standstill { held, waiting, .. } = standstill;
    let held = format!("stuck {}", bounded(held.at_least, held.at_most, view.theme.signs.charset));
    let wait = if waiting == 1 { "waits" } else { "wait" };
    vec![format!("{held}, {} {wait}", count(waiting)), held, "stuck".to_owned()]
}

/// Returns `stuck? ≤13m42s, 2 wait` and shorter forms of it.
fn doubt(view: View<'_>, lock: &LockQueue) -> Vec<String> {
    let Some(standstill) = view.app.world().table_at(view.app.now()).standstill(lock) else { return Vec::new() };
    let held = format!("stuck? {}", bounded(Duration::ZERO, standstill.held.at_most, view.theme.signs.charset));
    let wait = if standstill.waiting == 1 { "waits" } else { "wait" };
    vec![format!("{held}, {} {wait}", count(standstill.waiting)), held, "stuck?".to_owned()]
}
