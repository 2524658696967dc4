//! A comparison as a picture to keep, in SVG and HTML: charts over the number of clients, with the
//! conditions of the run. Pure.
//!
//! ```text
//! PlotPage -+-> svg()    title, summary, warnings, charts in a grid, conditions
//!           +-> html()   the same as a page, and the figures once more as a table
//! ```
//!
//! Architecture invariant: a file is self-contained. It has no script and refers to no other file,
//! font or server. Every text goes through `chart::harmless` and is escaped by `maud`, so that no
//! name becomes markup or changes the direction of the text after it. Every drawn figure has its
//! exact value beside its mark, in `data-value`.
//!
//! # Colours
//!
//! The light colours are the default and the dark ones apply only to screens that prefer them, so
//! paper is always light. Colours are literal because many image viewers do not support CSS
//! variables. The three curves also differ in lightness, for grey prints and for readers who cannot
//! tell their colours apart.
//!
//! # Why no library for charts
//!
//! Colours follow the reader's light or dark screen, and paper. Each mark has a tooltip, its exact
//! value and its own shape. Axes are logarithmic with a row for zero. `plotters` writes colours
//! into each element, and `poloto` and `charts-rs` have no logarithmic axes. The rest is the
//! arithmetic of the axes in `chart`.

mod chart;

use std::fmt::Write;

use maud::{Markup, PreEscaped, html};

use chart::{HEIGHT, WIDTH, chart, harmless, lines};
use lockscope_model::text::{html_page, tenth, whole};

#[cfg(test)]
mod testing;

#[cfg(test)]
mod html_tests;

/// The content of a plot file.
#[derive(Clone, Debug, PartialEq)]
pub struct PlotPage {
    /// The title: what is compared.
    pub title: String,
    /// The result of the comparison, in a sentence.
    pub summary: String,
    /// Problems and missing figures, a sentence each.
    pub warnings: Vec<String>,
    /// The charts, two in a row.
    pub charts: Vec<LineChart>,
    /// The figures of the charts, and others.
    pub table: PlotTable,
    /// The names and values of the conditions on which the figures depend.
    pub conditions: Vec<(String, String)>,
}

/// Curves over the number of clients. Both axes are logarithmic: a power of the number of clients
/// is a straight line. Zero has its own row.
#[derive(Clone, Debug, PartialEq)]
pub struct LineChart {
    /// An id that is unique on the page, in small letters and hyphens.
    pub id: &'static str,
    /// The title: what the chart shows.
    pub title: String,
    /// The description in a sentence or two, with the model's assumptions.
    pub description: String,
    /// The unit of the values.
    pub unit: PlotUnit,
    /// The name of the calculated curves, in the legend and in their tooltips.
    pub calculated: &'static str,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// The unit of a chart's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotUnit {
    /// A count without a unit.
    Number,
    /// Milliseconds.
    Milliseconds,
}

/// The shape of a curve's marks, which distinguishes it also without colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurveLook {
    /// Filled squares.
    Square,
    /// Hollow circles.
    Circle,
    /// Filled triangles.
    Triangle,
}

/// A line through points.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The name in the legend.
    pub name: String,
    /// The colour and the marks.
    pub look: CurveLook,
    /// Whether the curve is calculated rather than measured. Calculated curves are dashed.
    pub is_model: bool,
    /// The points in any order; there may be none.
    pub points: Vec<CurvePoint>,
}

/// A point of a curve, from one run.
#[derive(Clone, Debug, PartialEq)]
pub struct CurvePoint {
    /// The number of clients.
    pub clients: u32,
    /// The value through which the curve passes.
    pub value: PlotValue,
    /// Further values of the same run, drawn as ticks of a line through the point.
    pub others: Vec<PlotValue>,
}

/// A figure with its name and its text.
#[derive(Clone, Debug, PartialEq)]
pub struct PlotValue {
    /// The field's name in the JSON: `wait_ms.p50`.
    pub field: &'static str,
    /// The value, zero or above. Values that are not finite are not drawn.
    pub exact: f64,
    /// The value as text for people.
    pub shown: String,
}

