//! What spans many nodes: reading everything anew, locks that come and go.

use std::collections::BTreeSet;

use super::hold::{FoundHolding, Hold};
use super::lock_name::key_of;
use super::parent::Parent;
use super::placing::counting;
use super::table::SyncPhase;
use super::{Happening, LockEvent, LockId, LockQueue, LockTable};
use lockscope_base::recipe::{Classification, Classifier, LockKind, Recipe, Role};
use lockscope_base::znode::{Sequence, Timestamp, ZnodePath};

impl LockTable {
    pub(super) fn begin_sync(&mut self) {
        let again = !matches!(self.phase, SyncPhase::Never | SyncPhase::Syncing { again: false });
        self.phase = SyncPhase::Syncing { again };
        self.epoch = self.epoch.wrapping_add(1);
        self.unreadable.clear();
        self.refused = false;
        self.begin_handovers_reading();
    }

    /// Everything was read: what was not seen is gone, and what is there is settled.
    pub(super) fn end_sync(&mut self, now: Timestamp, out: &mut Vec<Happening>) {
        let SyncPhase::Syncing { again } = self.phase else { return };
        self.sweep(now, out);
        let mut found = self.end_handovers_reading(now, out);
        let ids: Vec<LockId> = self.names.values().copied().collect();
        for id in ids {
            let Some(lock) = self.locks.get_mut(&id) else { continue };
            let mut acquired = Vec::new();
            let holding = lock.holding();
            // It was missed: when it was is not known.
            let hold = Hold::Found(FoundHolding { at: now, proven: None });
            counting(&mut self.contenders, lock, |lock| {
                lock.settle_all(hold, |contender| {
                    acquired.extend((again && !contender.returned).then(|| contender.clone()));
                });
            });
            lock.release_spare_memory();
            if lock.holding() != holding {
                self.touched.insert(id);
            }
            if !again {
                continue;
            }
            for slot in found.remove(&id).into_iter().flatten() {
                let comes = lock.contender(slot).filter(|lease| lease.queued().is_none());
                if let Some(lease) = comes {
                    out.push(Happening::new(LockEvent::Enqueued, lock, Some(lease), now));
                }
            }
            for contender in acquired {
                out.push(Happening::new(LockEvent::Acquired, lock, Some(&contender), now));
                self.touched.insert(id);
            }
        }
        if again {
            out.push(Happening::of_connection(LockEvent::Resynced, now));
        }
        self.prove_holds(now);
        self.samples.clear();
        self.phase = SyncPhase::Live;
        self.last_true = Some(now);
    }

    fn sweep(&mut self, now: Timestamp, out: &mut Vec<Happening>) {
        let epoch = self.epoch;
        let (mut gone, mut quiet) = (Vec::new(), Vec::new());
        for (path, parent) in &self.parents {
            for (name, (id, slot)) in parent.children.iter(&self.locks) {
                let seen = self.locks.get(&id).and_then(|lock| lock.contender(slot as usize)).map(|found| found.epoch);
                if seen != Some(epoch) {
                    gone.push((path.child(name), id, slot));
                }
            }
        }
        gone.sort();
        for (path, id, slot) in gone {
            // What may no longer be read is not known to be gone: it only leaves the table.
            let is_known = !self.is_unreadable(&path);
            if !self.refused {
                self.note_deleted(&path, id, slot);
            }
            self.remove(&path, id, slot, now, if is_known { &mut *out } else { &mut quiet });
        }
        let stale = self.parents.iter().filter(|(_, parent)| parent.epoch != epoch).map(|(path, _)| path.clone());
        for path in stale.collect::<BTreeSet<_>>() {
            self.drop_parent(&path, now, out);
        }
        let stale = self.hint_epochs.iter().filter(|(_, seen)| **seen != epoch).map(|(path, _)| path.clone());
        for hint in stale.collect::<BTreeSet<_>>() {
            self.forget_hint(&hint, now, out);
        }
    }

    fn is_unreadable(&self, path: &ZnodePath) -> bool {
        let above = std::iter::successors(Some(path.clone()), ZnodePath::parent);
        !self.unreadable.is_empty() && above.into_iter().any(|place| self.unreadable.contains_key(&place))
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

    /// Drops an empty lock when nothing in the tree stands for it any more.
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
        if !stands {
            self.drop_lock(id, now, out);
        }
    }

    /// Whether what stands below this parent is the queue of a semaphore, not a lock of its own.
    fn is_part_of_semaphore(&self, parent: &ZnodePath) -> bool {
        Classifier::hints_beside(parent).iter().any(|hint| self.hint_epochs.contains_key(hint))
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

    /// A contender's node was created and deleted before it could be read: its number is not given again. A name that only an
    /// ephemeral node makes a contender's proves nothing: it may have ended in a date.
    pub(super) fn number_given(&mut self, path: &ZnodePath) {
        let contender =
            self.classifier.classify(path).filter(|found| found.role == Role::Queue && !found.needs_ephemeral());
        let Some(Sequence(number)) = contender.and_then(|found| found.sequence) else { return };
        let Some(parent) = path.parent() else { return };
        let next = Some(i64::from(number) + 1);
        // None of the others may have been read yet either.
        let epoch = self.epoch;
        let known = self.parents.entry(parent.clone()).or_insert_with(|| Parent::new(epoch));
        if known.next_sequence() >= next {
            return;
        }
        known.set_next_sequence(next);
        for id in self.ids_queueing_at(&parent) {
            if let Some(lock) = self.locks.get_mut(&id).filter(|lock| lock.kind() != LockKind::SingleNode) {
                lock.set_next_sequence(next);
                self.touched.insert(id);
            }
        }
    }

    /// The single-node locks below a node that is gone are gone, too. Logarithmic where there are none.
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
