//! Feeds the [hand-overs](Handover) of semaphores, and carries out what they say.

use rustc_hash::FxHashMap;

use super::handover::{Gone, Handover, Input, NodeGone, Output, Stood};
use super::hold::Hold;
use super::lock_name::{LockKey, key_of};
use super::{ConnectionState, Contender, Happening, LockEvent, LockId, LockQueue, LockTable};
use lockscope_base::recipe::{Classification, LockKind, Recipe, Role};
use lockscope_base::znode::{Timestamp, ZnodePath};

impl LockQueue {
    /// Where a node stands, for the hand-over. Linear in the contenders for a lease that never held, in the leases for the head, else
    /// logarithmic.
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

    /// Whether the owner of this node of the queue has its lease already. While everything is read anew it is not hidden for that.
    fn has_lease(&self, slot: usize) -> bool {
        let leases =
            (0..self.leases()).filter_map(|position| self.contenders.get(self.order.get(position)?.slot as usize));
        self.contenders
            .get(slot)
            .is_some_and(|head| leases.into_iter().any(|lease| lease.queued().is_some() && lease.id() == head.id()))
    }

    /// Whether this is the lease of somebody who waits, and whose node in the queue is there as well. That one may have gone before:
    /// when a session ends, its nodes go in any order.
    fn is_pending_lease(&self, slot: usize) -> bool {
        let Some(lease) = self.contenders.get(slot) else { return false };
        let owner = lease.queued().filter(|_| lease.role == Role::Lease && !lease.holds()).map(|_| lease.id());
        let queues = |owner| self.contenders.iter().any(|(_, one)| one.role == Role::Queue && one.id() == owner);
        owner.is_some_and(queues)
    }

    /// A node is about to be put into the order, or taken out of it.
    pub(super) fn order_changes(&mut self) {
        if self.handover().is_some() {
            self.hand_over(Input::OrderChanges);
        }
    }

