//! The state of the ensemble, and what the lists derive from it.
//!
//! [`ScreenWorld`] applies every change to the table of locks and to the orders, histories and
//! filters that the screens list, in one pass. A paused screen and a recording have a `ScreenWorld`
//! of their own. It also decides when the locks are checked for findings: after changes, but never
//! so often that the checks take more than a few percent of a core.

use std::sync::Arc;
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};

use super::TimelineEntry;
use super::filter::Filter;
use super::lists::locks::VanishedLocks;
use super::lists::queue::{Changed, QueueMatches, QueueRows, TimelineMatches, TimelineRows};
use super::lists::sessions::{SessionDetail, SessionRows};
use super::lists::sorted_locks::SortedLocks;
use super::lists::waits::WaitRows;
use super::timeline::Lately;
use crate::tui::app::lists::locks::LockRows;
use crate::tui::lock_history::{HistoryEntry, LockHistories, Stay};
use crate::tui::lock_lanes::{LaneCell, LockLanes};
use lockscope_base::znode::{SessionId, Timestamp};
use lockscope_live::admin::Ending;
use lockscope_live::observe::Observed;
use lockscope_model::diagnose::{
    Diagnosis, Finding, FindingChanges, LastLook, OpenCheck, Severity, TableAt, Thresholds, rest_between_checks,
};
use lockscope_model::queue::{
    Change, ContenderId, ContenderRow, Happening, HoldBounds, LedBefore, LockEvent, LockId, LockName, LockQueue,
    LockTable, Timeline,
};
use lockscope_model::server_view::WatchEventRates;
use lockscope_past::record::{
    BatchRecorder, LiveState, LookOutcome, PlayedEntry, RecordedState, StoreEntry, TimedEntry,
};

/// Maximum number of timeline entries.
const MAX_TIMELINE_ENTRIES: usize = 10_000;

/// The locks found by the first read are listed in the timeline only if there are at most this
/// many.
const MAX_FOUND_TOLD: usize = 1_000;

/// Maximum number of holders whose holds a lane shows.
const MAX_HOLDS: usize = 8;

/// The state of the ensemble, and the orders in which the screens list it.
///
/// A paused screen shows a clone, which has the whole state as of one time.
#[derive(Clone, Debug)]
pub struct ScreenWorld {
    live: LiveState,
    timeline: Timeline<TimelineEntry>,
    histories: LockHistories,
    lanes: LockLanes,
    watch_event_rates: WatchEventRates,
    locks: SortedLocks,
    vanished: VanishedLocks,
    lately: Lately,
    matches: QueueMatches,
    timeline_matches: TimelineMatches,
    sessions: SessionRows,
    session_detail: SessionDetail,
    waits: WaitRows,
    /// The number of locks whose worst finding is critical, and of those whose worst is a warning.
    troubled: (usize, usize, usize),
    /// The time of the last check for findings.
    examined_at: Timestamp,
    /// Whether a finding is about a contender that left after the check.
    accuses_gone: bool,
    /// The time of the last change or tick.
    now: Timestamp,
    /// Whether this is the state of a recording, which contains the checks for findings.
    replays: bool,
}

impl ScreenWorld {
    pub fn new(table: LockTable, thresholds: Thresholds) -> Self {
        Self {
            live: LiveState::new(table, thresholds),
            timeline: Timeline::new(MAX_TIMELINE_ENTRIES),
            histories: LockHistories::default(),
            lanes: LockLanes::default(),
            watch_event_rates: WatchEventRates::default(),
            locks: SortedLocks::default(),
            vanished: VanishedLocks::default(),
            lately: Lately::default(),
            matches: QueueMatches::default(),
            timeline_matches: TimelineMatches::default(),
            sessions: SessionRows::default(),
            session_detail: SessionDetail::default(),
            waits: WaitRows::default(),
            troubled: (0, 0, 0),
            examined_at: Timestamp::default(),
            accuses_gone: false,
            now: Timestamp::default(),
            replays: false,
        }
    }

    /// Creates the state at one time of a recording, with the recorded findings.
    pub fn replayed(state: RecordedState) -> Self {
        let thresholds = *state.diagnosis.thresholds();
        let mut world = Self { live: LiveState::of(state), replays: true, ..Self::new(LockTable::new([]), thresholds) };
        let view = Arc::clone(world.live.table().view());
        world.watch_event_rates.add(&view);
        world.lately.surveyed(&view, view.at);
        if world.live.table().is_live() {
            world.lately.begin(world.live.table().last_true().unwrap_or_default());
        }
        world.troubled = world.count_troubled();
        world
    }

