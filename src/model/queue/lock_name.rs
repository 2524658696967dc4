//! The identity of a lock, in its table and after the lock is gone.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use lockscope_base::recipe::{Classification, Recipe};
use lockscope_base::znode::ZnodePath;

/// The id of a lock in its table. Ids are not reused during the table's lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LockId(pub u64);

/// The identity of a queue: its path, its recipe family, and its name where the parent has several.
pub(super) type LockKey = (ZnodePath, Recipe, Option<Arc<str>>);

/// Returns the identity of the queue at a place.
pub(super) fn key_of(place: &Classification) -> LockKey {
    (place.lock.clone(), place.family(), place.name.as_deref().map(Arc::from))
}

/// A lock's id, path and name: enough to name the lock after it is gone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LockName {
    /// The lock's id in the table.
    pub id: LockId,
    /// The lock's path.
    pub path: ZnodePath,
    /// The queue's name; `None` where the parent has one queue.
    pub name: Option<Arc<str>>,
}

/// Formats as `/locks/orders`, or as `/locks/orders [db]` where the parent has several queues.
impl fmt::Display for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{} [{name}]", self.path),
            None => self.path.fmt(f),
        }
    }
}
