//! The state of the screen: an event comes in, effects go out as data.
//!
//! [`App::update`] depends only on the state, the event and the time. It draws nothing and never
//! waits. Every event takes the same way: the method for its kind, then what a step of the tour
//! waits for, then the list of ensembles; if anything is to be redrawn, rows, selection and layout
//! are computed again. Changes by time alone are events too: the tick of each second, and the time
//! that [`App::next_due`] returned. While a tour runs, a step opens screens, acts and types as soon
//! as each is possible. After a minute without a key, the clients of the tour run slowly until the
//! next key.
//!
//! Each part owns its state (`Shown`, `TestClients`, `Deletions`, `Tour`, `AuditLog`, `Footer`, and
//! others), handles the events that concern it, and returns effects. A rule that concerns several
//! parts is a method of `App`. The files of `App` call each other downwards only. From the bottom
//! up:
//!
//! 1. `facts`: questions to the state, and notices in the footer.
//! 2. `pages`: texts, and the layout; `measure`: what the visible rows need.
//! 3. `navigation`: moving in a list or a text, searching, opening, and the way back from screen to
//!    screen.
//! 4. What a command does: `contend::acts`, `past`, `delete::acts`, then `actions`, which
//!    dispatches every command.
//! 5. `keys`: keys, the mouse and the command line.
//! 6. This file: the steps of the tour, which press keys, the ticks, and `update`.
//!
//! Pure: no ratatui, no crossterm, no tokio, no clock.
//!
//! Architecture invariant: the work for a change or a frame is proportional to the rows on the
//! screen, times at most the logarithm of the number of rows. Two kinds of work may visit every
//! row: an action of the user (a new order, a filter, a pause, an export), and the work after each
//! survey (findings, and a filter that may match addresses).

mod actions;
mod commands;
mod contend;
mod delete;
mod ensembles;
mod event;
mod facts;
mod filter;
mod footer;
mod found;
mod help;
mod keys;
mod known;
mod layout;
mod list;
mod lists;
mod measure;
mod navigation;
mod noted;
mod own_output;
mod pages;
mod past;
mod screens;
mod settings;
mod shown;
mod small;
mod timeline;
mod tour;
mod tree;
mod world;

use self::contend::TestClients;
use self::delete::Deletions;
use self::footer::Footer;
use self::navigation::Navigation;
use self::noted::NotedFindings;
use self::own_output::OwnRuns;
use self::shown::Shown;
use crate::tui::keymap::{Command, FixedKey};
use lockscope_base::znode::Timestamp;
use lockscope_lab::contend::FleetCommand;
use lockscope_lab::demo::{PresenterInput, TourScreen};
use lockscope_live::observe::Observed;
use lockscope_live::zk::survey::WatchersWanted;
use lockscope_model::members::ComparedNodes;
use lockscope_model::queue::{Change, ConnectionState};
use past::{LastLeaders, PastImport};
use tour::PlayedStep;

