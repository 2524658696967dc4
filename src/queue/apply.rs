//! One change at a time: a node was seen, a node is gone.

use std::sync::Arc;

use super::handover::LeaseHandover;
use super::lock::SessionExpired;
use super::table::{Parent, ParentNode, SyncPhase};
use super::{Change, ConnectionState, Contender, Happening, LockEvent, LockId, LockQueue, LockTable, WatchEvents};
use crate::recipe::{Classification, Classifier, LockKind, Role};
use crate::znode::{Node, Sequence, Timestamp, ZnodePath, ZnodeStat};

/// How many locks are kept that are free and whose parent does not tell that they exist (a single node between two
/// holders, one of several names): the oldest is forgotten.
const FREE_KEPT: usize = 1_000;

/// When the server was heard of by this change, which was seen now; `None` when it says nothing of that. That a connection is lost is
/// noticed later than it is, and what servers tell about themselves comes by other connections.
fn sign_of_life(change: &Change, now: Timestamp) -> Option<Timestamp> {
    match change {
        Change::Connection(_) | Change::Surveyed { .. } => None,
        Change::Heard { at } => Some(now.min(*at)),
        _ => Some(now),
    }
}

impl LockTable {
    /// Takes one change and tells what it means. Logarithmic in the number of contenders, but for
    /// [`Change::Synced`], which looks at each once, and for the deletion of a parent whose children's deletions
    /// were missed.
    ///
    /// A change that comes twice changes nothing the second time; a read that is older than what is known is ignored.
    pub fn apply(&mut self, change: Change, now: Timestamp) -> Vec<Happening> {
        let mut out = Vec::new();
        if self.is_live() {
            self.last_true = self.last_true.max(sign_of_life(&change, now));
        }
        match change {
            Change::Seen { path, node } => self.seen(&path, node, now, &mut out),
            Change::Listed { path, stat } => self.listed(&path, &stat, now, &mut out),
            Change::Appeared { path } => self.appeared(&path, now, &mut out),
            Change::Deleted { path, .. } => self.deleted(&path, now, &mut out),
            Change::Surveyed { view } => self.view = view,
            Change::Unreadable { path, why } => {
                self.lease_gone(&path, false, now, &mut out);
                self.refused = true;
                self.unreadable.insert(path, why);
            }
            Change::Heard { .. } => {}
            Change::Connection(state) => self.connection_changed(state, now, &mut out),
            Change::Syncing => self.begin_sync(),
            Change::Synced => self.end_sync(now, &mut out),
        }
        out
    }

    /// Whether what changes now happens before somebody's eyes; what the first reading finds had happened before.
    pub(super) fn is_reporting(&self) -> bool {
        !matches!(self.phase, SyncPhase::Never | SyncPhase::Syncing { again: false })
    }

    fn connection_changed(&mut self, state: ConnectionState, now: Timestamp, out: &mut Vec<Happening>) {
        let was_connected = matches!(self.connection, ConnectionState::Connected { .. });
        let is_connected = matches!(state, ConnectionState::Connected { .. });
        if was_connected && !is_connected {
            if self.is_reporting() {
                self.phase = SyncPhase::Stale;
            }
            out.push(Happening::of_connection(LockEvent::Disconnected, now));
            self.cut_reported = true;
        } else if is_connected && std::mem::take(&mut self.cut_reported) {
            out.push(Happening::of_connection(LockEvent::Reconnected, now));
        }
        self.connection = state;
    }

    fn listed(&mut self, path: &ZnodePath, stat: &ZnodeStat, now: Timestamp, out: &mut Vec<Happening>) {
        self.unreadable.remove(path);
        let epoch = self.epoch;
        let parent = self.parents.entry(path.clone()).or_default();
        parent.epoch = epoch;
        parent.next_sequence = Some(stat.next_sequence());
        parent.listed =
            Some(ParentNode { czxid: stat.czxid, created_at: stat.ctime, ephemeral: stat.ephemeral_owner.is_some() });
        for id in self.ids_queueing_at(path) {
            if let Some(lock) = self.locks.get_mut(&id) {
                lock.next_sequence = Some(stat.next_sequence());
                self.touched.insert(id);
            }
        }
        self.leases_listed(path, now, out);
    }

