//! The screen on a recording: no ensemble is asked, and no client is started.

use std::future::pending;
use std::path::PathBuf;

use super::TuiError;
use super::app::{App, Bindings, Event, FleetSide, Replay, ScreensChosen, Settings, Travel};
use super::input::{ProcessSignals, terminal_events};
use super::past_reader::PastReader;
use super::run::{ChangeSource, Console, FleetControl};
use super::terminal::{self, TerminalGuard};
use super::theme::{Palette, Theme};
use lockscope_base::time::now;
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_lab::contend::{FleetCommand, Scenario};
use lockscope_live::observe::Observed;

/// How the screen is started on a recording.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    /// The file.
    pub store: PathBuf,
    /// The moment to begin with; `None` for its end.
    pub at: Option<Timestamp>,
    /// Draw with ASCII only: for terminals without UTF-8.
    pub ascii: bool,
    /// Which colours. `NO_COLOR` in the environment makes them those of [`ThemeName::Mono`](super::ThemeName::Mono).
    pub theme: Palette,
    /// Take the mouse; it can no longer select text then.
    pub mouse: bool,
    /// Show times in UTC at first.
    pub utc: bool,
    /// Keys that are others than the usual ones.
    pub bindings: Bindings,
    /// How the lists look at first.
    pub screens: ScreensChosen,
}

/// Shows a recording until the user leaves, a signal ends the program, or the terminal is closed. The terminal is given back as it was on
/// every way out.
pub async fn replay(options: ReplayOptions) -> Result<(), TuiError> {
    if !terminal::is_there() {
        return Err(TuiError::NoTerminal);
    }
    crossterm::style::force_color_output(true);
    let theme = Theme::of(terminal::colours(options.theme), options.ascii);
    let (past, outline, connect) = PastReader::open(&options.store, options.utc)?;
    let name = options.store.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let first = past.travel(outline.until, outline.until, &Travel::To(options.at.unwrap_or(outline.until)));
    let settings = Settings {
        connect: connect.clone(),
        utc: options.utc,
        ascii: options.ascii,
        asks_servers: true,
        bindings: options.bindings,
        screens: options.screens,
        ..Settings::default()
    };
    let mut orders = ProcessSignals::listen().map_err(TuiError::terminal)?;
    let taken = TerminalGuard::take(options.mouse).map_err(TuiError::terminal)?;
    let surface = taken.surface().map_err(TuiError::terminal)?;
    let size = surface.size().map_err(TuiError::terminal)?;
    let mut app = App::new(settings, (size.width, size.height), now()).with_replay(Replay::new(name, connect, outline));
    app.update(first, now());
    let mut console = Console::new(app, theme, surface, taken).with_past(past);
    let ended = Box::pin(console.run(&mut terminal_events(), &mut Nothing, &mut orders, &mut Nothing)).await;
    match ended {
        // A terminal that was closed is the end of the program, not an error that somebody could read.
        Err(TuiError::Terminal(_)) if !terminal::is_there() => Ok(()),
        ended => ended,
    }
}

/// What a recording has in place of an ensemble and of test clients.
struct Nothing;

impl ChangeSource for Nothing {
    async fn next(&mut self) -> Option<Vec<Observed>> {
        pending().await
    }
    fn look_at_watchers(&mut self, _: bool) {}
    fn look_at_queue(&mut self, _: Option<ZnodePath>) {}
}

impl FleetControl for Nothing {
    async fn next(&mut self) -> Event {
        pending().await
    }
    fn start(&mut self, _: FleetSide, _: Scenario) {}
    fn order(&mut self, _: FleetSide, _: FleetCommand) {}
    fn stop(&mut self, _: FleetSide) {}
}
