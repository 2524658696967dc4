//! The figures of a side, in the last step and since the start: clients woken, clients woken in
//! vain, and requests.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use super::super::View;
use super::write;
use crate::tui::app::FleetView;
use crate::tui::picture::WakeCounts;
use crate::tui::widget::write::write_line;
use lockscope_lab::contend::FleetStatus;
use lockscope_model::text::human::{count, rate};

/// Minimum lines of the area for a border below the figures.
const MIN_HEIGHT_WITH_BORDER: u16 = 16;
/// Columns of a line's label, and of each figure.
const LABEL: usize = 9;
const FIGURE: usize = 8;

/// Draws the figures into the first lines of an area. Returns how many lines they take.
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
