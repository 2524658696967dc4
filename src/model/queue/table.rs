//! The table of all locks: its queries, its index of locks by path and name, and its form in
//! recordings.
//!
//! The index also names several queues of one parent apart, and keeps the lock of a parent that was
//! found empty until its first candidate shows the recipe. During an overload, the table takes
//! samples of the parents' stats instead of changes of the queues.
//!
//! A recording stores some parts beside the table, because older recordings have no place for them
//! in it: [`SessionEvidence`], [`EnsembleState`], the [`Elections`] and the runs of one session
//! here, and the waiting heads in [`indirect`](super::indirect). A table that was read from a file
//! may be damaged, so [`is_consistent`](LockTable::is_consistent) checks whether its parts agree.
//! For a recording that is handed to somebody else, the memory of clients and nodes that are gone
//! is removed.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::clients::Clients;
use super::compact::OrderKey;
use super::contender::DeletedNodes;
use super::cost::{TouchedLocks, WaitCosts};
use super::crossed::CrossWaits;
use super::election::Elections;
use super::handover::Handover;
use super::hold::{Clock, HoldBounds};
use super::lock::{LockKey, key_of};
use super::mutes::Mutes;
use super::parent::{ChildListing, Children, Locks, Parent, ParentNode, ParentSamples, Samples, is_searched};
use super::sessions::{PendingEnd, PendingEnds};
use super::{
    ClientIdentity, ConnectionState, Contender, ContenderRow, ElectionKind, Expectation, Happening, LedBefore,
    LockEvent, LockId, LockQueue, NamedAddress, RunsOfOne, SampledCounts, SessionExpired, TakenAgain, Totals,
};
use crate::ensemble::EnsembleLine;
use crate::server_view::{MemberComparison, ServerView, SessionTiming, ViewExtras};
use lockscope_base::recipe::{Classification, Classifier, Definition, LockKind, OwnRecipe, Recipe, RequestMode, Role};
use lockscope_base::znode::{NodeData, Sequence, SessionId, Timestamp, ZnodePath, ZnodeStat, Zxid};

/// Every lock below the observed roots.
///
/// [`apply`](Self::apply) feeds the table. Queries return ordered results and find them without
/// walking over the contenders.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LockTable {
    pub(super) classifier: Classifier,
    pub(super) hint_epochs: FxHashMap<ZnodePath, u32>,
    /// Boxed values, because half of a map may be empty.
    pub(super) locks: Locks,
    pub(super) names: BTreeMap<LockKey, LockId>,
    pub(super) parents: FxHashMap<ZnodePath, Parent>,
    pub(super) next_id: u64,
    pub(super) contenders: usize,
    pub(super) epoch: u32,
    pub(super) phase: SyncPhase,
    pub(super) connection: ConnectionState,
    /// Our last session.
    pub(super) session: Option<SessionId>,
    /// Whether a cut was reported, but not yet the reconnect.
    pub(super) cut_reported: bool,
    pub(super) last_true: Option<Timestamp>,
    pub(super) totals: Totals,
    pub(super) unreadable: BTreeMap<ZnodePath, String>,
    pub(super) touched: TouchedLocks,
    pub(super) clients: Clients,
    pub(super) free_listed: std::collections::VecDeque<LockId>,
    /// Semaphores that are unknown apart from leases that were created and are about to be read.
    pub(super) announced: FxHashMap<LockKey, Box<Handover>>,
    /// Queue nodes of semaphores that were created and are about to be read. The observer's bound
    /// on outstanding reads bounds the set. A recording leaves it out, since the reads follow
    /// within moments.
    #[serde(skip)]
    pub(super) unread_in_semaphores: BTreeSet<ZnodePath>,
    pub(super) deleted_nodes: DeletedNodes,
    /// The number of contenders that were not read immediately. Used for their stand-in numbers.
    pub(super) unread_given: i64,
    /// Whether a read was refused since the last complete reading began.
    pub(super) refused: bool,
    pub(super) samples: Samples,
    /// The locks whose head waits, or may wait, by a watch.
    #[serde(skip)]
    pub(super) head_waits: Box<FxHashSet<LockId>>,
    #[serde(skip)]
    pub(super) elections: Box<Elections>,
    #[serde(skip)]
    pub(super) runs: Box<RunsOfOne>,
    /// The last comparison. A recording leaves it out of the whole state, since the next follows
    /// soon.
    #[serde(skip)]
    pub(super) compared: Option<Arc<MemberComparison>>,
    /// What the last comparison of several ensembles said. Left out like `compared`.
    #[serde(skip)]
    pub(super) crossed: Option<Arc<CrossWaits>>,
    #[serde(skip)]
    pub(super) mutes: Arc<Mutes>,
    /// What waiting cost within the last minutes. A recording has the times of each wait instead.
    #[serde(skip)]
    pub(super) costs: Box<WaitCosts>,
}

