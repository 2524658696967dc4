//! The state of the screen: an event comes in, effects go out as data.
//!
//! [`App::update`] is a function of what it knows, the event and the time. It draws nothing and waits for nothing.
//!
//! Pure: no ratatui, no crossterm, no tokio, no clock. Architecture invariant: the work for a change or for a frame
//! follows what shows, at most with the logarithm of what there is. Only what the user asks for once (a new order, a
//! filter, a pause, an export) may walk through everything, and what is done once for each answer of the servers: findings, and a filter
//! that may match addresses.

mod actions;
mod arrange;
mod attention;
mod audit;
mod below_locks;
mod choices;
mod command_line;
mod commands;
mod comparison;
mod completion;
mod config_change;
mod contend;
mod contexts;
mod cursor;
mod cursors;
mod delete;
mod event;
mod export;
mod facts;
mod filter;
mod focus;
mod footer;
mod footer_keys;
mod input_history;
mod keys;
mod lately;
mod layout;
mod leaving;
mod list;
mod lists;
mod lock_pages;
mod matches;
mod mouse;
mod moves;
mod navigation;
mod node_page;
mod notice;
mod opening;
mod own_keys;
mod pages;
mod prompt;
mod queue_picture;
mod recorded;
mod recording;
mod replay;
mod screen_choices;
mod screens;
mod scrolling;
mod search;
mod session_detail;
mod session_page;
mod sessions;
mod shown;
mod sorted;
mod tabs;
mod ticks;
mod timeline_entry;
mod tour;
mod travel;
mod vanished;
mod waits;
mod way_back;
mod world;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

pub use audit::AuditLog;
pub use commands::{command_groups, commands};
pub use comparison::{ComparedFleet, FleetComparison};
pub use config_change::{ConfigChange, KnownContext};
pub use contend::{
    CannotJoin, ClientsWanted, DEFAULT_CLIENTS, Destination, FleetSide, FleetView, Fleets, Phase, SlowMotion, is_living,
};
pub use cursor::{Cursor, Rows};
pub use cursors::Cursors;
pub use delete::{Deletion, Tags, Working};
pub use event::{AuditReading, Effect, Event, NodeRead, Update};
pub use filter::Filter;
pub use footer_keys::Hint;
pub use layout::{Area, Layout, MIN_TERMINAL};
pub use list::{Directed, FixedOrder, ListOrder, ListScreen, Sorting};
pub use lists::{
    AuditColumn, AuditEntries, ClientColumn, Clients, History, HistoryColumn, HistoryId, HistoryRow, LockColumn,
    LockRow, Locks, PlaceColumn, Queue, QueueColumn, QueueRow, SessionColumn, SessionPlaceRow, SessionPlaces, Sessions,
    TimelineColumn, TimelineList, Waits,
};
pub use matches::{QueueRows, TimelineRows};
pub use node_page::OpenNode;
pub use notice::Notice;
pub use own_keys::WantedKeys;
pub use pages::{PAST_BAR_HEIGHT, ShownPage};
pub use prompt::{Prompt, PromptPurpose};
pub use recorded::Recorded;
pub use recording::Recording;
pub use replay::{Replay, ReplayedFile, Speed, replay_sentence};
pub use screen_choices::{ScreenChoices, ScreensChosen};
pub use screens::SCREENS;
pub use session_detail::{SessionDetail, SessionPlace, SessionWatches};
pub use sessions::{SessionOrder, SessionRows};
pub use sorted::{LockOrder, SortedLocks};
pub use timeline_entry::TimelineEntry;
pub use tour::Tour;
pub use travel::{Arrival, Arrived, Outline, RaisedFinding, Travel};
pub use vanished::{LockRows, VanishedLock};
pub use waits::{WaitId, WaitKind, WaitRow, WaitRows};
pub use world::World;

use self::contend::TestClients;
use self::delete::Deletions;
use self::footer::Footer;
use self::navigation::Navigation;
pub use self::shown::Paused;
use self::shown::Shown;
pub use crate::tui::key::{Key, Mouse};
pub use crate::tui::keymap::Bindings;
pub use crate::tui::screen::{Pane, Screen};
use lockscope_base::recipe::OwnRecipe;
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_live::observe::Observed;
use lockscope_model::diagnose::Thresholds;
use lockscope_model::queue::Change;

/// Rows that one turn of the wheel moves.
const ROWS_PER_WHEEL_TURN: isize = 3;

/// What the console was started with.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own, and any mixture of them is good")]
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The connect string.
    pub connect: String,
    /// Whether nobody named these servers.
    pub connect_is_default: bool,
    /// The context of the config file that is in force.
    pub context: Option<String>,
    /// The context that marks the ensemble as one that people depend on.
    pub production: Option<String>,
    /// The ensembles that the config file knows by a name.
    pub contexts: Vec<KnownContext>,
    /// Below which nodes locks are looked for; none is the whole chroot.
    pub roots: Vec<ZnodePath>,
    /// Nodes that are single-node locks though their names do not show it.
    pub named: Vec<ZnodePath>,
    /// The recipes of the user's own.
    pub recipes: Vec<OwnRecipe>,
    /// Whether it may change the ensemble.
    pub write: bool,
    /// Where the audit log is; `None` when there is no place for it.
    pub audit_log: Option<PathBuf>,
    /// Whether times are shown in UTC at first.
    pub utc: bool,
    /// Whether only ASCII is drawn.
    pub ascii: bool,
    /// Whether the servers are asked about themselves.
    pub asks_servers: bool,
    /// From when on something is called a finding.
    pub thresholds: Thresholds,
    /// Keys that are others than the usual ones.
    pub bindings: Bindings,
    /// How the lists look at first.
    pub screens: ScreensChosen,
}

