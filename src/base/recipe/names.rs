//! What a contender's name alone says: each family of recipes is asked in turn.

use super::{ChildName, Recipe, RequestMode, curator, ids, kazoo, other, single, textbook, zookeeper};
use crate::znode::Sequence;

/// Reads the name of a child. `None` when no contender bears such a name.
///
/// The name is whatever a server holds: any characters, any length. The work is linear in its length.
///
/// What stands before the number is offered to the families in this order, the narrower before the wider: Curator,
/// kazoo, ZooKeeper's own recipes, the other clients and servers (the Rust client's names are Curator's with any
/// word), the textbooks. What none of them knows is an unknown queue, unless it is known to be no queue: an item of a
/// work queue (`qn-S`), ClickHouse's `leader_election-S` with its several leaders, a bare id or number that only
/// happens to end in ten digits. A name without a number can be a single node's.
///
/// Of an [unknown queue](Recipe::UnknownQueue) and of [single nodes](Recipe::needs_ephemeral) only ephemeral nodes are
/// contenders, which the name does not show. Where the neighbours or the path decide, [`Classifier`](super::Classifier) knows more.
pub fn read(name: &str) -> Option<ChildName<'_>> {
    let Some((head, sequence)) = Sequence::split(name) else { return single::read(name) };
    let child = curator::read(head)
        .or_else(|| kazoo::read(head))
        .or_else(|| zookeeper::read(head))
        .or_else(|| other::read(head))
        .or_else(|| textbook::read(head))
        .or_else(|| unknown(name, head))?;
    Some(ChildName { sequence: Some(sequence), ..child })
}

fn unknown<'a>(name: &str, head: &str) -> Option<ChildName<'a>> {
    // One random UUID in five hundred ends in ten digits that could be a sequence, and so do many long numbers:
    // registrations are often called so.
    let bare = ids::is_guid(name) || (!head.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()));
    let counted = matches!(head, "qn-" | "leader_election-");
    (!bare && !counted).then_some(ChildName::of(Recipe::UnknownQueue, RequestMode::Exclusive))
}
