//! The screen: live, in a terminal.
//!
//! ```text
//! terminal, signals --> input --> App::update --> Effect --> run carries it out
//! observer --Change-------------> (app/, pure)
//!                                      |
//!                                 view::draw, at most 60 times a second, never when idle
//! ```
//!
//! - `key`, `screen`, `keymap`: keys, screens, and what keys do, as data; pure.
//! - `columns`: which columns of a list fit, and where; pure.
//! - `lock_history`: what happened to each lock, within bounds; pure.
//! - `page`: what text pages say, as data; pure.
//! - `picture`: a queue as a picture, and the watch events that travel in it, as data; pure.
//! - `app`: the state; pure. `app/screens.rs` is the table of screens.
//! - `view`: one file a screen, drawn with `widget` and `theme`.
//! - `run`, `terminal`, `input`, `frames`, `sources`, `fleet_tasks`, `deletion_runner`, `node_reader`, `past_reader`,
//!   `past_writer`: the loop and what it touches; `replay_run` starts it on a recording.
//!
//! Architecture invariant: arrows point up this list only. `page` and `app` know no ratatui and neither `view` nor `widget`; a
//! page is made of plain values, and never of the app. `widget` knows neither `app` nor `page`. `view` draws and decides
//! nothing. Only `run` and what it starts read, write or wait.

// Hidden, not private: benchmarks and tests of the whole program drive these. They are no interface.
#[doc(hidden)]
pub mod app;
#[doc(hidden)]
mod columns;
mod deletion_runner;
#[doc(hidden)]
pub mod fleet_tasks;
mod frames;
mod input;
#[doc(hidden)]
mod key;
mod keymap;
mod lock_history;
mod node_reader;
mod page;
mod past_reader;
mod past_writer;
#[doc(hidden)]
pub mod picture;
mod replay_run;
#[doc(hidden)]
pub mod run;
#[doc(hidden)]
mod screen;
mod sources;
#[doc(hidden)]
pub mod terminal;
#[doc(hidden)]
pub mod theme;
#[doc(hidden)]
pub mod view;
mod widget;

#[cfg(test)]
mod testing;

use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use crossterm::event::EventStream;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::timeout;

use self::app::{App, Event, Settings, Tour};
pub use self::app::{Bindings, Screen, ScreenChoices, ScreensChosen, WantedKeys};
use self::deletion_runner::DeletionRunner;
use self::fleet_tasks::FleetTasks;
use self::input::ProcessSignals;
use self::node_reader::NodeReader;
use self::past_writer::{LivePast, PastWriter};
pub use self::past_writer::{PastError, PastPlace};
pub use self::replay_run::{ReplayOptions, replay};
use self::run::Console;
use self::sources::Sources;
use self::terminal::TerminalGuard;
use self::theme::Theme;
pub use self::theme::{BadTheme, Palette, ThemeName};
use crate::diagnose::Thresholds;
use crate::observe::{ObserveOptions, Observer};
use crate::record::{Batch, StoreError};
use crate::report::Ensemble;
use crate::time::now;
use crate::zk::BadConnectString;
use crate::zk::survey::{SurveyOptions, Surveyor, ViewBy};

/// How long the end of the program waits for a deletion that was confirmed.
const MAX_WAIT_FOR_DELETION: Duration = Duration::from_secs(12);

/// How the screen is started.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line, and any mixture of them is good"
)]
#[derive(Clone, Debug)]
pub struct TuiOptions {
    /// What to observe.
    pub observe: ObserveOptions,
    /// How to ask the servers about themselves.
    pub survey: SurveyOptions,
    /// From when on something is called a finding.
    pub thresholds: Thresholds,
    /// Draw with ASCII only: for terminals without UTF-8.
    pub ascii: bool,
    /// Which colours. `NO_COLOR` in the environment makes them those of [`ThemeName::Mono`].
    pub theme: Palette,
    /// Take the mouse; it can no longer select text then.
    pub mouse: bool,
    /// Show times in UTC at first.
    pub utc: bool,
    /// Whether the console may change the ensemble.
    pub write: bool,
    /// Where changes are written down; `None` when there is no place for it, and then nothing is changed.
    pub audit_log: Option<PathBuf>,
    /// Whether somebody named the servers; else those of the connect string are a default.
    pub connect_is_given: bool,
    /// Where it keeps the past of what it shows.
    pub past: PastPlace,
    /// A guided tour.
    pub tour: Option<Tour>,
    /// Keys that are others than the usual ones.
    pub bindings: Bindings,
    /// How the lists look at first.
    pub screens: ScreensChosen,
}

