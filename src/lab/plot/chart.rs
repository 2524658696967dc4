//! One chart as an `svg` element: logarithmic axes, curves, marks and legend.
//!
//! Each curve's marks have their own shape, so that they differ without colour. Every text is made
//! harmless before it is drawn.

use std::fmt::Write;

use maud::{Markup, html};
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

use super::{Curve, CurveLook, CurvePoint, LineChart, PlotUnit, PlotValue};
use lockscope_base::znode::must_be_escaped;
use lockscope_model::text::human::count;
use lockscope_model::text::tenth;

/// The size of a chart, in pixels of its own.
pub const WIDTH: f64 = 580.0;

pub const HEIGHT: f64 = 372.0;

/// The edges of the area of the curves.
const LEFT: f64 = 72.0;

const RIGHT: f64 = WIDTH - 22.0;

const TOP: f64 = 66.0;

const BOTTOM: f64 = HEIGHT - 52.0;

/// The distance of the curves from the left and the right edge.
const PADDING: f64 = 18.0;

/// The estimated width of a label's character, rather too wide than too narrow.
const CHARACTER: f64 = 8.0;

/// Draws a chart whose upper left corner is at this place of the enclosing `svg` element.
pub fn chart(chart: &LineChart, (x, y): (f64, f64)) -> Markup {
    let sizes = chart.sizes();
    let x_axis = PlotAxis::of_sizes(&sizes, LEFT + PADDING, RIGHT - PADDING);
    let y_axis = PlotAxis::of_values(chart.values(), BOTTOM, TOP);
    let has_ticks = chart.curves.iter().flat_map(|curve| &curve.points).any(|point| !point.others.is_empty());
    let drawing = Drawing { chart, sizes, has_ticks, x_axis, y_axis };
    let (title, description) = (format!("{}-title", chart.id), format!("{}-description", chart.id));
    html! {
        svg class="chart" x=(tenth(x)) y=(tenth(y)) width=(WIDTH) height=(HEIGHT) viewBox={ "0 0 " (WIDTH) " " (HEIGHT) }
            role="img" aria-labelledby={ (title) " " (description) } data-chart=(chart.id) {
            title id=(title) { (harmless(&chart.title)) }
            desc id=(description) { (harmless(&chart.description)) }
            text class="chart-title" x="12" y="22" { (harmless(&chart.title)) }
            (legend(chart))
            (drawing.grid())
            @for curve in &chart.curves { (drawing.line(curve)) }
            // Measured marks are drawn last: where both coincide, the pointer hits the measured
            // one.
            @for curve in chart.curves.iter().filter(|curve| curve.is_model) {
                @for point in &curve.points { (drawing.modelled(curve, point)) }
            }
            @for curve in chart.curves.iter().filter(|curve| !curve.is_model) {
                @for point in &curve.points { (drawing.mark(curve, point)) }
            }
        }
    }
}

/// Draws the legend in a row.
fn legend(chart: &LineChart) -> Markup {
    let (mut at, y) = (14.0, 44.0);
    let measured = chart.curves.iter().filter(|curve| !curve.is_model);
    let mut entries = Vec::new();
    for curve in measured {
        let name = harmless(&curve.name);
        let next = at + 34.0 + CHARACTER * columns(&name) + 14.0;
        entries.push((curve.look, at, name));
        at = next;
    }
    let has_model = chart.curves.iter().any(|curve| curve.is_model && !curve.points.is_empty());
    html! {
        @for (look, x, name) in entries {
            g class=(look.class()) {
                line x1=(tenth(x)) y1=(y) x2=(tenth(x + 26.0)) y2=(y) {}
                (marker(look, x + 13.0, y))
            }
            text x=(tenth(x + 32.0)) y=(y + 4.5) { (name) }
        }
        @if has_model {
            line class="model key" x1=(tenth(at)) y1=(y) x2=(tenth(at + 26.0)) y2=(y) {}
            text x=(tenth(at + 32.0)) y=(y + 4.5) { (harmless(chart.calculated)) }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "texts are short")]
fn columns(text: &str) -> f64 {
    text.chars().count() as f64
}

/// A chart with its axes.
struct Drawing<'a> {
    chart: &'a LineChart,
    sizes: Vec<u32>,
    /// Whether points have lines upwards. If so, the marks of a size are side by side.
    has_ticks: bool,
    x_axis: PlotAxis,
    y_axis: PlotAxis,
}

