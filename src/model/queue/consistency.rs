//! Checks whether the parts of a table agree. A table that was read from a file may be damaged.

use super::children::{Children, is_searched};
use super::order::OrderKey;
use super::{Contender, LockQueue, LockTable};
use lockscope_base::recipe::{LockKind, RequestMode, Role};
use lockscope_base::znode::ZnodePath;

impl LockTable {
    /// Recounts the contenders. Linear in the number of locks.
    ///
    /// Earlier versions counted a semaphore's client twice while it had two nodes, also in
    /// recordings.
    pub fn recount(&mut self) {
        self.contenders = self.locks.values().map(|lock| lock.len()).sum();
    }

    /// Returns whether every reference in the table has a target. Linear in the number of
    /// contenders.
    ///
    /// A table that only [`apply`](Self::apply) has changed is consistent. A deserialized table is
    /// used only if it is consistent.
    pub fn is_consistent(&self) -> bool {
        let locks = self.locks.iter().all(|(id, lock)| lock.id() == *id && lock.is_consistent() && id.0 < self.next_id);
        let names = self.names.iter().all(|(name, id)| self.lock(*id).is_some_and(|lock| lock.key_in_table() == *name));
        let nodes = self.parents.values().flat_map(|parent| parent.children.iter(&self.locks));
        let parents = self.parents.iter().all(|(path, parent)| self.is_parent_consistent(path, &parent.children));
        locks
            && names
            && parents
            && self.names.len() == self.locks.len()
            && nodes
                .into_iter()
                .all(|(_, (id, slot))| self.lock(id).is_some_and(|lock| lock.contenders.contains(slot as usize)))
    }

    fn is_parent_consistent(&self, path: &ZnodePath, children: &Children) -> bool {
        let Children::OfLock(id) = children else { return true };
        let stands_below = |lock: &LockQueue| match lock.family().kind() {
            LockKind::SingleNode => lock.path().parent_str() == Some(path.as_str()),
            _ => lock.path() == path,
        };
        id.0 < self.next_id && self.lock(*id).is_none_or(|lock| is_searched(lock) && stands_below(lock))
    }
}

impl LockQueue {
    fn is_consistent(&self) -> bool {
        let hidden = self.hidden();
        let is_in_place =
            |key: OrderKey| self.contenders.contains(key.slot as usize) && self.key(key.slot as usize) == key;
        let found =
            self.handover().is_none_or(|handover| handover.found().iter().all(|slot| self.contenders.contains(*slot)));
        let count = |counts: fn(&Contender) -> bool| self.contenders.iter().filter(|(_, found)| counts(found)).count();
        found
            && hidden.into_iter().chain(self.order.iter()).all(is_in_place)
            && hidden.is_none_or(|hidden| self.order.get(self.order.rank(hidden)) != Some(hidden))
            && self.order.len() + usize::from(hidden.is_some()) == self.contenders.len()
            && self.readers().iter().all(|key| is_in_place(key) && self.is_reader(key))
            && self.readers().len() == count(|contender| contender.mode == RequestMode::Read)
            && self.leases() == count(|contender| contender.role == Role::Lease)
            && self.returned() == count(|contender| contender.returned)
            && self.holding() <= self.order.len()
    }
}
