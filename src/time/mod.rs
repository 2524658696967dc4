//! What goes beyond `tokio::time`: the wall clock, waits that may have no end, and growing pauses between tries.
//!
//! What is measured is measured with `Instant`; the wall clock only dates what is shown or written down.

mod backoff;

use std::time::{SystemTime, UNIX_EPOCH};

use tokio::time::{Instant, sleep_until};

pub use backoff::Backoff;

use crate::znode::Timestamp;

/// This machine's wall clock. It can jump: only for what is shown, written down or compared with what servers say.
pub fn now() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX))
}

/// Sleeps until the deadline; forever when there is none. Cancel safe.
pub async fn until(deadline: Option<impl Into<Instant>>) {
    match deadline {
        Some(deadline) => sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[test]
    fn the_clock_goes_on_and_is_not_at_its_beginning() {
        let before = now();
        assert!(before.0 > 1_700_000_000_000 && now() >= before, "{before:?}");
    }

    #[tokio::test]
    async fn it_sleeps_until_the_deadline_and_forever_without_one() {
        let (began, pause) = (Instant::now(), Duration::from_millis(20));
        until(Some(began + pause)).await;
        assert!(began.elapsed() >= pause);
        timeout(pause, until(None::<Instant>)).await.expect_err("there is no deadline");
    }
}
