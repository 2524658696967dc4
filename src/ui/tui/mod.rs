//! The screen: live, or on a recording, in a terminal.
//!
//! ```text
//! terminal, signals --> terminal --> App::update --> Effect --> run carries it out
//! observer --Change----------------> (app/, pure)
//!                                         |
//!                                    view::draw, at most 60 times a second, never when idle
//! ```
//!
//! - `screen`, `keymap`: screens, the columns of their lists, keys, and what the keys do, as data;
//!   pure.
//! - `own_command`: programs of the config file that run with values of a row; pure.
//! - `lock_history`: the history of each lock, within bounds; pure.
//! - `page`: the content of text pages, as data; pure.
//! - `picture`: a queue as a picture, and the watch events that travel in it, as data; pure.
//! - `app`: the state; pure. `app/screens.rs` is the table of screens.
//! - `contrast`: colours of a theme that can be read on the terminal's own ground; pure.
//! - `view`: draws the screens with `widget` and `theme`.
//! - `run`, `terminal`, `live_parts`, `command_runner`, `background`, `ensemble_watch`,
//!   `past_reader`, `past_writer`: the loop and everything it drives. [`replay`] starts the loop on
//!   a recording: no ensemble is contacted, and no client is started.
//!
//! Architecture invariant: dependencies point up this list only. `page` and `app` know no ratatui,
//! and neither `view` nor `widget`. A page is made of plain values, never of the app. `widget`
//! knows neither `app` nor `page`. `view` draws and decides nothing. Only `run` and what it starts
//! read, write or wait.

// Hidden rather than private, because benchmarks and whole-program tests use these modules. They
// are no stable interface.
#[doc(hidden)]
pub mod app;
mod background;
mod command_runner;
mod contrast;
mod ensemble_watch;
mod keymap;
#[doc(hidden)]
pub mod live_parts;
mod lock_history;
mod lock_lanes;
mod own_command;
mod page;
mod past_reader;
mod past_writer;
#[doc(hidden)]
pub mod picture;
#[doc(hidden)]
pub mod run;
#[doc(hidden)]
mod screen;
#[doc(hidden)]
pub mod terminal;
#[doc(hidden)]
pub mod theme;
#[doc(hidden)]
pub mod view;
mod widget;

