//! Elections that were found empty: their parents tell that they had candidates before.

use super::Expectation;
use crate::queue::hold::TransactionTimes;
use crate::queue::{Happening, LockTable};
use lockscope_base::recipe::{Classification, LockKind, Recipe, RequestMode, Role, is_named_election};
use lockscope_base::znode::{Timestamp, ZnodePath, ZnodeStat};

impl LockTable {
    /// Adds an election that was found without candidates. Its recipe shows once one comes.
    pub(in crate::queue) fn note_empty_election(
        &mut self,
        path: &ZnodePath,
        stat: &ZnodeStat,
        now: Timestamp,
        out: &mut Vec<Happening>,
    ) {
        if !self.ids_at(path).is_empty() || !is_empty_election(path, stat, self.expectations()) {
            return;
        }
        let id = self.lock_of(&without_candidates(path), now, out);
        self.elections.record_mut(id, now).empty_since = Some(now);
    }

    /// Gives the lock of a parent that was found empty the recipe of its first candidate. The table
    /// has no lock with that recipe there.
    pub(in crate::queue) fn take_over_empty_election(&mut self, place: &Classification) {
        if matches!(place.recipe.kind(), LockKind::SingleNode | LockKind::Semaphore) {
            return;
        }
        let key = crate::queue::lock_name::key_of(&without_candidates(&place.lock));
        let Some(id) = self.names.get(&key).copied() else { return };
        let is_found_empty = self.elections.records.get(&id).is_some_and(|record| record.found_empty_since().is_some());
        let Some(lock) = self.locks.get_mut(&id).filter(|lock| is_found_empty && lock.is_empty()) else { return };
        lock.take_family(place.family(), place.name.as_deref().map(Into::into));
        let new = lock.key_in_table();
        self.names.remove(&key);
        self.names.insert(new, id);
    }

    /// Dates the emptiness of the parents that were found empty: the next transaction of a known
    /// time came after the deletion of their last child. Called at the end of a complete reading.
    pub(in crate::queue) fn prove_emptiness(&mut self, times: &TransactionTimes) {
        let ahead = self.clock.ahead_ms();
        for (id, record) in &mut self.elections.records {
            let Some(since) = record.empty_since else { continue };
            let listing = self.locks.get(id).and_then(|lock| self.parents.get(lock.path())?.listing);
            let proven = listing.filter(|listing| !listing.disturbed).and_then(|listing| times.after(listing.last));
            let proven = proven.map(|at| Timestamp(at.0.saturating_add(ahead)));
            record.empty_since = proven.map(|proven| proven.min(since)).or(Some(since));
        }
    }
}

/// Returns whether a node is an election whose candidates have gone: it had children, and its path
/// or the user says so.
///
/// `cversion`, as servers report it, counts each creation and each deletion of a child.
pub fn is_empty_election(path: &ZnodePath, stat: &ZnodeStat, expected: &[Expectation]) -> bool {
    let had_children = stat.num_children == 0 && stat.cversion > 0 && stat.has_child_history() && !path.is_root();
    had_children && (is_named_election(path) || expected.iter().any(|expected| expected.path.matches(path)))
}

fn without_candidates(path: &ZnodePath) -> Classification {
    Classification {
        lock: path.clone(),
        name: None,
        recipe: Recipe::UnknownQueue,
        role: Role::Queue,
        mode: RequestMode::Exclusive,
        sequence: None,
    }
}
