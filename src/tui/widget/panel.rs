//! Boxes with titles in their borders.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Widget};

use crate::text::width;
use crate::tui::theme::Theme;

#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// Parts of the title on the left, in harmless text; the last ones give way when there is no room.
    pub left: Vec<(String, Style)>,
    /// A title on the right, when there is room for it beside the first on the left.
    pub right: Option<(String, Style)>,
    /// A line in the lower border.
    pub bottom: Option<(String, Style)>,
    /// At the right end of the lower border.
    pub bottom_right: Option<(String, Style)>,
    /// Whether the keys go here.
    pub focused: bool,
}

impl Panel {
    /// Draws the box and returns what is inside.
    pub fn draw(self, area: Rect, buffer: &mut Buffer, theme: &Theme) -> Rect {
        let border = if self.focused { theme.focus } else { theme.border };
        let mut block = Block::bordered().border_set(theme.signs.border).border_style(border);
        let mut room = usize::from(area.width).saturating_sub(4);
        let dash = theme.signs.border.horizontal_top;
        let first = self.left.first().map_or(0, |(text, _)| width(text) + 2);
        let right = self.right.filter(|(text, _)| first + width(text) + 3 <= room);
        room = room.saturating_sub(right.as_ref().map_or(0, |(text, _)| width(text) + 3));
        let mut title = Vec::new();
        for (at, (text, style)) in self.left.into_iter().enumerate() {
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
        if !title.is_empty() {
            block = block.title(Line::from(title));
        }
        if let Some((text, style)) = right {
            block = block.title(Line::from(Span::styled(format!(" {text} "), style)).right_aligned());
        }
        if let Some((text, style)) = self.bottom {
            block = block.title_bottom(Line::from(Span::styled(format!(" {text} "), style)));
        }
        if let Some((text, style)) = self.bottom_right {
            block = block.title_bottom(Line::from(Span::styled(format!(" {text} "), style)).right_aligned());
        }
        let inner = block.inner(area);
        block.render(area, buffer);
        inner
    }
}
