//! Whether the parts of a table agree: those of one that was read from a file may not.

use slab::Slab;

use super::order::{OrderKey, RankedKeys};
use super::{Contender, LockQueue, LockTable};

impl LockTable {
    /// Whether everything that refers to something finds it. A table that only [`apply`](Self::apply) has changed is consistent; one
    /// that was deserialized is used only if it is. Linear in the number of contenders.
    pub fn is_consistent(&self) -> bool {
        let locks = self.locks.iter().all(|(id, lock)| lock.id() == *id && lock.is_consistent() && id.0 < self.next_id);
        let names = self.names.iter().all(|(name, id)| self.lock(*id).is_some_and(|lock| lock.key_in_table() == *name));
        let nodes = self.parents.values().flat_map(|parent| parent.nodes.iter());
        let contenders = self.locks.values().map(|lock| lock.contenders.len()).sum::<usize>();
        locks
            && names
            && self.names.len() == self.locks.len()
            && self.contenders <= contenders
            && nodes
                .into_iter()
                .all(|(_, (id, slot))| self.lock(id).is_some_and(|lock| lock.contenders.contains(slot as usize)))
    }
}

impl LockQueue {
    fn is_consistent(&self) -> bool {
        let hidden = self.hidden().into_iter().all(|key| is_in(&self.contenders, key));
        let all_in = |keys: &RankedKeys| keys.iter().all(|key| is_in(&self.contenders, key));
        let found = self
            .handover
            .as_ref()
            .is_none_or(|handover| handover.found().iter().all(|slot| self.contenders.contains(*slot)));
        hidden
            && found
            && all_in(&self.order)
            && all_in(self.readers())
            && self.readers().len() <= self.order.len()
            && self.leases <= self.order.len()
            && self.holding <= self.order.len()
            && self.returned <= self.contenders.len()
    }
}

fn is_in(contenders: &Slab<Contender>, key: OrderKey) -> bool {
    contenders.contains(key.slot as usize)
}