impl Drawing<'_> {
    /// Draws lines at round values with their labels.
    fn grid(&self) -> Markup {
        let base = BOTTOM + PADDING / 2.0;
        html! {
            g class="grid" {
                @for value in self.y_axis.ticks() {
                    @let y = tenth(self.y_axis.place(*value));
                    line x1=(LEFT) y1=(y) x2=(RIGHT) y2=(y) {}
                    text class="value" x=(LEFT - 8.0) y=(tenth(y + 4.5)) { (self.chart.unit.label(*value)) }
                }
                line class="base" x1=(LEFT) y1=(base) x2=(RIGHT) y2=(base) {}
                @for (size, is_labelled) in self.labelled_sizes() {
                    @let x = tenth(self.x_axis.place(f64::from(size)));
                    line class="base" x1=(x) y1=(base) x2=(x) y2=(base + 5.0) {}
                    @if is_labelled { text class="size" x=(x) y=(base + 20.0) { (count(size)) } }
                }
                text class="size" x=(f64::midpoint(LEFT, RIGHT)) y=(HEIGHT - 6.0) { "clients (both axes are logarithmic)" }
            }
        }
    }

    /// Returns the sizes, and whether each has room for its label. The last one always has its
    /// label.
    fn labelled_sizes(&self) -> Vec<(u32, bool)> {
        let half = |size: u32| columns(&count(size)) * CHARACTER / 2.0 + 2.0;
        let place = |size: u32| self.x_axis.place(f64::from(size));
        let last = self.sizes.last().map_or(f64::INFINITY, |last| place(*last) - half(*last));
        let mut free_from = 0.0;
        let mut sizes: Vec<(u32, bool)> = Vec::new();
        for (at, size) in self.sizes.iter().copied().enumerate() {
            let is_last = at + 1 == self.sizes.len();
            let fits = is_last || (place(size) - half(size) >= free_from && place(size) + half(size) <= last);
            if fits {
                free_from = place(size) + half(size);
            }
            sizes.push((size, fits));
        }
        sizes
    }

    fn at(&self, curve: &Curve, clients: u32, value: f64) -> (f64, f64) {
        let offset = if self.has_ticks { curve.look.offset() } else { 0.0 };
        (self.x_axis.place(f64::from(clients)) + offset, self.y_axis.place(value))
    }

    /// Draws the line of a curve, with a gap at each missing size.
    fn line(&self, curve: &Curve) -> Markup {
        let mut path = String::new();
        let mut is_down = false;
        for size in &self.sizes {
            let point = curve.points.iter().find(|point| point.clients == *size && point.value.exact.is_finite());
            if let Some(point) = point {
                let (x, y) = self.at(curve, *size, point.value.exact);
                let step = if is_down { "L" } else { "M" };
                // Writing to a String cannot fail.
                let _ = write!(path, "{step}{x:.1} {y:.1}");
            }
            is_down = point.is_some();
        }
        let kind = if curve.is_model { " model" } else { "" };
        html! {
            @if !path.is_empty() { path class={ "curve " (curve.look.class()) (kind) } d=(path) {} }
        }
    }

    /// Draws a measured point, its other values, and its tooltip.
    fn mark(&self, curve: &Curve, point: &CurvePoint) -> Markup {
        let mut known = point.values().filter(|value| value.exact.is_finite());
        let Some(value) = known.next() else { return html! {} };
        let (x, y) = self.at(curve, point.clients, value.exact);
        let others: Vec<(&PlotValue, f64)> =
            known.map(|value| (value, self.at(curve, point.clients, value.exact).1)).collect();
        html! {
            g class={ "mark " (curve.look.class()) } data-fleet=(harmless(&curve.name)) data-clients=(point.clients) {
                title { (tooltip(self.chart, curve, point)) }
                @if !others.is_empty() {
                    @let places = others.iter().map(|(_, place)| *place);
                    line x1=(tenth(x)) y1=(tenth(places.clone().fold(y, f64::max))) x2=(tenth(x))
                        y2=(tenth(places.fold(y, f64::min))) {}
                }
                @for (value, y) in &others {
                    line class="quantile" x1=(tenth(x - 3.5)) y1=(tenth(*y)) x2=(tenth(x + 3.5)) y2=(tenth(*y))
                        data-field=(value.field) data-value=(value.exact) {}
                }
                g data-field=(value.field) data-value=(value.exact) { (marker(curve.look, x, y)) }
            }
        }
    }

    /// Draws an invisible mark with a tooltip for a point of a model; only the model's line is
    /// visible.
    fn modelled(&self, curve: &Curve, point: &CurvePoint) -> Markup {
        if !point.value.exact.is_finite() {
            return html! {};
        }
        let (x, y) = self.at(curve, point.clients, point.value.exact);
        html! {
            circle class="hidden" cx=(tenth(x)) cy=(tenth(y)) r="4" data-model=(harmless(&curve.name))
                data-clients=(point.clients) data-field=(point.value.field) data-value=(point.value.exact) {
                title { (tooltip(self.chart, curve, point)) }
            }
        }
    }
}