    /// Creates the state of an ensemble that was followed elsewhere until now.
    pub fn followed(live: LiveState, now: Timestamp) -> Self {
        let thresholds = *live.diagnosis().thresholds();
        let mut world = Self { live, now, ..Self::new(LockTable::new([]), thresholds) };
        world.live.take_touched();
        let view = Arc::clone(world.live.table().view());
        world.watch_event_rates.add(&view);
        world.lately.surveyed(&view, now);
        if world.live.table().is_live() {
            world.lately.begin(now);
            world.tell_found_locks(now);
        }
        world.locks.sort(world.locks.sorting(), world.live.table(), world.live.diagnosis(), now);
        world.troubled = world.count_troubled();
        world
    }

    /// Returns the state for those who follow the ensemble further.
    pub fn into_live(self) -> LiveState {
        self.live
    }

    /// Applies the next entries of a recording.
    pub fn replay(&mut self, entries: Vec<TimedEntry>) {
        let mut changes = Vec::new();
        for TimedEntry { at, entry } in entries {
            if let StoreEntry::Change(change) = entry {
                changes.push(Observed { at, change: change.into_owned() });
                continue;
            }
            self.apply(std::mem::take(&mut changes), None);
            let is_look = entry == StoreEntry::Examined;
            if let PlayedEntry::Findings(changes) = self.live.play(at, entry) {
                if is_look {
                    self.take_findings(changes, at);
                } else {
                    self.place_anew(&changes.cleared, at);
                }
            }
        }
        self.apply(changes, None);
    }

    /// Takes over the orders and filters of another state. Linear in the number of locks, apart
    /// from the sort.
    pub fn arrange_as(&mut self, other: &Self, now: Timestamp) {
        let (sorting, filter) = (other.locks.sorting(), other.locks.filter().clone());
        self.locks.sort(sorting, self.live.table(), self.live.diagnosis(), now);
        self.filter_locks(&filter, now);
        self.sessions = other.sessions.clone();
        self.session_detail = other.session_detail.clone();
        self.waits = other.waits.clone();
        self.now = now;
        self.matches.build(other.queue_filter().clone(), None, self.live.table(), now);
        self.filter_timeline(other.timeline_filter().clone());
    }

    pub fn table(&self) -> &LockTable {
        self.live.table()
    }

    pub fn timeline(&self) -> &Timeline<TimelineEntry> {
        &self.timeline
    }

    /// Returns the history of each lock.
    pub fn histories(&self) -> &LockHistories {
        &self.histories
    }

    /// Returns the lock whose queue was opened last, even if the lock is gone.
    pub fn opened(&self) -> Option<LockId> {
        self.matches.lock()
    }

    /// Returns the recent activity.
    pub fn lately(&self) -> &Lately {
        &self.lately
    }

    pub fn diagnosis(&self) -> &Diagnosis {
        self.live.diagnosis()
    }

    /// Returns the rates of watch events, as the servers report them.
    pub fn watch_event_rates(&self) -> &WatchEventRates {
        &self.watch_event_rates
    }