/// How far the table is in step with the ensemble.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum SyncPhase {
    /// There has been no complete reading yet.
    #[default]
    Never,
    /// A complete reading is running. `again` tells whether an earlier one was finished.
    Syncing { again: bool },
    /// The table is in step.
    Live,
    /// The table was in step until the connection was lost or overloaded.
    Stale,
}

impl LockTable {
    /// Creates an empty table. The nodes `named` also count as single-node locks.
    pub fn new(named: impl IntoIterator<Item = ZnodePath>) -> Self {
        Self { classifier: Classifier::new(named), ..Self::default() }
    }

    /// Returns the table with additional recipes of the user's own. Call this before the first
    /// change.
    #[must_use]
    pub fn with_recipes(self, own: &[OwnRecipe]) -> Self {
        Self { classifier: self.classifier.with_recipes(own), ..self }
    }

    /// Returns the additional recipes of the user's own.
    pub fn own_recipes(&self) -> &[OwnRecipe] {
        self.classifier.own_recipes()
    }

    /// Returns the lock with this id.
    pub fn lock(&self, id: LockId) -> Option<&LockQueue> {
        self.locks.get(&id).map(Box::as_ref)
    }

    /// Returns all locks, ordered by path and name.
    pub fn locks(&self) -> impl Iterator<Item = &LockQueue> {
        self.names.values().filter_map(|id| self.lock(*id))
    }

    /// Returns the lock at a path with this name. Without a name, returns the first lock there that
    /// has contenders, or else the first.
    pub fn find(&self, path: &ZnodePath, name: Option<&str>) -> Option<LockId> {
        let mut first = None;
        for lock in self.locks_at(path) {
            match name {
                Some(name) if lock.label() == name => return Some(lock.id()),
                None if !lock.is_empty() => return Some(lock.id()),
                None => first = first.or(Some(lock.id())),
                Some(_) => {}
            }
        }
        first
    }

    /// Returns the node at a path, if it was listed as a possible parent of contenders.
    pub fn parent(&self, path: &ZnodePath) -> Option<ParentNode> {
        self.parents.get(path)?.listing.map(ChildListing::node)
    }

    /// Returns the lock of a contender's node and its position in the queue; `None` when the node
    /// is not there. Logarithmic in the length of the queue.
    ///
    /// `path` is the path that [`LockQueue::path_of`] returns.
    pub fn position(&self, path: &ZnodePath) -> Option<(LockId, usize)> {
        let (id, slot) = self.node(path)?;
        Some((id, self.locks.get(&id)?.position_of_slot(slot as usize)?))
    }

    /// Returns whether a node at this path is or can be a contender, as far as its neighbours show.
    pub fn is_contender(&self, path: &ZnodePath) -> bool {
        self.classifier.classify(path).is_some()
    }

