//! Questions to the state: what the screen shows, and where the user is; and notices in the footer.
//!
//! This is the lowest layer of `App`; it calls none of the others. Three times must not be
//! confused: [`App::clock`] is the wall clock, `moment` is the time of the followed state (now, or
//! a moment of a recording), and [`App::now`] is the time of what is on the screen, which a pause
//! or a lost connection stops.
//!
//! After the state come the user's place (the screen, its pane, the open prompt) and the test
//! clients as the screen shows them.

use std::time::Duration;

use super::contend::{CannotJoin, Destination, FleetSide, Fleets, SlowMotion};
use super::list::List;
use super::{
    App, Area, AuditLog, Cursor, Deletion, EnsembleRow, Filter, Layout, Notice, Pane, Paused, Prompt, Replay, Screen,
    ScreenWorld, Settings, Tags, Tour, Update, WatchedEnsembles, Working,
};
use crate::tui::app::contend::clients::FleetComparison;
use crate::tui::keymap::{Bindings, Command};
use crate::tui::page::{Columns, PageWriter, Sign, Tone};
use lockscope_base::recipe::{LockKind, RequestMode};
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_lab::contend::{ClientId, ClientStatus};
use lockscope_live::admin::audit::AuditEntry;
use lockscope_model::diagnose::Finding;
use lockscope_model::queue::{ConnectionState, ContenderRow, ContenderState, LockId, LockName, LockQueue};
use lockscope_model::text::Charset;
use lockscope_model::text::human::{duration, plural, time_of_day};

/// How much longer than the ensemble is open a finding must be known to say since when.
const WORTH_TELLING: Duration = Duration::from_secs(60);

impl App {
    /// The state on the screen: the ensemble now, the ensemble when the screen was paused, or a
    /// moment of a recording.
    pub fn world(&self) -> &ScreenWorld {
        self.shown.world(&self.live)
    }

    /// The state that a pause does not stop: the ensemble, or a recording.
    pub(super) fn followed(&self) -> &ScreenWorld {
        self.shown.followed(&self.live)
    }

    /// The time that the screen shows, up to which ages are counted: the time of the pause, the
    /// current moment, or, when the connection is lost, the last time at which the state was true.
    pub fn now(&self) -> Timestamp {
        match self.shown.paused() {
            Some(paused) => paused.at,
            None if self.is_live() => self.moment(),
            None => self.last_true().unwrap_or(self.moment()),
        }
    }

    /// The current time of the followed state, paused or not: now, or the moment of a recording.
    pub(super) fn moment(&self) -> Timestamp {
        self.shown.moment(self.wall)
    }

    /// [`now`](Self::now) by the servers' clock, to compare with times that the servers wrote.
    pub fn server_now(&self) -> Timestamp {
        self.world().table().clock().server_time(self.now())
    }

    /// The wall-clock time of the last event, paused or not.
    pub fn clock(&self) -> Timestamp {
        self.wall
    }

    /// The state of the connection to the ensemble, paused or not.
    pub fn link(&self) -> &ConnectionState {
        self.followed().table().connection()
    }

    /// Whether the followed state is up to date, paused or not.
    pub fn is_live(&self) -> bool {
        self.is_observing() && self.followed().table().is_live()
    }

    /// Whether changes can still arrive: the observer runs, or a recording is shown.
    pub fn is_observing(&self) -> bool {
        self.observing || self.shown.is_past()
    }

    /// When the followed state was up to date for the last time, paused or not.
    pub fn last_true(&self) -> Option<Timestamp> {
        self.followed().table().last_true()
    }

    /// Whether the shown state was true at [`now`](Self::now): nothing in it is stale.
    pub fn shows_truth(&self) -> bool {
        if self.shown.is_paused() { self.world().table().is_live() } else { self.is_live() }
    }

    /// Whether no holder is known, because the ensemble was never read completely.
    pub fn knows_nothing(&self) -> bool {
        !self.shows_truth() && self.world().table().last_true().is_none()
    }

