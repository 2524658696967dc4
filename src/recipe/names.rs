use super::{Mode, Recipe, curator, ids, kazoo, other, single, textbook, zookeeper};
use crate::znode::Sequence;

/// What a contender's name alone tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildName<'a> {
    /// The recipe that makes such names.
    pub recipe: Recipe,
    /// What it asks for.
    pub mode: Mode,
    /// Its number in the queue; `None` for nodes that the server did not number.
    pub sequence: Option<Sequence>,
    /// The part that names the lock, where one parent can hold several.
    pub lock_name: Option<&'a str>,
    /// The id that its maker put into the name for this one attempt (a UUID, 32 hex digits, the session): two nodes
    /// with one id are one attempt whose reply was lost.
    pub attempt: Option<&'a str>,
}

/// Reads the name of a child. `None` when no contender bears such a name.
///
/// The name is whatever a server holds: any characters, any length. The work is linear in its length.
///
/// Numbered names are offered to the families in this order, the narrower before the wider: Curator, kazoo,
/// ZooKeeper's own, the other clients and servers (the Rust client's names are Curator's with any word), the textbooks.
/// What none of them knows is an unknown queue, unless it is known to be no queue: an item of a work queue
/// (`qn-S`), ClickHouse's `leader_election-S` with its several leaders, a bare id or number that only happens to end
/// in ten digits. A name without a number can be a single node's.
///
/// Of an [unknown queue](Recipe::UnknownQueue) and of [single nodes](Recipe::needs_ephemeral) only ephemeral nodes are
/// contenders, which the name cannot tell. Where the neighbours or the path decide, [`Shape`](super::Shape) knows more.
pub fn read(name: &str) -> Option<ChildName<'_>> {
    let Some((head, sequence)) = Sequence::split(name) else { return single::read(name) };
    curator::read(head, sequence)
        .or_else(|| kazoo::read(head, sequence))
        .or_else(|| zookeeper::read(head, sequence))
        .or_else(|| other::read(head, sequence))
        .or_else(|| textbook::read(head, sequence))
        .or_else(|| unknown(name, head, sequence))
}

fn unknown<'a>(name: &str, head: &str, sequence: Sequence) -> Option<ChildName<'a>> {
    // One random UUID in five hundred ends in ten digits that could be a sequence, and so does every number that is
    // long enough: registrations are often called so.
    let bare = ids::is_guid(name) || (!head.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()));
    if bare || matches!(head, "qn-" | "leader_election-") {
        return None;
    }
    Some(ChildName {
        recipe: Recipe::UnknownQueue,
        mode: Mode::Exclusive,
        sequence: Some(sequence),
        lock_name: None,
        attempt: None,
    })
}
