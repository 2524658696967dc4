//! The time of a recording: it never decreases, unless the clock of the machine was set back.
//!
//! A change may be taken in seconds after it was seen on a busy machine, and out of order with
//! other changes. If the recording already reaches beyond the time of a change, the change is
//! recorded at the end of the recording. So a clock that was set back is recognized only by the
//! current time at each flush and each look for findings.

use std::time::Duration;

use lockscope_base::znode::Timestamp;

/// A clock that was set back by less than this continues from where it was.
const MAX_CLOCK_STEP: Duration = Duration::from_secs(1);

/// A change that is this far in the future was seen before the clock was set back.
const MAX_AHEAD: Duration = Duration::from_secs(60);

/// Assigns the recorded times.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordingClock {
    /// The time up to which something is recorded.
    latest: Timestamp,
    /// The current time at the last check.
    last_now: Timestamp,
    was_set_back: bool,
}

impl Default for RecordingClock {
    fn default() -> Self {
        Self { latest: Timestamp(i64::MIN), last_now: Timestamp(i64::MIN), was_set_back: false }
    }
}

impl RecordingClock {
    /// Records that the recording reaches up to `until`.
    pub fn reaches(&mut self, until: Timestamp) {
        self.latest = self.latest.max(until);
    }

    /// Returns the time at which to record a change that was seen at `at`.
    pub fn seen(&mut self, at: Timestamp) -> Timestamp {
        if !(self.was_set_back && at.since(self.last_now) >= MAX_AHEAD) {
            self.reaches(at);
        }
        self.latest
    }

    /// Returns the time at which to record what happens now. If the clock was set back, fails with
    /// the time up to which something is recorded.
    pub fn now(&mut self, now: Timestamp) -> Result<Timestamp, Timestamp> {
        if self.last_now.since(now) >= MAX_CLOCK_STEP {
            let before = self.latest;
            *self = Self { latest: now, last_now: now, was_set_back: true };
            return Err(before);
        }
        self.last_now = self.last_now.max(now);
        self.reaches(now);
        Ok(self.latest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_change_is_recorded_at_the_end() {
        let mut clock = RecordingClock::default();
        assert_eq!(clock.seen(Timestamp(10_000)), Timestamp(10_000));
        assert_eq!(clock.now(Timestamp(15_000)), Ok(Timestamp(15_000)));
        assert_eq!(clock.seen(Timestamp(11_000)), Timestamp(15_000));
        assert_eq!(clock.seen(Timestamp(16_000)), Timestamp(16_000));
        clock.reaches(Timestamp(18_000));
        assert_eq!(clock.seen(Timestamp(12_500)), Timestamp(18_000));
        assert_eq!(clock.now(Timestamp(17_000)), Ok(Timestamp(18_000)), "the time of day went on");
    }

    #[test]
    fn a_clock_that_was_set_back_is_noticed_once() {
        let mut clock = RecordingClock::default();
        assert_eq!(clock.now(Timestamp(100_000)), Ok(Timestamp(100_000)));
        assert_eq!(clock.now(Timestamp(99_100)), Ok(Timestamp(100_000)), "a little");
        assert_eq!(clock.seen(Timestamp(20_010)), Timestamp(100_000));
        assert_eq!(clock.now(Timestamp(20_020)), Err(Timestamp(100_000)));
        assert_eq!(clock.seen(Timestamp(99_000)), Timestamp(20_020), "it was seen before");
        assert_eq!(clock.seen(Timestamp(20_030)), Timestamp(20_030));
        assert_eq!(clock.now(Timestamp(20_040)), Ok(Timestamp(20_040)));
    }
}
