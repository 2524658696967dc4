//! The lines below the screen: the bar of a recording, the tour's caption, and the last line with
//! the keys or the prompt, and a notice above it.
//!
//! The bar shows events over time, gaps, findings, and the time that is shown:
//!
//! ```text
//!  ▶ x10 02:13:07  ▁▁▂▁▁▇█▇▁▁▁░░░▁▁│▁▁▂▁▁▁▁▁
//!  01:40:00  ✖ 02:13:01 stuck 6s before                                      02:40:00
//! ```
//!
//! The caption of the tour:
//!
//! ```text
//! - SANDBOX -- 2/6 A holder crashes -- 2 of 3 ---------------- n next  b back  P play -
//!  Now the holder's process dies. It said goodbye to nobody, so its session lives on, ...
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{View, signed};
use crate::tui::app::{
    App, DEFAULT_CLIENTS, Filter, Hint, Outline, Prompt, PromptPurpose, Replay, Tour, replay_sentence,
};
use crate::tui::keymap::{Command, FixedKey};
use crate::tui::page::Columns;
use crate::tui::theme::Theme;
use crate::tui::widget::write::{clear, write_line};
use lockscope_base::znode::Timestamp;
use lockscope_live::admin::Action;
use lockscope_model::diagnose::Severity;
use lockscope_model::text::human::{countdown, exact_time, time_of_day};
use lockscope_model::text::{Keep, width};

/// Draws the question or the prompt if there is one, else the keys. Returns the position of the
/// terminal's cursor.
pub fn draw_footer(view: View<'_>, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    if let Some(question) = view.app.quit_question() {
        let text = view.fit(&question, usize::from(area.width).saturating_sub(4), Keep::Start);
        let text = format!(" {} {text} ", view.theme.signs.warning);
        write_line(Span::styled(text, view.theme.mark), area, buffer);
        return None;
    }
    if let Some(deletion) = view.app.deletion() {
        if let Some(typed) = deletion.typed() {
            return Some(draw_prompt(view, typed, area, buffer));
        }
        let keys = deletion.keys(view.app.bindings()).map(|(key, word)| (key.label(view.app.settings().ascii), word));
        let hints: Vec<_> = keys.flat_map(|(key, word)| hint(view.theme, key, word)).collect();
        write_line([vec![Span::raw(" ")], hints].concat(), area, buffer);
        return None;
    }
    if view.app.asks_to_run() {
        let answers = [(FixedKey::Yes, "run"), (FixedKey::No, "do not")];
        let ascii = view.app.settings().ascii;
        let hints = answers.into_iter().flat_map(|(key, word)| hint(view.theme, key.key().label(ascii), word));
        write_line([Span::raw(" ")].into_iter().chain(hints).collect::<Vec<_>>(), area, buffer);
        return None;
    }
    if let Some(prompt) = view.app.prompt() {
        return Some(draw_prompt(view, prompt, area, buffer));
    }
    write_line(hints(view, usize::from(area.width)), area, buffer);
    None
}

/// Draws a notice of one line over the lower border of the screen, so that the keys stay in sight.
pub fn draw_notice(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let is_asked = view.app.prompt().is_some() || view.app.deletion().is_some() || view.app.asks_to_run();
    let Some(notice) = view.app.notice().filter(|_| view.app.notice_fits() && !is_asked) else { return };
    let (sign, style) = signed(view, notice.sign);
    let text = view.fit(&notice.text, usize::from(area.width).saturating_sub(4), Keep::Start);
    clear(area, buffer);
    buffer.set_style(area, view.theme.text);
    write_line(vec![Span::styled(format!(" {sign} "), style), Span::styled(text, view.theme.text)], area, buffer);
}

