//! The clock that all processes of this machine share.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Returns the nanoseconds of the machine's monotonic clock, like Java's `System.nanoTime` and
/// Python's `time.monotonic_ns`.
pub fn nanos() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let (seconds, rest) = (now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs());
    seconds * 1_000_000_000 + rest
}

/// Returns the seconds between two times of this clock.
pub fn seconds(from: u64, until: u64) -> f64 {
    Duration::from_nanos(until.saturating_sub(from)).as_secs_f64()
}
