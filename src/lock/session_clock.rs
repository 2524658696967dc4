//! The time for which a session certainly lives after its client has lost the connection. Time is
//! an argument, except how long the machine was suspended.
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
//! library had a connection. The seventh is for a process that runs late, and for a clock that runs
//! slower than those of the servers: nineteen of its twentieths are a timeout of theirs when it is
//! 5 % slower.
//!
//! A connection timeout `c` that the application has set replaces the last two figures, unless it
//! is longer than twelve twentieths: the library's tick is then `c / 8`, the heartbeat is sent
//! after three ticks, and silence is noticed after eight. Thirteen such ticks are more than
//! thirteen twentieths if `c` is more than eight. The client does not tell the value.
//!
//! That holds only for a process that runs. After a pause (a stopped process, a blocked runtime, a
//! suspended machine) the library reads messages that arrived long before and takes them for new.
//! The clock's own ticks notice a pause. After one, only the reply to a request that was sent since
//! proves that the session lives, and only if the leader took part: a server that has lost it knows
//! no ended session.
//!
//! The library also tells nobody when a new connection breaks before its first reply. So a
//! reconnect needs the same proof as a pause.

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
pub struct SessionClock {
    timeout: Duration,
    connected: bool,
    /// The last time at which the client had a connection and ran without a pause.
    sound_at: Instant,
    ticked_at: Instant,
    /// Returns the time for which the machine was suspended so far. `Instant` does not count it.
    suspended: fn() -> Duration,
    /// What that was at the last tick.
    suspended_at_tick: Duration,
    /// The time at which the process resumed after a pause, or connected again, until a reply proves
    /// that the session lives.
    resumed_at: Option<Instant>,
}

impl SessionClock {
    /// Creates the clock of a session that was heard from at `now`.
    pub fn new(timeout: Duration, state: SessionState, now: Instant) -> Self {
        let connected = state != SessionState::Disconnected;
        let (sound_at, ticked_at, suspended_at_tick) = (now, now, suspended());
        Self { timeout, connected, sound_at, ticked_at, suspended, suspended_at_tick, resumed_at: None }
    }

    /// Returns the time of the next tick.
    pub fn next_tick(&self) -> Instant {
        self.ticked_at + self.tick_interval()
    }

    pub fn tick(&mut self, now: Instant) {
        let (stood_still, was_paused) = (self.suspended_since_tick(), self.was_paused(now));
        self.suspended_at_tick += stood_still;
        self.sound_at = self.sound_at.checked_sub(stood_still).unwrap_or(self.sound_at);
        if was_paused {
            self.resumed_at = Some(now);
        } else if self.connected && self.resumed_at.is_none() {
            self.sound_at = now;
        }
        self.ticked_at = now;
    }

    /// Ticks early after a suspension of the machine: the time of the next tick has not come then.
    pub fn check_suspension(&mut self, now: Instant) {
        if self.was_paused(now) {
            self.tick(now);
        }
    }

    /// Records a change of the session's state.
    pub fn changed(&mut self, state: SessionState, now: Instant) {
        self.connected = state != SessionState::Disconnected;
        if self.connected && self.resumed_at.is_none() {
            self.sound_at = now;
            // The library does not tell when a new connection breaks before its first reply.
            self.resumed_at = Some(now);
        }
    }

    /// Returns whether the process was paused or connected again, and no reply has proved since that
    /// the session lives.
    pub fn needs_proof(&self) -> bool {
        self.resumed_at.is_some()
    }

    /// Records the reply to a request that was sent at that time.
    pub fn proved(&mut self, sent_at: Instant) {
        if self.resumed_at.is_some_and(|resumed| resumed <= sent_at) {
            self.resumed_at = None;
            self.sound_at = sent_at;
        }
    }

