//! A comparison as a picture to keep, in SVG and HTML: charts over the number of clients, with the
//! conditions of the run. Pure.
//!
//! ```text
//! PlotPage -+-> svg()    title, summary, warnings, charts in a grid, conditions
//!           +-> html()   the same as a page, and the figures once more as a table
//! ```
//!
//! Architecture invariant: a file is self-contained. It has no script and refers to no other file,
//! font or server. Every text goes through `text::harmless` and is escaped by `maud`, so that no
//! name becomes markup or changes the direction of the text after it. Every drawn figure has its
//! exact value beside its mark, in `data-value`.
//!
//! # Why no library for charts
//!
//! Colours follow the reader's light or dark screen, and paper. Each mark has a tooltip, its exact
//! value and its own shape. Axes are logarithmic with a row for zero. `plotters` writes colours
//! into each element, and `poloto` and `charts-rs` have no logarithmic axes. The rest is the
//! arithmetic in `axis`.

mod axis;
mod chart;
mod html;
mod marker;
mod style;
mod svg;
#[cfg(test)]
mod testing;
mod text;

pub use html::html;
pub use svg::svg;

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
    /// Higher values of the same run, drawn as a line upwards.
    pub above: Vec<PlotValue>,
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
        std::iter::once(&self.value).chain(&self.above)
    }
}
