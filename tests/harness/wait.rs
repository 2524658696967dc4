//! Waits for a condition, never for a fixed time.

use std::fmt::Debug;
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How long a test waits for something that must happen: long enough on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

const INTERVAL: Duration = Duration::from_millis(20);

/// Probes repeatedly until the result is `Ok`, and returns its value. After [`PATIENCE`] panics
/// with the description and the last error.
pub async fn eventually<T, E: Debug>(what: &str, probe: impl AsyncFnMut() -> Result<T, E>) -> T {
    eventually_within(PATIENCE, what, probe).await
}

/// Probes as [`eventually`] does, with a deadline of its own.
pub async fn eventually_within<T, E: Debug>(
    patience: Duration,
    what: &str,
    mut probe: impl AsyncFnMut() -> Result<T, E>,
) -> T {
    let deadline = Instant::now() + patience;
    loop {
        match probe().await {
            Ok(answer) => return answer,
            Err(seen) => assert!(Instant::now() < deadline, "waited {patience:?} in vain for {what}; saw {seen:#?}"),
        }
        sleep(INTERVAL).await;
    }
}

/// Probes as [`eventually`] does, without awaiting: sleeps on the thread.
pub fn eventually_blocking<T, E: Debug>(what: &str, mut probe: impl FnMut() -> Result<T, E>) -> T {
    let deadline = std::time::Instant::now() + PATIENCE;
    loop {
        match probe() {
            Ok(answer) => return answer,
            Err(seen) => {
                assert!(std::time::Instant::now() < deadline, "waited {PATIENCE:?} in vain for {what}; saw {seen:#?}");
            }
        }
        std::thread::sleep(INTERVAL);
    }
}
