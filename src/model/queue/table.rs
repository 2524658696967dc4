//! The table of all locks, and its queries.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::children::Locks;
use super::churn::RunsOfOne;
use super::clock::Clock;
use super::deleted::DeletedNodes;
use super::election::Elections;
use super::handover::Handover;
use super::lock_name::LockKey;
use super::parent::{Listing, Parent, ParentNode};
use super::pending_ends::PendingEnds;
use super::samples::Samples;
use super::sessions::Sessions;
use super::{ConnectionState, LockId, LockQueue, Totals};
use crate::ensemble::EnsembleLine;
use crate::server_view::{MemberComparison, ServerView};
use lockscope_base::recipe::{Classifier, OwnRecipe, Recipe};
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath};

/// Every lock below the observed roots.
///
/// [`apply`](Self::apply) feeds the table. Queries return ordered results and find them without
/// walking over the contenders.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    pub(super) touched: FxHashSet<LockId>,
    pub(super) view: Arc<ServerView>,
    pub(super) sessions: Sessions,
    /// Recordings store it beside the table ([`EnsembleState`](super::EnsembleState)).
    #[serde(skip)]
    pub(super) line: Box<EnsembleLine>,
    /// The ends that may still be settled. Recordings store them beside the table too.
    #[serde(skip)]
    pub(super) pending_ends: Box<PendingEnds>,
    pub(super) clock: Clock,
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
}

/// How far the table is in step with the ensemble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum SyncPhase {
    /// There has been no complete reading yet.
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
        Self {
            classifier: Classifier::new(named),
            hint_epochs: FxHashMap::default(),
            locks: FxHashMap::default(),
            names: BTreeMap::new(),
            parents: FxHashMap::default(),
            next_id: 0,
            contenders: 0,
            epoch: 0,
            phase: SyncPhase::Never,
            connection: ConnectionState::Connecting { attempt: 1, reason: None, next_try: None },
            session: None,
            cut_reported: false,
            last_true: None,
            totals: Totals::default(),
            unreadable: BTreeMap::new(),
            touched: FxHashSet::default(),
            view: Arc::default(),
            sessions: Sessions::default(),
            line: Box::default(),
            pending_ends: Box::default(),
            clock: Clock::default(),
            free_listed: std::collections::VecDeque::new(),
            announced: FxHashMap::default(),
            unread_in_semaphores: BTreeSet::new(),
            deleted_nodes: DeletedNodes::default(),
            unread_given: 0,
            refused: false,
            samples: Samples::default(),
            head_waits: Box::default(),
            elections: Box::default(),
            runs: Box::default(),
            compared: None,
        }
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
        self.parents.get(path)?.listing.map(Listing::node)
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
        &self.view
    }

    /// Returns the last comparison of the members' trees.
    pub fn compared(&self) -> Option<&MemberComparison> {
        self.compared.as_deref()
    }

    /// Returns the nodes that the server refuses to show, each with the server's reason.
    pub fn unreadable(&self) -> &BTreeMap<ZnodePath, String> {
        &self.unreadable
    }

    /// Returns how far this machine's clock is ahead of the servers' clock, in milliseconds.
    ///
    /// Negative when it is behind; 0 when the difference is below a second or unknown.
    pub fn clock_ahead_ms(&self) -> i64 {
        self.clock.ahead_ms()
    }

    /// Converts a time of this machine's clock to the servers' clock, for comparison with times
    /// that the servers wrote ([`Contender::created_at`](super::Contender::created_at)).
    #[must_use]
    pub fn server_time(&self, now: Timestamp) -> Timestamp {
        Timestamp(now.0.saturating_sub(self.clock.ahead_ms()))
    }

    /// Returns the locks that changed, came or went since the last call. For callers that keep them
    /// sorted.
    pub fn take_touched(&mut self) -> Vec<LockId> {
        self.touched.drain().collect()
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
}
