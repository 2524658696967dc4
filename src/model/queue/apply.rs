//! Applies one [`Change`] to the table.

use super::NO_SUCH_NODE;
use super::parent::Listing;
use super::table::SyncPhase;
use super::{Change, ConnectionState, Deleter, Happening, LockEvent, LockTable};
use lockscope_base::recipe::{Classifier, LockKind, is_never_reused};
use lockscope_base::znode::{Node, Timestamp, ZnodePath, ZnodeStat, Zxid};

/// Returns when the server sent the information behind a change that arrived at `now`.
///
/// Returns `None` for two changes that carry no such time: the loss of a connection is noticed only
/// after it happened, and a survey uses connections of its own.
fn server_sent_at(change: &Change, now: Timestamp) -> Option<Timestamp> {
    match change {
        Change::Connection(_) | Change::Surveyed { .. } | Change::Compared { .. } => None,
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
                let former = self.surveyed(view);
                if self.is_in_step() {
                    self.heads_surveyed(now, &mut out);
                }
                self.settle_ends(&former, now, &mut out);
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
            Change::Connection(state) => self.connection_changed(state, now, &mut out),
            Change::Syncing => self.begin_sync(),
            Change::Synced => self.end_sync(now, &mut out),
        }
        if tells_time && self.is_in_step() {
            self.free_timed_locks(now, &mut out);
        }
        self.note_sight(was_live, now);
        self.name_clients(&mut out);
        self.note_elections(&out);
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
        parent.listing = Some(Listing::new(path, stat, epoch, parent.listing));
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
                    self.sessions.changed(contender, place.recipe);
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
}