    fn appeared(&mut self, path: &ZnodePath, now: Timestamp, out: &mut Vec<Happening>) {
        if !Classifier::is_hint(path) {
            self.lease_created(path);
            return;
        }
        self.hint_epochs.insert(path.clone(), self.epoch);
        if self.classifier.note(path) {
            self.regroup(path, now, out);
        }
    }

    fn seen(&mut self, path: &ZnodePath, node: Node, now: Timestamp, out: &mut Vec<Happening>) {
        self.unreadable.remove(path);
        let known = self.node(path);
        let place = self
            .classifier
            .classify(path)
            .filter(|place| !place.needs_ephemeral() || node.stat.ephemeral_owner.is_some());
        let Some(place) = place else {
            self.lease_gone(path, false, now, out);
            self.note_maximum(path, &node);
            if let Some((id, slot)) = known {
                self.remove(path, id, slot, now, out);
            }
            return;
        };
        if let Some((id, slot)) = known {
            let Some(contender) = self.locks.get_mut(&id).and_then(|lock| lock.contender_mut(slot as usize)) else {
                return;
            };
            if node.stat.czxid < contender.czxid {
                return;
            }
            if node.stat.czxid == contender.czxid {
                contender.epoch = self.epoch;
                if node.stat.mzxid > contender.mzxid {
                    contender.mzxid = node.stat.mzxid;
                    contender.version = node.stat.version;
                    contender.data = node.data;
                    contender.data_length = node.stat.data_length;
                    self.touched.insert(id);
                }
                self.mark_parent(path);
                return;
            }
            // Its predecessor of the same path must have been deleted meanwhile.
            self.remove(path, id, slot, now, out);
        }
        self.add(path, &place, node, now, out);
    }

    /// kazoo keeps the most leases of a semaphore in the data of the node itself.
    fn note_maximum(&mut self, path: &ZnodePath, node: &Node) {
        let maximum = std::str::from_utf8(node.data.bytes()).ok().and_then(|text| text.trim().parse().ok());
        if !Classifier::hints_of(path).iter().any(|hint| self.hint_epochs.contains_key(hint)) {
            return;
        }
        let epoch = self.epoch;
        let parent = self.parents.entry(path.clone()).or_default();
        parent.epoch = epoch;
        parent.maximum = maximum;
        for id in self.ids_at(path) {
            if let Some(lock) = self.locks.get_mut(&id).filter(|lock| lock.kind() == LockKind::Semaphore) {
                lock.maximum = maximum;
                self.touched.insert(id);
            }
        }
    }

    pub(super) fn mark_parent(&mut self, path: &ZnodePath) {
        let epoch = self.epoch;
        if let Some(parent) = path.parent_str().and_then(|parent| self.parents.get_mut(parent)) {
            parent.epoch = epoch;
        }
    }

    fn add(&mut self, path: &ZnodePath, place: &Classification, node: Node, now: Timestamp, out: &mut Vec<Happening>) {
        let live = self.is_live();
        let known = self.take_returned(path, &node);
        let returned = known.is_some();
        let missed = matches!(self.phase, SyncPhase::Syncing { again: true });
        let id = self.lock_of(place, now, out);
        if live && !returned {
            self.clock.created(node.stat.ctime, now);
        } else {
            self.clock.found(node.stat.ctime, now);
        }
        let mut contender = Contender {
            node: path.name().into(),
            role: place.role,
            mode: place.mode,
            sequence: place.sequence,
            session: node.stat.ephemeral_owner,
            created_at: node.stat.ctime,
            czxid: node.stat.czxid,
            mzxid: node.stat.mzxid,
            version: node.stat.version,
            data: node.data,
            data_length: node.stat.data_length,
            acquired_at: None,
            enqueued_at: live.then_some(now),
            returned_at: None,
            epoch: self.epoch,
            holds: false,
            held_before_return: None,
            queued: None,
        };
        let left = self.lease_read(place, &mut contender, live);
        if let Some(known) = known {
            contender.returns(known, now);
        }
        let handed_over = contender.queued.is_some() && contender.id().node != contender.node;
        let cost = self.locks.get(&id).filter(|_| live).map(LockQueue::cost_of_arrival).unwrap_or_default();
        let slot = self.place_contender(path, id, contender);
        self.name_apart(id);
        self.report_left(id, left, now, out);
        let Some(lock) = self.locks.get_mut(&id) else { return };
        if !live {
            if missed && returned {
                // It came and went before.
            } else if missed && place.role == Role::Lease {
                // Whose it is shows when everything was read.
                self.lease_found(place, slot);
            } else if missed {
                out.push(Happening::new(LockEvent::Enqueued, lock, lock.contender(slot), now));
            }
            return;
        }
        lock.activity.cost(cost, now);
        self.totals.cost(cost, now);
        let at = out.len();
        self.settle(id, Some(slot), now, out);
        let Some(lock) = self.locks.get(&id) else { return };
        let is_pending = lock.is_pending() && place.role == Role::Lease;
        // A lease whose session queued before is not a second contender.
        if !(handed_over || is_pending || returned) {
            let enqueued = Happening::new(LockEvent::Enqueued, lock, lock.contender(slot), now).costing(cost);
            out.insert(at, enqueued);
        }
    }

