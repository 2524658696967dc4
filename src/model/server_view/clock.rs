//! Relates a server's two clocks to ours: the monotonic clock of its timeouts, and its calendar.
//!
//! A [`ClockAnchor`] is our own session as the servers list it, with our newest request that a
//! server had heard of. Connections that were not answered yet have no time by the server's clock:
//! [`FirstListed`] has the time at which they were first listed.

use std::time::Duration;

use rustc_hash::FxHashMap;

use super::expiry::{Bounds, OwnExpiry};
use super::{Connection, Expiry, ExpiryClock, ListedSession, ServerSettings, ServerView};
use lockscope_base::znode::{SessionId, Timestamp};

#[cfg(test)]
mod tests;

/// Maximum silence of a client, in milliseconds. If even the newest response is older, one of the
/// clocks was set.
const MAX_SILENCE_MS: i64 = 600_000;

/// Two clocks may drift apart by one millisecond in this many milliseconds.
const DRIFT_INTERVAL_MS: i64 = 10_000;

/// Maximum age of what was learned about a server's calendar. A small correction of that clock does
/// not contradict older answers.
const MAX_CALENDAR_AGE: Duration = Duration::from_secs(60);

/// Maximum time between a server's readings of its two clocks, in milliseconds.
const READ_APART_MS: i64 = 2;

/// Time zones differ by multiples of a quarter of an hour, in milliseconds.
const ZONE_STEP_MS: i64 = 900_000;

/// Maximum delay, in milliseconds and in addition to one tick, until the leader knows of a request
/// that we sent to a follower.
const MAX_LEADER_LAG_MS: i64 = 3_000;

/// The difference between a server's monotonic clock and ours, as far as the answers so far show
/// it. Reset when the server restarts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerClock {
    /// Minimum offset of the server's clock from ours, in milliseconds, and when it was learned.
    ahead: Option<(i64, Timestamp)>,
    /// Maximum offset of the server's clock from ours, from our own connection, and when it was
    /// learned.
    ahead_at_most: Option<(i64, Timestamp)>,
    /// Bounds of the offset of the server's calendar from its monotonic clock, in milliseconds, and
    /// since when they are learned.
    calendar: Option<(Bounds, Timestamp)>,
    /// When our own connection was made, by the server's calendar, and when we sent its first
    /// request, by our clock.
    established: Option<(Timestamp, Timestamp)>,
    /// Our request that the server had heard of when it last listed our session.
    listed: ListedAnchor,
}

/// Returns how far clocks may have drifted apart between two times, in milliseconds.
fn drift(since: Timestamp, now: Timestamp) -> i64 {
    now.0.saturating_sub(since.0).max(0) / DRIFT_INTERVAL_MS
}

impl ServerClock {
    /// Resets everything that a server's restart changes.
    pub fn forget(&mut self) {
        *self = Self { listed: self.listed, ..Self::default() };
    }

    /// Learns from a server's connections.
    ///
    /// No connection can have been answered later than now, so the newest response is a lower bound
    /// of the server's clock. The bound is tight if one of the connections is ours, or if there are
    /// many.
    pub fn learn(&mut self, connections: &[Connection], at: Timestamp) {
        let Some(newest) = connections.iter().filter_map(|connection| connection.last_response).max() else { return };
        let ahead = newest.saturating_sub(at.0);
        let known = self.ahead.map(|(known, then)| known.saturating_sub(drift(then, at)));
        let plausible = known.filter(|known| known.saturating_sub(ahead) < MAX_SILENCE_MS);
        self.ahead = Some((plausible.map_or(ahead, |known| known.max(ahead)), at));
    }

    /// Converts a time of the server's clock to ours. The result may be too late, but never too
    /// early.
    pub fn ours(&self, server: i64) -> Option<Timestamp> {
        self.ahead.map(|(ahead, _)| Timestamp(server.saturating_sub(ahead)))
    }

    /// Sets when each connection's client was last heard from, by our clock. That is at most `at`.
    pub fn place(&self, connections: &mut [Connection], at: Timestamp) {
        for connection in connections {
            let heard = connection.last_response.and_then(|response| self.ours(response));
            connection.last_heard = heard.map(|heard| heard.min(at));
        }
    }

    /// Sets when each session expires, by our clock. The server's answer had arrived by `at`.
    ///
    /// Compares with our own session if it is listed too. Otherwise uses this clock, or the
    /// calendar where possible.
    pub fn date(&mut self, sessions: &mut [ListedSession], anchor: Option<ClockAnchor>, at: Timestamp) {
        let own = anchor.and_then(|anchor| {
            let listed = sessions.iter().find(|session| session.id == anchor.session)?.expiry;
            let counted = self.listed.record(listed, anchor, at).anchor;
            Some((listed.millis(), counted.heard.plus(counted.timeout)))
        });
        for session in sessions {
            session.expires_at = match (own, session.expiry) {
                (Some((theirs, ours)), expiry) => {
                    Some(Timestamp(ours.0.saturating_add(expiry.millis().saturating_sub(theirs))))
                }
                (None, Expiry::Monotonic { millis }) => self.ours(millis),
                (None, Expiry::Date { millis, utc: true }) => Some(Timestamp(millis)),
                (None, Expiry::Date { utc: false, .. }) => None,
            };
        }
    }

