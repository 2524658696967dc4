//! Finds the parents whose contenders, or whatever their children were, are all gone, by the node
//! that they stand below.

use std::time::Duration;

use rustc_hash::FxHashMap;

use super::parent::Parent;
use super::{LockId, LockQueue, LockTable};
use lockscope_base::recipe::{Classifier, LockKind, is_named_election};
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

/// What a table knows of a node that has, had or may have contenders among its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParentUse {
    /// Contenders are there.
    Used,
    /// It is an election's, where an empty parent means that nobody leads.
    Election,
    /// It is a part of a semaphore, whose other part may be in use, or several locks.
    OtherLock,
    /// Nothing speaks for a use.
    Free,
}

/// How old transactions are, as far as nodes tell that have both the number and the time of one.
///
/// A stat has the time of the node's creation and of the last change of its data, but not of the
/// last change of its children: of that it has only the transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionAges {
    /// This transaction, and each before it, happened long enough ago.
    early: Option<Zxid>,
    /// This transaction, and each after it, happened later.
    late: Option<Zxid>,
}

impl TransactionAges {
    /// Divides the transactions at a time of the servers' clock. A clock that was set back proves
    /// nothing: what follows a late transaction is late.
    pub fn at<I: Iterator<Item = (Zxid, Timestamp)>>(until: Timestamp, dates: impl Fn() -> I) -> Self {
        let late = dates().filter(|(_, at)| *at > until).map(|(zxid, _)| zxid).min();
        let early = dates().filter(|(_, at)| *at <= until).map(|(zxid, _)| zxid);
        Self { early: early.filter(|zxid| late.is_none_or(|late| *zxid < late)).max(), late }
    }

    /// Returns whether a transaction is proven to have happened long enough ago; `None` if no node
    /// tells.
    pub fn is_early(self, zxid: Zxid) -> Option<bool> {
        if Some(zxid) <= self.early {
            return Some(true);
        }
        self.late.is_some_and(|late| late <= zxid).then_some(false)
    }
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
            if !is_plain(queue) || self.elections.suspected(queue).is_some() {
                return None;
            }
            was = Some(Was::Lock(queue.id()));
        }
        was
    }

    /// Returns a transaction of which, and of all before it, the nodes' own times tell that they
    /// happened longer ago than `time`. A clock that was set back proves nothing.
    fn last_transaction_before(&self, time: Duration, now: Timestamp) -> Option<Zxid> {
        TransactionAges::at(self.clock().server_time(now).minus(time), || self.creations()).early
    }

    fn creations(&self) -> impl Iterator<Item = (Zxid, Timestamp)> {
        let nodes = self.parents.values().filter_map(|parent| Some(parent.listing?.node()));
        nodes.map(|node| (node.czxid, node.created_at))
    }

    /// Returns when the known contenders were created, by the servers' clock, and by which
    /// transaction.
    pub fn contender_creations(&self) -> impl Iterator<Item = (Zxid, Timestamp)> {
        let rows = self.locks.values().flat_map(|lock| lock.rows(0..lock.len()));
        rows.filter(|row| row.contender.is_read()).map(|row| (row.contender.czxid, row.contender.created_at))
    }

    /// Returns whether the server counts a listed node's `pzxid` and `cversion` as `ZooKeeper` does.
    pub fn has_child_history(&self, listed: &ZnodePath) -> bool {
        self.parents.get(listed).is_some_and(|parent| parent.next_sequence().is_some())
    }

    /// Returns what is known of the use of a node that is no contender.
    pub fn use_of(&self, path: &ZnodePath) -> ParentUse {
        if self.parents.get(path).is_some_and(|parent| parent.children.iter(&self.locks).next().is_some()) {
            return ParentUse::Used;
        }
        let hints = Classifier::hints_of(path).into_iter().chain(Classifier::hints_beside(path));
        let is_part = Classifier::is_hint(path) || hints.into_iter().any(|hint| self.hint_epochs.contains_key(&hint));
        if is_part || self.locks_at(path).any(|queue| !is_plain(queue)) {
            ParentUse::OtherLock
        } else if is_named_election(path) || self.locks_at(path).any(|queue| self.elections.suspected(queue).is_some())
        {
            ParentUse::Election
        } else {
            ParentUse::Free
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_of_a_transaction_is_what_other_nodes_prove() {
        let ages = |dates: &[(i64, i64)]| {
            TransactionAges::at(Timestamp(100), || dates.iter().map(|(zxid, at)| (Zxid(*zxid), Timestamp(*at))))
        };
        let is_early = |ages: TransactionAges, zxids: [i64; 4]| zxids.map(|zxid| ages.is_early(Zxid(zxid)));
        assert_eq!(is_early(ages(&[]), [1, 2, 3, 4]), [None; 4]);
        assert_eq!(is_early(ages(&[(2, 90), (4, 101)]), [1, 2, 3, 4]), [Some(true), Some(true), None, Some(false)]);
        // The clock was set back after transaction 2.
        assert_eq!(is_early(ages(&[(2, 101), (4, 90)]), [1, 2, 3, 4]), [None, Some(false), Some(false), Some(false)]);
    }
}