pub use crate::tui::keymap::Bindings;
pub use crate::tui::keymap::key::{Key, Mouse};
pub use crate::tui::screen::{Pane, Screen};
pub use commands::WantedKeys;
pub use contend::clients::{ComparedFleet, FleetComparison};
pub use contend::{
    CannotJoin, ClientsWanted, DEFAULT_CLIENTS, Destination, FleetSide, FleetView, Fleets, Phase, SlowMotion, is_living,
};
pub use delete::outcome::AuditLog;
pub use delete::{Deletion, Tags, Working, sentence};
pub use ensembles::{
    EnsembleListId, EnsembleNews, EnsembleOrder, EnsembleReport, EnsembleRow, ListedEvent, ListedRow, WatchedEnsembles,
};
pub use event::{
    Arrival, Arrived, AuditReading, Effect, Event, NodeRead, Outline, RaisedFinding, RecordedSize, TakeIn, TakenIn,
    Travel, Update,
};
pub use filter::Filter;
pub use footer::{Notice, Prompt, PromptPurpose};
pub use found::{FoundLocks, FoundPlace};
pub use keys::Hint;
pub use known::KnownFindings;
pub use layout::{Area, Layout, MIN_TERMINAL};
pub use list::{
    CellNeed, ColumnNeeds, Cursor, Directed, FixedOrder, FoldedColumn, ListOrder, ListScreen, Rows, Sorting,
};
pub use lists::locks::{ASSUMED, LEADER, LockRows, LockStyle, VanishedLock};
pub use lists::queue::{QueueRows, TimelineRows};
pub use lists::sessions::{SessionDetail, SessionOrder, SessionPlace, SessionRows, SessionWatches};
pub use lists::sorted_locks::{LockOrder, SortedLocks};
pub use lists::waits::{WaitId, WaitKind, WaitRow, WaitRows};
pub use lists::{
    AuditColumn, AuditEntries, ClientColumn, Clients, EnsembleColumn, Ensembles, HistoryColumn, HistoryId, HistoryList,
    HistoryRow, LockColumn, LockList, LockRow, PlaceColumn, QueueColumn, QueueList, QueueRow, SessionColumn,
    SessionList, SessionPlaceRow, SessionPlaces, TimelineColumn, TimelineList, TreeColumn, TreeList, WaitList,
};
pub use navigation::Cursors;
pub use own_output::{CommandEnd, CommandReport, MAX_OUTPUT_BYTES};
pub use pages::{OpenNode, PAST_BAR_HEIGHT, ShownPage};
pub use past::{Recording, folder_names};
pub use screens::SCREENS;
pub use settings::{ConfigChange, KnownContext, ScreenChoices, ScreensChosen, Settings};
pub use shown::{Paused, PlaySpeed, Replay, ReplayedFile, replay_sentence};
pub use timeline::TimelineEntry;
pub use tour::Tour;
pub use tree::{ChildStat, ChildState, SearchEnd, Tree, TreeAnswer, TreeRow, TreeSearch, TreeWish};
pub use world::ScreenWorld;

#[cfg(test)]
mod tests;

/// The state of the screen.
#[derive(Debug)]
pub struct App {
    /// The options from the start, with later changes of the config file.
    settings: Settings,
    /// The size of the terminal: columns and lines.
    size: (u16, u16),
    /// The layout after the last event; `None` when the terminal is too small.
    layout: Option<Layout>,
    /// The wall-clock time of the last event.
    wall: Timestamp,
    /// The live state of the ensemble; empty while a file is replayed.
    live: ScreenWorld,
    /// Whether the observer still runs.
    observing: bool,
    /// The recording of the live state; `None` when nothing is recorded.
    recording: Option<Recording>,
    past_import: Box<PastImport>,
    shown: Shown,
    navigation: Navigation,
    cursors: Cursors,
    /// The filter of History.
    history_filter: Filter,
    test_clients: TestClients,
    deletions: Deletions,
    audit: Box<AuditLog>,
    footer: Footer,
    tour: Option<Box<Tour>>,
    /// What the last [`Effect::LookAtWatchers`] wanted.
    watchers_wanted: WatchersWanted,
    member_trees: MemberTrees,
    last_leaders: Box<LastLeaders>,
    /// The ensembles that the console watches; `None` when it shows one.
    ensembles: Option<Box<WatchedEnsembles>>,
    own_runs: Box<OwnRuns>,
    noted: Box<NotedFindings>,
    tree: Box<Tree>,
}

impl App {
    /// The state of the screen before the first event.
    pub fn new(settings: Settings, size: (u16, u16), now: Timestamp) -> Self {
        let mut app = Self {
            live: ScreenWorld::new(settings.table(), settings.thresholds),
            audit: Box::new(AuditLog::new(settings.audit_log.clone())),
            settings,
            size,
            layout: None,
            wall: now,
            recording: None,
            past_import: Box::default(),
            shown: Shown::Live,
            navigation: Navigation::default(),
            cursors: Cursors::default(),
            history_filter: Filter::none(),
            test_clients: TestClients::default(),
            deletions: Deletions::default(),
            footer: Footer::default(),
            observing: true,
            tour: None,
            watchers_wanted: WatchersWanted::Never,
            member_trees: MemberTrees::default(),
            last_leaders: Box::default(),
            ensembles: None,
            own_runs: Box::default(),
            noted: Box::new(NotedFindings::new(now)),
            tree: Box::default(),
        };
        app.arrange();
        ScreensChosen::apply(&ScreensChosen::default(), &mut app);
        app
    }

    /// Shows a recording instead of an ensemble, and disables deletions and test clients.
    #[must_use]
    pub fn with_replay(mut self, replay: Replay) -> Self {
        self.settings.write = false;
        self.observing = false;
        self.shown = Shown::Past(Box::new(replay));
        self.arrange();
        self
    }

