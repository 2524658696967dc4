//! Applies one [`Change`] to the table: a node, a complete reading, a deleted parent, or a hint
//! that moves contenders to another lock.
//!
//! # Order
//!
//! - A read of a node that replaces a known one at its path removes that one first, so that its end
//!   is reported before the arrival. A read that is older than what is known changes nothing.
//! - The end of a complete reading removes what was not seen, then finds the owners of leases, then
//!   determines the holders, and then proves since when they hold: each step needs the one before.
//!   The table is live only after that, so nothing is reported as if it happened now.
//! - A deleted parent loses each queue from its end, so that no contender seems to acquire whose
//!   node is gone too.
//!
//! # Hints
//!
//! When a [hint](Classifier::is_hint) appears or is deleted, the contenders beside it move to
//! another lock. `X/leases` turns the children of `X/locks` into a semaphore's queue. It is a
//! container: the server deletes it once it has been empty for a while, even if contenders wait in
//! `X/locks`, and the next client creates it again.
//!
//! A consumer of the events that tracks contenders per lock must not lose the waiters. So their old
//! lock is reported as gone, and they are reported as enqueued in the other one.
//!
//! # A new start
//!
//! The table of a recording goes on in place of an empty one, so that a new start forgets nothing.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::bounds::prove_holds;
use super::election::is_empty_election;
use super::hold::{FoundHolding, Hold, TransactionTimes};
use super::lock::key_of;
use super::parent::{ChildListing, Parent};
use super::placing::counting;
use super::table::{SyncPhase, without_candidates};
use super::{Change, ConnectionState, Contender, Deleter, Happening, LockEvent, LockId, LockTable, NO_SUCH_NODE};
use lockscope_base::recipe::{Classification, Classifier, LockKind, Role, is_never_reused};
use lockscope_base::znode::{Node, Sequence, Timestamp, ZnodePath, ZnodeStat, Zxid};

/// Returns when the server sent the information behind a change that arrived at `now`.
///
/// Returns `None` for changes that carry no such time: the loss of a connection is noticed only
/// after it happened, and a survey uses connections of its own.
fn server_sent_at(change: &Change, now: Timestamp) -> Option<Timestamp> {
    match change {
        Change::Connection(_)
        | Change::Surveyed { .. }
        | Change::Compared { .. }
        | Change::Crossed { .. }
        | Change::Muted { .. } => None,
        Change::Heard { at } => Some(now.min(*at)),
        _ => Some(now),
    }
}

/// Adds the transaction that deleted `node` to the events that report its release or departure.
fn note_transaction(out: &mut [Happening], node: &str, zxid: Option<Zxid>) {
    let is_end = |happening: &&mut Happening| matches!(happening.event, LockEvent::Released | LockEvent::Left);
    let ended = out.iter_mut().filter(is_end).filter(|happening| happening.node.as_deref() == Some(node));
    ended.for_each(|happening| happening.deleted_by = zxid);
}

