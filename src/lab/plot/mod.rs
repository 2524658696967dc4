//! A comparison as a picture to keep: charts over the number of clients, with the conditions of the run written on them, as SVG
//! and as HTML. Pure.
//!
//! ```text
//! PlotPage -+-> svg()    title, summary, warnings, charts in a grid, conditions
//!           +-> html()   the same as a page, and the figures once more as a table
//! ```
//!
//! Architecture invariant: a file needs nothing but itself. It has no script, and it names no other file, no font and no server. Every
//! text goes through `text::harmless` and is escaped by `maud`, so that no name becomes markup or turns the direction of what
//! follows. Every figure that is drawn stands beside its mark, exactly, in `data-value`.
//!
//! # Why no library for charts
//!
//! The colours are those of the reader's light or dark screen, and of paper; each mark has a tooltip, its exact value and a shape
//! of its own; and axes are logarithmic with a row for zero. `plotters` writes colours into each element, `poloto` and `charts-rs`
//! have no logarithmic axes, and what remains is the arithmetic of `axis`.

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

/// What a plot file shows.
#[derive(Clone, Debug, PartialEq)]
pub struct PlotPage {
    /// What is compared.
    pub title: String,
    /// What the figures show, in a sentence.
    pub summary: String,
    /// What went wrong or is missing, a sentence each.
    pub warnings: Vec<String>,
    /// The charts, two in a row.
    pub charts: Vec<LineChart>,
    /// The figures of the charts, and others.
    pub table: PlotTable,
    /// Names and values of what the figures depend on.
    pub conditions: Vec<(String, String)>,
}

/// Curves over the number of clients. Both axes are logarithmic: what grows with a power of the number of clients is a straight
/// line. Zero has a row of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct LineChart {
    /// A name that no other chart of the page has, in small letters and hyphens.
    pub id: &'static str,
    /// What is drawn.
    pub title: String,
    /// The same in a sentence or two, with what the model assumes.
    pub description: String,
    /// In what the values are given.
    pub unit: PlotUnit,
    /// All curves.
    pub curves: Vec<Curve>,
}

/// What the values of a chart are given in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotUnit {
    /// Nothing: they are counted.
    Number,
    /// Milliseconds.
    Milliseconds,
}

/// How a curve is told from the others, also without colour.
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
    /// What it belongs to, as in the legend.
    pub name: String,
    /// Its colour and its marks.
    pub look: CurveLook,
    /// Whether it is calculated and not measured: it is dashed then.
    pub is_model: bool,
    /// In any order; there may be none.
    pub points: Vec<CurvePoint>,
}

/// What one run adds to a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct CurvePoint {
    /// The number of clients.
    pub clients: u32,
    /// What the curve passes through.
    pub value: PlotValue,
    /// Higher ones, drawn as a line upwards.
    pub above: Vec<PlotValue>,
}

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct PlotValue {
    /// Its name, as in the JSON: `wait_ms.p50`.
    pub field: &'static str,
    /// Zero or above. What is not finite is not drawn.
    pub exact: f64,
    /// As people read it.
    pub shown: String,
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct PlotTable {
    /// What it lists.
    pub caption: String,
    /// The titles of the columns; the first two are those of `clients` and `name` of a row.
    pub columns: Vec<&'static str>,
    /// One a fleet.
    pub rows: Vec<PlotRow>,
}

/// What one fleet came to.
#[derive(Clone, Debug, PartialEq)]
pub struct PlotRow {
    /// How many clients it had.
    pub clients: u32,
    /// Its name.
    pub name: String,
    /// Its figures; `None` where one is not known.
    pub values: Vec<Option<PlotValue>>,
}

impl LineChart {
    /// Every number of clients of which something is known, the smallest first.
    fn sizes(&self) -> Vec<u32> {
        let points = self.curves.iter().flat_map(|curve| &curve.points);
        let mut sizes: Vec<u32> = points.map(|point| point.clients).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Every value that can be drawn.
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
