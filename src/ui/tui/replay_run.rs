//! Runs the screen on a recording. No ensemble is contacted, and no client is started.

use std::future::pending;
use std::path::PathBuf;

use super::app::{App, Bindings, Event, FleetSide, Replay, ScreensChosen, Settings, Travel};
use super::input::{ProcessSignals, TerminalEvents};
use super::past_reader::PastReader;
use super::run::{ChangeSource, Console, FleetControl};
use super::terminal::{self, TerminalGuard};
use super::theme::{Palette, Theme};
use super::{OwnCommand, TuiError};
use lockscope_base::time::now;
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_lab::contend::{FleetCommand, Scenario};
use lockscope_live::observe::Observed;
use lockscope_live::zk::survey::WatchersWanted;

/// The options of the screen on a recording.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    /// The file.
    pub store: PathBuf,
    /// The time to begin at; `None` for the end of the recording.
    pub at: Option<Timestamp>,
    /// Whether to draw with ASCII only, for terminals without UTF-8.
    pub ascii: bool,
    /// The colours. `NO_COLOR` in the environment replaces them with those of
    /// [`ThemeName::Mono`](super::ThemeName::Mono).
    pub theme: Palette,
    /// Whether to capture the mouse, which then can no longer select text.
    pub mouse: bool,
    /// Whether times are first shown in UTC.
    pub utc: bool,
    /// The keys that differ from the defaults.
    pub bindings: Bindings,
    /// The initial columns and order of the lists.
    pub screens: ScreensChosen,
    /// The user's own commands.
    pub commands: Vec<OwnCommand>,
}

/// Shows a recording until the user leaves, a signal ends the program, or the terminal is closed.
/// Every way out restores the terminal.
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
        commands: options.commands,
        ..Settings::default()
    };
    let mut orders = ProcessSignals::listen().map_err(TuiError::terminal)?;
    let taken = TerminalGuard::take_over(options.mouse).map_err(TuiError::terminal)?;
    let surface = taken.surface().map_err(TuiError::terminal)?;
    let size = surface.size().map_err(TuiError::terminal)?;
    let mut app = App::new(settings, (size.width, size.height), now()).with_replay(Replay::new(name, connect, outline));
    app.update(first, now());
    let mut console = Console::new(app, theme, surface, taken).with_past(past);
    let ended = Box::pin(console.run(&mut TerminalEvents::default(), &mut Nothing, &mut orders, &mut Nothing)).await;
    match ended {
        // A closed terminal is the end of the program; nobody could read an error.
        Err(TuiError::Terminal(_)) if !terminal::is_there() => Ok(()),
        ended => ended,
    }
}

/// Stands in for the ensemble and the test clients, which a recording does not have.
struct Nothing;

impl ChangeSource for Nothing {
    async fn next(&mut self) -> Option<Vec<Observed>> {
        pending().await
    }
    fn set_watchers_wanted(&mut self, _: WatchersWanted) {}
    fn set_open_queue(&mut self, _: Option<ZnodePath>) {}
}

impl FleetControl for Nothing {
    async fn next(&mut self) -> Event {
        pending().await
    }
    fn start(&mut self, _: FleetSide, _: Scenario) {}
    fn order(&mut self, _: FleetSide, _: FleetCommand) {}
    fn stop(&mut self, _: FleetSide) {}
}
