//! Contenders come, move on to their leases, and go: adds them to their locks, removes them, and
//! reports what follows.
//!
//! - The [hand-over](Handover) of each semaphore is fed here with what happens to its nodes, and
//!   its outputs are carried out here.
//! - A lock that no node in the tree stands for any more is dropped.
//! - A node that a member shows again after its deletion is recognized.
//!
//! # Nodes that return
//!
//! Transaction numbers are unique, so a deleted node never comes back with the transaction that
//! created it. A member that still shows such a node has kept what the ensemble deleted, or lags.
//!
//! | evidence | proves a deletion |
//! | --- | --- |
//! | a recursive watch reported it | yes |
//! | a complete reading was not refused anywhere and did not find the node | yes |
//! | without recursive watches, two listings differ: they may be processed out of order | no |
//! | the parent is gone, or the node's name means something else now | no |
//!
//! A node that shows up again before the next complete reading was never deleted: one answer
//! overtook another. So only a node that a later complete reading finds counts as
//! [returned](Contender::returned).

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::change::Deleter;
use super::contender::DeletedNode;
use super::event::SessionAtEnd;
use super::handover::{GoneContender, Handover, HandoverInput, HandoverOutput, InOrder, NodeGone, NodesBefore};
use super::hold::Hold;
use super::lock::{LockKey, key_of};
use super::parent::Parent;
use super::table::SyncPhase;
use super::{
    ConnectionState, Contender, Happening, LockEvent, LockId, LockQueue, LockTable, SessionExpired, WatchEvents,
};
use lockscope_base::recipe::{Classification, Classifier, LockKind, Recipe, Role};
use lockscope_base::znode::{Node, Sequence, Timestamp, ZnodePath};

/// Maximum number of free locks without a parent that proves their existence: single nodes between
/// two holders, or one of several names. The oldest is forgotten first.
const MAX_FREE_LOCKS: usize = 1_000;

/// Changes a lock and updates the number of all contenders. A change of the order may hide a
/// semaphore's client or show it again.
pub fn counting<T>(contenders: &mut usize, lock: &mut LockQueue, change: impl FnOnce(&mut LockQueue) -> T) -> T {
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
            self.clients.clock.created(node.stat.ctime, now);
        } else {
            self.clients.clock.found(node.stat.ctime, now);
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
        self.clients.sessions.add(&contender, lock.family());
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
        let at_end = deleter.map_or_else(|| self.clients.session_at_end(contender, now), Deleter::session_at_end);
        let expired = at_end == SessionAtEnd::Expired;
        let client = session.filter(|_| expired).map(|session| self.clients.identity(session));
        let Some(lock) = self.locks.get_mut(&id) else { return };
        let stood = lock.stands(slot);
        let cost = match lock.position_of_slot(slot) {
            _ if !live => WatchEvents::default(),
            Some(position) => lock.cost_of_removal(position),
            None => WatchEvents { herd: lock.behind() as u64, chain: u64::from(lock.len() > lock.leases()) },
        };
        let Some(contender) = counting(&mut self.contenders, lock, |lock| lock.remove(slot)) else { return };
        self.clients.sessions.remove(&contender);
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
            self.clients.end_is_pending(lock.lock_name(), &contender, held, now);
        }
        self.node_gone(id, slot, stood, GoneContender { contender, event, at_end, deleter, cost }, now, out);
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
        let since = contender.contends_since(self.clients.clock.ahead_ms());
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

/// The most unread nodes of a queue that are compared with its head; with more, the head is not
/// known.
const MAX_UNREAD_COMPARED: usize = 64;

impl LockQueue {
    /// Returns where a node stands, for the hand-over.
    ///
    /// Linear in the contenders for a lease that never held, linear in the leases for the head of
    /// the queue, and logarithmic otherwise.
    fn stands(&self, slot: usize) -> NodesBefore {
        let hidden = self.hidden().is_some_and(|key| key.slot as usize == slot);
        let is_head = self.position_of_slot(slot) == Some(self.leases());
        if hidden || is_head && self.has_lease(slot) {
            NodesBefore::Hidden
        } else if self.is_pending_lease(slot) {
            NodesBefore::PendingLease
        } else if is_head {
            NodesBefore::Head
        } else {
            NodesBefore::Elsewhere
        }
    }

    /// Returns whether the owner of this queue node already has its lease. During a complete
    /// reading such a node is not hidden.
    fn has_lease(&self, slot: usize) -> bool {
        let leases =
            (0..self.leases()).filter_map(|position| self.contenders.get(self.order.get(position)?.slot as usize));
        self.contenders
            .get(slot)
            .is_some_and(|head| leases.into_iter().any(|lease| lease.queued().is_some() && lease.id() == head.id()))
    }

