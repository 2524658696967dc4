//! An index of the contenders below one parent, by name.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::LockId;

/// Maximum number of children in a plain list. Most parents have few, and a list saves memory.
const MAX_LISTED: usize = 8;

/// The lock of a contender, and the contender's slot in that lock.
pub(super) type ChildPlace = (LockId, u32);

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

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
