//! Tells elections from other locks.

use std::net::IpAddr;
use std::time::Duration;

use crate::queue::{LockQueue, LockTable};
use lockscope_base::recipe::{LockKind, Recipe, is_named_election};
use lockscope_base::znode::{Timestamp, ZnodePath};

/// How sure it is that a lock is an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ElectionKind {
    /// Numbered nodes of no known recipe. They may queue for leadership, or be members of a group.
    Unknown,
    /// The path or the nodes' data suggest an election. The recipe is that of a lock.
    Likely,
    /// The recipe is that of an election, or the user expects one there.
    Certain,
}

/// Returns whether the recipe itself is an election.
pub(crate) fn by_recipe(lock: &LockQueue) -> bool {
    lock.recipe().is_election()
}

/// Returns the node of an `ElasticJob`'s leader for the latch in which its candidates queue; `None`
/// for any other path. They leave the latch once one of them has created that node.
pub(crate) fn leader_beside_latch(latch: &ZnodePath) -> Option<ZnodePath> {
    let election = latch.parent().filter(|election| latch.name() == "latch" && election.name() == "election")?;
    election.parent().filter(|above| above.name() == "leader")?;
    Some(election.child("instance"))
}

/// Returns whether it is unknown if the contenders wait at all. Numbered ephemeral nodes of no
/// known recipe are often the members of a group.
pub(crate) fn is_registry(lock: &LockQueue) -> bool {
    lock.recipe() == Recipe::UnknownQueue
}

/// Words in a path that suggest an election.
const WORDS: [&str; 7] = ["elect", "leader", "master", "latch", "active", "controller", "singleton"];

/// Returns whether a lock is, or seems to be, an election, so that long waits are normal there.
///
/// Curator's `LeaderSelector` and kazoo's `Election` create the nodes of a mutex. Their paths often
/// contain a telling word. The nodes of `LeaderSelector` contain a participant's id, where those of
/// a mutex contain an address.
///
/// A wrong answer makes a stuck lock less severe, so any sign counts.
/// [`LockTable::election_kind`] is stricter.
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

/// How long somebody must have led before the nodes' data alone suggest an election: applications
/// write names into the nodes of their mutexes, too.
const LONG_TENURE: Duration = Duration::from_secs(300);

impl LockTable {
    /// Returns how sure it is that a lock is an election; `None` for a lock that is none.
    pub fn election_kind(&self, lock: &LockQueue, now: Timestamp) -> Option<ElectionKind> {
        let kind = self.suspected_election(lock)?;
        let more_than_data = kind != ElectionKind::Likely || is_named_election(lock.path());
        let leads_long = || lock.first_holder().and_then(|leader| self.hold_bounds(leader, now));
        let is_slow = || {
            leads_long().is_some_and(|bounds| bounds.at_least >= LONG_TENURE)
                || self.election_record(lock).is_some_and(|record| record.longest_tenure() >= LONG_TENURE)
        };
        (more_than_data || is_slow()).then_some(kind)
    }

    /// Returns the same, without a look at how long anybody led: what to remember must be known
    /// before.
    pub(in crate::queue) fn suspected_election(&self, lock: &LockQueue) -> Option<ElectionKind> {
        if by_recipe(lock) || self.expectation(lock).is_some() {
            return Some(ElectionKind::Certain);
        }
        let is_known_by_data = || self.election_record(lock).is_some_and(|record| record.names_participants);
        match lock.kind() {
            LockKind::ReadWrite | LockKind::Semaphore => None,
            _ if is_named_election(lock.path()) => Some(ElectionKind::Likely),
            _ if is_registry(lock) => Some(ElectionKind::Unknown),
            _ => (names_participants(lock) || is_known_by_data()).then_some(ElectionKind::Likely),
        }
    }
}