    /// Returns whether this lease belongs to a waiter that still has its node in the queue. When a
    /// session ends, its nodes are deleted in any order, so the queue node may be gone first.
    fn is_pending_lease(&self, slot: usize) -> bool {
        let Some(lease) = self.contenders.get(slot) else { return false };
        let owner = lease.queued().filter(|_| lease.role == Role::Lease && !lease.holds()).map(|_| lease.id());
        let queues = |owner| self.contenders.iter().any(|(_, one)| one.role == Role::Queue && one.id() == owner);
        owner.is_some_and(queues)
    }

    /// Shows the hidden queue node again, before a node is added to the order or removed from it.
    pub(super) fn show_hidden_node(&mut self) {
        if self.handover().is_some() {
            self.hand_over(HandoverInput::OrderChanges);
        }
    }

    /// Hides the queue node of a head that has a lease already, after a change of the order.
    pub(super) fn hide_pending_head(&mut self) {
        if !self.family().has_lease_nodes() || self.hidden().is_some() {
            return;
        }
        let at = |position: Option<usize>| {
            let key = self.order.get(position?)?;
            Some(InOrder { key, contender: &self.contenders[key.slot as usize] })
        };
        let leases = self.leases();
        let before_last = at(leases.checked_sub(2));
        let (Some(last), Some(head)) = (at(leases.checked_sub(1)), at(Some(leases))) else { return };
        let outputs = Handover::feed(
            &mut self.rare.get_or_insert_default().handover,
            HandoverInput::OrderChanged { before_last, last, head },
        );
        self.carry_out(outputs);
    }

    /// Feeds the hand-over. Returns the outputs that the table must report.
    fn hand_over(&mut self, input: HandoverInput<'_>) -> Vec<HandoverOutput> {
        let outputs = Handover::feed(&mut self.rare_mut().handover, input);
        self.carry_out(outputs)
    }

    /// Ends a complete reading. Returns the outputs that the table must report.
    fn end_reading(&mut self) -> Vec<HandoverOutput> {
        let slots = (0..self.leases()).filter_map(|position| Some(self.order.get(position)?.slot as usize));
        let leases: Vec<_> = slots.filter_map(|slot| Some((slot, self.contenders.get(slot)?))).collect();
        let outputs = Handover::feed(
            &mut self.rare.get_or_insert_default().handover,
            HandoverInput::ReadingEnds { leases: &leases },
        );
        self.carry_out(outputs)
    }

    /// Carries out the outputs for the order and the contenders. Returns the rest, which the table
    /// must report.
    fn carry_out(&mut self, outputs: Vec<HandoverOutput>) -> Vec<HandoverOutput> {
        let mut rest = Vec::new();
        for output in outputs {
            match output {
                HandoverOutput::Show(key) => self.order.insert(key),
                HandoverOutput::Hide(key) => self.order.remove(key),
                HandoverOutput::Bind { lease, head } => {
                    let owner = self.contenders[head].as_queued();
                    self.contenders[lease].came_from(owner);
                }
                HandoverOutput::Unbind { lease } => self.contenders[lease].set_queued(None),
                HandoverOutput::FoundLeaseIsOf { slot, owner } => self.contenders[slot].came_from(owner),
                HandoverOutput::Report(_)
                | HandoverOutput::ReportHeld { .. }
                | HandoverOutput::LeaseIsOf(_)
                | HandoverOutput::FoundLeaseIsNew { .. } => rest.push(output),
            }
        }
        rest
    }
}

impl LockTable {
    /// Announces a node that was created and is about to be read. If the node is a lease, a
    /// contender that leaves the queue may own it.
    pub(super) fn lease_announced(&mut self, path: &ZnodePath, now: Timestamp, out: &mut Vec<Happening>) {
        let place = self.classifier.classify(path).filter(|place| place.role == Role::Lease);
        let Some(place) = place.filter(|_| self.is_reporting() && self.node(path).is_none()) else { return };
        let key = key_of(&place);
        let lock = self.names.get(&key).and_then(|id| self.lock(*id));
        let head = lock.and_then(LockQueue::semaphore_head).filter(|head| !self.may_stand_behind_unread(&key, head));
        let head = head.map(Contender::id);
        self.hand_over(key, HandoverInput::LeaseAnnounced { node: path.name(), head }, now, out);
    }

