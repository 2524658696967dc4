//! Inserts contenders into the order, removes them, and determines the holders.

use slab::Slab;

use super::hold::Hold;
use super::order::RankedKeys;
use super::{Contender, LockQueue};
use lockscope_base::recipe::{RequestMode, Role};
use lockscope_base::znode::Timestamp;

/// A lock reserves room for at most its number of contenders divided by this.
const SPARE_FRACTION: usize = 8;

impl LockQueue {
    /// Inserts a contender and returns its slot. [`Self::update_holders`] determines its state.
    pub(super) fn insert(&mut self, contender: Contender) -> usize {
        self.order_changes();
        let (role, mode, returned) = (contender.role, contender.mode, contender.returned);
        if self.contenders.len() == self.contenders.capacity() {
            // A plain `insert` would double the memory.
            self.contenders.reserve_exact(1 + self.contenders.len() / SPARE_FRACTION);
        }
        let slot = self.contenders.insert(contender);
        let key = self.key(slot);
        self.order.insert(key);
        if mode == RequestMode::Read {
            self.reader_came(key);
        }
        if role == Role::Lease {
            self.rare_mut().leases += 1;
        }
        if returned {
            self.rare_mut().returned += 1;
        }
        slot
    }

    /// Changes a contender in a way that may change its place. [`Self::update_holders`] determines
    /// its state.
    pub(super) fn change_place(&mut self, slot: usize, change: impl FnOnce(&mut Contender)) {
        self.order_changes();
        let before = self.key(slot);
        change(&mut self.contenders[slot]);
        let after = self.key(slot);
        let replace = |keys: &mut RankedKeys| {
            if keys.get(keys.rank(before)) == Some(before) {
                keys.remove(before);
                keys.insert(after);
            }
        };
        replace(&mut self.order);
        self.readers_mut().map(replace);
    }

    /// Removes a contender.
    pub(super) fn remove(&mut self, slot: usize) -> Option<Contender> {
        if !self.contenders.contains(slot) {
            return None;
        }
        self.order_changes();
        let key = self.key(slot);
        self.order.remove(key);
        if let Some(readers) = self.readers_mut() {
            readers.remove(key);
        }
        let contender = self.contenders.remove(slot);
        if let Some(rare) = &mut self.rare {
            rare.leases -= usize::from(contender.role == Role::Lease);
            rare.returned -= usize::from(contender.returned);
        }
        if contender.holds() {
            self.holding = self.holding.saturating_sub(1);
        }
        if self.contenders.is_empty() {
            // Frees the memory of a queue that was once long.
            self.contenders = Slab::new();
        }
        Some(contender)
    }

    /// Frees the memory that a complete reading left over, once the number of contenders is known.
    pub(super) fn release_spare_memory(&mut self) {
        if self.contenders.capacity() > self.contenders.len() + 1 + self.contenders.len() / SPARE_FRACTION {
            self.contenders.shrink_to_fit();
        }
        self.order.release_spare_memory();
        if let Some(readers) = self.readers_mut() {
            readers.release_spare_memory();
        }
    }

    /// Determines the holders after one contender came (to the slot `came`) or went.
    ///
    /// Calls `acquired` for each new holder; `hold` is recorded for it. Holders always come first,
    /// before and after. So only the contenders between the old and the new end, and the one that
    /// came, can have changed.
    pub(super) fn update_holders(&mut self, came: Option<usize>, hold: Hold, acquired: impl FnMut(&Contender)) {
        self.order_changed();
        let (before, now) = (self.holding(), self.count_holders());
        let changed = before.min(now)..(before.max(now) + 1);
        let came = came.and_then(|slot| self.position_of_slot(slot)).filter(|position| !changed.contains(position));
        self.mark(came.into_iter().chain(changed), now, hold, acquired);
    }

    /// Determines the holders after any number of contenders came or went. Linear in the queue.
    pub(super) fn update_all_holders(&mut self, hold: Hold, acquired: impl FnMut(&Contender)) {
        self.order_changed();
        self.mark(0..self.len(), self.count_holders(), hold, acquired);
    }

    /// Notes that those who wait did not hold at this time. A reading may add contenders that were
    /// not seen before: it is known of those for which `is_known` holds.
    pub(super) fn wait_at(&mut self, at: Timestamp, is_known: impl Fn(&Contender) -> bool) {
        for position in self.holding()..self.len() {
            let Some(key) = self.order.get(position) else { continue };
            let contender = &mut self.contenders[key.slot as usize];
            if !contender.hold.is_held() && is_known(contender) {
                contender.hold = Hold::NotAt(at);
            }
        }
    }

    fn mark(
        &mut self,
        positions: impl Iterator<Item = usize>,
        now: usize,
        hold: Hold,
        mut acquired: impl FnMut(&Contender),
    ) {
        let any_returned = self.returned() > 0;
        for position in positions {
            let Some(key) = self.order.get(position) else { continue };
            let contender = &mut self.contenders[key.slot as usize];
            match (position < now, contender.holds()) {
                // The contender held all along, and its acquisition was reported.
                (true, false) if contender.displaced => contender.displaced = false,
                (true, false) => {
                    contender.hold = hold.following(contender.hold);
                    acquired(contender);
                }
                (false, true) if any_returned && !contender.returned => contender.displaced = true,
                (false, true) => contender.hold = Hold::No,
                _ => {}
            }
        }
        self.holding = u32::try_from(now).unwrap_or(u32::MAX);
    }
}
