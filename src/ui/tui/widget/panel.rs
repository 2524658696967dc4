//! Boxes with titles in their borders.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Widget};

use super::write::write_line;
use crate::tui::theme::Theme;
use lockscope_model::text::{Charset, Keep, cut, width};

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
        let border = if self.focused { theme.focus } else { theme.border };
        let block = Block::bordered().border_set(theme.signs.border).border_style(border);
        let mut room = usize::from(area.width).saturating_sub(4);
        let dash = theme.signs.border.horizontal_top;
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
        super::write::record::boxed(inner);
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