fn draw_prompt(view: View<'_>, prompt: &Prompt, area: Rect, buffer: &mut Buffer) -> Position {
    let (label, help) = (label(view, prompt.purpose), keys_of_prompt(view, prompt.purpose));
    let room = usize::from(area.width).saturating_sub(width(label) + 1);
    let split = prompt.text().char_indices().nth(prompt.cursor()).map_or(prompt.text().len(), |(at, _)| at);
    let (before, after) = prompt.text().split_at(split);
    // A long input is cut at its start, so that the text before the cursor stays in sight.
    let before = view.fit(before, room, Keep::End);
    let at = width(label) + width(&before);
    let after = view.fit(after, room.saturating_sub(width(&before)), Keep::Start);
    let used = at + width(&after);
    let mut spans =
        vec![Span::styled(label, view.theme.accent), Span::styled(format!("{before}{after}"), view.theme.text)];
    let usual = match prompt.purpose {
        PromptPurpose::Clients | PromptPurpose::ClientsIntoQueue if prompt.text().is_empty() => {
            DEFAULT_CLIENTS.to_string()
        }
        PromptPurpose::Command => view.app.ghost().unwrap_or_default(),
        _ => String::new(),
    };
    let used = used + width(&usual);
    let room = usize::from(area.width).saturating_sub(used + 1);
    spans.push(Span::styled(usual, view.theme.dim));
    spans.extend(behind_prompt(view, prompt, &help, room));
    write_line(spans, area, buffer);
    Position::new(area.x + u16::try_from(at).unwrap_or(0).min(area.width.saturating_sub(1)), area.y)
}

