//! Clients and servers with one recipe each: go-zookeeper, Hive, Solr; and protected names that tell
//! no recipe.

use super::{ChildName, Recipe, RequestMode, curator, ids};

/// Reads Go's locks, other protected names, Hive's locks and Solr's election. The caller has tried
/// Curator's own names before.
pub(super) fn read(head: &str) -> Option<ChildName<'_>> {
    go(head).or_else(|| protected(head)).or_else(|| hive(head)).or_else(|| solr(head))
}

/// Reads `_c_H-lock-S`: protected like Curator's names, but with a UUID without dashes.
fn go(head: &str) -> Option<ChildName<'_>> {
    let id = head.strip_prefix("_c_")?.strip_suffix("-lock-")?;
    ids::is_hex32(id)
        .then_some(ChildName { attempt: Some(id), ..ChildName::of(Recipe::GoLock, RequestMode::Exclusive) })
}

/// Reads `_c_<UUID>-<name>S`: Curator's protection with a name that the application chooses. The
/// Rust crate zookeeper-client makes locks of such names, and applications make registrations of
/// them: nothing tells the two apart. One parent may hold several names, which do not contend.
fn protected(head: &str) -> Option<ChildName<'_>> {
    let (attempt, name) = curator::protected(head)?;
    Some(ChildName {
        lock_name: Some(name).filter(|name| !name.is_empty()),
        attempt: Some(attempt),
        ..ChildName::of(Recipe::UnknownQueue, RequestMode::Exclusive)
    })
}

/// Reads `LOCK-SHARED-S`, `LOCK-SEMI_SHARED-S` and `LOCK-EXCLUSIVE-S`. A semi-shared lock lets
/// readers in beside it.
fn hive(head: &str) -> Option<ChildName<'_>> {
    let mode = match head {
        "LOCK-SHARED-" | "LOCK-SEMI_SHARED-" => RequestMode::Read,
        "LOCK-EXCLUSIVE-" => RequestMode::Write,
        _ => return None,
    };
    Some(ChildName::of(Recipe::Hive, mode))
}

/// Reads `<session>-<name>-n_S`, the session as a signed decimal. After a lost reply Solr finds its
/// node again by the part before `-n_`.
fn solr(head: &str) -> Option<ChildName<'_>> {
    let id = head.strip_suffix("-n_")?;
    // The first dash may be the session's sign.
    let dash = id.match_indices('-').map(|(at, _)| at).find(|&at| at > 0)?;
    let (session, name) = (id.get(..dash)?, id.get(dash + 1..)?);
    (ids::is_decimal_session(session) && !name.is_empty())
        .then_some(ChildName { attempt: Some(id), ..ChildName::of(Recipe::SolrElection, RequestMode::Exclusive) })
}