use std::error::Error;
use std::future::pending;
use std::io;
use std::io::{BufWriter, Stdout, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::timeout;

use self::app::Tour;
use self::ensemble_watch::{EnsembleWatches, Followed};
use self::past_writer::{LivePast, PastWriter};
use app::{App, Event, FleetSide, Replay, Settings, Travel};
use background::{DeletionRunner, NodeReader, TreeReader};
use live_parts::{FleetTasks, Sources};
use lockscope_base::time::now;
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_lab::contend::{FleetCommand, Scenario};
use lockscope_live::admin::ProtectionGuard;
use lockscope_live::admin::notebook::NotesFollower;
use lockscope_live::observe::{ObserveOptions, Observed, Observer};
use lockscope_live::zk::BadConnectString;
use lockscope_live::zk::survey::{SurveyOptions, Surveyor, WatchersWanted};
use lockscope_model::report::ReportedEnsemble;
use lockscope_past::record::{Batch, LiveState, StoreError};
use past_reader::PastReader;
use past_writer::PastImporter;
use run::{ChangeSource, Console, ConsoleParts, FleetControl};
use terminal::{ProcessSignals, TerminalEvents, TerminalGuard};
use theme::Theme;

pub use self::app::{Bindings, CommandEnd, Screen, ScreenChoices, ScreensChosen, WantedKeys};
pub use self::command_runner::run_with_input;
pub use self::ensemble_watch::{EnsembleToWatch, EnsembleWatchOptions};
pub use self::own_command::{CommandOutput, OwnCommand, OwnProgram, PreparedCommand};
pub use self::past_writer::{PastError, PastPlace};
pub use self::theme::{BadTheme, Palette, ThemeName};
pub use background::{OptionsSource, ReadAgain};

#[cfg(test)]
mod testing;

/// How long the end of the program waits for a confirmed deletion.
const MAX_WAIT_FOR_DELETION: Duration = Duration::from_secs(12);

/// Bytes of the past kept in memory when the named file belongs to another ensemble.
const PAST_IN_MEMORY: u64 = 64 << 20;

/// How the screen is started.
#[derive(Clone, Debug)]
pub struct TuiOptions {
    /// What the state of the screen starts with.
    pub settings: Settings,
    /// What to observe.
    pub observe: ObserveOptions,
    /// How to ask the servers about themselves.
    pub survey: SurveyOptions,
    /// Which colours. `NO_COLOR` in the environment makes them those of [`ThemeName::Mono`].
    pub theme: Palette,
    /// Whether to capture the mouse, which then can no longer select text.
    pub mouse: bool,
    /// What the user should know at the start; a sentence.
    pub notice: Option<String>,
    /// Where it keeps the past of what it shows.
    pub past: PastPlace,
    /// The guided tour to start with.
    pub tour: Option<Tour>,
    /// Follows what is muted.
    pub notes: NotesFollower,
    /// Knows which ensembles are protected. Without it nothing is changed.
    pub guard: Option<ProtectionGuard>,
}

impl TuiOptions {
    /// Returns how to watch the ensemble while it is not open.
    pub fn watch(&self) -> EnsembleWatchOptions {
        let thresholds = self.settings.thresholds;
        let notes = self.notes.clone();
        EnsembleWatchOptions { observe: self.observe.clone(), survey: self.survey.clone(), thresholds, notes }
    }
}

/// Why the screen could not be shown, or ended with an error.
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

/// The source of the console's options.
pub type Source = Arc<dyn OptionsSource<Options = TuiOptions>>;

type Surface = Terminal<CrosstermBackend<BufWriter<Stdout>>>;

/// Shows the locks until the user leaves, a signal ends the program, or the terminal is closed.
/// Every way out restores the terminal. With a `source`, the user can go to other ensembles, and
/// changes of the config file take effect.
///
/// The cost for the ensemble is that of [`Observer`] and [`Surveyor`]. The expensive query, the
/// watches of each session, is sent only while a screen shows its result. Not cancel safe: the
/// session would be left to its timeout.
///
/// With `several` ensembles it starts on their list, and watches all of them; `options` then say
/// how the list looks, and their ensemble is not shown.
pub async fn run(options: TuiOptions, source: Option<Source>, several: Vec<EnsembleToWatch>) -> Result<(), TuiError> {
    if !terminal::is_there() {
        return Err(TuiError::NoTerminal);
    }
    // With NO_COLOR, crossterm would drop bold and reverse too, and thus hide the selection. The
    // theme leaves out only the colours.
    crossterm::style::force_color_output(true);
    terminal::ask_for_colours();
    let mut orders = ProcessSignals::listen().map_err(TuiError::terminal)?;
    let past = if several.is_empty() { start_past(&options)? } else { None };
    let taken = TerminalGuard::take_over(options.mouse).map_err(TuiError::terminal)?;
    let mut ensembles = (!several.is_empty()).then(|| EnsembleWatches::start(several));
    // Boxed: the caller's future would otherwise contain this whole future.
    let ended = Box::pin(show_each((options, past, taken), source, &mut orders, &mut ensembles)).await;
    if let Some(ensembles) = ensembles {
        ensembles.stop().await;
    }
    ended
}

/// Shows one ensemble after the other, until the user leaves.
async fn show_each(
    (mut options, mut past, mut taken): (TuiOptions, Option<LivePast>, TerminalGuard),
    source: Option<Source>,
    orders: &mut ProcessSignals,
    ensembles: &mut Option<EnsembleWatches>,
) -> Result<(), TuiError> {
    loop {
        let shown = Box::pin(show(options, past, source.clone(), taken, orders, ensembles.as_mut()));
        let Some((next, control)) = shown.await? else { return Ok(()) };
        (options, taken) = (next, control);
        past = start_past(&options).or_else(|error| {
            // The file belongs to another program, or to the previous ensemble.
            options.notice = Some(format!("The past is kept in memory: {error}."));
            options.past = PastPlace::Memory(PAST_IN_MEMORY);
            start_past(&options)
        })?;
    }
}

fn start_past(options: &TuiOptions) -> Result<Option<LivePast>, PastError> {
    let connect = ReportedEnsemble::new(&options.observe.connection.connect, None).connect().to_owned();
    LivePast::start(&options.past, &connect, options.settings.utc)
}

/// Shows one ensemble. If the user goes on to another one, returns its options and the terminal.
async fn show(
    options: TuiOptions,
    past: Option<LivePast>,
    source: Option<Source>,
    taken: TerminalGuard,
    orders: &mut ProcessSignals,
    mut ensembles: Option<&mut EnsembleWatches>,
) -> Result<Option<(TuiOptions, TerminalGuard)>, TuiError> {
    let surface: Surface = taken.surface().map_err(TuiError::terminal)?;
    let size = surface.size().map_err(TuiError::terminal)?;
    let app = App::new(options.settings.clone(), (size.width, size.height), now());
    let context = options.settings.context.clone();
    let (observer, mut app) = match &mut ensembles {
        None => (Some(Observer::start(options.observe.clone())), app),
        Some(ensembles) => {
            let (followed, list) = ensembles.hand_over(context.as_deref(), &options.watch()).await;
            let (observer, app) = match followed {
                Some(Followed { observer, live }) => (Some(observer), app.with_live(live, now())),
                None => (None, app),
            };
            (observer, app.with_ensembles(list))
        }
    };
    let is_open = observer.is_some();
    let mut parts = ConsoleParts {
        deletions: DeletionRunner::new(
            options.observe.clone(),
            options.survey.clone(),
            options.settings.audit_log.clone(),
            options.settings.write,
        )
        .guarded_by(options.guard.filter(|_| is_open)),
        nodes: NodeReader::new(options.observe.connection.clone()),
        tree: Some(TreeReader::start(options.observe.connection.clone())),
        source,
        notes: options.notes,
        audit_log: options.settings.audit_log,
        board: ensembles.as_ref().map(|ensembles| ensembles.board()),
        notice: options.notice,
        first: options.tour.map(|tour| Event::TourBegins(Box::new(tour))),
        ..ConsoleParts::default()
    };
    if let Some(LivePast { recording, writer, reader, last }) = past {
        if let (None, Some(last)) = (&ensembles, last) {
            let fresh = LiveState::new(options.observe.table(), options.settings.thresholds);
            app = app.with_live(fresh.resuming(last, &options.observe.roots), now());
        }
        app = app.with_recording(recording);
        (parts.past, parts.past_writer) = (Some(reader), writer);
    }
    let asks_servers = options.settings.asks_servers;
    let (connection, roots) = (options.observe.connection.clone(), options.observe.roots.clone());
    let fleets = FleetTasks::new(connection.clone(), roots, asks_servers);
    let mut surveyor = None;
    if asks_servers && is_open {
        surveyor = Some(Surveyor::start_after(options.survey, app.world().table().view())?);
        parts.importer = Some(PastImporter::new(options.observe, options.settings.thresholds));
    }
    let mut sources = Sources::new(observer, surveyor, connection);
    let theme = Theme::of(terminal::colours(options.theme), options.settings.ascii);
    let mut console = Console::new(app, theme, surface, taken, parts);
    let work = async |fleets: &mut FleetTasks| {
        let ended = console.run(&mut TerminalEvents::default(), &mut sources, orders, fleets).await;
        let gone = !terminal::is_there();
        let deleting = console.app().working().is_some();
        let last = console.end_past();
        console.keep_known().await;
        let next = console.take_next();
        let several = console.take_ensembles();
        let left = console.leave();
        // If the user leaves the program, this restores the terminal before anything is written to
        // stderr.
        let control = next.map(|next| (next, left.control));
        if deleting {
            finish(left.tasks, gone || control.is_some()).await;
        }
        if control.is_none() && fleets.are_running() && !gone {
            // The fleets take a moment to stop, and the screen is already gone. A closed stderr is
            // no error here.
            let _ = writeln!(io::stderr(), "The test clients are leaving.");
        }
        match (several, ensembles) {
            (Some((watched, live)), Some(ensembles)) => {
                let observer = sources.stop_asking().await;
                let followed = observer.map(|observer| Followed { observer, live });
                ensembles.take_back(watched, context.as_deref(), followed).await;
            }
            _ => sources.stop().await,
        }
        let ended = ended.and(finish_past(last).await);
        (ended.map(|()| control), gone)
    };
    // Boxed, as above.
    match Box::pin(fleets.around(work)).await {
        // A closed terminal is the end of the program; nobody could read an error.
        (Err(TuiError::Terminal(_)), true) => Ok(None),
        (ended, _) => ended,
    }
}

/// Writes the rest of the past. Fails if that takes longer than two seconds.
async fn finish_past(last: Option<(PastWriter, Vec<Batch>)>) -> Result<(), TuiError> {
    let Some((writer, batches)) = last else { return Ok(()) };
    match spawn_blocking(move || writer.finish(batches, now())).await {
        Ok(written) => Ok(written?),
        Err(_) => Err(TuiError::Panicked),
    }
}

/// Waits a while for a confirmed deletion: if it were cut off, the audit log would show an intent
/// without an outcome.
async fn finish(mut tasks: JoinSet<Event>, silent: bool) {
    if !silent {
        // The screen is already gone. A closed stderr is no error here.
        let _ = writeln!(io::stderr(), "Waiting for the deletion to finish.");
    }
    let _ = timeout(MAX_WAIT_FOR_DELETION, async { while tasks.join_next().await.is_some() {} }).await;
}

/// The options of the screen on a recording.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    /// The file.
    pub store: PathBuf,
    /// The time to begin at; `None` for the end of the recording.
    pub at: Option<Timestamp>,
    /// What the state of the screen starts with, besides what the recording says.
    pub settings: Settings,
    /// The colours. `NO_COLOR` in the environment replaces them with those of
    /// [`ThemeName::Mono`].
    pub theme: Palette,
    /// Whether to capture the mouse, which then can no longer select text.
    pub mouse: bool,
}

