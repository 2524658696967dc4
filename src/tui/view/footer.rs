//! The last line: keys, the prompt, or a notice.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::View;
use crate::text::{Keep, width};
use crate::tui::app::{DEFAULT_CLIENTS, Pane, Prompt, PromptPurpose, Replay, Screen, commands};
use crate::tui::keymap::{Command, CommandEntry};
use crate::tui::theme::Theme;
use crate::tui::widget::write::write_line;

/// What is typed, else the notice, else the keys. Returns where the terminal's cursor belongs.
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
        let keys = deletion.keys().map(|(key, word)| (key.label(view.app.settings().ascii), word));
        let hints: Vec<_> = keys.flat_map(|(key, word)| hint(view.theme, key, word)).collect();
        write_line([vec![Span::raw(" ")], hints].concat(), area, buffer);
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
    let (label, help) = match prompt.purpose {
        PromptPurpose::Filter => (" /", "  Enter keeps it, Esc clears it"),
        PromptPurpose::Command => (" :", "  Enter runs it, Esc leaves"),
        PromptPurpose::Clients => (" clients of each, and hold: ", "  Enter starts them, Esc leaves"),
        PromptPurpose::ClientsIntoQueue => (" clients, and hold: ", "  Enter sends them, Esc leaves"),
        PromptPurpose::Confirmation => (" to delete, type it: ", "  Enter deletes, Esc leaves"),
    };
    let room = usize::from(area.width).saturating_sub(width(label) + 1);
    let split = prompt.text().char_indices().nth(prompt.cursor()).map_or(prompt.text().len(), |(at, _)| at);
    let (before, after) = prompt.text().split_at(split);
    // The end of what stands before the cursor always shows.
    let before = view.fit(before, room, Keep::End);
    let at = width(label) + width(&before);
    let after = view.fit(after, room.saturating_sub(width(&before)), Keep::Start);
    let used = at + width(&after);
    let usual = match prompt.purpose {
        PromptPurpose::Clients | PromptPurpose::ClientsIntoQueue if prompt.text().is_empty() => {
            DEFAULT_CLIENTS.to_string()
        }
        _ => String::new(),
    };
    let used = used + width(&usual);
    let mut spans =
        vec![Span::styled(label, view.theme.accent), Span::styled(format!("{before}{after}"), view.theme.text)];
    spans.push(Span::styled(usual, view.theme.dim));
    if used + help.len() < usize::from(area.width) {
        spans.push(Span::styled(help, view.theme.dim));
    }
    write_line(spans, area, buffer);
    Position::new(area.x + u16::try_from(at).unwrap_or(0).min(area.width.saturating_sub(1)), area.y)
}

/// The keys of this screen, as many as fit; help and quit always.
fn hints(view: View<'_>, columns: usize) -> Line<'static> {
    let app = view.app;
    let mut entries: Vec<_> = commands().filter(|entry| applies(view, entry)).collect();
    // What moves through a recording comes first, and what leads away comes behind what works here.
    entries.sort_by_key(|entry| match entry.command {
        command if command.is_of_replay() => 0,
        Command::Go(screen) if screen != Screen::Help => 2,
        _ => 1,
    });
    let text = |entry: &CommandEntry| {
        // During the tour the first of these is the tour's own.
        let taken = usize::from(app.tour().is_some() && entry.command.yields_to_tour());
        let key = entry.keys.get(taken).map_or(String::new(), |key| key.label(app.settings().ascii));
        (key, word(view, entry))
    };
    let length = |entry: &&CommandEntry| {
        let (key, word) = text(entry);
        width(&key) + word.len() + 3
    };
    let (last, first): (Vec<&CommandEntry>, Vec<&CommandEntry>) =
        entries.into_iter().partition(|entry| matches!(entry.command, Command::Go(Screen::Help) | Command::Quit));
    let mut room = columns.saturating_sub(1 + last.iter().map(length).sum::<usize>());
    let mut spans = vec![Span::raw(" ")];
    let fitting = first.into_iter().filter(|entry| {
        let needs = length(entry);
        let fits = needs <= room;
        room = if fits { room - needs } else { 0 };
        fits
    });
    let shown: Vec<_> = fitting.collect();
    for entry in shown.into_iter().chain(last) {
        let (key, word) = text(entry);
        spans.extend(hint(view.theme, key, word));
    }
    Line::from(spans)
}

fn applies(view: View<'_>, entry: &CommandEntry) -> bool {
    let app = view.app;
    let somewhere_to_go = app.screen() != Screen::Locks || !app.filter().is_empty();
    // Keys that would only be refused now would take the room of those that work.
    let useful = match entry.command {
        command if command.is_of_replay() => app.replay().is_some(),
        command if app.replay().is_some() && command.changes_ensemble() => false,
        Command::Go(Screen::Contend | Screen::Audit | Screen::Node | Screen::Comparison) if app.replay().is_some() => {
            false
        }
        Command::Delete | Command::Tag => app.settings().write,
        Command::Back => somewhere_to_go && !(app.screen() == Screen::Contend && app.has_fleets()),
        Command::Start if app.screen() == Screen::Contend => app.settings().write && !app.has_fleets(),
        Command::Picture if app.screen() == Screen::Contend => app.has_fleets(),
        command if command.is_of_slow_motion() => app.has_fleets() && app.shows_picture(),
        Command::NextPane if app.screen() == Screen::Contend => app.fleets().is_pair(),
        Command::Copy | Command::Pause if app.screen() == Screen::Contend => false,
        Command::Export if app.screen() == Screen::Contend => !app.has_fleets() && app.fleets().each().next().is_some(),
        Command::Go(screen) => screen != app.screen() || screen == Screen::Help,
        command if command.is_for_fleets() => app.has_fleets(),
        _ => true,
    };
    entry.hint.is_some() && app.screen().has(entry.command) && useful
}

/// The word of a hint; some say what the key would do now.
fn word(view: View<'_>, entry: &CommandEntry) -> &'static str {
    let app = view.app;
    match entry.command {
        Command::Back if app.screen() == Screen::Queue && !app.tags().is_empty() => "untag",
        Command::Back if !app.filter().is_empty() => "clear filter",
        Command::ReturnToLive if app.replay().is_some_and(|replay| !replay.is_of_live()) => "end",
        Command::Pause if app.replay().is_some_and(Replay::is_playing) => "stop",
        Command::Pause if app.replay().is_some() => "play",
        Command::Pause if app.paused().is_some() => "go on",
        Command::NextPane if app.screen() == Screen::Contend => "side",
        Command::Start if app.screen() == Screen::Contend => "start",
        Command::Picture if app.shows_picture() || app.shows_queue_picture() => "list",
        Command::StopOrGo if app.slow_motion().is_stopped() => "go on",
        Command::NextPane => match app.next_pane() {
            Pane::List if app.screen() == Screen::Queue => "queue",
            Pane::List => "list",
            Pane::Details => "details",
            Pane::Findings => "diagnosis",
            Pane::Events => "events",
        },
        _ => entry.hint.unwrap_or_default(),
    }
}

fn hint(theme: &Theme, key: String, word: &'static str) -> [Span<'static>; 3] {
    [Span::styled(key, theme.accent), Span::styled(format!(" {word}"), theme.text), Span::raw("  ")]
}
