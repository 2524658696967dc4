//! Sleeps until an optional deadline.

use tokio::time::{Instant, sleep_until};

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

    #[tokio::test]
    async fn sleeps_until_the_deadline_and_forever_without_one() {
        let (began, pause) = (Instant::now(), Duration::from_millis(20));
        until(Some(began + pause)).await;
        assert!(began.elapsed() >= pause);
        timeout(pause, until(None::<Instant>)).await.expect_err("there is no deadline");
    }
}
