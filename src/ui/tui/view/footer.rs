//! The last line: the keys, the prompt or a notice.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::View;
use crate::tui::app::{DEFAULT_CLIENTS, Filter, Hint, Prompt, PromptPurpose};
use crate::tui::keymap::{Command, FixedKey};
use crate::tui::theme::Theme;
use crate::tui::widget::write::write_line;
use lockscope_live::admin::Action;
use lockscope_model::text::{Keep, width};

/// Draws the prompt if there is one, else the notice, else the keys. Returns the position of the
/// terminal's cursor.
pub fn draw(view: View<'_>, area: Rect, buffer: &mut Buffer) -> Option<Position> {
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
    match view.app.notice().filter(|_| view.app.notice_fits()) {
        Some(notice) => {
            let (sign, style) = if notice.failed {
                (view.theme.signs.bad, view.theme.bad)
            } else {
                (view.theme.signs.holds, view.theme.good)
            };
            let text = view.fit(&notice.text, usize::from(area.width).saturating_sub(4), Keep::Start);
            let spans = vec![Span::styled(format!(" {sign} "), style), Span::styled(text, view.theme.text)];
            write_line(spans, area, buffer);
        }
        None => write_line(hints(view, usize::from(area.width)), area, buffer),
    }
    None
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
