//! Finds the locks at a path, and names several queues of one parent apart.

use super::lock_name::key_of;
use super::table::SyncPhase;
use super::{Happening, LockEvent, LockId, LockQueue, LockTable};
use lockscope_base::recipe::{Classification, Classifier, LockKind};
use lockscope_base::znode::{Timestamp, ZnodePath};

impl LockTable {
    /// Returns whether changes are reported as events. What the first complete reading finds
    /// happened before anybody watched, so it is not reported.
    pub fn is_reporting(&self) -> bool {
        !matches!(self.phase, SyncPhase::Never | SyncPhase::Syncing { again: false })
    }

    pub(super) fn mark_parent(&mut self, path: &ZnodePath) {
        let epoch = self.epoch;
        if let Some(parent) = path.parent_str().and_then(|parent| self.parents.get_mut(parent)) {
            parent.epoch = epoch;
        }
    }

    /// Returns the lock at a place, creating it if needed.
    pub(super) fn lock_of(&mut self, place: &Classification, now: Timestamp, out: &mut Vec<Happening>) -> LockId {
        let key = key_of(place);
        if !self.names.contains_key(&key) {
            self.take_over_empty_election(place);
        }
        if let Some(id) = self.names.get(&key) {
            return *id;
        }
        let id = LockId(self.next_id);
        self.next_id += 1;
        // Shares the parent's copy of the path, so that memory holds each path once.
        let path = self.parents.get_key_value(&place.lock).map_or(&place.lock, |(path, _)| path).clone();
        let key = (path.clone(), key.1, key.2);
        let mut lock = LockQueue::new(id, path, key.2.clone(), place.family());
        lock.set_maximum(self.parents.get(&place.lock).and_then(|parent| parent.maximum));
        if let Some(handover) = self.announced.remove(&key) {
            lock.rare_mut().handover = Some(handover);
        }
        if self.is_reporting() {
            out.push(Happening::new(LockEvent::LockFound, &lock, None, now));
        }
        self.names.insert(key, id);
        self.locks.insert(id, Box::new(lock));
        self.touched.insert(id);
        id
    }

    /// Updates the names of a parent's queues after a contender joined or left a lock. Does nothing
    /// if the lock has other contenders or had some before.
    pub(super) fn name_apart_if_first_or_last(&mut self, id: LockId) {
        // The client of a semaphore may be hidden when it arrives.
        if self.lock(id).is_some_and(|lock| lock.len() <= 1 || lock.family().has_lease_nodes()) {
            self.name_apart(id);
        }
    }

    /// Names the queues of a parent if several of them have contenders, and removes the names
    /// otherwise.
    pub(super) fn name_apart(&mut self, id: LockId) {
        let Some(path) =
            self.locks.get(&id).filter(|lock| lock.kind() != LockKind::SingleNode).map(|lock| lock.path().clone())
        else {
            return;
        };
        let here = self.ids_at(&path);
        let used = here.iter().filter(|id| self.locks.get(id).is_some_and(|lock| !lock.is_empty()));
        let several = used.count() > 1;
        for id in here {
            if let Some(lock) = self.locks.get_mut(&id)
                && lock.several != several
            {
                lock.several = several;
                self.touched.insert(id);
            }
        }
    }

    /// Returns the locks at a path that stand for a parent. Single-node locks are left out.
    pub(super) fn ids_at(&self, path: &ZnodePath) -> Vec<LockId> {
        self.locks_at(path).filter(|lock| lock.kind() != LockKind::SingleNode).map(LockQueue::id).collect()
    }

    /// Returns the locks whose queue stands below a parent: those at its path, and the semaphore
    /// that the parent belongs to.
    pub(super) fn ids_queueing_at(&self, parent: &ZnodePath) -> Vec<LockId> {
        let semaphores = Classifier::hints_beside(parent).into_iter().filter_map(|hint| Classifier::lock_of(&hint));
        let paths = semaphores.chain([parent.clone()]);
        let ids = paths.flat_map(|path| self.ids_at(&path));
        ids.filter(|id| self.locks.get(id).is_some_and(|lock| lock.queue_path() == *parent)).collect()
    }
}