    /// Returns the offset of the clock by which the server wrote its sessions' expiries.
    ///
    /// Returns `None` when our own session is not listed, or when a required setting is unknown.
    /// Call this after [`learn`](Self::learn), with the same connections and the same time.
    pub fn of_expiries(
        &mut self,
        connections: &[Connection],
        sessions: &[ListedSession],
        settings: Option<ServerSettings>,
        anchor: Option<ClockAnchor>,
        at: Timestamp,
    ) -> Option<ExpiryClock> {
        let anchor = anchor?;
        let listed = sessions.iter().find(|session| session.id == anchor.session)?.expiry;
        let ours = connections.iter().filter(|connection| connection.session == anchor.session);
        let ours = ours.max_by_key(|connection| connection.last_response);
        let last_response = ours.and_then(|connection| connection.last_response);
        let millis = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        let tick_ms = settings.map(|settings| millis(settings.tick()));
        let own = |heard, tick_ms| OwnExpiry { listed, heard, timeout_ms: millis(anchor.timeout), tick_ms };
        let Some(last_response) = last_response else {
            // Our session is connected to another server, which tells this one when it heard the
            // session.
            let tick_ms = tick_ms?;
            let first = self.listed.record(listed, anchor, at);
            let heard = (first.earliest(MAX_LEADER_LAG_MS.saturating_add(tick_ms)), first.at.0);
            return Some(ExpiryClock { ahead: own(heard, tick_ms).ahead(), calendar: Some((0, 0)), tick_ms: None });
        };
        let ahead = self.bounded(last_response, connections, anchor, at)?;
        let heard = (anchor.asked.0.saturating_add(ahead.0), at.0.saturating_add(ahead.1));
        let calendar = tick_ms.and_then(|tick_ms| own(heard, tick_ms).calendar());
        let established = ours.and_then(|connection| connection.established);
        let calendar = calendar.map(|found| {
            let found = (found.0.saturating_sub(READ_APART_MS), found.1.saturating_add(READ_APART_MS));
            let found = established.map_or(found, |made| self.with_connection(found, made, anchor, ahead));
            self.calendar(found, at)
        });
        Some(ExpiryClock { ahead, calendar, tick_ms })
    }

    /// Narrows the bounds of the calendar by the date at which our own connection was made. That
    /// date is in UTC; the other dates are in an unknown time zone.
    fn with_connection(&mut self, found: Bounds, made: Timestamp, anchor: ClockAnchor, ahead: Bounds) -> Bounds {
        let known = self.established.filter(|(known, _)| *known == made);
        let (_, first_asked) = *self.established.insert(known.unwrap_or((made, anchor.asked)));
        let from = made.0.saturating_sub(first_asked.0.saturating_add(ahead.1)).saturating_sub(READ_APART_MS);
        let to = made.0.saturating_sub(anchor.connecting_since.0.saturating_add(ahead.0)).saturating_add(READ_APART_MS);
        let apart = found.0.saturating_add(found.1).saturating_sub(from).saturating_sub(to) / 2;
        let zone = apart.saturating_add(ZONE_STEP_MS / 2).div_euclid(ZONE_STEP_MS).saturating_mul(ZONE_STEP_MS);
        let narrowed = (found.0.max(from.saturating_add(zone)), found.1.min(to.saturating_add(zone)));
        if narrowed.0 <= narrowed.1 { narrowed } else { found }
    }

    /// Bounds the server's clock from above: our connection was answered after we asked.
    fn bounded(
        &mut self,
        response: i64,
        connections: &[Connection],
        anchor: ClockAnchor,
        at: Timestamp,
    ) -> Option<Bounds> {
        let found = response.saturating_sub(anchor.asked.0);
        let known = self.ahead_at_most.map(|(known, then)| known.saturating_add(drift(then, at)));
        let at_most = known.map_or(found, |known| known.min(found));
        let (at_least, _) = self.ahead?;
        let bounds = if at_least <= at_most {
            (at_least, at_most)
        } else {
            // One of the clocks was set.
            let newest = connections.iter().filter_map(|connection| connection.last_response).max()?;
            self.calendar = None;
            (newest.saturating_sub(at.0), found)
        };
        (self.ahead, self.ahead_at_most) = (Some((bounds.0, at)), Some((bounds.1, at)));
        (bounds.0 <= bounds.1).then_some(bounds)
    }

