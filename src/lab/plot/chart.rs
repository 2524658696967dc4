//! One chart as an `svg` element.

use std::fmt::Write;

use maud::{Markup, html};

use super::axis::PlotAxis;
use super::marker::marker;
use super::text::harmless;
use super::{Curve, CurvePoint, LineChart, PlotUnit, PlotValue};
use lockscope_model::text::human::count;
use lockscope_model::text::tenth;

/// The size of a chart, in pixels of its own.
pub(super) const WIDTH: f64 = 580.0;
pub(super) const HEIGHT: f64 = 372.0;

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
pub(super) fn chart(chart: &LineChart, (x, y): (f64, f64)) -> Markup {
    let sizes = chart.sizes();
    let x_axis = PlotAxis::of_sizes(&sizes, LEFT + PADDING, RIGHT - PADDING);
    let y_axis = PlotAxis::of_values(chart.values(), BOTTOM, TOP);
    let has_lines_upwards = chart.curves.iter().flat_map(|curve| &curve.points).any(|point| !point.above.is_empty());
    let drawing = Drawing { chart, sizes, has_lines_upwards, x_axis, y_axis };
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
    has_lines_upwards: bool,
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
        let offset = if self.has_lines_upwards { curve.look.offset() } else { 0.0 };
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

    /// Draws a measured point, the values above it, and its tooltip.
    fn mark(&self, curve: &Curve, point: &CurvePoint) -> Markup {
        let mut known = point.values().filter(|value| value.exact.is_finite());
        let Some(value) = known.next() else { return html! {} };
        let (x, y) = self.at(curve, point.clients, value.exact);
        let above: Vec<(&PlotValue, f64)> =
            known.map(|value| (value, self.at(curve, point.clients, value.exact).1)).collect();
        html! {
            g class={ "mark " (curve.look.class()) } data-fleet=(harmless(&curve.name)) data-clients=(point.clients) {
                title { (tooltip(self.chart, curve, point)) }
                @if let Some((_, top)) = above.last() {
                    line x1=(tenth(x)) y1=(tenth(y)) x2=(tenth(x)) y2=(tenth(*top)) {}
                }
                @for (value, y) in &above {
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
