//! Colours, lines and fonts, as rules for the classes that charts and pages use.
//!
//! The light colours are the default and the dark ones apply only to screens that prefer them, so
//! paper is always light. Colours are literal because many image viewers do not support CSS
//! variables. The three curves also differ in lightness, for grey prints and for readers who cannot
//! tell their colours apart.

use std::fmt::Write;

/// The colours of a page.
struct Palette {
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

const LIGHT: Palette = Palette {
    paper: "#ffffff",
    ink: "#1b1f24",
    muted: "#505a64",
    grid: "#dde1e6",
    square: "#8f2a00",
    circle: "#0b6bc2",
    triangle: "#2a9d74",
    warning: "#8a1f11",
};

const DARK: Palette = Palette {
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

fn colours(palette: &Palette) -> String {
    let Palette { paper, ink, muted, grid, square, circle, triangle, warning } = palette;
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
pub(super) fn of_picture() -> String {
    format!("{SHAPES}{}@media screen and (prefers-color-scheme:dark){{{}}}", colours(&LIGHT), colours(&DARK))
}

/// Returns the CSS rules of a page.
pub(super) fn of_page() -> String {
    format!(
        "{PAGE}{}{}@media screen and (prefers-color-scheme:dark){{{}}}",
        of_picture(),
        of_text(&LIGHT),
        of_text(&DARK)
    )
}

fn of_text(Palette { paper, ink, muted, grid, .. }: &Palette) -> String {
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
