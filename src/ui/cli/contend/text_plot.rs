//! Plots two curves over the number of clients with characters. Both axes are logarithmic: a herd's
//! cost grows with a power of its size, which is then a straight line.

use lockscope_model::text::Charset;
use lockscope_model::text::human::{count, ratio};

const ROWS: usize = 8;
/// The columns of the plot, without the labels of the axis.
const COLUMNS: usize = 60;

/// The characters of a plot. Herd and chain differ in shape, not only in colour.
#[derive(Clone, Copy)]
struct Glyphs {
    herd: char,
    chain: char,
    both: char,
    between: char,
    axis: char,
    corner: char,
    base: char,
}

const UNICODE: Glyphs =
    Glyphs { herd: '■', chain: '○', both: '◘', between: '·', axis: '│', corner: '└', base: '─' };
const ASCII: Glyphs = Glyphs { herd: 'H', chain: 'c', both: '*', between: '.', axis: '|', corner: '+', base: '-' };

fn glyphs(charset: Charset) -> Glyphs {
    match charset {
        Charset::Unicode => UNICODE,
        Charset::Ascii => ASCII,
    }
}

/// The figures of a herd and a chain of one size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub clients: u32,
    pub herd: f64,
    pub chain: f64,
}

/// Explains the characters of all plots.
pub(super) fn legend(charset: Charset) -> String {
    let Glyphs { herd, chain, both, .. } = glyphs(charset);
    format!("{herd} herd  {chain} chain  {both} both, over the number of clients; both axes are logarithmic")
}

/// Returns the plot below its title. Zeros have no place on a logarithmic axis and are left out.
/// Without two sizes there is nothing to plot, and the text is empty.
pub(super) fn plot(title: &str, points: &[Point], charset: Charset) -> String {
    let mut points = points.to_vec();
    points.sort_by_key(|point| point.clients);
    let values = || points.iter().flat_map(|point| [point.herd, point.chain]).filter(|value| *value > 0.0);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    if points.len() < 2 || high <= 0.0 {
        return String::new();
    }
    let glyphs = glyphs(charset);
    let x_axis = LogAxis::new(f64::from(points[0].clients), f64::from(points[points.len() - 1].clients), COLUMNS);
    let y_axis = LogAxis::new(low, high, ROWS);
    let mut canvas = Canvas { cells: vec![[' '; COLUMNS]; ROWS], glyphs };
    let curve = |value: fn(&Point) -> f64| -> Vec<(usize, f64)> {
        let known = points.iter().filter(|point| value(point) > 0.0);
        known.map(|point| (x_axis.cell(f64::from(point.clients)), y_axis.exact(value(point)))).collect()
    };
    for (curve, glyph) in [(curve(|point| point.herd), glyphs.herd), (curve(|point| point.chain), glyphs.chain)] {
        canvas.draw(&curve, glyph);
    }
    canvas.text(title, [low, high], &points, &x_axis)
}

/// A logarithmic axis between two values, in cells.
struct LogAxis {
    low: f64,
    range: f64,
    cells: usize,
}

impl LogAxis {
    fn new(low: f64, high: f64, cells: usize) -> Self {
        // Equal values are drawn at the axis.
        Self { low: low.ln(), range: (high.ln() - low.ln()).max(f64::MIN_POSITIVE), cells }
    }

    /// Returns the position of a value, in cells from the axis.
    #[expect(clippy::cast_precision_loss, reason = "a plot has few cells")]
    fn exact(&self, value: f64) -> f64 {
        ((value.ln() - self.low) / self.range).clamp(0.0, 1.0) * (self.cells - 1) as f64
    }

    fn cell(&self, value: f64) -> usize {
        nearest(self.exact(value))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a plot has few cells, and none is negative"
)]
fn nearest(place: f64) -> usize {
    place.round() as usize
}

/// The drawn cells, the lowest row first.
struct Canvas {
    cells: Vec<[char; COLUMNS]>,
    glyphs: Glyphs,
}