    /// Handles one event. Returns whether to redraw, and the effects to carry out.
    pub fn update(&mut self, event: Event, now: Timestamp) -> Update {
        self.wall = now;
        let second = matches!(event, Event::Tick);
        let before = (self.navigation.screen, self.shown.is_paused());
        let looked = match &event {
            Event::Tick => true,
            Event::Changes(changes) => changes.iter().any(|seen| matches!(seen.change, Change::Surveyed { .. })),
            _ => false,
        };
        let update = match event {
            Event::Key(key) => self.attended(|app| app.key(key)),
            Event::Mouse(mouse) => self.attended(|app| app.mouse(mouse)),
            Event::Resize(width, height) => {
                self.size = (width, height);
                Update::redraw()
            }
            Event::Changes(changes) => self.changes(changes),
            Event::Tick => self.tick(),
            Event::Due => self.due(),
            Event::ExportDone(done) => {
                match done {
                    Ok(path) => self.show_notice(format!("Written to {}", path.display())),
                    Err(why) => self.show_failure(why),
                }
                Update::redraw()
            }
            Event::Note(note) => {
                self.show_notice(note);
                Update::redraw()
            }
            Event::ContextRefused(why) => self.context_refused(why),
            Event::ConfigChanged(change) => self.config_changed(*change),
            Event::GuardsFound(found) => self.guards_found(found),
            Event::ProtectionFound(production) => self.protection_found(production),
            Event::DeletionProgressed(done) => self.deletion_progressed(done),
            Event::DeletionDone(done) => self.deletion_done(done),
            Event::NodeRead { path, read } => self.node_read(&path, read),
            Event::TreeRead { number, answer } => self.tree_read(number, *answer),
            Event::Command(report) => self.command_reported(*report),
            Event::AuditRead(reading) => self.audit_read(*reading),
            Event::ObserverEnded => {
                self.observing = false;
                Update::redraw()
            }
            Event::Fleet { side, status } => self.fleet_reported(side, status),
            Event::FleetFailed { side, why } => self.fleet_failed(side, why),
            Event::FleetEnded { side, outcome } => self.fleet_ended(side, *outcome),
            Event::FleetBusy(side) => self.fleet_busy(side),
            Event::FleetCompared(outcome) => self.fleet_compared(outcome),
            Event::Arrived(arrival) => self.arrive(*arrival),
            Event::Recorded(recorded) => self.recorded(*recorded),
            Event::ServerFilesFound(found) => self.server_files_found(found),
            Event::PastTakenIn(taken) => self.past_taken_in(taken),
            Event::LastLeadersFound(found) => self.last_leaders_found(found),
            Event::EnsemblesReported(reports) => self.ensembles_reported(reports),
            Event::NotesFollowed(notes) => {
                let update = self.notes_followed(*notes);
                self.summarize_open();
                update
            }
            Event::NoteKept { kept, said } => self.note_kept(kept, said),
            Event::TourBegins(tour) => self.tour_begins(tour),
            Event::SceneFailed(why) => self.scene_failed(why),
        };
        let mut update = self.follow_tour(update, second);
        update.append(self.look_in_ensembles());
        update.append(self.go_into_wanted());
        if update.redraw {
            let is_entered = before != (self.navigation.screen, self.shown.is_paused());
            if is_entered || looked && self.shows_truth() {
                self.rebuild_rows();
            }
            // The layout depends on the selected row, whose details take room; what stays visible
            // of the list depends on the layout. So the selection is found again before it and kept
            // within it afterwards.
            self.reanchor();
            self.arrange();
            self.wrap_output();
            self.reanchor();
            self.measure();
        }
        if before.0 != self.navigation.screen {
            self.offer_import();
        }
        let has_watches = self.screen().entry().shows_watchers || self.layout.is_some_and(|it| it.beside.height > 0);
        let wanted = match (self.shown.is_live(), has_watches) {
            (false, _) => WatchersWanted::Never,
            // Any lock may have a head that waits itself, which its watches alone tell.
            (true, false) => WatchersWanted::AtPace,
            (true, true) => WatchersWanted::Now,
        };
        if std::mem::replace(&mut self.watchers_wanted, wanted) != wanted {
            update.effects.push(Effect::LookAtWatchers(wanted));
        }
        update.effects.extend(self.read_tree());
        update.effects.extend(self.compare_members_if_due());
        if looked {
            update.effects.extend(self.ask_for_last_leaders());
        }
        update
    }

