//! Finds the parents whose contenders, or whatever their children were, are all gone, by the node
//! that they stand below.

use std::time::Duration;

use rustc_hash::FxHashMap;

use super::parent::Parent;
use super::{LockId, LockQueue, LockTable};
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::{Timestamp, ZnodePath, Zxid};

/// Nodes below one node that have no children and had some before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmptiedBelow {
    /// The node that they stand below.
    pub above: ZnodePath,
    /// Those that were locks in view. How long they are empty must be remembered.
    pub locks: Vec<LockId>,
    /// The number of those that no contender was seen in.
    pub others: usize,
    /// How many of the others are provably empty for the given time.
    pub others_proven: usize,
    /// When the oldest of them was created, by the servers' clock.
    pub oldest: Option<Timestamp>,
}

/// What an emptied node was.
#[derive(Clone, Copy, Debug)]
enum Was {
    /// A lock in view.
    Lock(LockId),
    /// A parent that was found empty.
    NotSeen,
}

impl LockTable {
    /// Returns the emptied nodes below each node that has at least `least` of them, and whether they
    /// are provably empty for `time`. An emptied election is none of them. Linear in the number of
    /// parents.
    pub fn emptied_parents(&self, least: usize, time: Duration, now: Timestamp) -> Vec<EmptiedBelow> {
        let mut counts: FxHashMap<&str, usize> = FxHashMap::default();
        for (path, parent) in &self.parents {
            if self.is_emptied(parent)
                && let Some(above) = path.parent_str()
            {
                *counts.entry(above).or_default() += 1;
            }
        }
        counts.retain(|_, count| *count >= least);
        if counts.is_empty() {
            return Vec::new();
        }
        let before = self.last_transaction_before(time, now);
        let mut found: FxHashMap<&str, EmptiedBelow> = FxHashMap::default();
        for (path, parent) in &self.parents {
            let above = path.parent_str().filter(|above| counts.contains_key(above));
            let Some(above) = above.filter(|_| self.is_emptied(parent) && !counts.contains_key(path.as_str())) else {
                continue;
            };
            let Some(was) = self.was(path, parent) else { continue };
            let below = found.entry(above).or_insert_with(|| nothing_below(path));
            below.add(was, parent, before);
        }
        let mut found: Vec<EmptiedBelow> = found.into_values().collect();
        found.retain(|below| below.locks.len() + below.others >= least);
        found.sort_by(|a, b| a.above.cmp(&b.above));
        found
    }

    /// Returns whether a node has no contenders and is no one's, and no listing contradicts that it
    /// had children.
    fn is_emptied(&self, parent: &Parent) -> bool {
        let may_be = parent.listing.is_none_or(|listing| listing.any_deleted && !listing.node().ephemeral);
        may_be && parent.children.iter(&self.locks).next().is_none()
    }

    /// Returns what an emptied node was; `None` for an election, for a part of a semaphore, and for
    /// one that is not known to have had children.
    fn was(&self, path: &ZnodePath, parent: &Parent) -> Option<Was> {
        let mut was = parent.listing.map(|_| Was::NotSeen);
        for queue in self.locks_at(path) {
            if !is_plain(queue) || self.suspected_election(queue).is_some() {
                return None;
            }
            was = Some(Was::Lock(queue.id()));
        }
        was
    }

    /// Returns a transaction of which, and of all before it, the nodes' own times tell that they
    /// happened longer ago than `time`. A clock that was set back proves nothing.
    fn last_transaction_before(&self, time: Duration, now: Timestamp) -> Option<Zxid> {
        let until = self.server_time(now).minus(time);
        let nodes = || self.parents.values().filter_map(|parent| Some(parent.listing?.node()));
        let first_late = nodes().filter(|node| node.created_at > until).map(|node| node.czxid).min();
        let early = nodes().filter(|node| node.created_at <= until).map(|node| node.czxid);
        early.filter(|czxid| first_late.is_none_or(|late| *czxid < late)).max()
    }
}

impl EmptiedBelow {
    fn add(&mut self, was: Was, parent: &Parent, before: Option<Zxid>) {
        let created = parent.listing.map(|listing| listing.node().created_at);
        self.oldest = self.oldest.into_iter().chain(created).min();
        match was {
            Was::Lock(lock) => self.locks.push(lock),
            Was::NotSeen => {
                self.others += 1;
                self.others_proven += usize::from(parent.listing.is_some_and(|listing| Some(listing.last) <= before));
            }
        }
    }
}

fn nothing_below(path: &ZnodePath) -> EmptiedBelow {
    let above = path.parent().unwrap_or_else(ZnodePath::root);
    EmptiedBelow { above, locks: Vec::new(), others: 0, others_proven: 0, oldest: None }
}

fn is_plain(lock: &LockQueue) -> bool {
    !matches!(lock.kind(), LockKind::SingleNode | LockKind::Semaphore) && lock.name().is_none()
}
