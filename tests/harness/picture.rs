//! Renders a screen as SVG.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::Duration;

use vt100::{Cell, Color, Screen};

const CELL: (f32, f32) = (8.4, 18.0);
const MARGIN: f32 = 14.0;

/// The text and the background of the picture's terminal.
#[derive(Clone, Copy, Debug)]
pub struct Ground {
    text: &'static str,
    ground: &'static str,
}

const DARK: Ground = Ground { text: "#d7dae0", ground: "#14171c" };

const LIGHT: Ground = Ground { text: "#24292f", ground: "#ffffff" };

impl Ground {
    /// Returns the ground of this run: dark, or light where `LOCKSCOPE_PICTURES_LIGHT` is set.
    pub fn of_run() -> Self {
        if std::env::var_os("LOCKSCOPE_PICTURES_LIGHT").is_some() { LIGHT } else { DARK }
    }

    /// Returns the terminal's answer to the questions for its colours (OSC 10 and 11), and that it
    /// is a VT220 (DA1).
    pub fn answer(self) -> String {
        let said = |colour: &str| {
            let parts = [&colour[1..3], &colour[3..5], &colour[5..7]].map(|part| format!("{part}{part}"));
            format!("rgb:{}", parts.join("/"))
        };
        format!("\x1b]10;{}\x1b\\\x1b]11;{}\x1b\\\x1b[?62;22c", said(self.text), said(self.ground))
    }
}
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
    let rows = (0..screen.size().0.get()).map(|row| drawn_row(screen, row));
    frame(screen, &rows.collect::<String>())
}

/// Renders screens one after the other, each for so long, again and again. A row that stays the
/// same is drawn once for all of them.
pub fn moving(screens: &[Screen], each: Duration) -> String {
    let Some(first) = screens.first() else { return String::new() };
    let number = |frames: usize| f32::from(u16::try_from(frames).unwrap_or(u16::MAX));
    let (count, seconds) = (screens.len(), each.as_secs_f32() * number(screens.len()));
    let mut spans = BTreeSet::new();
    let mut rows = String::new();
    for row in 0..first.size().0.get() {
        let drawn: Vec<String> = screens.iter().map(|screen| drawn_row(screen, row)).collect();
        let mut from = 0;
        for same in drawn.chunk_by(|one, next| one == next) {
            let until = from + same.len();
            if same.len() == count {
                rows.push_str(&same[0]);
            } else {
                spans.insert((from, until));
                // On one line, so that lines with text of their own are those that stay.
                let _ = writeln!(rows, "<g class=\"f{from}-{until}\">{}</g>", same[0].replace('\n', ""));
            }
            from = until;
        }
    }
    let mut style = String::from("<style>");
    for (from, until) in spans {
        let at = |frame: usize| number(frame) * 100.0 / number(count);
        let before = if from > 0 { "0%{visibility:hidden}" } else { "" };
        let after = if until < count { format!("{:.2}%{{visibility:hidden}}", at(until)) } else { String::new() };
        let _ = write!(
            style,
            ".f{from}-{until}{{animation:k{from}-{until} {seconds}s step-end infinite}}\
             @keyframes k{from}-{until}{{{before}{:.2}%{{visibility:visible}}{after}}}",
            at(from)
        );
    }
    frame(first, &format!("{style}</style>\n{rows}"))
}

/// Returns the picture of a terminal with these rows.
fn frame(screen: &Screen, content: &str) -> String {
    let (rows, columns) = screen.size();
    let width = f32::from(columns.get()) * CELL.0 + 2.0 * MARGIN;
    let height = f32::from(rows.get()) * CELL.1 + 2.0 * MARGIN;
    let ground = Ground::of_run().ground;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" font-family=\"{FONT}\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{ground}\"/>\n{content}</svg>\n"
    )
}

fn drawn_row(screen: &Screen, row: u16) -> String {
    let (mut out, columns) = (String::new(), screen.size().1.get());
    let top = f32::from(row) * CELL.1 + MARGIN;
    let mut column = 0;
    while column < columns {
        let Some(first) = screen.cell(row, column) else { return out };
        let mut text = String::new();
        let start = column;
        while let Some(cell) = screen.cell(row, column).filter(|cell| style(cell) == style(first)) {
            if !cell.is_wide_continuation() {
                text.push_str(if cell.has_contents() { cell.contents() } else { " " });
            }
            column += 1;
        }
        draw_run(
            &mut out,
            &text,
            &style(first),
            f32::from(start) * CELL.0 + MARGIN,
            top,
            f32::from(column - start) * CELL.0,
        );
    }
    out
}

fn draw_run(out: &mut String, text: &str, style: &Style, left: f32, top: f32, width: f32) {
    if style.background != Ground::of_run().ground {
        let colour = &style.background;
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
    foreground: Cow<'static, str>,
    background: Cow<'static, str>,
    bold: bool,
    dim: bool,
}

fn style(cell: &Cell) -> Style {
    let ground = Ground::of_run();
    let (mut foreground, mut background) = (colour(cell.fgcolor(), ground.text), colour(cell.bgcolor(), ground.ground));
    if cell.inverse() {
        std::mem::swap(&mut foreground, &mut background);
    }
    Style { foreground, background, bold: cell.bold(), dim: cell.dim() }
}

/// Returns a colour as `#rrggbb`: one of the sixteen that this terminal has, of the 240 that all
/// terminals share, or any.
fn colour(colour: Color, usual: &'static str) -> Cow<'static, str> {
    let hex = |red: u8, green: u8, blue: u8| format!("#{red:02x}{green:02x}{blue:02x}").into();
    let level = |step: u8| if step == 0 { 0 } else { 55 + step * 40 };
    match colour {
        Color::Idx(index @ 232..) => hex(8 + (index - 232) * 10, 8 + (index - 232) * 10, 8 + (index - 232) * 10),
        Color::Idx(index @ 16..) => hex(level((index - 16) / 36), level((index - 16) / 6 % 6), level((index - 16) % 6)),
        Color::Idx(index) => PALETTE[usize::from(index)].into(),
        Color::Rgb(red, green, blue) => hex(red, green, blue),
        Color::Default => usual.into(),
    }
}
