//! What the keys do, from the table of commands.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::View;
use crate::text::Keep;
use crate::tui::help;
use crate::tui::keymap::CommandEntry;
use crate::tui::widget::panel::Panel;

/// Columns of the keys.
const KEYS: usize = 15;
/// Columns of the names.
const NAMES: usize = 17;

/// All commands.
pub fn draw(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let (app, theme) = (view.app, view.theme);
    let lines = help::lines();
    let height = usize::from(area.height.saturating_sub(2));
    let top = app.scrolled().min(lines.len().saturating_sub(height));
    let [up, down] = theme.signs.more;
    let position = match (top > 0, top + height < lines.len()) {
        (false, false) => None,
        (false, true) => Some(format!("{down} more")),
        (true, true) => Some(format!("{up}{down} more")),
        (true, false) => Some(format!("{up} more")),
    };
    let version = format!("lockscope {}", env!("CARGO_PKG_VERSION"));
    let left = vec![("Help".to_owned(), theme.strong), (version, theme.dim)];
    let bottom = position.map(|text| (text, theme.dim));
    let inner = Panel { left, right: None, bottom, focused: false }.draw(area, buffer, theme);
    for (line, y) in lines.iter().skip(top).zip(inner.top()..inner.bottom()) {
        let area = Rect { y, height: 1, ..inner };
        match line {
            help::Line::Blank => {}
            help::Line::Title(title) => {
                Line::from(Span::styled(format!(" {title}"), theme.strong)).render(area, buffer);
            }
            help::Line::Command(entry) => command(view, entry, usize::from(inner.width)).render(area, buffer),
            help::Line::Meaning(word, meaning) => {
                let meaning = view.fit(meaning, usize::from(inner.width).saturating_sub(KEYS + 3), Keep::Start);
                Line::from(vec![
                    Span::styled(format!("   {word:<KEYS$}"), theme.accent),
                    Span::styled(meaning, theme.text),
                ])
                .render(area, buffer);
            }
        }
    }
}

fn command(view: View<'_>, entry: &CommandEntry, columns: usize) -> Line<'static> {
    let theme = view.theme;
    let keys: Vec<_> = entry.keys.iter().map(|key| key.label(view.app.settings().ascii)).collect();
    let keys = keys.join(" ");
    let padding = " ".repeat(KEYS.saturating_sub(crate::text::width(&keys)));
    let name = match entry.argument {
        Some(argument) => format!(":{} {argument}", entry.name),
        None => format!(":{}", entry.name),
    };
    let help = view.fit(entry.help, columns.saturating_sub(KEYS + NAMES + 4), Keep::Start);
    Line::from(vec![
        Span::styled(format!("   {keys}{padding}"), theme.accent),
        Span::styled(format!("{name:<NAMES$} "), theme.dim),
        Span::styled(help, theme.text),
    ])
}