/// Formats a tooltip: `herd, 10 clients: 412/s`.
fn tooltip(chart: &LineChart, curve: &Curve, point: &CurvePoint) -> String {
    let values: Vec<&str> = point.values().map(|value| value.shown.as_str()).collect();
    let model = if curve.is_model { format!(", {}", chart.calculated) } else { String::new() };
    let clients = lockscope_model::text::human::plural(point.clients, "client", "clients");
    harmless(&format!("{}{model}, {clients}: {}", curve.name, values.join(", ")))
}

impl PlotUnit {
    /// Formats a round number for the label of its line: `0.05`, `20`, `5 000`, `0.5 ms`, `2 s`.
    fn label(self, value: f64) -> String {
        match self {
            Self::Number => round(value),
            Self::Milliseconds if value <= 0.0 => "0".to_owned(),
            Self::Milliseconds if value < 1000.0 => format!("{} ms", round(value)),
            Self::Milliseconds => format!("{} s", round(value / 1000.0)),
        }
    }
}

/// Formats a round number with a space between thousands.
fn round(value: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was just checked")]
    match value {
        1000.0..1e15 => count(value as u64),
        _ if (1e-4..1000.0).contains(&value) || value == 0.0 => value.to_string(),
        _ => format!("{value:e}"),
    }
}

/// The distance from the end of an axis to its smallest positive value if zero has a row there, in
/// pixels.
const ZERO_ROW: f64 = 24.0;

/// The maximum number of labels on an axis of values.
const MAX_TICKS: usize = 9;

/// The first digits of round numbers.
const ROUND: [f64; 3] = [1.0, 2.0, 5.0];

/// A logarithmic axis from one place to another, in pixels.
#[derive(Clone, Debug, PartialEq)]
struct PlotAxis {
    low: f64,
    high: f64,
    /// The place of zero; `None` if no value is zero.
    zero: Option<f64>,
    from: f64,
    to: f64,
    ticks: Vec<f64>,
}

