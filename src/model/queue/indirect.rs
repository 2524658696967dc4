//! Contenders that are known by other evidence than a read of their nodes: by a name, by a time, or
//! by a watch.
//!
//! # Unread nodes
//!
//! A contender's creation may be seen before its node is read: under load the observer reads many
//! nodes at once, a little later. The name of such a node shows its place and the access it asks
//! for, and its creation and deletion are seen. So the contender is counted, has its place and its
//! times, and is reported as any other.
//!
//! Its session, its data and its stat are unknown until it is read. Some names belong to a
//! contender only if a session owns the node: this is assumed where such a lock exists.
//!
//! # Locks whose data is the time until which they are locked
//!
//! Schedulers keep one persistent node per job, and no session owns it: `ShedLock` writes a time
//! into it, kazoo's leases an object with the time in `end`. Such a lock is free once the time is
//! over, although nothing changes in the tree.
//!
//! # Heads that wait
//!
//! A contender may stand first and wait itself, as its session's watch shows. The order of the
//! names tells who holds only as long as all clients agree on it. A client that watches another
//! node of the queue after its turn came waits for that node: it does not hold, and nobody does.
//! The servers list who watches what.
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

use chrono::{DateTime, NaiveDateTime};
use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::contender::Queued;
use super::hold::Hold;
use super::lock::{HeadAwaits, HeadWait, key_of};
use super::{Contender, Happening, LockEvent, LockId, LockQueue, LockTable};
use crate::server_view::{Listing, ServerView, WatchedPath};
use lockscope_base::recipe::{Classification, LockKind, Recipe, RequestMode, Role};
use lockscope_base::znode::{Node, NodeData, Sequence, SessionId, Timestamp, ZnodePath, ZnodeStat, Zxid};

impl Contender {
    /// Returns whether the node was read.
    ///
    /// Until it is, the session is `None`, the data is empty, and the creation time is about the
    /// time at which the node was seen. A negative number, unique among the contenders, stands in
    /// for the transaction that created it. The [identity](Contender::id) keeps that number.
    pub fn is_read(&self) -> bool {
        self.czxid.0 >= 0
    }

    /// Takes over the first read of the node.
    fn read(&mut self, node: Node, epoch: u32) {
        let id = self.id();
        self.take_node(node);
        self.epoch = epoch;
        self.set_queued(Some(Queued::new(id, self.enqueued_at(), self.created_at)));
    }
}

impl LockTable {
    /// Adds a contender that was created and is not read yet.
    pub(super) fn contender_created(&mut self, path: &ZnodePath, now: Timestamp, out: &mut Vec<Happening>) {
        let Some(place) = self.classifier.classify(path).filter(|_| self.is_in_step()) else { return };
        if place.role == Role::Lease || self.node(path).is_some() {
            return;
        }
        if place.recipe.has_lease_nodes() {
            self.unread_in_semaphores.insert(path.clone());
            return;
        }
        if place.needs_ephemeral() && !self.names.contains_key(&key_of(&place)) {
            return;
        }
        self.unread_given += 1;
        let id = self.lock_of(&place, now, out);
        let contender = self.unread(path, &place, now);
        let cost = self.lock(id).map(LockQueue::cost_of_arrival).unwrap_or_default();
        let slot = self.place_contender(path, id, contender);
        self.name_apart_if_first_or_last(id);
        self.arrived(id, slot, cost, true, now, out);
    }

    /// Places the unread queue nodes below `parent` after the semaphore's hint was deleted: their
    /// queue is a lock of its own now. Returns their locks and slots; the caller reports them.
    pub(super) fn place_unread_below(
        &mut self,
        parent: &ZnodePath,
        now: Timestamp,
        out: &mut Vec<Happening>,
    ) -> Vec<(LockId, usize)> {
        let mut placed = Vec::new();
        if !self.is_in_step() {
            return placed;
        }
        let children = self.unread_in_semaphores.range(parent.child("")..);
        let children: Vec<ZnodePath> = children.take_while(|path| path.is_within(parent)).cloned().collect();
        for path in children {
            let Some(place) = self.classifier.classify(&path) else { continue };
            if place.recipe.has_lease_nodes() || place.needs_ephemeral() {
                continue;
            }
            self.unread_in_semaphores.remove(&path);
            self.unread_given += 1;
            let id = self.lock_of(&place, now, out);
            let contender = self.unread(&path, &place, now);
            placed.push((id, self.place_contender(&path, id, contender)));
        }
        placed
    }

