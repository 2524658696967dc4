//! The elections of a table: which locks are elections, how events become their records, and when
//! one is kept although nobody is there.
//!
//! The table of locks forgets a lock with its parent, but an election whose leader is missing must
//! not be forgotten. There are two cases:
//!
//! - An election that is found empty: the stat of its parent tells that it had candidates before.
//! - An election whose parent is gone. Curator's elections have containers for parents, which
//!   servers delete soon after the last candidate: that nobody leads would be forgotten with them.

use std::net::IpAddr;
use std::time::Duration;

use super::{ChangesOfLeader, Departure, DepartureEnd, ElectionRecord, Elections, Expectation, LedBefore};
use crate::queue::clients::Clients;
use crate::queue::hold::{Clock, TransactionTimes};
use crate::queue::parent::{ChildListing, Locks};
use crate::queue::{ClientIdentity, Happening, LockEvent, LockId, LockQueue};
use lockscope_base::recipe::{LockKind, Recipe, is_named_election, is_of_own_lock};
use lockscope_base::znode::{Timestamp, ZnodePath, ZnodeStat};

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
/// [`Elections::kind`] is stricter.
pub fn is_likely(lock: &LockQueue) -> bool {
    if by_recipe(lock) {
        return true;
    }
    let path = lock.path().as_str().to_ascii_lowercase();
    WORDS.iter().any(|word| path.contains(word)) || names_participants(lock)
}

/// Returns whether the leader's node has its name, as Curator's elections on the nodes of a mutex do.
/// Those of lockscope's library are mutexes: its elections have nodes of another name.
fn names_participants(lock: &LockQueue) -> bool {
    let leader = lock.first_holder().filter(|holder| !is_of_own_lock(&holder.node));
    let text = leader.map(|holder| holder.data.bytes()).filter(|data| !data.is_empty());
    let text = text.and_then(|data| std::str::from_utf8(data).ok());
    lock.recipe() == Recipe::CuratorMutex && text.is_some_and(|text| text.parse::<IpAddr>().is_err() && text != REVOKE)
}

/// The data that Curator writes into a node to ask its owner to release.
const REVOKE: &str = "__REVOKE__";

/// How long somebody must have led before the nodes' data alone suggest an election: applications
/// write names into the nodes of their mutexes, too.
const LONG_TENURE: Duration = Duration::from_secs(300);

impl Elections {
    /// Returns how sure it is that a lock is an election; `None` for a lock that is none.
    pub fn kind(&self, lock: &LockQueue, clock: &Clock, now: Timestamp) -> Option<ElectionKind> {
        let kind = self.suspected(lock)?;
        let more_than_data = kind != ElectionKind::Likely || is_named_election(lock.path());
        let leads_long = || lock.first_holder().and_then(|leader| clock.hold_bounds(leader, now));
        let is_slow = || {
            leads_long().is_some_and(|bounds| bounds.at_least >= LONG_TENURE)
                || self.record(lock).is_some_and(|record| record.longest_tenure() >= LONG_TENURE)
        };
        (more_than_data || is_slow()).then_some(kind)
    }

    /// Returns the same, without a look at how long anybody led: what to remember must be known
    /// before.
    pub(in crate::queue) fn suspected(&self, lock: &LockQueue) -> Option<ElectionKind> {
        if by_recipe(lock) || self.expectation(lock).is_some() {
            return Some(ElectionKind::Certain);
        }
        let is_known_by_data = || self.record(lock).is_some_and(|record| record.names_participants);
        match lock.kind() {
            LockKind::ReadWrite | LockKind::Semaphore => None,
            _ if is_named_election(lock.path()) => Some(ElectionKind::Likely),
            _ if is_registry(lock) => Some(ElectionKind::Unknown),
            _ => (names_participants(lock) || is_known_by_data()).then_some(ElectionKind::Likely),
        }
    }

    /// Returns the user's expectations of elections.
    pub fn expectations(&self) -> &[Expectation] {
        &self.expected
    }

    /// Returns the lengths of holds that the user's expectations tell, in their order. A recording
    /// stores them apart, because older ones have no place for them.
    pub fn promised_holds(&self) -> Vec<Option<Duration>> {
        self.expected.iter().map(|expected| expected.held_at_most).collect()
    }

