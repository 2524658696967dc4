//! Threads for what waits for a KDC: the library asks it synchronously, for up to half a minute, and cannot be interrupted.

use std::thread;

use tokio::sync::{Semaphore, oneshot};

/// How many such threads there are at most; who comes later waits for one to end.
const MAX_THREADS: usize = 8;

static PERMITS: Semaphore = Semaphore::const_new(MAX_THREADS);

/// Does something on a thread of its own, which may outlive who waits for it but not the program; `None` when no thread could be
/// started. Cancel safe.
pub(super) async fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let permit = PERMITS.acquire().await.ok()?;
    let (sender, receiver) = oneshot::channel();
    let work = move || {
        let _permit = permit;
        // Nobody waits any more when this fails.
        let _ = sender.send(work());
    };
    thread::Builder::new().name("kerberos".to_owned()).spawn(work).ok()?;
    receiver.await.ok()
}
