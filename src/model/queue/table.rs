//! The table of all locks, and what is read from it.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::children::Locks;
use super::clock::Clock;
use super::deleted::DeletedNodes;
use super::handover::Handover;
use super::lock_name::LockKey;
use super::parent::{Listing, Parent, ParentNode};
use super::samples::Samples;
use super::sessions::Sessions;
use super::{ConnectionState, LockId, LockQueue, Totals};
use crate::server_view::ServerView;
use lockscope_base::recipe::{Classifier, OwnRecipe, Recipe};
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath};

/// Every lock below the observed roots.
///
/// Fed by [`apply`](Self::apply). Everything else reads, and what it reads is ordered and found without a walk
/// over the contenders.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LockTable {
    pub(super) classifier: Classifier,
    pub(super) hint_epochs: FxHashMap<ZnodePath, u32>,
    /// In boxes: half of a map is free at times.
    pub(super) locks: Locks,
    pub(super) names: BTreeMap<LockKey, LockId>,
    pub(super) parents: FxHashMap<ZnodePath, Parent>,
    pub(super) next_id: u64,
    pub(super) contenders: usize,
    pub(super) epoch: u32,
    pub(super) phase: SyncPhase,
    pub(super) connection: ConnectionState,
    /// The last session of ours.
    pub(super) session: Option<SessionId>,
    /// Whether it was reported that the connection was cut, and not yet that it is there again.
    pub(super) cut_reported: bool,
    pub(super) last_true: Option<Timestamp>,
    pub(super) totals: Totals,
    pub(super) unreadable: BTreeMap<ZnodePath, String>,
    pub(super) touched: FxHashSet<LockId>,
    pub(super) view: Arc<ServerView>,
    pub(super) sessions: Sessions,
    pub(super) clock: Clock,
    pub(super) free_listed: std::collections::VecDeque<LockId>,
    /// Semaphores of which nothing is known but that leases were created, which are about to be read.
    pub(super) announced: FxHashMap<LockKey, Box<Handover>>,
    pub(super) deleted_nodes: DeletedNodes,
    /// How many contenders came that were not read at once.
    pub(super) unread_given: i64,
    /// Whether something could not be read since the last reading of everything began.
    pub(super) refused: bool,
    pub(super) samples: Samples,
}

/// How far the table is in step with the ensemble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum SyncPhase {
    /// Nothing was read completely yet.
    Never,
    /// Everything is being read; `again` when it had been read before.
    Syncing { again: bool },
    /// In step.
    Live,
    /// It was in step, and the connection was lost.
    Stale,
}

impl LockTable {
    /// An empty table that also takes the given nodes for single-node locks.
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
            clock: Clock::default(),
            free_listed: std::collections::VecDeque::new(),
            announced: FxHashMap::default(),
            deleted_nodes: DeletedNodes::default(),
            unread_given: 0,
            refused: false,
            samples: Samples::default(),
        }
    }

    /// The same table, which reads names by recipes of the user's own, too. They have to be known before the first change.
    #[must_use]
    pub fn with_recipes(self, own: &[OwnRecipe]) -> Self {
        Self { classifier: self.classifier.with_recipes(own), ..self }
    }

    /// The recipes of the user's own by which it reads names.
    pub fn own_recipes(&self) -> &[OwnRecipe] {
        self.classifier.own_recipes()
    }

    /// The lock with that id.
    pub fn lock(&self, id: LockId) -> Option<&LockQueue> {
        self.locks.get(&id).map(Box::as_ref)
    }

    /// All locks, ordered by path and name.
    pub fn locks(&self) -> impl Iterator<Item = &LockQueue> {
        self.names.values().filter_map(|id| self.lock(*id))
    }

    /// The lock at a path: the queue of that name, or without a name the first that has contenders, else the first.
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

    /// The node at a path, if it was listed as one that has contenders among its children, or may have.
    pub fn parent(&self, path: &ZnodePath) -> Option<ParentNode> {
        self.parents.get(path)?.listing.map(Listing::node)
    }

    /// The position of the contender with that node in its lock's queue; `None` when it is not there. Logarithmic.
    ///
    /// The path is that of [`LockQueue::path_of`].
    pub fn position(&self, path: &ZnodePath) -> Option<(LockId, usize)> {
        let (id, slot) = self.node(path)?;
        Some((id, self.locks.get(&id)?.position_of_slot(slot as usize)?))
    }

    /// Whether a node of this path is a contender, or can be one, as far as its neighbours show what it is.
    pub fn is_contender(&self, path: &ZnodePath) -> bool {
        self.classifier.classify(path).is_some()
    }

    /// How many locks.
    pub fn lock_count(&self) -> usize {
        self.locks.len()
    }

    /// How many contenders in all locks; a semaphore's client between its queue node and its lease counts once.
    pub fn contender_count(&self) -> usize {
        self.contenders
    }

    /// What was counted over all of them.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// The way to the ensemble.
    pub fn connection(&self) -> &ConnectionState {
        &self.connection
    }

    /// Our session, or the last one while there is no connection; `None` before the first.
    pub fn session(&self) -> Option<SessionId> {
        self.session
    }

    /// Whether the table is in step with the ensemble: connected, and everything was read since.
    pub fn is_live(&self) -> bool {
        self.phase == SyncPhase::Live
    }

    /// Whether everything is being read now.
    pub fn is_syncing(&self) -> bool {
        matches!(self.phase, SyncPhase::Syncing { .. })
    }

    /// When the table was last known to be in step: the time of the last message from the server, never the time at which its silence
    /// was noticed. While it [is](Self::is_live), the last change.
    pub fn last_true(&self) -> Option<Timestamp> {
        self.last_true
    }

    /// The servers' last answers about themselves; empty when they were not asked.
    pub fn view(&self) -> &Arc<ServerView> {
        &self.view
    }

    /// Where the server does not let us look, and what it said.
    pub fn unreadable(&self) -> &BTreeMap<ZnodePath, String> {
        &self.unreadable
    }

    /// By how much this machine's clock is ahead of the servers', in milliseconds, as far as newly created nodes show;
    /// negative when it is behind, 0 when the difference is below a second or not known.
    pub fn clock_ahead_ms(&self) -> i64 {
        self.clock.ahead_ms()
    }

    /// What the servers' clock shows when this machine's shows `now`: to compare with what the servers wrote
    /// ([`Contender::created_at`](super::Contender::created_at)).
    #[must_use]
    pub fn server_time(&self, now: Timestamp) -> Timestamp {
        Timestamp(now.0.saturating_sub(self.clock.ahead_ms()))
    }

    /// The locks that changed, came or went since this was last asked. For whoever keeps them sorted.
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
