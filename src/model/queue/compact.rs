//! Collections and numbers that take little memory: a table has very many of them.
//!
//! [`RankedKeys`] is the order of a queue, a sorted set with access by rank. [`serialize`] and
//! [`deserialize`] store a slab as a list of its slots: reading such a list takes memory in
//! proportion to the file, whatever the file contains. [`OptionalNumber`] is an optional number
//! without extra memory.

use std::fmt;
use std::marker::PhantomData;

use indexset::BTreeSet;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use slab::Slab;

/// Maximum number of keys in a sorted vector. Most locks have few contenders, and a vector saves
/// memory.
const MAX_VECTOR_KEYS: usize = 64;

/// A tree below this size becomes a vector again. The distance to [`MAX_VECTOR_KEYS`] keeps a queue
/// from switching back and forth.
const MIN_TREE_KEYS: usize = 16;

/// A growing vector reserves room for its length divided by this.
const SPARE_FRACTION: usize = 4;

/// Keys per leaf of the tree: few enough that shifting a leaf is cheap, enough that splits are
/// rare.
const MAX_LEAF_KEYS: usize = 256;

/// The place of a contender in the order: by sequence number, then by creation, since numbers can
/// be equal (Curator's downgrade of a write lock). The slot only leads to the contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct OrderKey {
    pub ordinal: i64,
    pub czxid: i64,
    pub slot: u32,
}

/// Sorted keys with access by rank. Every operation takes logarithmic time, or time bounded by a
/// constant.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Vec<OrderKey>", into = "Vec<OrderKey>")]
pub(super) enum RankedKeys {
    Few(Vec<OrderKey>),
    /// Boxed, because most locks have few keys.
    Many(Box<BTreeSet<OrderKey>>),
}

impl Default for RankedKeys {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl From<Vec<OrderKey>> for RankedKeys {
    fn from(keys: Vec<OrderKey>) -> Self {
        let mut ranked = Self::default();
        for key in keys {
            ranked.insert(key);
        }
        ranked
    }
}

impl From<RankedKeys> for Vec<OrderKey> {
    fn from(ranked: RankedKeys) -> Self {
        match ranked {
            RankedKeys::Few(keys) => keys,
            RankedKeys::Many(keys) => keys.iter().copied().collect(),
        }
    }
}

impl RankedKeys {
    /// Returns all keys in order.
    pub fn iter(&self) -> Box<dyn Iterator<Item = OrderKey> + '_> {
        match self {
            Self::Few(keys) => Box::new(keys.iter().copied()),
            Self::Many(keys) => Box::new(keys.iter().copied()),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Self::Few(keys) => keys.len(),
            Self::Many(keys) => keys.len(),
        }
    }

    pub fn get(&self, rank: usize) -> Option<OrderKey> {
        match self {
            Self::Few(keys) => keys.get(rank).copied(),
            // `get_index` is undefined beyond the end of the tree.
            Self::Many(keys) if rank < keys.len() => keys.get_index(rank).copied(),
            Self::Many(_) => None,
        }
    }

    /// Returns the number of smaller keys.
    pub fn rank(&self, key: OrderKey) -> usize {
        match self {
            Self::Few(keys) => keys.partition_point(|other| *other < key),
            Self::Many(keys) => keys.rank(&key),
        }
    }

    pub fn insert(&mut self, key: OrderKey) {
        match self {
            Self::Few(keys) => {
                if let Err(at) = keys.binary_search(&key) {
                    if keys.len() == keys.capacity() {
                        // A plain `insert` would allocate room for four at once, and double it
                        // later.
                        keys.reserve_exact(1 + keys.len() / SPARE_FRACTION);
                    }
                    keys.insert(at, key);
                }
                if keys.len() > MAX_VECTOR_KEYS {
                    let mut many = Box::new(BTreeSet::with_maximum_node_size(MAX_LEAF_KEYS));
                    for key in keys.drain(..) {
                        many.insert(key);
                    }
                    *self = Self::Many(many);
                }
            }
            Self::Many(keys) => {
                keys.insert(key);
            }
        }
    }

    /// Frees the room that is reserved for more keys.
    pub fn release_spare_memory(&mut self) {
        if let Self::Few(keys) = self {
            keys.shrink_to_fit();
        }
    }

    pub fn remove(&mut self, key: OrderKey) {
        match self {
            Self::Few(keys) => {
                if let Ok(at) = keys.binary_search(&key) {
                    keys.remove(at);
                }
            }
            Self::Many(keys) => {
                keys.remove(&key);
                if keys.len() < MIN_TREE_KEYS {
                    *self = Self::Few(keys.iter().copied().collect());
                }
            }
        }
    }
}

