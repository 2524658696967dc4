//! kazoo, the Python client. Its names begin with a UUID of 32 hex digits.

use super::{ChildName, Recipe, RequestMode, ids};

/// Reads `H__lock__S` (`Lock`, `WriteLock`, `Election`, and the queue of a `Semaphore`) and
/// `H__rlock__S` (`ReadLock`).
///
/// A `Lock` and a `WriteLock` have the same names. A `__lock__` is a write request only if the
/// queue also has an `__rlock__`. The caller that knows the queue decides; this function returns
/// [`RequestMode::Exclusive`].
pub(super) fn read(head: &str) -> Option<ChildName<'_>> {
    let (id, kind) = head.split_at_checked(32)?;
    let (recipe, mode) = match kind {
        "__lock__" => (Recipe::KazooLock, RequestMode::Exclusive),
        "__rlock__" => (Recipe::KazooReadWrite, RequestMode::Read),
        _ => return None,
    };
    ids::is_hex32(id).then_some(ChildName { attempt: Some(id), ..ChildName::of(recipe, mode) })
}
