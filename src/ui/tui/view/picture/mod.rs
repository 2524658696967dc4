//! The queues as pictures of who wakes whom: each fleet's queue, side by side.
//!
//! ```text
//!  one step each 2 s                            the herd: 27x the watch events of the chain
//! ┌ herd ── 8 clients ──────── 14s ┐┌ chain ── 8 clients ─────── 14s ┐
//! │            woken in vain  reqs ││            woken in vain  reqs │
//! │ this step      4       3     5 ││ this step      1       0     1 │
//! │ ◆ herd                         ││ ● client-5  gets it            │
//! │ ├─● client-5  gets it          ││ ╰─○ client-6  sleeps on        │
//! │ ╰─○ client-6  woken in vain    ││   ╰─○ client-7  sleeps on      │
//! ```
//!
//! - The line above both queues has the speed, and the ratio of their watch events. With enough
//!   room, the ratio has large digits, readable from the back of a room, beside the events of each
//!   side since the start: each digit is three blocks wide and five high; a block has two columns.
//! - The figures of a side, in the last step and since the start: clients woken, clients woken in
//!   vain, and requests.
//! - The resource that the lock protects, as a box: the accepted write with the highest fencing
//!   token, and the last refused write.
//!
//! ```text
//! ┌ resource ───────── 9 writes, 1 refused ┐
//! │ ✓ token 44 from client-3: taken        │
//! │ ✖ token 41 from client-2: refused      │
//! └────────────────────────────────────────┘
//! ```

mod believers;
mod cells;
mod rows;