    fn changes(&mut self, changes: Vec<Observed>) -> Update {
        let count = changes.iter().filter(|seen| !matches!(seen.change, Change::Surveyed { .. })).count() as u64;
        self.count_changes(usize::try_from(count).unwrap_or(usize::MAX));
        self.live.apply(changes, self.recording.as_mut().and_then(Recording::recorder));
        if let Some(open) = &self.navigation.open {
            self.live.reopen(open);
        }
        self.deletions.recheck(&self.live, &self.settings.bindings, self.wall);
        self.name_new_holder();
        Update { redraw: self.shown.follow(count), effects: Vec::new() }
    }

    /// Re-anchors the selection of the screen's list after rows moved.
    fn reanchor(&mut self) {
        if let Some((list, layout)) = self.navigation.screen.list().zip(self.layout()) {
            list.reanchor(self, layout.rows().1);
        }
    }

    /// Rebuilds the rows that are not updated change by change. The rows of Sessions and Waits are
    /// at most a second old; while the state is stale, they are those of the last state, which may
    /// be younger than the last visit to the screen.
    fn rebuild_rows(&mut self) {
        if let Some(list) = self.navigation.screen.list() {
            list.rebuild_rows(self);
        }
    }

    fn tick(&mut self) -> Update {
        let redraw = self.counts_seconds();
        self.live.tick(self.wall);
        if self.observing && self.live.table().is_live() {
            self.live.examine_if_due(self.wall, self.recording.as_mut().and_then(Recording::recorder));
        }
        self.summarize_open();
        let told = self.compare_ensembles();
        self.deletions.tick(&self.live, &self.settings.bindings, self.wall);
        self.footer.tick(self.wall);
        let known = self.know_findings();
        Update { redraw, effects: told.into_iter().chain(known).chain(self.record()).collect() }
    }

    /// Moves pictures and playback on, at the time that [`next_due`](Self::next_due) returned.
    fn due(&mut self) -> Update {
        let played = self.shown.replay_mut().and_then(|replay| replay.play_on(self.wall));
        let moved = self.test_clients.move_pictures(self.wall);
        let stepped = self.test_clients.play_due_step(self.wall);
        Update { redraw: moved && self.shows_moves(), effects: played.into_iter().chain(stepped).collect() }
    }

    /// When the next [`Event::Due`](Event::Due) is wanted, for the next step or the next
    /// frame of a moving picture. `None` while nothing moves.
    pub fn next_due(&self) -> Option<Timestamp> {
        let of_clients = self.test_clients.next_due(self.wall, self.shows_moves());
        of_clients.into_iter().chain(self.replay().and_then(Replay::plays_on_at)).min()
    }

    /// Whether the moving picture of the test clients is visible.
    fn shows_moves(&self) -> bool {
        self.shows_picture() && !self.shown.is_paused()
    }

    /// Whether live locks exist and are up to date, whatever the screen shows.
    fn watches_locks(&self) -> bool {
        let table = self.live.table();
        self.observing && table.is_live() && table.contender_count() > 0
    }

    /// Whether an [`Event::Tick`] is needed every second: the screen changes with time alone, a
    /// waiter may become overdue, or recorded changes wait to be written.
    pub fn ticks(&self) -> bool {
        let has_open = self.ensembles().is_some_and(|ensembles| ensembles.open().is_some());
        self.counts_seconds()
            || self.watches_locks()
            || has_open
            || self.recording.as_ref().is_some_and(Recording::has_more)
    }

    /// Whether something on the screen changes with time alone.
    pub fn counts_seconds(&self) -> bool {
        let playing = self.tour.as_ref().is_some_and(|tour| tour.is_playing());
        if self.footer.notice.is_some() || self.shown.is_paused() || self.deletions.open.is_some() || playing {
            return true;
        }
        if self.navigation.screen == Screen::Contend && self.has_fleets() {
            return true;
        }
        if let Some(replay) = self.replay() {
            return replay.is_of_live();
        }
        if self.shows_ensembles() {
            return false;
        }
        if !self.is_live() {
            return matches!(self.link(), ConnectionState::Connecting { next_try: Some(_), .. });
        }
        match self.navigation.screen.list() {
            Some(list) => list.changes_with_time(self),
            None => self.navigation.screen == Screen::Servers && self.settings.asks_servers,
        }
    }

