//! ```text
//! - SANDBOX -- 2/6 A holder crashes -- 2 of 3 ---------------- n next  b back  P play -
//!  Now the holder's process dies. It said goodbye to nobody, so its session lives on, ...
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{View, page};
use crate::tui::app::{App, Tour};
use crate::tui::keymap::Command;
use crate::tui::page::Columns;
use crate::tui::widget::write::{clear, write_line};
use lockscope_model::text::human::countdown;
use lockscope_model::text::{Keep, width};

/// Minimum columns for the scene and step; below this, the keys are left out.
const LEAST: usize = 30;

/// Minimum columns of the terminal at which the namespace is shown.
const WIDE: u16 = 100;

/// Draws the tour's caption: the current scene and step, the keys, and the text.
pub fn draw(view: View<'_>, area: Rect, buffer: &mut Buffer) {
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
    page::draw_lines(view, &app.caption_lines(), Columns::TEXT, below, buffer);
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