    /// Returns the table and the server view, as of a time.
    pub fn table_at(&self, now: Timestamp) -> TableAt<'_> {
        TableAt::new(self.live.table(), now)
    }

    pub fn locks(&self) -> &SortedLocks {
        &self.locks
    }

    pub fn queue_rows(&self) -> QueueRows<'_> {
        QueueRows::new(self.live.table(), &self.matches)
    }

    pub fn timeline_rows(&self) -> TimelineRows<'_> {
        TimelineRows::new(&self.timeline, &self.timeline_matches)
    }

    pub fn queue_filter(&self) -> &Filter {
        self.matches.filter()
    }

    pub fn timeline_filter(&self) -> &Filter {
        self.timeline_matches.filter()
    }

    /// Returns the lock whose queue is open; `None` when the lock is gone.
    pub fn open_lock(&self) -> Option<&LockQueue> {
        self.matches.lock().and_then(|id| self.live.table().lock(id))
    }

    /// Applies changes, and records them if there is a `recorder`.
    pub fn apply(&mut self, changes: Vec<Observed>, mut recorder: Option<&mut BatchRecorder>) {
        let mut newest = None;
        let (mut synced, mut surveyed) = (false, false);
        for Observed { at, change } in changes {
            newest = newest.max(Some(at));
            if let Change::Surveyed { view } = &change {
                self.watch_event_rates.add(view);
                self.lately.surveyed(view, at);
                surveyed = true;
            }
            synced |= matches!(change, Change::Synced);
            let moved = Changed::from(&change);
            let (before, unseen) = (self.leaving(&change, at), change == Change::Synced);
            let is_first = unseen && !self.live.table().is_reporting();
            for happening in self.live.apply(change, at, recorder.as_deref_mut()).1 {
                self.histories.record(&happening, &before, unseen);
                self.note_vanished(&happening);
                let stay = happening.contender.as_ref().and_then(|contender| before.get(contender));
                let held = stay.and_then(|stay| stay.held);
                self.lately.add(&happening, held);
                self.add_to_lane(&happening, held);
                self.push(TimelineEntry::Happening(happening));
            }
            let table = self.live.table();
            self.lanes.sees(table.is_live(), at, table.last_true());
            if is_first {
                self.lately.begin(at);
                self.tell_found_locks(at);
            }
            self.matches.follow(&moved, self.live.table(), at);
        }
        if let Some(now) = newest {
            self.now = self.now.max(now);
            self.forget_vanished();
            let touched = self.live.take_touched();
            self.locks.touch(&touched, self.live.table(), self.live.diagnosis(), now);
            if surveyed {
                self.locks.surveyed(self.live.table(), self.live.diagnosis(), now);
                self.filter_timeline(self.timeline_filter().clone());
            }
            if !self.replays {
                self.examine_after((synced, surveyed), &touched, now, recorder);
            }
        }
    }

    /// Adds the locks of the first read to the timeline, unless there are more than
    /// [`MAX_FOUND_TOLD`].
    fn tell_found_locks(&mut self, at: Timestamp) {
        if self.live.table().lock_count() <= MAX_FOUND_TOLD {
            let found: Vec<Happening> = self.live.table().locks().map(|lock| Happening::lock_found(lock, at)).collect();
            for happening in found {
                self.push(TimelineEntry::Happening(happening));
            }
        }
    }

    /// Returns the contenders that a change may remove, with their current state. After a resync,
    /// every holder may be gone.
    fn leaving(&self, change: &Change, at: Timestamp) -> FxHashMap<ContenderId, Stay> {
        let mut leaving = FxHashMap::default();
        if !self.live.table().is_reporting() {
            // No contender can go during the first read.
            return leaving;
        }
        match change {
            Change::Deleted { path, .. } | Change::DeletedBy { path, .. } | Change::Seen { path, .. } => {
                let place = self.live.table().position(path);
                let row = place.and_then(|(lock, position)| self.live.table().lock(lock)?.row(position));
                let is_same = |czxid| matches!(change, Change::Seen { node, .. } if node.stat.czxid == czxid);
                if let Some(row) = row.filter(|row| !is_same(row.contender.czxid)) {
                    leaving.insert(row.contender.id(), Stay::of(row.contender, self.live.table(), at));
                }
            }
            Change::Synced => {
                let last_true = self.live.table().last_true().unwrap_or(at);
                let holders = self.live.table().locks().flat_map(|lock| lock.rows(0..lock.holding()));
                leaving.extend(holders.map(|row| {
                    let seen = self.live.table().clock().hold_bounds(row.contender, last_true);
                    let mut stay = Stay::of(row.contender, self.live.table(), at);
                    // The hold lasted at least until the connection was lost.
                    if let Some((held, seen)) = stay.held.as_mut().zip(seen) {
                        held.at_least = seen.at_least;
                    }
                    (row.contender.id(), stay)
                }));
            }
            _ => {}
        }
        leaving
    }

    pub fn tick(&mut self, now: Timestamp) {
        self.now = now;
        self.forget_vanished();
        if self.matches.filter().may_be_of_figures() {
            self.matches.follow(&Changed::Everything, self.live.table(), now);
        }
        self.locks.fade(self.live.table(), self.live.diagnosis(), now);
    }

    pub fn arrange(&mut self, with: impl FnOnce(&mut SortedLocks, &LockTable, &Diagnosis)) {
        with(&mut self.locks, self.live.table(), self.live.diagnosis());
    }

    pub fn open(&mut self, lock: Option<LockId>) {
        let filter = self.matches.filter().clone();
        self.matches.build(filter, lock, self.live.table(), self.now);
    }

    /// Opens the new lock with this name if the open lock has vanished.
    pub fn reopen(&mut self, name: &LockName) {
        if self.open_lock().is_none()
            && let Some(id) = self.live.table().find(&name.path, name.name.as_deref())
        {
            self.open(Some(id));
        }
    }

    pub fn filter_queue(&mut self, filter: Filter) {
        let lock = self.matches.lock();
        self.matches.build(filter, lock, self.live.table(), self.now);
    }

    /// Returns the sessions that hold or wait, as of the last refresh.
    pub fn sessions(&self) -> &SessionRows {
        &self.sessions
    }

    /// Returns the session whose page was opened last.
    pub fn session_detail(&self) -> &SessionDetail {
        &self.session_detail
    }

    /// Reads the details of a session for its page. Linear in the number of contenders.
    pub fn read_session(&mut self, session: SessionId, now: Timestamp) {
        self.session_detail.read(session, TableAt::new(self.live.table(), now), &self.timeline);
    }

    /// Returns the wait-for graph, as of the last refresh.
    pub fn waits(&self) -> &WaitRows {
        &self.waits
    }

    /// Changes the order or the filter of the sessions, and lists them again.
    pub fn arrange_sessions(&mut self, with: impl FnOnce(&mut SessionRows), now: Timestamp) {
        with(&mut self.sessions);
        self.list_sessions(now);
    }

    /// Lists the sessions again. Linear in the number of contenders.
    pub fn list_sessions(&mut self, now: Timestamp) {
        self.sessions.list(TableAt::new(self.live.table(), now));
    }

    /// Builds the wait-for graph again. Linear in the number of contenders.
    pub fn draw_waits(&mut self, now: Timestamp) {
        self.waits.draw(TableAt::new(self.live.table(), now));
    }

    pub fn filter_timeline(&mut self, filter: Filter) {
        self.timeline_matches.build(filter, &self.timeline, self.live.table());
    }
}