    /// The order changed: the head of the queue may be pending now.
    pub(super) fn order_changed(&mut self) {
        if self.family().kind() != LockKind::Semaphore || self.hidden().is_some() {
            return;
        }
        let at = |position: Option<usize>| {
            let key = self.order.get(position?)?;
            Some((key, &self.contenders[key.slot as usize]))
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

    /// Feeds the hand-over. Gives what is to be reported.
    fn hand_over(&mut self, input: Input<'_>) -> Vec<Output> {
        let outputs = Handover::feed(&mut self.rare_mut().handover, input);
        self.carry_out(outputs)
    }

    /// Everything was read. Gives what is to be reported.
    fn end_reading(&mut self) -> Vec<Output> {
        let slots = (0..self.leases()).filter_map(|position| Some(self.order.get(position)?.slot as usize));
        let leases: Vec<_> = slots.filter_map(|slot| Some((slot, self.contenders.get(slot)?))).collect();
        let outputs =
            Handover::feed(&mut self.rare.get_or_insert_default().handover, Input::ReadingEnds { leases: &leases });
        self.carry_out(outputs)
    }

    /// Does what is said about the order and its contenders. Gives back the rest, which is for the table to report.
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
    /// A node was created that is about to be read: if it is a lease, a contender that leaves the queue may have it.
    pub(super) fn lease_announced(&mut self, path: &ZnodePath, now: Timestamp, out: &mut Vec<Happening>) {
        let place = self.classifier.classify(path).filter(|place| place.role == Role::Lease);
        let Some(place) = place.filter(|_| self.is_reporting() && self.node(path).is_none()) else { return };
        let key = key_of(&place);
        let lock = self.names.get(&key).and_then(|id| self.lock(*id));
        let head = lock.and_then(LockQueue::semaphore_head).map(Contender::id);
        self.hand_over(key, Input::LeaseAnnounced { node: path.name(), head }, now, out);
    }

    /// A lease was read, and is about to be placed: if its owner is known, they are one contender. Gives what is to be reported
    /// when it is placed.
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

    /// A node cannot be read. It may be a lease that was announced.
    pub(super) fn lease_unreadable(&mut self, path: &ZnodePath, now: Timestamp, out: &mut Vec<Happening>) {
        if let Some(place) = self.classifier.classify(path).filter(|place| place.role == Role::Lease) {
            self.hand_over(key_of(&place), Input::LeaseUnreadable { node: path.name() }, now, out);
        }
    }

    /// A node is gone that was never read. It may be one of a semaphore.
    pub(super) fn unread_node_gone(&mut self, path: &ZnodePath, now: Timestamp, out: &mut Vec<Happening>) {
        let of_semaphore = |place: &Classification| place.recipe.kind() == LockKind::Semaphore;
        let Some(place) = self.classifier.classify(path).filter(of_semaphore) else { return };
        let input = match place.role {
            Role::Lease => Input::LeaseGone { node: path.name() },
            Role::Queue if self.is_live() => Input::UnreadQueueNodeGone,
            Role::Queue | Role::SingleNode => return,
        };
        self.hand_over(key_of(&place), input, now, out);
    }

    /// The children of a node were listed: if they are leases, all that there were have been announced.
    pub(super) fn leases_listed(&mut self, parent: &ZnodePath, now: Timestamp, out: &mut Vec<Happening>) {
        let semaphores = [(parent.parent(), Recipe::CuratorSemaphore), (Some(parent.clone()), Recipe::KazooSemaphore)];
        for key in semaphores.into_iter().filter_map(|(path, recipe)| Some((path?, recipe, None))) {
            let lock = self.names.get(&key).and_then(|id| self.lock(*id));
            if lock.is_some_and(|lock| lock.handover().is_some() && lock.lease_parent() == *parent) {
                self.hand_over(key, Input::LeasesListed, now, out);
            }
        }
    }

    /// A contender's node is gone, and out of the order.
    pub(super) fn node_gone(
        &mut self,
        id: LockId,
        (slot, stood): (usize, Stood),
        gone: Gone,
        now: Timestamp,
        out: &mut Vec<Happening>,
    ) {
        let (live, reporting) = (self.is_live(), self.is_reporting());
        let lists = !matches!(self.connection, ConnectionState::Connected { recursive: true, .. });
        let Some(lock) = self.locks.get_mut(&id) else { return };
        if lock.kind() == LockKind::Semaphore {
            let node = NodeGone { gone: Box::new(gone), slot, stood, live, reporting, lists };
            let outputs = lock.hand_over(Input::NodeGone(node));
            self.report(id, outputs, now, out);
        } else if reporting && !gone.contender.returned {
            // That a returned node is gone was reported when it was deleted.
            self.report_gone(id, &gone, now, out);
        }
    }

    /// Everything is read anew.
    pub(super) fn begin_handovers_reading(&mut self) {
        for lock in self.locks.values_mut().filter(|lock| lock.handover().is_some()) {
            lock.hand_over(Input::ReadingBegins);
        }
        self.announced.clear();
    }

    /// A lease was found while everything is read anew: whose it is shows when everything was read.
    pub(super) fn lease_found(&mut self, id: LockId, slot: usize) {
        let Some(lock) = self.locks.get_mut(&id) else { return };
        if let Some(lease) = lock.contender(slot).cloned() {
            lock.hand_over(Input::LeaseFound { slot, lease: &lease });
        }
    }

    /// Everything was read. Gives the leases that were found and are of new contenders, in the order of their creation.
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

    /// A lock is about to be dropped.
    pub(super) fn end_handover(&mut self, id: LockId, now: Timestamp, out: &mut Vec<Happening>) {
        let Some(lock) = self.locks.get_mut(&id).filter(|lock| lock.handover().is_some()) else { return };
        let outputs = lock.hand_over(Input::LockGone);
        self.report(id, outputs, now, out);
    }

    /// Feeds the hand-over of a semaphore, also of one of which no more is known than that leases were announced.
    fn hand_over(&mut self, key: LockKey, input: Input<'_>, now: Timestamp, out: &mut Vec<Happening>) {
        if let Some(id) = self.names.get(&key).copied() {
            let outputs = self.locks.get_mut(&id).map_or_else(Vec::new, |lock| lock.hand_over(input));
            self.report(id, outputs, now, out);
            return;
        }
        let mut handover = self.announced.remove(&key);
        // Nobody was seen in its queue, of whom something could be reported.
        Handover::feed(&mut handover, input);
        if let Some(handover) = handover {
            self.announced.insert(key, handover);
        }
    }

    /// Reports what hand-overs say.
    pub(super) fn report(&mut self, id: LockId, outputs: Vec<Output>, now: Timestamp, out: &mut Vec<Happening>) {
        for output in outputs {
            match output {
                Output::Report(gone) => self.report_gone(id, &gone, now, out),
                Output::ReportHeld { lease, owner } => self.report_held(id, &lease, *owner, now, out),
                // Whoever fed the hand-over has done these.
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
        let happening =
            Happening::new(gone.event, lock, Some(&gone.contender), now).costing(gone.cost).ending(gone.at_end);
        out.push(match gone.event {
            LockEvent::Left => happening.after_waiting(gone.contender.contends_since(self.clock.ahead_ms())),
            _ => happening,
        });
    }

    /// A lease was returned before it could be read.
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
        out.push(Happening::new(LockEvent::Released, lock, Some(&lease), now).costing(owner.cost).ending(owner.at_end));
    }
}