/// The table of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct PlotTable {
    /// The table's caption.
    pub caption: String,
    /// The titles of the columns; the first two are those of `clients` and `name` of a row.
    pub columns: Vec<&'static str>,
    /// The rows, one for each fleet.
    pub rows: Vec<PlotRow>,
}

/// The outcome of one fleet.
#[derive(Clone, Debug, PartialEq)]
pub struct PlotRow {
    /// The number of the fleet's clients.
    pub clients: u32,
    /// The fleet's name.
    pub name: String,
    /// The fleet's figures; `None` if one is unknown.
    pub values: Vec<Option<PlotValue>>,
}

impl LineChart {
    /// Returns every number of clients with a point, the smallest first.
    fn sizes(&self) -> Vec<u32> {
        let points = self.curves.iter().flat_map(|curve| &curve.points);
        let mut sizes: Vec<u32> = points.map(|point| point.clients).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Returns every finite value.
    fn values(&self) -> impl Iterator<Item = f64> {
        let points = self.curves.iter().flat_map(|curve| &curve.points);
        points.flat_map(CurvePoint::values).map(|value| value.exact).filter(|value| value.is_finite())
    }
}

impl CurvePoint {
    fn values(&self) -> impl Iterator<Item = &PlotValue> {
        std::iter::once(&self.value).chain(&self.others)
    }
}

/// The distance from the picture's edges and between its charts, in pixels.
const MARGIN: f64 = 20.0;

/// The number of charts in a row.
const IN_A_ROW: usize = 2;

/// The distance of the conditions' values from their names' left edge, in pixels.
const VALUES_AT: f64 = 150.0;

/// Returns the picture as the text of an SVG file.
pub fn svg(page: &PlotPage) -> String {
    let width = 3.0 * MARGIN + 2.0 * WIDTH;
    let mut column = FigureColumn { y: 16.0, lines: Vec::new() };
    column.add(&[page.title.as_str()], 90, 30.0, "heading");
    column.y += 4.0;
    column.add(&[page.summary.as_str()], 140, 22.0, "summary");
    column.y += 2.0;
    let warnings: Vec<&str> = page.warnings.iter().map(String::as_str).collect();
    column.add(&warnings, 160, 19.0, "warning");
    let first = column.y + 12.0;
    let mut charts = Vec::new();
    for (row, pair) in page.charts.chunks(IN_A_ROW).enumerate() {
        let y = first + whole(row) * (HEIGHT + MARGIN);
        charts.extend(pair.iter().enumerate().map(|(at, line_chart)| {
            let x = MARGIN + whole(at) * (WIDTH + MARGIN);
            chart(line_chart, (x, y))
        }));
    }
    column.y = first + whole(page.charts.len().div_ceil(IN_A_ROW)) * (HEIGHT + MARGIN);
    // The conditions are in two columns.
    let (left, right) = page.conditions.split_at(page.conditions.len().div_ceil(2));
    let bottoms = [left, right].into_iter().enumerate().map(|(at, half)| {
        let mut beside = FigureColumn { y: column.y, lines: Vec::new() };
        for (name, value) in half {
            beside.pair(MARGIN + whole(at) * (WIDTH + MARGIN), name, value);
        }
        column.lines.append(&mut beside.lines);
        beside.y
    });
    let height = tenth(bottoms.fold(0.0, f64::max) + MARGIN);
    let picture = html! {
        svg class="picture" xmlns="http://www.w3.org/2000/svg" width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) }
            role="img" aria-labelledby="title description" {
            title id="title" { (harmless(&page.title)) }
            desc id="description" { (harmless(&description(page))) }
            style { (PreEscaped(picture_style() + HEADINGS)) }
            rect class="paper" width="100%" height="100%" {}
            @for line in &column.lines { (line) }
            @for chart in &charts { (chart) }
        }
    };
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", picture.into_string())
}

/// The headings, and the rule that a printed picture fills the page's width.
const HEADINGS: &str = ".heading{font-size:24px;font-weight:600}.summary{font-size:16px}\
    @page{margin:10mm}@media print{.picture{width:100%;height:auto}}";