    /// Returns whether an unread node of the queue may stand before the head that is known.
    fn may_stand_behind_unread(&self, key: &LockKey, head: &Contender) -> bool {
        let Some(queue) = self.names.get(key).and_then(|id| self.lock(*id)).map(LockQueue::queue_path) else {
            return false;
        };
        let unread = self.unread_in_semaphores.range(queue.child("")..).take_while(|path| path.is_within(&queue));
        unread.take(MAX_UNREAD_COMPARED + 1).enumerate().any(|(count, path)| {
            let place = || self.classifier.classify(path);
            count == MAX_UNREAD_COMPARED || place().is_some_and(|place| place.sequence < head.sequence)
        })
    }

    /// Handles a lease that was read and is about to be placed. A known owner and the lease become
    /// one contender. Returns the outputs to report once the lease is placed.
    fn lease_read(&mut self, id: LockId, lease: &mut Contender) -> Vec<HandoverOutput> {
        let Some(lock) = self.locks.get_mut(&id) else { return Vec::new() };
        let mut rest = Vec::new();
        for output in lock.hand_over(HandoverInput::LeaseRead(lease)) {
            match output {
                HandoverOutput::LeaseIsOf(owner) => lease.came_from(owner),
                output => rest.push(output),
            }
        }
        rest
    }

    /// Handles a node that cannot be read. It may be an announced lease.
    pub(super) fn lease_unreadable(&mut self, path: &ZnodePath, now: Timestamp, out: &mut Vec<Happening>) {
        if let Some(place) = self.classifier.classify(path).filter(|place| place.role == Role::Lease) {
            self.hand_over(key_of(&place), HandoverInput::LeaseUnreadable { node: path.name() }, now, out);
        }
    }

    /// Handles the deletion of a node that was never read. It may belong to a semaphore.
    pub(super) fn unread_node_gone(&mut self, path: &ZnodePath, now: Timestamp, out: &mut Vec<Happening>) {
        let of_semaphore = |place: &Classification| place.recipe.has_lease_nodes();
        let Some(place) = self.classifier.classify(path).filter(of_semaphore) else { return };
        let input = match place.role {
            Role::Lease => HandoverInput::LeaseGone { node: path.name() },
            Role::Queue if self.is_in_step() => HandoverInput::UnreadQueueNodeGone,
            Role::Queue | Role::SingleNode => return,
        };
        self.hand_over(key_of(&place), input, now, out);
    }

    /// Handles a listing. If the children are leases, all that existed by then have been announced.
    pub(super) fn leases_listed(&mut self, parent: &ZnodePath, now: Timestamp, out: &mut Vec<Happening>) {
        let semaphores = [(parent.parent(), Recipe::CuratorSemaphore), (Some(parent.clone()), Recipe::KazooSemaphore)];
        for key in semaphores.into_iter().filter_map(|(path, recipe)| Some((path?, recipe, None))) {
            let lock = self.names.get(&key).and_then(|id| self.lock(*id));
            if lock.is_some_and(|lock| lock.handover().is_some() && lock.lease_parent() == *parent) {
                self.hand_over(key, HandoverInput::LeasesListed, now, out);
            }
        }
    }

    /// Handles the deletion of a contender's node, which is already out of the order.
    fn node_gone(
        &mut self,
        id: LockId,
        slot: usize,
        stood: NodesBefore,
        gone: GoneContender,
        now: Timestamp,
        out: &mut Vec<Happening>,
    ) {
        let (live, reporting) = (self.is_in_step(), self.is_reporting());
        let lists = !matches!(self.connection, ConnectionState::Connected { recursive: true, .. });
        let Some(lock) = self.locks.get_mut(&id) else { return };
        if lock.family().has_lease_nodes() {
            let node = NodeGone { gone: Box::new(gone), slot, stood, live, reporting, lists };
            let outputs = lock.hand_over(HandoverInput::NodeGone(node));
            self.report(id, outputs, now, out);
        } else if reporting && !gone.contender.returned {
            // The deletion of a returned node was reported when it first happened.
            self.report_gone(id, &gone, now, out);
        }
    }

    /// Tells the hand-overs that a complete reading begins.
    pub(super) fn begin_handovers_reading(&mut self) {
        for lock in self.locks.values_mut().filter(|lock| lock.handover().is_some()) {
            lock.hand_over(HandoverInput::ReadingBegins);
        }
        self.announced.clear();
        self.unread_in_semaphores.clear();
    }