/// Pause between two checks after hand-overs, for each lock and contender. A check takes about 1 µs
/// for each, so these checks use at most about 5 % of a core.
const REST_AFTER_HAND_OVER: Duration = Duration::from_micros(20);

impl ScreenWorld {
    /// Checks the locks for findings, unless the pause that [`rest_between_checks`] asks for is not
    /// over. A clock that went back ends the pause.
    pub fn examine_if_due(&mut self, now: Timestamp, recorder: Option<&mut BatchRecorder>) {
        let is_back = now < self.examined_at;
        if is_back || now.since(self.examined_at) >= rest_between_checks(self.live.table()) {
            self.examine(now, recorder);
        }
    }

    /// Learns who led elections before they were watched. The next check says it.
    pub fn learn_leaders(&mut self, found: Vec<LedBefore>) {
        self.live.learn_leaders(found);
    }

    /// Names the client of a session, by a command of the user. Returns `false` where no more names are
    /// kept.
    pub fn give_name(&mut self, session: SessionId, name: &str) -> bool {
        self.live.give_name(session, name)
    }

    /// Checks for findings after changes. Findings that need only the nodes appear as soon as the
    /// nodes are read, unless there are 25,000 locks and contenders or more.
    ///
    /// `synced`: whether everything was just read; `surveyed`: whether the servers answered;
    /// `touched`: the locks that changed.
    fn examine_after(
        &mut self,
        (synced, surveyed): (bool, bool),
        touched: &[LockId],
        now: Timestamp,
        recorder: Option<&mut BatchRecorder>,
    ) {
        let rest = rest_between_checks(self.live.table());
        self.accuses_gone |= touched.iter().any(|lock| self.accuses_somebody_gone(*lock));
        if !self.live.table().is_live() || (synced && rest.is_zero()) {
            self.examine(now, recorder);
        } else if synced {
            self.examine_in_a_second(now, rest);
        } else if surveyed || (self.accuses_gone && rest.is_zero() && self.has_rested_after_hand_over(now)) {
            self.examine_if_due(now, recorder);
        }
    }

