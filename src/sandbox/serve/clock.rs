//! The machine's clock: expires sessions and deletes containers when they are due.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::shared::SharedMachine;

/// The shortest pause between ticks. It bounds the cost of a short tick.
const MIN_PAUSE: Duration = Duration::from_millis(5);

/// Runs the machine's ticks for ever, each a few milliseconds late.
pub(super) async fn run(shared: Arc<SharedMachine>) {
    loop {
        let now = shared.now();
        let next = {
            let mut state = shared.lock();
            state.machine.tick(now);
            state.wake(None);
            state.machine.next_tick()
        };
        let pause = Duration::from_millis(u64::try_from(next.saturating_sub(now)).unwrap_or(0)).max(MIN_PAUSE);
        tokio::select! {
            () = sleep(pause) => {}
            () = shared.sooner.notified() => sleep(MIN_PAUSE).await,
        }
    }
}