    /// Handles a lease that a complete reading found. Its owner is known at the end of the reading.
    fn lease_found(&mut self, id: LockId, slot: usize) {
        let Some(lock) = self.locks.get_mut(&id) else { return };
        if let Some(lease) = lock.contender(slot).cloned() {
            lock.hand_over(HandoverInput::LeaseFound { slot, lease: &lease });
        }
    }

    /// Ends a complete reading. Returns the found leases that belong to new contenders, in order of
    /// creation.
    pub(super) fn end_handovers_reading(
        &mut self,
        now: Timestamp,
        out: &mut Vec<Happening>,
    ) -> FxHashMap<LockId, Vec<usize>> {
        let mut found: FxHashMap<LockId, Vec<usize>> = FxHashMap::default();
        let ids: Vec<LockId> = self.names.values().copied().collect();
        for id in ids {
            let Some(lock) = self.locks.get_mut(&id).filter(|lock| lock.handover().is_some()) else { continue };
            let (new, rest): (Vec<_>, Vec<_>) = lock
                .end_reading()
                .into_iter()
                .partition(|output| matches!(output, HandoverOutput::FoundLeaseIsNew { .. }));
            for output in new {
                if let HandoverOutput::FoundLeaseIsNew { slot } = output {
                    found.entry(id).or_default().push(slot);
                }
            }
            self.report(id, rest, now, out);
        }
        found
    }

    /// Reports the departed contenders of a lock that is about to be dropped.
    fn end_handover(&mut self, id: LockId, now: Timestamp, out: &mut Vec<Happening>) {
        let Some(lock) = self.locks.get_mut(&id).filter(|lock| lock.handover().is_some()) else { return };
        let outputs = lock.hand_over(HandoverInput::LockGone);
        self.report(id, outputs, now, out);
    }

    /// Feeds the hand-over of a semaphore. The semaphore may be unknown apart from its announced
    /// leases.
    fn hand_over(&mut self, key: LockKey, input: HandoverInput<'_>, now: Timestamp, out: &mut Vec<Happening>) {
        if let Some(id) = self.names.get(&key).copied() {
            let outputs = self.locks.get_mut(&id).map_or_else(Vec::new, |lock| lock.hand_over(input));
            self.report(id, outputs, now, out);
            return;
        }
        let mut handover = self.announced.remove(&key);
        // No contender was seen in its queue, so there is nothing to report.
        Handover::feed(&mut handover, input);
        if let Some(handover) = handover {
            self.announced.insert(key, handover);
        }
    }

    /// Reports the outputs of a hand-over.
    fn report(&mut self, id: LockId, outputs: Vec<HandoverOutput>, now: Timestamp, out: &mut Vec<Happening>) {
        for output in outputs {
            match output {
                HandoverOutput::Report(gone) => self.report_gone(id, &gone, now, out),
                HandoverOutput::ReportHeld { lease, owner } => self.report_held(id, &lease, *owner, now, out),
                // The caller that fed the hand-over has carried these out.
                HandoverOutput::LeaseIsOf(_)
                | HandoverOutput::FoundLeaseIsOf { .. }
                | HandoverOutput::FoundLeaseIsNew { .. }
                | HandoverOutput::Bind { .. }
                | HandoverOutput::Unbind { .. }
                | HandoverOutput::Hide(_)
                | HandoverOutput::Show(_) => {}
            }
        }
    }

    fn report_gone(&self, id: LockId, gone: &GoneContender, now: Timestamp, out: &mut Vec<Happening>) {
        let Some(lock) = self.locks.get(&id) else { return };
        let happening = Happening::new(gone.event, lock, Some(&gone.contender), now)
            .costing(gone.cost)
            .ending(gone.at_end, gone.deleter);
        out.push(match gone.event {
            LockEvent::Left => happening.after_waiting(gone.contender.contends_since(self.clients.clock.ahead_ms())),
            _ => happening,
        });
    }

    /// Reports a lease that was returned before it could be read.
    fn report_held(&mut self, id: LockId, node: &str, owner: GoneContender, now: Timestamp, out: &mut Vec<Happening>) {
        let Some(lock) = self.locks.get_mut(&id) else { return };
        let ahead_ms = self.clients.clock.ahead_ms();
        let queued = owner.contender.as_queued();
        let mut lease = owner.contender;
        (lease.node, lease.role) = (node.into(), Role::Lease);
        (lease.hold, lease.displaced) = (Hold::Acquired(now), false);
        lease.came_from(queued);
        let since = lease.contends_since(ahead_ms);
        lock.acquired(now);
        self.totals.acquired(now);
        out.push(Happening::new(LockEvent::Acquired, lock, Some(&lease), now).after_waiting(since));
        let released = Happening::new(LockEvent::Released, lock, Some(&lease), now);
        out.push(released.costing(owner.cost).ending(owner.at_end, owner.deleter));
    }

