//! The attempts that were dropped and still delete their nodes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lockscope_base::znode::SessionId;
use tokio_util::sync::CancellationToken;
use zookeeper_client::Client;

/// All attempts of this process that have not ended. A client can carry no state of ours, so they are
/// found by their session. Clients of two ensembles with the same session id wait for each other's.
static ATTEMPTS: Mutex<BTreeMap<(SessionId, u64), RunningAttempt>> = Mutex::new(BTreeMap::new());

#[derive(Debug)]
struct RunningAttempt {
    /// Cancelled when the future or the guard was dropped.
    dropped: CancellationToken,
    ended: CancellationToken,
}

/// Registers an attempt until it has nothing left to do, its search for late nodes included. Dropped
/// with the attempt's task, also at the end of the runtime.
#[derive(Debug)]
pub(super) struct AttemptRegistration {
    key: (SessionId, u64),
    ended: CancellationToken,
}

impl AttemptRegistration {
    pub(super) fn new(session: SessionId, dropped: CancellationToken) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let key = (session, NEXT.fetch_add(1, Ordering::Relaxed));
        let ended = CancellationToken::new();
        attempts().insert(key, RunningAttempt { dropped, ended: ended.clone() });
        Self { key, ended }
    }
}

impl Drop for AttemptRegistration {
    fn drop(&mut self) {
        attempts().remove(&self.key);
        self.ended.cancel();
    }
}

/// Waits until the futures and guards over this client's session that were dropped before have left
/// nothing behind. Call it before the runtime is shut down: that stops the background tasks, and
/// their nodes then stay until the session ends.
///
/// It does not wait for guards that exist, nor for futures that are still polled.
///
/// Usually this takes one or two round trips. Without a connection it waits for the next one, or for
/// the end of the session, which the client notices `1.4` to `1.8` session timeouts after the last
/// message. It also waits for the search for [late nodes](crate#what-a-lock-guarantees): up to two
/// session timeouts, but only if the reply to a create was lost. A `tokio::time::timeout` around it
/// bounds all of that.
///
/// Sends no request of its own. Cancel safe: the background tasks go on. It returns also if another
/// runtime that ran them was shut down.
///
/// ```no_run
/// # use lockscope_lock::{Algorithm, Lock, cleaned_up};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = zookeeper_client::Client::connect("localhost:2181").await?;
/// let guard = Lock::new(&client, "/locks/orders", Algorithm::Chain)?.acquire().await?;
/// drop(guard);
/// cleaned_up(&client).await;
/// # Ok(())
/// # }
/// ```
pub async fn cleaned_up(client: &Client) {
    until_ended(SessionId(client.session_id().0)).await;
}

async fn until_ended(session: SessionId) {
    let dropped: Vec<CancellationToken> = attempts()
        .range((session, 0)..=(session, u64::MAX))
        .filter(|(_, attempt)| attempt.dropped.is_cancelled())
        .map(|(_, attempt)| attempt.ended.clone())
        .collect();
    for ended in dropped {
        ended.cancelled().await;
    }
}

fn attempts() -> MutexGuard<'static, BTreeMap<(SessionId, u64), RunningAttempt>> {
    ATTEMPTS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn it_waits_for_what_was_dropped_in_the_session_and_for_nothing_else() {
        let (own, other) = (SessionId(-0x10c4), SessionId(-0x10c5));
        let [dropped, held, elsewhere] = [(); 3].map(|()| CancellationToken::new());
        let first = AttemptRegistration::new(own, dropped.clone());
        let _held = AttemptRegistration::new(own, held);
        let _elsewhere = AttemptRegistration::new(other, elsewhere.clone());
        assert_eq!(until_ended(own).now_or_never(), Some(()), "nothing was dropped");
        dropped.cancel();
        elsewhere.cancel();
        let mut waits = Box::pin(until_ended(own));
        assert_eq!((&mut waits).now_or_never(), None);
        drop(first);
        assert_eq!(waits.now_or_never(), Some(()));
        assert_eq!(attempts().range((own, 0)..=(own, u64::MAX)).count(), 1, "the one that is held");
    }
}