    /// Whether Locks shows how long a lock has been free or gone.
    fn shows_ages_of_free_locks(&self) -> bool {
        let world = self.world();
        let rows = self.layout().map_or(0, |layout| layout.rows().1);
        let top = self.cursors.locks.top();
        let ids = world.locks().window(top..top + rows).filter_map(|id| world.table().lock(id));
        world.vanished().shown() > 0 || ids.into_iter().any(|lock| lock.is_empty() && world.free_since(lock).is_some())
    }

    /// Whether the sparklines of Locks contain watch events, which move with time.
    fn shows_recent_watch_events(&self) -> bool {
        let seconds = self.live.table().totals().history.seconds(self.moment());
        seconds.iter().any(|second| second.watch_events.herd + second.watch_events.chain > 0)
    }

    /// Carries out, after every event, what the step waits for. `second` says whether a second
    /// passed; only then does time advance the tour and the idle check run.
    fn follow_tour(&mut self, mut update: Update, second: bool) -> Update {
        if self.tour.is_none() {
            return update;
        }
        update.redraw |= self.look_where_the_step_says();
        update.append(self.act_when_possible());
        update.append(self.rewind_when_possible());
        if second {
            update.append(self.step_on());
            update.append(self.leave_alone());
        }
        update
    }

    /// Opens the screen of the step once its contents exist. Returns whether it did.
    fn look_where_the_step_says(&mut self) -> bool {
        let Some((tour, look)) = self.tour.as_ref().and_then(|tour| Some((tour, tour.screen_to_open()?))) else {
            return false;
        };
        let filter = tour.step().filter.clone().unwrap_or_default();
        match look {
            TourScreen::Queue => {
                let Some(path) = tour.lock_of_step() else { return false };
                let Some(id) = self.live.table().find(&path, None) else { return false };
                self.open_lock(id);
                self.cursors.contenders = Cursor::first();
            }
            TourScreen::Locks => self.go(Screen::Locks),
            TourScreen::Waits => self.go(Screen::Waits),
            TourScreen::Contend => self.go(Screen::Contend),
            TourScreen::Comparison => self.go(Screen::Comparison),
            TourScreen::Timeline => {
                self.go(Screen::Timeline);
                self.cursors.timeline = Cursor::last();
            }
        }
        // A filter of an earlier step could hide the subject of this one.
        self.set_filter(&filter);
        self.tour_yields();
        true
    }

    /// Goes back to the first finding of this scene, if the step asks for it.
    fn rewind_when_possible(&mut self) -> Update {
        let Some(tour) = &mut self.tour else { return Update::default() };
        match tour.rewinds_to(self.live.timeline(), self.wall) {
            Some(began) => Update { redraw: true, ..self.rewind(Travel::To(began)) },
            None => Update::default(),
        }
    }

    /// Sends the step's orders to the test clients once that is possible. Selects a client that
    /// the step crashes or freezes.
    fn act_when_possible(&mut self) -> Update {
        let Some(tour) = &mut self.tour else { return Update::default() };
        let orders = tour.orders(self.test_clients.fleets(), self.wall);
        if let [FleetCommand::Crash(id) | FleetCommand::Freeze(id)] = orders[..] {
            self.cursors.clients[FleetSide::Left as usize] = Cursor::on(id);
        }
        let redraw = !orders.is_empty();
        let order = |order| Effect::Order { side: FleetSide::Left, order };
        Update { redraw, effects: orders.into_iter().map(order).collect() }
    }

    /// Presses the presenter's keys that are due, or goes to the next step when it is due.
    fn step_on(&mut self) -> Update {
        let Some(tour) = &mut self.tour else { return Update::default() };
        match tour.play(self.wall) {
            None => Update::default(),
            Some(PlayedStep::Waits) => Update::redraw(),
            Some(PlayedStep::Does(input)) => self.do_for_presenter(input),
            Some(PlayedStep::Next) => {
                let turn = tour.next();
                self.take_turn(turn)
            }
        }
    }

    /// Presses a key of the presenter, but only on the queue of the step. Deletes only while no
    /// question is open, and types a number only into an open deletion.
    fn do_for_presenter(&mut self, input: PresenterInput) -> Update {
        let queue = self.tour.as_ref().and_then(|tour| tour.lock_of_step());
        let is_there = self.screen() == Screen::Queue && self.opened().map(|open| &open.path) == queue.as_ref();
        let is_asked = self.deletions.open.is_some();
        let is_free = !self.asks_to_quit() && self.footer.prompt.is_none();
        match input {
            PresenterInput::Delete if is_there && is_free && !is_asked => self.carry_out(Command::Delete),
            PresenterInput::Number if is_there && is_asked => self.type_first_number(),
            PresenterInput::Delete | PresenterInput::Number => Update::redraw(),
        }
    }

