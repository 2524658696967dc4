//! A queue as a picture: its rows, each with its sign and its words, the lines from each row to the
//! nodes it watches, and the events that travel along these lines.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use super::super::View;
use super::super::list::lifetime;
use crate::tui::picture::{
    Flight, FlightDirection, FlightPlace, Grid, GridRow, LineCell, LineState, NodeEnd, PictureRow, QueuePicture,
    RequestFlight, RowId, RowState, RowTrouble, WakeEffect,
};
use crate::tui::widget::write::write_line;
use lockscope_base::znode::Timestamp;
use lockscope_lab::contend::RequestKind;
use lockscope_lock::Access;
use lockscope_model::text::human::{count, countdown};
use lockscope_model::text::{Charset, Keep, width};

/// A queue to draw, with everything in flight.
pub struct DrawnQueue<'a> {
    pub picture: &'a QueuePicture,
    /// The watch events in flight, and the requests of the woken clients.
    pub flying: &'a [Flight],
    pub requests: &'a [RequestFlight],
    pub now: Timestamp,
    pub selected: Option<RowId>,
    /// Lines of the screen from one row to the next.
    pub spacing: u16,
}

/// Draws a queue. The first column is for the sign of the selection.
pub fn draw(view: View<'_>, shown: &DrawnQueue<'_>, area: Rect, buffer: &mut Buffer) {
    if area.width < 12 || area.height == 0 {
        return;
    }
    let inner = Rect { x: area.x + 1, width: area.width - 1, ..area };
    let grid = Grid::of(shown.picture, (inner.width, inner.height), shown.spacing);
    draw_lines(view, &grid, inner, buffer);
    for row in &grid.rows {
        draw_row(view, shown, &grid, row, inner, buffer);
        if Some(row.id) == shown.selected {
            let cursor = Rect { x: area.x, y: area.y + row.y, width: 1, height: 1 }.intersection(area);
            buffer.set_stringn(cursor.x, cursor.y, view.theme.signs.cursor, 1, view.theme.strong);
        }
    }
    let charset = view.theme.signs.charset;
    for place in grid.request_places(shown.picture, shown.requests, shown.now) {
        draw_flight(&place, arrow(REQUEST_ARROWS, place.direction, charset), view.theme.accent, inner, buffer);
    }
    for place in grid.flight_places(shown.picture, shown.flying, shown.now) {
        draw_flight(&place, arrow(EVENT_ARROWS, place.direction, charset), view.theme.mark, inner, buffer);
    }
}

fn draw_flight(place: &FlightPlace, symbol: &str, style: Style, area: Rect, buffer: &mut Buffer) {
    let cell = (area.x + place.x, area.y + place.y);
    if area.contains(cell.into()) {
        buffer[cell].set_symbol(symbol).set_style(style);
    }
}

fn draw_lines(view: View<'_>, grid: &Grid<'_>, area: Rect, buffer: &mut Buffer) {
    for ((x, y), cell) in &grid.lines {
        let place = (area.x + x, area.y + y);
        if area.contains(place.into()) {
            let style = if cell.state == Some(LineState::Standing) { view.theme.text } else { view.theme.dim };
            buffer[place].set_symbol(line_symbol(*cell, view.theme.signs.charset)).set_style(style);
        }
    }
}

fn draw_row(
    view: View<'_>,
    shown: &DrawnQueue<'_>,
    grid: &Grid<'_>,
    row: &GridRow<'_>,
    area: Rect,
    buffer: &mut Buffer,
) {
    let theme = view.theme;
    let place = Rect { x: area.x + row.x, y: area.y + row.y, width: area.width.saturating_sub(row.x), height: 1 };
    let place = place.intersection(area);
    let room = usize::from(place.width);
    let Some(shown_row) = row.row else {
        let text = many(shown, grid, row.id);
        write_line(Span::styled(view.fit(&text, room, Keep::Start), theme.dim), place, buffer);
        return;
    };
    let (sign, style) = sign(view, shown_row);
    let strong = if matches!(shown_row.state, RowState::Gone(_)) { theme.dim } else { theme.strong };
    let mut texts = vec![(format!("{sign} "), style)];
    texts.extend(letter(view, shown_row).map(|(letter, style)| (format!("{letter} "), style)));
    let used: usize = texts.iter().map(|(text, _)| width(text)).sum();
    let name = view.fit(&shown_row.name, room.saturating_sub(used + 1), Keep::End);
    let gap = usize::from(grid.words.saturating_sub(row.x)).saturating_sub(used + width(&name)).max(1);
    let gap = if shown_row.state == RowState::Parent { 2 } else { gap };
    let mut room = room.saturating_sub(used + width(&name) + gap);
    texts.extend([(name, strong), (" ".repeat(gap), theme.text)]);
    for (at, (text, style)) in said(view, grid, row, shown_row).into_iter().enumerate() {
        let needs = width(&text) + if at == 0 { 0 } else { 2 };
        if needs > room && at > 0 {
            break;
        }
        let text = view.fit(&text, room, Keep::Start);
        texts.push((if at == 0 { text } else { format!(", {text}") }, style));
        room = room.saturating_sub(needs);
    }
    let spans: Vec<Span<'_>> = texts.into_iter().map(|(text, style)| Span::styled(text, style)).collect();
    write_line(spans, place, buffer);
}

