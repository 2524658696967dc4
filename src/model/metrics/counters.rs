//! Counters over the changes that a table takes in, and the selection of the locks with series of
//! their own, when there are more locks than series.
//!
//! A lock gets a free place immediately when an event happens to it. Otherwise it gets one at a
//! scrape, where locks with waiters or findings come first. A lock keeps its place as long as it
//! exists, so that its series continues.
//!
//! If all places are taken, a lock with waiters or findings can replace an idle one: a lock that
//! had no waiters, no events and no findings for ten minutes. So a place changes its lock at most
//! once in ten minutes. Findings of severity `info` do not count.

use std::cmp::Reverse;
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::scrape::{FindingCounts, LockFigures, LockLabels, LockState, ServerFigures};
use super::{LockCounts, ProcessFigures, Scrape};
use crate::diagnose::{Code, Diagnosis, Severity};
use crate::ensemble::{EnsembleLine, Majority};
use crate::queue::{Happening, LockEvent, LockId, LockQueue, LockTable, is_likely_election};
use crate::server_view::{AskedBy, Health, Load, MemberView, ServerView};
use lockscope_base::recipe::{LockKind, Recipe};
use lockscope_base::znode::{Timestamp, ZnodePath};

/// Counts the events that a table reports. The owner of the table calls
/// [`count_all`](Self::count_all) after each change.
///
/// Memory is bounded by the number of locks with series of their own.
#[derive(Clone, Debug)]
pub struct EventCounters {
    named: NamedLocks,
    /// The counts of all locks without series of their own.
    others: LockCounts,
    /// What the table had of all waits at the last scrape.
    waited: Duration,
    gaps: u64,
    changes: u64,
    was_live: bool,
    /// The cost of asking before the last [`start_over`](Self::start_over).
    asked_before: Load,
    asked: Load,
}

impl EventCounters {
    /// Creates counters at zero. At most `max_locks` locks have series of their own.
    pub fn new(max_locks: usize) -> Self {
        Self {
            named: NamedLocks::new(max_locks),
            others: LockCounts::default(),
            waited: Duration::ZERO,
            gaps: 0,
            changes: 0,
            was_live: false,
            asked_before: Load::default(),
            asked: Load::default(),
        }
    }

    /// Counts the events of one change. `table` is the table after the change.
    pub fn count_all(&mut self, happenings: &[Happening], table: &LockTable) {
        self.changes += 1;
        let is_live = table.is_in_step();
        // The times of events that a complete reading finds are unknown.
        let is_timed = self.was_live && is_live;
        for happening in happenings {
            self.count(happening, is_timed);
        }
        self.gaps += u64::from(self.was_live && !is_live);
        self.was_live = is_live;
        self.asked = table.view().asked;
    }

    /// Prepares for another table, as after a reconnect with other settings. Locks and their series
    /// start again.
    pub fn start_over(&mut self) {
        self.named.clear();
        (self.others, self.waited) = (LockCounts::default(), Duration::ZERO);
        self.gaps += u64::from(std::mem::take(&mut self.was_live));
        self.asked_before.add(std::mem::take(&mut self.asked));
    }

    fn count(&mut self, happening: &Happening, is_timed: bool) {
        let Some(lock) = &happening.lock else { return };
        let place = self.named.on_event(lock.id, &lock.path, happening.at);
        let counts = place.map_or(&mut self.others, |place| &mut place.counts);
        counts.watch_events.herd += happening.watch_events.herd;
        counts.watch_events.chain += happening.watch_events.chain;
        let event = happening.event;
        counts.acquisitions += u64::from(event == LockEvent::Acquired);
        counts.expiries += u64::from(matches!(event, LockEvent::Expired | LockEvent::Settled));
        if !is_timed {
            return;
        }
        match (event, happening.waited_ms, happening.held_ms) {
            (LockEvent::Acquired, Some(ms), _) => counts.waits.add(ms),
            (LockEvent::Released | LockEvent::Expired, _, Some(ms)) => counts.holds.add(ms),
            _ => {}
        }
    }

