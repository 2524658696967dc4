//! What is remembered about elections: who led and how each tenure ended, which candidates have
//! gone, how often the leader changed, and what the user expects.
//!
//! How events become records is in [`tracking`](super::tracking).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::queue::event::{CLOSED, DELETED, GONE};
use crate::queue::{ClientIdentity, Happening, LockEvent, LockId};
use lockscope_base::recipe::PathPattern;
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath};

/// Maximum number of elections with a record. The record that changed last the longest ago is
/// forgotten first.
const MAX_ELECTIONS: usize = 10_000;

/// What a table remembers about elections. Recordings store it beside the table, because older
/// ones have no place for it there.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Elections {
    /// What the user expects of elections.
    pub(super) expected: Vec<Expectation>,
    /// Since when the table was watched, by this machine's clock. `None` before the first complete
    /// reading.
    pub(super) since: Option<Timestamp>,
    pub(in crate::queue) records: BTreeMap<LockId, ElectionRecord>,
    /// The elections whose parents are gone, in the order in which that was seen. Some may have
    /// candidates again.
    pub(super) without_parent: VecDeque<LockId>,
    /// What a recording has of the time before. It has it already, and does not store it again.
    #[serde(skip)]
    pub(super) led_before: LeadersBefore,
}

impl Elections {
    pub(super) fn record_mut(&mut self, id: LockId, now: Timestamp) -> &mut ElectionRecord {
        if self.records.len() >= MAX_ELECTIONS && !self.records.contains_key(&id) {
            let oldest = self.records.iter().min_by_key(|(_, record)| record.changed_at()).map(|(id, _)| *id);
            oldest.and_then(|oldest| self.records.remove(&oldest));
        }
        self.records.entry(id).or_insert_with(|| ElectionRecord::new(now))
    }

    /// Forgets all leaders and candidates that have gone, but not which locks are elections.
    pub(in crate::queue) fn forget_departures(&mut self) {
        self.records.values_mut().for_each(ElectionRecord::forget_departures);
    }

    /// Forgets the names of all clients.
    pub(in crate::queue) fn forget_names(&mut self) {
        self.records.values_mut().for_each(ElectionRecord::forget_names);
    }
}

/// An expectation of the locks at matching paths. These locks are elections, whatever their recipe,
/// unless only the length of their holds is expected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expectation {
    /// The paths of the elections.
    pub path: PathPattern,
    /// How many candidates there must be, the leader included.
    pub candidates: Option<u32>,
    /// How long an election may be without a leader. The time after which a lock is stuck if
    /// absent.
    pub leader_within: Option<Duration>,
    /// How long a lock is held at most, as its owner promised. Recordings store it apart.
    #[serde(skip)]
    pub held_at_most: Option<Duration>,
}

impl Expectation {
    /// Returns whether the locks at this path are elections.
    pub fn is_of_elections(&self) -> bool {
        self.held_at_most.is_none() || self.candidates.is_some() || self.leader_within.is_some()
    }
}

const HOUR: Duration = Duration::from_secs(3_600);

const DAY: Duration = Duration::from_secs(24 * 3_600);

/// How often the leadership of an election changed. A number is known only if the election was
/// watched for that long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangesOfLeader {
    /// The changes in the last hour.
    pub last_hour: Option<u32>,
    /// The changes in the last day.
    pub last_day: Option<u32>,
}

impl ChangesOfLeader {
    /// Counts the changes of an election that was watched since `since`.
    pub(super) fn new(record: Option<&ElectionRecord>, since: Option<Timestamp>, now: Timestamp) -> Self {
        let count = |time: Duration| {
            let is_known = since.is_some_and(|since| now.since(since) >= time);
            is_known.then(|| record.map_or(0, |record| record.changes_within(time, now)))
        };
        Self { last_hour: count(HOUR), last_day: count(DAY) }
    }
}

