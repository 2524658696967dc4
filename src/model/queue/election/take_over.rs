//! The lock of a parent that was found empty, until its first candidate shows its recipe.

use crate::queue::LockTable;
use crate::queue::lock_name::key_of;
use lockscope_base::recipe::{Classification, LockKind, Recipe, RequestMode, Role};
use lockscope_base::znode::ZnodePath;

impl LockTable {
    /// Gives the lock of a parent that was found empty the recipe of its first candidate. The table
    /// has no lock with that recipe there.
    pub(in crate::queue) fn take_over_empty_election(&mut self, place: &Classification) {
        if matches!(place.recipe.kind(), LockKind::SingleNode | LockKind::Semaphore) {
            return;
        }
        let key = key_of(&without_candidates(&place.lock));
        let Some(id) = self.names.get(&key).copied() else { return };
        let is_found_empty = self.elections.records.get(&id).is_some_and(|record| record.found_empty_since().is_some());
        let Some(lock) = self.locks.get_mut(&id).filter(|lock| is_found_empty && lock.is_empty()) else { return };
        lock.take_family(place.family(), place.name.as_deref().map(Into::into));
        let new = lock.key_in_table();
        self.names.remove(&key);
        self.names.insert(new, id);
    }
}

/// Returns the place of an election whose recipe is not known yet.
pub(super) fn without_candidates(path: &ZnodePath) -> Classification {
    Classification {
        lock: path.clone(),
        name: None,
        recipe: Recipe::UnknownQueue,
        role: Role::Queue,
        mode: RequestMode::Exclusive,
        sequence: None,
    }
}