impl PlotAxis {
    /// Creates an axis for values of zero or above. It spans at least a power of ten, between round
    /// numbers, which are its ticks.
    fn of_values(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (mut low, mut high, mut has_zero) = (f64::INFINITY, 0.0_f64, false);
        for value in values.filter(|value| value.is_finite()) {
            if value > 0.0 {
                (low, high) = (low.min(value), high.max(value));
            } else {
                has_zero = true;
            }
        }
        if high <= 0.0 {
            (low, high) = (1.0, 10.0);
        }
        let (mut first, mut last) = (step_down(low), step_up(high));
        // Three steps make a power of ten.
        while last - first < 3 {
            last += 1;
            if last - first < 3 {
                first -= 1;
            }
        }
        let zero = has_zero.then_some(from);
        let from = if has_zero { from + ZERO_ROW.copysign(to - from) } else { from };
        let mut ticks: Vec<f64> = labelled(first, last).map(round_number).collect();
        if has_zero {
            ticks.insert(0, 0.0);
        }
        Self { low: round_number(first), high: round_number(last), zero, from, to, ticks }
    }

    /// Creates an axis for numbers of clients, from the smallest to the largest. Each number is a
    /// tick. A single one is in the middle.
    fn of_sizes(sizes: &[u32], from: f64, to: f64) -> Self {
        let ticks: Vec<f64> = sizes.iter().copied().map(f64::from).collect();
        let (low, high) = (ticks.first().copied().unwrap_or(1.0), ticks.last().copied().unwrap_or(1.0));
        Self { low, high, zero: None, from, to, ticks }
    }

    /// Returns the place of a value, in pixels.
    fn place(&self, value: f64) -> f64 {
        match self.zero {
            Some(zero) if value <= 0.0 => zero,
            _ if self.high <= self.low => f64::midpoint(self.from, self.to),
            _ => {
                let share = (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln();
                self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
            }
        }
    }

    /// Returns the labelled values, the smallest first.
    fn ticks(&self) -> &[f64] {
        &self.ticks
    }
}

/// Returns the round number of a step: 0 is 1, 1 is 2, 2 is 5, 3 is 10, -1 is 0.5.
fn round_number(step: i32) -> f64 {
    let first_digit = ROUND[usize::try_from(step.rem_euclid(3)).unwrap_or_default()];
    let power = step.div_euclid(3);
    // A division gives 0.5 instead of 0.5000000000000001.
    if power < 0 { first_digit / 10_f64.powi(-power) } else { first_digit * 10_f64.powi(power) }
}

/// Returns the step of the largest round number that is at most a positive value.
fn step_down(value: f64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "the logarithm of a double is below 400")]
    let power = value.log10().floor() as i32;
    let steps = (3 * power - 3)..=(3 * power + 3);
    steps.rev().find(|step| round_number(*step) <= value).unwrap_or(3 * power)
}

/// Returns the step of the smallest round number that is at least a positive value.
fn step_up(value: f64) -> i32 {
    let down = step_down(value);
    if round_number(down) < value { down + 1 } else { down }
}

/// Returns the steps from `first` to `last`. If they are too many, returns only powers of ten, or
/// every second one, and so on.
fn labelled(first: i32, last: i32) -> impl Iterator<Item = i32> {
    let many = |every: i32| (first..=last).filter(move |step| step.rem_euclid(every) == 0);
    // Intervals of one step, one power of ten, two powers, and so on: doubles span some 630 powers
    // of ten.
    let every = (0..=630).map(|powers| (3 * powers).max(1)).find(|every| many(*every).count() <= MAX_TICKS);
    many(every.unwrap_or(1))
}

impl CurveLook {
    /// Returns the CSS class of elements in the curve's colour.
    fn class(self) -> &'static str {
        match self {
            Self::Square => "square",
            Self::Circle => "circle",
            Self::Triangle => "triangle",
        }
    }

    /// Returns the horizontal offset of the curve's marks where several would overlap, in pixels.
    fn offset(self) -> f64 {
        match self {
            Self::Square => -7.0,
            Self::Circle => 0.0,
            Self::Triangle => 7.0,
        }
    }
}

