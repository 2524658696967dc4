//! The queues as pictures of who wakes whom: each fleet's queue, side by side.
//!
//! ```text
//!  one step each 2 s                            the herd: 27x the watch events of the chain
//! ┌ herd ── 8 clients ──────── 14s ┐┌ chain ── 8 clients ─────── 14s ┐
//! │            woken in vain  reqs ││            woken in vain  reqs │
//! │ this step      4       3     5 ││ this step      1       0     1 │
//! │ ◆ herd                         ││ ● 5  gets it                   │
//! │ ├─● 5  gets it                 ││ ╰─○ 6  sleeps on               │
//! │ ╰─○ 6  woken in vain           ││   ╰─○ 7  sleeps on             │
//! ```

mod digits;
mod figures;
mod ratio;
mod resource;
mod rows;
mod words;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use self::rows::DrawnQueue;
use super::who::who_is;
use super::{View, contend, list};
use crate::tui::app::{FleetSide, FleetView, Phase, Queue};
use crate::tui::picture::{ReplayGap, RowId};
use crate::tui::widget::panel::{Bottom, Panel};
use crate::tui::widget::write::write_line;
use lockscope_lab::contend::{FleetStatus, NextStep};
use lockscope_model::queue::LockQueue;
use lockscope_model::text::human::count;
use lockscope_model::text::{Keep, width};

/// Minimum lines of the area for the ratio in large digits.
const LINES_FOR_LARGE_RATIO: u16 = 34;

/// Columns of a client's address and its session.
const CLIENT_WIDTH: usize = 32;

/// Draws both fleets, or the only one.
pub fn draw_fleets(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let fleets = view.app.fleets();
    let large = view.app.slow_motion().is_large() || area.height >= LINES_FOR_LARGE_RATIO;
    let large_ratio = large && fleets.is_pair() && area.height > ratio::LARGE_HEIGHT + 10;
    let gap = u16::from(area.height >= LINES_FOR_LARGE_RATIO);
    let strip = if large_ratio { ratio::LARGE_HEIGHT + gap } else { 1 };
    ratio::draw(view, Rect { height: strip.min(area.height), ..area }, large_ratio, buffer);
    let area = Rect { y: area.y + strip.min(area.height), height: area.height.saturating_sub(strip), ..area };
    let places = contend::places(fleets, area);
    for (side, fleet) in fleets.each() {
        draw_side(view, side, fleet, places[side as usize], buffer);
    }
}

/// Draws the queue of the open lock in place of its list, whatever clients are in it.
pub fn draw_queue(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let app = view.app;
    let panel = list::panel(&Queue, view, app.world().open_lock().map_or(0, LockQueue::len));
    let inner = panel.draw(area, buffer, view.theme);
    let mut picture = app.queue_picture(usize::from(inner.height) + 1);
    for row in &mut picture.rows {
        let session = app.session_in_picture(row.id);
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
        selected: app.selected_in_picture(),
        spacing: if app.slow_motion().is_large() { 2 } else { 1 },
    };
    rows::draw(view, &shown, inner, buffer);
}

fn draw_side(view: View<'_>, side: FleetSide, fleet: &FleetView, area: Rect, buffer: &mut Buffer) {
    let theme = view.theme;
    let panel = contend::panel(view, side, fleet, area.width);
    let bottom = bottom(view, fleet, area.width);
    let bottom_right = legend(view, fleet, bottom.as_ref(), area.width);
    let bottom = bottom.map(|(text, style)| Bottom::new(text, style));
    let inner = Panel { bottom, bottom_right, ..panel }.draw(area, buffer, theme);
    let Some(status) = fleet.status().filter(|_| !matches!(fleet.phase(), Phase::Ended(_) | Phase::Failed(_))) else {
        let why = match fleet.phase() {
            Phase::Failed(why) => format!("{why}."),
            Phase::Ended(_) => "The test clients are gone.".to_owned(),
            Phase::Running | Phase::Stopping => "The clients connect.".to_owned(),
        };
        view.placeholder(&[why], inner, buffer);
        return;
    };
    let used = figures::draw(view, fleet, status, inner, buffer);
    let mut room = Rect { y: inner.y + used, height: inner.height.saturating_sub(used), ..inner };
    let picture = fleet.replay().picture();
    let rows = picture.rows.len() + picture.hidden + usize::from(picture.outside_count > 0);
    room.height -= resource::draw(view, &status.resource, rows, room, buffer);
    let spacing = if view.app.slow_motion().is_large() && usize::from(room.height) >= 2 * rows { 2 } else { 1 };
    let selected = (view.app.side() == side).then(|| view.app.selected_client()).flatten();
    let shown = DrawnQueue {
        picture,
        flying: fleet.replay().flying(),
        requests: fleet.replay().requests(),
        now: view.app.now(),
        selected: selected.map(|client| RowId::Client(u64::from(client.id.0))),
        spacing,
    };
    rows::draw(view, &shown, room, buffer);
}

/// Returns the next step, or the part that the picture skipped.
fn bottom(view: View<'_>, fleet: &FleetView, columns: u16) -> Option<(String, Style)> {
    let status = fleet.status()?;
    let room = usize::from(columns).saturating_sub(6);
    let (text, style) = match fleet.replay().gap() {
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
        NextStep::Release => format!("next step: {client} releases"),
        NextStep::Ask => format!("next step: {client} asks again"),
    })
}

/// Writes a text in one style at the left of a line.
fn write(view: View<'_>, text: &str, style: Style, area: Rect, buffer: &mut Buffer) {
    let text = view.fit(text, usize::from(area.width), Keep::Start);
    write_line(Span::styled(text, style), area, buffer);
}