/// Returns the description for screen readers.
fn description(page: &PlotPage) -> String {
    let charts: Vec<&str> = page.charts.iter().map(|chart| chart.title.as_str()).collect();
    let conditions: Vec<String> = page.conditions.iter().map(|(name, value)| format!("{name}: {value}.")).collect();
    let parts = [page.summary.clone(), page.warnings.join(" "), format!("Charts: {}.", charts.join("; "))];
    let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    format!("{} {}", parts.join(" "), conditions.join(" "))
}

/// A column of lines of text.
struct FigureColumn {
    /// The bottom of the last line.
    y: f64,
    lines: Vec<Markup>,
}

impl FigureColumn {
    /// Adds texts of one class, each wrapped to at most `characters`.
    fn add(&mut self, texts: &[&str], characters: usize, height: f64, class: &str) {
        for line in texts.iter().flat_map(|text| lines(text, characters)) {
            self.y += height;
            self.lines.push(html! { text class=(class) x=(MARGIN + 12.0) y=(tenth(self.y)) { (line) } });
        }
    }

    /// Adds a name and its value, `from` pixels from the left.
    fn pair(&mut self, from: f64, name: &str, value: &str) {
        let x = from + 12.0;
        for (at, line) in lines(value, 56).into_iter().enumerate() {
            self.y += 19.0;
            let y = tenth(self.y);
            self.lines.push(html! {
                @if at == 0 { text class="muted" x=(x) y=(y) { (harmless(name)) } }
                text x=(x + VALUES_AT) y=(y) { (line) }
            });
        }
    }
}

/// Returns the page as the text of an HTML file.
pub fn html(page: &PlotPage) -> String {
    let PlotPage { title, summary, warnings, charts, table, conditions } = page;
    let body = html! {
        main {
            h1 { (harmless(title)) }
            p class="summary" { (harmless(summary)) }
            @for warning in warnings { p class="warning" { (harmless(warning)) } }
            div class="charts" {
                @for line_chart in charts { figure { (chart(line_chart, (0.0, 0.0))) } }
            }
            @if !table.rows.is_empty() {
                h2 { "Figures" }
                div class="table" { (figures(table)) }
            }
            h2 { "Conditions" }
            dl {
                @for (name, value) in conditions { dt { (harmless(name)) } dd { (harmless(value)) } }
            }
            @if !charts.is_empty() { (what_is_drawn(page)) }
        }
    };
    html_page(&harmless(title), &page_style(), &body)
}

/// Describes each chart for readers who do not see it, and its model's assumptions for all.
fn what_is_drawn(page: &PlotPage) -> Markup {
    html! {
        h2 { "What is drawn" }
        dl {
            @for chart in &page.charts { dt { (harmless(&chart.title)) } dd { (harmless(&chart.description)) } }
        }
    }
}

