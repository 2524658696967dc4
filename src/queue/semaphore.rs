//! What the table makes of a semaphore's [hand-overs](Handover).

use rustc_hash::FxHashMap;

use super::handover::{Handover, LeaseHandover, Resolved};
use super::lock::LockId;
use super::table::LockKey;
use super::{ConnectionState, Contender, Happening, LockEvent, LockQueue, LockTable};
use crate::recipe::{Classification, Recipe, Role};
use crate::znode::{Timestamp, ZnodePath};

impl LockTable {
    /// A node was created that is about to be read: if it is a lease, whoever leaves the queue may have it.
    pub(super) fn lease_created(&mut self, path: &ZnodePath) {
        let Some(place) = self.lease_place(path).filter(|_| self.is_reporting() && self.node(path).is_none()) else {
            return;
        };
        let key = key_of(&place);
        let lock = self.names.get(&key).and_then(|id| self.locks.get(id));
        let maker = lock.and_then(LockQueue::semaphore_head).map(Contender::id);
        self.handovers.entry(key).or_default().lease_created(path.name(), maker);
    }

    /// A lease was read: if it is that of one who left the queue, it is the same contender. Gives those who left without one.
    pub(super) fn lease_read(
        &mut self,
        place: &Classification,
        lease: &mut Contender,
        live: bool,
    ) -> Vec<LeaseHandover> {
        let key = key_of(place);
        let Some(handover) = self.handovers.get_mut(&key).filter(|_| live && place.role == Role::Lease) else {
            return Vec::new();
        };
        let Resolved { owner, of_unseen, left } = handover.lease_read(lease);
        if let Some(owner) = owner {
            lease.came_from(owner.contender.as_queued());
        } else if of_unseen {
            lease.came_from(lease.as_queued());
        }
        self.forget_idle(&key);
        left
    }

    /// A node is gone, or cannot be read: if it was a lease that nobody had read, it was that of one who left the queue, who
    /// acquired and, where it is `gone`, released.
    pub(super) fn lease_gone(&mut self, path: &ZnodePath, gone: bool, now: Timestamp, out: &mut Vec<Happening>) {
        if self.handovers.is_empty() {
            return;
        }
        let Some(place) = self.lease_place(path) else { return };
        let key = key_of(&place);
        let Some(resolved) = self.handovers.get_mut(&key).and_then(|handover| handover.lease_gone(path.name())) else {
            return;
        };
        self.forget_idle(&key);
        let Some(id) = self.names.get(&key).copied() else { return };
        let mut left = resolved.left;
        match resolved.owner {
            Some(owner) if gone => self.held_unread(id, path, owner, now, out),
            owner => left.extend(owner),
        }
        self.report_left(id, left, now, out);
    }

    /// The children of a node were listed: if they are leases, all are known that were created before.
    pub(super) fn leases_listed(&mut self, parent: &ZnodePath, now: Timestamp, out: &mut Vec<Happening>) {
        if self.handovers.is_empty() {
            return;
        }
        let semaphores = [(parent.parent(), Recipe::CuratorSemaphore), (Some(parent.clone()), Recipe::KazooSemaphore)];
        for key in semaphores.into_iter().filter_map(|(path, recipe)| Some((path?, recipe, None))) {
            let Some(id) = self.names.get(&key).copied() else { continue };
            let is_parent = self.locks.get(&id).is_some_and(|lock| lock.lease_parent() == *parent);
            let Some(handover) = self.handovers.get_mut(&key).filter(|_| is_parent) else { continue };
            let left = handover.leases_listed();
            self.forget_idle(&key);
            self.report_left(id, left, now, out);
        }
    }

    /// A contender's node is gone from the queue.
    pub(super) fn left_queue(&mut self, id: LockId, departed: LeaseHandover, now: Timestamp, out: &mut Vec<Happening>) {
        let Some(key) = self.locks.get(&id).map(LockQueue::key_in_table) else { return };
        let (live, lists) =
            (self.is_live(), !matches!(self.connection, ConnectionState::Connected { recursive: true, .. }));
        let handover = self.handovers.entry(key.clone()).or_default();
        let left = if live {
            handover.left_queue(departed, lists)
        } else {
            handover.left_queue_unseen(departed);
            None
        };
        self.forget_idle(&key);
        self.report_left(id, left, now, out);
    }

