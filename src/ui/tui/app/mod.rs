//! The state of the screen: an event comes in, effects go out as data.
//!
//! [`App::update`] depends only on the state, the event and the time. It draws nothing and never
//! waits.
//!
//! Each part owns its state (`Shown`, `TestClients`, `Deletions`, `Tour`, `AuditLog`, `Footer`, and
//! others), handles the events that concern it, and returns effects. A rule that concerns several
//! parts is a method of `App`. The files of `App` call each other downwards only. The layers, from
//! the bottom up:
//!
//! 1. Questions to the state: `facts`, `focus`, `contend::shown`.
//! 2. Notices, texts and rows: `notice`, `export`, `tabs`, the rows in `lists` and `queue_picture`,
//!    and the texts in `lock_pages`, `session_page`, `node_page`, `below_locks`,
//!    `ensemble_pages`, `own_output` and `pages`.
//!    `arrange` computes their layout.
//! 3. Moving: `scrolling` in a list or a text, then `search`, `way_back` from screen to screen,
//!    `opening`, `moves`.
//! 4. One file for each action: `ensemble_list`, `choices`, `audit`, `contend`, `delete`, `recording` and then
//!    `past_import` and `moments`, `own_commands`, `leaving` and then `contexts`, `tour::commands`.
//! 5. `actions` carries out commands, `footer_keys` names them; then `command_line` and
//!    `completion`, `mouse`, `keys`, and `tour::follow`, which presses keys.
//! 6. `ticks` and `update`.
//!
//! Pure: no ratatui, no crossterm, no tokio, no clock.
//!
//! Architecture invariant: the work for a change or a frame is proportional to the rows on the
//! screen, times at most the logarithm of the number of rows. Two kinds of work may visit every
//! row: an action of the user (a new order, a filter, a pause, an export), and the work after each
//! survey (findings, and a filter that may match addresses).

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
mod ensemble_list;
mod ensemble_pages;
mod ensembles;
mod event;
mod export;
mod facts;
mod filter;
mod focus;
mod footer;
mod footer_keys;
mod input_history;
mod json_text;
mod keys;
mod last_leaders;
mod lately;
mod layout;
mod leaving;
mod list;
mod lists;
mod lock_pages;
mod matches;
mod member_trees;
mod moments;
mod mouse;
mod moves;
mod navigation;
mod node_page;
mod notice;
mod opening;
mod own_command_keys;
mod own_commands;
mod own_keys;
mod own_output;
mod pages;
mod past_import;
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
mod settings;
mod shown;
mod sorted;
mod tabs;
mod ticks;
mod timeline_entry;
mod tour;
mod travel;
mod update;
mod vanished;
mod waits;
mod way_back;
mod world;

#[cfg(test)]
mod tests;

pub use crate::tui::keymap::Bindings;
pub use crate::tui::keymap::key::{Key, Mouse};
pub use crate::tui::screen::{Pane, Screen};
pub use audit::AuditLog;
pub use comparison::{ComparedFleet, FleetComparison};
pub use config_change::{ConfigChange, KnownContext};
pub use contend::{
    CannotJoin, ClientsWanted, DEFAULT_CLIENTS, Destination, FleetSide, FleetView, Fleets, Phase, SlowMotion, is_living,
};
pub use cursor::{Cursor, Rows};
pub use cursors::Cursors;
pub use delete::{Deletion, Tags, Working};
pub use ensembles::{
    EnsembleEvent, EnsembleNews, EnsembleOrder, EnsembleReport, EnsembleRow, FoundLocks, WatchedEnsembles,
};
pub use event::{AuditReading, Effect, Event, NodeRead, Update};
pub use filter::Filter;
pub use footer_keys::Hint;
pub use layout::{Area, Layout, MIN_TERMINAL};
pub use list::{Directed, FixedOrder, ListOrder, ListScreen, Sorting};
pub use lists::{
    AuditColumn, AuditEntries, ClientColumn, Clients, EnsembleColumn, Ensembles, History, HistoryColumn, HistoryId,
    HistoryRow, LockColumn, LockRow, Locks, PlaceColumn, Queue, QueueColumn, QueueRow, SessionColumn, SessionPlaceRow,
    SessionPlaces, Sessions, TimelineColumn, TimelineList, Waits,
};
pub use matches::{QueueRows, TimelineRows};
pub use node_page::OpenNode;
pub use notice::Notice;
pub use own_keys::WantedKeys;
pub use own_output::{CommandEnd, CommandReport, MAX_OUTPUT_BYTES};
pub use pages::{PAST_BAR_HEIGHT, ShownPage};
pub use past_import::folder_names;
pub use prompt::{Prompt, PromptPurpose};
pub use recorded::{Recorded, TakeIn, TakenIn};
pub use recording::Recording;
pub use replay::{Replay, ReplayedFile, Speed, replay_sentence};
pub use screen_choices::{ScreenChoices, ScreensChosen};
pub use screens::SCREENS;
pub use session_detail::{SessionDetail, SessionPlace, SessionWatches};
pub use sessions::{SessionOrder, SessionRows};
pub use settings::Settings;
pub use shown::Paused;
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
use self::last_leaders::LastLeaders;
use self::member_trees::MemberTrees;
use self::navigation::Navigation;
use self::own_output::OwnRuns;
use self::past_import::PastImport;
use self::shown::Shown;
use lockscope_base::znode::Timestamp;
use lockscope_live::zk::survey::WatchersWanted;

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
    live: World,
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
}

impl App {
    /// The state of the screen before the first event.
    pub fn new(settings: Settings, size: (u16, u16), now: Timestamp) -> Self {
        let mut app = Self {
            live: World::new(settings.table(), settings.thresholds),
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
        };
        app.arrange();
        app.arrange_lists(&ScreensChosen::default());
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
}