    /// Returns a recipe that would read the children of a node as a lock, if no known one does.
    pub fn suggested_recipe<'n>(&self, parent: &ZnodePath, names: impl Iterator<Item = &'n str>) -> Option<Definition> {
        self.classifier.suggested(parent, names)
    }

    /// Returns the number of locks.
    pub fn lock_count(&self) -> usize {
        self.locks.len()
    }

    /// Returns the number of contenders in all locks. A semaphore's client between its queue node
    /// and its lease counts once.
    pub fn contender_count(&self) -> usize {
        self.contenders
    }

    /// Returns the counters over all locks.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Returns the state of the connection to the ensemble.
    pub fn connection(&self) -> &ConnectionState {
        &self.connection
    }

    /// Returns our session, or the last one while there is no connection; `None` before the first.
    pub fn session(&self) -> Option<SessionId> {
        self.session
    }

    /// Returns whether the table shows the ensemble as it is now: connected, completely read since,
    /// and the ensemble answers.
    pub fn is_live(&self) -> bool {
        self.is_in_step() && !self.is_silent()
    }

    /// Returns whether the table was completely read, and no event since can have been missed. An
    /// ensemble that [is silent](ConnectionState::Silent) may have gone on meanwhile; its events
    /// then come later.
    pub fn is_in_step(&self) -> bool {
        self.phase == SyncPhase::Live
    }

    fn is_silent(&self) -> bool {
        matches!(self.connection, ConnectionState::Silent { .. })
    }

    /// Returns whether a complete reading is running.
    pub fn is_syncing(&self) -> bool {
        matches!(self.phase, SyncPhase::Syncing { .. })
    }

    /// Returns when the table was last known to be in step.
    ///
    /// While the table [is live](Self::is_live), this is the time of the last change. Otherwise it
    /// is the time of the last message from the server, never the time at which its silence was
    /// noticed.
    pub fn last_true(&self) -> Option<Timestamp> {
        self.last_true
    }

    /// Returns the servers' last answers about themselves; empty when they were not asked.
    pub fn view(&self) -> &Arc<ServerView> {
        &self.clients.view
    }

    /// Returns the last comparison of the members' trees.
    pub fn compared(&self) -> Option<&MemberComparison> {
        self.compared.as_deref()
    }

    /// Returns the cycles of waits over several ensembles, as of the last comparison.
    pub fn crossed(&self) -> Option<&CrossWaits> {
        self.crossed.as_deref()
    }

    /// Returns what people said of findings.
    pub fn mutes(&self) -> &Arc<Mutes> {
        &self.mutes
    }

    /// Returns the table with these mutes, as a recording has them.
    #[must_use]
    pub fn with_mutes(self, mutes: Mutes) -> Self {
        Self { mutes: Arc::new(mutes), ..self }
    }

    /// Returns the nodes that the server refuses to show, each with the server's reason.
    pub fn unreadable(&self) -> &BTreeMap<ZnodePath, String> {
        &self.unreadable
    }

    /// Returns what is known of this machine's clock in comparison with the servers'.
    pub fn clock(&self) -> &Clock {
        &self.clients.clock
    }

    /// Returns how long a holder had held when it was first seen.
    ///
    /// Returns `None` when its acquisition was seen, and when nobody can have held the lock before
    /// it. The tree does not show how the hold before it ended.
    pub fn held_before_seen(&self, lock: &LockQueue, contender: &Contender, now: Timestamp) -> Option<HoldBounds> {
        let found = contender.found_holding().filter(|_| !contender.returned)?;
        let listing = self.parents.get(lock.path()).and_then(|parent| parent.listing);
        let is_first = contender.sequence == Some(Sequence(0)) || listing.is_some_and(|listing| !listing.any_deleted);
        let HoldBounds { at_least, at_most } = self.clock().hold_bounds(contender, now).filter(|_| !is_first)?;
        let watched = now.since(found.at);
        Some(HoldBounds { at_least: at_least.saturating_sub(watched), at_most: at_most.saturating_sub(watched) })
    }

    /// Returns the locks that changed, came or went since the last call. For callers that keep them
    /// sorted.
    pub fn take_touched(&mut self) -> Vec<LockId> {
        self.touched.take_all()
    }

    pub(super) fn node(&self, path: &ZnodePath) -> Option<(LockId, u32)> {
        self.parents.get(path.parent_str()?)?.children.get(path.name(), &self.locks)
    }

    pub(super) fn locks_at(&self, path: &ZnodePath) -> impl Iterator<Item = &LockQueue> {
        let from = Bound::Included((path.clone(), Recipe::ALL[0], None));
        self.names
            .range((from, Bound::Unbounded))
            .take_while(move |((at, ..), _)| at == path)
            .filter_map(|(_, id)| self.lock(*id))
    }

    /// Returns whether changes are reported as events. What the first complete reading finds
    /// happened before anybody watched, so it is not reported.
    pub fn is_reporting(&self) -> bool {
        !matches!(self.phase, SyncPhase::Never | SyncPhase::Syncing { again: false })
    }

    pub(super) fn mark_parent(&mut self, path: &ZnodePath) {
        let epoch = self.epoch;
        if let Some(parent) = path.parent_str().and_then(|parent| self.parents.get_mut(parent)) {
            parent.epoch = epoch;
        }
    }

    /// Returns the lock at a place, creating it if needed.
    pub(super) fn lock_of(&mut self, place: &Classification, now: Timestamp, out: &mut Vec<Happening>) -> LockId {
        let key = key_of(place);
        if !self.names.contains_key(&key) {
            self.take_over_empty_election(place);
        }
        if let Some(id) = self.names.get(&key) {
            return *id;
        }
        let id = LockId(self.next_id);
        self.next_id += 1;
        // Shares the parent's copy of the path, so that memory holds each path once.
        let path = self.parents.get_key_value(&place.lock).map_or(&place.lock, |(path, _)| path).clone();
        let key = (path.clone(), key.1, key.2);
        let mut lock = LockQueue::new(id, path, key.2.clone(), place.family());
        lock.set_maximum(self.parents.get(&place.lock).and_then(|parent| parent.maximum));
        if let Some(handover) = self.announced.remove(&key) {
            lock.rare_mut().handover = Some(handover);
        }
        if self.is_reporting() {
            out.push(Happening::new(LockEvent::LockFound, &lock, None, now));
        }
        self.names.insert(key, id);
        self.locks.insert(id, Box::new(lock));
        self.touched.insert(id);
        id
    }

    /// Updates the names of a parent's queues after a contender joined or left a lock. Does nothing
    /// if the lock has other contenders or had some before.
    pub(super) fn name_apart_if_first_or_last(&mut self, id: LockId) {
        // The client of a semaphore may be hidden when it arrives.
        if self.lock(id).is_some_and(|lock| lock.len() <= 1 || lock.family().has_lease_nodes()) {
            self.name_apart(id);
        }
    }

    /// Names the queues of a parent if several of them have contenders, and removes the names
    /// otherwise.
    pub(super) fn name_apart(&mut self, id: LockId) {
        let Some(path) =
            self.locks.get(&id).filter(|lock| lock.kind() != LockKind::SingleNode).map(|lock| lock.path().clone())
        else {
            return;
        };
        let here = self.ids_at(&path);
        let used = here.iter().filter(|id| self.locks.get(id).is_some_and(|lock| !lock.is_empty()));
        let several = used.count() > 1;
        for id in here {
            if let Some(lock) = self.locks.get_mut(&id)
                && lock.several != several
            {
                lock.several = several;
                self.touched.insert(id);
            }
        }
    }

    /// Returns the locks at a path that stand for a parent. Single-node locks are left out.
    pub(super) fn ids_at(&self, path: &ZnodePath) -> Vec<LockId> {
        self.locks_at(path).filter(|lock| lock.kind() != LockKind::SingleNode).map(LockQueue::id).collect()
    }

    /// Returns the locks whose queue stands below a parent: those at its path, and the semaphore
    /// that the parent belongs to.
    pub(super) fn ids_queueing_at(&self, parent: &ZnodePath) -> Vec<LockId> {
        let semaphores = Classifier::hints_beside(parent).into_iter().filter_map(|hint| Classifier::lock_of(&hint));
        let paths = semaphores.chain([parent.clone()]);
        let ids = paths.flat_map(|path| self.ids_at(&path));
        ids.filter(|id| self.locks.get(id).is_some_and(|lock| lock.queue_path() == *parent)).collect()
    }

    /// Gives the lock of a parent that was found empty the recipe of its first candidate. The table
    /// has no lock with that recipe there.
    fn take_over_empty_election(&mut self, place: &Classification) {
        if matches!(place.recipe.kind(), LockKind::SingleNode | LockKind::Semaphore) {
            return;
        }
        let key = key_of(&without_candidates(&place.lock));
        let Some(id) = self.names.get(&key).copied() else { return };
        let is_found_empty = self.elections.records.get(&id).is_some_and(|record| record.found_empty_since().is_some());
        let Some(lock) = self.locks.get_mut(&id).filter(|lock| is_found_empty && lock.is_empty()) else { return };
        lock.take_family(place.family(), place.name.as_deref().map(Into::into));
        let new = lock.key_in_table();
        self.names.remove(&key);
        self.names.insert(new, id);
    }
}

