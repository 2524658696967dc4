//! Waiting for a condition, never for a time.

use std::fmt::Debug;
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How long a test waits for what must happen: long enough for a machine that is busy with everything else.
pub const PATIENCE: Duration = Duration::from_secs(60);

const INTERVAL: Duration = Duration::from_millis(20);

/// Asks again and again until the answer is `Ok`, and gives it. Panics after [`PATIENCE`] with what was awaited and
/// what was seen instead.
pub async fn eventually<T, E: Debug>(what: &str, probe: impl AsyncFnMut() -> Result<T, E>) -> T {
    eventually_within(PATIENCE, what, probe).await
}

/// As [`eventually`], with a deadline of its own.
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

/// As [`eventually`], for what is asked without awaiting. Sleeps on the thread.
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
