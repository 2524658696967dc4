//! The time of a recording: it never falls, unless the clock of the machine was set back.
//!
//! A change is taken in some time after it was seen, on a busy machine seconds later. Where a look for findings or a flush came in between, up to
//! whose time everything is said to be recorded, the change is recorded at that time. That is no clock that was set back: only times of the same
//! source are compared.

use std::time::Duration;

use crate::znode::Timestamp;

/// A clock that was set back by less than this goes on from where it was.
const MAX_CLOCK_STEP: Duration = Duration::from_secs(1);

/// Where a time comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum TimeSource {
    /// When the observer saw a change, some time before it is taken in.
    Change,
    /// The time of day.
    Now,
}

/// Gives the times to record.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordingClock {
    /// Up to here something is recorded.
    latest: Timestamp,
    /// The last time from each source.
    last_change: Timestamp,
    last_now: Timestamp,
}

impl Default for RecordingClock {
    fn default() -> Self {
        let never = Timestamp(i64::MIN);
        Self { latest: never, last_change: never, last_now: never }
    }
}

impl RecordingClock {
    /// Something is recorded up to that time.
    pub fn reaches(&mut self, until: Timestamp) {
        self.latest = self.latest.max(until);
    }

    /// The time to record, or, where the clock was set back, the time before that.
    pub fn take(&mut self, time: Timestamp, source: TimeSource) -> Result<Timestamp, Timestamp> {
        let last = match source {
            TimeSource::Change => &mut self.last_change,
            TimeSource::Now => &mut self.last_now,
        };
        if last.since(time) >= MAX_CLOCK_STEP {
            let before = self.latest;
            *self = Self { latest: time, last_change: time, last_now: time };
            return Err(before);
        }
        *last = time.max(*last);
        self.latest = self.latest.max(time);
        Ok(self.latest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_was_taken_in_late_is_recorded_after_what_was_recorded() {
        let mut clock = RecordingClock::default();
        let mut take = |time, source| clock.take(Timestamp(time), source).map(|at| at.0);
        assert_eq!(take(10_000, TimeSource::Change), Ok(10_000));
        assert_eq!(take(15_000, TimeSource::Now), Ok(15_000));
        assert_eq!(take(11_000, TimeSource::Change), Ok(15_000));
        assert_eq!(take(16_000, TimeSource::Change), Ok(16_000));
        clock.reaches(Timestamp(18_000));
        assert_eq!(clock.take(Timestamp(17_500), TimeSource::Change), Ok(Timestamp(18_000)));
    }

    #[test]
    fn a_clock_that_was_set_back_is_noticed_once_from_either_source() {
        for source in [TimeSource::Change, TimeSource::Now] {
            let mut clock = RecordingClock::default();
            for source in [TimeSource::Change, TimeSource::Now] {
                assert!(clock.take(Timestamp(100_000), source).is_ok());
            }
            assert_eq!(clock.take(Timestamp(99_100), source), Ok(Timestamp(100_000)), "a little");
            assert_eq!(clock.take(Timestamp(60_000), source), Err(Timestamp(100_000)));
            for (time, source) in [(60_010, TimeSource::Now), (60_020, TimeSource::Change)] {
                assert_eq!(clock.take(Timestamp(time), source), Ok(Timestamp(time)));
            }
        }
    }
}