/// Returns the place of an election whose recipe is not known yet.
pub fn without_candidates(path: &ZnodePath) -> Classification {
    Classification {
        lock: path.clone(),
        name: None,
        recipe: Recipe::UnknownQueue,
        role: Role::Queue,
        mode: RequestMode::Exclusive,
        sequence: None,
    }
}

impl LockTable {
    /// Returns what the samples show of a lock during an overload.
    ///
    /// Returns `None` at all other times, before the first sample, and for a single-node lock,
    /// which has no parent to sample.
    pub fn sampled(&self, lock: &LockQueue) -> Option<SampledCounts> {
        if self.samples.is_empty() || lock.kind() == LockKind::SingleNode {
            return None;
        }
        let queue = self.samples.get(&lock.queue_path())?.counts();
        match lock.kind() {
            LockKind::Semaphore if lock.family().has_lease_nodes() => {
                Some(queue.plus(self.samples.get(&lock.lease_parent())?.counts()))
            }
            _ => Some(queue),
        }
    }

    /// Returns the locks whose contenders queue below this node.
    pub fn locks_queueing_at(&self, parent: &ZnodePath) -> Vec<LockId> {
        self.ids_queueing_at(parent)
    }

    pub(super) fn sampled_parent(&mut self, path: ZnodePath, stat: &ZnodeStat, now: Timestamp) {
        if self.is_in_step() {
            return;
        }
        self.ids_queueing_at(&path).into_iter().for_each(|id| self.touched.insert(id));
        let samples = ParentSamples::with(self.samples.get(&path), stat, now);
        self.samples.insert(path, samples);
    }