impl LockTable {
    /// Applies one change and returns the events that follow from it.
    ///
    /// Takes time logarithmic in the number of contenders, with two exceptions: [`Change::Synced`]
    /// visits every contender, and the deletion of a parent visits each child whose own deletion
    /// was missed.
    ///
    /// Applying a change twice has no further effect. A read that is older than the known state of
    /// its node is ignored.
    ///
    /// The first complete reading reports no events for the locks that it finds: such a list would
    /// need as much memory as the locks themselves. [`locks`](Self::locks) returns them.
    pub fn apply(&mut self, change: Change, now: Timestamp) -> Vec<Happening> {
        let mut out = Vec::new();
        let was_live = self.is_live();
        if was_live {
            self.last_true = self.last_true.max(server_sent_at(&change, now));
        }
        let tells_time = matches!(change, Change::Surveyed { .. } | Change::Heard { .. });
        match change {
            Change::Seen { path, node } => self.seen(&path, node, now, &mut out),
            Change::Listed { path, stat } => self.listed(&path, &stat, now, &mut out),
            Change::Appeared { path } => self.appeared(&path, now, &mut out),
            Change::Deleted { path, zxid } => {
                let zxid = zxid.filter(|_| self.is_deleted_now(&path));
                self.deleted(&path, None, now, &mut out);
                note_transaction(&mut out, path.name(), zxid);
            }
            Change::DeletedBy { path, zxid, by } => {
                self.deleted(&path, Some(by), now, &mut out);
                note_transaction(&mut out, path.name(), Some(zxid));
            }
            Change::Sampled { path, stat } => self.sampled_parent(path, &stat, now),
            Change::Surveyed { view } => {
                let former = self.clients.surveyed(view);
                self.remember_who_waits(&former);
                if self.is_in_step() {
                    self.heads_surveyed(now, &mut out);
                }
                let settled = self.clients.take_settled(&former, now);
                self.settle(settled, now, &mut out);
                self.drop_old_without_parent(now, &mut out);
            }
            Change::Unreadable { path, why } => {
                self.lease_unreadable(&path, now, &mut out);
                self.drop_unread(&path, now, &mut out);
                self.unread_in_semaphores.remove(&path);
                self.refused |= why != NO_SUCH_NODE;
                self.unreadable.insert(path, why);
            }
            Change::Heard { .. } => {}
            Change::Compared { comparison } => self.compared = Some(comparison),
            Change::Crossed { waits } => self.crossed = Some(waits),
            Change::Muted { mutes } => self.mutes = mutes,
            Change::Connection(state) => self.connection_changed(state, now, &mut out),
            Change::Syncing => self.begin_sync(),
            Change::Synced => self.end_sync(now, &mut out),
        }
        if tells_time && self.is_in_step() {
            self.free_timed_locks(now, &mut out);
        }
        self.note_sight(was_live, now);
        self.note_waits(now);
        self.clients.name_clients(&mut out);
        self.elections.note(&out, &self.locks, &self.clients);
        self.note_runs(&out);
        out
    }

    /// Returns whether the deletion of a node at this path is that of the known contender. A
    /// contender that this reading has not seen yet may have gone during the cut, and another node
    /// may have had its name since.
    fn is_deleted_now(&self, path: &ZnodePath) -> bool {
        let contender = self.node(path).and_then(|(id, slot)| self.locks.get(&id)?.contender(slot as usize));
        is_never_reused(path.name()) || contender.is_none_or(|contender| contender.epoch == self.epoch)
    }

    fn connection_changed(&mut self, state: ConnectionState, now: Timestamp, out: &mut Vec<Happening>) {
        let is_connection = |state: &ConnectionState| {
            matches!(
                state,
                ConnectionState::Connected { .. } | ConnectionState::Overloaded { .. } | ConnectionState::Silent { .. }
            )
        };
        let (was_connected, is_connected) = (is_connection(&self.connection), is_connection(&state));
        let is_overload = |state: &ConnectionState| matches!(state, ConnectionState::Overloaded { .. });
        if is_overload(&state) && !is_overload(&self.connection) {
            if self.is_reporting() {
                self.phase = SyncPhase::Stale;
            }
            out.push(Happening::of_connection(LockEvent::Overloaded, now));
        }
        if was_connected && !is_connected {
            if self.is_reporting() {
                self.phase = SyncPhase::Stale;
            }
            out.push(Happening::of_connection(LockEvent::Disconnected, now));
            self.cut_reported = true;
        } else if is_connected && std::mem::take(&mut self.cut_reported) {
            out.push(Happening::of_connection(LockEvent::Reconnected, now));
        }
        if !is_connected {
            self.samples.clear();
        }
        if let ConnectionState::Connected { session, .. } = &state {
            self.session = Some(*session);
        }
        self.connection = state;
    }

    fn listed(&mut self, path: &ZnodePath, stat: &ZnodeStat, now: Timestamp, out: &mut Vec<Happening>) {
        self.unreadable.remove(path);
        let epoch = self.epoch;
        let parent = self.parents.entry(path.clone()).or_default();
        parent.epoch = epoch;
        parent.set_next_sequence(stat.next_sequence());
        parent.listing = Some(ChildListing::new(path, stat, epoch, parent.listing));
        for id in self.ids_queueing_at(path) {
            if let Some(lock) = self.locks.get_mut(&id) {
                lock.set_next_sequence(stat.next_sequence());
                self.touched.insert(id);
            }
        }
        self.leases_listed(path, now, out);
        self.note_empty_election(path, stat, now, out);
    }

