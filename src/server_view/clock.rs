//! A server's clock by ours: that of its timeouts, and its calendar.

use std::time::Duration;

use super::{Connection, Expiry, ListedSession, ServerView};
use crate::znode::{SessionId, Timestamp};

/// A session of our own whose last request was answered at a known time: it relates a server's clock to ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Our session.
    pub session: SessionId,
    /// Its negotiated timeout.
    pub timeout: Duration,
    /// When its last request was answered, by our clock.
    pub heard: Timestamp,
}

/// No client is silent for longer, in milliseconds: if the newest response is older, one of the clocks was set.
const MAX_SILENCE_MS: i64 = 600_000;

/// In this many milliseconds two clocks may drift apart by one.
const DRIFT_INTERVAL_MS: i64 = 10_000;

/// How a server's monotonic clock stands to ours, as well as it is known after some answers. Forgotten when the server
/// starts anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerClock {
    /// At least so many milliseconds are to be added to our clock for the server's, and when that was learned.
    ahead: Option<(i64, Timestamp)>,
}

impl ServerClock {
    /// Learns from a server's connections: nobody can have been answered later than now, so that the newest response bounds
    /// the server's clock from below. The bound becomes tight when one of the connections is ours, or with many of them.
    pub fn learn(&mut self, connections: &[Connection], at: Timestamp) {
        let Some(newest) = connections.iter().filter_map(|connection| connection.last_response).max() else { return };
        let ahead = newest.saturating_sub(at.0);
        let known = self
            .ahead
            .map(|(known, then)| known.saturating_sub(at.0.saturating_sub(then.0).max(0) / DRIFT_INTERVAL_MS));
        let plausible = known.filter(|known| known.saturating_sub(ahead) < MAX_SILENCE_MS);
        self.ahead = Some((plausible.map_or(ahead, |known| known.max(ahead)), at));
    }

    /// A time of the server's clock by ours. It may be too late, never too early.
    pub fn ours(&self, server: i64) -> Option<Timestamp> {
        self.ahead.map(|(ahead, _)| Timestamp(server.saturating_sub(ahead)))
    }

    /// Sets for each connection when its client was last heard from by our clock, `at` at the latest.
    pub fn place(&self, connections: &mut [Connection], at: Timestamp) {
        for connection in connections {
            let heard = connection.last_response.and_then(|response| self.ours(response));
            connection.last_heard = heard.map(|heard| heard.min(at));
        }
    }

    /// Sets for each session when it expires by our clock: by comparison with our own session where it is listed too, else by
    /// this clock or by the calendar where they allow it.
    pub fn date(&self, sessions: &mut [ListedSession], anchor: Option<Anchor>) {
        let own = anchor.and_then(|anchor| {
            let listed = sessions.iter().find(|session| session.id == anchor.session)?;
            Some((listed.expiry.millis(), anchor.heard.plus(anchor.timeout)))
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

impl ServerView {
    /// By how many milliseconds our clock is ahead of the calendar of the server that our session is connected to: at the least and at
    /// the most, negative where it is behind. `None` when that server did not say when our connection was made.
    ///
    /// That was after we began to connect, and before it answered.
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
    use crate::server_view::{Listing, MemberView};

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
    fn our_own_session_translates_dates_of_any_zone() {
        let mut sessions = [1, 2].map(|id| session(id, Expiry::Date { millis: id * 5_000, utc: false }));
        let anchor = Anchor { session: SessionId(2), timeout: Duration::from_secs(30), heard: Timestamp(1_000_000) };
        ServerClock::default().date(&mut sessions, Some(anchor));
        assert_eq!(sessions[0].expires_at, Some(Timestamp(1_025_000)));
    }

    #[test]
    fn without_a_session_of_ours_only_utc_can_be_translated() {
        let expiries = [Expiry::Date { millis: 5, utc: false }, Expiry::Date { millis: 5, utc: true }];
        let mut sessions = expiries.map(|expiry| session(1, expiry));
        ServerClock::default().date(&mut sessions, None);
        assert_eq!(sessions.map(|session| session.expires_at), [None, Some(Timestamp(5))]);
    }
}