    pub(super) fn note_runs(&mut self, happenings: &[Happening]) {
        for happening in happenings {
            if let Some(lock) = &happening.lock {
                self.runs.take_in(lock.id, happening);
            }
        }
    }

    /// Returns how one session takes a lock again and again, up to `now`, while nobody else is in its
    /// queue.
    pub fn taken_again(&self, lock: &LockQueue, now: Timestamp) -> Option<TakenAgain> {
        self.runs.of(lock.id(), now)
    }

    /// Returns the runs of all locks. They are not part of the serialized table.
    pub fn runs_of_one(&self) -> &RunsOfOne {
        &self.runs
    }

    /// Returns the table with the runs that were stored beside it.
    #[must_use]
    pub fn with_runs_of_one(mut self, runs: RunsOfOne) -> Self {
        *self.runs = runs;
        let locks = &self.locks;
        self.runs.retain(|id| locks.contains_key(&id));
        self
    }
}

/// Maximum number of holders that are searched for one session. A read lock may have very many.
const MAX_HOLDERS_SEARCHED: usize = 64;

impl LockTable {
    /// Returns the clients of the contenders.
    pub fn clients(&self) -> &Clients {
        &self.clients
    }

    /// Returns the client with this node in the queue of a lock. Falls back to the session's client
    /// when there is no such node.
    pub fn identity_at(&self, lock: LockId, node: &str, session: SessionId) -> ClientIdentity {
        let contender = self.lock(lock).and_then(|queue| self.standing_at(queue, node));
        let contender = contender.filter(|contender| contender.session() == Some(session));
        contender.map_or_else(|| self.clients.identity(session), |contender| self.clients.identity_of(contender))
    }

    /// Returns whether a contender with this node stands in a lock.
    pub fn stands(&self, lock: LockId, node: &str) -> bool {
        self.lock(lock).is_some_and(|queue| self.standing_at(queue, node).is_some())
    }

    /// Returns the client of a session that holds a lock, named by its node there.
    pub fn identity_of_holder(&self, lock: LockId, session: SessionId) -> ClientIdentity {
        let held = self.lock(lock).and_then(|lock| {
            let mut holders = lock.rows(0..lock.holding().min(MAX_HOLDERS_SEARCHED));
            holders.find(|row| row.contender.session() == Some(session))
        });
        held.map_or_else(|| self.clients.identity(session), |row| self.clients.identity_of(row.contender))
    }

