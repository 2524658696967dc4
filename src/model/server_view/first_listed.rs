//! When connections that were not answered yet were first listed.

use rustc_hash::FxHashMap;

use super::Connection;
use lockscope_base::znode::{SessionId, Timestamp};

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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the connections of two clients, of which the first was answered.
    fn connections(established: i64) -> Vec<Connection> {
        let line = |session: u8, made: i64, answered: i64| {
            format!(" /10.0.0.1:7[1](queued=0,recved=1,sent=1,sid={session:#x},est={made},to=10000,lresp={answered})\n")
        };
        let answer = format!("{}{}\n", line(1, 5, 9), line(2, established, 0));
        crate::server_view::four_letter::cons(&answer).with_session
    }

    fn heard(first: &mut FirstListed, mut connections: Vec<Connection>, at: i64) -> Option<i64> {
        first.place(&mut connections, Timestamp(at));
        connections.last()?.last_heard.map(|heard| heard.0)
    }

    #[test]
    fn an_unanswered_connection_was_heard_when_it_was_first_listed() {
        let mut first = FirstListed::default();
        assert_eq!(heard(&mut first, connections(70), 1_000), Some(1_000));
        assert_eq!(heard(&mut first, connections(70), 2_000), Some(1_000), "it was not heard since");
        assert_eq!(heard(&mut first, connections(71), 3_000), Some(3_000), "a new connection of the session");
        first.forget();
        assert_eq!(heard(&mut first, connections(71), 4_000), Some(4_000), "the server was away");
        let gone = connections(71).into_iter().take(1).collect();
        assert_eq!(heard(&mut first, gone, 5_000), None, "the answered connection is not placed here");
        assert_eq!(heard(&mut first, connections(71), 6_000), Some(6_000), "it came anew");
    }

    #[test]
    fn a_server_that_reports_no_times_at_all_proves_nothing() {
        let mut first = FirstListed::default();
        let unreported = || connections(70).into_iter().skip(1).collect::<Vec<_>>();
        assert_eq!(heard(&mut first, unreported(), 1_000), None);
        assert_eq!(heard(&mut first, connections(70), 2_000), Some(1_000), "now it does");
        assert_eq!(heard(&mut first, unreported(), 3_000), Some(1_000));
    }
}
