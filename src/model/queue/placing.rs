//! Adds contenders to their locks, removes them, and reports what follows.

use std::sync::Arc;

use super::deleter::Deleter;
use super::event::SessionAtEnd;
use super::handover::Gone;
use super::hold::Hold;
use super::parent::Parent;
use super::table::SyncPhase;
use super::{Contender, Happening, LockEvent, LockId, LockQueue, LockTable, SessionExpired, WatchEvents};
use lockscope_base::recipe::{Classification, LockKind, Role};
use lockscope_base::znode::{Node, Sequence, Timestamp, ZnodePath};

/// Maximum number of free locks without a parent that proves their existence: single nodes between
/// two holders, or one of several names. The oldest is forgotten first.
const MAX_FREE_LOCKS: usize = 1_000;

/// Changes a lock and updates the number of all contenders. A change of the order may hide a
/// semaphore's client or show it again.
pub(super) fn counting<T>(contenders: &mut usize, lock: &mut LockQueue, change: impl FnOnce(&mut LockQueue) -> T) -> T {
    let before = lock.len();
    let changed = change(lock);
    *contenders = *contenders + lock.len() - before;
    changed
}

impl LockTable {
    /// Adds a contender for a node that was read and belongs to no known contender.
    pub(super) fn add(
        &mut self,
        path: &ZnodePath,
        place: &Classification,
        node: Node,
        now: Timestamp,
        out: &mut Vec<Happening>,
    ) {
        let live = self.is_in_step();
        let known = self.take_returned(path, &node);
        let returned = known.is_some();
        let missed = matches!(self.phase, SyncPhase::Syncing { again: true });
        let id = self.lock_of(place, now, out);
        // A node without a session may count since its data were written, however old it is.
        let may_be_old = place.role == Role::SingleNode && node.stat.ephemeral_owner.is_none();
        if live && !returned && !may_be_old {
            self.clock.created(node.stat.ctime, now);
        } else {
            self.clock.found(node.stat.ctime, now);
        }
        let mut contender = Contender::new(path.name(), place, node, self.epoch);
        contender.set_enqueued_at(live.then_some(now));
        let is_read_live = live && place.role == Role::Lease;
        let reports = if is_read_live { self.lease_read(id, &mut contender) } else { Vec::new() };
        if let Some(known) = known {
            contender.returns(known);
        }
        let handed_over = contender.queued().is_some() && contender.id().node != contender.node;
        let cost = self.lock(id).filter(|_| live).map(LockQueue::cost_of_arrival).unwrap_or_default();
        let slot = self.place_contender(path, id, contender);
        self.name_apart_if_first_or_last(id);
        self.report(id, reports, now, out);
        if !live {
            let Some(lock) = self.locks.get(&id) else { return };
            if missed && place.role == Role::Lease {
                self.lease_found(id, slot);
            } else if missed && !returned {
                // A returned contender was reported when it first came, and when it went.
                out.push(Happening::new(LockEvent::Enqueued, lock, lock.contender(slot), now));
            }
            return;
        }
        // A lease is no additional contender if its session queued before.
        self.arrived(id, slot, cost, !(handed_over || returned), now, out);
    }

    /// Handles a contender that was just placed. `joins` tells whether it is a new one.
    pub(super) fn arrived(
        &mut self,
        id: LockId,
        slot: usize,
        cost: WatchEvents,
        joins: bool,
        now: Timestamp,
        out: &mut Vec<Happening>,
    ) {
        let Some(lock) = self.locks.get_mut(&id) else { return };
        lock.cost(cost, now);
        self.totals.cost(cost, now);
        let at = out.len();
        self.update_holders(id, Some(slot), now, out);
        let Some(lock) = self.locks.get(&id) else { return };
        let is_lease = lock.contender(slot).is_some_and(|contender| contender.role == Role::Lease);
        if joins && !(lock.is_pending() && is_lease) {
            let enqueued = Happening::new(LockEvent::Enqueued, lock, lock.contender(slot), now).costing(cost);
            out.insert(at, enqueued);
        }
    }

    /// Puts a contender into its lock and into the index by path. Returns its slot.
    pub(super) fn place_contender(&mut self, path: &ZnodePath, id: LockId, contender: Contender) -> usize {
        let (name, sequence) = (Arc::clone(&contender.node), contender.sequence);
        let lock = self.locks.get_mut(&id).expect("the lock was just found or created");
        self.sessions.add(&contender, lock.family());
        let slot = counting(&mut self.contenders, lock, |lock| lock.insert(contender));
        lock.note_client_is_back(slot);
        self.touched.insert(id);
        let epoch = self.epoch;
        let known = path.parent_str().is_some_and(|parent| self.parents.contains_key(parent));
        if !known {
            // Memory holds each path once: reuse the lock's copy.
            let of_lock = Some(lock.path()).filter(|lock| path.parent_str() == Some(lock.as_str())).cloned();
            let parent = of_lock.or_else(|| path.parent()).unwrap_or_else(ZnodePath::root);
            self.parents.insert(parent, Parent::default());
        }
        let Some(parent) = self.parents.get_mut(path.parent_str().unwrap_or("/")) else { return slot };
        parent.epoch = epoch;
        parent.children.insert(name, (id, u32::try_from(slot).unwrap_or(u32::MAX)), &self.locks);
        let next = sequence.map(|Sequence(number)| i64::from(number) + 1);
        parent.set_next_sequence(parent.next_sequence().max(next));
        let lock = self.locks.get_mut(&id).expect("the lock was used above");
        if lock.kind() != LockKind::SingleNode {
            // Leases have a sequence of their own. A new contender gets its number in the queue.
            lock.set_next_sequence(self.parents.get(&lock.queue_path()).and_then(Parent::next_sequence));
        }
        slot
    }

