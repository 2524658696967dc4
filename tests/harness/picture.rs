//! Renders a screen as SVG.

use std::collections::BTreeMap;
use std::fmt::Write;

use vt100::{Cell, Color, Screen};

const CELL: (f32, f32) = (8.4, 18.0);
const MARGIN: f32 = 14.0;
const BACKGROUND: &str = "#14171c";
const FOREGROUND: &str = "#d7dae0";
const FONT: &str = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace";

/// The sixteen colours of the picture's terminal.
const PALETTE: [&str; 16] = [
    "#14171c", "#e06c75", "#8cc570", "#d9a75c", "#61a0ef", "#c678dd", "#56b6c2", "#c8ccd4", "#7b8494", "#f08a92",
    "#a8d98f", "#f0c987", "#8fbdf7", "#d9a0ea", "#7fd0da", "#ffffff",
];

/// Returns the lines of a picture without the parts that differ from run to run: numbers, times,
/// ids, addresses, sparklines and the order of rows.
pub fn lines(svg: &str) -> Vec<String> {
    let mut rows = BTreeMap::<&str, Vec<String>>::new();
    for line in svg.lines().filter(|line| line.starts_with("<text ")) {
        let row = line.split(" y=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
        let text = line.split_once('>').and_then(|(_, rest)| rest.rsplit_once("</text>")).map_or("", |(text, _)| text);
        let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        rows.entry(row).or_default().extend(text.split_whitespace().filter(|word| stays(word)).map(str::to_owned));
    }
    let mut lines: Vec<_> = rows.into_values().map(|words| words.join(" ")).filter(|line| !line.is_empty()).collect();
    lines.sort();
    lines
}

/// Returns whether a word is the same in every run.
fn stays(word: &str) -> bool {
    let letters = word.trim_matches(|letter: char| !letter.is_alphabetic());
    !letters.is_empty() && !word.contains(|letter: char| letter.is_ascii_digit())
}

/// Renders the screen.
pub fn svg(screen: &Screen) -> String {
    let (rows, columns) = screen.size();
    let width = f32::from(columns.get()) * CELL.0 + 2.0 * MARGIN;
    let height = f32::from(rows.get()) * CELL.1 + 2.0 * MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" font-family=\"{FONT}\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n"
    );
    for row in 0..rows.get() {
        draw_row(&mut out, screen, row, columns.get());
    }
    out.push_str("</svg>\n");
    out
}

fn draw_row(out: &mut String, screen: &Screen, row: u16, columns: u16) {
    let top = f32::from(row) * CELL.1 + MARGIN;
    let mut column = 0;
    while column < columns {
        let Some(first) = screen.cell(row, column) else { return };
        let mut text = String::new();
        let start = column;
        while let Some(cell) = screen.cell(row, column).filter(|cell| style(cell) == style(first)) {
            if !cell.is_wide_continuation() {
                text.push_str(if cell.has_contents() { cell.contents() } else { " " });
            }
            column += 1;
        }
        draw_run(
            out,
            &text,
            &style(first),
            f32::from(start) * CELL.0 + MARGIN,
            top,
            f32::from(column - start) * CELL.0,
        );
    }
}

fn draw_run(out: &mut String, text: &str, style: &Style, left: f32, top: f32, width: f32) {
    if style.background != BACKGROUND {
        let colour = style.background;
        let _ = writeln!(
            out,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{}\" fill=\"{colour}\"/>",
            CELL.1
        );
    }
    if text.trim().is_empty() {
        return;
    }
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let (weight, opacity) = (if style.bold { 700 } else { 400 }, if style.dim { "0.6" } else { "1" });
    let base = top + CELL.1 * 0.74;
    let _ = writeln!(
        out,
        "<text x=\"{left:.1}\" y=\"{base:.1}\" textLength=\"{width:.1}\" lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\" \
         fill=\"{}\" font-weight=\"{weight}\" opacity=\"{opacity}\">{escaped}</text>",
        style.foreground
    );
}

#[derive(PartialEq)]
struct Style {
    foreground: &'static str,
    background: &'static str,
    bold: bool,
    dim: bool,
}

fn style(cell: &Cell) -> Style {
    let (mut foreground, mut background) = (colour(cell.fgcolor(), FOREGROUND), colour(cell.bgcolor(), BACKGROUND));
    if cell.inverse() {
        std::mem::swap(&mut foreground, &mut background);
    }
    Style { foreground, background, bold: cell.bold(), dim: cell.dim() }
}

fn colour(colour: Color, usual: &'static str) -> &'static str {
    match colour {
        Color::Idx(index) => PALETTE.get(usize::from(index)).copied().unwrap_or(usual),
        Color::Default | Color::Rgb(..) => usual,
    }
}
