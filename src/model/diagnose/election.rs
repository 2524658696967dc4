//! Locks where long waits are normal: elections, whose candidates stand by.

use std::net::IpAddr;

use crate::queue::LockQueue;
use lockscope_base::recipe::{LockKind, Recipe};

/// Returns whether the recipe itself is an election.
pub(super) fn by_recipe(lock: &LockQueue) -> bool {
    lock.kind() == LockKind::Latch || matches!(lock.recipe(), Recipe::HadoopElector | Recipe::KafkaController)
}

/// Returns whether it is unknown if the contenders wait at all. Numbered ephemeral nodes of no
/// known recipe are often the members of a group.
pub(super) fn is_registry(lock: &LockQueue) -> bool {
    lock.recipe() == Recipe::UnknownQueue
}

/// Words in a path that suggest an election.
const WORDS: [&str; 7] = ["elect", "leader", "master", "latch", "active", "controller", "singleton"];

/// Returns whether a lock is, or seems to be, an election.
///
/// Curator's `LeaderSelector` and kazoo's `Election` create the nodes of a mutex. Their paths often
/// contain a telling word. The nodes of `LeaderSelector` contain a participant's id, where those of
/// a mutex contain an address.
pub fn is_likely(lock: &LockQueue) -> bool {
    if by_recipe(lock) {
        return true;
    }
    let path = lock.path().as_str().to_ascii_lowercase();
    WORDS.iter().any(|word| path.contains(word)) || names_participants(lock)
}

fn names_participants(lock: &LockQueue) -> bool {
    let text = lock.first_holder().map(|holder| holder.data.bytes()).filter(|data| !data.is_empty());
    let text = text.and_then(|data| std::str::from_utf8(data).ok());
    lock.recipe() == Recipe::CuratorMutex && text.is_some_and(|text| text.parse::<IpAddr>().is_err() && text != REVOKE)
}

/// The data that Curator writes into a node to ask its owner to release.
const REVOKE: &str = "__REVOKE__";