    fn appeared(&mut self, path: &ZnodePath, now: Timestamp, out: &mut Vec<Happening>) {
        if !Classifier::is_hint(path) {
            self.lease_announced(path, now, out);
            self.contender_created(path, now, out);
            return;
        }
        self.note_hint(path, now, out);
    }

    fn seen(&mut self, path: &ZnodePath, node: Node, now: Timestamp, out: &mut Vec<Happening>) {
        self.unreadable.remove(path);
        self.unread_in_semaphores.remove(path);
        let place = self.classifier.classify(path).filter(|place| self.classifier.counts(path, place, &node.stat));
        let place = place.filter(|place| self.is_locked_now(place, &node, now, out));
        let Some(place) = place else {
            self.lease_unreadable(path, now, out);
            self.note_maximum(path, &node);
            self.drop_unread(path, now, out);
            if let Some((id, slot)) = self.node(path) {
                self.remove(path, id, slot, now, out);
            }
            return;
        };
        let known = self.node(path);
        if known.is_some_and(|(id, slot)| self.is_unread(id, slot)) {
            return self.unread_is_read(path, &place, node, now, out);
        }
        if let Some((id, slot)) = known {
            let Some(contender) = self.locks.get_mut(&id).and_then(|lock| lock.contender_mut(slot as usize)) else {
                return;
            };
            if node.stat.czxid < contender.czxid {
                return;
            }
            if node.stat.czxid == contender.czxid {
                contender.epoch = self.epoch;
                // A recording may have left the data out.
                let lacks_data = contender.data_length > 0 && contender.data.bytes().is_empty();
                if node.stat.mzxid > contender.mzxid() || lacks_data {
                    contender.take_data(node);
                    self.clients.sessions.changed(contender, place.recipe);
                    self.touched.insert(id);
                }
                self.mark_parent(path);
                return;
            }
            // An older node with the same path was known, so it must have been deleted in the
            // meantime.
            self.remove(path, id, slot, now, out);
        }
        self.add(path, &place, node, now, out);
    }

    /// Records a semaphore's maximum number of leases, which kazoo stores in the data of its parent
    /// node.
    fn note_maximum(&mut self, path: &ZnodePath, node: &Node) {
        let maximum = std::str::from_utf8(node.data.bytes()).ok().and_then(|text| text.trim().parse().ok());
        if !Classifier::hints_of(path).iter().any(|hint| self.hint_epochs.contains_key(hint)) {
            return;
        }
        let epoch = self.epoch;
        let parent = self.parents.entry(path.clone()).or_default();
        parent.epoch = epoch;
        parent.maximum = maximum;
        for id in self.ids_at(path) {
            if let Some(lock) = self.locks.get_mut(&id).filter(|lock| lock.kind() == LockKind::Semaphore) {
                lock.set_maximum(maximum);
                self.touched.insert(id);
            }
        }
    }

    fn deleted(&mut self, path: &ZnodePath, by: Option<Deleter>, now: Timestamp, out: &mut Vec<Happening>) {
        self.note_child_deleted(path);
        self.unreadable.remove(path);
        self.unread_in_semaphores.remove(path);
        let below = self.unreadable.range(path.child("")..).take_while(|(place, _)| place.is_within(path));
        for place in below.map(|(place, _)| place.clone()).collect::<Vec<_>>() {
            self.unreadable.remove(&place);
        }
        if let Some((id, slot)) = self.node(path) {
            self.note_deleted(path, id, slot);
            self.remove_by(path, (id, slot), by, now, out);
        } else {
            self.number_given(path);
            self.unread_node_gone(path, now, out);
            self.drop_free_below(path, now, out);
        }
        if self.parents.contains_key(path) {
            self.drop_parent(path, now, out);
        }
        self.forget_hint(path, now, out);
    }

    /// Marks the listing of the node's parent as disturbed by a deletion.
    ///
    /// During a complete reading, the parent's stat may be older than the deletion.
    fn note_child_deleted(&mut self, path: &ZnodePath) {
        if !self.is_syncing() {
            return;
        }
        let epoch = self.epoch;
        let parent = path.parent_str().and_then(|parent| self.parents.get_mut(parent));
        if let Some(listing) = parent.and_then(|parent| parent.listing.as_mut()) {
            (listing.epoch, listing.disturbed) = (epoch, true);
        }
    }

