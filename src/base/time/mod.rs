//! The wall clock, and growing pauses between tries.
//!
//! What is measured is measured with `Instant`; the wall clock only dates what is shown or written down.

mod backoff;

use std::time::{SystemTime, UNIX_EPOCH};

pub use backoff::Backoff;

use crate::znode::Timestamp;

/// This machine's wall clock. It can jump: only for what is shown, written down or compared with what servers say.
pub fn now() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_goes_on_and_is_not_at_its_beginning() {
        let before = now();
        assert!(before.0 > 1_700_000_000_000 && now() >= before, "{before:?}");
    }
}