    /// Removes a contender whose node is gone.
    pub(super) fn remove(&mut self, path: &ZnodePath, id: LockId, slot: u32, now: Timestamp, out: &mut Vec<Happening>) {
        self.remove_by(path, (id, slot), None, now, out);
    }

    /// Removes a contender whose node was deleted, by `deleter` if that is known.
    pub(super) fn remove_by(
        &mut self,
        path: &ZnodePath,
        (id, slot): (LockId, u32),
        deleter: Option<Deleter>,
        now: Timestamp,
        out: &mut Vec<Happening>,
    ) {
        if let Some(parent) = path.parent_str().and_then(|parent| self.parents.get_mut(parent)) {
            parent.children.remove(path.name());
        }
        let (slot, live) = (slot as usize, self.is_in_step());
        let Some(contender) = self.locks.get(&id).and_then(|lock| lock.contender(slot)) else { return };
        let (session, returned) = (contender.session(), contender.returned);
        let at_end = deleter.map_or_else(|| self.session_at_end(contender, now), Deleter::session_at_end);
        let expired = at_end == SessionAtEnd::Expired;
        let client = session.filter(|_| expired).map(|session| self.identity(session));
        let Some(lock) = self.locks.get_mut(&id) else { return };
        let stood = lock.stands(slot);
        let cost = match lock.position_of_slot(slot) {
            _ if !live => WatchEvents::default(),
            Some(position) => lock.cost_of_removal(position),
            None => WatchEvents { herd: lock.behind() as u64, chain: u64::from(lock.len() > lock.leases()) },
        };
        let Some(contender) = counting(&mut self.contenders, lock, |lock| lock.remove(slot)) else { return };
        self.sessions.remove(&contender);
        self.touched.insert(id);
        lock.cost(cost, now);
        self.totals.cost(cost, now);
        let held = contender.hold.is_held();
        if live && held {
            lock.handed_over(now);
        }
        let event = match held {
            _ if expired => LockEvent::Expired,
            true => LockEvent::Released,
            false => LockEvent::Left,
        };
        if let (true, true, Some(client), Some(session)) = (!contender.returned, held, client, session) {
            let node = Arc::clone(&contender.node);
            lock.rare_mut().session_expired = Some(Box::new(SessionExpired { at: now, node, session, client }));
        }
        if live && !returned && at_end == SessionAtEnd::MayHaveExpired {
            self.end_is_pending(id, &contender, held, now);
        }
        self.node_gone(id, slot, stood, Gone { contender, event, at_end, deleter, cost }, now, out);
        if live {
            self.update_holders(id, None, now, out);
        }
        self.after_removal(id, now, out);
    }

    pub(super) fn update_holders(&mut self, id: LockId, came: Option<usize>, now: Timestamp, out: &mut Vec<Happening>) {
        let Some(lock) = self.locks.get_mut(&id) else { return };
        let mut acquired = Vec::new();
        counting(&mut self.contenders, lock, |lock| {
            lock.update_holders(came, Hold::Acquired(now), |contender| acquired.push(contender.clone()));
        });
        for contender in acquired.into_iter().filter(|contender| !contender.returned) {
            let Some(lock) = self.locks.get(&id) else { return };
            let is_new = came.and_then(|slot| lock.contender(slot)).is_some_and(|came| came.czxid == contender.czxid);
            if contender.role == Role::Lease && contender.queued().is_none() && !is_new {
                // Its lease was attributed to another contender, whose own lease has shown up.
                out.push(Happening::new(LockEvent::Enqueued, lock, Some(&contender), now));
            }
            self.acquires(id, &contender, now, out);
        }
    }

    /// Reports that a contender has become a holder.
    pub(super) fn acquires(&mut self, id: LockId, contender: &Contender, now: Timestamp, out: &mut Vec<Happening>) {
        let Some(lock) = self.locks.get_mut(&id) else { return };
        lock.acquired(now);
        self.totals.acquired(now);
        lock.handed_over(now);
        let since = contender.contends_since(self.clock.ahead_ms());
        out.push(Happening::new(LockEvent::Acquired, lock, Some(contender), now).after_waiting(since));
    }

    /// Keeps or drops a lock that may have lost its last contender.
    ///
    /// An empty lock stays as long as its parent. A lock whose parent does not prove its existence
    /// (a single node, or one of several names) stays too, but at most [`MAX_FREE_LOCKS`] of these.
    pub(super) fn after_removal(&mut self, id: LockId, now: Timestamp, out: &mut Vec<Happening>) {
        self.name_apart_if_first_or_last(id);
        let Some(lock) = self.locks.get_mut(&id) else { return };
        let stays_with_parent = lock.kind() != LockKind::SingleNode && lock.own_name().is_none();
        if !lock.is_empty() || lock.free_listed || stays_with_parent {
            return;
        }
        lock.free_listed = true;
        self.free_listed.push_back(id);
        while self.free_listed.len() > MAX_FREE_LOCKS {
            let Some(oldest) = self.free_listed.pop_front() else { return };
            let Some(lock) = self.locks.get_mut(&oldest) else { continue };
            lock.free_listed = false;
            if lock.is_empty() {
                self.drop_lock(oldest, now, out);
            }
        }
    }
}
