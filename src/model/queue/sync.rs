//! Changes that affect many nodes: complete readings, and parents that are deleted with their
//! children.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::NO_SUCH_NODE;
use super::hold::{FoundHolding, Hold};
use super::parent::Parent;
use super::placing::counting;
use super::table::SyncPhase;
use super::{Contender, Happening, LockEvent, LockId, LockTable};
use lockscope_base::recipe::{LockKind, Role};
use lockscope_base::znode::{Sequence, Timestamp, ZnodePath};

impl LockTable {
    pub(super) fn begin_sync(&mut self) {
        let again = !matches!(self.phase, SyncPhase::Never | SyncPhase::Syncing { again: false });
        self.phase = SyncPhase::Syncing { again };
        if let Some(last_true) = self.last_true {
            // An interrupted reading may have added contenders that were there before.
            let is_known =
                |contender: &Contender| contender.enqueued_at().is_some() || contender.hold.not_at().is_some();
            self.locks.values_mut().for_each(|lock| lock.wait_at(last_true, is_known));
        }
        self.epoch = self.epoch.wrapping_add(1);
        self.unreadable.clear();
        self.refused = false;
        self.begin_handovers_reading();
    }

    /// Ends a complete reading: removes what was not seen, and determines the holders.
    pub(super) fn end_sync(&mut self, now: Timestamp, out: &mut Vec<Happening>) {
        let SyncPhase::Syncing { again } = self.phase else { return };
        self.sweep(now, out);
        let mut found = self.end_handovers_reading(now, out);
        let ids: Vec<LockId> = self.names.values().copied().collect();
        for id in ids {
            let Some(lock) = self.locks.get_mut(&id) else { continue };
            let mut acquired = Vec::new();
            let holding = lock.holding();
            // The acquisition was missed, so its time is unknown.
            let hold = Hold::Found(FoundHolding { at: now, proven: None });
            counting(&mut self.contenders, lock, |lock| {
                lock.update_all_holders(hold, |contender| {
                    acquired.extend((again && !contender.returned).then(|| contender.clone()));
                });
            });
            lock.wait_at(now, |_| true);
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
        self.elections_watched(now);
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
            // A node that may no longer be read may still exist. It leaves the table without a
            // report.
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
        // Below a root that does not exist there is nothing.
        let is_hidden = |place: ZnodePath| self.unreadable.get(&place).is_some_and(|why| why != NO_SUCH_NODE);
        !self.unreadable.is_empty() && above.into_iter().any(is_hidden)
    }

    /// Notes the sequence number of a contender whose node was deleted before it could be read. The
    /// server does not assign this number again.
    ///
    /// A name that only counts for ephemeral nodes proves nothing: it may have ended in a date.
    pub(super) fn number_given(&mut self, path: &ZnodePath) {
        let contender =
            self.classifier.classify(path).filter(|found| found.role == Role::Queue && !found.needs_ephemeral());
        let Some(Sequence(number)) = contender.and_then(|found| found.sequence) else { return };
        let Some(parent) = path.parent() else { return };
        let next = Some(i64::from(number) + 1);
        // The parent may be unknown if none of the other children was read yet.
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

    /// Drops a deleted parent with all its children, reported or not.
    pub(super) fn drop_parent(&mut self, path: &ZnodePath, now: Timestamp, out: &mut Vec<Happening>) {
        let Some(Parent { children, .. }) = self.parents.get(path) else { return };
        let mut left: Vec<_> = children.iter(&self.locks).map(|(name, at)| (path.child(name), at)).collect();
        // Each queue is removed from its end, so that no contender seems to acquire whose node is
        // gone too.
        left.sort_by_cached_key(|(child, (id, slot))| {
            let position = self.locks.get(id).and_then(|lock| lock.position_of_slot(*slot as usize));
            (*id, Reverse(position), child.clone())
        });
        for (child, (id, slot)) in left {
            self.remove(&child, id, slot, now, out);
        }
        self.parents.remove(path);
        for id in self.ids_at(path) {
            self.drop_lock_if_gone(id, now, out);
        }
    }
}
