//! The figures of a side: who was woken, who in vain, and the requests, in the last step and since the start; and the resource.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use super::super::View;
use super::write;
use crate::contend::{FleetStatus, ResourceStatus};
use crate::text::human::{count, plural, rate};
use crate::text::{width, wrap_words};
use crate::tui::app::FleetView;
use crate::tui::picture::WakeCounts;
use crate::tui::widget::write::write_line;

/// From how many lines on there is room for all of it beside the queue.
const MIN_HEIGHT_WITH_ALL: u16 = 16;
/// Lines that may stand beside those of the clients: the resource, the parent, who is not in the queue.
const LINES_BESIDE_CLIENTS: usize = 4;
/// Columns of what a line is about, and of each figure.
const LABEL: usize = 9;
const FIGURE: usize = 8;

/// Draws the figures into the first lines of an area; gives how many lines they take.
pub fn draw(view: View<'_>, fleet: &FleetView, status: &FleetStatus, area: Rect, buffer: &mut Buffer) -> u16 {
    let theme = view.theme;
    let room = (usize::from(area.width).saturating_sub(LABEL + 1) / 3).min(FIGURE + 4);
    let line = |label: &str, figures: [String; 3]| {
        let [woken, in_vain, requests] = figures;
        format!(" {label:LABEL$}{woken:>room$}{in_vain:>room$}{requests:>room$}")
    };
    let plain = |counts: WakeCounts| [counts.woken, counts.in_vain, counts.requests].map(count);
    let now = if status.stepped {
        line("this step", plain(fleet.replay().step_counts()))
    } else {
        let rates = fleet.wake_rates().per_second();
        line("a second", rates.map_or_else(|| ["-"; 3].map(str::to_owned), |rates| rates.map(rate)))
    };
    let titles = if room > FIGURE { ["woken", "in vain", "requests"] } else { ["woken", "vain", "reqs"] };
    let lines = [
        (line("", titles.map(str::to_owned)), theme.title),
        (now, theme.strong),
        (line("all", plain(fleet.replay().total_counts())), theme.text),
    ];
    let mut used = 0;
    let is_low = area.height < MIN_HEIGHT_WITH_ALL;
    // Where there is no room for all clients, writes that went well are not worth a line.
    let needed = status.clients.len() + lines.len() + LINES_BESIDE_CLIENTS;
    let fits = !is_low || needed <= usize::from(area.height);
    let resource = Some(&status.resource).filter(|resource| fits || resource.rejected > 0);
    let resource = resource.map(|resource| say_resource(view, resource, area.width)).unwrap_or_default();
    for (text, style) in lines.into_iter().chain(resource) {
        if used + 6 > area.height {
            break;
        }
        write(view, &text, style, Rect { y: area.y + used, height: 1, ..area }, buffer);
        used += 1;
    }
    let across = theme.signs.border.horizontal_top.repeat(usize::from(area.width));
    if used + 1 < area.height && !is_low {
        write_line(Span::styled(across, theme.border), Rect { y: area.y + used, height: 1, ..area }, buffer);
        used += 1;
    }
    used
}

/// What the lock protects: nothing before anybody has written.
fn say_resource(view: View<'_>, resource: &ResourceStatus, columns: u16) -> Vec<(String, Style)> {
    let theme = view.theme;
    let Some(highest) = resource.highest else { return Vec::new() };
    let room = usize::from(columns).saturating_sub(2).max(1);
    let accepted = plural(usize::try_from(resource.accepted).unwrap_or(usize::MAX), "write", "writes");
    let Some((client, token, _)) = resource.last_rejected else {
        let whole = format!("resource: {accepted} taken, highest token {highest}");
        let text = if width(&whole) <= room { whole } else { format!("resource: {accepted} taken") };
        return vec![(format!(" {text}"), theme.text)];
    };
    let refused = count(resource.rejected);
    let sentences = [
        (format!("resource: {accepted} taken, {refused} refused, highest token {highest}"), theme.text),
        (format!("{} client {client}, token {token}: refused, {highest} has written", theme.signs.bad), theme.bad),
    ];
    let wrapped = sentences.into_iter().flat_map(|(text, style)| {
        let lines = wrap_words(&text, room, theme.signs.charset).into_iter();
        lines.map(move |line| (format!(" {line}"), style))
    });
    wrapped.collect()
}