    /// Returns the bounds of the calendar from all answers. An answer that contradicts the earlier
    /// ones replaces them.
    fn calendar(&mut self, found: Bounds, at: Timestamp) -> Bounds {
        let known = self.calendar.filter(|(_, since)| at.since(*since) <= MAX_CALENDAR_AGE);
        let together = known.map(|(known, since)| ((known.0.max(found.0), known.1.min(found.1)), since));
        let (calendar, since) = together.filter(|((from, to), _)| from <= to).unwrap_or((found, at));
        self.calendar = Some((calendar, since));
        calendar
    }
}

impl ServerView {
    /// Returns how far our clock is ahead of the calendar of our session's server, in milliseconds:
    /// at least and at most. Negative where our clock is behind.
    ///
    /// Our connection was made after we began to connect, and before the server answered. Returns
    /// `None` when the server did not report when it was made.
    pub fn clock_ahead(&self) -> Option<(i64, i64)> {
        let (member, connection) = self.connection_of(self.own_session?)?;
        let made = connection.established?;
        let ahead = |ours: Timestamp| ours.0.saturating_sub(made.0);
        let (least, most) = (ahead(self.own_session_since?), ahead(member.answered_at?));
        (least <= most && member.provenance.can_prove()).then_some((least, most))
    }
}

/// Our own session with a request whose answer arrived at a known time. An anchor relates a
/// server's clock to ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockAnchor {
    /// Our session.
    pub session: SessionId,
    /// The negotiated session timeout.
    pub timeout: Duration,
    /// When we began to connect, by our clock.
    pub connecting_since: Timestamp,
    /// When the session's last request was sent.
    pub asked: Timestamp,
    /// When the answer to that request arrived.
    pub heard: Timestamp,
}

/// The expiry with which a server listed our session last, and our newest request when the server
/// first listed that expiry.
///
/// A leader learns of our requests from the member that our session is connected to. A member that
/// is cut off from the leader still answers us, but the leader keeps listing our session with the
/// same expiry. If that expiry were compared with our newest request, all other sessions would seem
/// to expire one second later with each second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ListedAnchor(Option<ListedExpiry>);

/// The first time that the server listed our session with a given expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ListedExpiry {
    listed: Expiry,
    /// Our newest request at that time.
    anchor: ClockAnchor,
    /// When the list arrived, by our clock. The request that the server counted was sent before.
    at: Timestamp,
    /// Whether the server had listed another expiry before. If so, it hears of our requests.
    hears_us: bool,
}

impl ListedExpiry {
    /// Returns the earliest time at which the counted request can have been sent.
    ///
    /// A server knows of a request at most `knows_after_ms` after it is sent. Until the listed
    /// expiry changes, the counted request may be the one that began our session.
    fn earliest(&self, knows_after_ms: i64) -> i64 {
        let asked = self.anchor.asked.0.saturating_sub(knows_after_ms);
        if self.hears_us { asked } else { asked.min(self.anchor.connecting_since.0) }
    }
}

impl ListedAnchor {
    /// Takes a list in which our session has the expiry `listed`. Returns the first time of that
    /// expiry.
    fn record(&mut self, listed: Expiry, anchor: ClockAnchor, at: Timestamp) -> ListedExpiry {
        let known = self.0.filter(|known| known.listed == listed && known.anchor.session == anchor.session);
        let hears_us = self.0.is_some_and(|known| known.anchor.session == anchor.session);
        *self.0.insert(known.unwrap_or(ListedExpiry { listed, anchor, at, hears_us }))
    }
}

/// When one server first listed the connections on which it has answered nothing.
///
/// A session that moves to a server is heard when it connects, which was before the first listing.
/// The server itself reports no time until the client's first request there. Without this time, a
/// client that stops right after it moved would never become silent.
#[derive(Clone, Debug, Default)]
pub struct FirstListed {
    times: FxHashMap<(SessionId, Option<Timestamp>), Timestamp>,
    /// Whether the server has ever reported when it answered somebody. Otherwise, a missing report
    /// tells nothing.
    reports_answers: bool,
}

impl FirstListed {
    /// Sets when the clients of unanswered connections were heard, by our clock. The answer had
    /// arrived by `at`.
    ///
    /// Call this after [`ServerClock::place`](super::ServerClock::place), with the same
    /// connections. Forgets the connections that are not listed any more.
    pub fn place(&mut self, connections: &mut [Connection], at: Timestamp) {
        self.reports_answers |= connections.iter().any(|connection| connection.last_response.is_some());
        let before = std::mem::take(&mut self.times);
        for connection in connections.iter_mut().filter(|connection| connection.last_response.is_none()) {
            let key = (connection.session, connection.established);
            let first = before.get(&key).copied().unwrap_or(at);
            self.times.insert(key, first);
            connection.last_heard = self.reports_answers.then_some(first);
        }
    }

    /// Forgets all connections, since the server may have restarted.
    pub fn forget(&mut self) {
        self.times.clear();
    }
}
