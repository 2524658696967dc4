//! ```text
//! ┌ ▸ herd ── 50 clients ── /lockscope/herd ── 14s ┐┌ chain ── 50 clients ── /lockscope/chain ─ 14s ┐
//! │ acquisitions       412       27/s              ││ acquisitions     1 904      127/s            │
//! │ watch events    21 115       51.2 each         ││ watch events     1 903        1.0 each       │
//! │ ▁▂▄▆█▇█▇▆▇█▇                           1 400/s ││ ▁▁▁▁▁▁▁▁▁▁▁▁                           127/s │
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::View;
use super::fleet_figures::{FigureLine, figures};
use crate::tui::app::{FleetSide, FleetView, Fleets, Phase};
use crate::tui::widget::panel::{Panel, halves};
use crate::tui::widget::spark;
use crate::tui::widget::write::write_line;
use lockscope_lab::contend::RATE_SECONDS;
use lockscope_model::text::human::{duration, plural};
use lockscope_model::text::{Keep, width, wrap_words};

/// Columns of the rate beside a sparkline.
const RATE_WIDTH: usize = 10;

/// A note with more words than this is a sentence; one with fewer is a list of figures.
const MAX_WORDS_OF_FIGURES: usize = 10;

/// Draws the fleets side by side, their sparklines on one scale.
pub fn draw(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let fleets = view.app.fleets();
    let highest = fleets.each().map(|(_, fleet)| fleet.rates().highest()).max().unwrap_or(0);
    let places = places(fleets, area);
    for (side, fleet) in fleets.each() {
        draw_fleet(view, side, fleet, highest, places[side as usize], buffer);
    }
}

/// Returns where each side is drawn. A single fleet takes the whole width.
pub fn places(fleets: &Fleets, area: Rect) -> [Rect; 2] {
    if fleets.is_pair() { halves(area) } else { [area, area] }
}

fn draw_fleet(view: View<'_>, side: FleetSide, fleet: &FleetView, highest: u64, area: Rect, buffer: &mut Buffer) {
    let theme = view.theme;
    let inner = panel(view, side, fleet, area.width).draw(area, buffer, theme);
    let room = usize::from(inner.width).saturating_sub(2);
    let lines: Vec<FigureLine> = match (fleet.phase(), fleet.status()) {
        (Phase::Failed(why), _) => {
            let why = wrap_words(&format!("{why}."), room, theme.signs.charset);
            why.into_iter().map(|text| FigureLine::Words(text, theme.bad)).collect()
        }
        (Phase::Running | Phase::Stopping, None) => {
            vec![FigureLine::Words("The clients connect.".to_owned(), theme.wait)]
        }
        (_, status) => match status.filter(|status| status.elapsed.is_zero() && fleet.is_active()) {
            Some(status) => {
                let text = format!("{} of {} have a session.", status.connected, status.scenario.clients);
                vec![FigureLine::Words(text, theme.wait)]
            }
            None => figures(view, fleet, inner.width, inner.height),
        },
    };
    for (line, y) in lines.into_iter().zip(inner.top()..inner.bottom()) {
        let area = Rect { y, height: 1, ..inner };
        match line {
            FigureLine::Spark => sparkline(view, fleet, highest, area, buffer),
            FigureLine::Figure { label, value, note, style } => {
                let note = within(view, &note, room.saturating_sub(width(label) + width(&value)));
                let spans = vec![
                    Span::styled(format!(" {label}"), theme.title),
                    Span::styled(value, theme.strong),
                    Span::styled(note, style),
                ];
                write_line(spans, area, buffer);
            }
            FigureLine::Words(text, style) => {
                let text = view.fit(&text, room, Keep::Start);
                write_line(Span::styled(format!(" {text}"), style), area, buffer);
            }
        }
    }
}

/// Shortens a note to `columns`. A sentence is cut; a list of figures, which two blanks separate,
/// loses whole figures from its end.
fn within(view: View<'_>, note: &str, columns: usize) -> String {
    let is_sentence = note.split(' ').count() > MAX_WORDS_OF_FIGURES;
    if is_sentence || width(note) <= columns {
        return view.fit(note, columns, Keep::Start);
    }
    let ends = note.rmatch_indices("  ").map(|(at, _)| &note[..at]);
    ends.into_iter().find(|part| width(part) <= columns).unwrap_or_default().to_owned()
}

pub(super) fn panel(view: View<'_>, side: FleetSide, fleet: &FleetView, columns: u16) -> Panel {
    let (app, theme) = (view.app, view.theme);
    let focused = app.fleets().is_pair() && app.side() == side;
    let name = fleet.scenario().algorithm.name();
    let name = if focused { format!("{} {name}", theme.signs.cursor) } else { name.to_owned() };
    let (clients, right, style) = match fleet.phase() {
        Phase::Running => (fleet.living(), time(fleet), theme.good),
        Phase::Stopping => (fleet.living(), "stopping".to_owned(), theme.wait),
        Phase::Ended(_) => (fleet.scenario().clients as usize, "stopped".to_owned(), theme.dim),
        Phase::Failed(_) => (fleet.scenario().clients as usize, "failed".to_owned(), theme.bad),
    };
    let path = view.fit(fleet.scenario().path.as_str(), usize::from(columns / 3), Keep::End);
    let mut left = vec![(name, theme.strong), (plural(clients, "client", "clients"), theme.text), (path, theme.text)];
    let hold = fleet.scenario().hold;
    if !hold.is_zero() {
        left.push((format!("hold {}", lockscope_model::text::human::latency(hold)), theme.dim));
    }
    Panel { left, right: Some((right, style)), focused, ..Panel::default() }
}

/// Returns how long the fleet has run.
fn time(fleet: &FleetView) -> String {
    match fleet.status() {
        Some(status) if !status.elapsed.is_zero() => duration(status.elapsed),
        _ => "connecting".to_owned(),
    }
}

/// Draws the watch events of the last minute, on the scale of both fleets, and the current rate.
fn sparkline(view: View<'_>, fleet: &FleetView, highest: u64, area: Rect, buffer: &mut Buffer) {
    let theme = view.theme;
    let rate = fleet.rates().events().filter(|_| fleet.is_active());
    let rate = rate.map_or_else(String::new, |rate| format!("{}/s", lockscope_model::text::human::rate(rate)));
    let seconds = fleet.rates().seconds();
    let room = usize::from(area.width).saturating_sub(RATE_WIDTH + 3);
    let line = spark::line(&seconds, room.min(RATE_SECONDS), highest, &theme.signs.levels);
    let style = if highest == 0 { theme.dim } else { style_of(view, fleet) };
    write_line(vec![Span::raw(" "), Span::styled(line, style)], area, buffer);
    write_line(Line::styled(format!("{rate} "), theme.strong).right_aligned(), area, buffer);
}

/// Algorithms that wake all waiters at a release stand out.
fn style_of(view: View<'_>, fleet: &FleetView) -> Style {
    use lockscope_lock::Algorithm;
    match fleet.scenario().algorithm {
        Algorithm::Chain | Algorithm::ChainAhead | Algorithm::SharedChain(_) => view.theme.good,
        _ => view.theme.wait,
    }
}
