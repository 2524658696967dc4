//! Contenders come and go: their places in the order, and who holds afterwards.

use slab::Slab;

use super::order::OrderKey;
use super::{Contender, LockQueue};
use crate::recipe::{LockKind, RequestMode, Role};

impl LockQueue {
    pub(super) fn key(&self, slot: usize) -> OrderKey {
        let contender = &self.contenders[slot];
        // Leases stand before the queue: a sequence has 32 bits, so bit 40 sets the classes apart.
        let class =
            if contender.role == Role::Queue && self.family().kind() == LockKind::Semaphore { 1_i64 << 40 } else { 0 };
        let number = contender.sequence.map_or(0, |sequence| i64::from(sequence.0));
        OrderKey { ordinal: class + number, czxid: contender.czxid.0, slot: u32::try_from(slot).unwrap_or(u32::MAX) }
    }

    /// Puts a contender in its place. Its state is settled by [`Self::settle`].
    pub(super) fn insert(&mut self, contender: Contender) -> usize {
        self.show_hidden();
        let (role, mode, returned) = (contender.role, contender.mode, contender.returned_at.is_some());
        let slot = self.contenders.insert(contender);
        let key = self.key(slot);
        self.order.insert(key);
        if mode == RequestMode::Read {
            self.readers.insert(key);
        }
        self.leases += usize::from(role == Role::Lease);
        self.returned += usize::from(returned);
        slot
    }

    /// Takes a contender out.
    pub(super) fn remove(&mut self, slot: usize) -> Option<Contender> {
        if !self.contenders.contains(slot) {
            return None;
        }
        self.show_hidden();
        let key = self.key(slot);
        self.order.remove(key);
        self.readers.remove(key);
        let contender = self.contenders.remove(slot);
        self.leases -= usize::from(contender.role == Role::Lease);
        self.returned -= usize::from(contender.returned_at.is_some());
        if contender.holds {
            self.holding = self.holding.saturating_sub(1);
        }
        if self.contenders.is_empty() {
            // A queue that was long once shall not hold its memory for ever.
            self.contenders = Slab::new();
        }
        Some(contender)
    }

    /// Whether the semaphore's queue node is hidden behind its own pending lease.
    pub(super) fn is_hidden(&self, slot: usize) -> bool {
        self.hidden.is_some_and(|key| key.slot as usize == slot)
    }

    fn show_hidden(&mut self) {
        if let Some(key) = self.hidden.take() {
            self.order.insert(key);
        }
    }

    /// A new lease belongs to the head of the queue when that session made it after it came to queue: its maker still
    /// has to see whether there is room. One that held once is that of another thread of that session.
    fn hide_behind_pending_lease(&mut self) {
        if self.family().kind() != LockKind::Semaphore || self.hidden.is_some() {
            return;
        }
        let Some((lease, head)) =
            self.leases.checked_sub(1).and_then(|last| self.order.get(last)).zip(self.order.get(self.leases))
        else {
            return;
        };
        let [last, first] = [lease.slot, head.slot].map(|slot| &self.contenders[slot as usize]);
        let belongs = match &last.queued {
            Some(_) => last.id() == first.id(),
            None => !last.holds && first.session.is_some() && last.session == first.session && lease.czxid > head.czxid,
        };
        if belongs {
            if last.queued.is_none() {
                self.bind(lease.slot as usize, head.slot as usize);
            }
            self.order.remove(head);
            self.hidden = Some(head);
        }
    }

    /// A lease is that of the contender at the head of the queue. Another that it had made before is not.
    fn bind(&mut self, lease: usize, head: usize) {
        let queued = self.contenders[head].as_queued();
        let before = self.leases.checked_sub(2).and_then(|before| self.order.get(before));
        if let Some(before) = before.map(|key| &mut self.contenders[key.slot as usize])
            && before.id() == queued.id
        {
            before.queued = None;
        }
        self.contenders[lease].came_from(queued);
    }

    /// Finds out who holds after one contender came (to the slot `came`) or went; calls `acquired` with each that
    /// holds now and did not before.
    ///
    /// Holders were the first of the order before, and are the first of it now: only those between the two ends, and
    /// the one that came, can have changed.
    pub(super) fn settle(&mut self, came: Option<usize>, acquired: impl FnMut(&mut Contender)) {
        self.hide_behind_pending_lease();
        let (before, now) = (self.holding, self.count_holders());
        let changed = before.min(now)..(before.max(now) + 1);
        let came = came.and_then(|slot| self.position_of_slot(slot)).filter(|position| !changed.contains(position));
        self.mark(came.into_iter().chain(changed), now, acquired);
    }

    /// The same after any number of contenders came or went. Linear in the queue.
    pub(super) fn settle_all(&mut self, acquired: impl FnMut(&mut Contender)) {
        self.hide_behind_pending_lease();
        self.mark(0..self.len(), self.count_holders(), acquired);
    }

    fn mark(&mut self, positions: impl Iterator<Item = usize>, now: usize, mut acquired: impl FnMut(&mut Contender)) {
        for position in positions {
            let Some(key) = self.order.get(position) else { continue };
            let contender = &mut self.contenders[key.slot as usize];
            match (position < now, contender.holds) {
                (true, false) => {
                    contender.holds = true;
                    match contender.held_before_return.take() {
                        // It held all the while, and that was reported.
                        Some(since) => contender.acquired_at = since,
                        None => acquired(contender),
                    }
                }
                (false, true) => {
                    contender.holds = false;
                    let since = contender.acquired_at.take();
                    let displaced = self.returned > 0 && contender.returned_at.is_none();
                    contender.held_before_return = displaced.then_some(since);
                }
                _ => {}
            }
        }
        self.holding = now;
    }
}
