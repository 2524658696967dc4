//! A client that is connected and not heard: it missed its heartbeats.

use std::time::Duration;

use super::{Connection, MemberView, ServerView};
use lockscope_base::znode::{SessionId, Timestamp};

/// A share of the timeout: an answer that took longer than this may be of a server that stood still meanwhile, and heard nobody.
const PROMPT_SHARE: u32 = 8;

/// A client that has a connection and has not been heard for at least half of its session timeout.
///
/// Clients send a heartbeat in each third of the timeout, also when they have nothing to ask: whoever is silent for half of it has
/// missed one. Its session expires at the end of the timeout unless it is heard before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// When it was last answered, by our clock; it may have been before that, never after.
    pub heard: Timestamp,
    /// Its session timeout.
    pub timeout: Duration,
    /// Until when it is known to have been silent, by our clock: when its server was asked. It may have been heard since.
    pub as_of: Timestamp,
}

impl Silence {
    /// The silence of this connection, if it is one, as its server told it.
    fn of(member: &MemberView, connection: &Connection) -> Option<Self> {
        let (heard, timeout) = (connection.last_heard?, connection.timeout()?);
        let asked = member.connections.as_ref()?.at;
        let took = member.answered_at?.since(asked);
        let as_of = if took <= timeout / PROMPT_SHARE { asked } else { newest(member)?.min(asked) };
        (as_of.since(heard) >= timeout / 2 && !timeout.is_zero()).then_some(Self { heard, timeout, as_of })
    }

    /// How long it has been silent at that time if it was not heard since its server was asked; at most its timeout.
    pub fn lasted(&self, now: Timestamp) -> Duration {
        now.since(self.heard).min(self.timeout)
    }

    /// How long its session has left at that time unless it is heard before. Servers end sessions at ticks, so it may be a little
    /// longer.
    pub fn left(&self, now: Timestamp) -> Duration {
        self.timeout.saturating_sub(now.since(self.heard))
    }
}

/// When a server last answered anybody.
fn newest(member: &MemberView) -> Option<Timestamp> {
    member.connections.as_ref()?.items().iter().filter_map(|connection| connection.last_heard).max()
}

impl ServerView {
    /// Whether a session's client is connected and silent. `None` also where its server did not tell when it heard it, and where
    /// what it told proves nothing.
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
    use crate::server_view::Listing;

    const ASKED: Timestamp = Timestamp(100_000);

    /// A session with a timeout of 10 s that was heard so long before its server was asked, which answered after `took_ms`.
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
    fn who_missed_a_heartbeat_is_silent_from_half_of_its_timeout_on() {
        for (millis, silent) in [(0, false), (3_400, false), (4_999, false), (5_000, true), (9_400, true)] {
            assert_eq!(view(millis, 20, 0).silence_of(SessionId(1)).is_some(), silent, "{millis}");
        }
        let silence = view(9_000, 20, 0).silence_of(SessionId(1)).expect("it is silent");
        let later = ASKED.plus(Duration::from_millis(400));
        let (lasted, left) = (silence.lasted(later), silence.left(later));
        assert_eq!((lasted, left), (Duration::from_millis(9_400), Duration::from_millis(600)));
        let end = ASKED.plus(Duration::from_secs(50));
        assert_eq!((silence.lasted(end), silence.left(end)), (Duration::from_secs(10), Duration::ZERO));
    }

    #[test]
    fn a_server_that_stood_still_heard_nobody() {
        let stood_still = view(6_000, 3_000, 5_900);
        assert_eq!(stood_still.silence_of(SessionId(1)), None);
        assert!(view(6_000, 3_000, 10).silence_of(SessionId(1)).is_some(), "it heard others meanwhile");
    }

    #[test]
    fn nothing_follows_from_what_was_not_told() {
        assert_eq!(view(9_000, 20, 0).silence_of(SessionId(3)), None);
        let mut untold = view(9_000, 20, 0);
        untold.members[0].answered_at = None;
        assert_eq!(untold.silence_of(SessionId(1)), None);
    }
}
