//! Drops locks that no node in the tree stands for any more.

use super::{Happening, LockEvent, LockId, LockTable};
use lockscope_base::recipe::{Classifier, LockKind, Recipe};
use lockscope_base::znode::{Timestamp, ZnodePath};

impl LockTable {
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
        if !self.keep_without_parent(id, now) {
            self.drop_lock(id, now, out);
        } else if self.has_too_many_without_parent() {
            self.drop_old_without_parent(now, out);
        }
    }

    /// Drops the elections that have been without a parent for long.
    pub(super) fn drop_old_without_parent(&mut self, now: Timestamp, out: &mut Vec<Happening>) {
        for id in self.old_without_parent(now) {
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

    pub(super) fn drop_lock(&mut self, id: LockId, now: Timestamp, out: &mut Vec<Happening>) {
        self.end_handover(id, now, out);
        let Some(lock) = self.locks.remove(&id) else { return };
        self.names.remove(&lock.key_in_table());
        self.touched.insert(id);
        if self.is_reporting() {
            out.push(Happening::new(LockEvent::LockGone, &lock, None, now));
        }
    }
}