    /// Returns the contender with this node. A semaphore's holders stand below another parent than
    /// its waiters.
    pub fn row_of<'a>(&'a self, queue: &'a LockQueue, node: &str) -> Option<ContenderRow<'a>> {
        let paths = [queue.queue_path().child(node), queue.lease_parent().child(node), queue.path().clone()];
        let found = paths.iter().filter_map(|path| self.position(path)).find(|(id, _)| *id == queue.id())?;
        queue.row(found.1).filter(|row| &*row.contender.node == node)
    }

    fn standing_at<'a>(&'a self, queue: &'a LockQueue, node: &str) -> Option<&'a Contender> {
        self.row_of(queue, node).map(|row| row.contender)
    }

    /// Remembers who waits for single-node locks, if the lists of watches are new: these waiters
    /// are only visible while they watch the node. Linear in the number of locks.
    pub(super) fn remember_who_waits(&mut self, former: &ServerView) {
        let listed = |view: &ServerView| view.members.iter().map(|member| Some(member.watched.as_ref()?.at)).collect();
        let (before, now): (Vec<_>, Vec<_>) = (listed(former), listed(&self.clients.view));
        if before == now {
            return;
        }
        let single = self.locks().filter(|lock| lock.kind() == LockKind::SingleNode);
        let watchers = single.filter_map(|lock| self.clients.view.watchers_of(lock.path()));
        let sessions: Vec<_> = watchers.flat_map(|watchers| watchers.sessions).collect();
        for session in sessions {
            self.clients.sessions.seen_to_wait(session);
        }
    }

    /// Reports the settled ends.
    pub(super) fn settle(&mut self, settled: Vec<PendingEnd>, now: Timestamp, out: &mut Vec<Happening>) {
        let mut last_holds: FxHashMap<LockId, SessionExpired> = FxHashMap::default();
        for PendingEnd { lock, contender, node, session, client, at, held } in settled {
            if held {
                let expired = SessionExpired { at, node: Arc::clone(&node), session, client: client.clone() };
                last_holds.insert(lock.id, expired);
            }
            let queue = self.lock(lock.id).map_or(0, LockQueue::len);
            out.push(Happening {
                lock: Some(lock),
                contender: Some(contender),
                node: Some(node),
                session: Some(session),
                client,
                queue,
                ..Happening::of_connection(LockEvent::Settled, now)
            });
        }
        for (id, expired) in last_holds {
            self.touched.insert(id);
            if let Some(lock) = self.locks.get_mut(&id) {
                lock.settle_expiry(expired);
            }
        }
    }
}

/// The evidence about the ends of sessions, as a recording stores it. The evidence is stored beside
/// the table, because older recordings have no place for it in the table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEvidence {
    members: Vec<SessionTiming>,
    /// Since when sessions have no connection.
    disconnected: BTreeMap<SessionId, Timestamp>,
}

impl LockTable {
    /// Returns the evidence about the ends of sessions. It is not part of the serialized table.
    pub fn session_evidence(&self) -> SessionEvidence {
        SessionEvidence {
            members: self.clients.view.timings(),
            disconnected: self.clients.sessions.disconnected().clone(),
        }
    }

    /// Returns the table with the evidence that was stored beside it.
    #[must_use]
    pub fn with_session_evidence(mut self, evidence: SessionEvidence) -> Self {
        Arc::make_mut(&mut self.clients.view).set_timings(&evidence.members);
        self.clients.sessions.set_disconnected(evidence.disconnected);
        self
    }
}

impl LockTable {
    /// Returns the table with names of clients from the user's settings.
    #[must_use]
    pub fn with_named_clients(mut self, named: &[NamedAddress]) -> Self {
        self.clients.named = named.into();
        self
    }

    /// Returns the table with the user's expectations of elections. Call this before the first
    /// change.
    #[must_use]
    pub fn with_expectations(mut self, expected: &[Expectation]) -> Self {
        self.elections.set_expectations(expected);
        self
    }

    /// Returns what is remembered about elections. It is not part of the serialized table.
    pub fn elections(&self) -> &Elections {
        &self.elections
    }

    /// Learns who led elections before they were watched. At most 1,000 elections are kept.
    pub fn learn_leaders(&mut self, found: Vec<LedBefore>) {
        self.elections.learn_leaders(found);
    }

