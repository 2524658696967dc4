//! Which locks stand where, and how they are named apart.

use super::lock_name::key_of;
use super::table::SyncPhase;
use super::{Happening, LockEvent, LockId, LockQueue, LockTable};
use lockscope_base::recipe::{Classification, Classifier, LockKind};
use lockscope_base::znode::{Timestamp, ZnodePath};

impl LockTable {
    /// Whether what changes now happens before somebody's eyes; what the first reading finds had happened before.
    pub fn is_reporting(&self) -> bool {
        !matches!(self.phase, SyncPhase::Never | SyncPhase::Syncing { again: false })
    }

    pub(super) fn mark_parent(&mut self, path: &ZnodePath) {
        let epoch = self.epoch;
        if let Some(parent) = path.parent_str().and_then(|parent| self.parents.get_mut(parent)) {
            parent.epoch = epoch;
        }
    }

    /// The lock to which a place belongs, made when it is new.
    pub(super) fn lock_of(&mut self, place: &Classification, now: Timestamp, out: &mut Vec<Happening>) -> LockId {
        let key = key_of(place);
        if let Some(id) = self.names.get(&key) {
            return *id;
        }
        let id = LockId(self.next_id);
        self.next_id += 1;
        // Each path is kept once: the parent's.
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

    /// A contender came to a lock or left it: gives the queues of its parent their names, unless the lock has others, or had some
    /// before.
    pub(super) fn name_apart_if_first_or_last(&mut self, id: LockId) {
        // A semaphore's client may be hidden when it comes.
        if self.lock(id).is_some_and(|lock| lock.len() <= 1 || lock.kind() == LockKind::Semaphore) {
            self.name_apart(id);
        }
    }

    /// Gives the queues of one parent their names when there are several that have contenders, and takes
    /// them away when there is one.
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

    /// The locks at a path that stand for a parent, not for a single node.
    pub(super) fn ids_at(&self, path: &ZnodePath) -> Vec<LockId> {
        self.locks_at(path).filter(|lock| lock.kind() != LockKind::SingleNode).map(LockQueue::id).collect()
    }

    /// The locks whose queue stands below a parent: those at its path, and the semaphore of which it is a part.
    pub(super) fn ids_queueing_at(&self, parent: &ZnodePath) -> Vec<LockId> {
        let semaphores = Classifier::hints_beside(parent).into_iter().filter_map(|hint| Classifier::lock_of(&hint));
        let paths = semaphores.chain([parent.clone()]);
        let ids = paths.flat_map(|path| self.ids_at(&path));
        ids.filter(|id| self.locks.get(id).is_some_and(|lock| lock.queue_path() == *parent)).collect()
    }
}