    pub fn paused(&self) -> Option<&Paused> {
        self.shown.paused()
    }

    /// The shown recording; `None` when the screen shows an ensemble.
    pub fn replay(&self) -> Option<&Replay> {
        self.shown.replay()
    }

    /// The settings from the start, with later changes of `utc` and of the config file.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The names of the columns that the config chooses for a screen; `None` means all of them.
    pub(super) fn chosen_columns(&self, screen: Screen) -> Option<&[String]> {
        self.settings.screens.of(screen)?.columns.as_deref()
    }

    /// The initial filter of a screen.
    pub(super) fn usual_filter(&self, screen: Screen) -> Filter {
        let text = self.settings.screens.of(screen).and_then(|chosen| chosen.filter.as_deref());
        text.map(Filter::new).unwrap_or_default()
    }

    /// The key bindings.
    pub fn bindings(&self) -> &Bindings {
        &self.settings.bindings
    }

    pub(super) fn charset(&self) -> Charset {
        Charset::new(self.settings.ascii)
    }

    pub(super) fn writer(&self, columns: Columns, area: Area) -> PageWriter {
        PageWriter::in_box(columns, area.width, self.charset())
    }

    /// The note "as of TIME" for a stale state; `None` when the state is up to date, or when
    /// nothing is known.
    pub(super) fn as_of(&self) -> Option<(String, Tone)> {
        let then = !self.shows_truth() && !self.knows_nothing();
        then.then(|| (format!("as of {}", time_of_day(self.now(), self.settings.utc)), Tone::Unsure))
    }

    /// The label of a command's first key; empty when it has none.
    pub fn key_label(&self, command: Command) -> String {
        let key = self.settings.bindings.keys_of(command).first();
        key.map(|key| key.label(self.settings.ascii)).unwrap_or_default()
    }

    /// Applies `with` to the live state, and to the shown state if that is another one.
    pub(super) fn each_world(&mut self, with: impl FnMut(&mut super::ScreenWorld)) {
        self.shown.each_world(&mut self.live, with);
    }

    /// The shown state, for rebuilding its rows.
    pub(super) fn shown_world_mut(&mut self) -> &mut super::ScreenWorld {
        self.shown.world_mut(&mut self.live)
    }

    /// The lock with that id, or else the current lock with the same path and name.
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

    /// Whether the tour's clients run slowly because no key was pressed for a while.
    pub fn tour_is_left_alone(&self) -> bool {
        self.tour.is_some() && self.test_clients.motion().is_idle
    }

    /// The ensembles that the console watches; `None` when it shows one.
    pub fn ensembles(&self) -> Option<&WatchedEnsembles> {
        self.ensembles.as_deref()
    }

    /// Whether several ensembles are watched, and none of them is open.
    pub(super) fn is_outside(&self) -> bool {
        self.ensembles().is_some() && self.settings.context.is_none()
    }

    /// Whether the screen shows all ensembles, and not the one that is open.
    pub fn shows_ensembles(&self) -> bool {
        self.navigation.screen == Screen::Ensembles || self.is_outside()
    }

    /// The selected ensemble.
    pub(super) fn selected_ensemble(&self) -> Option<&EnsembleRow> {
        self.ensembles()?.row(self.cursors.ensembles.rank())
    }

    pub fn screen(&self) -> Screen {
        self.navigation.screen
    }

    /// The lock whose queue was opened last, even if the lock is gone.
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

    /// Says why nothing is known about the clients, with the key of the screen that tells more;
    /// `None` when a server lists them, or none has answered yet.
    pub fn unheard(&self) -> Option<String> {
        let (table, servers) = (self.world().table(), self.settings.bindings.name(Command::Go(Screen::Servers)));
        if !self.settings.asks_servers {
            return Some(format!("not asked: {servers}"));
        }
        let answered = table.view().members.iter().any(|member| member.answered_at.is_some() || member.error.is_some());
        (answered && !table.clients().has_listed_clients()).then(|| format!("not told: {servers}"))
    }

