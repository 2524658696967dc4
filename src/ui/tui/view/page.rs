//! Draws every text page: its box, its lines, and marks where lines are hidden.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use super::View;
use crate::tui::app::ShownPage;
use crate::tui::page::{self, Columns, Focus, Page, Sign, Tone};
use crate::tui::widget::panel::{Bottom, Panel};
use crate::tui::widget::write::{clear, write_line};
use lockscope_model::text::Keep;
use lockscope_model::text::{cut, width};

/// Draws a page over the content of `area`.
pub fn draw(view: View<'_>, shown: &ShownPage, area: Rect, buffer: &mut Buffer) {
    let ShownPage { page, top, focus, .. } = shown;
    clear(area, buffer);
    buffer.set_style(area, view.theme.text);
    let left = page.title.iter().map(|(text, tone)| (text.clone(), style(view, *tone))).collect();
    let panel = Panel {
        left,
        bottom: more(view, shown).map(|(text, style)| Bottom::new(text, style)),
        focused: *focus == Focus::Here,
        ..Panel::default()
    };
    let inner = panel.draw(area, buffer, view.theme);
    let answers = u16::try_from(page.answers.len()).unwrap_or(u16::MAX).min(inner.height);
    let below = Rect { y: inner.bottom() - answers, height: answers, ..inner };
    let above = Rect { height: inner.height - answers, ..inner };
    draw_page_lines(view, page, &page.lines[(*top).min(page.lines.len())..], above, buffer);
    if *focus != Focus::Elsewhere && view.app.is_searched() {
        (above.top()..above.bottom()).for_each(|y| view.highlight(Rect { y, height: 1, ..above }, buffer));
    }
    draw_page_lines(view, page, &page.answers, below, buffer);
}

/// Draws lines without a box. The last visible line is marked if others follow.
pub fn draw_lines(view: View<'_>, lines: &[page::Line], columns: Columns, area: Rect, buffer: &mut Buffer) {
    for (at, (line, y)) in lines.iter().zip(area.top()..area.bottom()).enumerate() {
        let mut line = line.clone();
        if y + 1 == area.bottom() && at + 1 < lines.len() {
            line.text = view.goes_on(&line.text, columns.room(area.width));
        }
        write_line(spans(view, &line, columns, |style| style), Rect { y, height: 1, ..area }, buffer);
    }
}

fn draw_page_lines(view: View<'_>, page: &Page, lines: &[page::Line], area: Rect, buffer: &mut Buffer) {
    let fade = |style| if page.stale { view.theme.dim } else { style };
    for (line, y) in lines.iter().zip(area.top()..area.bottom()) {
        write_line(spans(view, line, page.columns, fade), Rect { y, height: 1, ..area }, buffer);
    }
}

fn spans<'a>(view: View<'_>, line: &'a page::Line, columns: Columns, fade: impl Fn(Style) -> Style) -> Vec<Span<'a>> {
    let mut spans = vec![Span::raw(" ")];
    if columns.signs {
        let (sign, style) = line.sign.map_or((" ", view.theme.text), |sign| signed(view, sign));
        spans.push(Span::styled(format!("{sign} "), fade(style)));
    }
    if let Some(label) = &line.label {
        let label = cut(label, columns.label, Keep::Start, view.theme.signs.charset);
        let padding = " ".repeat(columns.label.saturating_sub(width(&label)));
        spans.push(Span::styled(label + &padding, style(view, columns.label_tone)));
    }
    spans.push(Span::styled(line.text.as_str(), fade(style(view, line.tone))));
    spans.extend(line.rest.iter().map(|(text, tone)| Span::styled(text.as_str(), fade(style(view, *tone)))));
    spans
}

/// Returns the text of the lower border when some lines are hidden.
fn more(view: View<'_>, shown: &ShownPage) -> Option<(String, Style)> {
    let [up, down] = view.theme.signs.more;
    let marks = [(shown.top > 0, up), (shown.top < shown.end(), down)];
    let marks: String = marks.into_iter().filter_map(|(there, mark)| there.then_some(mark)).collect();
    let keys = if shown.focus == Focus::Elsewhere { view.sentence(" ({pane})") } else { String::new() };
    // Nobody should answer before all of it was seen.
    let style = if shown.page.answers.is_empty() { view.theme.dim } else { view.theme.wait };
    (!marks.is_empty()).then(|| (format!("{marks} more{keys}"), style))
}

fn style(view: View<'_>, tone: Tone) -> Style {
    let theme = view.theme;
    match tone {
        Tone::Text => theme.text,
        Tone::Strong => theme.strong,
        Tone::Dim => theme.dim,
        Tone::Unsure => theme.unsure,
        Tone::Careful => theme.wait,
        Tone::Bad => theme.bad,
        Tone::Ask => theme.accent,
        Tone::Label => theme.title,
    }
}

fn signed(view: View<'_>, sign: Sign) -> (&'static str, Style) {
    let (theme, signs) = (view.theme, &view.theme.signs);
    match sign {
        Sign::Good => (signs.good, theme.good),
        Sign::Done => (signs.holds, theme.good),
        Sign::Busy => (signs.busy, theme.wait),
        Sign::Info => (signs.info, theme.dim),
        Sign::Warning => (signs.warning, theme.wait),
        Sign::Bad => (signs.bad, theme.bad),
        Sign::Ask => (signs.cursor, theme.accent),
    }
}