    fn unread(&self, path: &ZnodePath, place: &Classification, now: Timestamp) -> Contender {
        let stat = ZnodeStat::of_new(Zxid(-self.unread_given), self.clock().server_time(now), None);
        let node = Node { stat, data: NodeData::default() };
        let mut contender = Contender::new(path.name(), place, node, self.epoch);
        contender.set_enqueued_at(Some(now));
        contender
    }

    /// Returns whether a node belongs to a contender that is not read yet.
    pub(super) fn is_unread(&self, id: LockId, slot: u32) -> bool {
        let contender = self.locks.get(&id).and_then(|lock| lock.contender(slot as usize));
        contender.is_some_and(|contender| !contender.is_read())
    }

    /// Takes over the first read of a contender's node.
    pub(super) fn unread_is_read(
        &mut self,
        path: &ZnodePath,
        place: &Classification,
        node: Node,
        now: Timestamp,
        out: &mut Vec<Happening>,
    ) {
        let (live, epoch, created_at) = (self.is_in_step(), self.epoch, node.stat.ctime);
        let Some((id, slot)) = self.node(path) else { return };
        let slot = slot as usize;
        let Some(lock) = self.locks.get_mut(&id) else { return };
        let seen_at = lock.contender(slot).and_then(Contender::enqueued_at).unwrap_or(now);
        lock.change_place(slot, |contender| {
            if !live && place.needs_ephemeral() {
                // The node may be a later one with the same name, since changes during a cut were
                // not seen.
                contender.set_enqueued_at(None);
                contender.hold = if contender.hold.is_held() { Hold::Unknown } else { Hold::No };
            }
            contender.read(node, epoch);
        });
        lock.note_client_is_back(slot);
        if let Some(contender) = lock.contender(slot) {
            self.clients.sessions.add(contender, lock.family());
        }
        self.touched.insert(id);
        self.mark_parent(path);
        if let Some(lock) = self.locks.get(&id)
            && let Some(contender) = lock.contender(slot)
        {
            self.elections.note_candidate_is_read(lock, &self.clients.identity_of(contender), now);
        }
        if live {
            self.clients.clock.created(created_at, seen_at);
            self.update_holders(id, Some(slot), now, out);
        } else {
            self.clients.clock.found(created_at, now);
        }
    }

    /// Removes a node that was taken for a contender but is none, or cannot be read. Nothing is
    /// reported about it.
    pub(super) fn drop_unread(&mut self, path: &ZnodePath, now: Timestamp, out: &mut Vec<Happening>) {
        let Some((id, slot)) = self.node(path).filter(|(id, slot)| self.is_unread(*id, *slot)) else { return };
        let contender = self.locks.get(&id).and_then(|lock| lock.contender(slot as usize)).map(Contender::id);
        let mut happenings = Vec::new();
        self.remove(path, id, slot, now, &mut happenings);
        out.extend(happenings.into_iter().filter(|happening| happening.contender != contender));
    }
}

/// What kazoo's leases write.
#[derive(Deserialize)]
struct KazooLease<'a> {
    end: &'a str,
}

/// Returns the time that a node's data holds, by the servers' clock; `None` for other data.
///
/// A time without a zone is in UTC, as kazoo writes it.
fn time_in(data: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(data).ok()?.trim();
    let text = serde_json::from_str::<KazooLease<'_>>(text).map_or(text, |lease| lease.end);
    let zoned = DateTime::parse_from_rfc3339(text).map(|time| time.timestamp_millis());
    let plain =
        || NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f").map(|time| time.and_utc().timestamp_millis());
    zoned.or_else(|_| plain()).ok().map(Timestamp)
}