    /// Puts a contender into its lock and into the index by path.
    pub(super) fn place_contender(&mut self, path: &ZnodePath, id: LockId, contender: Contender) -> usize {
        let (name, sequence) = (Arc::clone(&contender.node), contender.sequence);
        let lock = self.locks.get_mut(&id).expect("a contender is placed in a lock that was just found or made");
        let slot = lock.insert(contender);
        self.contenders += 1;
        self.touched.insert(id);
        let epoch = self.epoch;
        let parent = path.parent().unwrap_or_else(ZnodePath::root);
        let parent = self.parents.entry(parent).or_default();
        parent.epoch = epoch;
        parent.nodes.insert(name, (id, u32::try_from(slot).unwrap_or(u32::MAX)));
        parent.next_sequence = parent.next_sequence.max(sequence.map(|Sequence(number)| i64::from(number) + 1));
        let lock = self.locks.get_mut(&id).expect("the lock was there a moment ago");
        if lock.kind() != LockKind::SingleNode {
            // A semaphore's leases are counted apart: who comes gets its number in the queue.
            lock.next_sequence = self.parents.get(&lock.queue_path()).and_then(|queue| queue.next_sequence);
        }
        slot
    }

    fn deleted(&mut self, path: &ZnodePath, now: Timestamp, out: &mut Vec<Happening>) {
        self.unreadable.remove(path);
        let below = self.unreadable.range(path.child("")..).take_while(|(place, _)| place.is_within(path));
        for place in below.map(|(place, _)| place.clone()).collect::<Vec<_>>() {
            self.unreadable.remove(&place);
        }
        if let Some((id, slot)) = self.node(path) {
            self.note_deleted(path, id, slot);
            self.remove(path, id, slot, now, out);
        } else {
            self.number_given(path);
            self.left_unseen(path);
            self.lease_gone(path, true, now, out);
            self.drop_free_below(path, now, out);
        }
        if self.classifier.forget(path) {
            self.hint_epochs.remove(path);
            self.regroup(path, now, out);
        }
        if self.parents.contains_key(path) {
            self.drop_parent(path, now, out);
        }
    }

    /// A parent is gone: so are its children, whether we were told or not.
    pub(super) fn drop_parent(&mut self, path: &ZnodePath, now: Timestamp, out: &mut Vec<Happening>) {
        let Some(Parent { nodes, .. }) = self.parents.get(path) else { return };
        let left: Vec<_> = nodes.iter().map(|(name, at)| (path.child(name), *at)).collect();
        for (child, (id, slot)) in left {
            self.remove(&child, id, slot, now, out);
        }
        self.parents.remove(path);
        for id in self.ids_at(path) {
            self.drop_lock_if_gone(id, now, out);
        }
    }

