//! Contenders whose creation was seen but whose nodes are not read yet. Under load the observer
//! reads many nodes at once, a little later.
//!
//! The name of such a node shows its place and the access it asks for, and its creation and
//! deletion are seen. So the contender is counted, has its place and its times, and is reported as
//! any other.
//!
//! Its session, its data and its stat are unknown until it is read. Some names belong to a
//! contender only if a session owns the node: this is assumed where such a lock exists.

use super::contender::Queued;
use super::hold::Hold;
use super::lock_name::key_of;
use super::{Contender, Happening, LockId, LockQueue, LockTable};
use lockscope_base::recipe::{Classification, Role};
use lockscope_base::znode::{Node, NodeData, Timestamp, ZnodePath, ZnodeStat, Zxid};

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
        let stat = ZnodeStat::of_new(Zxid(-self.unread_given), self.server_time(now), None);
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
            self.sessions.add(contender, lock.family());
        }
        self.touched.insert(id);
        self.mark_parent(path);
        self.note_candidate_is_read(id, slot, now);
        if live {
            self.clock.created(created_at, seen_at);
            self.update_holders(id, Some(slot), now, out);
        } else {
            self.clock.found(created_at, now);
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