/// What is remembered about one election.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ElectionRecord {
    changed_at: Timestamp,
    /// Whether a node's data named a participant.
    pub(super) names_participants: bool,
    /// A time since which the parent has provably been empty, by this machine's clock. Kept for a
    /// parent that was found empty, though it had children before.
    pub(in crate::queue) empty_since: Option<Timestamp>,
    /// Whether somebody led before.
    had_leader: bool,
    changes: ChangeCounts,
    longest_tenure: Duration,
    /// Those that led and have gone.
    leaders: Departures,
    /// Those that have gone and have not come back, whether they led or not.
    absent: Departures,
}

impl ElectionRecord {
    fn new(now: Timestamp) -> Self {
        Self {
            changed_at: now,
            names_participants: false,
            empty_since: None,
            had_leader: false,
            changes: ChangeCounts::default(),
            longest_tenure: Duration::ZERO,
            leaders: Departures::default(),
            absent: Departures::default(),
        }
    }

    /// Returns when a candidate last came or went, by this machine's clock.
    pub fn changed_at(&self) -> Timestamp {
        self.changed_at
    }

    pub(super) fn acquired(&mut self, at: Timestamp) {
        (self.changed_at, self.empty_since) = (at, None);
        if self.had_leader {
            self.changes.add(at);
        }
    }

    pub(super) fn came(&mut self, at: Timestamp, client: &ClientIdentity) {
        (self.changed_at, self.empty_since) = (at, None);
        self.absent.came_back(client);
    }

    /// Records that a node went. `is_queued` tells whether its client is in the queue by another
    /// node.
    pub(super) fn went(&mut self, departure: Departure, led: bool, is_queued: bool) {
        self.changed_at = departure.at;
        self.had_leader |= led;
        if led {
            self.longest_tenure = self.longest_tenure.max(departure.led_for().unwrap_or_default());
            self.leaders.push(departure.clone());
        }
        match departure.end {
            // It was there until now, so what ended before was an earlier session of it.
            DepartureEnd::Released | DepartureEnd::Closed => self.absent.forget_earlier_sessions(&departure.client),
            DepartureEnd::Expired if is_queued => {}
            _ => self.absent.push(departure),
        }
    }

    /// Records that the session of a node that went had expired. `is_queued` tells whether its client
    /// is in the queue by another node.
    pub(super) fn settled(&mut self, happening: &Happening, is_queued: bool) {
        let (Some(node), Some(session)) = (&happening.node, happening.session) else { return };
        self.leaders.expired(node, session);
        self.absent.expired(node, session);
        if is_queued {
            self.absent.remove(node, session);
        }
    }

    fn forget_departures(&mut self) {
        self.leaders = Departures::default();
        self.absent = Departures::default();
    }

    fn forget_names(&mut self) {
        self.leaders.forget_names();
        self.absent.forget_names();
    }

    /// Returns the past leaders, the latest last, at most the last 16.
    pub fn tenures(&self) -> impl DoubleEndedIterator<Item = &Departure> {
        self.leaders.iter()
    }

    /// Returns the longest time that a former leader is known to have led.
    pub(super) fn longest_tenure(&self) -> Duration {
        self.longest_tenure
    }

    /// Returns the last leader that has gone.
    pub fn last_tenure(&self) -> Option<&Departure> {
        self.leaders.iter().next_back()
    }

    /// Returns the leaders and candidates whose nodes went and that have not come back, at most the
    /// last 16. Those that left by themselves, as far as that is known, are not among them.
    pub fn absent(&self) -> impl DoubleEndedIterator<Item = &Departure> {
        self.absent.iter()
    }

    /// Returns whether a client that has gone led until then.
    pub fn led(&self, departure: &Departure) -> bool {
        self.leaders.iter().any(|leader| (leader.at, &leader.node) == (departure.at, &departure.node))
    }

    /// Returns a time since which the election has provably had no node, if it was found empty.
    pub fn found_empty_since(&self) -> Option<Timestamp> {
        self.empty_since
    }

    /// Returns how often the leadership changed within a time before `now`, to the minute; at most
    /// a day.
    pub fn changes_within(&self, time: Duration, now: Timestamp) -> u32 {
        self.changes.within(time, now)
    }
}