/// Shows a recording until the user leaves, a signal ends the program, or the terminal is closed.
/// Every way out restores the terminal.
pub async fn replay(options: ReplayOptions) -> Result<(), TuiError> {
    if !terminal::is_there() {
        return Err(TuiError::NoTerminal);
    }
    crossterm::style::force_color_output(true);
    terminal::ask_for_colours();
    let theme = Theme::of(terminal::colours(options.theme), options.settings.ascii);
    let (past, outline, connect) = PastReader::open(&options.store, options.settings.utc)?;
    let name = options.store.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let first = past.travel(outline.until, outline.until, &Travel::To(options.at.unwrap_or(outline.until)));
    let settings = Settings { connect: connect.clone(), asks_servers: true, ..options.settings };
    let mut orders = ProcessSignals::listen().map_err(TuiError::terminal)?;
    let taken = TerminalGuard::take_over(options.mouse).map_err(TuiError::terminal)?;
    let surface = taken.surface().map_err(TuiError::terminal)?;
    let size = surface.size().map_err(TuiError::terminal)?;
    let mut app = App::new(settings, (size.width, size.height), now()).with_replay(Replay::new(name, connect, outline));
    app.update(first, now());
    let parts = ConsoleParts { past: Some(past), ..ConsoleParts::default() };
    let mut console = Console::new(app, theme, surface, taken, parts);
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