/// Returns the texts of a row. They name a watched client only where no line leads to it.
fn said(view: View<'_>, grid: &Grid<'_>, row: &GridRow<'_>, shown_row: &PictureRow) -> Vec<(String, Style)> {
    let mut said = words(view, shown_row);
    for line in shown_row.lines.iter().filter(|line| line.state == LineState::Standing) {
        let RowId::Client(number) = line.to else { continue };
        let target = grid.rows.iter().find(|other| other.id == line.to).and_then(|other| other.row);
        let name = target.and_then(|target| target.name.split(' ').next());
        let name = name.map_or_else(|| number.to_string(), str::to_owned);
        if !grid.has_line(row, line.to) {
            said.push((format!("watches {name}"), view.theme.dim));
        }
    }
    said
}

/// Describes the clients that have no row of their own.
fn many(shown: &DrawnQueue<'_>, grid: &Grid<'_>, id: RowId) -> String {
    if id == RowId::More {
        let has_row = |flight: &&Flight| {
            let number = u64::from(flight.to.0);
            grid.rows.iter().any(|row| row.id == RowId::Client(number) || row.id == RowId::Gone(number))
        };
        let woken = shown.flying.iter().filter(|flight| !has_row(flight)).count();
        let woken = if woken > 0 { format!(", {} woken now", count(woken)) } else { String::new() };
        return format!("{} not shown{woken}", count(grid.hidden));
    }
    let names = shown.picture.outside.join(", ");
    format!("not in the queue: client-{names}")
}

/// The arrows up, right, down and left, in Unicode and in ASCII. Those of events are filled, and
/// those of requests hollow.
const EVENT_ARROWS: [[&str; 4]; 2] = [["▲", "▶", "▼", "◀"], ["^", ">", "v", "<"]];

const REQUEST_ARROWS: [[&str; 4]; 2] = [["△", "▷", "▽", "◁"], ["?"; 4]];