impl Contender {
    /// Returns the time until which a lock without a session is locked, by the servers' clock, as its
    /// data says.
    pub fn locked_until(&self) -> Option<Timestamp> {
        let may_be_timed = self.role == Role::SingleNode && self.is_read() && self.session().is_none();
        if may_be_timed { time_in(self.data.bytes()) } else { None }
    }
}

impl LockTable {
    /// Returns whether a node that is classified so is locked now, if its data says until when. A lock
    /// whose time is over is free.
    pub(super) fn is_locked_now(
        &mut self,
        place: &Classification,
        node: &Node,
        now: Timestamp,
        out: &mut Vec<Happening>,
    ) -> bool {
        if place.role != Role::SingleNode || node.stat.ephemeral_owner.is_some() {
            return true;
        }
        let Some(until) = time_in(node.data.bytes()) else { return place.recipe != Recipe::TimedLock };
        let is_locked = until > self.clock().server_time(now);
        if !is_locked {
            let id = self.lock_of(place, now, out);
            self.after_removal(id, now, out);
        }
        is_locked
    }

    /// Frees the locks whose time is over. Linear in the number of locks.
    pub(super) fn free_timed_locks(&mut self, now: Timestamp, out: &mut Vec<Happening>) {
        let time = self.clock().server_time(now);
        let is_over = |lock: &&LockQueue| {
            lock.kind() == LockKind::SingleNode
                && lock.contender_at(0).and_then(Contender::locked_until).is_some_and(|until| until <= time)
        };
        let over: Vec<ZnodePath> = self.locks().filter(is_over).map(|lock| lock.path().clone()).collect();
        for path in over {
            if let Some((id, slot)) = self.node(&path) {
                self.remove(&path, id, slot, now, out);
            }
        }
    }
}

/// A watch that a sound client has not replaced yet may be listed for this long after its turn.
const JUST_SET_WATCH: Duration = Duration::from_secs(1);

/// How far apart two lists must be that show the watch.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// The most nodes of a queue that are searched for further ones of the head's session.
const MAX_SEARCHED_FOR_SESSION: usize = 64;

impl LockQueue {
    /// Returns what the head waits for by a watch on a node of its parent; `None` for a watch that
    /// is no wait.
    fn head_awaits(&self, watched: &SeenWatch<'_>) -> Option<(HeadAwaits, &Contender, SessionId)> {
        let head = self.contender_at(0).filter(|head| head.role == Role::Queue && self.returned() == 0)?;
        let session = head.session().filter(|session| watched.sessions.contains(session))?;
        let is_single = !(1..self.len().min(MAX_SEARCHED_FOR_SESSION))
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
struct SeenWatch<'a> {
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
        let view = Arc::clone(&self.clients.view);
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
        let node = SeenWatch { name: path.name(), sessions: &watched.sessions, is };
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
            if listing.at > turn.plus(JUST_SET_WATCH) && is_only() {
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
        if known.settled || wait.since.since(known.since) < SETTLED_AFTER {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_schedulers_and_of_leases_are_read_and_nothing_else() {
        let ms = |text: &str| time_in(text.as_bytes()).map(|time| time.0);
        assert_eq!(ms("2024-05-01T14:41:07.250Z\n"), Some(1_714_574_467_250));
        assert_eq!(ms("2024-05-01T14:41:07.250123Z"), Some(1_714_574_467_250));
        assert_eq!(ms(r#"{"version": 1, "holder": "a", "end": "2024-05-01T14:41:07"}"#), Some(1_714_574_467_000));
        for other in ["", "worker-3", "1714574467250", r#"{"end": 7}"#, "2024-05-01", "\u{1b}[2J"] {
            assert_eq!(ms(other), None, "{other:?}");
        }
        assert_eq!(time_in(b"\xff\xfe"), None);
    }
}
