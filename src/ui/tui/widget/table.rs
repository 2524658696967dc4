//! Tables whose set of columns depends on the width of the terminal. Only visible rows are built.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::write::write_text;
use crate::tui::columns::Placed;
use lockscope_model::text::width;

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
        write(buffer, area, column, &Cell::new(column.title, style));
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
        write(buffer, area, column, &cell(*column));
    }
}

fn write<K>(buffer: &mut Buffer, area: Rect, column: &Placed<K>, cell: &Cell) {
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