    /// Returns the elections with what [`promised_holds`](Self::promised_holds) returned.
    #[must_use]
    pub fn with_promised_holds(mut self, promised: &[Option<Duration>]) -> Self {
        for (expected, promised) in self.expected.iter_mut().zip(promised) {
            expected.held_at_most = *promised;
        }
        self
    }

    /// Returns what is remembered about an election; `None` while nothing has changed there.
    pub fn record(&self, lock: &LockQueue) -> Option<&ElectionRecord> {
        self.records.get(&lock.id())
    }

    /// Learns who led elections before they were watched. At most 1,000 elections are kept.
    pub(in crate::queue) fn learn_leaders(&mut self, found: Vec<LedBefore>) {
        self.led_before.learn(found);
    }

    /// Returns who led an election before it was watched, if a recording has it.
    pub fn led_before(&self, election: &LockQueue) -> Option<&LedBefore> {
        self.led_before.of(election.path())
    }

    /// Returns the user's expectation of a lock as an election.
    pub fn expectation(&self, lock: &LockQueue) -> Option<&Expectation> {
        let mut of_elections = self.expected.iter().filter(|expected| expected.is_of_elections());
        of_elections.find(|expected| expected.path.matches(lock.path()))
    }

    /// Returns how long a lock is held at most, as its owner promised.
    pub fn held_at_most(&self, lock: &LockQueue) -> Option<Duration> {
        let mut of_holds = self.expected.iter().filter(|expected| expected.held_at_most.is_some());
        of_holds.find(|expected| expected.path.matches(lock.path()))?.held_at_most
    }
}

impl Elections {
    /// Records the events of elections. Other locks cost a look at their recipe and path.
    pub(in crate::queue) fn note(&mut self, happenings: &[Happening], locks: &Locks, clients: &Clients) {
        for happening in happenings {
            let Some(id) = happening.lock.as_ref().map(|lock| lock.id) else { continue };
            if happening.event == LockEvent::LockGone {
                self.records.remove(&id);
                continue;
            }
            let Some((lock, kind)) = locks.get(&id).and_then(|lock| Some((lock, self.suspected(lock)?))) else {
                continue;
            };
            let last_request = clients.last_request(happening);
            let expired = matches!(happening.event, LockEvent::Expired | LockEvent::Settled);
            let is_queued = expired && clients.queue_again(lock, happening);
            let record = self.record_mut(id, happening.at);
            record.names_participants |= kind == ElectionKind::Likely;
            match happening.event {
                LockEvent::Acquired => record.acquired(happening.at),
                LockEvent::Enqueued => record.came(happening.at, &happening.client),
                LockEvent::Released | LockEvent::Left | LockEvent::Expired => {
                    record.went(departure(happening, last_request), happening.ends_hold, is_queued);
                }
                LockEvent::Settled => record.settled(happening, is_queued),
                _ => {}
            }
        }
    }

    /// Records that a candidate is known by its name now. Its node was not read when it came.
    pub(in crate::queue) fn note_candidate_is_read(
        &mut self,
        lock: &LockQueue,
        client: &ClientIdentity,
        now: Timestamp,
    ) {
        let is_election = self.suspected(lock).is_some();
        if let Some(record) = self.records.get_mut(&lock.id()).filter(|_| is_election) {
            record.came(now, client);
        }
    }

    /// Dates the emptiness of the parents that were found empty: the next transaction of a known
    /// time came after the deletion of their last child. Called at the end of a complete reading.
    pub(in crate::queue) fn prove_emptiness(
        &mut self,
        times: &TransactionTimes,
        clock: &Clock,
        listing: impl Fn(LockId) -> Option<ChildListing>,
    ) {
        for (id, record) in &mut self.records {
            let Some(since) = record.empty_since else { continue };
            let proven =
                listing(*id).filter(|listing| !listing.disturbed).and_then(|listing| times.after(listing.last));
            let proven = proven.map(|at| Timestamp(at.0.saturating_add(clock.ahead_ms())));
            record.empty_since = proven.map(|proven| proven.min(since)).or(Some(since));
        }
    }

    /// Notes that an election was found without candidates.
    pub(in crate::queue) fn note_found_empty(&mut self, id: LockId, now: Timestamp) {
        self.record_mut(id, now).empty_since = Some(now);
    }

    /// Notes the end of the first complete reading. Nothing was seen before.
    pub(in crate::queue) fn note_watched(&mut self, now: Timestamp) {
        self.since.get_or_insert(now);
    }
}