use ratatui::buffer::Buffer;
use ratatui::layout::{Margin, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use self::believers::Believers;
use self::rows::DrawnQueue;
use super::list::who_is;
use super::{View, contend, list};
use crate::tui::app::{FleetSide, FleetView, Phase, QueueList};
use crate::tui::picture::{ReplayGap, RowId, WakeCounts};
use crate::tui::widget::write::write_line;
use crate::tui::widget::{Bottom, Panel};
use lockscope_lab::contend::{ClientId, FleetStatus, NextStep, ResourceStatus, Speed};
use lockscope_model::queue::LockQueue;
use lockscope_model::text::human::{count, plural, rate, ratio};
use lockscope_model::text::{Charset, Keep, width};

/// Minimum lines of the area for the ratio in large digits.
const LINES_FOR_LARGE_RATIO: u16 = 34;

/// Columns of a client's address and its session.
const CLIENT_WIDTH: usize = 32;

/// Draws both fleets, or the only one.
pub fn draw_fleets(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let fleets = view.app.fleets();
    let large = view.app.slow_motion().is_large || area.height >= LINES_FOR_LARGE_RATIO;
    let shows_cells = fleets.each().all(|(_, fleet)| shows_cells(view, fleet));
    let large_ratio = large && !shows_cells && fleets.is_pair() && area.height > LARGE_RATIO_HEIGHT + 10;
    let gap = u16::from(area.height >= LINES_FOR_LARGE_RATIO);
    let strip = if large_ratio { LARGE_RATIO_HEIGHT + gap } else { 1 };
    draw_ratio(view, Rect { height: strip.min(area.height), ..area }, large_ratio, buffer);
    let area = Rect { y: area.y + strip.min(area.height), height: area.height.saturating_sub(strip), ..area };
    let places = contend::places(fleets, area);
    for (side, fleet) in fleets.each() {
        draw_side(view, side, fleet, places[side as usize], buffer);
    }
}

/// Draws the queue of the open lock in place of its list, whatever clients are in it.
pub fn draw_queue(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let app = view.app;
    let panel = list::panel(&QueueList, view, app.world().open_lock().map_or(0, LockQueue::len));
    let inner = panel.draw(area, buffer, view.theme);
    let mut picture = QueueList::picture(app, usize::from(inner.height) + 1);
    for row in &mut picture.rows {
        let session = QueueList::session_in_picture(app, row.id);
        let room = (usize::from(inner.width) / 3).min(CLIENT_WIDTH);
        if let Some(session) = session.filter(|_| matches!(row.id, RowId::Client(_))) {
            let who = who_is(view, session, room);
            let number = if row.name == session.to_string() { String::new() } else { format!("{} ", row.name) };
            row.name = format!("{number}{who}");
        }
    }
    let shown = DrawnQueue {
        picture: &picture,
        flying: &[],
        requests: &[],
        now: app.now(),
        selected: QueueList::selected_in_picture(app),
        spacing: if app.slow_motion().is_large { 2 } else { 1 },
    };
    rows::draw(view, &shown, inner, buffer);
}

fn draw_side(view: View<'_>, side: FleetSide, fleet: &FleetView, area: Rect, buffer: &mut Buffer) {
    let theme = view.theme;
    let panel = contend::panel(view, side, fleet, area.width);
    let bottom = bottom(view, fleet, area);
    let bottom_right = legend(view, fleet, bottom.as_ref(), area.width);
    let bottom = bottom.map(|(text, style)| Bottom::new(text, style));
    let inner = Panel { bottom, bottom_right, ..panel }.draw(area, buffer, theme);
    let Some(status) = fleet.status().filter(|_| !matches!(fleet.phase, Phase::Ended(_) | Phase::Failed(_))) else {
        let why = match &fleet.phase {
            Phase::Failed(why) => format!("{why}."),
            Phase::Ended(_) => "The test clients are gone.".to_owned(),
            Phase::Running | Phase::Stopping => "The clients connect.".to_owned(),
        };
        view.placeholder(&[why], inner, buffer);
        return;
    };
    if shows_cells(view, fleet) {
        let refused = status.resource.rejected > 0;
        let used = if refused { draw_resource(view, &status.resource, 0, inner, buffer) } else { 0 };
        let room = Rect { height: inner.height.saturating_sub(used), ..inner };
        return cells::draw(view, side, fleet, room, buffer);
    }
    let picture = fleet.replay.picture();
    let rows = picture.rows.len() + picture.hidden + usize::from(picture.outside_count > 0);
    let believers = Believers::of(fleet).map_or(0, |believers| believers.draw(view, inner, buffer));
    let mut room = Rect { y: inner.y + believers, height: inner.height - believers, ..inner };
    if believers == 0 || usize::from(room.height) > rows + LINES_OF_FIGURES {
        let used = draw_figures(view, fleet, status, room, buffer);
        (room.y, room.height) = (room.y + used, room.height.saturating_sub(used));
    }
    if believers == 0 {
        room.height -= draw_resource(view, &status.resource, rows, room, buffer);
    }
    let spacing = if view.app.slow_motion().is_large && usize::from(room.height) >= 2 * rows { 2 } else { 1 };
    let selected = (view.app.side() == side).then(|| view.app.selected_client()).flatten();
    let shown = DrawnQueue {
        picture,
        flying: fleet.replay.flying(),
        requests: fleet.replay.requests(),
        now: view.app.now(),
        selected: selected.map(|client| RowId::Client(u64::from(client.id.0))),
        spacing,
    };
    rows::draw(view, &shown, room, buffer);
}

/// Returns whether the clients are cells: not while they are about to be slowed down.
fn shows_cells(view: View<'_>, fleet: &FleetView) -> bool {
    fleet.shows_cells() && !view.app.slow_motion().holds()
}

/// Returns the next step, or the part that the picture skipped.
fn bottom(view: View<'_>, fleet: &FleetView, area: Rect) -> Option<(String, Style)> {
    let status = fleet.status()?;
    let room = usize::from(area.width).saturating_sub(6);
    if shows_cells(view, fleet) {
        return Some((cells::legend(view, fleet, area.inner(Margin::new(1, 1)), room), view.theme.dim));
    }
    let (text, style) = match fleet.replay.gap() {
        Some(ReplayGap::NotRecorded(entries)) => {
            (format!("{} entries were not recorded: drawn again", count(entries)), view.theme.wait)
        }
        Some(ReplayGap::TooFast(events)) => {
            (format!("{} events came too fast to be drawn", count(events)), view.theme.wait)
        }
        None => (next_step(status)?, view.theme.dim),
    };
    Some((view.fit(&text, room, Keep::Start), style))
}

/// Returns the legend of the arrows, as far as it fits beside the text of the bottom line.
fn legend(
    view: View<'_>,
    fleet: &FleetView,
    bottom: Option<&(String, Style)>,
    columns: u16,
) -> Option<(String, Style)> {
    fleet.status().filter(|status| status.stepped)?;
    let used = bottom.map_or(0, |(text, _)| width(text) + 2);
    let room = usize::from(columns).saturating_sub(used + 6);
    let legend = rows::legends(view.theme.signs.charset).into_iter().find(|text| width(text) <= room)?;
    Some((legend.to_owned(), view.theme.dim))
}

fn next_step(status: &FleetStatus) -> Option<String> {
    let (client, step) = status.next_step?;
    Some(match step {
        NextStep::Release => format!("next step: {} releases", client.name()),
        NextStep::Ask => format!("next step: {} asks again", client.name()),
    })
}

/// Writes a text in one style at the left of a line.
fn write(view: View<'_>, text: &str, style: Style, area: Rect, buffer: &mut Buffer) {
    let text = view.fit(text, usize::from(area.width), Keep::Start);
    write_line(Span::styled(text, style), area, buffer);
}

/// Lines of the figures, with their border.
const LINES_OF_FIGURES: usize = 4;

/// Minimum lines of the area for a border below the figures.
const MIN_HEIGHT_WITH_BORDER: u16 = 16;

/// Columns of a line's label, and of each figure.
const LABEL_WIDTH: usize = 9;

const FIGURE_WIDTH: usize = 8;

/// Draws the figures into the first lines of an area. Returns how many lines they take.
pub fn draw_figures(view: View<'_>, fleet: &FleetView, status: &FleetStatus, area: Rect, buffer: &mut Buffer) -> u16 {
    let theme = view.theme;
    let room = (usize::from(area.width).saturating_sub(LABEL_WIDTH + 1) / 3).min(FIGURE_WIDTH + 4);
    let line = |label: &str, figures: [String; 3]| {
        let [woken, in_vain, requests] = figures;
        format!(" {label:LABEL_WIDTH$}{woken:>room$}{in_vain:>room$}{requests:>room$}")
    };
    let plain = |counts: WakeCounts| [counts.woken, counts.in_vain, counts.requests].map(count);
    let now = if status.stepped {
        line("this step", plain(fleet.replay.step_counts()))
    } else {
        let rates = fleet.wake_rates.per_second();
        line("a second", rates.map_or_else(|| ["-"; 3].map(str::to_owned), |rates| rates.map(rate)))
    };
    let titles = if room > FIGURE_WIDTH { ["woken", "in vain", "requests"] } else { ["woken", "vain", "reqs"] };
    let lines = [
        (line("", titles.map(str::to_owned)), theme.title),
        (now, theme.strong),
        (line("all", plain(fleet.replay.total_counts())), theme.text),
    ];
    let mut used = 0;
    for (text, style) in lines {
        if used + 6 > area.height {
            break;
        }
        write(view, &text, style, Rect { y: area.y + used, height: 1, ..area }, buffer);
        used += 1;
    }
    let across = theme.signs.border.horizontal_top.repeat(usize::from(area.width));
    if used + 1 < area.height && area.height >= MIN_HEIGHT_WITH_BORDER {
        write_line(Span::styled(across, theme.border), Rect { y: area.y + used, height: 1, ..area }, buffer);
        used += 1;
    }
    used
}

/// Lines of the ratio in large digits.
pub const LARGE_RATIO_HEIGHT: u16 = DIGITS_HEIGHT + 1;

/// Columns between the digits and the text beside them.
const GAP: u16 = 3;

/// The watch events of both sides for each hand-over, and the larger count over the smaller one.
struct EventRatio<'a> {
    times: f64,
    more: (&'a FleetView, u64),
    less: (&'a FleetView, u64),
}

pub fn draw_ratio(view: View<'_>, area: Rect, large: bool, buffer: &mut Buffer) {
    let theme = view.theme;
    let comparison = compare(view);
    let first = Rect { height: 1, ..area };
    let speed = speed(view);
    let room = usize::from(area.width).saturating_sub(width(&speed) + 6);
    if let Some(comparison) = comparison.as_ref().filter(|_| !large) {
        let names = sentence(comparison);
        let times = times(comparison.times);
        if width(&times) + 1 < room {
            let room = room.saturating_sub(width(&times) + 1);
            let names = if width(&names) <= room { names } else { view.fit("the events", room, Keep::Start) };
            let line = vec![Span::styled(times, theme.mark), Span::styled(format!(" {names} "), theme.text)];
            write_line(Line::from(line).right_aligned(), first, buffer);
        }
    }
    let style = if view.app.slow_motion().is_stopped { theme.wait } else { theme.strong };
    write_line(Span::styled(format!(" {speed}"), style), first, buffer);
    if large {
        draw_large(
            view,
            comparison.as_ref(),
            Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area },
            buffer,
        );
    }
}

fn draw_large(view: View<'_>, comparison: Option<&EventRatio<'_>>, area: Rect, buffer: &mut Buffer) {
    let theme = view.theme;
    let number = comparison.map_or_else(|| "-".to_owned(), |comparison| times(comparison.times));
    let place = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    draw_digits(&number, theme.wait, theme.signs.charset, place, buffer);
    let left = digits_width(&number) + GAP;
    let beside = Rect { x: place.x + left, width: place.width.saturating_sub(left), height: 1, ..place };
    let Some(comparison) = comparison.filter(|_| beside.width > 20) else { return };
    let room = usize::from(beside.width);
    let line = |at: u16| Rect { y: place.y + at, ..beside };
    write_line(Span::styled(view.fit(&sentence(comparison), room, Keep::Start), theme.strong), line(0), buffer);
    let why = "per acquisition. Clients woken so far:";
    write_line(Span::styled(view.fit(why, room, Keep::Start), theme.dim), line(1), buffer);
    let names = [comparison.more, comparison.less].map(|(fleet, _)| fleet.scenario.algorithm.name());
    let longest = names.iter().map(|name| name.len()).max().unwrap_or(0);
    let rows = [(comparison.more, theme.wait), (comparison.less, theme.good)];
    for (at, ((fleet, woken), style)) in (2_u16..).zip(rows) {
        let name = fleet.scenario.algorithm.name();
        let figure = count(woken);
        let bar = room.saturating_sub(longest + width(&figure) + 2);
        let full = filled(bar.min(60), woken, comparison.more.1.max(comparison.less.1));
        let spans = vec![
            Span::styled(format!("{name:longest$} "), theme.text),
            Span::styled(view.theme.signs.bar[0].repeat(full), style),
            Span::styled(format!(" {figure}"), theme.strong),
        ];
        write_line(spans, line(at), buffer);
    }
}

/// Returns the filled cells of a bar: at least one unless the part is zero.
fn filled(cells: usize, part: u64, most: u64) -> usize {
    let share = u128::from(part) * cells as u128 / u128::from(most.max(1));
    usize::try_from(share).unwrap_or(cells).max(usize::from(part > 0)).min(cells)
}

/// Formats the ratio, with decimals only below 10.
fn times(times: f64) -> String {
    if times < 10.0 { format!("{}x", ratio(times)) } else { format!("{times:.0}x") }
}

fn sentence(comparison: &EventRatio<'_>) -> String {
    let name = |fleet: &FleetView| fleet.scenario.algorithm.name();
    format!("the watch events: {} / {}", name(comparison.more.0), name(comparison.less.0))
}

fn compare(view: View<'_>) -> Option<EventRatio<'_>> {
    let fleets = view.app.fleets();
    let side = |side| {
        let fleet = fleets.fleet(side)?;
        let woken = fleet.replay.total_counts().woken;
        let acquisitions = fleet.status()?.totals.acquisitions;
        #[expect(clippy::cast_precision_loss, reason = "a ratio is rounded anyway")]
        let each = woken as f64 / acquisitions as f64;
        (woken > 0 && acquisitions > 0).then_some((fleet, woken, each))
    };
    let (left, right) = (side(FleetSide::Left)?, side(FleetSide::Right)?);
    let (more, less) = if left.2 >= right.2 { (left, right) } else { (right, left) };
    Some(EventRatio { times: more.2 / less.2, more: (more.0, more.1), less: (less.0, less.1) })
}

fn speed(view: View<'_>) -> String {
    let motion = view.app.slow_motion();
    match (motion.is_stopped, motion.speed) {
        (true, _) => "stopped".to_owned(),
        (false, _) if motion.is_idle => "slow: nobody looks".to_owned(),
        (false, Speed::Full) => "full speed".to_owned(),
        (false, speed) => format!("slow motion: {}", speed.title()),
    }
}

/// Lines of a number.
pub const DIGITS_HEIGHT: u16 = 5;

/// Columns of a block.
const BLOCK_WIDTH: u16 = 2;

/// Columns of a digit, with the gap after it.
const DIGIT_WIDTH: u16 = 4 * BLOCK_WIDTH;

/// Returns the rows of a character from the top. Each row has three bits, the leftmost first.
fn blocks(letter: char) -> [u8; 5] {
    match letter {
        '0' => [0b111, 0b101, 0b101, 0b101, 0b111],
        '1' => [0b010, 0b110, 0b010, 0b010, 0b111],
        '2' => [0b111, 0b001, 0b111, 0b100, 0b111],
        '3' => [0b111, 0b001, 0b111, 0b001, 0b111],
        '4' => [0b101, 0b101, 0b111, 0b001, 0b001],
        '5' => [0b111, 0b100, 0b111, 0b001, 0b111],
        '6' => [0b111, 0b100, 0b111, 0b101, 0b111],
        '7' => [0b111, 0b001, 0b010, 0b010, 0b010],
        '8' => [0b111, 0b101, 0b111, 0b101, 0b111],
        '9' => [0b111, 0b101, 0b111, 0b001, 0b111],
        'x' => [0b000, 0b101, 0b010, 0b101, 0b000],
        '.' => [0b000, 0b000, 0b000, 0b000, 0b010],
        '-' => [0b000, 0b000, 0b111, 0b000, 0b000],
        _ => [0; 5],
    }
}

/// Returns the columns of a number.
pub fn digits_width(text: &str) -> u16 {
    u16::try_from(text.chars().count()).unwrap_or(u16::MAX).saturating_mul(DIGIT_WIDTH).saturating_sub(BLOCK_WIDTH)
}

/// Draws a number; draws nothing where the number does not fit.
pub fn draw_digits(text: &str, style: Style, charset: Charset, area: Rect, buffer: &mut Buffer) {
    if digits_width(text) > area.width || area.height < DIGITS_HEIGHT {
        return;
    }
    let symbol = if charset == Charset::Ascii { "#" } else { "█" };
    for (at, letter) in (0_u16..).zip(text.chars()) {
        for (row, bits) in (0_u16..).zip(blocks(letter)) {
            for column in (0..3_u16).filter(|column| bits & (0b100 >> column) != 0) {
                for half in 0..BLOCK_WIDTH {
                    let x = area.x + at * DIGIT_WIDTH + column * BLOCK_WIDTH + half;
                    buffer[(x, area.y + row)].set_symbol(symbol).set_style(style);
                }
            }
        }
    }
}

/// Minimum lines of the queue beside the box of a refused write.
const MIN_LINES_OF_QUEUE: u16 = 7;

/// Maximum columns of the box.
const MAX_WIDTH: u16 = 60;

/// Draws the box at the end of an area that is shared with a queue of `rows` rows. Returns how many
/// lines the box takes; 0 before the first write.
///
/// Where queue and box do not both fit, the box appears only once a write was refused. Where even
/// then there is too little room, a single line shows the refused write.
pub fn draw_resource(view: View<'_>, resource: &ResourceStatus, rows: usize, area: Rect, buffer: &mut Buffer) -> u16 {
    let lines = lines(view, resource, usize::from(area.width.min(MAX_WIDTH)).saturating_sub(4));
    let Some(needed) = u16::try_from(lines.len()).ok().filter(|lines| *lines > 0) else { return 0 };
    let height = needed + 2;
    let is_refused = resource.rejected > 0;
    let fits_all = rows + usize::from(height) <= usize::from(area.height);
    let fits = fits_all || is_refused && area.height >= height + MIN_LINES_OF_QUEUE;
    if !fits {
        let last = lines.into_iter().last().filter(|_| is_refused && area.height > MIN_LINES_OF_QUEUE / 2);
        let Some((text, style)) = last else { return 0 };
        write(view, &format!(" {text}"), style, Rect { y: area.bottom() - 1, height: 1, ..area }, buffer);
        return 1;
    }
    let place = Rect { y: area.bottom() - height, height, width: area.width.min(MAX_WIDTH), ..area };
    let panel = Panel {
        left: vec![("resource".to_owned(), view.theme.strong)],
        right: Some((writes(resource), view.theme.dim)),
        ..Panel::default()
    };
    let inner = panel.draw(place, buffer, view.theme);
    for ((text, style), y) in lines.into_iter().zip(inner.top()..inner.bottom()) {
        write(view, &format!(" {text}"), style, Rect { y, height: 1, ..inner }, buffer);
    }
    height
}

fn writes(resource: &ResourceStatus) -> String {
    let all = resource.accepted.saturating_add(resource.rejected);
    let all = plural(usize::try_from(all).unwrap_or(usize::MAX), "write", "writes");
    if resource.rejected > 0 { format!("{all}, {} refused", count(resource.rejected)) } else { all }
}

/// Returns the write with the highest token and the last refused write.
fn lines(view: View<'_>, resource: &ResourceStatus, room: usize) -> Vec<(String, Style)> {
    let (theme, signs) = (view.theme, &view.theme.signs);
    let line = |sign: &str, token: String, from: Option<String>, end: &str| {
        let from = from.map_or_else(String::new, |client| format!(" from {client}"));
        let whole = format!("{sign} token {token}{from}: {end}");
        if width(&whole) <= room { whole } else { format!("{sign} {token}{from}: {end}") }
    };
    let mut lines = Vec::new();
    if let Some(highest) = resource.highest {
        let writer = resource.writer.map(ClientId::name);
        lines.push((line(signs.good, highest.to_string(), writer, "taken"), theme.good));
    }
    if let Some((client, token, _)) = resource.last_rejected {
        lines.push((line(signs.bad, token.to_string(), Some(client.name()), "refused"), theme.bad));
    }
    lines
}
