//! The one clock of all processes of this machine.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of the machine's monotonic clock, as Java's `System.nanoTime` and Python's `time.monotonic_ns` give them.
pub fn nanos() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let (seconds, rest) = (now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs());
    seconds * 1_000_000_000 + rest
}

/// A time as seconds between two of them.
pub fn seconds(from: u64, until: u64) -> f64 {
    Duration::from_nanos(until.saturating_sub(from)).as_secs_f64()
}