    /// Types the sequence number of the first contender of the open queue, then Enter.
    fn type_first_number(&mut self) -> Update {
        let first = self.world().queue_rows().row(0).and_then(|row| row.contender.sequence);
        let number = first.map(|number| number.0.to_string()).unwrap_or_default();
        let mut update = Update::redraw();
        for key in number.chars().map(Key::Char).chain([FixedKey::Enter.key()]) {
            update.effects.extend(self.key(key).effects);
        }
        update
    }

    /// Handles a key or mouse button of the user. The clients return to their speed, then `act`
    /// handles the input as usual.
    fn attended(&mut self, act: impl FnOnce(&mut Self) -> Update) -> Update {
        self.navigation.attention.attend(self.wall);
        let resumed = self.attend_tour();
        let mut update = act(self);
        update.redraw |= !resumed.is_empty();
        update.effects.splice(0..0, resumed);
        update
    }

    fn attend_tour(&mut self) -> Vec<Effect> {
        let now = self.wall;
        let Some(tour) = &mut self.tour else { return Vec::new() };
        tour.attend(now);
        if self.tour_is_left_alone() { self.test_clients.set_idle(false, now) } else { Vec::new() }
    }

    /// Slows the clients down if no key was pressed for a minute. Called once a second.
    fn leave_alone(&mut self) -> Update {
        let (now, motion) = (self.wall, self.slow_motion());
        let is_due = self.tour.as_mut().is_some_and(|tour| tour.is_left_alone(now));
        let goes = !motion.is_idle && !motion.is_stopped && self.living_clients() > 0;
        if !(is_due && goes) {
            return Update::default();
        }
        Update { redraw: true, effects: self.test_clients.set_idle(true, now) }
    }
}

impl App {
    /// Takes an answer about the tree in.
    fn tree_read(&mut self, number: u64, answer: TreeAnswer) -> Update {
        let before = self.tree.listed_at;
        let select = self.tree.answered(number, answer, self.wall);
        self.cursors.tree = select.map_or_else(|| self.cursors.tree.clone(), Cursor::on);
        if self.tree.search.is_none() && before.is_none() && self.tree.listed_at.is_some() {
            let (path, names) = (&self.tree.path, self.tree.names());
            self.tree.suggested = self.live.table().suggested_recipe(path, names);
        }
        Update { redraw: self.navigation.screen == Screen::Tree, effects: Vec::new() }
    }

    /// Asks for what the tree lacks while it is shown, and ends its session when it is left.
    fn read_tree(&mut self) -> Option<Effect> {
        if self.navigation.screen != Screen::Tree || self.shown.is_past() {
            return self.tree.stop_reading().then_some(Effect::ReadTree(None));
        }
        let (top, rows) = (self.cursors.tree.top(), self.layout().map_or(0, |layout| layout.rows().1));
        self.tree.next_wish(top..top + rows).map(|wish| Effect::ReadTree(Some(wish)))
    }
}

/// The time between two comparisons, in milliseconds.
const COMPARISON_INTERVAL_MS: u64 = 30_000;

/// Remembers when a comparison was last asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemberTrees {
    asked_at: Option<Timestamp>,
}

impl App {
    /// Asks for a comparison of the members while Servers is open, and for as long as the last one
    /// shows a difference. At most one each [`COMPARISON_INTERVAL_MS`].
    fn compare_members_if_due(&mut self) -> Option<Effect> {
        let table = self.live.table();
        let differs = table.compared().is_some_and(|compared| !compared.differences.is_empty());
        let is_open = self.navigation.screen == Screen::Servers && self.shown.is_live();
        let is_possible = self.observing && table.is_live() && table.view().members.len() > 1;
        let is_early = self
            .member_trees
            .asked_at
            .is_some_and(|asked| self.wall.since(asked).as_millis() < COMPARISON_INTERVAL_MS.into());
        if !is_possible || !(is_open || differs) || is_early {
            return None;
        }
        self.member_trees.asked_at = Some(self.wall);
        let nodes = ComparedNodes::of(table, table.view(), &self.settings.roots);
        Some(Effect::CompareMembers(Box::new(nodes)))
    }
}