/// Returns the text before the input of a prompt.
fn label(view: View<'_>, purpose: PromptPurpose) -> &'static str {
    match purpose {
        PromptPurpose::Filter => " /",
        PromptPurpose::Command => " :",
        PromptPurpose::Clients => " clients of each, and hold: ",
        PromptPurpose::ClientsIntoQueue => " clients, and hold: ",
        PromptPurpose::Confirmation if is_revocation(view) => " to ask its owner, type it: ",
        PromptPurpose::Confirmation => " to delete, type it: ",
    }
}

/// Returns the keys of a prompt and what they do with the input.
fn keys_of_prompt(view: View<'_>, purpose: PromptPurpose) -> String {
    let (enter, leave) = (FixedKey::Enter.name(), FixedKey::Leave.name());
    match purpose {
        PromptPurpose::Filter if view.app.is_searched() => {
            let next = view.app.bindings().name(Command::NextMatch);
            format!("  {enter} goes there, {next} to the next, {leave} clears it")
        }
        PromptPurpose::Filter => format!("  words, !without, /pattern/; {enter} keeps it, {leave} clears it"),
        PromptPurpose::Command => {
            let (complete, older) = (FixedKey::Complete.name(), FixedKey::Older.name());
            format!("  {complete} completes, {older} repeats, {enter} runs it, {leave} leaves")
        }
        PromptPurpose::Clients => format!("  {enter} starts them, {leave} leaves"),
        PromptPurpose::ClientsIntoQueue => format!("  {enter} sends them, {leave} leaves"),
        PromptPurpose::Confirmation if is_revocation(view) => format!("  {enter} asks, {leave} leaves"),
        PromptPurpose::Confirmation => format!("  {enter} deletes, {leave} leaves"),
    }
}

fn is_revocation(view: View<'_>) -> bool {
    view.app.deletion().is_some_and(|open| open.plan().action() == Action::Revoke)
}

/// Returns the text behind the input of a prompt: the error, other completions, the argument of the
/// command, or the keys.
fn behind_prompt(view: View<'_>, prompt: &Prompt, help: &str, room: usize) -> Option<Span<'static>> {
    let theme = view.theme;
    let (text, style) = match prompt.purpose {
        PromptPurpose::Filter => match Filter::new(prompt.text()).wrong() {
            Some(wrong) => (format!("  {wrong}"), theme.bad),
            None => (help.to_owned(), theme.dim),
        },
        PromptPurpose::Command => match (view.app.other_completions(), view.app.typed_command()) {
            (others, _) if !others.is_empty() => (format!("   {}", others.join("  ")), theme.dim),
            (_, Some(entry)) => {
                let argument = entry.argument.map(|argument| format!("{} ", argument.shown)).unwrap_or_default();
                (format!("   {argument}{}", view.app.bindings().help(entry)), theme.dim)
            }
            _ => (help.to_owned(), theme.dim),
        },
        _ => (help.to_owned(), theme.dim),
    };
    if text == help && width(help) > room {
        return None;
    }
    (room > 8).then(|| Span::styled(view.fit(&text, room, Keep::Start), style))
}

/// Returns as many keys of this screen as fit. Help and quit are always among them.
fn hints(view: View<'_>, columns: usize) -> Line<'static> {
    let shown = view.app.hints(columns).into_iter().flat_map(|Hint { key, word, .. }| hint(view.theme, key, word));
    Line::from([Span::raw(" ")].into_iter().chain(shown).collect::<Vec<_>>())
}

fn hint(theme: &Theme, key: String, word: &'static str) -> [Span<'static>; 3] {
    [Span::styled(key, theme.accent), Span::styled(format!(" {word}"), theme.text), Span::raw("  ")]
}

/// Minimum columns for the scene and step; below this, the keys are left out.
const LEAST: usize = 30;

/// Minimum columns of the terminal at which the namespace is shown.
const WIDE: u16 = 100;

/// Draws the tour's caption: the current scene and step, the keys, and the text.
pub fn draw_caption(view: View<'_>, area: Rect, buffer: &mut Buffer) {
    let (app, theme) = (view.app, view.theme);
    let Some(tour) = app.tour().filter(|_| area.height > 0) else { return };
    clear(area, buffer);
    buffer.set_style(area, theme.text);
    let top = Rect { height: 1, ..area };
    let across = theme.signs.border.horizontal_top;
    write_line(Span::styled(across.repeat(usize::from(top.width)), theme.focus), top, buffer);
    let keys = format!(" {} ", keys(app, tour));
    let columns = usize::from(top.width);
    let keys = Some(keys).filter(|keys| width(keys) + LEAST < columns);
    let [place, scene, step] = title(tour, area.width);
    let mut room = columns.saturating_sub(keys.as_deref().map_or(0, width) + 3);
    let mut spans = vec![Span::styled(across, theme.focus)];
    let words = [(place, theme.mark), (format!(" {scene} "), theme.strong), (format!(" {step} "), theme.dim)];
    for (at, (text, style)) in words.into_iter().enumerate() {
        // A truncated step number would be a wrong one.
        if at == 2 && width(&text) > room {
            break;
        }
        let text = view.fit(&text, room, Keep::Start);
        room = room.saturating_sub(width(&text) + 1);
        spans.extend([Span::styled(text, style), Span::styled(across, theme.focus)]);
    }
    write_line(spans, top, buffer);
    if let Some(keys) = keys {
        let line = Line::from(vec![Span::styled(keys, theme.accent), Span::styled(across, theme.focus)]);
        let columns = u16::try_from(line.width()).unwrap_or(0).min(top.width);
        write_line(line, Rect { x: top.right() - columns, width: columns, ..top }, buffer);
    }
    let below = Rect { y: area.y + 1, height: area.height - 1, ..area };
    super::draw_lines(view, &app.caption_lines(), Columns::TEXT, below, buffer);
}

/// Returns the left part of the caption's border: the place, the scene and the step.
fn title(tour: &Tour, columns: u16) -> [String; 3] {
    let place = match tour.is_on_sandbox() {
        true => " SANDBOX ".to_owned(),
        // On a narrow terminal the namespace is left out: every lock's path shows it too.
        false if columns < WIDE => " DEMO ".to_owned(),
        false => format!(" DEMO in {} ", tour.namespace()),
    };
    let ((scene, scenes), (step, steps)) = (tour.scene_number(), tour.step_number());
    [place, format!("{scene}/{scenes} {}", tour.scene().title), format!("{step} of {steps}")]
}

/// Returns the right part of the border: the keys, and the time until the next step plays.
fn keys(app: &App, tour: &Tour) -> String {
    let key = |command: Command, word: &str| format!("{} {word}", app.key_label(command));
    let plays = match tour.next_in(app.clock()) {
        Some(left) => format!("{} {}", key(Command::TourPlay, "stop"), countdown(left)),
        None => key(Command::TourPlay, "play"),
    };
    format!("{}  {}  {plays}", key(Command::TourNext, "next"), key(Command::TourBack, "back"))
}

/// Minimum columns of the bar.
const MIN_BAR: usize = 10;

/// Draws the bar and the line below it.
pub fn draw_past_bar(view: View<'_>, replay: &Replay, area: Rect, buffer: &mut Buffer) {
    if area.height == 0 {
        return;
    }
    clear(area, buffer);
    let (theme, utc) = (view.theme, view.app.settings().utc);
    let outline = replay.outline();
    let state = if replay.is_playing() { theme.signs.play[0] } else { theme.signs.play[1] };
    let left = format!(" {state} {:<6} {}  ", replay.speed().label(), exact_time(replay.at(), utc));
    let columns = usize::from(area.width).saturating_sub(width(&left) + 1);
    let mut spans = vec![Span::styled(left, theme.strong)];
    if columns >= MIN_BAR {
        spans.extend(bar(view, outline, replay.at(), columns));
    }
    write_line(spans, Rect { height: 1, ..area }, buffer);
    if area.height < 2 {
        return;
    }
    let line = Rect { y: area.y + 1, height: 1, ..area };
    let (from, until) = (time_of_day(outline.from, utc), format!("{} ", time_of_day(outline.until, utc)));
    let room = usize::from(area.width).saturating_sub(width(&from) + width(&until) + 4);
    let sentence = view.fit(&replay_sentence(replay, utc), room, Keep::Start);
    write_line(vec![Span::styled(format!(" {from}  "), theme.dim), Span::styled(sentence, theme.text)], line, buffer);
    let columns = u16::try_from(width(&until)).unwrap_or(0).min(line.width);
    let right = Rect { x: line.right() - columns, width: columns, ..line };
    write_line(Line::styled(until, theme.dim), right, buffer);
}

/// Returns the bar. A column with several things shows the most important one.
fn bar(view: View<'_>, outline: &Outline, at: Timestamp, columns: usize) -> Vec<Span<'static>> {
    let theme = view.theme;
    let signs = &theme.signs;
    let scale =
        BarScale { from: outline.from.0, length: outline.until.0.saturating_sub(outline.from.0).max(1), columns };
    let density = spread(&outline.density, columns);
    let highest = density.iter().copied().max().unwrap_or(0);
    let levels = crate::tui::widget::sparkline(&density, columns, highest, &signs.levels);
    let cell = |level: char| match level {
        ' ' => (signs.dot.to_owned(), theme.dim),
        level => (level.to_string(), theme.good),
    };
    let mut cells: Vec<(String, Style)> = levels.chars().map(cell).collect();
    for gap in &outline.gaps {
        // Where the clock was set back, a gap ends before it begins.
        let (from, until) = (scale.column(gap.from), scale.column(gap.to.unwrap_or(outline.until)));
        for cell in &mut cells[from.min(until)..=from.max(until)] {
            *cell = (signs.gap.to_owned(), theme.unsure);
        }
    }
    for finding in &outline.findings {
        let cell = &mut cells[scale.column(finding.at)];
        match finding.severity {
            Severity::Critical => *cell = (signs.bad.to_owned(), theme.bad),
            Severity::Warning if cell.0 != signs.bad => *cell = (signs.warning.to_owned(), theme.wait),
            _ => {}
        }
    }
    let cell = &mut cells[scale.column(at)];
    *cell = (signs.here.to_owned(), theme.mark);
    cells.into_iter().map(|(sign, style)| Span::styled(sign, style)).collect()
}

struct BarScale {
    from: i64,
    length: i64,
    columns: usize,
}

impl BarScale {
    fn column(&self, at: Timestamp) -> usize {
        let into = i128::from(at.0.saturating_sub(self.from).clamp(0, self.length));
        let column = into * self.columns as i128 / i128::from(self.length);
        usize::try_from(column).unwrap_or(0).min(self.columns - 1)
    }
}

/// Sums the density into one part for each column.
fn spread(density: &[u32], columns: usize) -> Vec<u64> {
    let mut parts = vec![0; columns];
    for (at, count) in density.iter().enumerate() {
        parts[at * columns / density.len()] += u64::from(*count);
    }
    if density.len() < columns {
        // The bar is wider than the data is fine: each part fills several columns.
        for (column, part) in parts.iter_mut().enumerate() {
            *part = u64::from(density.get(column * density.len() / columns).copied().unwrap_or(0));
        }
    }
    parts
}