/// Returns the length of the longest prefix of `0..limit` for whose numbers `holds` is true.
/// `holds` must be false for all numbers after the first for which it is false. A binary search.
pub fn run(limit: usize, mut holds: impl FnMut(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, limit);
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Writes every slot up to the last one in use. Free slots are included, since other data refers to
/// slots by number.
pub fn serialize<T: Serialize, S: Serializer>(slab: &Slab<T>, serializer: S) -> Result<S::Ok, S::Error> {
    let slots = slab.iter().last().map_or(0, |(last, _)| last + 1);
    serializer.collect_seq((0..slots).map(|slot| slab.get(slot)))
}

/// Reads what [`serialize`] wrote.
pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Slab<T>, D::Error> {
    deserializer.deserialize_seq(SlotVisitor(PhantomData))
}

struct SlotVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for SlotVisitor<T> {
    type Value = Slab<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of slots")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Slab<T>, A::Error> {
        let mut failure = None;
        // Each value goes directly into the slab: a list of all values would double the memory.
        let slots = std::iter::from_fn(|| {
            seq.next_element::<Option<T>>().unwrap_or_else(|error| {
                failure = Some(error);
                None
            })
        });
        let mut slab: Slab<T> = slots.enumerate().filter_map(|(slot, value)| Some((slot, value?))).collect();
        // The slab allocates room for four at once, but most locks have one contender.
        if slab.len() < 4 {
            slab.shrink_to_fit();
        }
        failure.map_or(Ok(slab), Err)
    }
}

/// A number or none. `i64::MIN` stands for none: no clock and no server counter reaches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Option<i64>", into = "Option<i64>")]
pub(super) struct OptionalNumber(i64);

impl OptionalNumber {
    const NONE: i64 = i64::MIN;

    pub fn get(self) -> Option<i64> {
        (self.0 != Self::NONE).then_some(self.0)
    }
}

impl Default for OptionalNumber {
    fn default() -> Self {
        Self(Self::NONE)
    }
}

impl From<Option<i64>> for OptionalNumber {
    fn from(number: Option<i64>) -> Self {
        Self(number.unwrap_or(Self::NONE))
    }
}

impl From<OptionalNumber> for Option<i64> {
    fn from(number: OptionalNumber) -> Self {
        number.get()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(number: u16) -> OrderKey {
        OrderKey { ordinal: i64::from(number), czxid: 1, slot: 0 }
    }

    proptest! {
        #[test]
        fn ranks_agree_with_a_sorted_list_whatever_comes_and_goes(steps in prop::collection::vec((any::<bool>(), 0..400_u16), 0..1200)) {
            let mut order = RankedKeys::default();
            let mut plain = std::collections::BTreeSet::new();
            for (insert, number) in steps {
                if insert {
                    order.insert(key(number));
                    plain.insert(key(number));
                } else {
                    order.remove(key(number));
                    plain.remove(&key(number));
                }
                prop_assert_eq!(order.len(), plain.len());
                prop_assert_eq!(order.rank(key(number)), plain.range(..key(number)).count());
            }
            for (rank, expected) in plain.iter().enumerate() {
                prop_assert_eq!(order.get(rank), Some(*expected));
            }
            prop_assert_eq!(order.get(plain.len()), None);
        }
    }

    #[test]
    fn a_long_queue_is_drained_from_its_head() {
        let mut order = RankedKeys::default();
        for number in 0..u16::MAX {
            order.insert(key(number));
        }
        for number in 0..u16::MAX {
            assert_eq!(order.get(0), Some(key(number)));
            order.remove(key(number));
        }
        assert_eq!(order.len(), 0);
    }

    #[test]
    fn a_run_ends_where_its_condition_first_fails() {
        assert_eq!(run(10, |number| number < 7), 7);
        assert_eq!(run(10, |_| true), 10);
        assert_eq!(run(0, |_| unreachable!()), 0);
    }

    #[test]
    fn numbers_are_kept_and_the_reserved_value_means_none() {
        for number in [None, Some(0), Some(-1), Some(i64::MAX), Some(i64::MIN + 1)] {
            assert_eq!(OptionalNumber::from(number).get(), number);
        }
        assert_eq!(OptionalNumber::from(Some(i64::MIN)).get(), None);
        assert_eq!(OptionalNumber::default().get(), None);
        assert_eq!(size_of::<OptionalNumber>(), size_of::<i64>());
    }
}
