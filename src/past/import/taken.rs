//! Tells which lock a refused create was most likely for: the logs name only its session.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::tree::Tree;
use lockscope_base::znode::{SessionId, ZnodePath};

/// The locks that are single nodes and stand.
#[derive(Debug, Default)]
pub(super) struct Taken {
    owners: BTreeMap<ZnodePath, SessionId>,
    /// The lock that each session took last.
    last_taken: FxHashMap<SessionId, ZnodePath>,
}

impl Taken {
    /// Collects the locks of a tree.
    pub fn of(tree: &Tree) -> Self {
        let mut taken = Self::default();
        for (path, node) in tree.ephemerals() {
            if let Some(owner) = node.stat.ephemeral_owner.filter(|_| tree.is_single_node_lock(path)) {
                taken.takes(path, owner);
            }
        }
        taken
    }

    pub fn takes(&mut self, path: &ZnodePath, owner: SessionId) {
        self.owners.insert(path.clone(), owner);
        self.last_taken.insert(owner, path.clone());
    }

    pub fn released(&mut self, path: &ZnodePath) {
        self.owners.remove(path);
    }

    pub fn closed(&mut self, session: SessionId) {
        self.last_taken.remove(&session);
    }

    /// Returns whether any lock is taken: otherwise a refused create was not for a lock.
    pub fn is_any(&self) -> bool {
        !self.owners.is_empty()
    }

    /// Returns the lock that a session tried in vain: the one that it took last, if another has it
    /// now; else the only one, if `is_all` says that no others exist.
    pub fn tried_by(&self, session: SessionId, is_all: bool) -> Option<&ZnodePath> {
        let others = |path: &&ZnodePath| self.owners.get(*path).is_some_and(|owner| *owner != session);
        let only = || self.owners.keys().next().filter(|_| is_all && self.owners.len() == 1);
        match self.last_taken.get(&session) {
            Some(last) => Some(last).filter(others),
            None => only().filter(others),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> ZnodePath {
        ZnodePath::new(text).unwrap()
    }

    #[test]
    fn a_lock_is_named_only_where_no_other_can_be_meant() {
        let (leader, mutex) = (path("/leader"), path("/mutex"));
        let (one, two, three) = (SessionId(1), SessionId(2), SessionId(3));
        let mut taken = Taken::default();
        assert!(!taken.is_any() && taken.tried_by(one, true).is_none());
        taken.takes(&leader, one);
        assert_eq!(taken.tried_by(two, true), Some(&leader));
        assert_eq!(taken.tried_by(two, false), None, "there may be others");
        assert_eq!(taken.tried_by(one, true), None, "it has the lock");
        taken.takes(&mutex, two);
        assert_eq!(taken.tried_by(three, true), None, "two are taken");
        taken.released(&leader);
        taken.takes(&leader, three);
        assert_eq!(taken.tried_by(one, false), Some(&leader), "it had it before");
        taken.closed(one);
        assert_eq!(taken.tried_by(one, false), None);
    }
}
