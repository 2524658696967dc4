//! A candidate or leader that has gone.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::queue::event::{CLOSED, DELETED, GONE};
use crate::queue::{ClientIdentity, Happening, LockEvent};
use lockscope_base::znode::{SessionId, Timestamp};

/// Maximum number of departures that an election remembers, of leaders and of candidates each.
pub(super) const MAX_DEPARTURES: usize = 16;

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
    pub(super) fn is_same_name(&self, came: &ClientIdentity) -> bool {
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
pub(super) struct Departures(VecDeque<Departure>);

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
