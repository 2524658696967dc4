//! Threads that wait for a KDC: the library's requests are synchronous, take up to half a minute,
//! and cannot be interrupted.

use std::thread;

use tokio::sync::{Semaphore, oneshot};

/// The most threads at a time; further work waits for one to end.
const MAX_THREADS: usize = 8;

static PERMITS: Semaphore = Semaphore::const_new(MAX_THREADS);

/// Runs `work` on a thread of its own, which may outlive the waiting future but not the program.
/// Returns `None` when no thread could be started. Cancel safe.
pub(super) async fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let permit = PERMITS.acquire().await.ok()?;
    let (sender, receiver) = oneshot::channel();
    let work = move || {
        let _permit = permit;
        // Sending fails only when the waiter was dropped.
        let _ = sender.send(work());
    };
    thread::Builder::new().name("kerberos".to_owned()).spawn(work).ok()?;
    receiver.await.ok()
}
