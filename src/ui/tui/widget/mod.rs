//! The building blocks of the screens: boxes with titles in their borders, tables, sparklines and
//! text output.
//!
//! The set of a table's columns depends on the width of the terminal. Only visible rows are built.
//! A sparkline has one column for each value, as high as the value is large.

pub mod write;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Widget};

use crate::tui::screen::Placed;
use crate::tui::theme::Theme;
use lockscope_model::text::{Charset, Keep, cut, width};
use write::{write_line, write_text};

/// Minimum columns of a line in the lower border for its `end` to be shown.
const MIN_BOTTOM: usize = 24;

/// A line in the lower border, escaped for the terminal. The panel cuts the line only once, when
/// the width of the texts beside it is known.
#[derive(Clone, Debug)]
pub struct Bottom {
    pub text: String,
    pub style: Style,
    /// The part that is kept when the text is cut.
    pub keep: Keep,
    /// What stands behind it also when it is cut; it is left out as a whole.
    pub end: String,
}

impl Bottom {
    pub fn new(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style, keep: Keep::Start, end: String::new() }
    }

    fn cut(&self, columns: usize, charset: Charset) -> String {
        let end = if width(&self.end) + MIN_BOTTOM <= columns { &*self.end } else { "" };
        cut(&self.text, columns - width(end), self.keep, charset) + end
    }
}

#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// The parts of the title on the left, escaped for the terminal; the last ones are left out
    /// first.
    pub left: Vec<(String, Style)>,
    /// A title on the right, if there is room for it beside the first part on the left.
    pub right: Option<(String, Style)>,
    /// The line in the lower border.
    pub bottom: Option<Bottom>,
    /// The text at the right end of the lower border.
    pub bottom_right: Option<(String, Style)>,
    /// Whether the panel has the focus.
    pub focused: bool,
}

/// Splits an area into a left and a right half; the right half gets the odd column.
pub fn halves(area: Rect) -> [Rect; 2] {
    let left = area.width / 2;
    [Rect { width: left, ..area }, Rect { x: area.x + left, width: area.width - left, ..area }]
}

impl Panel {
    /// Draws the box and returns its inside.
    pub fn draw(self, area: Rect, buffer: &mut Buffer, theme: &Theme) -> Rect {
        let (signs, border) =
            if self.focused { (theme.signs.focused, theme.focus) } else { (theme.signs.border, theme.border) };
        let block = Block::bordered().border_set(signs).border_style(border);
        let mut room = usize::from(area.width).saturating_sub(4);
        let dash = signs.horizontal_top;
        let charset = theme.signs.charset;
        let mut left = self.left;
        if let Some((text, _)) = left.first_mut() {
            *text = cut(text, room.saturating_sub(2), Keep::End, charset);
        }
        let first = left.first().map_or(0, |(text, _)| width(text) + 2);
        let right = self.right.filter(|(text, _)| first + width(text) + 3 <= room);
        room = room.saturating_sub(right.as_ref().map_or(0, |(text, _)| width(text) + 3));
        let mut title = Vec::new();
        for (at, (text, style)) in left.into_iter().enumerate() {
            let needs = width(&text) + if at == 0 { 2 } else { 4 };
            if at > 0 && needs > room {
                break;
            }
            room = room.saturating_sub(needs);
            if at > 0 {
                title.push(Span::styled(format!("{dash}{dash}"), border));
            }
            title.push(Span::styled(format!(" {text} "), style));
        }
        let line = |(text, style)| Line::styled(format!(" {text} "), style);
        let inner = block.inner(area);
        block.render(area, buffer);
        #[cfg(test)]
        write::record::boxed(inner);
        let side = |y| Rect { x: area.x + 1, y, width: area.width.saturating_sub(2), height: 1 }.intersection(area);
        let beside = self.bottom_right.as_ref().map_or(0, |(text, _)| width(text) + 3);
        let (top, bottom) = (side(area.y), side(area.bottom().saturating_sub(1)));
        write_line(title, top, buffer);
        for (text, area) in [(right, top), (self.bottom_right, bottom)] {
            if let Some(text) = text {
                write_line(line(text).right_aligned(), area, buffer);
            }
        }
        if let Some(text) = self.bottom {
            let room = usize::from(bottom.width).saturating_sub(beside + 2);
            write_line(line((text.cut(room, charset), text.style)), bottom, buffer);
        }
        inner
    }
}

