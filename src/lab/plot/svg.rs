//! A page as one picture.

use maud::{Markup, PreEscaped, html};

use super::PlotPage;
use super::chart::{HEIGHT, WIDTH, chart};
use super::style;
use super::text::{harmless, lines};
use lockscope_model::text::{tenth, whole};

/// The distance from the picture's edges and between its charts, in pixels.
const MARGIN: f64 = 20.0;

/// The number of charts in a row.
const IN_A_ROW: usize = 2;

/// The distance of the conditions' values from their names' left edge, in pixels.
const VALUES_AT: f64 = 150.0;

/// Returns the picture as the text of an SVG file.
pub fn svg(page: &PlotPage) -> String {
    let width = 3.0 * MARGIN + 2.0 * WIDTH;
    let mut column = Column { y: 16.0, lines: Vec::new() };
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
        let mut beside = Column { y: column.y, lines: Vec::new() };
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
            style { (PreEscaped(style::of_picture() + HEADINGS)) }
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
struct Column {
    /// The bottom of the last line.
    y: f64,
    lines: Vec<Markup>,
}

impl Column {
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

#[cfg(test)]
mod tests {
    use super::super::testing::{hostile, page};
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
