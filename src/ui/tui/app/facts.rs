//! What the views read.

use super::{App, Cursor, Filter, Layout, Notice, Pane, Paused, Prompt, Replay, Screen, Settings, World};
use crate::tui::keymap::Bindings;
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_model::queue::{ConnectionState, LockName};

impl App {
    /// What the screen shows: the ensemble now, or as it was when the screen was paused, or at a moment of a recording.
    pub fn world(&self) -> &World {
        self.shown.world(&self.live)
    }

    /// What goes on while the screen is paused: the ensemble, or a recording.
    pub(super) fn followed(&self) -> &World {
        self.shown.followed(&self.live)
    }

    /// The time as of which everything is shown, and up to which ages are counted: that of the pause, or when what is
    /// shown was true the last time.
    pub fn now(&self) -> Timestamp {
        match self.shown.paused() {
            Some(paused) => paused.at,
            None if self.is_live() => self.moment(),
            None => self.last_true().unwrap_or(self.moment()),
        }
    }

    /// The time of what goes on, paused or not: now, or the moment of a recording.
    pub(super) fn moment(&self) -> Timestamp {
        self.shown.moment(self.wall)
    }

    /// The same time by the servers' clock, to compare with what they wrote.
    pub fn server_now(&self) -> Timestamp {
        self.world().table().server_time(self.now())
    }

    /// The time at the last event by the clock on the wall, paused or not.
    pub fn clock(&self) -> Timestamp {
        self.wall
    }

    /// The way to the ensemble, paused or not.
    pub fn link(&self) -> &ConnectionState {
        self.followed().table().connection()
    }

    /// Whether what is known is true now, paused or not.
    pub fn is_live(&self) -> bool {
        self.is_observing() && self.followed().table().is_live()
    }

    /// Whether the observer still works on it.
    pub fn is_observing(&self) -> bool {
        self.observing || self.shown.is_past()
    }

    /// When what is known was true the last time, paused or not.
    pub fn last_true(&self) -> Option<Timestamp> {
        self.followed().table().last_true()
    }

    /// Whether what is shown was true at [`now`](Self::now): states are known and nothing is stale.
    pub fn shows_truth(&self) -> bool {
        if self.shown.is_paused() { self.world().table().is_live() } else { self.is_live() }
    }

    /// Whether nothing is known of who holds what: it was never all read.
    pub fn knows_nothing(&self) -> bool {
        !self.shows_truth() && self.world().table().last_true().is_none()
    }

    pub fn paused(&self) -> Option<&Paused> {
        self.shown.paused()
    }

    /// The recording that is shown; `None` where the screen shows an ensemble.
    pub fn replay(&self) -> Option<&Replay> {
        self.shown.replay()
    }

    /// What the console was started with; `utc` as it is now.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The names of the columns that were chosen for a screen; `None`: all of them.
    pub(super) fn chosen_columns(&self, screen: Screen) -> Option<&[String]> {
        self.settings.screens.of(screen)?.columns.as_deref()
    }

    /// The filter that a screen has as long as nobody chooses another.
    pub(super) fn usual_filter(&self, screen: Screen) -> Filter {
        let text = self.settings.screens.of(screen).and_then(|chosen| chosen.filter.as_deref());
        text.map(Filter::new).unwrap_or_default()
    }

    /// Which keys do what.
    pub fn bindings(&self) -> &Bindings {
        &self.settings.bindings
    }

    pub fn screen(&self) -> Screen {
        self.navigation.screen
    }

    /// The lock whose queue was opened last, also after it is gone.
    pub fn opened(&self) -> Option<&LockName> {
        self.navigation.open.as_ref()
    }

    /// The pane of Queue that has the keys.
    pub fn pane(&self) -> Pane {
        self.navigation.pane
    }

    pub fn contender_cursor(&self) -> &Cursor<ZnodePath> {
        &self.cursors.contenders
    }

    pub fn prompt(&self) -> Option<&Prompt> {
        self.footer.prompt.as_ref()
    }

    pub fn notice(&self) -> Option<&Notice> {
        self.footer.notice.as_ref()
    }

    /// Where everything stands; `None` when the terminal is too small.
    pub fn layout(&self) -> Option<Layout> {
        self.layout
    }
}
