//! The line above both queues: the speed, and the ratio of their watch events. With enough room,
//! the ratio has large digits, beside the events of each side since the start.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::super::View;
use super::digits;
use crate::tui::app::{FleetSide, FleetView};
use crate::tui::widget::write::write_line;
use lockscope_lab::contend::Speed;
use lockscope_model::text::human::{count, ratio};
use lockscope_model::text::{Keep, width};

/// Lines of the ratio in large digits.
pub const LARGE_HEIGHT: u16 = digits::HEIGHT + 1;
/// Columns between the digits and the text beside them.
const GAP: u16 = 3;

/// The watch events of both sides for each hand-over, and the larger count over the smaller one.
struct Comparison<'a> {
    times: f64,
    more: (&'a FleetView, u64),
    less: (&'a FleetView, u64),
}

pub fn draw(view: View<'_>, area: Rect, large: bool, buffer: &mut Buffer) {
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
    let style = if view.app.slow_motion().is_stopped() { theme.wait } else { theme.strong };
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

fn draw_large(view: View<'_>, comparison: Option<&Comparison<'_>>, area: Rect, buffer: &mut Buffer) {
    let theme = view.theme;
    let number = comparison.map_or_else(|| "-".to_owned(), |comparison| times(comparison.times));
    let place = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    digits::draw(&number, theme.wait, theme.signs.charset, place, buffer);
    let left = digits::width(&number) + GAP;
    let beside = Rect { x: place.x + left, width: place.width.saturating_sub(left), height: 1, ..place };
    let Some(comparison) = comparison.filter(|_| beside.width > 20) else { return };
    let room = usize::from(beside.width);
    let line = |at: u16| Rect { y: place.y + at, ..beside };
    write_line(Span::styled(view.fit(&sentence(comparison), room, Keep::Start), theme.strong), line(0), buffer);
    let why = "for each hand-over; woken since the start:";
    write_line(Span::styled(view.fit(why, room, Keep::Start), theme.dim), line(1), buffer);
    let names = [comparison.more, comparison.less].map(|(fleet, _)| fleet.scenario().algorithm.name());
    let longest = names.iter().map(|name| name.len()).max().unwrap_or(0);
    let rows = [(comparison.more, theme.wait), (comparison.less, theme.good)];
    for (at, ((fleet, woken), style)) in (2_u16..).zip(rows) {
        let name = fleet.scenario().algorithm.name();
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

fn sentence(comparison: &Comparison<'_>) -> String {
    let name = |fleet: &FleetView| fleet.scenario().algorithm.name();
    format!("the watch events: {} / {}", name(comparison.more.0), name(comparison.less.0))
}

fn compare(view: View<'_>) -> Option<Comparison<'_>> {
    let fleets = view.app.fleets();
    let side = |side| {
        let fleet = fleets.fleet(side)?;
        let woken = fleet.replay().total_counts().woken;
        let acquisitions = fleet.status()?.totals.acquisitions;
        #[expect(clippy::cast_precision_loss, reason = "a ratio is rounded anyway")]
        let each = woken as f64 / acquisitions as f64;
        (woken > 0 && acquisitions > 0).then_some((fleet, woken, each))
    };
    let (left, right) = (side(FleetSide::Left)?, side(FleetSide::Right)?);
    let (more, less) = if left.2 >= right.2 { (left, right) } else { (right, left) };
    Some(Comparison { times: more.2 / less.2, more: (more.0, more.1), less: (less.0, less.1) })
}

fn speed(view: View<'_>) -> String {
    let motion = view.app.slow_motion();
    match (motion.is_stopped(), motion.speed()) {
        (true, _) => "stopped".to_owned(),
        (false, _) if motion.is_idle() => "slow: nobody looks".to_owned(),
        (false, Speed::Full) => "full speed".to_owned(),
        (false, speed) => format!("slow motion: {}", speed.title()),
    }
}