    pub fn notice(&self) -> Option<&Notice> {
        self.footer.notice.as_ref()
    }

    /// The layout; `None` when the terminal is too small.
    pub fn layout(&self) -> Option<Layout> {
        self.layout
    }

    /// The list that has the keys; `None` when a text has them.
    pub(super) fn focused_list(&self) -> Option<&'static dyn List<App>> {
        self.navigation.screen.list().filter(|_| self.navigation.pane == Pane::List && self.layout.is_some())
    }

    /// The next pane; after the last one, the first.
    pub fn next_pane(&self) -> Pane {
        self.navigation.pane_beside(true)
    }

    /// The index of the only page below the list when there is no room for two. A page that has the
    /// keys is the one shown. While the list has the keys, Queue shows the diagnosis if the lock
    /// has a finding, else the details. `None` when all pages are visible.
    pub(super) fn only_pane(&self, width: u16) -> Option<usize> {
        let panes = self.screen().entry().panes;
        if panes.len() < 2 || Layout::pane_width(width, panes.len()) < width {
            return None;
        }
        let wrong = || self.world().open_lock().is_some_and(|lock| self.world().diagnosis().worst(lock.id()).is_some());
        let shown = match self.navigation.pane {
            Pane::List if self.screen() == Screen::Queue && wrong() => Pane::Findings,
            Pane::List if self.screen() == Screen::Ensembles => Pane::Findings,
            Pane::List => Pane::Details,
            pane => pane,
        };
        panes.iter().position(|(pane, _)| *pane == shown)
    }

    /// Whether the user asked for the graph below Locks. The graph then also replaces the findings.
    pub fn shows_graph(&self) -> bool {
        self.screen() == Screen::Locks && self.navigation.shows_graph
    }

    /// A sentence that says that a writer has waited for longer than `stuck_after` while readers
    /// passed.
    pub(super) fn starved(&self, lock: &LockQueue) -> Option<String> {
        let row = lock.row(lock.holding())?;
        let passed = self.passed(lock, &row)?;
        let table = self.world().table();
        let waited = self.now().since(row.contender.contends_since(table.clock().ahead_ms()));
        let is_long = waited >= self.world().diagnosis().thresholds().stuck_after;
        let who = self.world().table_at(self.now()).who(row.contender);
        is_long.then(|| format!("{who} has waited to write for {} while {passed}.", duration(waited)))
    }

    /// A phrase that says how many readers held and released the lock while the writer of this row
    /// waited.
    pub(super) fn passed(&self, lock: &LockQueue, row: &ContenderRow<'_>) -> Option<String> {
        let is_waiting_writer =
            lock.kind() == LockKind::ReadWrite && (row.mode, row.state) == (RequestMode::Write, ContenderState::Waits);
        if !is_waiting_writer {
            return None;
        }
        let since = row.contender.contends_since(self.world().table().clock().ahead_ms());
        let (readers, is_all) = self.world().histories().readers_gone_since(lock.id(), since);
        let or_more = if is_all { "" } else { " or more" };
        (readers > 0).then(|| format!("{}{or_more} passed", plural(readers, "reader", "readers")))
    }

    /// Returns since when a finding of the open ensemble is known, if it was known before the
    /// ensemble was opened.
    pub(super) fn known_since(&self, finding: &Finding) -> Option<Timestamp> {
        let since = match self.ensembles.as_deref() {
            Some(ensembles) => ensembles.known_since(ensembles.open()?, finding),
            None => self.noted.known.since(finding),
        };
        since.filter(|since| self.noted.opened_at.since(*since) >= WORTH_TELLING && !self.shown.is_past())
    }

    pub(super) fn show_notice(&mut self, text: String) {
        self.footer.notice = Some(Notice::new(text, Sign::Done, self.wall));
    }

    pub(super) fn show_failure(&mut self, text: String) {
        self.footer.notice = Some(Notice::new(text, Sign::Bad, self.wall));
    }

    pub(super) fn show_hint(&mut self, text: String) {
        self.footer.notice = Some(Notice::new(text, Sign::Ask, self.wall));
    }

    /// Shows why a command is not carried out.
    pub(super) fn refuse(&mut self, why: String) -> Update {
        self.show_hint(why);
        Update::redraw()
    }

    /// Whether the question about running test clients is open.
    pub fn asks_to_quit(&self) -> bool {
        self.footer.leaving.is_some()
    }

    /// Whether the question about a command is open.
    pub fn asks_to_run(&self) -> bool {
        self.own_runs.question.is_some()
    }

    pub fn deletion(&self) -> Option<&Deletion> {
        self.deletions.open.as_ref()
    }

    pub fn working(&self) -> Option<&Working> {
        self.deletions.working()
    }

    pub fn tags(&self) -> &Tags {
        &self.deletions.tags
    }

    /// Returns whether the screen shows tags, and its keys are about them.
    pub(super) fn shows_tags(&self) -> bool {
        matches!(self.screen(), Screen::Queue | Screen::Locks)
    }
}