    /// A node is gone that nobody had read: if it stood in the queue of a semaphore, its owner may have a lease.
    pub(super) fn left_unseen(&mut self, path: &ZnodePath) {
        if self.handovers.is_empty() || !self.is_live() {
            return;
        }
        let Some(place) = self.classifier.classify(path).filter(|place| place.role == Role::Queue) else { return };
        if let Some(handover) = self.handovers.get_mut(&key_of(&place)) {
            handover.left_unseen();
        }
    }

    /// A lease was found while everything is read anew.
    pub(super) fn lease_found(&mut self, place: &Classification, slot: usize) {
        self.handovers.entry(key_of(place)).or_default().lease_found(slot);
    }

    /// A lease is gone. Returns whether it had been found in this reading, of which nothing was told yet.
    pub(super) fn lease_lost(&mut self, id: LockId, slot: usize) -> bool {
        if self.handovers.is_empty() {
            return false;
        }
        let key = self.locks.get(&id).map(LockQueue::key_in_table);
        key.and_then(|key| self.handovers.get_mut(&key)).is_some_and(|handover| handover.lease_lost(slot))
    }

    /// Everything was read: the leases that were found are those of whoever left the queue meanwhile, as far as there are such.
    /// Gives those leases, for each lock in the order in which they were created.
    pub(super) fn end_handovers(&mut self, now: Timestamp, out: &mut Vec<Happening>) -> FxHashMap<LockId, Vec<usize>> {
        let mut all = FxHashMap::default();
        let mut keys: Vec<LockKey> = self.handovers.keys().cloned().collect();
        keys.sort();
        for key in keys {
            let Some(id) = self.names.get(&key).copied() else { continue };
            let (Some(handover), Some(lock)) = (self.handovers.get_mut(&key), self.locks.get_mut(&id)) else {
                continue;
            };
            if handover.awaits_leases() {
                handover.have_leases(&lock.rows(0..lock.leases()).map(|row| row.contender.id()).collect());
            }
            let mut found = handover.take_found();
            found.sort_by_key(|slot| lock.contender(*slot).map(|lease| (lease.czxid, lease.sequence)));
            for slot in &found {
                let Some(lease) = lock.contender_mut(*slot) else { continue };
                if let Some(owner) = handover.owner_of(lease) {
                    lease.came_from(owner.contender.as_queued());
                }
            }
            let left = handover.synced();
            all.insert(id, found);
            self.forget_idle(&key);
            self.report_left(id, left, now, out);
        }
        all
    }

    /// A lock is about to be dropped.
    pub(super) fn end_handover(&mut self, id: LockId, now: Timestamp, out: &mut Vec<Happening>) {
        let Some(key) = self.locks.get(&id).map(LockQueue::key_in_table) else { return };
        if let Some(handover) = self.handovers.remove(&key) {
            self.report_left(id, handover.ended(), now, out);
        }
    }

    pub(super) fn report_left(
        &self,
        id: LockId,
        left: impl IntoIterator<Item = LeaseHandover>,
        now: Timestamp,
        out: &mut Vec<Happening>,
    ) {
        let Some(lock) = self.locks.get(&id) else { return };
        for LeaseHandover { contender, cost } in left {
            let since = contender.contends_since(self.clock.ahead_ms());
            let left = Happening::new(LockEvent::Left, lock, Some(&contender), now).costing(cost);
            out.push(left.after_waiting(since));
        }
    }

    /// A lease was returned before it could be read.
    fn held_unread(
        &mut self,
        id: LockId,
        path: &ZnodePath,
        owner: LeaseHandover,
        now: Timestamp,
        out: &mut Vec<Happening>,
    ) {
        let Some(lock) = self.locks.get_mut(&id) else { return };
        let ahead_ms = self.clock.ahead_ms();
        let queued = owner.contender.as_queued();
        let mut lease = Contender { node: path.name().into(), role: Role::Lease, holds: true, ..owner.contender };
        lease.came_from(queued);
        lease.acquired_at = Some(now);
        let since = lease.contends_since(ahead_ms);
        lock.activity.acquired(now);
        self.totals.acquired(now);
        out.push(Happening::new(LockEvent::Acquired, lock, Some(&lease), now).after_waiting(since));
        out.push(Happening::new(LockEvent::Released, lock, Some(&lease), now).costing(owner.cost));
    }

    fn lease_place(&self, path: &ZnodePath) -> Option<Classification> {
        self.classifier.classify(path).filter(|place| place.role == Role::Lease)
    }

    fn forget_idle(&mut self, key: &LockKey) {
        if self.handovers.get(key).is_some_and(Handover::is_idle) {
            self.handovers.remove(key);
        }
    }
}

fn key_of(place: &Classification) -> LockKey {
    (place.lock.clone(), place.family(), None)
}