/// Why there is no screen.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    /// Standard output is no terminal.
    #[error("lockscope needs a terminal; for scripts use `lockscope snapshot`.")]
    NoTerminal,
    /// The terminal cannot be used.
    #[error("The terminal cannot be used: {0}.")]
    Terminal(String),
    /// The connect string is malformed.
    #[error(transparent)]
    Connect(#[from] BadConnectString),
    /// The recording cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The past cannot be kept.
    #[error(transparent)]
    Past(#[from] PastError),
    /// A part of the program panicked.
    #[error("lockscope ended because a part of it failed; the message above says where.")]
    Panicked,
}

impl TuiError {
    fn terminal(error: impl Error) -> Self {
        Self::Terminal(error.to_string())
    }
}

/// Shows the locks until the user leaves, a signal ends the program, or the terminal is closed. The terminal is
/// given back as it was on every way out.
///
/// Costs the ensemble what [`Observer`] and [`Surveyor`] cost; the dear question, who watches what, is asked only while a screen
/// shows it. Not to be cancelled: the session would be left to its timeout.
pub async fn run(options: TuiOptions) -> Result<(), TuiError> {
    if !terminal::is_there() {
        return Err(TuiError::NoTerminal);
    }
    // With NO_COLOR crossterm would drop bold and reverse too, and with them the selection: the theme leaves the
    // colours out instead.
    crossterm::style::force_color_output(true);
    let theme = Theme::of(terminal::colours(options.theme), options.ascii);
    let settings = Settings {
        connect: options.observe.connection.connect.clone(),
        connect_is_default: !options.connect_is_given,
        roots: options.observe.roots.clone(),
        named: options.observe.named.clone(),
        write: options.write,
        audit_log: options.audit_log.clone(),
        utc: options.utc,
        ascii: options.ascii,
        asks_servers: options.survey.by != ViewBy::Off,
        thresholds: options.thresholds,
        bindings: options.bindings,
        screens: options.screens,
    };
    let connect = Ensemble::new(&options.observe.connection.connect, None).connect().to_owned();
    let (past, recording) = match LivePast::start(&options.past, &connect, options.utc)? {
        Some(LivePast { recording, writer, reader }) => (Some((reader, writer)), Some(recording)),
        None => (None, None),
    };
    let mut orders = ProcessSignals::listen().map_err(TuiError::terminal)?;
    let taken = TerminalGuard::take(options.mouse).map_err(TuiError::terminal)?;
    let surface = taken.surface().map_err(TuiError::terminal)?;
    let size = surface.size().map_err(TuiError::terminal)?;
    let app = App::new(settings, (size.width, size.height), now());
    let app = recording.into_iter().fold(app, App::with_recording);
    let fleets = FleetTasks::new(
        options.observe.connection.clone(),
        options.observe.roots.clone(),
        options.survey.by != ViewBy::Off,
    );
    let nodes = NodeReader::new(options.observe.connection.clone());
    let deletions =
        DeletionRunner::new(options.observe.clone(), options.survey.clone(), options.audit_log, options.write);
    if let Some(tour) = options.tour {
        fleets.begin_with(Event::TourBegins(Box::new(tour)));
    }
    let surveyor = match options.survey.by {
        ViewBy::Off => None,
        _ => Some(Surveyor::start(options.survey)?),
    };
    let sources = Sources::new(Observer::start(options.observe), surveyor);
    let work = async |fleets: &mut FleetTasks| {
        let console = Console::new(app, theme, surface, taken).with_deletions(deletions).with_node_reader(nodes);
        let console = match past {
            Some((reader, writer)) => console.with_past(reader).with_past_writer(writer),
            None => console,
        };
        let (mut sources, mut console) = (sources, console);
        let ended = console.run(&mut EventStream::new(), &mut sources, &mut orders, fleets).await;
        let gone = !terminal::is_there();
        let deleting = console.app().working().is_some();
        let last = console.end_past();
        let tasks = console.leave();
        if deleting {
            finish(tasks, gone).await;
        }
        if fleets.are_running() && !gone {
            // That takes a moment, and there is no screen any more to say so. Who closed standard error does not care.
            let _ = writeln!(io::stderr(), "The test clients are leaving.");
        }
        sources.stop().await;
        let ended = ended.and(finish_past(last).await);
        (ended, gone)
    };
    // On the heap: whoever awaits this would carry all of it along otherwise.
    match Box::pin(fleets.around(work)).await {
        // A terminal that was closed is the end of the program, not an error that somebody could read.
        (Err(TuiError::Terminal(_)), true) => Ok(()),
        (ended, _) => ended,
    }
}

/// Writes the last of the past, which fails when that is not possible within two seconds.
async fn finish_past(last: Option<(PastWriter, Vec<Batch>)>) -> Result<(), TuiError> {
    let Some((writer, batches)) = last else { return Ok(()) };
    match spawn_blocking(move || writer.finish(batches, now())).await {
        Ok(written) => Ok(written?),
        Err(_) => Err(TuiError::Panicked),
    }
}

/// Waits for a deletion that was confirmed, a while: what is cut off leaves an intent without an outcome in the audit log.
async fn finish(mut tasks: JoinSet<Event>, gone: bool) {
    if !gone {
        // There is no screen any more to say so. Who closed standard error does not care.
        let _ = writeln!(io::stderr(), "The deletion is being finished.");
    }
    let _ = timeout(MAX_WAIT_FOR_DELETION, async { while tasks.join_next().await.is_some() {} }).await;
}