/// The content of one cell: escaped text that fits its column.
#[derive(Clone, Debug)]
pub struct Cell {
    pub text: String,
    pub style: Style,
}

impl Cell {
    pub fn new(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }
}

/// The style of a column's title, and the sign of the sort order beside it.
pub struct Title {
    pub style: Style,
    pub sign: Option<(String, Style)>,
}

/// Writes the columns' titles into the first line of `area`.
pub fn titles<K: Copy>(buffer: &mut Buffer, area: Rect, placed: &[Placed<K>], look: impl Fn(K) -> Title) {
    for column in placed {
        let Title { style, sign } = look(column.key);
        write_cell(buffer, area, column, &Cell::new(column.title, style));
        let Some((sign, style)) = sign else { continue };
        let (title, needs) = (width(column.title), width(&sign));
        let [title, needs] = [title, needs].map(|columns| u16::try_from(columns).unwrap_or(u16::MAX));
        // The sort sign precedes a right-aligned title; without room there, it stands in the gap
        // between the columns.
        let x = if column.right {
            (column.x + column.width.saturating_sub(title)).saturating_sub(needs)
        } else {
            column.x + title.min(column.width)
        };
        write_text(buffer, (area.x + x, area.y), needs.min(area.width.saturating_sub(x)), &sign, style);
    }
}

/// Writes a row into the first line of `area`.
pub fn row<K: Copy>(buffer: &mut Buffer, area: Rect, placed: &[Placed<K>], mut cell: impl FnMut(Placed<K>) -> Cell) {
    for column in placed {
        write_cell(buffer, area, column, &cell(*column));
    }
}

fn write_cell<K>(buffer: &mut Buffer, area: Rect, column: &Placed<K>, cell: &Cell) {
    let area = area.intersection(buffer.area);
    let room = column.width.min(area.width.saturating_sub(column.x));
    if area.height == 0 || room == 0 {
        return;
    }
    let needs = u16::try_from(width(&cell.text)).unwrap_or(u16::MAX);
    let x = area.x + column.x;
    if !column.right {
        write_text(buffer, (x, area.y), room, &cell.text, cell.style);
    } else if needs <= room {
        write_text(buffer, (x + room - needs, area.y), needs, &cell.text, cell.style);
    } else {
        // A number without some of its digits would be another number.
        write_text(buffer, (x, area.y), room, &"#".repeat(usize::from(needs)), cell.style);
    }
}

/// Returns the signs for the newest values that fit into `columns`, on a scale up to `highest`.
///
/// A value above zero is always visible.
pub fn sparkline(values: &[u64], columns: usize, highest: u64, levels: &[&'static str; 9]) -> String {
    let shown = &values[values.len().saturating_sub(columns)..];
    shown.iter().map(|value| levels[level(*value, highest)]).collect()
}

fn level(value: u64, highest: u64) -> usize {
    let eighths = u128::from(value) * 8;
    let level = eighths.div_ceil(u128::from(highest.max(1)));
    usize::try_from(level.min(8)).unwrap_or(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVELS: [&str; 9] = ["0", "1", "2", "3", "4", "5", "6", "7", "8"];

    #[test]
    fn the_highest_value_is_full_and_the_smallest_is_visible() {
        assert_eq!(sparkline(&[0, 1, 50, 100], 10, 100, &LEVELS), "0148");
        assert_eq!(sparkline(&[1, 2, 3], 2, 3, &LEVELS), "68");
        assert_eq!(sparkline(&[0, 0], 5, 0, &LEVELS), "00");
        assert_eq!(sparkline(&[u64::MAX], 5, u64::MAX, &LEVELS), "8");
    }
}