fn arrow(arrows: [[&'static str; 4]; 2], direction: FlightDirection, charset: Charset) -> &'static str {
    let [unicode, ascii] = arrows;
    (if charset == Charset::Ascii { ascii } else { unicode })[direction as usize]
}

/// Returns the legend of the arrows, from the longest form to the shortest.
pub fn legends(charset: Charset) -> [&'static str; 3] {
    match charset {
        Charset::Ascii => ["> watch event  ? request of a woken client", "> event  ? request", "? request"],
        Charset::Unicode => ["▶ watch event  ▷ request of a woken client", "▶ event  ▷ request", "▷ request"],
    }
}

/// Returns the symbol of a cell that lines cross. Unknown lines are dotted.
fn line_symbol(cell: LineCell, charset: Charset) -> &'static str {
    let (horizontal, vertical) = (cell.left || cell.right, cell.up || cell.down);
    let is_straight = !(horizontal && vertical);
    match (charset, cell.state == Some(LineState::Unknown)) {
        (Charset::Ascii, true) if is_straight => return if horizontal { "." } else { ":" },
        (Charset::Ascii, false) if is_straight => return if horizontal { "-" } else { "|" },
        (Charset::Ascii, _) => return if cell.down { "|" } else { "`" },
        (_, true) if is_straight => return if vertical { "┆" } else { "┄" },
        (_, false) if is_straight => return if vertical { "│" } else { "─" },
        _ => {}
    }
    match (cell.up, cell.right, cell.down, cell.left) {
        (true, true, false, false) => "╰",
        (true, true, true, false) => "├",
        (true, true, false, true) => "┴",
        (true, true, true, true) => "┼",
        (false, true, true, false) => "╭",
        (false, true, true, true) => "┬",
        (true, false, true, true) => "┤",
        (true, false, false, true) => "╯",
        _ => "╮",
    }
}

/// Returns the sign of a row.
pub fn sign(view: View<'_>, row: &PictureRow) -> (&'static str, Style) {
    let (theme, signs) = (view.theme, &view.theme.signs);
    match row.state {
        RowState::Parent => (signs.tag, theme.accent),
        RowState::Holds => (signs.holds, theme.good),
        RowState::ThinksItHolds => (signs.warning, theme.bad),
        RowState::Waits => (signs.waits, theme.wait),
        RowState::Gone(_) => (signs.nothing, theme.dim),
        RowState::Unknown => (signs.unknown, theme.unsure),
    }
}

/// Returns the letter that marks a reader or a writer of a shared lock.
pub fn letter(view: View<'_>, row: &PictureRow) -> Option<(&'static str, Style)> {
    match row.access? {
        Access::Read => Some(("R", view.theme.accent)),
        Access::Write => Some(("W", view.theme.wait)),
        _ => None,
    }
}

/// Returns the words of a row, the most important first.
pub fn words(view: View<'_>, row: &PictureRow) -> Vec<(String, Style)> {
    let theme = view.theme;
    let mut words: Vec<(String, Style)> = row.troubles.iter().map(|trouble| say_trouble(view, *trouble)).collect();
    let say = |text: &str, style: Style| (text.to_owned(), style);
    let state = match (row.state, row.effect) {
        (RowState::Parent, _) => say("the parent", theme.dim),
        (RowState::Gone(NodeEnd::Released), _) => say("released", theme.dim),
        (RowState::Gone(NodeEnd::SessionEnded), _) => say("session ended", theme.bad),
        (RowState::ThinksItHolds, _) => say("thinks it holds", theme.bad),
        (RowState::Holds, Some(WakeEffect::GetsIt)) => say("gets it", theme.good),
        (RowState::Holds, _) => say("holds", theme.good),
        (RowState::Unknown, _) => say("unknown", theme.unsure),
        (RowState::Waits, Some(effect)) => say_effect(view, effect),
        (RowState::Waits, None) => say("waits", theme.dim),
    };
    if row.state == RowState::ThinksItHolds {
        words.insert(0, state);
    } else {
        words.push(state);
    }
    words.extend(row.token.map(|token| (format!("token {token}"), theme.dim)));
    words
}

fn say_effect(view: View<'_>, effect: WakeEffect) -> (String, Style) {
    let theme = view.theme;
    let (text, style) = match effect {
        WakeEffect::IsWoken => ("is woken", theme.wait),
        WakeEffect::Woken => ("woken", theme.wait),
        WakeEffect::Asks(RequestKind::List) => ("lists", theme.wait),
        WakeEffect::Asks(RequestKind::Create) => ("tries to create", theme.wait),
        WakeEffect::Asks(_) => ("reads", theme.wait),
        WakeEffect::GetsIt => ("gets it", theme.good),
        WakeEffect::InVain => ("woken in vain", theme.wait),
        WakeEffect::SleepsOn => ("sleeps on", theme.dim),
    };
    (text.to_owned(), style)
}

fn say_trouble(view: View<'_>, trouble: RowTrouble) -> (String, Style) {
    let text = match trouble {
        RowTrouble::Frozen => "frozen".to_owned(),
        RowTrouble::Crashed { expires_in } if expires_in.is_zero() => "crashed".to_owned(),
        RowTrouble::Crashed { expires_in } => format!("crashed, {} left", countdown(expires_in)),
        RowTrouble::Cut => "link cut".to_owned(),
        RowTrouble::NodeGone => "node gone".to_owned(),
        RowTrouble::WriteRefused => "write refused".to_owned(),
        RowTrouble::WatchesNothing => "watches nothing".to_owned(),
        RowTrouble::Owner { state, expires_in } => lifetime(state, expires_in).unwrap_or_default(),
    };
    (text, view.theme.bad)
}
