//! The parents of contenders: their listings, their children by name, and counts of the children
//! during an overload.
//!
//! During an overload the queues stay as they were when they were last accurate, and only the stats
//! of the parents are sampled. A stat contains the number of children and `cversion`, which grows
//! by one with each creation and each deletion of a child. From both follows how many children were
//! created and deleted between two samples.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::compact::OptionalNumber;
use super::{LockId, LockQueue};
use lockscope_base::znode::{Timestamp, ZnodePath, ZnodeStat, Zxid};

/// A node that has, had or may have contenders among its children.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Parent {
    pub children: Children,
    next_sequence: OptionalNumber,
    /// The maximum number of leases, which kazoo's semaphore stores in the node's data.
    pub maximum: Option<u32>,
    pub epoch: u32,
    pub listing: Option<ChildListing>,
}

impl Parent {
    /// Creates a parent that was first heard of in the complete reading number `epoch`.
    pub fn new(epoch: u32) -> Self {
        Self { epoch, ..Self::default() }
    }

    /// Returns the sequence number of the next child, where it is known.
    pub fn next_sequence(&self) -> Option<i64> {
        self.next_sequence.get()
    }

    pub fn set_next_sequence(&mut self, next: Option<i64>) {
        self.next_sequence = next.into();
    }
}

/// A parent of contenders, as of its last listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParentNode {
    /// The transaction that created the node.
    pub czxid: Zxid,
    /// When the node was created, by the server's clock.
    pub created_at: Timestamp,
    /// Whether a session owns the node.
    pub ephemeral: bool,
}

/// The stat of a parent at its last listing.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct ChildListing {
    czxid: Zxid,
    created_at: Timestamp,
    ephemeral: bool,
    /// The transaction that last created or deleted a child.
    pub last: Zxid,
    /// Whether a child was ever deleted.
    pub any_deleted: bool,
    /// The number of the complete reading that listed the parent.
    pub epoch: u32,
    /// Whether a child was deleted during that reading, so that the listing may be outdated.
    pub disturbed: bool,
}

impl ChildListing {
    /// Creates the listing that follows `before`.
    pub fn new(path: &ZnodePath, stat: &ZnodeStat, epoch: u32, before: Option<Self>) -> Self {
        Self {
            czxid: stat.czxid,
            created_at: stat.ctime,
            ephemeral: stat.ephemeral_owner.is_some(),
            last: stat.pzxid,
            // `cversion`, as servers report it, counts each creation and each deletion of a child.
            // The root has a child that no client created.
            any_deleted: path.is_root() || stat.cversion != stat.num_children,
            epoch,
            disturbed: before.is_some_and(|before| before.epoch == epoch && before.disturbed),
        }
    }

    /// Returns the node itself.
    pub fn node(self) -> ParentNode {
        ParentNode { czxid: self.czxid, created_at: self.created_at, ephemeral: self.ephemeral }
    }
}

/// Maximum number of a lock's contenders that are searched for a name one by one. Most locks have
/// few, and doing without an index saves memory.
const MAX_SEARCHED: usize = 8;

/// All locks of a table.
pub type Locks = FxHashMap<LockId, Box<LockQueue>>;

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
pub fn is_searched(lock: &LockQueue) -> bool {
    !lock.family().has_lease_nodes() && lock.contenders.len() <= MAX_SEARCHED
}

fn of_lock(id: LockId, locks: &Locks) -> impl Iterator<Item = (&Arc<str>, ChildPlace)> {
    let contenders = locks.get(&id).into_iter().flat_map(|lock| lock.contenders.iter());
    contenders.map(move |(slot, contender)| (&contender.node, (id, u32::try_from(slot).unwrap_or(u32::MAX))))
}

/// Maximum number of children in a plain list. Most parents have few, and a list saves memory.
const MAX_LISTED: usize = 8;