    /// Returns whether a finding of a lock is about a contender that is gone. Until the next check,
    /// the finding would be shown beside the next holder.
    fn accuses_somebody_gone(&self, lock: LockId) -> bool {
        let about_contenders = self.live.diagnosis().of(lock).filter(|finding| finding.client.is_some());
        about_contenders.filter_map(|finding| finding.node.as_deref()).any(|node| !self.live.table().stands(lock, node))
    }

    /// Returns whether the pause since the last check is long enough. The pause bounds the CPU time
    /// of checks while locks change hands all the time.
    fn has_rested_after_hand_over(&self, now: Timestamp) -> bool {
        let nodes =
            u32::try_from(self.live.table().lock_count() + self.live.table().contender_count()).unwrap_or(u32::MAX);
        now.since(self.examined_at) >= REST_AFTER_HAND_OVER.saturating_mul(nodes)
    }

    /// Makes the next check due in a second, so that very many new locks are shown before it.
    fn examine_in_a_second(&mut self, now: Timestamp, rest: Duration) {
        let rest_ms = i64::try_from(rest.saturating_sub(Duration::from_secs(1)).as_millis()).unwrap_or(i64::MAX);
        self.examined_at = Timestamp(now.0.saturating_sub(rest_ms));
    }

    /// Checks the locks for findings. Linear in the number of contenders.
    fn examine(&mut self, now: Timestamp, recorder: Option<&mut BatchRecorder>) {
        // A survey can be older than the last check. The later time keeps the timeline in order.
        let now = now.max(self.examined_at);
        (self.examined_at, self.accuses_gone) = (now, false);
        if let Some(LookOutcome { forgotten, changes, .. }) = self.live.diagnose(now, recorder) {
            self.place_anew(&forgotten, now);
            self.take_findings(changes, now);
        }
    }

    /// Looks again after a change of the mutes, so that it is recorded, and moves the locks with findings.
    pub fn look_at_muted(&mut self, now: Timestamp, recorder: Option<&mut BatchRecorder>) {
        self.examine(now, recorder);
        let moved: Vec<LockId> = self.live.diagnosis().findings().map(|finding| finding.lock.id).collect();
        self.locks.place_anew(&moved, self.live.table(), self.live.diagnosis(), now);
        self.troubled = self.count_troubled();
    }

    /// Moves the locks of these findings in the list, because their findings have changed.
    fn place_anew(&mut self, findings: &[Arc<Finding>], now: Timestamp) {
        let moved: Vec<LockId> = findings.iter().map(|finding| finding.lock.id).collect();
        self.locks.place_anew(&moved, self.live.table(), self.live.diagnosis(), now);
    }

    /// Applies the findings that a check raised and cleared to the lists and the timeline.
    fn take_findings(&mut self, found: FindingChanges, now: Timestamp) {
        let FindingChanges { raised, cleared, .. } = found;
        self.lately.find_longest(self.live.table(), now);
        for finding in &raised {
            self.lately.take_finding(finding, now);
        }
        let standing = self.live.diagnosis().findings().chain(cleared.iter().map(|finding| &**finding));
        let moved: Vec<LockId> = standing.map(|finding| finding.lock.id).collect();
        self.locks.place_anew(&moved, self.live.table(), self.live.diagnosis(), now);
        self.troubled = self.count_troubled();
        let entry = |raised| move |finding| TimelineEntry::Finding { at: now, finding, raised };
        for entry in cleared.into_iter().map(entry(false)).chain(raised.into_iter().map(entry(true))) {
            self.push(entry);
        }
    }

    fn count_troubled(&self) -> (usize, usize, usize) {
        let locks: FxHashSet<LockId> = self.live.diagnosis().unmuted().map(|finding| finding.lock.id).collect();
        let worst =
            locks.into_iter().filter_map(|lock| self.live.diagnosis().worst(lock)).map(|finding| finding.severity);
        worst.fold((0, 0, 0), |(critical, warning, info), severity| match severity {
            Severity::Critical => (critical + 1, warning, info),
            Severity::Warning => (critical, warning + 1, info),
            Severity::Info => (critical, warning, info + 1),
        })
    }

    /// Returns the number of checks that are not decided whose findings somebody should look at.
    pub fn open_checks(&self) -> usize {
        self.live.diagnosis().last_look().map_or(0, |look| look.open_count(Severity::Warning))
    }

