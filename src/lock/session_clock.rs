//! The time for which a session certainly lives after its client has lost the connection. Pure: the
//! time is an argument.
//!
//! The servers end a session one timeout after its client's last message. The client library
//! (zookeeper-client 0.11, `Session::reset_timeout`) checks its own clock every twentieth of the
//! timeout:
//!
//! - It sends a heartbeat when it has sent nothing for three twentieths. So its last message is at
//!   most four twentieths older than the last one that it received.
//! - It gives the connection up when it has received nothing for eight twentieths, which it notices
//!   within one more.
//!
//! So while it has a connection, the servers have received something in the last thirteen
//! twentieths, and seven are left. This clock counts six of them, from the last time at which the
//! library had a connection. The seventh is for a process that runs late.
//!
//! That holds only for a process that runs. After a pause (a stopped process, a blocked runtime)
//! the library reads messages that arrived long before and takes them for new. The clock's own
//! ticks notice a pause. After one, only the reply to a request that was sent since proves that the
//! session lives, and only if the leader took part: a server that has lost it knows no ended session.
//!
//! The library also tells nobody when a new connection breaks before its first reply. So a reconnect
//! needs the same proof as a pause.

use std::time::Duration;

use tokio::time::Instant;
use zookeeper_client::SessionState;

/// The number of ticks in a session timeout, as in the client library.
const TICKS: u32 = 20;

/// The number of ticks for which a session certainly lives after the last time at which its client
/// had a connection.
const TICKS_LEFT: u32 = 6;

/// The client's knowledge about the life of its session.
#[derive(Clone, Debug)]
pub(super) struct SessionClock {
    timeout: Duration,
    connected: bool,
    /// The last time at which the client had a connection and ran without a pause.
    sound_at: Instant,
    ticked_at: Instant,
    /// The time at which the process resumed after a pause, or connected again, until a reply proves
    /// that the session lives.
    resumed_at: Option<Instant>,
}

impl SessionClock {
    /// Creates the clock of a session that was heard from at `now`.
    pub(super) fn new(timeout: Duration, state: SessionState, now: Instant) -> Self {
        let connected = state != SessionState::Disconnected;
        Self { timeout, connected, sound_at: now, ticked_at: now, resumed_at: None }
    }

    /// Returns the time of the next tick.
    pub(super) fn next_tick(&self) -> Instant {
        self.ticked_at + self.tick_interval()
    }

    pub(super) fn tick(&mut self, now: Instant) {
        if now - self.ticked_at > self.tick_interval() * 3 / 2 {
            self.resumed_at = Some(now);
        } else if self.connected && self.resumed_at.is_none() {
            self.sound_at = now;
        }
        self.ticked_at = now;
    }

    /// Records a change of the session's state.
    pub(super) fn changed(&mut self, state: SessionState, now: Instant) {
        self.connected = state != SessionState::Disconnected;
        if self.connected && self.resumed_at.is_none() {
            self.sound_at = now;
            // The library does not tell when a new connection breaks before its first reply.
            self.resumed_at = Some(now);
        }
    }

    /// Returns whether the process was paused or connected again, and no reply has proved since that
    /// the session lives.
    pub(super) fn needs_proof(&self) -> bool {
        self.resumed_at.is_some()
    }

    /// Records the reply to a request that was sent at that time.
    pub(super) fn proved(&mut self, sent_at: Instant) {
        if self.resumed_at.is_some_and(|resumed| resumed <= sent_at) {
            self.resumed_at = None;
            self.sound_at = sent_at;
        }
    }

    /// Returns the time at which the session must be presumed expired unless something is heard
    /// before; `None` with a sound connection. After a pause there is one tick for the proof, after a
    /// reconnect as long as without a connection.
    pub(super) fn presumed_expired_at(&self) -> Option<Instant> {
        let end = self.sound_at + self.tick_interval() * TICKS_LEFT;
        match self.resumed_at {
            _ if !self.connected => Some(end),
            Some(resumed) => Some(end.max(resumed + self.tick_interval())),
            None => None,
        }
    }

    fn tick_interval(&self) -> Duration {
        self.timeout / TICKS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(20);

    /// Returns a clock that has ticked every second for `seconds`.
    fn ticked(start: Instant, seconds: u64) -> SessionClock {
        let mut clock = SessionClock::new(TIMEOUT, SessionState::SyncConnected, start);
        for second in 1..=seconds {
            clock.tick(start + Duration::from_secs(second));
        }
        clock
    }

    #[test]
    fn without_a_connection_a_session_is_presumed_alive_for_three_tenths_of_its_timeout() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut clock = ticked(start, 5);
        assert_eq!(clock.presumed_expired_at(), None);
        clock.changed(SessionState::Disconnected, at(5_700));
        assert_eq!(clock.presumed_expired_at(), Some(at(11_000)));
        clock.tick(at(6_000));
        assert_eq!(clock.presumed_expired_at(), Some(at(11_000)), "time goes on");
        clock.changed(SessionState::SyncConnected, at(8_000));
        assert_eq!(clock.presumed_expired_at(), Some(at(14_000)), "the new connection may be broken already");
        clock.proved(at(8_050));
        assert_eq!(clock.presumed_expired_at(), None);
        clock.changed(SessionState::Disconnected, at(8_100));
        assert_eq!(clock.presumed_expired_at(), Some(at(14_050)));
    }

    #[test]
    fn a_client_that_was_paused_has_one_tick_to_prove_its_session() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut clock = ticked(start, 5);
        clock.tick(at(15_000));
        assert!(clock.needs_proof());
        assert_eq!(clock.presumed_expired_at(), Some(at(16_000)));
        // A reply to an earlier request proves nothing.
        clock.proved(at(4_000));
        assert!(clock.needs_proof());
        let mut cut_off = clock.clone();
        cut_off.changed(SessionState::Disconnected, at(15_100));
        assert_eq!(cut_off.presumed_expired_at(), Some(at(11_000)), "it is over");
        // The library's belief in a connection is no proof either.
        cut_off.changed(SessionState::SyncConnected, at(15_200));
        assert!(cut_off.needs_proof());
        clock.proved(at(15_010));
        assert_eq!(clock.presumed_expired_at(), None);
        clock.changed(SessionState::Disconnected, at(15_500));
        assert_eq!(clock.presumed_expired_at(), Some(at(21_010)));
    }

    #[test]
    fn a_short_pause_needs_no_proof_and_a_longer_one_keeps_the_earlier_bound() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut clock = ticked(start, 5);
        clock.tick(at(6_400));
        assert!(!clock.needs_proof());
        clock.tick(at(8_000));
        assert!(clock.needs_proof());
        assert_eq!(clock.presumed_expired_at(), Some(at(12_400)));
    }
}
