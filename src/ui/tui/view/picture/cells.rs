//! A fleet at full speed: each client a cell in a fixed place. The clients that the shown turn woke
//! are bright and fade, so a herd flashes as a whole and a chain moves one cell.
//!
//! ```text
//! │ turn 224  99 woken, 98 in vain    ││ turn 1 904  1 woken, 0 in vain    │
//! │ ██████████████●███████████████████ ││ · · · · · · · ● · · · · · · · · · │
//! │ 107 ▁▃▆█▇█▇█              1 400/s  ││ 1   ▁▁▁▁▁▁▁▁               127/s  │
//! ```
//!
//! The number is the watch events of a turn, in large digits where there is room. The strips of both
//! fleets have one scale.

use std::collections::BTreeSet;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use super::super::View;
use super::super::contend;
use super::{DIGITS_HEIGHT, GAP, digits_width, draw_digits, write};
use crate::tui::app::{FleetSide, FleetView, is_living};
use crate::tui::picture::{ClientCells, FADE_LEVELS};
use crate::tui::widget;
use crate::tui::widget::write::write_line;
use lockscope_lab::contend::{ClientId, ClientState, ClientStatus, FleetStatus, RATE_SECONDS};
use lockscope_model::text::human::{count, plural, rate, ratio};
use lockscope_model::text::{Charset, width};

/// The brightness of a woken client, from the brightest, in Unicode and in ASCII.
const BRIGHTNESS: [[&str; FADE_LEVELS as usize]; 2] = [["█", "▓", "▒", "░"], ["#", "%", "=", "+"]];

/// Minimum lines of an area for the number in large digits.
const LINES_FOR_DIGITS: u16 = 14;

/// Minimum columns of a cell that has its client's number.
const COLUMNS_FOR_LABEL: u16 = 4;

/// The sign of a cell. A cell of several clients shows the last of their signs in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CellSign {
    Sleeps,
    Woken,
    /// The client is frozen, crashed or failed.
    OutOfAction,
    Holds {
        is_woken: bool,
    },
}

/// Draws a fleet's turn, its cells and its number into the inside of its box.
pub fn draw(view: View<'_>, side: FleetSide, fleet: &FleetView, area: Rect, buffer: &mut Buffer) {
    let Some(status) = fleet.status().filter(|_| area.width > 4 && area.height > 2) else { return };
    let turn = turn(fleet, usize::from(area.width) - 2);
    write(view, &format!(" {turn}"), view.theme.text, Rect { height: 1, ..area }, buffer);
    let number = number_lines(area);
    draw_number(view, fleet, Rect { y: area.bottom() - number, height: number, ..area }, buffer);
    draw_cells(view, side, fleet, status, cells_area(area), buffer);
}

fn number_lines(area: Rect) -> u16 {
    if area.height >= LINES_FOR_DIGITS { DIGITS_HEIGHT } else { 1 }
}

/// Returns where the cells stand, between the turn and the number.
fn cells_area(area: Rect) -> Rect {
    let gap = u16::from(area.height >= LINES_FOR_DIGITS);
    let used = 1 + number_lines(area) + 2 * gap;
    let height = area.height.saturating_sub(used);
    Rect { x: area.x + 1, y: area.y + 1 + gap, width: area.width.saturating_sub(2), height }
}

/// Returns the legend of the cells in this inside of a box, as much as fits into `room` columns.
pub fn legend(view: View<'_>, fleet: &FleetView, area: Rect, room: usize) -> String {
    let signs = &view.theme.signs;
    let [bright, ..] = BRIGHTNESS[usize::from(signs.charset == Charset::Ascii)];
    let area = cells_area(area);
    let each = match ClientCells::of(fleet.clients().len(), (area.width, area.height)).clients_each {
        1 => String::new(),
        many => format!("a cell: {many} clients  "),
    };
    let words = format!("{bright} woken  {} holds  {} sleeps", signs.holds, signs.dot);
    let texts = [format!("{each}{words}  shows two turns a second"), format!("{each}{words}"), each];
    texts.into_iter().find(|text| width(text) <= room).unwrap_or_default().trim_end().to_owned()
}

/// Returns the number of the shown turn and what it cost, as much as fits.
fn turn(fleet: &FleetView, room: usize) -> String {
    let Some(turn) = fleet.turn.turn() else { return "no turn yet".to_owned() };
    let woken = format!("{} woken", count(turn.woken.len()));
    let cost = format!("{woken}, {} in vain", count(turn.in_vain()));
    let events = plural(turn.events, "watch event", "watch events");
    let whole = format!("turn {}  {events}: {cost}", count(turn.number));
    let texts = [whole, format!("turn {}  {cost}", count(turn.number)), cost, woken];
    texts.into_iter().find(|text| width(text) <= room).unwrap_or_default()
}