    /// Returns the checks of a lock that are not decided.
    pub fn open_checks_of(&self, lock: LockId) -> impl Iterator<Item = &OpenCheck> {
        let open = self.live.diagnosis().last_look().into_iter().flat_map(LastLook::open);
        open.filter(move |open| open.lock.id == lock)
    }

    /// Returns the number of locks whose worst finding is critical, a warning and an info.
    pub fn troubled(&self) -> (usize, usize, usize) {
        self.troubled
    }

    /// Returns the locks in their order, followed by the vanished locks.
    pub fn lock_rows(&self) -> LockRows<'_> {
        LockRows { locks: &self.locks, vanished: &self.vanished }
    }

    /// Returns the locks that vanished recently.
    pub fn vanished(&self) -> &VanishedLocks {
        &self.vanished
    }

    /// Returns the time when a free lock was last released, by this machine's clock, and whether
    /// that is an upper bound: the lock may have been free for longer. `None` when no hold of it is
    /// known.
    pub fn free_since(&self, lock: &LockQueue) -> Option<(Timestamp, bool)> {
        let last = self.histories.last_hold(lock.id())?;
        Some((last.until, last.end_unseen))
    }

    fn add_to_lane(&mut self, happening: &Happening, held: Option<HoldBounds>) {
        let Some(lock) = &happening.lock else { return };
        if happening.event == LockEvent::LockFound {
            self.lanes.found(lock.id, happening.at);
        }
        let held = happening.held_ms.or(held.map(|held| u64::try_from(held.at_least.as_millis()).unwrap_or(0)));
        if let Some(held) = held.filter(|_| happening.ends_hold) {
            let from = Timestamp(happening.at.0.saturating_sub_unsigned(held));
            self.lanes.hold_ended(lock.id, from, happening.at);
        }
    }

    /// Returns the last ten minutes of a lock, in cells of `slots` slots each.
    pub fn lane(&self, lock: &LockQueue, now: Timestamp, slots: usize) -> Vec<LaneCell> {
        let clock = self.live.table().clock();
        let since = |row: ContenderRow<'_>| {
            let held = clock.hold_bounds(row.contender, now)?.at_least;
            Some(Timestamp(now.0.saturating_sub(i64::try_from(held.as_millis()).unwrap_or(i64::MAX))))
        };
        let holds: Vec<_> = lock.rows(0..lock.holding().min(MAX_HOLDS)).filter_map(since).collect();
        let stuck = self.histories.of(lock.id()).filter_map(|(_, entry)| match entry {
            HistoryEntry::Finding { raised_at, cleared_at, finding }
                if finding.is_standstill() || finding.severity == Severity::Critical =>
            {
                Some(raised_at.or(*cleared_at)?..cleared_at.unwrap_or(now))
            }
            _ => None,
        });
        self.lanes.cells(lock.id(), &holds, &stuck.collect::<Vec<_>>(), now, slots)
    }

    /// Adds a lock that is gone to the vanished locks if its history is known, and removes a lock
    /// that came back.
    fn note_vanished(&mut self, happening: &Happening) {
        let Some(lock) = &happening.lock else { return };
        match happening.event {
            LockEvent::LockGone if self.histories.has(lock.id) => self.vanished.add(lock.clone(), happening.at),
            LockEvent::LockFound => self.vanished.came_back(lock),
            _ => {}
        }
    }

    fn forget_vanished(&mut self) {
        self.vanished.forget(self.now, |lock| self.histories.has(lock));
    }

    /// Filters the locks again, including the vanished ones. Linear in the number of locks.
    pub fn filter_locks(&mut self, filter: &Filter, now: Timestamp) {
        self.locks.set_filter(filter.clone(), self.live.table(), self.live.diagnosis(), now);
        self.vanished.set_filter(filter.clone());
    }

    pub fn push(&mut self, entry: TimelineEntry) {
        match &entry {
            TimelineEntry::Finding { at, finding, raised } => self.histories.take_finding(finding, *raised, *at),
            TimelineEntry::Deletion { at, lock: Some(lock), node, client, ending }
                if matches!(**ending, Ending::Deleted { .. }) =>
            {
                self.histories.take_deletion(lock.id, node, client.session, *at);
            }
            _ => {}
        }
        self.timeline.push(entry);
        self.timeline_matches.pushed(&self.timeline, self.live.table());
    }
}