/// The state of the screen.
#[derive(Debug)]
pub struct App {
    settings: Settings,
    size: (u16, u16),
    /// Where everything stands since the last event; `None` when the terminal is too small.
    layout: Option<Layout>,
    /// The time at the last event, by the clock on the wall.
    wall: Timestamp,
    /// The ensemble; nothing where a file is shown.
    live: World,
    /// The past of what is live, as far as it is kept.
    recording: Option<Recording>,
    shown: Shown,
    navigation: Navigation,
    cursors: Cursors,
    history_filter: Filter,
    test_clients: TestClients,
    deletions: Deletions,
    audit: AuditLog,
    footer: Footer,
    observing: bool,
    tour: Option<Box<Tour>>,
    /// Whether it was last wanted to be asked who watches what.
    looks: bool,
}

impl App {
    /// The console before anything is known.
    pub fn new(settings: Settings, size: (u16, u16), now: Timestamp) -> Self {
        let mut app = Self {
            live: World::new(&settings.named, &settings.recipes, settings.thresholds),
            audit: AuditLog::new(settings.audit_log.clone()),
            settings,
            size,
            layout: None,
            wall: now,
            recording: None,
            shown: Shown::Live,
            navigation: Navigation::default(),
            cursors: Cursors::default(),
            history_filter: Filter::none(),
            test_clients: TestClients::default(),
            deletions: Deletions::default(),
            footer: Footer::default(),
            observing: true,
            tour: None,
            looks: false,
        };
        app.arrange();
        app.arrange_lists(&ScreensChosen::default());
        app
    }

    /// Shows a recording in place of an ensemble, as of the moment that is given.
    #[must_use]
    pub fn with_replay(mut self, replay: Replay) -> Self {
        self.settings.write = false;
        self.observing = false;
        self.shown = Shown::Past(Box::new(replay));
        self.arrange();
        self
    }

    /// Takes one event in.
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
                Update { redraw: true, effects: Vec::new() }
            }
            Event::Changes(changes) => self.changes(changes),
            Event::Tick => self.tick(),
            Event::Due => self.due(),
            Event::ExportDone(done) => {
                match done {
                    Ok(path) => self.show_notice(format!("Written to {}", path.display())),
                    Err(why) => self.show_failure(why),
                }
                Update { redraw: true, effects: Vec::new() }
            }
            Event::Note(note) => {
                self.show_notice(note);
                Update { redraw: true, effects: Vec::new() }
            }
            Event::ContextRefused(why) => self.context_refused(why),
            Event::ConfigChanged(change) => self.config_changed(*change),
            Event::GuardsFound(found) => self.guards_found(found),
            Event::DeletionDone(done) => self.deletion_done(done),
            Event::NodeRead { path, read } => self.node_read(&path, read),
            Event::AuditRead(reading) => self.audit_read(*reading),
            Event::ObserverEnded => {
                self.observing = false;
                Update { redraw: true, effects: Vec::new() }
            }
            Event::Fleet { side, status } => self.fleet_reported(side, status),
            Event::FleetFailed { side, why } => self.fleet_failed(side, why),
            Event::FleetEnded { side, outcome } => self.fleet_ended(side, *outcome),
            Event::FleetBusy(side) => self.fleet_busy(side),
            Event::FleetCompared(outcome) => self.fleet_compared(outcome),
            Event::Arrived(arrival) => self.arrive(*arrival),
            Event::Recorded(recorded) => self.recorded(*recorded),
            Event::TourBegins(tour) => self.tour_begins(tour),
            Event::SceneFailed(why) => self.scene_failed(why),
        };
        let mut update = self.follow_tour(update, second);
        if update.redraw {
            if looked || before != (self.navigation.screen, self.shown.is_paused()) {
                self.list_again();
            }
            self.settle();
            self.arrange();
            self.settle();
        }
        let looks = self.navigation.screen.entry().shows_watchers && self.shown.is_live();
        if looks != self.looks {
            self.looks = looks;
            update.effects.push(Effect::LookAtWatchers(looks));
        }
        update
    }

    fn changes(&mut self, changes: Vec<Observed>) -> Update {
        let count = changes.iter().filter(|seen| !matches!(seen.change, Change::Surveyed { .. })).count() as u64;
        self.live.apply(changes, self.recording.as_mut().and_then(Recording::recorder));
        if let Some(open) = &self.navigation.open {
            self.live.reopen(open);
        }
        self.deletions.recheck(&self.live, self.wall);
        self.name_new_holder();
        Update { redraw: self.shown.follow(count), effects: Vec::new() }
    }

    /// Fastens the selections again after something moved.
    fn settle(&mut self) {
        if let Some((list, layout)) = self.navigation.screen.list().zip(self.layout()) {
            list.settle(self, layout.rows().1);
        }
    }

    /// Makes the rows anew that are not kept up change by change: those of Sessions and Waits are at most a second old.
    fn list_again(&mut self) {
        // What is not true any more stays as it was.
        if let Some(list) = self.navigation.screen.list().filter(|_| self.shows_truth()) {
            list.list_again(self);
        }
    }
}
