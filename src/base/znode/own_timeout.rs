//! The session timeouts by which lockscope's sessions recognise each other.
//!
//! Servers list each session's timeout to the millisecond, and change only those beyond their
//! bounds. So it is the one thing that a session can tell all others without writing anything.

use std::time::Duration;

/// The last three digits, in milliseconds, of the session timeouts that consoles and recorders ask
/// for. Applications ask for whole seconds, or for a multiple of the tick.
const MARK_MS: u64 = 739;

const SECOND_MS: u64 = 1_000;

/// Shorter timeouts are not marked: the mark would change them too much.
const MIN_MARKED_MS: u64 = 2_000;

/// Returns the next timeout, at most a second longer, that marks a session as one of lockscope's.
/// Returns timeouts below two seconds as they are.
pub fn marked_timeout(timeout: Duration) -> Duration {
    let millis = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
    if millis < MIN_MARKED_MS {
        return timeout;
    }
    let missing = (MARK_MS + SECOND_MS - millis % SECOND_MS) % SECOND_MS;
    Duration::from_millis(millis.saturating_add(missing))
}

/// Returns whether a session with this timeout is one of lockscope's. Another program that asks for
/// such a timeout looks the same.
pub fn is_marked_timeout(timeout_ms: u64) -> bool {
    timeout_ms >= MIN_MARKED_MS && timeout_ms % SECOND_MS == MARK_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marked_timeout_is_less_than_a_second_longer_and_recognised() {
        for (asked, marked) in [(30_000, 30_739), (2_000, 2_739), (6_739, 6_739), (6_740, 7_739), (6_999, 7_739)] {
            let found = marked_timeout(Duration::from_millis(asked));
            assert_eq!(found, Duration::from_millis(marked), "{asked}");
            assert!(is_marked_timeout(marked), "{asked}");
        }
        assert_eq!(marked_timeout(Duration::from_millis(1_999)), Duration::from_millis(1_999));
        for other in [0, 739, 1_739, 2_738, 30_000, 40_000] {
            assert!(!is_marked_timeout(other), "{other}");
        }
    }
}
