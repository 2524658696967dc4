//! The wall clock, and growing pauses between tries.
//!
//! Durations are measured with `Instant`. The wall clock only dates what is shown or written down.

mod backoff;

use std::time::{SystemTime, UNIX_EPOCH};

pub use backoff::Backoff;

use crate::znode::Timestamp;

/// Returns the time of this machine's wall clock. The clock can jump: use it only for what is
/// shown, written down or compared with servers' times.
pub fn now() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_advances_and_is_set() {
        let before = now();
        assert!(before.0 > 1_700_000_000_000 && now() >= before, "{before:?}");
    }
}
