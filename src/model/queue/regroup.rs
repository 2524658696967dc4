//! Moves contenders to another lock when a [hint](Classifier::is_hint) beside them appears or is
//! deleted.
//!
//! `X/leases` turns the children of `X/locks` into a semaphore's queue. It is a container: the
//! server deletes it once it has been empty for a while, even if contenders wait in `X/locks`, and
//! the next client creates it again.
//!
//! A consumer of the events that tracks contenders per lock must not lose the waiters. So their old
//! lock is reported as gone, and they are reported as enqueued in the other one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::hold::Hold;
use super::lock_name::key_of;
use super::placing::counting;
use super::{Happening, LockEvent, LockId, LockTable};
use lockscope_base::recipe::{Classification, Classifier};
use lockscope_base::znode::{Timestamp, ZnodePath};

/// The slots of moved contenders, by their new lock.
type Moved = BTreeMap<LockId, Vec<usize>>;

impl LockTable {
    /// Notes that a hint exists.
    pub(super) fn note_hint(&mut self, hint: &ZnodePath, now: Timestamp, out: &mut Vec<Happening>) {
        self.hint_epochs.insert(hint.clone(), self.epoch);
        if self.classifier.add_hint(hint) {
            self.regroup(hint, now, out);
        }
    }

    /// Forgets a hint that was deleted and regroups its neighbours. As a parent, the node is
    /// dropped already.
    pub(super) fn forget_hint(&mut self, hint: &ZnodePath, now: Timestamp, out: &mut Vec<Happening>) {
        if self.classifier.forget(hint) {
            self.hint_epochs.remove(hint);
            self.regroup(hint, now, out);
        }
    }

    /// Moves each neighbour of a hint to the lock where it belongs now. Linear in the neighbours.
    fn regroup(&mut self, hint: &ZnodePath, now: Timestamp, out: &mut Vec<Happening>) {
        let (mut moved, mut left) = (Moved::new(), BTreeSet::new());
        for parent in Classifier::regrouped_by(hint) {
            for (to, slot) in self.place_unread_below(&parent, now, out) {
                moved.entry(to).or_default().push(slot);
            }
            let Some(known) = self.parents.get(&parent) else { continue };
            let children = known.children.iter(&self.locks);
            let nodes: BTreeMap<_, _> = children.map(|(name, at)| (Arc::clone(name), at)).collect();
            for (name, (from, slot)) in nodes {
                let path = parent.child(&name);
                let place = self.classifier.classify(&path);
                if place.as_ref().is_some_and(|place| self.names.get(&key_of(place)) == Some(&from)) {
                    continue;
                }
                left.insert(from);
                if let Some((to, slot)) = self.move_contender(&path, from, slot, place.as_ref(), now, out) {
                    moved.entry(to).or_default().push(slot);
                }
            }
        }
        let of_hint = Classifier::lock_of(hint).map_or_else(Vec::new, |lock| self.ids_at(&lock));
        for id in left.into_iter().chain(of_hint) {
            self.settle_after_move(id, now, out);
            self.drop_lock_if_gone(id, now, out);
        }
        for (id, slots) in moved {
            self.report_moved(id, &slots, now, out);
            self.name_apart(id);
        }
    }

    /// Moves a contender to the lock at `place`. Returns `None` if the node is no contender there.
    fn move_contender(
        &mut self,
        path: &ZnodePath,
        from: LockId,
        slot: u32,
        place: Option<&Classification>,
        now: Timestamp,
        out: &mut Vec<Happening>,
    ) -> Option<(LockId, usize)> {
        let lock = self.locks.get_mut(&from)?;
        let mut contender = counting(&mut self.contenders, lock, |lock| lock.remove(slot as usize))?;
        self.sessions.remove(&contender);
        self.touched.insert(from);
        if let Some(parent) = path.parent_str().and_then(|parent| self.parents.get_mut(parent)) {
            parent.children.remove(path.name());
        }
        let place = place?;
        contender.role = place.role;
        contender.mode = place.mode;
        if contender.holds() {
            contender.hold = Hold::No;
        }
        let to = self.lock_of(place, now, out);
        Some((to, self.place_contender(path, to, contender)))
    }

    /// Reports contenders that came from another lock, in queue order, and their acquisitions.
    /// [Returned](super::Contender::returned) contenders are left out: they were reported as gone.
    fn report_moved(&mut self, id: LockId, slots: &[usize], now: Timestamp, out: &mut Vec<Happening>) {
        let Some(lock) = self.locks.get(&id).filter(|_| self.is_reporting()) else { return };
        let mut moved: Vec<_> = slots.iter().filter_map(|slot| lock.contender(*slot)).collect();
        moved.retain(|contender| !contender.returned);
        moved.sort_by_key(|contender| (contender.sequence, contender.czxid));
        out.extend(moved.into_iter().map(|contender| Happening::new(LockEvent::Enqueued, lock, Some(contender), now)));
        self.settle_after_move(id, now, out);
    }

    /// Updates and reports the holders after several contenders moved. During a complete reading
    /// this waits for its end.
    fn settle_after_move(&mut self, id: LockId, now: Timestamp, out: &mut Vec<Happening>) {
        let is_live = self.is_in_step();
        let Some(lock) = self.locks.get_mut(&id).filter(|_| is_live) else { return };
        let mut acquired = Vec::new();
        counting(&mut self.contenders, lock, |lock| {
            lock.update_all_holders(Hold::Acquired(now), |contender| acquired.push(contender.clone()));
        });
        for contender in acquired.into_iter().filter(|contender| !contender.returned) {
            self.acquires(id, &contender, now, out);
        }
    }
}
