//! kazoo, the Python client. Its names begin with a UUID of 32 hex digits.

use super::{ChildName, Recipe, RequestMode, ids};

/// `H__lock__S` (`Lock`, `WriteLock`, `Election`, and the queue of a `Semaphore`) and `H__rlock__S` (`ReadLock`).
///
/// A `Lock` and a `WriteLock` bear the same names. That a `__lock__` is a request for writing shows only when an
/// `__rlock__` stands beside it, so whoever holds the queue decides that; this says [`RequestMode::Exclusive`].
pub(super) fn read(head: &str) -> Option<ChildName<'_>> {
    let (id, kind) = head.split_at_checked(32)?;
    let (recipe, mode) = match kind {
        "__lock__" => (Recipe::KazooLock, RequestMode::Exclusive),
        "__rlock__" => (Recipe::KazooReadWrite, RequestMode::Read),
        _ => return None,
    };
    ids::is_hex32(id).then_some(ChildName { attempt: Some(id), ..ChildName::of(recipe, mode) })
}