    /// Names the client of a session, by a command of the user. Returns `false` where no more names are
    /// kept.
    pub fn give_name(&mut self, session: SessionId, name: &str) -> bool {
        self.clients.give_name(session, name)
    }

    /// Returns how sure it is that a lock is an election; `None` for a lock that is none.
    pub fn election_kind(&self, lock: &LockQueue, now: Timestamp) -> Option<ElectionKind> {
        self.elections.kind(lock, self.clock(), now)
    }

    /// Returns the table with the records that were stored beside it. Records of locks that the
    /// table does not have are dropped.
    #[must_use]
    pub fn with_elections(mut self, elections: Elections) -> Self {
        *self.elections = elections;
        let locks = &self.locks;
        self.elections.records.retain(|id, _| locks.contains_key(id));
        self
    }

    /// Returns whether an election is kept though its parent is gone.
    pub fn is_without_parent(&self, lock: &LockQueue) -> bool {
        self.elections.is_kept_without_parent(lock) && self.lacks_parent(lock)
    }

    fn lacks_parent(&self, lock: &LockQueue) -> bool {
        lock.is_empty() && !self.parents.contains_key(lock.path())
    }
}

/// The state of the ensemble as a whole, as a recording stores it: beside the table, because older
/// recordings have no place for it in the table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnsembleState {
    extras: ViewExtras,
    line: Box<EnsembleLine>,
    pending_ends: Box<PendingEnds>,
}

impl LockTable {
    /// Returns what happened to the ensemble as a whole.
    pub fn ensemble_line(&self) -> &EnsembleLine {
        &self.clients.line
    }

    /// Returns when the ensemble last changed in a way that makes sessions move, by this machine's
    /// clock. See [`EnsembleLine::upheaval_at`].
    pub fn upheaval_at(&self) -> Option<Timestamp> {
        self.clients.line.upheaval_at()
    }

    /// Returns what is known of the ensemble. It is not part of the serialized table.
    pub fn ensemble_state(&self) -> EnsembleState {
        let (line, pending_ends) = (self.clients.line.clone(), self.clients.pending_ends.clone());
        EnsembleState { extras: self.clients.view.extras(), line, pending_ends }
    }

    /// Returns the table with what was stored beside it.
    #[must_use]
    pub fn with_ensemble_state(mut self, state: EnsembleState) -> Self {
        Arc::make_mut(&mut self.clients.view).set_extras(&state.extras);
        (self.clients.line, self.clients.pending_ends) = (state.line, state.pending_ends);
        self
    }

    /// Notes in the time line whether the locks are seen.
    pub(super) fn note_sight(&mut self, was_live: bool, now: Timestamp) {
        match (was_live, self.is_live()) {
            (true, false) => {
                self.clients.line.lost_sight(self.last_true.unwrap_or(now), self.connection.why_not_seen());
            }
            (false, true) => self.clients.line.sees_again(now),
            _ => {}
        }
    }

    /// Recounts the contenders. Linear in the number of locks.
    ///
    /// Earlier versions counted a semaphore's client twice while it had two nodes, also in
    /// recordings.
    pub fn recount(&mut self) {
        self.contenders = self.locks.values().map(|lock| lock.len()).sum();
    }

    /// Returns whether every reference in the table has a target. Linear in the number of
    /// contenders.
    ///
    /// A table that only [`apply`](Self::apply) has changed is consistent. A deserialized table is
    /// used only if it is consistent.
    pub fn is_consistent(&self) -> bool {
        let locks = self.locks.iter().all(|(id, lock)| lock.id() == *id && lock.is_consistent() && id.0 < self.next_id);
        let names = self.names.iter().all(|(name, id)| self.lock(*id).is_some_and(|lock| lock.key_in_table() == *name));
        let nodes = self.parents.values().flat_map(|parent| parent.children.iter(&self.locks));
        let parents = self.parents.iter().all(|(path, parent)| self.is_parent_consistent(path, &parent.children));
        locks
            && names
            && parents
            && self.names.len() == self.locks.len()
            && nodes
                .into_iter()
                .all(|(_, (id, slot))| self.lock(id).is_some_and(|lock| lock.contenders.contains(slot as usize)))
    }

