//! The event loop: waits for keys, changes, timers and signals, passes them to the [`App`], carries
//! out its effects, and draws.
//!
//! Architecture invariant: keys take precedence over frames, and frames over changes. Changes are
//! taken in slices, so that no burst of them delays a key.
//!
//! The terminal can be lent to a program of the user until it ends. The console goes on meanwhile,
//! but neither draws nor reads keys.

pub mod parts;

use std::error::Error;
use std::mem::ManuallyDrop;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, mem, vec};

use crossterm::event;
use ratatui::Terminal;
use ratatui::backend::Backend;
use tokio::task::{AbortHandle, JoinSet, spawn_blocking};

use super::app::{App, CommandEnd, EnsembleReport, Event, WatchedEnsembles};
use super::background::{ConfigWatch, DeletionRunner, NodeReader, ReadAgain, TreeReader, WishedNote};
use super::command_runner::CommandRunner;
use super::ensemble_watch::EnsembleBoard;
use super::past_reader::PastReader;
use super::past_writer::{PastImporter, PastWriter};
use super::terminal::{InputSource, ProcessSignal, TerminalControl, colours, translate};
use super::theme::Theme;
use super::{Source, TuiError, TuiOptions};
use crate::tui::app::{CommandReport, Effect};
use crate::tui::command_runner::Lent;
use crate::tui::keymap::FixedKey;
use crate::tui::own_command::{CommandOutput, PreparedCommand};
use crate::tui::view::draw;
use lockscope_base::time::now;
use lockscope_base::znode::ZnodePath;
use lockscope_files as files;
use lockscope_live::admin::notebook::{NoteChange, NotesFollower};
use lockscope_live::deadline::until;
use lockscope_live::observe::Observed;
use lockscope_live::zk::until_unverified_login;
use lockscope_model::queue::LockQueue;
use lockscope_past::record::{Batch, LiveState};
use parts::{Frames, Urgency, WriterThread};

pub use self::parts::{ChangeSource, FleetControl, SignalSource};

#[cfg(test)]
mod tests;

/// Maximum changes applied before keys are looked at again: a few milliseconds of work.
const MAX_CHANGES_PER_SLICE: usize = 1_000;

/// After a batch of fewer changes than this, further changes are gathered before they are applied.
const FEW_CHANGES: usize = 512;

/// How long changes are gathered: less than the time between two frames of changes.
const GATHER: Duration = Duration::from_millis(20);

/// How often ages are updated.
const TICK_INTERVAL: Duration = Duration::from_secs(1);

