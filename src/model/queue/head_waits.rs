//! A contender that stands first and waits itself, as its session's watch shows.
//!
//! The order of the names tells who holds only as long as all clients agree on it. A client that
//! watches another node of the queue after its turn came waits for that node: it does not hold, and
//! nobody does. The servers list who watches what.
//!
//! | the head watches | why its client waits |
//! | --- | --- |
//! | a write request behind its read request | the library takes the earlier reader for a later one |
//! | the node with the number before its own, which is gone | it was deleted before the watch was set, and never comes back |
//! | a node with a lower number, or name, of another recipe | the library counts it as a contender |
//!
//! Other watches are no waits: a leader may watch its followers, and a status page everybody.

use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::head_wait::{HeadAwaits, HeadWait};
use super::hold::Hold;
use super::lock_name::key_of;
use super::{Contender, Happening, LockEvent, LockId, LockQueue, LockTable};
use crate::server_view::{Listing, ServerView, WatchedPath};
use lockscope_base::recipe::{LockKind, Recipe, RequestMode, Role};
use lockscope_base::znode::{Sequence, SessionId, Timestamp, ZnodePath};

/// A watch that a sound client has not replaced yet may be listed for this long after its turn.
const JUST_SET: Duration = Duration::from_secs(1);

/// How far apart two lists must be that show the watch.
const SETTLED: Duration = Duration::from_secs(2);

/// The most nodes of a queue that are searched for further ones of the head's session.
const MAX_COMPARED: usize = 64;

impl LockQueue {
    /// Returns what the head waits for by a watch on a node of its parent; `None` for a watch that
    /// is no wait.
    fn head_awaits(&self, watched: &WatchedNode<'_>) -> Option<(HeadAwaits, &Contender, SessionId)> {
        let head = self.contender_at(0).filter(|head| head.role == Role::Queue && self.returned() == 0)?;
        let session = head.session().filter(|session| watched.sessions.contains(session))?;
        let is_single = !(1..self.len().min(MAX_COMPARED))
            .any(|position| self.contender_at(position).and_then(Contender::session) == Some(session));
        let awaits = match watched.is {
            WatchedIs::InLock { id, slot } if id == self.id() => {
                let target = self.contender(slot)?;
                let is_behind = self.kind() == LockKind::ReadWrite
                    && head.mode == RequestMode::Read
                    && target.mode != RequestMode::Read;
                is_behind.then_some(HeadAwaits::Behind)?
            }
            WatchedIs::GoneFrom(id) if id == self.id() => {
                is_directly_before(watched.name, head).then_some(HeadAwaits::Gone)?
            }
            WatchedIs::GoneFrom(_) => None?,
            WatchedIs::InLock { .. } | WatchedIs::NoContender => {
                self.counts_as_before(watched.name, head).then_some(HeadAwaits::Foreign)?
            }
        };
        is_single.then_some((awaits, head, session))
    }

    /// Returns whether the head's library may count a node of another recipe as one before the head.
    /// Curator compares every child of the parent by its name.
    fn counts_as_before(&self, name: &str, head: &Contender) -> bool {
        let compares_names =
            matches!(self.family(), Recipe::CuratorMutex | Recipe::CuratorReadWrite | Recipe::CuratorLatch);
        let own = Sequence::split(&head.node).map(|(before, _)| head.node.get(before.len()..).unwrap_or_default());
        is_lower(name, head) || compares_names && Sequence::split(name).is_none() && own.is_some_and(|own| name < own)
    }

    /// Returns whether one contender is taken for the holder by its place alone.
    fn is_watched_head(&self) -> bool {
        !matches!(self.kind(), LockKind::Semaphore | LockKind::SingleNode)
            && !self.is_empty()
            && self.leading_readers() <= 1
    }
}

/// Returns whether a name has a lower number than the head.
fn is_lower(name: &str, head: &Contender) -> bool {
    Sequence::split(name).is_some_and(|(_, number)| head.sequence.is_some_and(|own| number < own))
}

/// Returns whether a name has the number before the head's. A watch on an earlier one may be left from
/// an earlier wait of the session: the node between the two may have been its own.
fn is_directly_before(name: &str, head: &Contender) -> bool {
    Sequence::split(name)
        .is_some_and(|(_, number)| head.sequence.is_some_and(|own| number.0.checked_add(1) == Some(own.0)))
}

/// A watched node in the parent of a queue.
struct WatchedNode<'a> {
    name: &'a str,
    sessions: &'a [SessionId],
    is: WatchedIs,
}

enum WatchedIs {
    InLock {
        id: LockId,
        slot: usize,
    },
    /// The name is that of a contender of this lock, which has none of this name.
    GoneFrom(LockId),
    NoContender,
}

impl LockTable {
    /// Returns the watches by which first contenders wait, or may wait, in the order of the locks.
    /// They are not part of the serialized table.
    pub fn head_waits(&self) -> Vec<(LockId, HeadWait)> {
        let wait = |id: &LockId| Some((*id, self.lock(*id)?.rare.as_ref()?.head_wait.as_deref()?.clone()));
        let mut waits: Vec<_> = self.head_waits.iter().filter_map(wait).collect();
        waits.sort_unstable_by_key(|(id, _)| *id);
        waits
    }