fn departure(happening: &Happening, last_request: Option<i64>) -> Departure {
    let held = happening.held_ms.and_then(|held| i64::try_from(held).ok());
    Departure {
        client: happening.client.clone(),
        session: happening.session,
        node: happening.node.clone().unwrap_or_else(|| "".into()),
        at: happening.at,
        end: DepartureEnd::of(happening),
        led_since: held.map(|held| Timestamp(happening.at.0.saturating_sub(held))),
        last_request,
    }
}

impl Elections {
    /// Returns for how long elections have been watched.
    pub fn watched_for(&self, now: Timestamp) -> Option<Duration> {
        self.since.map(|since| now.since(since))
    }

    /// Returns how often the leadership of an election changed lately.
    pub fn changes_of_leader(&self, lock: &LockQueue, clock: &Clock, now: Timestamp) -> ChangesOfLeader {
        let held = lock.first_holder().and_then(|holder| clock.hold_bounds(holder, now));
        let held_since = held.map(|bounds| now.minus(bounds.at_least));
        let since = self.since.into_iter().chain(held_since).min();
        ChangesOfLeader::new(self.record(lock), since, now)
    }
}

/// Returns whether a node is an election whose candidates have gone: it had children, and its path
/// or the user says so.
///
/// `cversion`, as servers report it, counts each creation and each deletion of a child.
pub fn is_empty_election(path: &ZnodePath, stat: &ZnodeStat, expected: &[Expectation]) -> bool {
    let had_children = stat.num_children == 0 && stat.cversion > 0 && stat.has_child_history() && !path.is_root();
    had_children
        && (is_named_election(path)
            || expected.iter().any(|expected| expected.is_of_elections() && expected.path.matches(path)))
}

/// Maximum number of elections that are kept without a parent. The oldest is dropped first.
const MAX_WITHOUT_PARENT: usize = 1_000;

/// How long an election is kept without a parent. Its application may be gone for good.
const MAX_AGE_WITHOUT_PARENT: Duration = Duration::from_secs(24 * 3_600);

impl Elections {
    /// Keeps an election whose parent is gone, if its last leader may have lost its session.
    /// Returns whether it did.
    ///
    /// An application that ends deletes its nodes or closes its session. Its election is not missed.
    pub(in crate::queue) fn keep_without_parent(&mut self, lock: &LockQueue, clock: &Clock, now: Timestamp) -> bool {
        let is_election = self.kind(lock, clock, now).is_some_and(|kind| kind > ElectionKind::Unknown);
        let end = self.record(lock).and_then(ElectionRecord::last_tenure).map(|tenure| tenure.end);
        if !is_election || !matches!(end, Some(DepartureEnd::Expired | DepartureEnd::Unknown)) {
            return false;
        }
        if !self.without_parent.contains(&lock.id()) {
            self.without_parent.push_back(lock.id());
        }
        true
    }

    pub(in crate::queue) fn set_expectations(&mut self, expected: &[Expectation]) {
        self.expected = expected.to_vec();
    }

    /// Returns whether this election was kept when it lost its parent.
    pub(in crate::queue) fn is_kept_without_parent(&self, lock: &LockQueue) -> bool {
        self.without_parent.contains(&lock.id())
    }

    /// Returns whether more elections are kept than allowed.
    pub(in crate::queue) fn has_too_many_without_parent(&self) -> bool {
        self.without_parent.len() > MAX_WITHOUT_PARENT
    }

    /// Returns the elections that are kept no longer: those that have been without a parent for long,
    /// and the oldest if there are too many. Forgets those that do not lack their parent any more.
    pub(in crate::queue) fn old_without_parent(
        &mut self,
        lacks_parent: impl Fn(LockId) -> bool,
        now: Timestamp,
    ) -> Vec<LockId> {
        let mut left = Vec::new();
        let kept = std::mem::take(&mut self.without_parent);
        let too_many = kept.len().saturating_sub(MAX_WITHOUT_PARENT);
        for (position, id) in kept.into_iter().enumerate() {
            if !lacks_parent(id) {
                continue;
            }
            let is_recent =
                self.records.get(&id).is_some_and(|record| now.since(record.changed_at()) <= MAX_AGE_WITHOUT_PARENT);
            if is_recent && position >= too_many {
                self.without_parent.push_back(id);
            } else {
                left.push(id);
            }
        }
        left
    }
}
