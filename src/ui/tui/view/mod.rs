//! Draws the state of the [`App`]. Drawing never changes the state.
//!
//! Architecture invariant: a list draws only its visible rows, so the cost of a frame depends on
//! the terminal's height alone.
//!
//! Every text page is drawn here: its box, its lines, and marks where lines are hidden. Every list
//! is a file with its looks, which `list` draws.

mod beside;
mod comparison;
mod contend;
mod ensembles;
mod footer;
mod header;
mod lanes;
mod list;
mod locks;
mod picture;
mod queue;
mod sessions;
mod timeline;
mod tree;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget, Wrap};

use super::app::{
    App, Area, AuditEntries, Clients, Ensembles, FleetSide, HistoryList, LockList, MIN_TERMINAL, PAST_BAR_HEIGHT,
    QueueList, Screen, SessionList, SessionPlaces, TimelineList, TreeList, WaitList,
};
use super::keymap::Command;
use super::page::Columns;
use super::theme::Theme;
use super::widget::write::write_line;
use crate::tui::app::ShownPage;
use crate::tui::page;
use crate::tui::page::{Focus, Page, Sign, Tone};
use crate::tui::widget::write::clear;
use crate::tui::widget::{Bottom, Panel};
use lockscope_model::text::{Keep, cut, fit, width, wrap_words};

#[cfg(test)]
mod tests;

/// What every part of a screen needs for drawing.
#[derive(Clone, Copy)]
struct View<'a> {
    app: &'a App,
    theme: &'a Theme,
}

/// Draws the whole screen.
pub fn draw(frame: &mut Frame<'_>, app: &App, theme: &Theme) {
    let area = frame.area();
    let view = View { app, theme };
    frame.buffer_mut().set_style(area, theme.text);
    let Some(layout) = app.layout() else {
        draw_small(view, area, frame.buffer_mut());
        return;
    };
    let buffer = frame.buffer_mut();
    // The terminal may have shrunk since the app last learned its size: never draw outside of it.
    let place = |part: Area| Rect::new(part.x, part.y, part.width, part.height).intersection(area);
    match app.ensembles().filter(|_| app.shows_ensembles()) {
        Some(ensembles) => ensembles::draw_header(view, ensembles, place(layout.header), buffer),
        None => header::draw(view, place(layout.header), buffer),
    }
    header::draw_tabs(view, place(layout.tabs), buffer);
    draw_lines(view, &app.banner_lines(), Columns::SIGNS, place(layout.banner), buffer);
    let (main, side) = (place(layout.main), place(layout.side));
    let pages = app.pages();
    match app.screen() {
        Screen::Ensembles => list::draw(&Ensembles, view, main, buffer),
        Screen::Locks => {
            list::draw(&LockList, view, main, buffer);
            beside::draw(view, place(layout.beside), buffer);
            if pages.is_empty() {
                locks::draw_watch_events(view, side, buffer);
            }
        }
        Screen::Queue if QueueList::shows_picture(app) => picture::draw_queue(view, main, buffer),
        Screen::Queue => list::draw(&QueueList, view, main, buffer),
        Screen::Contend => {
            let fleets = place(layout.fleets);
            if app.shows_picture() {
                picture::draw_fleets(view, main, buffer);
            } else if app.fleets().fleet(FleetSide::Left).is_some() {
                contend::draw(view, fleets, buffer);
                draw_lines(view, &app.overlap_lines(), Columns::SIGNS, place(layout.overlaps), buffer);
                list::draw(&Clients, view, main, buffer);
            } else {
                contend::draw_nothing(view, fleets.union(main), buffer);
            }
        }
        Screen::Session => list::draw(&SessionPlaces, view, main, buffer),
        Screen::Sessions => list::draw(&SessionList, view, main, buffer),
        Screen::Waits => list::draw(&WaitList, view, main, buffer),
        Screen::Timeline => list::draw(&TimelineList, view, main, buffer),
        Screen::Audit => list::draw(&AuditEntries, view, main, buffer),
        Screen::Tree => list::draw(&TreeList, view, main, buffer),
        Screen::History => list::draw(&HistoryList, view, main, buffer),
        Screen::Comparison => comparison::draw(view, main, buffer),
        Screen::Node | Screen::Servers | Screen::Help | Screen::Unreadable | Screen::Output => {}
    }
    for shown in pages.into_iter().chain(app.popup()) {
        draw_page(view, &shown, place(shown.area), buffer);
    }
    let below = place(layout.caption);
    let bar = Rect { height: if app.replay().is_some() { PAST_BAR_HEIGHT.min(below.height) } else { 0 }, ..below };
    if let Some(replay) = app.replay() {
        footer::draw_past_bar(view, replay, bar, buffer);
    }
    footer::draw_caption(view, Rect { y: bar.bottom(), height: below.height - bar.height, ..below }, buffer);
    let above = Rect { y: layout.caption.y.saturating_sub(1), height: 1, ..place(layout.footer) }.intersection(area);
    footer::draw_notice(view, above, buffer);
    if let Some(cursor) = footer::draw_footer(view, place(layout.footer), buffer) {
        frame.set_cursor_position(cursor);
    }
}

