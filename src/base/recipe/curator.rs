//! Apache Curator. It protects every create with `_c_<UUID>-`, which finds the node again when the
//! reply to the create is lost.

use super::{ChildName, Recipe, RequestMode, ids};

/// Reads `_c_<UUID>-lock-S`, `…-__READ__S`, `…-__WRIT__S`, `…-latch-S`, `…-lease-S`.
pub(super) fn read(head: &str) -> Option<ChildName<'_>> {
    let (attempt, name) = protected(head)?;
    let (recipe, mode) = match name {
        "lock-" => (Recipe::CuratorMutex, RequestMode::Exclusive),
        "__READ__" => (Recipe::CuratorReadWrite, RequestMode::Read),
        "__WRIT__" => (Recipe::CuratorReadWrite, RequestMode::Write),
        "latch-" => (Recipe::CuratorLatch, RequestMode::Exclusive),
        "lease-" => (Recipe::CuratorSemaphore, RequestMode::Lease),
        _ => return None,
    };
    Some(ChildName { attempt: Some(attempt), ..ChildName::of(recipe, mode) })
}

/// Returns whether a protected name bears an id of lockscope's lock library: a UUID of version 8.
/// Curator's are of version 4.
///
/// The library uses Curator's names, but its readers watch the nearest writer.
pub(super) fn is_own(name: &str) -> bool {
    const VERSION_AT: usize = 14;
    protected(name).is_some_and(|(uuid, _)| uuid.as_bytes()[VERSION_AT] == b'8')
}

/// Splits a protected name into its UUID and the requested name.
pub(super) fn protected(head: &str) -> Option<(&str, &str)> {
    let (uuid, rest) = head.strip_prefix("_c_")?.split_at_checked(36)?;
    let name = rest.strip_prefix('-')?;
    ids::is_uuid(uuid).then_some((uuid, name))
}