    /// Returns the time at which the session must be presumed expired unless something is heard
    /// before; `None` with a sound connection. After a pause there is one tick for the proof, after a
    /// reconnect as long as without a connection.
    pub fn presumed_expired_at(&self) -> Option<Instant> {
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

    fn suspended_since_tick(&self) -> Duration {
        (self.suspended)().saturating_sub(self.suspended_at_tick)
    }

    fn was_paused(&self, now: Instant) -> bool {
        now - self.ticked_at + self.suspended_since_tick() > self.tick_interval() * 3 / 2
    }

    /// Returns the clock with another source of the suspended time.
    #[cfg(test)]
    pub fn with_suspended(self, suspended: fn() -> Duration) -> Self {
        Self { suspended, suspended_at_tick: suspended(), ..self }
    }
}

/// Returns the time for which the machine has been suspended since it started, to be compared with an
/// earlier answer.
///
/// Tokio's clock is `CLOCK_MONOTONIC`, which stands still meanwhile; `CLOCK_BOOTTIME` goes on. Only
/// their difference is used: it does not depend on the clock of a simulation.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn suspended() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let now = |clock| {
        let time = clock_gettime(clock);
        Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs().try_into().unwrap_or_default())
    };
    // A thread that does not run between the two clocks makes the difference too small, and the next
    // answer would look like a suspension.
    let [first, second] = [(); 2].map(|()| now(ClockId::Boottime).saturating_sub(now(ClockId::Monotonic)));
    first.max(second)
}

/// Returns zero: this system's clocks do not tell.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn suspended() -> Duration {
    Duration::ZERO
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

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

    thread_local! {
        static SUSPENDED: Cell<Duration> = const { Cell::new(Duration::from_secs(3)) };
    }

    fn suspend(seconds: u64) {
        SUSPENDED.set(SUSPENDED.get() + Duration::from_secs(seconds));
    }

    #[test]
    fn a_suspended_machine_is_a_pause_of_which_its_own_clock_shows_nothing() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut clock = ticked(start, 5).with_suspended(|| SUSPENDED.get());
        suspend(1);
        clock.tick(at(5_400));
        assert!(!clock.needs_proof(), "1.4 s are too short for a pause");
        suspend(10);
        clock.tick(at(6_400));
        assert!(clock.needs_proof());
        assert_eq!(clock.presumed_expired_at(), Some(at(7_400)), "one tick for the proof");
        clock.proved(at(6_410));
        clock.tick(at(7_400));
        assert!(!clock.needs_proof(), "counted once");
        // Without a connection there is nothing to prove.
        clock.changed(SessionState::Disconnected, at(7_500));
        assert_eq!(clock.presumed_expired_at(), Some(at(13_400)));
        suspend(4);
        clock.tick(at(8_400));
        assert_eq!(clock.presumed_expired_at(), Some(at(9_400)), "four of the six seconds are over");
    }

    #[test]
    fn a_suspension_is_noticed_before_the_next_tick_when_it_matters() {
        let start = Instant::now();
        let mut clock = ticked(start, 5).with_suspended(|| SUSPENDED.get());
        let now = start + Duration::from_millis(5_100);
        clock.check_suspension(now);
        assert_eq!((clock.needs_proof(), clock.next_tick()), (false, start + Duration::from_secs(6)));
        suspend(10);
        clock.check_suspension(now);
        assert_eq!((clock.needs_proof(), clock.next_tick()), (true, now + Duration::from_secs(1)));
    }

    #[test]
    fn a_client_whose_clock_is_a_twentieth_slower_knows_by_the_time_the_servers_end_the_session() {
        // The servers count from the last message, at the start. The library notices silence at the latest
        // thirteen twentieths later.
        let start = Instant::now();
        let mut clock = ticked(start, 13);
        clock.changed(SessionState::Disconnected, start + Duration::from_secs(13));
        let known_after = clock.presumed_expired_at().expect("no connection") - start;
        // While the servers count 100 seconds, the client counts 95, or 94 if its clock is slower than that.
        let client_counts = |percent: u32| TIMEOUT * percent / 100;
        assert!(known_after <= client_counts(95), "{known_after:?}");
        assert!(known_after > client_counts(94), "{known_after:?}");
    }

    #[test]
    fn no_time_is_suspended_while_the_machine_runs() {
        let longest = || (0..20).map(|_| suspended()).max().unwrap_or_default();
        let before = longest();
        std::thread::sleep(Duration::from_millis(50));
        assert!(longest().abs_diff(before) < Duration::from_millis(25), "{before:?}");
    }
}