    /// A contender's node is gone.
    pub(super) fn remove(&mut self, path: &ZnodePath, id: LockId, slot: u32, now: Timestamp, out: &mut Vec<Happening>) {
        let (live, told) = (self.is_live(), self.is_reporting());
        if let Some(parent) = path.parent_str().and_then(|parent| self.parents.get_mut(parent)) {
            parent.nodes.remove(path.name());
        }
        let slot = slot as usize;
        let session = self.locks.get(&id).and_then(|lock| lock.contender(slot)).and_then(|contender| contender.session);
        let ran_out = self.session_expired(session, now);
        let Some(lock) = self.locks.get_mut(&id) else { return };
        let position = lock.position_of_slot(slot);
        let veiled = lock.is_hidden(slot);
        let heads_semaphore = lock.kind() == LockKind::Semaphore && position == Some(lock.leases());
        let cost = match position {
            _ if !live => WatchEvents::default(),
            Some(position) => lock.cost_of_removal(position),
            None => WatchEvents { herd: lock.waiting() as u64, chain: u64::from(lock.len() > lock.leases()) },
        };
        let Some(contender) = lock.remove(slot) else { return };
        self.contenders -= 1;
        self.touched.insert(id);
        lock.activity.cost(cost, now);
        self.totals.cost(cost, now);
        let since = contender.contends_since(self.clock.ahead_ms());
        let held = contender.holds || contender.held_before_return.is_some();
        let event = match held {
            _ if ran_out => LockEvent::Expired,
            true => LockEvent::Released,
            false => LockEvent::Left,
        };
        if let (true, true, Some(session)) = (ran_out && contender.returned_at.is_none(), held, session) {
            lock.session_expired =
                Some(Box::new(SessionExpired { at: now, node: Arc::clone(&contender.node), session }));
        }
        let semaphore = lock.kind() == LockKind::Semaphore;
        let found_now = semaphore && self.lease_lost(id, slot);
        // Whoever has two nodes stands in its lock as long as one of them is there.
        let goes_on = veiled || (contender.role == Role::Lease && contender.queued.is_some() && !contender.holds);
        let may_have_lease = semaphore && contender.role == Role::Queue && (heads_semaphore || !live);
        // That a returned node is gone was reported when it was deleted.
        let is_reported = told && !goes_on && !found_now && contender.returned_at.is_none();
        if is_reported && may_have_lease && event == LockEvent::Left {
            self.left_queue(id, LeaseHandover { contender, cost }, now, out);
        } else if let Some(lock) = self.locks.get(&id).filter(|_| is_reported) {
            let happening = Happening::new(event, lock, Some(&contender), now).costing(cost);
            out.push(if event == LockEvent::Left { happening.after_waiting(since) } else { happening });
        }
        if live {
            self.settle(id, None, now, out);
        }
        self.after_removal(id, now, out);
    }

    pub(super) fn settle(&mut self, id: LockId, came: Option<usize>, now: Timestamp, out: &mut Vec<Happening>) {
        let Some(lock) = self.locks.get_mut(&id) else { return };
        let (ahead_ms, mut acquired) = (self.clock.ahead_ms(), Vec::new());
        lock.settle(came, |contender| {
            contender.acquired_at = Some(now);
            acquired.push(contender.clone());
        });
        for contender in acquired.into_iter().filter(|contender| contender.returned_at.is_none()) {
            let is_new = came.and_then(|slot| lock.contender(slot)).is_some_and(|came| came.czxid == contender.czxid);
            if contender.role == Role::Lease && contender.queued.is_none() && !is_new {
                // It had been taken for that of another, who has shown its own now.
                out.push(Happening::new(LockEvent::Enqueued, lock, Some(&contender), now));
            }
            lock.activity.acquired(now);
            self.totals.acquired(now);
            let since = contender.contends_since(ahead_ms);
            out.push(Happening::new(LockEvent::Acquired, lock, Some(&contender), now).after_waiting(since));
        }
    }

    /// An emptied lock stays while its parent does. One whose parent does not tell (a single node, one of several
    /// names) stays too, but only so many of them.
    fn after_removal(&mut self, id: LockId, now: Timestamp, out: &mut Vec<Happening>) {
        self.name_apart(id);
        let Some(lock) = self.locks.get_mut(&id) else { return };
        let tells = lock.kind() != LockKind::SingleNode && lock.own_name().is_none();
        if !lock.is_empty() || lock.free_listed || tells {
            return;
        }
        lock.free_listed = true;
        self.free_listed.push_back(id);
        while self.free_listed.len() > FREE_KEPT {
            let Some(oldest) = self.free_listed.pop_front() else { return };
            let Some(lock) = self.locks.get_mut(&oldest) else { continue };
            lock.free_listed = false;
            if lock.is_empty() {
                self.drop_lock(oldest, now, out);
            }
        }
    }
}