    /// Returns the current figures of the counted table. Linear in the number of locks.
    pub fn scrape(
        &mut self,
        ensemble: &str,
        table: &LockTable,
        diagnosis: &Diagnosis,
        process: ProcessFigures,
        now: Timestamp,
    ) -> Scrape {
        let is_live = table.is_live();
        if is_live {
            self.named.drop_gone(table);
            self.named.allot(table, diagnosis, now);
        }
        let mut scrape = Scrape {
            ensemble: ensemble.to_owned(),
            context: None,
            is_live,
            locks: is_live.then_some(table.lock_count() as u64),
            contenders: is_live.then_some(table.contender_count() as u64),
            servers: self.servers(table.view()),
            answering: table
                .view()
                .members
                .iter()
                .map(|member| (member.address.clone(), is_answering(member)))
                .collect(),
            health: health(table.view()),
            has_majority: has_majority(table.ensemble_line()),
            unchecked: if is_live { unchecked(diagnosis) } else { Vec::new() },
            gaps: self.gaps,
            changes: self.changes,
            process,
            named: Vec::new(),
            others: LockFigures::others(&self.others),
            other_locks: is_live.then_some(0),
        };
        let all = table.waits().total(None, now);
        let mut rest = all.saturating_sub(std::mem::replace(&mut self.waited, all));
        for lock in table.locks() {
            let state = is_live.then(|| state(lock, table, now));
            if let Some(place) = self.named.get_mut(lock.id()) {
                rest = rest.saturating_sub(place.wait(table.waits().total(Some(lock.id()), now)));
                let labels = LockLabels::of(lock, place.recipe(lock));
                // The findings may be from before the table was out of step.
                let findings = if is_live { findings(lock, diagnosis) } else { FindingCounts::new() };
                scrape.named.push(LockFigures { labels, counts: place.counts, state, findings });
            } else if let Some(state) = state {
                scrape.others.state.get_or_insert_default().add(state);
                scrape.other_locks = scrape.other_locks.map(|count| count + 1);
                for (kind, count) in findings(lock, diagnosis) {
                    *scrape.others.findings.entry(kind).or_default() += count;
                }
            }
        }
        if scrape.other_locks.is_some_and(|count| count > 0) {
            self.others.waited += rest;
            scrape.others.counts.waited = self.others.waited;
        }
        scrape
    }

    fn servers(&self, view: &ServerView) -> Option<ServerFigures> {
        if view.members.is_empty() {
            return None;
        }
        let listed = view.members.iter().filter_map(|member| member.connections.as_ref());
        let mut asked = self.asked_before;
        asked.add(view.asked);
        Some(ServerFigures {
            known: view.members.len() as u64,
            answering: view.members.iter().filter(|member| is_answering(member)).count() as u64,
            connections: listed.map(|listing| listing.items().len() as u64).reduce(|sum, more| sum + more),
            asked,
        })
    }
}

fn is_answering(member: &MemberView) -> bool {
    member.asked_by != AskedBy::None
}

/// Returns how each server is doing. A server that does not answer any more reports nothing.
fn health(view: &ServerView) -> Vec<(String, Health)> {
    let answering = view.members.iter().filter(|member| is_answering(member));
    answering.filter_map(|member| Some((member.address.clone(), member.health.clone()?))).collect()
}

fn state(lock: &LockQueue, table: &LockTable, now: Timestamp) -> LockState {
    let ms = |duration: std::time::Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let held = match lock.first_holder() {
        Some(holder) => table.clock().hold_bounds(holder, now).map(|bounds| ms(bounds.at_least)),
        None => Some(0),
    };
    let is_known = lock.kind() != LockKind::SingleNode && !lock.is_assumed();
    let waiters = is_known.then_some(lock.waiting() as u64);
    let waited = lock.first_waiter().map_or(0, |first| ms(now.since(first.contends_since(table.clock().ahead_ms()))));
    // A candidate of an election stands by for as long as the leader leads.
    let waited = waiters.filter(|_| !is_likely_election(lock)).map(|_| waited);
    LockState { holders: lock.holding() as u64, waiters, held_ms: held, waited_ms: waited }
}

fn has_majority(line: &EnsembleLine) -> Option<bool> {
    match line.majority() {
        Majority::Serves { .. } => Some(true),
        Majority::Lost { .. } => Some(false),
        Majority::Unknown { .. } => None,
    }
}

fn unchecked(diagnosis: &Diagnosis) -> Vec<(Code, u64)> {
    let open = diagnosis.last_look().into_iter().flat_map(|look| look.open_by_check(Severity::Warning));
    open.map(|(check, count)| (check, count as u64)).collect()
}

fn findings(lock: &LockQueue, diagnosis: &Diagnosis) -> FindingCounts {
    let mut counts = FindingCounts::new();
    for finding in diagnosis.of(lock.id()) {
        *counts.entry((finding.code, finding.severity)).or_default() += 1;
    }
    counts
}

/// The default number of locks with series of their own.
pub const DEFAULT_MAX_LOCKS: usize = 1_000;

/// Maximum length of a path with series of its own, in bytes.
const MAX_PATH_BYTES: usize = 512;

