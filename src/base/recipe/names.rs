//! Reads a contender's name: each family of recipes is tried in turn.

use super::{ChildName, Recipe, RequestMode, curator, election, ids, kazoo, other, single, textbook, zookeeper};
use crate::znode::Sequence;

/// Reads the name of a child. Returns `None` if no contender has such a name.
///
/// The name may have any characters and any length. The cost is linear in its length.
///
/// The families try the part before the number in this order, the narrower before the wider:
/// Curator, kazoo, ZooKeeper's own recipes, the other clients and servers, elections, the textbooks.
///
/// A name that none of them knows is an unknown queue, with these exceptions: an item of a work
/// queue (`qn-S`), ClickHouse's `leader_election-S` with its several leaders, and a bare id or
/// number that happens to end in ten digits. A name without a number can be a single node's.
///
/// In an [unknown queue](Recipe::UnknownQueue) and among [single nodes](Recipe::needs_ephemeral)
/// only ephemeral nodes are contenders, which the name does not show.
/// [`Classifier`](super::Classifier) also uses the neighbours and the path.
pub fn read(name: &str) -> Option<ChildName<'_>> {
    let Some((head, sequence)) = Sequence::split(name) else { return single::read(name) };
    let child = curator::read(head)
        .or_else(|| kazoo::read(head))
        .or_else(|| zookeeper::read(head))
        .or_else(|| other::read(head))
        .or_else(|| election::read(head))
        .or_else(|| textbook::read(head))
        .or_else(|| unknown(name, head))?;
    Some(ChildName { sequence: Some(sequence), ..child })
}

fn unknown<'a>(name: &str, head: &str) -> Option<ChildName<'a>> {
    // One random UUID in five hundred ends in ten digits that could be a sequence, and so do many
    // long numbers. Both are common names of registrations.
    let bare = ids::is_guid(name) || (!head.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()));
    let counted = matches!(head, "qn-" | "leader_election-");
    (!bare && !counted).then_some(ChildName::of(Recipe::UnknownQueue, RequestMode::Exclusive))
}