impl Canvas {
    /// Draws a curve through its points: a column, and a fractional row.
    fn draw(&mut self, curve: &[(usize, f64)], glyph: char) {
        for pair in curve.windows(2) {
            let ((from, start), (to, end)) = (pair[0], pair[1]);
            for column in from + 1..to {
                #[expect(clippy::cast_precision_loss, reason = "a plot has few cells")]
                let part = (column - from) as f64 / (to - from) as f64;
                let cell = &mut self.cells[nearest(start + (end - start) * part)][column];
                if *cell == ' ' {
                    *cell = self.glyphs.between;
                }
            }
        }
        for (column, row) in curve {
            let cell = &mut self.cells[nearest(*row)][*column];
            let is_taken = *cell == self.glyphs.herd && glyph != self.glyphs.herd;
            *cell = if is_taken { self.glyphs.both } else { glyph };
        }
    }

    fn text(&self, title: &str, [low, high]: [f64; 2], points: &[Point], x_axis: &LogAxis) -> String {
        let Glyphs { axis, corner, base, .. } = self.glyphs;
        let labels = [ratio(high), ratio(low)];
        let width = labels.iter().map(String::len).max().unwrap_or_default();
        let mut text = format!("{title}\n");
        for (row, cells) in self.cells.iter().enumerate().rev() {
            let label = match row {
                0 => &labels[1],
                _ if row == ROWS - 1 => &labels[0],
                _ => "",
            };
            let cells: String = cells.iter().collect();
            text += format!("{label:>width$} {axis}{cells}").trim_end();
            text.push('\n');
        }
        let (margin, line) = (" ".repeat(width), base.to_string().repeat(COLUMNS));
        text + &format!("{margin} {corner}{line}\n{margin}  {}\n", sizes(points, x_axis))
    }
}

/// Returns the numbers of clients below their places. A label that would touch the previous one is
/// left out, except the last.
fn sizes(points: &[Point], x_axis: &LogAxis) -> String {
    let labels = points.iter().map(|point| {
        let label = count(point.clients);
        let place = x_axis.cell(f64::from(point.clients));
        // The last label ends below its place.
        (place.min(COLUMNS.saturating_sub(label.len())), label)
    });
    let labels: Vec<(usize, String)> = labels.collect();
    let last = labels.last().map_or(0, |(place, _)| *place);
    let mut line = String::new();
    for (at, (place, label)) in labels.iter().enumerate() {
        let is_last = at + 1 == labels.len();
        let fits = (line.is_empty() || line.len() < *place) && (is_last || place + label.len() < last);
        if fits {
            line += &" ".repeat(place - line.len());
            line += label;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn points(sizes: &[u32]) -> Vec<Point> {
        let point = |clients: u32| Point { clients, herd: 4000.0 / f64::from(clients), chain: 1200.0 };
        sizes.iter().copied().map(point).collect()
    }

    #[test]
    fn a_herd_that_slows_down_is_a_falling_line() {
        let points = points(&[50, 2, 5, 10, 25]);
        insta::assert_snapshot!(plot("per second", &points, Charset::Unicode), @r"
        per second
        2 000 │■····
              │○················○············○···············○············○
              │             ····■····
              │                      ········■
              │                               ········
              │                                       ·······■
              │                                               ········
         80.0 │                                                       ····■
              └────────────────────────────────────────────────────────────
               2                5            10              25          50
        ");
        insta::assert_snapshot!(plot("per second", &points, Charset::Ascii), @r"
        per second
        2 000 |H....
              |c................c............c...............c............c
              |             ....H....
              |                      ........H
              |                               ........
              |                                       .......H
              |                                               ........
         80.0 |                                                       ....H
              +------------------------------------------------------------
               2                5            10              25          50
        ");
    }

    #[test]
    fn there_is_no_plot_of_one_size_or_of_nothing() {
        assert_eq!(plot("", &points(&[7]), Charset::Ascii), "");
        assert_eq!(plot("", &[], Charset::Ascii), "");
        let nothing = [2, 3].map(|clients| Point { clients, herd: 0.0, chain: 0.0 });
        assert_eq!(plot("", &nothing, Charset::Ascii), "");
    }

    proptest! {
        #[test]
        fn any_figures_fit_into_eighty_columns(
            sizes in prop::collection::vec((1_u32..=5000, 0.0..1e7_f64, 0.0..1e7_f64), 0..20),
        ) {
            let points: Vec<Point> =
                sizes.into_iter().map(|(clients, herd, chain)| Point { clients, herd, chain }).collect();
            let text = plot("per second", &points, Charset::Ascii);
            prop_assert!(text.is_ascii() && text.lines().all(|line| line.len() <= 80), "{}", text);
        }
    }
}