    /// Drops an empty lock when no node in the tree stands for it any more, unless its leader is
    /// missed.
    pub(super) fn drop_lock_if_gone(&mut self, id: LockId, now: Timestamp, out: &mut Vec<Happening>) {
        let Some(lock) = self.locks.get(&id).filter(|lock| lock.is_empty()) else { return };
        let path = lock.path();
        let stands = match lock.family() {
            Recipe::CuratorSemaphore | Recipe::KazooSemaphore => {
                let mut hints = Classifier::hints_of(path).into_iter();
                hints.any(|hint| self.hint_epochs.contains_key(&hint) || self.parents.contains_key(&hint))
            }
            _ if lock.kind() == LockKind::SingleNode => true,
            _ => self.parents.contains_key(path) && !self.is_part_of_semaphore(path),
        };
        if stands {
            return;
        }
        if !self.elections.keep_without_parent(lock, &self.clients.clock, now) {
            self.drop_lock(id, now, out);
        } else if self.elections.has_too_many_without_parent() {
            self.drop_old_without_parent(now, out);
        }
    }

    /// Drops the elections that have been without a parent for long.
    pub(super) fn drop_old_without_parent(&mut self, now: Timestamp, out: &mut Vec<Happening>) {
        let Self { elections, locks, parents, .. } = self;
        let lacks_parent = |id| {
            let lock = locks.get(&id);
            lock.is_some_and(|lock| lock.is_empty() && !parents.contains_key(lock.path()))
        };
        for id in elections.old_without_parent(lacks_parent, now) {
            self.drop_lock(id, now, out);
        }
    }

    /// Returns whether the children of this parent are the queue of a semaphore, not a lock of
    /// their own.
    fn is_part_of_semaphore(&self, parent: &ZnodePath) -> bool {
        Classifier::hints_beside(parent).iter().any(|hint| self.hint_epochs.contains_key(hint))
    }

    /// Drops the single-node locks below a deleted node. Logarithmic in the number of locks when
    /// there are none.
    pub(super) fn drop_free_below(&mut self, path: &ZnodePath, now: Timestamp, out: &mut Vec<Happening>) {
        let first = (path.child(""), Recipe::ALL[0], None);
        let below = self.names.range(first..).take_while(|((lock, ..), _)| lock.is_within(path));
        let ids: Vec<LockId> = below.map(|(_, id)| *id).collect();
        for id in ids {
            if self.locks.get(&id).is_some_and(|lock| lock.kind() == LockKind::SingleNode && lock.is_empty()) {
                self.drop_lock(id, now, out);
            }
        }
    }

    fn drop_lock(&mut self, id: LockId, now: Timestamp, out: &mut Vec<Happening>) {
        self.end_handover(id, now, out);
        let Some(lock) = self.locks.remove(&id) else { return };
        self.names.remove(&lock.key_in_table());
        self.touched.insert(id);
        if self.is_reporting() {
            out.push(Happening::new(LockEvent::LockGone, &lock, None, now));
        }
    }

    /// Remembers a contender whose node is gone, if its deletion is proven.
    pub(super) fn note_deleted(&mut self, path: &ZnodePath, id: LockId, slot: u32) {
        let contender = self.locks.get(&id).and_then(|lock| lock.contender(slot as usize));
        let proves = matches!(self.connection, ConnectionState::Connected { recursive: true, .. });
        if let Some(contender) = contender.filter(|contender| proves && contender.is_read()) {
            self.deleted_nodes.insert(path, contender, self.epoch);
        }
    }

    /// Returns what is known about a new node if it was deleted and a later complete reading found
    /// it again.
    fn take_returned(&mut self, path: &ZnodePath, node: &Node) -> Option<DeletedNode> {
        let known = self.deleted_nodes.remove(path, node.stat.czxid)?;
        // A rebuilt ensemble may reuse transaction numbers, but not at the same times.
        let is_the_same = known.created_at == node.stat.ctime && known.session == node.stat.ephemeral_owner;
        (is_the_same && known.epoch != self.epoch).then_some(known)
    }
}

impl Contender {
    /// Marks the contender as returned, and restores its place from before the deletion.
    fn returns(&mut self, known: DeletedNode) {
        self.returned = true;
        self.set_enqueued_at(known.enqueued_at);
        self.set_queued(known.queued.map(|queued| *queued));
    }
}
