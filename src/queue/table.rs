//! STUB; being implemented.
use std::collections::BTreeMap;

use super::{Change, Happening, Link, LockId, LockQueue, Totals};
use crate::znode::{Timestamp, ZnodePath};

/// Every lock.
#[derive(Clone, Debug)]
pub struct LockTable {}

impl LockTable {
    /// An empty table that also takes the given nodes for single-node locks.
    pub fn new(named: impl IntoIterator<Item = ZnodePath>) -> Self {
        let _ = named.into_iter().count();
        Self {}
    }
    /// Takes one change and tells what it means.
    pub fn apply(&mut self, change: Change, now: Timestamp) -> Vec<Happening> {
        let _ = (change, now);
        todo!()
    }
    /// The lock with that id.
    pub fn lock(&self, id: LockId) -> Option<&LockQueue> {
        let _ = id;
        todo!()
    }
    /// All locks, ordered by path and name.
    pub fn locks(&self) -> impl Iterator<Item = &LockQueue> {
        std::iter::empty()
    }
    /// The locks at a path.
    pub fn find(&self, path: &ZnodePath, name: Option<&str>) -> Option<LockId> {
        let _ = (path, name);
        todo!()
    }
    /// How many locks.
    pub fn lock_count(&self) -> usize {
        todo!()
    }
    /// How many contenders in all.
    pub fn contender_count(&self) -> usize {
        todo!()
    }
    /// What was counted over all of them.
    pub fn totals(&self) -> &Totals {
        todo!()
    }
    /// The way to the ensemble.
    pub fn link(&self) -> &Link {
        todo!()
    }
    /// Whether the table is in step with the ensemble: connected, and all was read since.
    pub fn is_live(&self) -> bool {
        todo!()
    }
    /// Whether it was ever in step.
    pub fn last_true(&self) -> Option<Timestamp> {
        todo!()
    }
    /// Where the server does not let us look, and what it said.
    pub fn unreadable(&self) -> &BTreeMap<ZnodePath, String> {
        todo!()
    }
    /// The locks that changed, came or went since this was last asked. For whoever keeps them sorted.
    pub fn take_touched(&mut self) -> Vec<LockId> {
        todo!()
    }
}
