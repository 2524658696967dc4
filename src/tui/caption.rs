//! What the tour says, in lines. Pure.

use super::app::{App, Tour};
use super::keymap::{COMMANDS, Command};
use crate::text::{Charset, wrap_words};

/// From how many columns on there is room for more than the bare facts.
const ROOMY: u16 = 100;
/// Lines of a caption at the most.
const MOST_LINES: usize = 5;

/// The caption of the step, or why the scene cannot be played, in lines of `columns`.
pub fn lines(app: &App, tour: &Tour, columns: u16) -> Vec<String> {
    let charset = if app.settings().ascii { Charset::Ascii } else { Charset::Unicode };
    let text = match tour.trouble() {
        Some(why) => format!("This scene cannot be played: {why}"),
        None => tour.step().caption.clone(),
    };
    let mut lines = wrap_words(&text, room(columns), charset);
    lines.truncate(MOST_LINES);
    lines
}

/// How many lines the tour takes: as many as the longest caption of the scene needs, so that nothing jumps within one, and
/// one above them.
pub fn height(tour: &Tour, columns: u16) -> u16 {
    // Captions are ASCII, so that the charset makes no difference.
    let lines = |caption: &str| wrap_words(caption, room(columns), Charset::Unicode).len();
    let most = tour.scene().steps.iter().map(|beat| lines(&beat.caption)).max().unwrap_or(0);
    u16::try_from(most.min(MOST_LINES) + 1).unwrap_or(1)
}

/// A space stands on either side.
fn room(columns: u16) -> usize {
    usize::from(columns).saturating_sub(2)
}

/// What stands above the caption on the left: where it is played, which scene, and which step of it.
pub fn title(tour: &Tour, columns: u16) -> [String; 3] {
    let place = match tour.is_on_sandbox() {
        true => " SANDBOX ".to_owned(),
        // Every lock's path tells it too.
        false if columns < ROOMY => " DEMO ".to_owned(),
        false => format!(" DEMO in {} ", tour.namespace()),
    };
    let ((scene, scenes), (beat, beats)) = (tour.scene_number(), tour.step_number());
    [place, format!("{scene}/{scenes} {}", tour.scene().title), format!("{beat} of {beats}")]
}

/// What stands there on the right: the keys, and when the next step comes by itself.
pub fn keys(app: &App, tour: &Tour) -> String {
    let key = |command: Command, word: &str| {
        let entry = COMMANDS.iter().find(|entry| entry.command == command);
        let key = entry.and_then(|entry| entry.keys.first()).map(|key| key.label(app.settings().ascii));
        format!("{} {word}", key.unwrap_or_default())
    };
    let plays = match tour.next_in(app.clock()) {
        Some(left) => format!("{} {}s", key(Command::TourPlay, "stop"), left.as_millis().div_ceil(1000)),
        None => key(Command::TourPlay, "play"),
    };
    format!("{}  {}  {plays}", key(Command::TourNext, "next"), key(Command::TourBack, "back"))
}
