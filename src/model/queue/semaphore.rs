//! Feeds the [hand-overs](Handover) of semaphores, and carries out their outputs.

use rustc_hash::FxHashMap;

use super::handover::{Gone, Handover, InOrder, Input, NodeGone, Output, Stood};
use super::hold::Hold;
use super::lock_name::{LockKey, key_of};
use super::{ConnectionState, Contender, Happening, LockEvent, LockId, LockQueue, LockTable};
use lockscope_base::recipe::{Classification, Recipe, Role};
use lockscope_base::znode::{Timestamp, ZnodePath};

/// The most unread nodes of a queue that are compared with its head; with more, the head is not
/// known.
const MAX_UNREAD_COMPARED: usize = 64;

impl LockQueue {
    /// Returns where a node stands, for the hand-over.
    ///
    /// Linear in the contenders for a lease that never held, linear in the leases for the head of
    /// the queue, and logarithmic otherwise.
    pub(super) fn stands(&self, slot: usize) -> Stood {
        let hidden = self.hidden().is_some_and(|key| key.slot as usize == slot);
        let is_head = self.position_of_slot(slot) == Some(self.leases());
        if hidden || is_head && self.has_lease(slot) {
            Stood::Hidden
        } else if self.is_pending_lease(slot) {
            Stood::PendingLease
        } else if is_head {
            Stood::Head
        } else {
            Stood::Elsewhere
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

    /// Prepares for a node that is about to be added to the order or removed from it.
    pub(super) fn order_changes(&mut self) {
        if self.handover().is_some() {
            self.hand_over(Input::OrderChanges);
        }
    }

    /// Handles a change of the order, after which the head of the queue may be pending.
    pub(super) fn order_changed(&mut self) {
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
            Input::OrderChanged { before_last, last, head },
        );
        self.carry_out(outputs);
    }

    /// Feeds the hand-over. Returns the outputs that the table must report.
    fn hand_over(&mut self, input: Input<'_>) -> Vec<Output> {
        let outputs = Handover::feed(&mut self.rare_mut().handover, input);
        self.carry_out(outputs)
    }

    /// Ends a complete reading. Returns the outputs that the table must report.
    fn end_reading(&mut self) -> Vec<Output> {
        let slots = (0..self.leases()).filter_map(|position| Some(self.order.get(position)?.slot as usize));
        let leases: Vec<_> = slots.filter_map(|slot| Some((slot, self.contenders.get(slot)?))).collect();
        let outputs =
            Handover::feed(&mut self.rare.get_or_insert_default().handover, Input::ReadingEnds { leases: &leases });
        self.carry_out(outputs)
    }

    /// Carries out the outputs for the order and the contenders. Returns the rest, which the table
    /// must report.
    fn carry_out(&mut self, outputs: Vec<Output>) -> Vec<Output> {
        let mut rest = Vec::new();
        for output in outputs {
            match output {
                Output::Show(key) => self.order.insert(key),
                Output::Hide(key) => self.order.remove(key),
                Output::Bind { lease, head } => {
                    let owner = self.contenders[head].as_queued();
                    self.contenders[lease].came_from(owner);
                }
                Output::Unbind { lease } => self.contenders[lease].set_queued(None),
                Output::FoundLeaseIsOf { slot, owner } => self.contenders[slot].came_from(owner),
                Output::Report(_)
                | Output::ReportHeld { .. }
                | Output::LeaseIsOf(_)
                | Output::FoundLeaseIsNew { .. } => rest.push(output),
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
        self.hand_over(key, Input::LeaseAnnounced { node: path.name(), head }, now, out);
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
    pub(super) fn lease_read(&mut self, id: LockId, lease: &mut Contender) -> Vec<Output> {
        let Some(lock) = self.locks.get_mut(&id) else { return Vec::new() };
        let mut rest = Vec::new();
        for output in lock.hand_over(Input::LeaseRead(lease)) {
            match output {
                Output::LeaseIsOf(owner) => lease.came_from(owner),
                output => rest.push(output),
            }
        }
        rest
    }

    /// Handles a node that cannot be read. It may be an announced lease.
    pub(super) fn lease_unreadable(&mut self, path: &ZnodePath, now: Timestamp, out: &mut Vec<Happening>) {
        if let Some(place) = self.classifier.classify(path).filter(|place| place.role == Role::Lease) {
            self.hand_over(key_of(&place), Input::LeaseUnreadable { node: path.name() }, now, out);
        }
    }

    /// Handles the deletion of a node that was never read. It may belong to a semaphore.
    pub(super) fn unread_node_gone(&mut self, path: &ZnodePath, now: Timestamp, out: &mut Vec<Happening>) {
        let of_semaphore = |place: &Classification| place.recipe.has_lease_nodes();
        let Some(place) = self.classifier.classify(path).filter(of_semaphore) else { return };
        let input = match place.role {
            Role::Lease => Input::LeaseGone { node: path.name() },
            Role::Queue if self.is_in_step() => Input::UnreadQueueNodeGone,
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
                self.hand_over(key, Input::LeasesListed, now, out);
            }
        }
    }

    /// Handles the deletion of a contender's node, which is already out of the order.
    pub(super) fn node_gone(
        &mut self,
        id: LockId,
        slot: usize,
        stood: Stood,
        gone: Gone,
        now: Timestamp,
        out: &mut Vec<Happening>,
    ) {
        let (live, reporting) = (self.is_in_step(), self.is_reporting());
        let lists = !matches!(self.connection, ConnectionState::Connected { recursive: true, .. });
        let Some(lock) = self.locks.get_mut(&id) else { return };
        if lock.family().has_lease_nodes() {
            let node = NodeGone { gone: Box::new(gone), slot, stood, live, reporting, lists };
            let outputs = lock.hand_over(Input::NodeGone(node));
            self.report(id, outputs, now, out);
        } else if reporting && !gone.contender.returned {
            // The deletion of a returned node was reported when it first happened.
            self.report_gone(id, &gone, now, out);
        }
    }

    /// Tells the hand-overs that a complete reading begins.
    pub(super) fn begin_handovers_reading(&mut self) {
        for lock in self.locks.values_mut().filter(|lock| lock.handover().is_some()) {
            lock.hand_over(Input::ReadingBegins);
        }
        self.announced.clear();
        self.unread_in_semaphores.clear();
    }

    /// Handles a lease that a complete reading found. Its owner is known at the end of the reading.
    pub(super) fn lease_found(&mut self, id: LockId, slot: usize) {
        let Some(lock) = self.locks.get_mut(&id) else { return };
        if let Some(lease) = lock.contender(slot).cloned() {
            lock.hand_over(Input::LeaseFound { slot, lease: &lease });
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
            let (new, rest): (Vec<_>, Vec<_>) =
                lock.end_reading().into_iter().partition(|output| matches!(output, Output::FoundLeaseIsNew { .. }));
            for output in new {
                if let Output::FoundLeaseIsNew { slot } = output {
                    found.entry(id).or_default().push(slot);
                }
            }
            self.report(id, rest, now, out);
        }
        found
    }

    /// Reports the departed contenders of a lock that is about to be dropped.
    pub(super) fn end_handover(&mut self, id: LockId, now: Timestamp, out: &mut Vec<Happening>) {
        let Some(lock) = self.locks.get_mut(&id).filter(|lock| lock.handover().is_some()) else { return };
        let outputs = lock.hand_over(Input::LockGone);
        self.report(id, outputs, now, out);
    }

    /// Feeds the hand-over of a semaphore. The semaphore may be unknown apart from its announced
    /// leases.
    fn hand_over(&mut self, key: LockKey, input: Input<'_>, now: Timestamp, out: &mut Vec<Happening>) {
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
    pub(super) fn report(&mut self, id: LockId, outputs: Vec<Output>, now: Timestamp, out: &mut Vec<Happening>) {
        for output in outputs {
            match output {
                Output::Report(gone) => self.report_gone(id, &gone, now, out),
                Output::ReportHeld { lease, owner } => self.report_held(id, &lease, *owner, now, out),
                // The caller that fed the hand-over has carried these out.
                Output::LeaseIsOf(_)
                | Output::FoundLeaseIsOf { .. }
                | Output::FoundLeaseIsNew { .. }
                | Output::Bind { .. }
                | Output::Unbind { .. }
                | Output::Hide(_)
                | Output::Show(_) => {}
            }
        }
    }

    fn report_gone(&self, id: LockId, gone: &Gone, now: Timestamp, out: &mut Vec<Happening>) {
        let Some(lock) = self.locks.get(&id) else { return };
        let happening = Happening::new(gone.event, lock, Some(&gone.contender), now)
            .costing(gone.cost)
            .ending(gone.at_end, gone.deleter);
        out.push(match gone.event {
            LockEvent::Left => happening.after_waiting(gone.contender.contends_since(self.clock.ahead_ms())),
            _ => happening,
        });
    }

    /// Reports a lease that was returned before it could be read.
    fn report_held(&mut self, id: LockId, node: &str, owner: Gone, now: Timestamp, out: &mut Vec<Happening>) {
        let Some(lock) = self.locks.get_mut(&id) else { return };
        let ahead_ms = self.clock.ahead_ms();
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
}