/// Draws the watch events of a turn, and those of the last seconds as a strip.
fn draw_number(view: View<'_>, fleet: &FleetView, area: Rect, buffer: &mut Buffer) {
    let theme = view.theme;
    let number = events_a_turn(fleet).map_or_else(|| "-".to_owned(), short);
    let style = contend::style_of(view, fleet);
    let per_second = fleet.rates.events().map_or_else(String::new, |events| format!("{}/s", rate(events)));
    let strip = |columns: usize| {
        let highest = view.app.fleets().each().map(|(_, fleet)| fleet.rates.highest()).max().unwrap_or(0);
        widget::sparkline(&fleet.rates.seconds(), columns.min(RATE_SECONDS), highest, &theme.signs.levels)
    };
    if area.height < DIGITS_HEIGHT || digits_width(&number) + 2 > area.width {
        let used = width(&number) + width(&per_second) + 12;
        let strip = strip(usize::from(area.width).saturating_sub(used));
        let spans = vec![
            Span::styled(format!(" {number} "), style),
            Span::styled("a turn ", theme.dim),
            Span::styled(strip, style),
            Span::styled(format!(" {per_second}"), theme.strong),
        ];
        return write_line(spans, Rect { height: 1, ..area }, buffer);
    }
    let digits = Rect { x: area.x + 1, width: area.width - 1, ..area };
    draw_digits(&number, style, theme.signs.charset, digits, buffer);
    let left = 1 + digits_width(&number) + GAP;
    let beside = Rect { x: area.x + left, width: area.width.saturating_sub(left + 1), height: 1, ..area };
    let turns = fleet.rates.acquisitions().map_or_else(String::new, |turns| format!("{} turns/s", rate(turns)));
    let room = usize::from(beside.width);
    let first =
        |texts: &[&str]| texts.iter().find(|text| width(text) <= room).map_or_else(String::new, ToString::to_string);
    let lines = [
        (first(&["watch events a turn", "events a turn", "a turn"]), theme.strong),
        (String::new(), theme.text),
        (strip(room), style),
        (first(&[&format!("{per_second} events"), &per_second]), theme.strong),
        (first(&[&turns]), theme.dim),
    ];
    for ((text, style), y) in lines.into_iter().zip(area.top()..) {
        write(view, &text, style, Rect { y, ..beside }, buffer);
    }
}

/// Returns the watch events for each acquisition of the last seconds.
fn events_a_turn(fleet: &FleetView) -> Option<f64> {
    let (events, turns) = (fleet.rates.events()?, fleet.rates.acquisitions()?);
    (turns > 0.0).then(|| events / turns)
}

/// Formats a number, with a decimal only below 10 and only where it is not 0.
fn short(number: f64) -> String {
    if number < 9.95 { ratio(number).trim_end_matches(".0").to_owned() } else { format!("{number:.0}") }
}

fn draw_cells(
    view: View<'_>,
    side: FleetSide,
    fleet: &FleetView,
    status: &FleetStatus,
    area: Rect,
    buffer: &mut Buffer,
) {
    let (clients, none) = (&status.clients, BTreeSet::new());
    if clients.is_empty() || area.is_empty() {
        return;
    }
    let woken = fleet.turn.turn().map_or(&none, |turn| &turn.woken);
    let holder = fleet.turn.turn().map(|turn| turn.holder);
    let selected = (view.app.side() == side).then(|| view.app.selected_client()).flatten().map(|client| client.id);
    let cells = ClientCells::of(clients.len(), (area.width, area.height));
    // Both are in the order of the ids, so that a thousand clients need no search each.
    let mut woken = woken.iter().peekable();
    let mut is_woken = |id: ClientId| {
        while woken.next_if(|before| **before < id).is_some() {}
        woken.peek() == Some(&&id)
    };
    for (at, shared) in clients.chunks(cells.clients_each).enumerate() {
        let shown =
            shared.iter().map(|client| sign(client, holder, is_woken(client.id))).max().unwrap_or(CellSign::Sleeps);
        let (x, y) = cells.place(at);
        let place = Rect { x: area.x + x, y: area.y + y, width: cells.size.drawn.0, height: cells.size.drawn.1 };
        draw_cell(view, shown, fleet.turn.level(), place.intersection(area), buffer);
        if let Some(client) = shared.first().filter(|_| cells.size.drawn.0 >= COLUMNS_FOR_LABEL) {
            let label = Rect { y: place.bottom().saturating_sub(1), height: 1, ..place }.intersection(area);
            let name = if label.width > 10 { client.id.name() } else { client.id.to_string() };
            write(view, &name, view.theme.text, label, buffer);
        }
        if selected.is_some_and(|id| shared.iter().any(|client| client.id == id)) {
            buffer.set_style(place.intersection(area), view.theme.selected);
        }
    }
}

fn sign(client: &ClientStatus, holder: Option<ClientId>, is_woken: bool) -> CellSign {
    match client.state {
        _ if client.frozen || !is_living(client) => CellSign::OutOfAction,
        ClientState::Done | ClientState::Leaving | ClientState::Connecting => CellSign::Sleeps,
        _ if holder == Some(client.id) => CellSign::Holds { is_woken },
        _ if is_woken => CellSign::Woken,
        _ => CellSign::Sleeps,
    }
}

fn draw_cell(view: View<'_>, shown: CellSign, level: u8, area: Rect, buffer: &mut Buffer) {
    let theme = view.theme;
    let brightness = BRIGHTNESS[usize::from(theme.signs.charset == Charset::Ascii)];
    let bright = brightness[usize::from(level.min(FADE_LEVELS - 1))];
    let mut fill = |symbol: &str, style: Style| {
        for place in area.positions() {
            buffer[place].set_symbol(symbol).set_style(style);
        }
    };
    let (sign, style) = match shown {
        CellSign::Sleeps => (theme.signs.dot, theme.dim),
        CellSign::Woken => return fill(bright, theme.wait),
        CellSign::OutOfAction => (theme.signs.bad, theme.bad),
        CellSign::Holds { is_woken } => {
            if is_woken && area.width > 1 {
                fill(bright, theme.good);
            }
            (theme.signs.holds, theme.good)
        }
    };
    let middle = (area.x + (area.width.saturating_sub(1)) / 2, area.y + (area.height.saturating_sub(1)) / 2);
    if area.contains(middle.into()) {
        buffer[middle].set_symbol(sign).set_style(style);
    }
}
