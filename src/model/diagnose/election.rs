//! Where waiting for long is meant so: who stands by in an election is content not to be elected.

use std::net::IpAddr;

use crate::queue::LockQueue;
use lockscope_base::recipe::{LockKind, Recipe};

/// Whether the recipe itself is an election's.
pub(super) fn by_recipe(lock: &LockQueue) -> bool {
    lock.kind() == LockKind::Latch || matches!(lock.recipe(), Recipe::HadoopElector | Recipe::KafkaController)
}

/// Whether nobody knows that those who stand there wait at all: numbered ephemeral nodes of no known recipe are as often the
/// members of a group.
pub(super) fn is_registry(lock: &LockQueue) -> bool {
    lock.recipe() == Recipe::UnknownQueue
}

/// Words in a path that tell an election.
const WORDS: [&str; 7] = ["elect", "leader", "master", "latch", "active", "controller", "singleton"];

/// Whether it is an election by its recipe, or seems to be one: Curator's `LeaderSelector` and kazoo's `Election` make the nodes of
/// a mutex. Then the path often says so, and `LeaderSelector`'s nodes hold a participant's id where a mutex's hold an address.
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

/// What Curator writes into the node of whoever is asked to release.
const REVOKE: &str = "__REVOKE__";
