//! What is remembered from one look to the next, as long as each look sees it again.

use rustc_hash::FxHashMap;

use serde::{Deserialize, Serialize};

use crate::queue::LockId;

/// What a check remembers under a key, as long as it sees it again at each look.
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
    /// A look begins: what was not seen at the last one is forgotten.
    pub fn begin(&mut self) {
        let round = self.round;
        self.kept.retain(|_, (seen, _)| *seen == round);
        self.round += 1;
    }

    /// What is remembered under a key, made when there is nothing. It is kept for the next look.
    pub fn see(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let (seen, value) = self.kept.entry(key).or_insert_with(|| (0, make()));
        *seen = self.round;
        value
    }

    /// What is remembered under a key. It is kept for the next look.
    pub fn recall(&mut self, key: &K) -> Option<&mut V> {
        let round = self.round;
        self.kept.get_mut(key).map(|(seen, value)| {
            *seen = round;
            value
        })
    }
}

/// What tells a lock's node from all that ever bore its name: the lock, and the transaction that created the node.
pub(super) type NodeKey = (LockId, i64);
