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

/// Splits a protected name into its UUID and the requested name.
pub(super) fn protected(head: &str) -> Option<(&str, &str)> {
    let (uuid, rest) = head.strip_prefix("_c_")?.split_at_checked(36)?;
    let name = rest.strip_prefix('-')?;
    ids::is_uuid(uuid).then_some((uuid, name))
}
