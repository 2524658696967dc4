//! Relates a server's two clocks to ours: the monotonic clock of its timeouts, and its calendar.

use std::time::Duration;

use super::anchor::ListedAnchor;
use super::expiry_clock::{Bounds, OwnExpiry};
use super::{Anchor, Connection, Expiry, ExpiryClock, ListedSession, ServerSettings, ServerView};
use lockscope_base::znode::Timestamp;

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
    pub fn date(&mut self, sessions: &mut [ListedSession], anchor: Option<Anchor>, at: Timestamp) {
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
}

impl ServerClock {
    /// Returns the offset of the clock by which the server wrote its sessions' expiries.
    ///
    /// Returns `None` when our own session is not listed, or when a required setting is unknown.
    /// Call this after [`learn`](Self::learn), with the same connections and the same time.
    pub fn of_expiries(
        &mut self,
        connections: &[Connection],
        sessions: &[ListedSession],
        settings: Option<ServerSettings>,
        anchor: Option<Anchor>,
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
    fn with_connection(&mut self, found: Bounds, made: Timestamp, anchor: Anchor, ahead: Bounds) -> Bounds {
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
    fn bounded(&mut self, response: i64, connections: &[Connection], anchor: Anchor, at: Timestamp) -> Option<Bounds> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_view::{ExpiryBounds, Listing, MemberView};
    use lockscope_base::znode::SessionId;

    #[test]
    fn our_own_connection_shows_the_calendar_of_its_server() {
        let view = |made: i64| {
            let line = format!(" /10.0.0.1:7[1](queued=0,recved=1,sent=1,sid=0x1,est={made},to=4000,lresp=9)\n\n");
            let connections = crate::server_view::four_letter::cons(&line).with_session;
            let member = MemberView {
                connections: Some(Listing::new(connections, true, Timestamp(70_300))),
                answered_at: Some(Timestamp(70_400)),
                ..MemberView::unasked("zk1:2181".to_owned())
            };
            let (own_session, own_session_since) = (Some(SessionId(1)), Some(Timestamp(70_000)));
            ServerView { members: vec![member], own_session, own_session_since, ..ServerView::default() }
        };
        assert_eq!(view(10_100).clock_ahead(), Some((59_900, 60_300)));
        assert_eq!(view(80_000).clock_ahead(), Some((-10_000, -9_600)));
        assert_eq!(ServerView { own_session_since: None, ..view(10_100) }.clock_ahead(), None);
        assert_eq!(ServerView { own_session: Some(SessionId(2)), ..view(10_100) }.clock_ahead(), None);
    }

    fn session(id: i64, expiry: Expiry) -> ListedSession {
        ListedSession { id: SessionId(id), expiry, expires_at: None }
    }

    fn answered(last_response: i64) -> Vec<Connection> {
        let line = format!(" /10.0.0.1:7[1](queued=0,recved=1,sent=1,sid=0x1,lresp={last_response})\n\n");
        crate::server_view::four_letter::cons(&line).with_session
    }

    #[test]
    fn the_newest_answer_ever_gives_the_servers_time_until_a_clock_is_set() {
        let mut clock = ServerClock::default();
        clock.learn(&answered(5_000), Timestamp(105_000));
        clock.learn(&answered(9_000), Timestamp(109_900));
        let mut silent = answered(5_000);
        clock.place(&mut silent, Timestamp(109_900));
        assert_eq!(silent[0].last_heard, Some(Timestamp(105_000)));

        clock.learn(&answered(10_000), Timestamp(9_999_999));
        assert_eq!(clock.ours(10_000), Some(Timestamp(9_999_999)), "our clock was set");
    }

    #[test]
    fn a_restarted_member_that_has_answered_nobody_yet_teaches_no_time() {
        let mut clock = ServerClock::default();
        clock.learn(&answered(0), Timestamp(100_000));
        assert_eq!(clock, ServerClock::default());
        let mut moved = answered(0);
        clock.place(&mut moved, Timestamp(100_000));
        assert_eq!(moved[0].last_heard, None);

        clock.learn(&answered(9_000), Timestamp(101_000));
        assert_eq!(clock.ours(9_000), Some(Timestamp(101_000)));
        let known = clock;
        clock.learn(&answered(0), Timestamp(102_000));
        assert_eq!(clock, known);
    }

    #[test]
    fn our_own_session_converts_dates_of_any_zone() {
        let mut sessions = [1, 2].map(|id| session(id, Expiry::Date { millis: id * 5_000, utc: false }));
        let anchor = Anchor {
            session: SessionId(2),
            timeout: Duration::from_secs(30),
            connecting_since: Timestamp(999_000),
            asked: Timestamp(999_990),
            heard: Timestamp(1_000_000),
        };
        ServerClock::default().date(&mut sessions, Some(anchor), Timestamp(1_000_020));
        assert_eq!(sessions[0].expires_at, Some(Timestamp(1_025_000)));
    }

    /// Returns the bounds, by our clock, of a session's expiry after several rounds of answers.
    ///
    /// The server has ticks of 200 ms. The session expires at `expires` by the server's monotonic
    /// clock, which is 5 000 ms ahead of ours. The server's calendar is `calendar` ahead of that
    /// clock.
    fn bounds_of(expires: i64, calendar: i64, rounds: i64) -> Option<ExpiryBounds> {
        let date = |mono: i64| Expiry::Date { millis: (mono + calendar).div_euclid(1_000) * 1_000, utc: false };
        let mut clock = ServerClock::default();
        let mut found = None;
        for round in 0..rounds {
            let asked = 100_000 + round * 1_013;
            let mut connections = answered(asked + 5_003);
            connections[0].established = Some(Timestamp(104_950 + calendar.rem_euclid(ZONE_STEP_MS)));
            let own = ((asked + 5_002 + 30_000) / 200 + 1) * 200;
            let sessions = [session(1, date(own)), session(2, date(expires))];
            let (connecting_since, heard) = (Timestamp(99_920), Timestamp(asked + 6));
            let timeout = Duration::from_secs(30);
            let anchor = Anchor { session: SessionId(1), timeout, connecting_since, asked: Timestamp(asked), heard };
            let at = Timestamp(asked + 20);
            clock.learn(&connections, at);
            let settings = ServerSettings::new(Duration::from_millis(200), Duration::from_millis(400));
            let ours = clock.of_expiries(&connections, &sessions, settings, Some(anchor), at);
            found = ours.and_then(|ours| ours.bounds(sessions[1].expiry));
        }
        found
    }

    #[test]
    fn the_first_date_in_any_zone_is_known_to_little_more_than_a_second() {
        for calendar in [0, 400, 899_999, 3 * ZONE_STEP_MS + 77, -8 * ZONE_STEP_MS + 500] {
            for expires in [120_000, 120_200, 120_400, 120_800] {
                for rounds in [1, 5] {
                    let found = bounds_of(expires, calendar, rounds).expect("the bounds are known");
                    let truth = expires - 5_000;
                    assert!(found.earliest.0 <= truth && truth <= found.latest.0, "{found:?} of {truth}");
                    assert!(found.latest.0 - found.earliest.0 <= 1_250, "{found:?} {calendar}");
                }
            }
        }
    }

    /// Plays a round of answers by a leader that lists our session and another one that expires ten
    /// seconds later. The leader heard of our requests until `counted`. Returns the best guess and
    /// the bounds of the other session's expiry.
    fn round_of_a_cut_off_session(clock: &mut ServerClock, asked: i64, counted: i64) -> (i64, ExpiryBounds) {
        let date = |millis: i64| Expiry::Date { millis: millis.div_euclid(1_000) * 1_000, utc: false };
        let timeout = Duration::from_secs(30);
        let own = (counted + 30_000).div_euclid(200) * 200 + 200;
        let mut sessions = [session(1, date(own)), session(2, date(120_000))];
        let (connecting_since, heard) = (Timestamp(90_000), Timestamp(asked + 6));
        let anchor = Anchor { session: SessionId(1), timeout, connecting_since, asked: Timestamp(asked), heard };
        clock.date(&mut sessions, Some(anchor), Timestamp(asked + 20));
        let settings = ServerSettings::new(Duration::from_millis(200), Duration::from_millis(400));
        let ours = clock.of_expiries(&[], &sessions, settings, Some(anchor), Timestamp(asked + 20));
        let bounds = ours.and_then(|ours| ours.bounds(sessions[1].expiry)).expect("the bounds are known");
        (sessions[1].expires_at.expect("the expiry is known").0, bounds)
    }

    #[test]
    fn a_leader_may_list_our_session_as_of_its_beginning() {
        let mut clock = ServerClock::default();
        // The leader heard of the beginning, but of none of the requests in the nine seconds since.
        let (_, bounds) = round_of_a_cut_off_session(&mut clock, 100_000, 91_000);
        let truth = Timestamp(120_000);
        assert!(bounds.earliest <= truth && truth <= bounds.latest, "{bounds:?}");
        // The leader hears of us again.
        let (_, bounds) = round_of_a_cut_off_session(&mut clock, 101_000, 101_000);
        assert!(bounds.earliest <= truth && truth <= bounds.latest, "{bounds:?}");
        assert!(bounds.latest.since(bounds.earliest) < Duration::from_secs(6), "{bounds:?}");
    }

    #[test]
    fn requests_that_the_leader_does_not_hear_of_delay_no_expiry() {
        let mut clock = ServerClock::default();
        let before = round_of_a_cut_off_session(&mut clock, 100_000, 100_000);
        for round in 1..8 {
            let asked = 100_000 + round * 1_013;
            let found = round_of_a_cut_off_session(&mut clock, asked, 100_000);
            assert_eq!(found, before, "after {round} rounds");
        }
        // The leader is reachable again.
        let after = round_of_a_cut_off_session(&mut clock, 110_000, 110_000);
        assert!((after.0 - before.0).abs() <= 1_200, "{after:?} {before:?}");
    }

    #[test]
    fn without_our_own_session_only_utc_dates_can_be_converted() {
        let expiries = [Expiry::Date { millis: 5, utc: false }, Expiry::Date { millis: 5, utc: true }];
        let mut sessions = expiries.map(|expiry| session(1, expiry));
        ServerClock::default().date(&mut sessions, None, Timestamp(0));
        assert_eq!(sessions.map(|session| session.expires_at), [None, Some(Timestamp(5))]);
    }
}