    /// Returns the table with what [`head_waits`](Self::head_waits) returned.
    #[must_use]
    pub fn with_head_waits(mut self, waits: Vec<(LockId, HeadWait)>) -> Self {
        for (id, wait) in waits {
            if let Some(lock) = self.locks.get_mut(&id).filter(|lock| lock.is_watched_head()) {
                lock.rare_mut().head_wait = Some(Box::new(wait));
                self.head_waits.insert(id);
            }
        }
        self
    }

    /// Looks which contenders that stand first wait themselves, as the servers' new lists show it.
    ///
    /// A list that is watched as in a sound chain takes a search for each watched path.
    pub(super) fn heads_surveyed(&mut self, now: Timestamp, out: &mut Vec<Happening>) {
        let view = Arc::clone(&self.view);
        let mut found: FxHashMap<LockId, HeadWait> = FxHashMap::default();
        for listing in view.members.iter().filter_map(|member| member.watched.as_ref()) {
            for watched in listing.items() {
                self.head_waits_by(watched, listing, &view, &mut found);
            }
        }
        let before: Vec<LockId> = self.head_waits.iter().copied().collect();
        for id in before.into_iter().filter(|id| !found.contains_key(id)) {
            self.head_no_longer_waits(id, &view, now, out);
        }
        for (id, wait) in found {
            self.head_is_seen_to_wait(id, wait, now, out);
        }
    }

    /// Adds the lock whose head waits by a watch.
    fn head_waits_by(
        &self,
        watched: &WatchedPath,
        listing: &Listing<WatchedPath>,
        view: &ServerView,
        found: &mut FxHashMap<LockId, HeadWait>,
    ) {
        let path = &watched.path;
        let Some(is) = self.watched_is(path) else { return };
        let Some(parent) = path.parent() else { return };
        let node = WatchedNode { name: path.name(), sessions: &watched.sessions, is };
        for id in self.ids_queueing_at(&parent) {
            let Some(lock) = self.lock(id).filter(|lock| lock.is_watched_head()) else { continue };
            let Some((awaits, head, session)) = lock.head_awaits(&node) else { continue };
            let turn = match head.hold {
                Hold::Acquired(at) => at,
                hold => hold.found().map_or(Timestamp(i64::MIN), |found| found.at),
            };
            let is_only = || {
                let own = view
                    .watched_below(&parent)
                    .filter(|(_, other)| other.sessions.contains(&session) && *other.path.name() != *head.node);
                own.take(2).count() == 1
            };
            if listing.at > turn.plus(JUST_SET) && is_only() {
                let wait =
                    HeadWait { head: head.czxid, node: node.name.into(), awaits, since: listing.at, settled: false };
                found.insert(id, wait);
            }
        }
    }

    /// Returns what a watched node is; `None` if no head can wait for it.
    fn watched_is(&self, path: &ZnodePath) -> Option<WatchedIs> {
        let parent = self.parents.get(path.parent_str()?)?;
        if let Some((id, slot)) = parent.children.get(path.name(), &self.locks) {
            let lock = self.lock(id)?;
            let may_wait = lock.several || lock.kind() == LockKind::ReadWrite;
            return may_wait.then_some(WatchedIs::InLock { id, slot: slot as usize });
        }
        let place = self.classifier.classify(path);
        match place.and_then(|place| self.names.get(&key_of(&place)).copied()) {
            Some(id) => Some(WatchedIs::GoneFrom(id)),
            None => Some(WatchedIs::NoContender),
        }
    }

    fn head_is_seen_to_wait(&mut self, id: LockId, wait: HeadWait, now: Timestamp, out: &mut Vec<Happening>) {
        let Some(lock) = self.locks.get_mut(&id) else { return };
        self.head_waits.insert(id);
        let known = &mut lock.rare_mut().head_wait;
        let is_known = known.as_ref().is_some_and(|known| (known.head, &known.node) == (wait.head, &wait.node));
        let Some(known) = known.as_mut().filter(|_| is_known) else {
            *known = Some(Box::new(wait));
            return;
        };
        if known.settled || wait.since.since(known.since) < SETTLED {
            return;
        }
        known.settled = true;
        self.touched.insert(id);
        self.update_holders(id, None, now, out);
        if let Some(lock) = self.locks.get(&id) {
            out.push(Happening::new(LockEvent::Waits, lock, lock.contender_at(0), now));
        }
    }

    /// Handles a head that is not found to wait. It has its turn unless the servers do not tell what
    /// its session watches.
    fn head_no_longer_waits(&mut self, id: LockId, view: &ServerView, now: Timestamp, out: &mut Vec<Happening>) {
        let wait = self.locks.get(&id).and_then(|lock| Some((lock, lock.rare.as_ref()?.head_wait.as_deref()?)));
        if let Some((lock, wait)) = wait {
            let head = lock.contender_at(0).filter(|head| head.czxid == wait.head);
            let watched = lock.queue_path().child(&wait.node);
            let may_watch =
                head.and_then(Contender::session).is_some_and(|session| view.watches(session, &watched).is_none());
            if may_watch {
                return;
            }
        }
        self.head_waits.remove(&id);
        let rare = self.locks.get_mut(&id).and_then(|lock| lock.rare.as_mut());
        if rare.and_then(|rare| rare.head_wait.take()).is_some_and(|wait| wait.settled) {
            self.touched.insert(id);
            self.update_holders(id, None, now, out);
        }
    }
}
