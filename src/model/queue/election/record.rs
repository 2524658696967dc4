//! What is remembered about one election.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::changes::ChangeCounts;
use super::departure::Departures;
use super::{Departure, DepartureEnd};
use crate::queue::{ClientIdentity, Happening};
use lockscope_base::znode::Timestamp;

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
    pub(super) empty_since: Option<Timestamp>,
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
    pub(super) fn new(now: Timestamp) -> Self {
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

    pub(super) fn forget_departures(&mut self) {
        self.leaders = Departures::default();
        self.absent = Departures::default();
    }

    pub(super) fn forget_names(&mut self) {
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