/// The lock of a contender, and the contender's slot in that lock.
type ChildPlace = (LockId, u32);

/// The contenders below one parent, by name.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Vec<(Arc<str>, ChildPlace)>", into = "Vec<(Arc<str>, ChildPlace)>")]
pub(super) enum ChildIndex {
    Few(Vec<(Arc<str>, ChildPlace)>),
    /// Boxed, because most parents have few children.
    Many(Box<FxHashMap<Arc<str>, ChildPlace>>),
}

impl Default for ChildIndex {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl From<Vec<(Arc<str>, ChildPlace)>> for ChildIndex {
    fn from(children: Vec<(Arc<str>, ChildPlace)>) -> Self {
        let mut index = Self::default();
        for (name, place) in children {
            index.insert(name, place);
        }
        index
    }
}

impl From<ChildIndex> for Vec<(Arc<str>, ChildPlace)> {
    fn from(index: ChildIndex) -> Self {
        match index {
            ChildIndex::Few(children) => children,
            ChildIndex::Many(children) => children.into_iter().collect(),
        }
    }
}

impl ChildIndex {
    pub fn is_empty(&self) -> bool {
        // An empty index is always a list: `remove` turns it back into one.
        matches!(self, Self::Few(children) if children.is_empty())
    }

    pub fn get(&self, name: &str) -> Option<ChildPlace> {
        match self {
            Self::Few(children) => children.iter().find(|(child, _)| **child == *name).map(|(_, place)| *place),
            Self::Many(children) => children.get(name).copied(),
        }
    }

    pub fn insert(&mut self, name: Arc<str>, place: ChildPlace) {
        match self {
            Self::Few(children) => {
                if let Some((_, known)) = children.iter_mut().find(|(child, _)| *child == name) {
                    *known = place;
                } else if children.len() < MAX_LISTED {
                    // A plain `push` would allocate room for four at once.
                    children.reserve_exact(1);
                    children.push((name, place));
                } else {
                    let all = children.drain(..).chain([(name, place)]).collect();
                    *self = Self::Many(Box::new(all));
                }
            }
            Self::Many(children) => _ = children.insert(name, place),
        }
    }

    pub fn remove(&mut self, name: &str) {
        let left = match self {
            Self::Few(children) => {
                if let Some(at) = children.iter().position(|(child, _)| **child == *name) {
                    children.swap_remove(at);
                }
                children.len()
            }
            Self::Many(children) => {
                children.remove(name);
                children.len()
            }
        };
        if left == 0 {
            *self = Self::default();
        }
    }

    /// Returns all children, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, ChildPlace)> {
        let (few, many) = match self {
            Self::Few(children) => (Some(children), None),
            Self::Many(children) => (None, Some(children)),
        };
        let few = few.into_iter().flatten().map(|(name, place)| (name, *place));
        few.chain(many.into_iter().flat_map(|children| children.iter()).map(|(name, place)| (name, *place)))
    }
}

/// The maximum of a count of creations or deletions. After it the count starts at 0 again: a stat
/// holds twice the number in 32 bits.
const MAX_COUNT: u32 = u32::MAX >> 1;

/// The samples of each parent, kept until the next complete reading.
pub type Samples = FxHashMap<ZnodePath, ParentSamples>;

/// What samples show of a lock: counts of its parent's children. For a semaphore, of both parents.
///
/// All children count, including those of other queues below the same parent, and those that are no
/// contenders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampledCounts {
    /// When the last sample was taken, by this machine's clock.
    pub at: Timestamp,
    /// When the first sample was taken.
    pub since: Timestamp,
    /// The number of children in the last sample.
    pub children: u64,
    /// The number of creations from the first sample to the last.
    pub created: u64,
    /// The number of deletions from the first sample to the last.
    pub deleted: u64,
    /// The rates between the last two samples; `None` when there is only one.
    pub per_second: Option<ChildRates>,
}