/// How long a lock must be idle before it loses its place.
const KEPT_FOR: Duration = Duration::from_secs(600);

/// A lock with series of its own.
#[derive(Clone, Copy, Debug)]
struct LockPlace {
    pub counts: LockCounts,
    /// When the lock last had an event, a waiter or a finding; 0 for never.
    last_busy: Timestamp,
    /// What the table had of its waits at the last scrape.
    waited: Duration,
    /// Whether readers were ever seen. Only readers reveal which of kazoo's locks this is, and the
    /// name of a series must not change.
    had_readers: bool,
}

impl LockPlace {
    fn new(last_busy: Timestamp) -> Self {
        Self { counts: LockCounts::default(), last_busy, waited: Duration::ZERO, had_readers: false }
    }

    /// Counts what was waited since the last scrape, and returns it. The table may have begun again.
    pub fn wait(&mut self, waited: Duration) -> Duration {
        let before = std::mem::replace(&mut self.waited, waited);
        let more = waited.checked_sub(before).unwrap_or(waited);
        self.counts.waited = self.counts.waited.saturating_add(more);
        more
    }

    /// Returns the recipe in the labels of the lock's series.
    pub fn recipe(&mut self, lock: &LockQueue) -> Recipe {
        self.had_readers |= lock.recipe() == Recipe::KazooReadWrite;
        if self.had_readers { Recipe::KazooReadWrite } else { lock.recipe() }
    }
}

/// The locks with series of their own.
#[derive(Clone, Debug)]
struct NamedLocks {
    max: usize,
    places: FxHashMap<LockId, LockPlace>,
}

impl NamedLocks {
    pub fn new(max: usize) -> Self {
        Self { max, places: FxHashMap::default() }
    }

    /// Returns the place of a lock with an event, taking a free one if needed.
    pub fn on_event(&mut self, id: LockId, path: &ZnodePath, at: Timestamp) -> Option<&mut LockPlace> {
        if !self.places.contains_key(&id) {
            if self.places.len() >= self.max || !can_be_named(path) {
                return None;
            }
            self.places.insert(id, LockPlace::new(at));
        }
        let place = self.places.get_mut(&id)?;
        place.last_busy = place.last_busy.max(at);
        Some(place)
    }

    pub fn get_mut(&mut self, id: LockId) -> Option<&mut LockPlace> {
        self.places.get_mut(&id)
    }

    pub fn clear(&mut self) {
        self.places.clear();
    }

    /// Drops the places of locks that no longer exist.
    pub fn drop_gone(&mut self, table: &LockTable) {
        self.places.retain(|id, _| table.lock(*id).is_some());
    }

    /// Allots places to locks without one. Linear in the number of locks.
    pub fn allot(&mut self, table: &LockTable, diagnosis: &Diagnosis, now: Timestamp) {
        let mut waiting = Vec::new();
        for lock in table.locks() {
            let worst =
                diagnosis.worst(lock.id()).map(|finding| finding.severity).filter(|worst| *worst > Severity::Info);
            let is_busy = worst.is_some() || lock.waiting() > 0;
            if let Some(place) = self.places.get_mut(&lock.id()) {
                place.last_busy = if is_busy { place.last_busy.max(now) } else { place.last_busy };
            } else if can_be_named(lock.path()) {
                waiting.push((Reverse((is_busy, worst, lock.waiting())), lock.id()));
            }
        }
        // The sort is stable, so locks of equal rank stay ordered by path.
        waiting.sort_by_key(|(rank, _)| *rank);
        let mut idle = None;
        for (Reverse((is_busy, ..)), id) in waiting {
            let last_busy = if is_busy { now } else { Timestamp(0) };
            if self.places.len() >= self.max {
                let idle = idle.get_or_insert_with(|| self.idle(now));
                let Some(gives_way) = idle.pop().filter(|_| is_busy) else { return };
                self.places.remove(&gives_way);
            }
            self.places.insert(id, LockPlace::new(last_busy));
        }
    }

    /// Returns the locks that can lose their places, the longest idle one last.
    fn idle(&self, now: Timestamp) -> Vec<LockId> {
        let idle = self.places.iter().filter(|(_, place)| now.since(place.last_busy) >= KEPT_FOR);
        let mut idle: Vec<_> = idle.map(|(id, place)| (Reverse(place.last_busy), *id)).collect();
        idle.sort_unstable();
        idle.into_iter().map(|(_, id)| id).collect()
    }
}

fn can_be_named(path: &ZnodePath) -> bool {
    path.as_str().len() <= MAX_PATH_BYTES
}