/// Maximum number of departures that an election remembers, of leaders and of candidates each.
const MAX_DEPARTURES: usize = 16;

/// How the node of a candidate or leader ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DepartureEnd {
    /// Its own session deleted the node.
    Released,
    /// Another session deleted the node.
    Deleted,
    /// Its client closed the session.
    Closed,
    /// The node was deleted while its session lived. Nothing tells by whom.
    Gone,
    /// It is unknown whether the session expired.
    Unknown,
    /// The session expired.
    Expired,
}

impl DepartureEnd {
    pub(super) fn of(happening: &Happening) -> Self {
        match (happening.event, happening.end()) {
            (LockEvent::Expired | LockEvent::Settled, _) => Self::Expired,
            (_, Some(DELETED)) => Self::Deleted,
            (_, Some(CLOSED)) => Self::Closed,
            (_, Some(GONE)) => Self::Gone,
            (_, Some("unknown") | None) => Self::Unknown,
            (_, Some(_)) => Self::Released,
        }
    }

    /// Returns the end as the rest of a sentence about the client.
    pub fn in_sentence(self) -> &'static str {
        match self {
            Self::Released => "it deleted its node itself",
            Self::Deleted => "another session deleted its node",
            Self::Closed => "its client closed the session",
            Self::Gone => "its node was deleted while its session lived",
            Self::Unknown => "its node is gone, and its session may have expired",
            Self::Expired => "its session expired",
        }
    }
}

/// A candidate or leader that has gone, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Departure {
    /// The client.
    pub client: ClientIdentity,
    /// The client's session; `None` for a node without one, or one that was never read.
    pub session: Option<SessionId>,
    /// The name of the node.
    pub node: Arc<str>,
    /// When the node went, by this machine's clock.
    pub at: Timestamp,
    /// How the node went.
    pub end: DepartureEnd,
    /// Since when the client led; `None` if the beginning was not seen, or if it did not lead.
    pub led_since: Option<Timestamp>,
    /// The number of the client's last request before its node went, as a server listed it.
    pub last_request: Option<i64>,
}

impl Departure {
    /// Returns whether a candidate that came is the same client by its name.
    fn is_same_name(&self, came: &ClientIdentity) -> bool {
        let name = self.client.name_of_one_client();
        name.is_some() && name == came.name_of_one_client()
    }

    fn is_of(&self, node: &str, session: SessionId) -> bool {
        *self.node == *node && self.session == Some(session)
    }

    /// Returns how long the client led; `None` if the beginning was not seen.
    pub fn led_for(&self) -> Option<Duration> {
        self.led_since.map(|since| self.at.since(since))
    }

    /// Returns when the client was last known to be connected: a newer session of its process began
    /// later.
    pub fn last_heard(&self) -> Timestamp {
        self.client.last_listed.unwrap_or(self.at)
    }

    /// Returns the host that the client was last connected from.
    pub fn host(&self) -> Option<&str> {
        self.client.host()
    }
}

/// The last departures, the latest last.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Departures(VecDeque<Departure>);

impl Departures {
    pub fn push(&mut self, departure: Departure) {
        if self.0.len() == MAX_DEPARTURES {
            self.0.pop_front();
        }
        self.0.push_back(departure);
    }

    /// Removes the departure of a candidate that came back: by its name, or else the oldest from
    /// its host that has no other name.
    pub fn came_back(&mut self, came: &ClientIdentity) {
        let by_name = self.0.iter().position(|departure| departure.is_same_name(came));
        let may_be_named_so = |departure: &Departure| {
            let names = (departure.client.name_of_one_client(), came.name_of_one_client());
            matches!(names, (None, _) | (_, None)) || names.0 == names.1
        };
        let is_from_host = |departure: &Departure| {
            departure.host().is_some() && departure.host() == came.host() && may_be_named_so(departure)
        };
        let by_host = || self.0.iter().position(is_from_host);
        if let Some(at) = by_name.or_else(by_host) {
            self.0.remove(at);
        }
    }