fn figures(table: &PlotTable) -> Markup {
    let begins_size = |at: usize| at == 0 || table.rows[at - 1].clients != table.rows[at].clients;
    html! {
        table {
            caption { (harmless(&table.caption)) }
            thead {
                tr {
                    @for (at, column) in table.columns.iter().enumerate() {
                        th scope="col" class=[(at == 1).then_some("name")] { (column) }
                    }
                }
            }
            tbody {
                @for (at, row) in table.rows.iter().enumerate() {
                    tr class=[begins_size(at).then_some("first")] data-fleet=(harmless(&row.name)) data-clients=(row.clients) {
                        td { (lockscope_model::text::human::count(row.clients)) }
                        th scope="row" class="name" { (harmless(&row.name)) }
                        @for value in &row.values {
                            @match value {
                                Some(value) => td data-field=(value.field) data-value=(value.exact) { (harmless(&value.shown)) },
                                None => td { "-" },
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The colours of a page.
struct PlotPalette {
    paper: &'static str,
    ink: &'static str,
    /// The colour of secondary text: labels of axes, conditions.
    muted: &'static str,
    /// The colour of the grid lines.
    grid: &'static str,
    square: &'static str,
    circle: &'static str,
    triangle: &'static str,
    /// The colour of warnings.
    warning: &'static str,
}

const LIGHT: PlotPalette = PlotPalette {
    paper: "#ffffff",
    ink: "#1b1f24",
    muted: "#505a64",
    grid: "#dde1e6",
    square: "#8f2a00",
    circle: "#0b6bc2",
    triangle: "#2a9d74",
    warning: "#8a1f11",
};

const DARK: PlotPalette = PlotPalette {
    paper: "#0f141a",
    ink: "#e8ecf0",
    muted: "#a9b4c0",
    grid: "#2c343d",
    square: "#ff8f57",
    circle: "#5aa9ff",
    triangle: "#8be8c0",
    warning: "#ffb4a6",
};

/// The rules that pictures and pages share, except colours.
const SHAPES: &str = "\
text{font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",\"Liberation Sans\",Arial,sans-serif;font-size:13px}\
.chart-title{font-size:15px;font-weight:600}\
.value{text-anchor:end}.size{text-anchor:middle}\
.grid line{stroke-width:1}\
.curve{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}\
.curve.model,.key{stroke-width:1.5}\
.model.square,.key{stroke-dasharray:7 5}.model.circle{stroke-dasharray:2 4}.model.triangle{stroke-dasharray:9 4 2 4}\
.mark line,.chart>g>line{stroke-width:1.5}\
.mark polygon,.mark circle,.chart>g>polygon,.chart>g>circle{stroke-width:2}\
.hidden{opacity:0}";

fn colours(palette: &PlotPalette) -> String {
    let PlotPalette { paper, ink, muted, grid, square, circle, triangle, warning } = palette;
    let mut rules = format!(
        "text{{fill:{ink}}}.muted,.grid text{{fill:{muted}}}.warning{{fill:{warning};color:{warning}}}\
         .paper{{fill:{paper}}}.grid line{{stroke:{grid}}}.grid .base{{stroke:{muted}}}.key{{stroke:{ink}}}"
    );
    // Only circles are hollow.
    for (class, colour, inside) in
        [("square", square, square), ("circle", circle, paper), ("triangle", triangle, triangle)]
    {
        // Writing to a String cannot fail.
        let _ = write!(
            rules,
            ".{class}{{stroke:{colour}}}.{class} line{{stroke:{colour}}}\
             .{class} polygon,.{class} circle{{stroke:{colour};fill:{inside}}}"
        );
    }
    rules
}

/// Returns the CSS rules of a picture.
fn picture_style() -> String {
    format!("{SHAPES}{}@media screen and (prefers-color-scheme:dark){{{}}}", colours(&LIGHT), colours(&DARK))
}

/// Returns the CSS rules of a page.
fn page_style() -> String {
    format!(
        "{PAGE}{}{}@media screen and (prefers-color-scheme:dark){{{}}}",
        picture_style(),
        text_style(&LIGHT),
        text_style(&DARK)
    )
}

fn text_style(PlotPalette { paper, ink, muted, grid, .. }: &PlotPalette) -> String {
    format!(
        "body{{background:{paper};color:{ink}}}dt,caption,footer{{color:{muted}}}\
         th,td{{border-color:{grid}}}thead th{{border-color:{muted}}}"
    )
}

/// The layout rules of a page.
const PAGE: &str = "\
:root{color-scheme:light dark}\
body{margin:0 auto;padding:1.5rem;max-width:76rem;font:16px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",\
\"Liberation Sans\",Arial,sans-serif}\
h1{font-size:1.6rem;line-height:1.25;margin:0 0 .5rem}h2{font-size:1.2rem;margin:2rem 0 .5rem}\
.summary{font-size:1.1rem;margin:.5rem 0}.warning{margin:.25rem 0}\
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,32rem),1fr));gap:1rem;margin-top:1rem}\
figure{margin:0;break-inside:avoid}figure svg{display:block;width:100%;height:auto}\
.table{overflow-x:auto}\
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums;width:100%}\
caption{text-align:left;padding-bottom:.4rem}\
th,td{padding:.25rem .6rem;border-bottom:1px solid;text-align:right;white-space:nowrap}\
thead th{vertical-align:bottom;white-space:normal;border-bottom-width:2px}\
th.name{text-align:left}tbody th{font-weight:600}tr.first td,tr.first th{border-top:2px solid}tr.first th,tr.first td{border-top-color:inherit}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1.2rem;margin:0}dd{margin:0;overflow-wrap:anywhere}\
@page{size:A4 landscape;margin:10mm}\
@media print{:root{font-size:11px}body{padding:0;max-width:none;font-size:1rem}.table{overflow:visible}.charts{grid-template-columns:1fr 1fr;gap:.2rem}\
figure svg{max-height:76mm}h2{break-after:avoid;margin-top:1rem}thead{display:table-header-group}tr{break-inside:avoid}}";

#[cfg(test)]
mod tests {
    use super::testing::{hostile, page};
    use super::*;

    #[test]
    fn a_picture_is_valid_xml_without_external_references() {
        let text = svg(&page(&[1, 2, 10]));
        let document = roxmltree::Document::parse(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
        assert_eq!(document.root_element().tag_name().name(), "svg");
        for node in document.descendants().filter(roxmltree::Node::is_element) {
            assert!(!matches!(node.tag_name().name(), "script" | "image" | "a" | "use" | "foreignObject"));
            assert!(
                node.attributes().all(|attribute| attribute.name() != "href" && !attribute.name().starts_with("on"))
            );
        }
        assert!(!text.contains("url(") && !text.contains("@import"));
        assert_eq!(text.matches("http").count(), 1, "only the name of the language");
    }

    #[test]
    fn zeros_single_sizes_and_missing_figures_are_drawn() {
        let mut pages = [page(&[]), page(&[7]), page(&[1, 5000]), page(&[1, 2, 3])];
        pages[2].charts[0].curves[0].points[0].value.exact = 0.0;
        pages[2].charts[0].curves[1].points[1].value.exact = f64::NAN;
        pages[3].charts[0].curves[0].points.remove(1);
        for page in &pages {
            let text = svg(page);
            let document = roxmltree::Document::parse(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
            let places = document.descendants().flat_map(|node| node.attributes());
            for place in places.filter(|attribute| !attribute.name().starts_with("data-")) {
                assert!(!place.value().contains("NaN") && !place.value().contains("inf"), "{place:?}");
            }
        }
        // A missing size also leaves a gap in the line.
        let text = svg(&pages[3]);
        let document = roxmltree::Document::parse(&text).expect("XML");
        let line = document.descendants().find(|node| node.attribute("class") == Some("curve square")).expect("a line");
        assert_eq!(
            line.attribute("d").map(|path| (path.matches('M').count(), path.matches('L').count())),
            Some((2, 0))
        );
    }

    #[test]
    fn marks_and_labels_stay_within_the_picture() {
        let text = svg(&page(&[1, 2, 5, 10, 20, 50, 100, 5000]));
        let document = roxmltree::Document::parse(&text).expect("XML");
        let number =
            |node: roxmltree::Node<'_, '_>, name| node.attribute(name).and_then(|value: &str| value.parse().ok());
        let chart = document.descendants().find(|node| node.attribute("class") == Some("chart")).expect("a chart");
        for node in chart.descendants() {
            for (name, most) in [("x", WIDTH), ("cx", WIDTH), ("y", HEIGHT), ("cy", HEIGHT), ("y2", HEIGHT)] {
                let place: Option<f64> = number(node, name);
                assert!(node == chart || place.is_none_or(|place| (0.0..=most).contains(&place)), "{name} of {node:?}");
            }
        }
        let labels: Vec<f64> = chart
            .descendants()
            .filter(|node| node.attribute("class") == Some("size"))
            .filter_map(|node| number(node, "x"))
            .collect();
        // The last label is the axis' title.
        let labels = &labels[..labels.len() - 1];
        assert!(labels.windows(2).all(|pair| pair[1] - pair[0] >= 8.0), "{labels:?}");
    }

    #[test]
    fn hostile_names_stay_text() {
        let text = svg(&hostile());
        let document = roxmltree::Document::parse(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
        assert!(document.descendants().all(|node| !matches!(node.tag_name().name(), "script" | "img")));
        assert!(!text.contains("<script") && text.contains("&lt;script&gt;") && text.contains(r"\u{202e}"), "{text}");
    }
}