/// Draws a mark centred at a place.
fn marker(look: CurveLook, x: f64, y: f64) -> Markup {
    let around = |dx: f64, dy: f64| format!("{:.1} {:.1}", x + dx, y + dy);
    let corners = match look {
        CurveLook::Circle => return html! { circle cx=(tenth(x)) cy=(tenth(y)) r="4.5" {} },
        CurveLook::Square => [(-4.2, -4.2), (4.2, -4.2), (4.2, 4.2), (-4.2, 4.2)].as_slice(),
        CurveLook::Triangle => [(0.0, -5.6), (5.2, 4.0), (-5.2, 4.0)].as_slice(),
    };
    let corners: Vec<String> = corners.iter().map(|(dx, dy)| around(*dx, *dy)).collect();
    html! { polygon points=(corners.join(" ")) {} }
}

/// Replaces the characters that are invisible, reorder others, or are not allowed in XML by escapes
/// such as `\u{202e}`. Text that was escaped before stays as it is: backslashes are kept.
pub fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        let is_no_xml = matches!(character, '\u{fffe}' | '\u{ffff}');
        if character != '\\' && (must_be_escaped(character) || is_no_xml) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Wraps the harmless text to `columns`, at spaces if possible.
pub fn lines(text: &str, columns: usize) -> Vec<String> {
    let options = Options::new(columns)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::wrap(&harmless(text), options).into_iter().map(std::borrow::Cow::into_owned).collect()
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the places are exact")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn axis(values: &[f64]) -> PlotAxis {
        PlotAxis::of_values(values.iter().copied(), 300.0, 0.0)
    }

    #[test]
    fn an_axis_spans_round_numbers_and_labels_them() {
        assert_eq!(axis(&[16.0, 2400.0]).ticks(), [10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0]);
        assert_eq!(axis(&[1.0, 100_000.0]).ticks(), [1.0, 10.0, 100.0, 1000.0, 10_000.0, 100_000.0]);
        assert_eq!(axis(&[4.0, 6.0]).ticks(), [2.0, 5.0, 10.0, 20.0]);
        assert_eq!(axis(&[0.03]).ticks(), [0.01, 0.02, 0.05, 0.1]);
        assert!(axis(&[1e-300, 1e300]).ticks().len() <= MAX_TICKS);
    }

    #[test]
    fn zero_has_its_own_row_below_all_others() {
        let with = axis(&[0.0, 2.0, 20.0]);
        assert_eq!(with.ticks(), [0.0, 2.0, 5.0, 10.0, 20.0]);
        assert_eq!([0.0, 2.0, 20.0].map(|value| with.place(value)), [300.0, 276.0, 0.0]);
        assert_eq!(axis(&[0.0]).place(0.0), 300.0);
        assert_eq!(axis(&[]).ticks(), [1.0, 2.0, 5.0, 10.0]);
    }

    #[test]
    fn a_single_size_is_in_the_middle() {
        assert_eq!(PlotAxis::of_sizes(&[7], 0.0, 100.0).place(7.0), 50.0);
        let axis = PlotAxis::of_sizes(&[1, 10, 100], 0.0, 100.0);
        assert_eq!([1.0, 10.0, 100.0].map(|size| axis.place(size).round()), [0.0, 50.0, 100.0]);
        assert_eq!(PlotAxis::of_sizes(&[], 0.0, 100.0).ticks().len(), 0);
    }

    proptest! {
        #[test]
        fn every_value_has_a_place_on_the_axis(values in prop::collection::vec(0.0..1e12_f64, 0..10)) {
            let axis = axis(&values);
            let ticks = axis.ticks();
            prop_assert!(!ticks.is_empty() && ticks.len() <= MAX_TICKS + 1 && ticks.is_sorted(), "{:?}", ticks);
            for value in values {
                prop_assert!((0.0..=300.0).contains(&axis.place(value)), "{}", value);
            }
        }
    }

    #[test]
    fn invisible_and_invalid_characters_are_escaped_once() {
        let shown = harmless("a\u{202e}b\u{0}\u{1b}[2J\u{ffff}\n\\");
        assert_eq!(shown, r"a\u{202e}b\u{0}\u{1b}[2J\u{ffff}\u{a}\");
        assert_eq!(harmless(&shown), shown);
        assert_eq!(lines("one two three", 8), ["one two", "three"]);
    }
}
