//! Memory from one look to the next, kept for as long as each look confirms it.

use rustc_hash::FxHashMap;

use serde::{Deserialize, Serialize};

use crate::queue::LockId;

/// Values that a check remembers by key. A value is dropped if a look does not confirm it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "K: Eq + std::hash::Hash + Deserialize<'de>, V: Deserialize<'de>"))]
pub(super) struct RoundMemory<K, V> {
    kept: FxHashMap<K, (u64, V)>,
    round: u64,
}

impl<K, V> Default for RoundMemory<K, V> {
    fn default() -> Self {
        Self { kept: FxHashMap::default(), round: 0 }
    }
}

impl<K: std::hash::Hash + Eq, V> RoundMemory<K, V> {
    /// Begins a look. Forgets the values that the last look did not confirm.
    pub fn begin(&mut self) {
        let round = self.round;
        self.kept.retain(|_, (seen, _)| *seen == round);
        self.round += 1;
    }

    /// Returns whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Returns and confirms the value of a key, creating it if needed.
    pub fn see(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let (seen, value) = self.kept.entry(key).or_insert_with(|| (0, make()));
        *seen = self.round;
        value
    }

    /// Returns and confirms the value of a key.
    pub fn recall(&mut self, key: &K) -> Option<&mut V> {
        let round = self.round;
        self.kept.get_mut(key).map(|(seen, value)| {
            *seen = round;
            value
        })
    }
}

/// Identifies a node of a lock: the lock, and the transaction that created the node.
pub(super) type NodeKey = (LockId, i64);
