//! The recipes that come with ZooKeeper itself.

use super::{ChildName, Recipe, RequestMode, ids};

/// Reads `x-<session>-S` (Java's `WriteLock`: signed decimal; C's `zoo_lock`: 16 hex digits), and
/// `n_S` and `<GUID>-n_S` (leader election, as named in its code and on the page of recipes).
pub(super) fn read(head: &str) -> Option<ChildName<'_>> {
    let (recipe, attempt) = write_lock(head).or_else(|| election(head))?;
    Some(ChildName { attempt, ..ChildName::of(recipe, RequestMode::Exclusive) })
}

fn write_lock(head: &str) -> Option<(Recipe, Option<&str>)> {
    let session = head.strip_prefix("x-")?.strip_suffix('-')?;
    let of_c = session.len() == 16 && session.bytes().all(|byte| byte.is_ascii_hexdigit());
    (of_c || ids::is_decimal_session(session)).then_some((Recipe::ZookeeperWriteLock, Some(session)))
}

fn election(head: &str) -> Option<(Recipe, Option<&str>)> {
    let before = head.strip_suffix("n_")?;
    if before.is_empty() {
        return Some((Recipe::ZookeeperElection, None));
    }
    let guid = before.strip_suffix('-')?;
    ids::is_guid(guid).then_some((Recipe::ZookeeperElection, Some(guid)))
}
