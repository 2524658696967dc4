//! Finds the contenders below one parent by name.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::child_index::{ChildIndex, ChildPlace};
use super::{LockId, LockQueue};

/// Maximum number of a lock's contenders that are searched for a name one by one. Most locks have
/// few, and doing without an index saves memory.
const MAX_SEARCHED: usize = 8;

/// All locks of a table.
pub(super) type Locks = FxHashMap<LockId, Box<LockQueue>>;

/// The contenders below one parent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Children {
    /// The children are exactly the contenders of this lock, so they are looked up there. Empty
    /// once the lock is gone.
    OfLock(LockId),
    /// An index of its own: for the children of several locks, of one lock with many contenders, or
    /// of one lock whose contenders stand below two parents.
    Listed(ChildIndex),
}

impl Default for Children {
    fn default() -> Self {
        Self::Listed(ChildIndex::default())
    }
}

impl Children {
    pub fn get(&self, name: &str, locks: &Locks) -> Option<ChildPlace> {
        match self {
            Self::OfLock(id) => of_lock(*id, locks).find(|(child, _)| ***child == *name).map(|(_, place)| place),
            Self::Listed(children) => children.get(name),
        }
    }

    /// Adds a contender that was just placed in its lock.
    pub fn insert(&mut self, name: Arc<str>, place: ChildPlace, locks: &Locks) {
        let (id, _) = place;
        let has_no_others = match self {
            Self::OfLock(known) => *known == id || of_lock(*known, locks).next().is_none(),
            Self::Listed(children) => children.is_empty(),
        };
        if has_no_others && locks.get(&id).is_some_and(|lock| is_searched(lock)) {
            *self = Self::OfLock(id);
            return;
        }
        match self {
            Self::OfLock(known) => {
                let all: Vec<_> = of_lock(*known, locks).map(|(name, place)| (Arc::clone(name), place)).collect();
                let mut children = ChildIndex::from(all);
                children.insert(name, place);
                *self = Self::Listed(children);
            }
            Self::Listed(children) => children.insert(name, place),
        }
    }

    /// Removes a contender that is about to leave its lock, or has just left it.
    pub fn remove(&mut self, name: &str) {
        match self {
            Self::OfLock(_) => {}
            Self::Listed(children) => children.remove(name),
        }
    }

    /// Returns all children, in no particular order.
    pub fn iter<'a>(&'a self, locks: &'a Locks) -> impl Iterator<Item = (&'a Arc<str>, ChildPlace)> {
        let (of, listed) = match self {
            Self::OfLock(id) => (Some(*id), None),
            Self::Listed(children) => (None, Some(children)),
        };
        let of = of.into_iter().flat_map(|id| of_lock(id, locks));
        of.chain(listed.into_iter().flat_map(ChildIndex::iter))
    }
}

/// Returns whether a lock's contenders are looked up in the lock itself. All of them stand below
/// one parent then.
pub(super) fn is_searched(lock: &LockQueue) -> bool {
    !lock.family().has_lease_nodes() && lock.contenders.len() <= MAX_SEARCHED
}

fn of_lock(id: LockId, locks: &Locks) -> impl Iterator<Item = (&Arc<str>, ChildPlace)> {
    let contenders = locks.get(&id).into_iter().flat_map(|lock| lock.contenders.iter());
    contenders.map(move |(slot, contender)| (&contender.node, (id, u32::try_from(slot).unwrap_or(u32::MAX))))
}
