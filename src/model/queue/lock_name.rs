//! What identifies a lock, in its table and after it is gone.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use lockscope_base::recipe::{Classification, Recipe};
use lockscope_base::znode::ZnodePath;

/// A lock's place in its table; not reused while the table lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LockId(pub u64);

/// The identity of a queue: its path, its recipe's family, and its name where its parent holds several.
pub(super) type LockKey = (ZnodePath, Recipe, Option<Arc<str>>);

/// The identity of the queue to which a place belongs.
pub(super) fn key_of(place: &Classification) -> LockKey {
    (place.lock.clone(), place.family(), place.name.as_deref().map(Arc::from))
}

/// Which lock: enough to name it after it is gone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LockName {
    /// Its place in the table.
    pub id: LockId,
    /// Its path.
    pub path: ZnodePath,
    /// Which of several queues of that parent; `None` where there is one.
    pub name: Option<Arc<str>>,
}

/// `/locks/orders`, and where the parent has several queues `/locks/orders [db]`.
impl fmt::Display for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{} [{name}]", self.path),
            None => self.path.fmt(f),
        }
    }
}
