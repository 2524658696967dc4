//! ```text
//! ┌ Acquisitions a second ───────────────┐┌ Watch events an acquisition ─────────┐
//! │  2 herd  ████████████████████ 1 204  ││  2 herd  █ 1.9                       │
//! │    chain ███████████████████▌ 1 180  ││    chain █ 1.0                       │
//! │ 50 herd  ████ 240                    ││ 50 herd  ████████████████████ 96.2   │
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use super::View;
use crate::tui::app::{ComparedFleet, FleetComparison};
use crate::tui::widget::write::{clear, write_line};
use crate::tui::widget::{Panel, halves};
use lockscope_lab::contend::FleetOutcome;
use lockscope_lock::Algorithm;
use lockscope_model::text::human::count;
use lockscope_model::text::{width, wrap_words};

/// A figure that the fleets are compared by.
struct ComparedFigure {
    /// The titles, the longest first. The first that fits is shown.
    titles: [&'static str; 3],
    of: fn(&FleetOutcome) -> f64,
    /// Digits after the decimal point.
    digits: usize,
}

const FIGURES: [ComparedFigure; 2] = [
    ComparedFigure {
        titles: ["Acquisitions a second, by number of clients", "Acquisitions a second", "Acquisitions/s"],
        of: |outcome| outcome.acquisitions_per_second,
        digits: 0,
    },
    ComparedFigure {
        titles: [
            "Watch events an acquisition, by number of clients",
            "Watch events an acquisition",
            "Watch events each",
        ],
        of: |outcome| outcome.watch_events.per_acquisition,
        digits: 1,
    },
];

/// Draws a bar for each fleet and figure. Each figure has a scale of its own, which starts at zero.
pub fn draw(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let comparison = view.app.comparison();
    if comparison.fleets().len() == 0 {
        return draw_nothing(view, area, buffer);
    }
    let area = draw_conclusion(view, comparison, area, buffer);
    for (at, (figure, half)) in FIGURES.iter().zip(halves(area)).enumerate() {
        let fits = |title: &&&str| usize::from(half.width) >= width(title) + 6;
        let title = figure.titles.iter().find(fits).unwrap_or(&figure.titles[2]);
        let panel = Panel {
            left: vec![((*title).to_owned(), view.theme.strong)],
            right: (at == 1).then(|| state(view, comparison)),
            bottom_right: hidden(comparison, half.height).map(|text| (text, view.theme.dim)),
            ..Panel::default()
        };
        let inner = panel.draw(half, buffer, view.theme);
        draw_figure(view, comparison, figure, inner, buffer);
    }
    let rows = u16::try_from(comparison.fleets().len()).unwrap_or(u16::MAX).saturating_add(2);
    if let Some(why) = comparison.failed().filter(|_| area.height > rows.saturating_add(2)) {
        let below = Rect { x: area.x + 1, y: area.y + rows, width: area.width - 2, height: area.height - rows - 1 };
        clear(below, buffer);
        view.placeholder(&[format!("The comparison ended early: {why}.")], below, buffer);
    }
}

/// Draws the conclusion below the boxes. Returns the area that is left for the boxes.
fn draw_conclusion(view: View<'_>, comparison: &FleetComparison, area: Rect, buffer: &mut Buffer) -> Rect {
    let sentence = comparison.conclusion().unwrap_or_default();
    let lines = wrap_words(&sentence, usize::from(area.width).saturating_sub(2), view.theme.signs.charset);
    let needed = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_mul(u16::from(!sentence.is_empty()));
    let bars = u16::try_from(comparison.fleets().len()).unwrap_or(u16::MAX).saturating_add(2);
    if needed == 0 || area.height < bars.saturating_add(needed) {
        return area;
    }
    let boxes = Rect { height: area.height - needed, ..area };
    for (line, y) in lines.into_iter().zip(boxes.bottom()..area.bottom()) {
        write_line(Span::styled(format!(" {line}"), view.theme.strong), Rect { y, height: 1, ..area }, buffer);
    }
    boxes
}

/// Returns how many fleets do not fit into a box of this height, in words; `None` when all fit.
fn hidden(comparison: &FleetComparison, height: u16) -> Option<String> {
    let hidden = comparison.fleets().len().saturating_sub(usize::from(height.saturating_sub(2)));
    (hidden > 0).then(|| format!("{hidden} more"))
}

fn draw_nothing(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let title = ("Comparison".to_owned(), view.theme.strong);
    let inner = Panel { left: vec![title], ..Panel::default() }.draw(area, buffer, view.theme);
    let lines = [
        "Nothing was compared.",
        "",
        "The last scene of `lockscope demo` compares herds and chains of growing size.",
        "`lockscope compare` does so without a screen, and writes a picture of it.",
    ];
    view.placeholder(&lines.map(str::to_owned), inner, buffer);
}

fn state(view: View<'_>, comparison: &FleetComparison) -> (String, Style) {
    match (comparison.failed(), comparison.running()) {
        (Some(_), _) => ("failed".to_owned(), view.theme.bad),
        (None, Some((number, all))) => match comparison.round() {
            (1, _) => (format!("fleet {number} of {all} runs"), view.theme.wait),
            (round, rounds) => (format!("run {round} of {rounds}: {number} of {all}"), view.theme.wait),
        },
        (None, None) => ("done".to_owned(), view.theme.dim),
    }
}

fn draw_figure(view: View<'_>, comparison: &FleetComparison, figure: &ComparedFigure, area: Rect, buffer: &mut Buffer) {
    let highest = comparison.fleets().filter_map(|fleet| fleet.outcome).map(figure.of).fold(0.0, f64::max);
    let fleets: Vec<ComparedFleet<'_>> = comparison.fleets().collect();
    let sizes = fleets.chunk_by(|one, next| one.scenario.clients == next.scenario.clients);
    let height = usize::from(area.height);
    let spaced = comparison.failed().is_none() && height >= fleets.len() + sizes.clone().count();
    // The bars fill the box.
    let room = if spaced { height.saturating_sub(sizes.clone().count() - 1) } else { 0 };
    let thick = u16::try_from(room / fleets.len().max(1)).unwrap_or(1).clamp(1, MAX_THICKNESS);
    let mut y = area.top();
    for size in sizes {
        for (at, fleet) in size.iter().enumerate() {
            let bar = Rect { y, height: thick.min(area.bottom().saturating_sub(y)), ..area };
            draw_bar(view, fleet, (figure, highest), at == 0, bar, buffer);
            y += thick;
        }
        y += u16::from(spaced);
    }
}

/// Maximum lines of a bar.
const MAX_THICKNESS: u16 = 4;

/// Draws one bar. `first` is true for the first fleet of its size: only that bar is labelled with
/// the size.
fn draw_bar(
    view: View<'_>,
    fleet: &ComparedFleet<'_>,
    (figure, highest): (&ComparedFigure, f64),
    first: bool,
    area: Rect,
    buffer: &mut Buffer,
) {
    let theme = view.theme;
    let size = if first { fleet.scenario.clients.to_string() } else { String::new() };
    let name = fleet.scenario.algorithm.name();
    let label =
        vec![Span::styled(format!(" {size:>4} "), theme.strong), Span::styled(format!("{name:<6}"), theme.text)];
    let before = label.iter().map(Span::width).sum::<usize>();
    let mut spans = label;
    let first_line = Rect { height: area.height.min(1), ..area };
    if let Some(outcome) = fleet.outcome {
        let value = (figure.of)(outcome);
        let number = number(value, figure.digits);
        let room = usize::from(area.width).saturating_sub(before + width(&number) + 2);
        let style = if fleet.scenario.algorithm == Algorithm::Herd { theme.wait } else { theme.good };
        let full = view.theme.signs.bar[0].repeat(cells(value, highest, room));
        let x = area.x.saturating_add(u16::try_from(before).unwrap_or(u16::MAX));
        for y in area.top() + first_line.height..area.bottom() {
            let line = Rect { x, y, width: area.right().saturating_sub(x), height: 1 };
            write_line(Span::styled(full.clone(), style), line, buffer);
        }
        spans.push(Span::styled(full, style));
        spans.push(Span::styled(format!(" {number}"), theme.strong));
    }
    if !first_line.is_empty() {
        write_line(spans, first_line, buffer);
    }
}

/// Returns how many of `room` cells a value fills: at least one unless the value is zero.
fn cells(value: f64, highest: f64, room: usize) -> usize {
    if value <= 0.0 || highest <= 0.0 {
        return 0;
    }
    // Both are finite and not negative, and a terminal has fewer than 65 536 columns.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    let cells = (value / highest * room as f64).round() as usize;
    cells.clamp(1, room.max(1))
}

fn number(value: f64, digits: usize) -> String {
    if digits == 0 {
        // Rates are far below 2^53.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        return count(value.round() as u64);
    }
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_proportional_to_its_value_and_never_empty_above_zero() {
        assert_eq!([0.0, 0.1, 50.0, 100.0].map(|value| cells(value, 100.0, 20)), [0, 1, 10, 20]);
        assert_eq!((cells(1.0, 0.0, 20), cells(3.0, 3.0, 0)), (0, 1));
    }
}
