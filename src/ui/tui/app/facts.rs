//! Which part of the state answers what: the layer below all others, which asks none of them.

use super::{App, Area, AuditLog, Filter, Paused, Replay, Screen, Settings, Tour, World};
use crate::tui::keymap::{Bindings, Command};
use crate::tui::page::{Columns, Tone, Writer};
use lockscope_base::znode::Timestamp;
use lockscope_live::admin::audit::AuditEntry;
use lockscope_model::queue::{ConnectionState, LockId, LockName, LockQueue};
use lockscope_model::text::Charset;
use lockscope_model::text::human::time_of_day;

impl App {
    /// What the screen shows: the ensemble now, or as it was when the screen was paused, or at a
    /// moment of a recording.
    pub fn world(&self) -> &World {
        self.shown.world(&self.live)
    }

    /// What goes on while the screen is paused: the ensemble, or a recording.
    pub(super) fn followed(&self) -> &World {
        self.shown.followed(&self.live)
    }

    /// The time as of which everything is shown, and up to which ages are counted: that of the
    /// pause, or when what is shown was true the last time.
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

    pub(super) fn charset(&self) -> Charset {
        Charset::new(self.settings.ascii)
    }

    pub(super) fn writer(&self, columns: Columns, area: Area) -> Writer {
        Writer::in_box(columns, area.width, self.charset())
    }

    /// When what is shown was true, unless it is true now.
    pub(super) fn as_of(&self) -> Option<(String, Tone)> {
        let then = !self.shows_truth() && !self.knows_nothing();
        then.then(|| (format!("as of {}", time_of_day(self.now(), self.settings.utc)), Tone::Unsure))
    }

    /// The key of a command, as it is shown; empty when it has none.
    pub fn key_label(&self, command: Command) -> String {
        let key = self.settings.bindings.keys_of(command).first();
        key.map(|key| key.label(self.settings.ascii)).unwrap_or_default()
    }

    /// Does something to what is live and to what is shown, when these are two.
    pub(super) fn each_world(&mut self, with: impl FnMut(&mut super::World)) {
        self.shown.each_world(&mut self.live, with);
    }

    /// What is shown, to make rows of it anew.
    pub(super) fn shown_world_mut(&mut self) -> &mut super::World {
        self.shown.world_mut(&mut self.live)
    }

    /// The lock of that name: the same one, or one that came in its place.
    pub(super) fn known_lock(&self, name: &LockName) -> Option<LockId> {
        let table = self.world().table();
        table.lock(name.id).map(LockQueue::id).or_else(|| table.find(&name.path, name.name.as_deref()))
    }

    pub fn audit(&self) -> &AuditLog {
        &self.audit
    }

    pub fn selected_entry(&self) -> Option<&AuditEntry> {
        self.audit.entry(self.cursors.audit.rank())
    }

    pub fn tour(&self) -> Option<&Tour> {
        self.tour.as_deref()
    }

    /// Whether the clients of the tour go slowly since nobody looks at them.
    pub fn tour_is_left_alone(&self) -> bool {
        self.tour.is_some() && self.test_clients.motion().is_idle()
    }
}