/// The reason why the loop woke up.
enum LoopTurn {
    Signal(ProcessSignal),
    Input(Option<io::Result<crossterm::event::Event>>),
    Done(Event),
    /// The program that had the terminal has ended.
    Returned(String, CommandEnd),
    Note(&'static str),
    Config(Box<ReadAgain>),
    Tick,
    Due,
    Frame,
    Slice,
    Changes(Option<Vec<Observed>>),
}

/// The program on one terminal.
pub struct Console<B: Backend, O> {
    app: App,
    theme: Theme,
    /// Never dropped: its drop would write to a terminal that may be closed, and panic on failure.
    /// The cursor is restored with the rest of the terminal.
    terminal: ManuallyDrop<Terminal<B>>,
    control: O,
    frames: Frames,
    /// Whether the next frame draws every cell, since the terminal may not show the last frame.
    draws_anew: bool,
    waiting: vec::IntoIter<Observed>,
    /// Apply no further changes before this time.
    more_from: Instant,
    ended: bool,
    /// Whether the note about an unverified login was shown.
    noted: bool,
    ticked: Instant,
    /// The parent of the open queue, whose contenders are read first.
    open_queue: Option<ZnodePath>,
    tasks: JoinSet<Event>,
    /// The task that finds out whether people depend on the ensemble.
    protection_look: Option<AbortHandle>,
    commands: CommandRunner,
    terminal_use: TerminalUse,
    past_writer: Option<(PastWriter, WriterThread)>,
    config: Option<ConfigWatch>,
    parts: ConsoleParts,
    /// The options of the ensemble that the user goes on to.
    next: Option<Box<TuiOptions>>,
}

/// What a console works with besides its state and its terminal. It cannot do what a missing part
/// is for.
#[derive(Default)]
pub struct ConsoleParts {
    pub deletions: DeletionRunner,
    pub nodes: NodeReader,
    /// Reads the nodes of the tree.
    pub tree: Option<TreeReader>,
    /// Reads the recording that is shown, or the past of the live locks.
    pub past: Option<PastReader>,
    /// Writes the live past.
    pub past_writer: Option<PastWriter>,
    /// Takes transaction logs into the past.
    pub importer: Option<PastImporter>,
    /// Follows what is noted about the ensemble.
    pub notes: NotesFollower,
    /// Where notes are logged for others to read.
    pub audit_log: Option<PathBuf>,
    /// Knows the options of other ensembles, and of this one when the config file has changed.
    pub source: Option<Source>,
    /// Has the summaries of the ensembles that are not open.
    pub board: Option<Arc<EnsembleBoard>>,
    /// A sentence to show at the start.
    pub notice: Option<String>,
    /// An event that comes before every key, including keys pressed while the program started.
    pub first: Option<Event>,
}

/// What is left of the program after it leaves the screen.
pub struct AfterScreen<O> {
    /// The tasks still under way.
    pub tasks: JoinSet<Event>,
    /// The terminal, not yet restored.
    pub control: O,
}

impl<B: Backend, O: TerminalControl> Console<B, O>
where
    B::Error: Error,
{
    /// Creates the program before its first frame. An importer starts to look for the files of
    /// servers on this machine.
    pub fn new(mut app: App, theme: Theme, terminal: Terminal<B>, control: O, mut parts: ConsoleParts) -> Self {
        let mut frames = Frames::default();
        frames.request(Urgency::Now);
        if let Some(notice) = parts.notice.take() {
            app.update(Event::ContextRefused(notice), now());
        }
        let mut tasks = JoinSet::new();
        if let Some(importer) = &parts.importer {
            tasks.spawn(importer.find());
        }
        let protection_look = Some(tasks.spawn(parts.deletions.clone().find_protection()));
        Self {
            app,
            theme,
            terminal: ManuallyDrop::new(terminal),
            control,
            frames,
            // The terminal may still show the console of another ensemble.
            draws_anew: true,
            waiting: Vec::new().into_iter(),
            more_from: Instant::now(),
            ended: false,
            noted: false,
            ticked: Instant::now(),
            open_queue: None,
            tasks,
            protection_look,
            commands: CommandRunner::default(),
            terminal_use: TerminalUse::default(),
            past_writer: parts.past_writer.take().map(|writer| (writer, WriterThread::start())),
            config: parts.source.clone().map(ConfigWatch::start),
            parts,
            next: None,
        }
    }

    /// Takes the ensembles and the state of the open one, with every change that was received.
    pub fn take_ensembles(&mut self) -> Option<(Box<WatchedEnsembles>, LiveState)> {
        let rest: Vec<Observed> = self.waiting.by_ref().collect();
        self.app.update(Event::Changes(rest), now());
        self.app.take_ensembles()
    }

    /// Keeps what is known of the findings, at the end.
    pub async fn keep_known(&mut self) {
        let Some((notebook, _)) = self.parts.notes.notebook() else { return };
        for effect in self.app.take_known() {
            if let Effect::Note { connect, change, .. } = effect {
                let wish = WishedNote { connect, change, log: None };
                if let Err(error) = wish.keep(notebook.clone()).await {
                    tracing::warn!(error, "what is known of the findings is lost");
                }
            }
        }
    }

    /// Takes the options of the ensemble that the user goes on to.
    pub fn take_next(&mut self) -> Option<TuiOptions> {
        self.next.take().map(|next| *next)
    }

    /// Leaves the screen. The returned tasks continue.
    pub fn leave(self) -> AfterScreen<O> {
        // Nobody waits for it: it may never end.
        if let Some(look) = &self.protection_look {
            look.abort();
        }
        AfterScreen { tasks: self.tasks, control: self.control }
    }

    pub fn app(&self) -> &App {
        &self.app
    }

    pub fn terminal(&self) -> &Terminal<B> {
        &self.terminal
    }

    /// Runs until the user or the system ends the program.
    pub async fn run(
        &mut self,
        input: &mut impl InputSource,
        changes: &mut impl ChangeSource,
        system: &mut impl SignalSource,
        fleets: &mut impl FleetControl,
    ) -> Result<(), TuiError> {
        if let Some(noted) = self.noted() {
            self.app.update(noted, now());
        }
        if let Some(event) = self.parts.first.take()
            && self.handle(LoopTurn::Done(event), changes, fleets).await?.is_break()
        {
            return Ok(());
        }
        loop {
            self.lend_if_due(input).await?;
            let turn = self.next_turn(input, changes, system, fleets).await;
            if self.handle(turn, changes, fleets).await?.is_break() {
                return Ok(());
            }
            if !self.control.is_taken() {
                return Err(TuiError::Panicked);
            }
        }
    }

    /// Waits for the next turn. If several are ready, the one of the highest rank wins.
    async fn next_turn(
        &mut self,
        input: &mut impl InputSource,
        changes: &mut impl ChangeSource,
        system: &mut impl SignalSource,
        fleets: &mut impl FleetControl,
    ) -> LoopTurn {
        let frame = self.frames.due(Instant::now()).filter(|_| self.terminal_use.is_ours());
        let reads = self.terminal_use.reads_keys();
        let tick = self.app.ticks().then_some(self.ticked + TICK_INTERVAL);
        let due = self.app.next_due().map(|due| Instant::now() + due.since(now()).min(TICK_INTERVAL));
        let idle = self.waiting.len() == 0;
        tokio::select! {
            biased;
            order = system.next() => LoopTurn::Signal(order),
            event = input.next(), if reads => LoopTurn::Input(event),
            (name, end) = self.terminal_use.returned() => LoopTurn::Returned(name, end),
            event = self.commands.next() => LoopTurn::Done(event),
            event = tree_read(self.parts.tree.as_mut()) => LoopTurn::Done(event),
            Some(Ok(event)) = self.tasks.join_next() => LoopTurn::Done(event),
            () = until(tick) => LoopTurn::Tick,
            () = until(due) => LoopTurn::Due,
            event = fleets.next() => LoopTurn::Done(event),
            reports = reported(self.parts.board.as_deref()) => LoopTurn::Done(Event::EnsemblesReported(reports)),
            change = changed(self.config.as_mut()) => LoopTurn::Config(Box::new(change)),
            note = until_unverified_login(), if !self.noted => LoopTurn::Note(note),
            () = until(frame) => LoopTurn::Frame,
            () = std::future::ready(()), if !idle => LoopTurn::Slice,
            batch = later(self.more_from, changes.next()), if idle && !self.ended => LoopTurn::Changes(batch),
        }
    }

    async fn handle(
        &mut self,
        turn: LoopTurn,
        changes: &mut impl ChangeSource,
        fleets: &mut impl FleetControl,
    ) -> Result<ControlFlow<()>, TuiError> {
        let urgency = if matches!(turn, LoopTurn::Slice) { Urgency::Changes } else { Urgency::Now };
        let event = match turn {
            LoopTurn::Input(None | Some(Err(_))) => return Ok(ControlFlow::Break(())),
            LoopTurn::Signal(signal) => return self.signalled(signal),
            LoopTurn::Returned(name, end) => self.returned(name, end)?,
            LoopTurn::Input(Some(Ok(event))) if !self.terminal_use.is_ours() => return self.answered(&event),
            LoopTurn::Input(Some(Ok(event))) => match translate(&event) {
                Some(event) => {
                    // A terminal that shrank for a moment has lost cells, even if it has its old
                    // size again.
                    self.draws_anew |= matches!(event, Event::Resize(..));
                    event
                }
                None => return Ok(ControlFlow::Continue(())),
            },
            LoopTurn::Done(event) => {
                if matches!(event, Event::NoteKept { .. }) {
                    self.notes_changed();
                }
                event
            }
            LoopTurn::Note(note) => {
                self.noted = true;
                Event::Note(format!("{note}."))
            }
            LoopTurn::Config(change) => {
                self.theme = Theme::of(colours(change.theme), change.ascii);
                change.event()
            }
            LoopTurn::Tick => {
                self.ticked = Instant::now();
                if let Some(noted) = self.noted() {
                    self.app.update(noted, now());
                }
                self.app.update(Event::DeletionProgressed(self.parts.deletions.done()), now());
                Event::Tick
            }
            LoopTurn::Due => Event::Due,
            LoopTurn::Frame => {
                self.draw_frame()?;
                return Ok(ControlFlow::Continue(()));
            }
            LoopTurn::Slice => Event::Changes(self.waiting.by_ref().take(MAX_CHANGES_PER_SLICE).collect()),
            LoopTurn::Changes(Some(batch)) => {
                // Between two frames nobody sees when a change is applied, and each batch costs as
                // much as several changes.
                let gathers = batch.len() < FEW_CHANGES;
                self.more_from = Instant::now() + if gathers { GATHER } else { Duration::ZERO };
                self.waiting = batch.into_iter();
                return Ok(ControlFlow::Continue(()));
            }
            LoopTurn::Changes(None) => {
                self.ended = true;
                Event::ObserverEnded
            }
        };
        let update = self.app.update(event, now());
        if update.redraw {
            self.frames.request(urgency);
        }
        let open_queue = self.app.world().open_lock().map(LockQueue::queue_path);
        if open_queue != self.open_queue {
            self.open_queue.clone_from(&open_queue);
            changes.set_open_queue(open_queue);
        }
        for effect in update.effects {
            if self.carry_out(effect, changes, fleets).await?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Awaits `what`, but not before `from`. Cancel safe if `what` is.
async fn later<F: Future>(from: Instant, what: F) -> F::Output {
    if from > Instant::now() {
        tokio::time::sleep_until(from.into()).await;
    }
    what.await
}

/// Waits for the next answer about the tree; forever without a reader.
async fn tree_read(reader: Option<&mut TreeReader>) -> Event {
    match reader {
        Some(reader) => reader.next().await,
        None => std::future::pending().await,
    }
}

/// Waits for the next summaries of ensembles; forever where one ensemble is shown.
async fn reported(board: Option<&EnsembleBoard>) -> Vec<EnsembleReport> {
    match board {
        Some(board) => board.next().await,
        None => std::future::pending().await,
    }
}

/// Waits for the next change of the config file; forever without a config file.
async fn changed(config: Option<&mut ConfigWatch>) -> ReadAgain {
    match config {
        Some(config) => config.next().await,
        None => std::future::pending().await,
    }
}

impl<B: Backend, O: TerminalControl> Console<B, O>
where
    B::Error: Error,
{
    /// Returns the last changes of the past and their writer.
    pub fn end_past(&mut self) -> Option<(PastWriter, Vec<Batch>)> {
        let (writer, _) = self.past_writer.take()?;
        Some((writer, self.app.end_recording()))
    }

    /// Looks at the ensemble in the background; an earlier look ends.
    fn find_protection(&mut self) {
        let look = self.tasks.spawn(self.parts.deletions.clone().find_protection());
        if let Some(earlier) = self.protection_look.replace(look) {
            earlier.abort();
        }
    }

    /// Carries out an effect. Its result comes back as an event.
    async fn carry_out(
        &mut self,
        effect: Effect,
        changes: &mut impl ChangeSource,
        fleets: &mut impl FleetControl,
    ) -> Result<ControlFlow<()>, TuiError> {
        match effect {
            Effect::Quit => return Ok(ControlFlow::Break(())),
            Effect::GoToContext(name) => return self.go_to(name).await,
            Effect::Copy(text) => self.control.copy(&text).map_err(TuiError::terminal)?,
            Effect::Export { name, text } => {
                self.tasks.spawn_blocking(move || Event::ExportDone(export(&name, &text)));
            }
            Effect::FindGuards(plan) => {
                self.tasks.spawn(self.parts.deletions.clone().find_guards(*plan));
            }
            Effect::FindProtection => self.find_protection(),
            Effect::Delete(plan) => {
                self.tasks.spawn(self.parts.deletions.clone().carry_out(*plan));
            }
            Effect::ReadAudit => {
                self.tasks.spawn(self.parts.deletions.clone().read_audit());
            }
            Effect::ReadNode(path) => {
                self.tasks.spawn(self.parts.nodes.clone().read(path));
            }
            Effect::ReadTree(wish) => {
                if let Some(tree) = &self.parts.tree {
                    tree.ask(wish);
                }
            }
            Effect::RunCommand(command) => match command.output {
                CommandOutput::Pane => self.commands.start(*command),
                CommandOutput::Terminal => self.terminal_use = TerminalUse::ToLend(command),
            },
            Effect::StopCommand => self.commands.stop(),
            Effect::Suspend => {
                self.control.suspend().await.map_err(TuiError::terminal)?;
                return self.redraw();
            }
            Effect::Redraw => return self.redraw(),
            Effect::StartFleet { side, scenario } => fleets.start(side, *scenario),
            Effect::Order { side, order } => fleets.order(side, order),
            Effect::StopFleet(side) => fleets.stop(side),
            Effect::DismissFleets => fleets.dismiss(),
            Effect::DirectScene(direction) => fleets.direct(direction),
            Effect::CompareFleets(scenarios) => fleets.compare(scenarios),
            Effect::Travel { from, outlined, travel } => {
                if let Some(past) = self.parts.past.clone() {
                    self.tasks.spawn_blocking(move || {
                        let arrived = past.travel(from, outlined, &travel);
                        spawn_blocking(move || past.read_ahead());
                        arrived
                    });
                }
            }
            Effect::FindLastLeaders(elections) => {
                if let Some(past) = self.parts.past.clone() {
                    self.tasks.spawn_blocking(move || past.last_leaders(&elections));
                }
            }
            Effect::ForgetPast => {
                if let Some(past) = self.parts.past.clone() {
                    // `forget` waits for a jump under way.
                    spawn_blocking(move || past.forget());
                }
            }
            Effect::Record(batches) => {
                if let Some((writer, thread)) = self.past_writer.clone() {
                    self.tasks.spawn(thread.run(move || writer.write(batches, now())));
                }
            }
            Effect::TakeIn(wish) => {
                if let Some((importer, (writer, _))) = self.parts.importer.as_ref().zip(self.past_writer.clone()) {
                    self.tasks.spawn_blocking(importer.take_in(*wish, writer));
                }
            }
            Effect::LookAtWatchers(wanted) => changes.set_watchers_wanted(wanted),
            Effect::FilterEnsembles(filter) => {
                if let Some(board) = &self.parts.board {
                    board.set_filter(filter);
                }
            }
            Effect::TellCrossWaits(told) => {
                if let Some(board) = &self.parts.board {
                    board.tell_cross_waits(told);
                }
            }
            Effect::CompareMembers(nodes) => changes.compare_members(*nodes),
            Effect::Note { connect, change, said } => self.note(&connect, change, said),
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Keeps a note. Its success is said, and read like a note of another program.
    fn note(&mut self, connect: &str, change: NoteChange, said: Option<String>) {
        let Some((notebook, _)) = self.parts.notes.notebook() else {
            if said.is_some() {
                let kept = Err("there is no home for notes: name a file with --notes-file".to_owned());
                self.tasks.spawn(std::future::ready(Event::NoteKept { kept, said }));
            }
            return;
        };
        let wish = WishedNote { connect: connect.to_owned(), change, log: self.parts.audit_log.clone() };
        let notebook = notebook.clone();
        self.tasks.spawn(async move { Event::NoteKept { kept: wish.keep(notebook).await, said } });
    }

    /// Reads the notes again, and lets the other ensembles do so.
    fn notes_changed(&mut self) {
        if let Some(noted) = self.noted() {
            self.app.update(noted, now());
        }
        if let Some(board) = &self.parts.board {
            board.tell_notes();
        }
    }

    /// Returns what is noted, if that is news.
    fn noted(&mut self) -> Option<Event> {
        let notes = self.parts.notes.news()?.clone();
        Some(Event::NotesFollowed(Box::new(notes)))
    }

    /// Ends the loop if the user can go on to the context.
    async fn go_to(&mut self, name: String) -> Result<ControlFlow<()>, TuiError> {
        let refused = match self.parts.source.clone() {
            None => "There is no config file here.".to_owned(),
            Some(source) => match spawn_blocking(move || source.in_context(&name)).await {
                Ok(Ok(next)) => {
                    self.next = Some(Box::new(next));
                    // Leaving takes a moment, and nothing is drawn meanwhile.
                    self.draw_frame()?;
                    return Ok(ControlFlow::Break(()));
                }
                Ok(Err(why)) => why,
                Err(_) => return Err(TuiError::Panicked),
            },
        };
        if self.app.update(Event::ContextRefused(refused), now()).redraw {
            self.frames.request(Urgency::Now);
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Draws everything anew: both the content and the size of the terminal may have changed.
    fn redraw(&mut self) -> Result<ControlFlow<()>, TuiError> {
        let size = self.terminal.size().map_err(TuiError::terminal)?;
        self.draws_anew = true;
        self.app.update(Event::Resize(size.width, size.height), now());
        self.frames.request(Urgency::Now);
        Ok(ControlFlow::Continue(()))
    }

    /// Draws the differences to the last frame, or every cell if the terminal may not show the last
    /// frame.
    fn draw_frame(&mut self) -> Result<(), TuiError> {
        if mem::take(&mut self.draws_anew) {
            self.clear().map_err(TuiError::terminal)?;
        }
        let (app, theme) = (&self.app, &self.theme);
        self.terminal.draw(|frame| draw(frame, app, theme)).map_err(TuiError::terminal)?;
        self.frames.drawn(Instant::now());
        Ok(())
    }

    /// Clears the terminal, as the next frame expects it to be empty.
    fn clear(&mut self) -> Result<(), B::Error> {
        // `Terminal::clear` would query the cursor's position and wait for the reply among the
        // keys.
        let size = self.terminal.size()?;
        self.terminal.resize(size.into())
    }
}

/// Writes a new file into the current directory. An existing file is never overwritten.
fn export(name: &str, text: &str) -> Result<PathBuf, String> {
    use std::io::Write;

    let path = std::env::current_dir().unwrap_or_default().join(name);
    let written = files::create_new(&path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.write_all(b"\n")
    });
    match written {
        Ok(()) => Ok(path),
        Err(error) => Err(format!("{} could not be written: {error}.", path.display())),
    }
}

/// How long the terminal library's thread has to stop reading keys.
const RELEASES_WITHIN: Duration = Duration::from_millis(20);

/// The owner of the terminal.
#[derive(Default)]
enum TerminalUse {
    /// The console.
    #[default]
    Ours,
    /// The console, but this program is about to get it.
    ToLend(Box<PreparedCommand>),
    /// A program.
    Lent(Box<Lent>),
    /// The console waits for a key before it covers what a failed program wrote.
    Asking,
}

impl TerminalUse {
    pub fn is_ours(&self) -> bool {
        matches!(self, Self::Ours)
    }

    pub fn reads_keys(&self) -> bool {
        matches!(self, Self::Ours | Self::Asking)
    }

    /// Waits until the program with the terminal has ended; forever without one. Cancel safe.
    pub async fn returned(&mut self) -> (String, CommandEnd) {
        match self {
            Self::Lent(lent) => lent.end().await,
            _ => std::future::pending().await,
        }
    }
}

impl<B: Backend, O: TerminalControl> Console<B, O>
where
    B::Error: Error,
{
    /// Starts the program that is to have the terminal.
    async fn lend_if_due(&mut self, input: &mut impl InputSource) -> Result<(), TuiError> {
        let TerminalUse::ToLend(command) = &self.terminal_use else { return Ok(()) };
        input.release();
        tokio::time::sleep(RELEASES_WITHIN).await;
        self.control.lend().map_err(TuiError::terminal)?;
        self.terminal_use = TerminalUse::Lent(Box::new(Lent::start(command)));
        Ok(())
    }

    /// Takes the terminal back from a program that has ended. The user first reads why it failed.
    fn returned(&mut self, name: String, end: CommandEnd) -> Result<Event, TuiError> {
        if end.is_good() {
            self.take_back()?;
        } else {
            let sentence = format!("{} Press {} to go back.", end.sentence(&name), FixedKey::Enter.name());
            self.control.ask(&sentence).map_err(TuiError::terminal)?;
            self.terminal_use = TerminalUse::Asking;
        }
        Ok(Event::Command(Box::new(CommandReport::Returned { name, end })))
    }

    fn take_back(&mut self) -> Result<(), TuiError> {
        self.control.retake().map_err(TuiError::terminal)?;
        self.terminal_use = TerminalUse::Ours;
        self.redraw().map(|_| ())
    }

    /// Handles a key while the console waits to take the terminal back.
    fn answered(&mut self, event: &event::Event) -> Result<ControlFlow<()>, TuiError> {
        let Some(Event::Key(key)) = translate(event) else { return Ok(ControlFlow::Continue(())) };
        let goes_back = FixedKey::Enter.is(key) || FixedKey::Leave.is(key) || FixedKey::Interrupt.is(key);
        if goes_back {
            self.take_back()?;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Handles a signal. The keys for signals are those of the program with the terminal.
    fn signalled(&mut self, signal: ProcessSignal) -> Result<ControlFlow<()>, TuiError> {
        match (signal, &self.terminal_use) {
            (ProcessSignal::Interrupt | ProcessSignal::Continue, TerminalUse::Lent(_)) => {}
            (ProcessSignal::End | ProcessSignal::Interrupt, _) => return Ok(ControlFlow::Break(())),
            (ProcessSignal::Continue, _) => self.take_back()?,
        }
        Ok(ControlFlow::Continue(()))
    }
}
