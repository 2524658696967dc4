//! Apache Curator. It protects every create with `_c_<UUID>-`, by which it finds its node again when the reply to
//! the create was lost.

use super::{ChildName, Mode, Recipe, ids};

/// `_c_<UUID>-lock-S`, `…-__READ__S`, `…-__WRIT__S`, `…-latch-S`, `…-lease-S`.
pub(super) fn read(head: &str) -> Option<ChildName<'_>> {
    let (attempt, name) = protected(head)?;
    let (recipe, mode) = match name {
        "lock-" => (Recipe::CuratorMutex, Mode::Exclusive),
        "__READ__" => (Recipe::CuratorReadWrite, Mode::Read),
        "__WRIT__" => (Recipe::CuratorReadWrite, Mode::Write),
        "latch-" => (Recipe::CuratorLatch, Mode::Exclusive),
        "lease-" => (Recipe::CuratorSemaphore, Mode::Lease),
        _ => return None,
    };
    Some(ChildName { attempt: Some(attempt), ..ChildName::of(recipe, mode) })
}

/// Splits a protected name into its UUID and the name that was asked for.
pub(super) fn protected(head: &str) -> Option<(&str, &str)> {
    let (uuid, rest) = head.strip_prefix("_c_")?.split_at_checked(36)?;
    let name = rest.strip_prefix('-')?;
    ids::is_uuid(uuid).then_some((uuid, name))
}
