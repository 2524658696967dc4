//! Detects connected clients that missed their heartbeats.

use std::time::Duration;

use super::{Connection, MemberView, ServerView};
use lockscope_base::znode::{SessionId, Timestamp};

/// An answer that took longer than the timeout divided by this may come from a server that stood
/// still meanwhile and heard no client.
const PROMPT_SHARE: u32 = 8;

/// A connected client that has not been heard for at least half of its session timeout.
///
/// Clients send a heartbeat in each third of the timeout, even when they are idle. So a client that
/// is silent for half of it has missed one. Its session expires at the end of the timeout unless it
/// is heard before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// When the client was last answered, by our clock. The true time may be earlier, never later.
    pub heard: Timestamp,
    /// The session timeout.
    pub timeout: Duration,
    /// Until when the client is known to have been silent, by our clock: when its server was asked.
    /// The client may have been heard since.
    pub as_of: Timestamp,
}

impl Silence {
    /// Returns the silence of a connection, as its server reported it; `None` if the client is not
    /// silent.
    fn of(member: &MemberView, connection: &Connection) -> Option<Self> {
        // Older recordings contain the 0 of a connection before its first answer, and a time that
        // was computed from it.
        if connection.last_response == Some(0) {
            return None;
        }
        let (heard, timeout) = (connection.last_heard?, connection.timeout()?);
        let asked = member.connections.as_ref()?.at;
        let took = member.answered_at?.since(asked);
        let as_of = if took <= timeout / PROMPT_SHARE { asked } else { newest(member)?.min(asked) };
        (as_of.since(heard) >= timeout / 2 && !timeout.is_zero()).then_some(Self { heard, timeout, as_of })
    }

    /// Returns how long the client has been silent at `now` if it was not heard since its server
    /// was asked. At most the timeout.
    pub fn lasted(&self, now: Timestamp) -> Duration {
        now.since(self.heard).min(self.timeout)
    }

    /// Returns how long the session has left at `now` unless the client is heard before. Servers
    /// end sessions at ticks, so it may live a little longer.
    pub fn left(&self, now: Timestamp) -> Duration {
        self.timeout.saturating_sub(now.since(self.heard))
    }
}

/// Returns when a server last answered any client.
fn newest(member: &MemberView) -> Option<Timestamp> {
    member.connections.as_ref()?.items().iter().filter_map(|connection| connection.last_heard).max()
}

impl ServerView {
    /// Returns the silence of a session's client if it is connected and silent.
    ///
    /// Returns `None` as well where its server did not report when it heard the client, and where
    /// the report proves nothing.
    pub fn silence_of(&self, session: SessionId) -> Option<Silence> {
        if !self.provenance().can_prove() {
            return None;
        }
        let (member, connection) = self.connection_of(session)?;
        Silence::of(member, connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_view::{FirstListed, Listing};

    const ASKED: Timestamp = Timestamp(100_000);

    /// Returns a session with a timeout of 10 s that was heard some time before its server was
    /// asked. The server answered after `took_ms`.
    fn view(silent_ms: i64, took_ms: i64, other_heard_ms: i64) -> ServerView {
        let connection = |session, heard_ms: i64| Connection {
            session: SessionId(session),
            client: "10.0.0.1:7".to_owned(),
            timeout_ms: Some(10_000),
            established: Some(Timestamp(0)),
            last_operation: None,
            last_cxid: None,
            last_zxid: None,
            last_response: None,
            last_heard: Some(Timestamp(ASKED.0 - heard_ms)),
            received: 0,
            sent: 0,
        };
        let connections = vec![connection(1, silent_ms), connection(2, other_heard_ms)];
        let member = MemberView {
            connections: Some(Listing::new(connections, true, ASKED)),
            answered_at: Some(Timestamp(ASKED.0 + took_ms)),
            ..MemberView::unasked("zk1:2181".to_owned())
        };
        ServerView { members: vec![member], members_known: true, ..ServerView::default() }
    }

    #[test]
    fn a_client_is_silent_after_half_of_its_timeout() {
        for (millis, silent) in [(0, false), (3_400, false), (4_999, false), (5_000, true), (9_400, true)] {
            assert_eq!(view(millis, 20, 0).silence_of(SessionId(1)).is_some(), silent, "{millis}");
        }
        let silence = view(9_000, 20, 0).silence_of(SessionId(1)).expect("the client is silent");
        let later = ASKED.plus(Duration::from_millis(400));
        let (lasted, left) = (silence.lasted(later), silence.left(later));
        assert_eq!((lasted, left), (Duration::from_millis(9_400), Duration::from_millis(600)));
        let end = ASKED.plus(Duration::from_secs(50));
        assert_eq!((silence.lasted(end), silence.left(end)), (Duration::from_secs(10), Duration::ZERO));
    }

    #[test]
    fn a_server_that_stood_still_proves_no_silence() {
        let stood_still = view(6_000, 3_000, 5_900);
        assert_eq!(stood_still.silence_of(SessionId(1)), None);
        assert!(view(6_000, 3_000, 10).silence_of(SessionId(1)).is_some(), "it heard others meanwhile");
    }

    #[test]
    fn a_client_that_has_just_moved_is_silent_only_after_half_of_its_timeout_without_an_answer() {
        let mut first = FirstListed::default();
        let mut listed = |at: i64| {
            let mut view = view(0, 20, 0);
            let member = &mut view.members[0];
            let mut connections = member.connections.take().expect("they are listed").items().to_vec();
            connections[0].last_heard = None;
            connections[1].last_response = Some(1);
            first.place(&mut connections, Timestamp(at + 20));
            connections[1].last_heard = Some(Timestamp(at));
            member.connections = Some(Listing::new(connections, true, Timestamp(at)));
            member.answered_at = Some(Timestamp(at + 20));
            view.silence_of(SessionId(1)).map(|silence| silence.heard.0)
        };
        for (at, heard) in [(100_000, None), (102_000, None), (105_000, None), (105_020, Some(100_020))] {
            assert_eq!(listed(at), heard, "{at}");
        }
    }

    #[test]
    fn a_zero_of_an_older_recording_proves_no_silence() {
        let mut view = view(9_000, 20, 0);
        let member = &mut view.members[0];
        let mut connections = member.connections.take().expect("they are listed").items().to_vec();
        connections[0].last_response = Some(0);
        member.connections = Some(Listing::new(connections, true, ASKED));
        assert_eq!(view.silence_of(SessionId(1)), None);
    }

    #[test]
    fn a_missing_report_proves_no_silence() {
        assert_eq!(view(9_000, 20, 0).silence_of(SessionId(3)), None);
        let mut untold = view(9_000, 20, 0);
        untold.members[0].answered_at = None;
        assert_eq!(untold.silence_of(SessionId(1)), None);
    }
}
