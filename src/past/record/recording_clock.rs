//! The time of a recording: it never falls, unless the clock of the machine was set back.
//!
//! A change is taken in some time after it was seen, on a busy machine seconds later, and not in the order in which others were seen. Where
//! everything is said to be recorded up to some time already, it is recorded at that time. So only the time of day, as it is at each flush and each
//! look for findings, tells that the clock was set back.

use std::time::Duration;

use lockscope_base::znode::Timestamp;

/// A clock that was set back by less than this goes on from where it was.
const MAX_CLOCK_STEP: Duration = Duration::from_secs(1);

/// A change that seems to come from so far in the future was seen before the clock was set back.
const MAX_AHEAD: Duration = Duration::from_secs(60);

/// Gives the times to record.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordingClock {
    /// Up to here something is recorded.
    latest: Timestamp,
    /// The time of day, when it was last looked at.
    last_now: Timestamp,
    was_set_back: bool,
}

impl Default for RecordingClock {
    fn default() -> Self {
        Self { latest: Timestamp(i64::MIN), last_now: Timestamp(i64::MIN), was_set_back: false }
    }
}

impl RecordingClock {
    /// Something is recorded up to that time.
    pub fn reaches(&mut self, until: Timestamp) {
        self.latest = self.latest.max(until);
    }

    /// When to record a change that was seen at that time.
    pub fn seen(&mut self, at: Timestamp) -> Timestamp {
        if !(self.was_set_back && at.since(self.last_now) >= MAX_AHEAD) {
            self.reaches(at);
        }
        self.latest
    }

    /// When to record what happens now, or, where the clock was set back, up to when something is recorded.
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
    fn a_change_that_was_taken_in_late_is_recorded_after_what_was_recorded() {
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