    /// Sets that the session of a node that went had expired.
    pub fn expired(&mut self, node: &str, session: SessionId) {
        for departure in self.0.iter_mut().filter(|departure| departure.is_of(node, session)) {
            departure.end = DepartureEnd::Expired;
        }
    }

    pub fn remove(&mut self, node: &str, session: SessionId) {
        self.0.retain(|departure| !departure.is_of(node, session));
    }

    /// Removes the departures of a client whose sessions ended, or may have.
    pub fn forget_earlier_sessions(&mut self, client: &ClientIdentity) {
        let ended = |departure: &Departure| matches!(departure.end, DepartureEnd::Expired | DepartureEnd::Unknown);
        self.0.retain(|departure| !(departure.is_same_name(client) && ended(departure)));
    }

    pub fn forget_names(&mut self) {
        self.0.iter_mut().for_each(|departure| departure.client.name = None);
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Departure> {
        self.0.iter()
    }
}

const MINUTE_MS: i64 = 60_000;

/// How long changes are counted.
const CHANGES_COUNTED_MINUTES: i64 = 24 * 60;

/// The changes of the last day, by the minute: at most one entry for each minute.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct ChangeCounts(VecDeque<(i64, u32)>);

impl ChangeCounts {
    pub fn add(&mut self, at: Timestamp) {
        let minute = at.0.div_euclid(MINUTE_MS);
        match self.0.back_mut() {
            // A clock that was set back counts into the last minute.
            Some((last, count)) if *last >= minute => *count = count.saturating_add(1),
            _ => self.0.push_back((minute, 1)),
        }
        while self.0.front().is_some_and(|(first, _)| minute.saturating_sub(*first) > CHANGES_COUNTED_MINUTES) {
            self.0.pop_front();
        }
    }

    /// Returns how many changes there were within a time before `now`, to the minute.
    pub fn within(&self, time: Duration, now: Timestamp) -> u32 {
        let first = now.minus(time).0.div_euclid(MINUTE_MS);
        self.0
            .iter()
            .rev()
            .take_while(|(minute, _)| *minute > first)
            .fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }
}

/// Maximum number of elections whose earlier leader is known.
const MAX_LED_BEFORE: usize = 1_000;

/// The last leader of an election before it was watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedBefore {
    /// The path of the election.
    pub election: ZnodePath,
    /// The leader, and how it went; at the earliest time that is possible.
    pub tenure: Departure,
    /// Whether the end was seen. Otherwise the leader still led when the recording ended, or went
    /// in a gap.
    pub is_end_seen: bool,
    /// Whether something was not recorded after the end, so that another may have led.
    pub has_gap: bool,
}

/// The earlier leaders, by election.
#[derive(Clone, Debug, Default)]
pub(super) struct LeadersBefore(BTreeMap<ZnodePath, LedBefore>);

impl LeadersBefore {
    /// Adds what was found. At most 1,000 elections are kept.
    pub fn learn(&mut self, found: Vec<LedBefore>) {
        for led in found {
            if self.0.len() < MAX_LED_BEFORE || self.0.contains_key(&led.election) {
                self.0.insert(led.election.clone(), led);
            }
        }
    }

    pub fn of(&self, election: &ZnodePath) -> Option<&LedBefore> {
        self.0.get(election)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_counted_for_a_day() {
        let mut counts = ChangeCounts::default();
        let at = |minute: i64| Timestamp(minute * MINUTE_MS + 10);
        for minute in [0, 0, 30, 50, 50, 50, 3_000] {
            counts.add(at(minute));
            if minute == 50 {
                assert_eq!(
                    counts.within(Duration::from_secs(3_600), at(50)),
                    counts.0.iter().map(|(_, count)| count).sum::<u32>()
                );
            }
        }
        assert_eq!(counts.0.len(), 1);
        assert_eq!(counts.within(Duration::from_secs(60), at(3_000)), 1);
        assert_eq!(counts.within(Duration::from_secs(60), at(3_001)), 0);
    }
}
