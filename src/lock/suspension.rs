//! The time for which the machine was suspended.

use std::time::Duration;

/// Returns the time for which the machine has been suspended since it started, to be compared with an
/// earlier answer.
///
/// Tokio's clock is `CLOCK_MONOTONIC`, which stands still meanwhile; `CLOCK_BOOTTIME` goes on. Only
/// their difference is used: it does not depend on the clock of a simulation.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn suspended() -> Duration {
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
pub(super) fn suspended() -> Duration {
    Duration::ZERO
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_is_suspended_while_the_machine_runs() {
        let longest = || (0..20).map(|_| suspended()).max().unwrap_or_default();
        let before = longest();
        std::thread::sleep(Duration::from_millis(50));
        assert!(longest().abs_diff(before) < Duration::from_millis(25), "{before:?}");
    }
}