/// The name of the node that contains the console's own queues.
const OWN_NODE: &str = "lockscope";

impl App {
    /// Returns the fleets that the screen shows: the current ones, or those at the time of the
    /// pause.
    pub fn fleets(&self) -> &Fleets {
        self.shown.fleets(self.test_clients.fleets())
    }

    /// Returns the current number of living test clients, even while the screen is paused.
    pub fn living_clients(&self) -> usize {
        self.test_clients.fleets().living()
    }

    /// Returns whether any fleet is running or stopping now, even while the screen is paused.
    pub fn has_fleets(&self) -> bool {
        self.test_clients.fleets().is_active()
    }

    /// Returns the side whose clients are listed.
    pub fn side(&self) -> FleetSide {
        self.test_clients.side()
    }

    pub fn client_cursor(&self) -> &Cursor<ClientId> {
        &self.cursors.clients[self.side() as usize]
    }

    pub fn selected_client(&self) -> Option<&ClientStatus> {
        self.fleets().clients(self.side()).get(self.client_cursor().rank())
    }

    pub fn slow_motion(&self) -> SlowMotion {
        *self.test_clients.motion()
    }

    /// Returns whether Contend shows the picture instead of figures and clients.
    pub fn shows_picture(&self) -> bool {
        self.screen() == Screen::Contend
            && self.slow_motion().shows_picture
            && self.fleets().fleet(FleetSide::Left).is_some()
    }

    /// Returns the results of the comparison; empty if there is none.
    pub fn comparison(&self) -> &FleetComparison {
        &self.test_clients.comparison
    }

    /// Returns the node that contains the console's own queues. It is within an observed root, so
    /// that the console shows the queues: `/lockscope` if a root covers it, or else a root below
    /// `/lockscope`, or else the child `lockscope` of the first root.
    pub fn own_node(&self) -> ZnodePath {
        let own = ZnodePath::root().child(OWN_NODE);
        let roots = &self.settings.roots;
        if roots.iter().any(|root| own.is_within(root)) {
            return own;
        }
        let within = roots.iter().find(|root| root.is_within(&own)).cloned();
        within.or_else(|| roots.first().map(|root| root.child(OWN_NODE))).unwrap_or(own)
    }

    /// Returns how test clients would join the open lock; `None` if no lock is open.
    pub fn destination(&self) -> Option<Result<Destination, CannotJoin>> {
        let name = self.opened()?;
        let table = self.live.table();
        let lock = table.find(&name.path, name.name.as_deref()).and_then(|id| table.lock(id))?;
        Some(Destination::of(lock))
    }
}