    fn is_parent_consistent(&self, path: &ZnodePath, children: &Children) -> bool {
        let Children::OfLock(id) = children else { return true };
        let stands_below = |lock: &LockQueue| match lock.family().kind() {
            LockKind::SingleNode => lock.path().parent_str() == Some(path.as_str()),
            _ => lock.path() == path,
        };
        id.0 < self.next_id && self.lock(*id).is_none_or(|lock| is_searched(lock) && stands_below(lock))
    }
}

impl LockQueue {
    fn is_consistent(&self) -> bool {
        let hidden = self.hidden();
        let is_in_place =
            |key: OrderKey| self.contenders.contains(key.slot as usize) && self.key(key.slot as usize) == key;
        let found =
            self.handover().is_none_or(|handover| handover.found().iter().all(|slot| self.contenders.contains(*slot)));
        let count = |counts: fn(&Contender) -> bool| self.contenders.iter().filter(|(_, found)| counts(found)).count();
        found
            && hidden.into_iter().chain(self.order.iter()).all(is_in_place)
            && hidden.is_none_or(|hidden| self.order.get(self.order.rank(hidden)) != Some(hidden))
            && self.order.len() + usize::from(hidden.is_some()) == self.contenders.len()
            && self.readers().iter().all(|key| is_in_place(key) && self.is_reader(key))
            && self.readers().len() == count(|contender| contender.mode == RequestMode::Read)
            && self.leases() == count(|contender| contender.role == Role::Lease)
            && self.returned() == count(|contender| contender.returned)
            && self.holding() <= self.order.len()
    }
}

impl LockTable {
    /// Forgets sessions without contenders and deleted nodes, each known by its creating
    /// transaction, unless they satisfy `session_stays` or `node_stays`.
    ///
    /// Keep those that later changes mention again: the table then knows as much about them as it
    /// does with its whole memory.
    pub fn forget_gone(&mut self, session_stays: impl Fn(SessionId) -> bool, node_stays: impl Fn(Zxid) -> bool) {
        self.clients.pending_ends.retain(&session_stays);
        let Self { runs, clients, .. } = self;
        runs.retain_sessions(|session| session_stays(session) || clients.contends(session));
        self.clients.sessions.retain_departed(session_stays);
        self.deleted_nodes.retain(node_stays);
        self.elections.forget_departures();
    }

    /// Removes the data of all contenders, and the names that were read from it.
    pub fn forget_data(&mut self) {
        for lock in self.locks.values_mut() {
            for (_, contender) in &mut lock.contenders {
                contender.data = NodeData::default();
            }
            if let Some(expired) = lock.rare.as_mut().and_then(|rare| rare.session_expired.as_mut()) {
                expired.client.name = None;
            }
        }
        self.clients.sessions.forget_names();
        self.elections.forget_names();
        self.clients.pending_ends.forget_names();
    }
}

#[cfg(test)]
mod tests {
    use crate::queue::ClientIdentity;
    use crate::testing::fixture::TableFixture;
    use lockscope_base::znode::SessionId;

    #[test]
    fn departed_sessions_are_forgotten_unless_they_return_and_contenders_stay_known() {
        let mut fixture = TableFixture::new();
        for owner in 1..4 {
            let node = fixture.put_numbered("/a/lock-", owner);
            fixture.write(&node, format!("worker-{owner}").as_bytes());
            fixture.apply(fixture.observed(&node));
            if owner < 3 {
                fixture.tree.remove(&node);
                fixture.delete(&node);
            }
        }
        let name = |fixture: &TableFixture, session| fixture.table.clients().identity(SessionId(session)).name;
        fixture.table.forget_gone(|session| session == SessionId(2), |_| false);
        assert_eq!(
            [1, 2, 3].map(|session| name(&fixture, session).is_some()),
            [false, true, true],
            "the first is gone for good"
        );
        fixture.table.forget_data();
        assert_eq!([2, 3].map(|session| name(&fixture, session)), [None, None]);
        let lock = fixture.table.locks().next().unwrap();
        let holder = lock.first_holder().unwrap();
        assert_eq!(holder.data.bytes(), b"");
        let known = fixture.table.clients().identity_of(holder);
        assert_eq!(known, ClientIdentity { session: Some(SessionId(3)), ..ClientIdentity::default() });
    }
}