/// Draws the findings alone, or what the screens need.
fn draw_small(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let View { app, theme } = view;
    let question = app.quit_question();
    if let Some(shown) = app.pages().first() {
        let place = Rect::new(shown.area.x, shown.area.y, shown.area.width, shown.area.height).intersection(area);
        draw_page(view, shown, place, buffer);
        let footer = Rect { y: place.bottom(), height: 1, ..place }.intersection(area);
        let (text, style) = question.map_or((app.small_footer(), theme.dim), |question| (question, theme.accent));
        return write_line(Line::styled(format!(" {text}"), style), footer, buffer);
    }
    let needs = format!(
        "lockscope needs a terminal of {} columns and {} lines; this one has {} and {}. {} quits.",
        MIN_TERMINAL.0,
        MIN_TERMINAL.1,
        area.width,
        area.height,
        app.bindings().name(Command::Quit)
    );
    Paragraph::new(question.unwrap_or(needs)).style(theme.strong).wrap(Wrap { trim: true }).render(area, buffer);
}

impl View<'_> {
    /// Returns a sentence in which each command name in braces is replaced by its key.
    fn sentence(self, template: &str) -> String {
        self.app.bindings().fill(template)
    }

    /// Returns the style of data: `style`, or dim when the shown data may no longer be true.
    fn data(self, style: Style) -> Style {
        if self.app.shows_truth() { style } else { self.theme.dim }
    }

    fn fit(self, text: &str, columns: usize, keep: Keep) -> String {
        fit(text, columns, keep, self.theme.signs.charset)
    }

    /// Marks the end of the last visible line of a text that continues below.
    fn goes_on(self, line: &str, columns: usize) -> String {
        let charset = self.theme.signs.charset;
        cut(&format!("{line} {}", charset.ellipsis()), columns, Keep::Start, charset)
    }

    /// Highlights what the search matches in a line.
    fn highlight(self, line: Rect, buffer: &mut Buffer) {
        let filter = self.app.highlighted();
        let line = line.intersection(buffer.area);
        if filter.is_empty() || line.is_empty() {
            return;
        }
        let mut text = String::new();
        let mut starts = Vec::new();
        for x in line.left()..line.right() {
            starts.push((text.len(), x));
            text.push_str(buffer[(x, line.y)].symbol());
        }
        for place in filter.places(&text, usize::from(line.width)) {
            // A match across the gap between two columns is no match.
            if text[place.clone()].contains("  ") {
                continue;
            }
            for (_, x) in starts.iter().filter(|(start, _)| place.contains(start)) {
                buffer[(*x, line.y)].set_style(self.theme.found);
            }
        }
    }

    /// Draws the selected row: tinted, with a sign. Coloured text keeps its colour; without colours
    /// the row is reversed.
    fn select(self, line: Rect, buffer: &mut Buffer, focused: bool) {
        let line = line.intersection(buffer.area);
        if focused {
            let selected = self.theme.selected;
            for x in line.left()..line.right() {
                let cell = &mut buffer[(x, line.y)];
                let own = cell.fg;
                let keeps =
                    selected.bg.is_some() && ![Color::Reset, self.theme.text.fg.unwrap_or_default()].contains(&own);
                let faint = cell.modifier.contains(Modifier::DIM);
                cell.set_style(Style::reset().patch(selected));
                if keeps && !faint {
                    cell.set_style(Style::new().fg(own).add_modifier(Modifier::BOLD));
                }
            }
        }
        let style = if focused { self.theme.selected } else { self.theme.strong };
        buffer.set_stringn(line.x, line.y, self.theme.signs.cursor, usize::from(line.width), style);
    }

    /// Writes a few words into the middle of an otherwise empty area.
    fn placeholder(self, lines: &[String], area: Rect, buffer: &mut Buffer) {
        let columns = usize::from(area.width).saturating_sub(2).max(1);
        let wrapped = lines.iter().flat_map(|line| match line.as_str() {
            "" => vec![String::new()],
            text => wrap_words(text, columns, self.theme.signs.charset),
        });
        let lines: Vec<_> = wrapped.map(|text| Line::styled(text, self.theme.dim)).collect();
        let height = u16::try_from(lines.len()).unwrap_or(area.height).min(area.height);
        let top = area.y + (area.height - height) / 2;
        for (line, y) in lines.into_iter().zip(top..area.bottom()) {
            let x = area.x + (area.width / 2).saturating_sub(u16::try_from(line.width() / 2).unwrap_or(0));
            write_line(line, Rect { x, y, width: area.right().saturating_sub(x), height: 1 }, buffer);
        }
    }
}

/// Draws a page over the content of `area`.
fn draw_page(view: View<'_>, shown: &ShownPage, area: Rect, buffer: &mut Buffer) {
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
fn draw_lines(view: View<'_>, lines: &[page::Line], columns: Columns, area: Rect, buffer: &mut Buffer) {
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
    let keys = match (shown.focus, view.app.screen()) {
        (Focus::Elsewhere, Screen::Locks) => view.sentence(" ({open})"),
        (Focus::Elsewhere, _) => view.sentence(" ({pane})"),
        (Focus::Here | Focus::Alone, _) => String::new(),
    };
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