/// How many children of a node are created and deleted per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChildRates {
    /// Creations per second.
    pub created: f64,
    /// Deletions per second.
    pub deleted: f64,
}

impl ChildRates {
    /// Returns whether there were no creations and no deletions.
    pub fn are_zero(self) -> bool {
        self.created + self.deleted <= 0.0
    }
}

/// One sample of a parent.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct ParentSample {
    at: Timestamp,
    czxid: Zxid,
    cversion: i32,
    children: i32,
}

/// The samples that are kept of one parent.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct ParentSamples {
    first: ParentSample,
    before: Option<ParentSample>,
    last: ParentSample,
}

impl ParentSample {
    /// Returns how many children were created and deleted since an earlier sample of the same node.
    fn since(self, earlier: Self) -> (u32, u32) {
        let created = |sample: Self| sample.cversion.wrapping_add(sample.children).cast_unsigned() >> 1;
        let deleted = |sample: Self| sample.cversion.wrapping_sub(sample.children).cast_unsigned() >> 1;
        let grown = |count: fn(Self) -> u32| count(self).wrapping_sub(count(earlier)) & MAX_COUNT;
        (grown(created), grown(deleted))
    }
}

impl ParentSamples {
    /// Adds a sample to the earlier ones of the same node.
    pub fn with(known: Option<&Self>, stat: &ZnodeStat, at: Timestamp) -> Self {
        let last = ParentSample { at, czxid: stat.czxid, cversion: stat.cversion, children: stat.num_children };
        let known = known.filter(|known| known.last.czxid == last.czxid);
        Self { first: known.map_or(last, |known| known.first), before: known.map(|known| known.last), last }
    }

    /// Returns the counts and rates.
    pub fn counts(&self) -> SampledCounts {
        let (created, deleted) = self.last.since(self.first);
        let per_second = self.before.map(|before| {
            let (created, deleted) = self.last.since(before);
            let seconds = self.last.at.since(before.at).as_secs_f64().max(0.001);
            ChildRates { created: f64::from(created) / seconds, deleted: f64::from(deleted) / seconds }
        });
        SampledCounts {
            at: self.last.at,
            since: self.first.at,
            children: u64::try_from(self.last.children).unwrap_or_default(),
            created: created.into(),
            deleted: deleted.into(),
            per_second,
        }
    }
}

impl SampledCounts {
    /// Returns the sums for two parents.
    pub(super) fn plus(self, other: Self) -> Self {
        let both = self.per_second.zip(other.per_second);
        Self {
            at: self.at.min(other.at),
            since: self.since.max(other.since),
            children: self.children + other.children,
            created: self.created + other.created,
            deleted: self.deleted + other.deleted,
            per_second: both.map(|(one, other)| ChildRates {
                created: one.created + other.created,
                deleted: one.deleted + other.deleted,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_parent_stays_small() {
        assert!(size_of::<Parent>() <= 80, "{} bytes", size_of::<Parent>());
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_plain_map_whatever_comes_and_goes(
            steps in prop::collection::vec((any::<bool>(), 0..24_u32), 0..200)
        ) {
            let (mut index, mut plain) = (ChildIndex::default(), BTreeMap::new());
            for (at, (insert, number)) in (0_u32..).zip(steps) {
                let name: Arc<str> = format!("lock-{number}").into();
                if insert {
                    index.insert(Arc::clone(&name), (LockId(1), at));
                    plain.insert(name, (LockId(1), at));
                } else {
                    index.remove(&name);
                    plain.remove(&name);
                }
                let all: BTreeMap<Arc<str>, ChildPlace> =
                    index.iter().map(|(name, place)| (Arc::clone(name), place)).collect();
                prop_assert_eq!(&all, &plain);
                for number in 0..24 {
                    let name = format!("lock-{number}");
                    prop_assert_eq!(index.get(&name), plain.get(&*name).copied());
                }
            }
        }
    }
}