    /// Adds an election that was found without candidates. Its recipe shows once one comes.
    fn note_empty_election(&mut self, path: &ZnodePath, stat: &ZnodeStat, now: Timestamp, out: &mut Vec<Happening>) {
        if !self.ids_at(path).is_empty() || !is_empty_election(path, stat, self.elections.expectations()) {
            return;
        }
        let id = self.lock_of(&without_candidates(path), now, out);
        self.elections.note_found_empty(id, now);
    }

    fn begin_sync(&mut self) {
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
    fn end_sync(&mut self, now: Timestamp, out: &mut Vec<Happening>) {
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
        let times = TransactionTimes::of(&self.locks, &self.parents);
        let listing = |id| self.locks.get(&id).and_then(|lock| self.parents.get(lock.path())?.listing);
        self.elections.prove_emptiness(&times, &self.clients.clock, listing);
        prove_holds(&mut self.locks, &self.parents, &times, self.epoch, now);
        self.elections.note_watched(now);
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
    fn number_given(&mut self, path: &ZnodePath) {
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
    fn drop_parent(&mut self, path: &ZnodePath, now: Timestamp, out: &mut Vec<Happening>) {
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

/// The slots of moved contenders, by their new lock.
type Moved = BTreeMap<LockId, Vec<usize>>;

impl LockTable {
    /// Notes that a hint exists.
    fn note_hint(&mut self, hint: &ZnodePath, now: Timestamp, out: &mut Vec<Happening>) {
        self.hint_epochs.insert(hint.clone(), self.epoch);
        if self.classifier.add_hint(hint) {
            self.regroup(hint, now, out);
        }
    }

    /// Forgets a hint that was deleted and regroups its neighbours. As a parent, the node is
    /// dropped already.
    fn forget_hint(&mut self, hint: &ZnodePath, now: Timestamp, out: &mut Vec<Happening>) {
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
        self.clients.sessions.remove(&contender);
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

    /// Goes on with a recorded table in place of this one, which is empty: with its recipes and its
    /// expectations, for the locks below `roots` (all, if there are none). Holds, waits and the
    /// departures of candidates are known from then on, as after a cut of the connection.
    ///
    /// Locks elsewhere, and nodes that are no contenders by the recipes, are left out. Returns the
    /// empty table where nothing was read in the recording, or where other nodes were named as locks.
    #[must_use]
    pub fn resuming(self, recorded: Self, roots: &[ZnodePath]) -> Self {
        if !recorded.is_reporting() || !self.classifier.names_as(&recorded.classifier) {
            return self;
        }
        let table = Self { phase: SyncPhase::Stale, cut_reported: false, ..recorded };
        let mut table = table.with_recipes(self.own_recipes()).with_expectations(self.elections.expectations());
        table.clients.named = self.clients.named;
        table.connection = ConnectionState::default();
        // What the servers said then is no answer of now.
        (table.clients.view, table.clients.pending_ends) = (Arc::default(), Box::default());
        (table.compared, table.crossed, table.mutes) = (None, None, Arc::default());
        table.samples.clear();
        table.leave_out(|table, path| {
            let is_below = roots.is_empty() || roots.iter().any(|root| path.is_within(root));
            !is_below || table.classifier.classify(path).is_none()
        });
        table
    }

    /// Drops the parents of contenders of which one is left out, without a report.
    fn leave_out(&mut self, is_left_out: impl Fn(&Self, &ZnodePath) -> bool) {
        let is_gone = |path: &ZnodePath| {
            let children = self.parents.get(path).map(|parent| parent.children.iter(&self.locks));
            children.into_iter().flatten().any(|(name, _)| is_left_out(self, &path.child(name)))
        };
        let gone: Vec<ZnodePath> = self.parents.keys().filter(|path| is_gone(path)).cloned().collect();
        let at = self.last_true.unwrap_or(Timestamp(0));
        for path in gone {
            self.drop_parent(&path, at, &mut Vec::new());
        }
    }
}
