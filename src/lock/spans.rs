//! What a lock tells [`tracing`]: the [crate's documentation](crate#tracing) has the names.
//!
//! Without a subscriber that wants them, a span or an event is one comparison with the global
//! maximum level: the fields are not read, and nothing is allocated.

use tracing::{Span, debug, debug_span, warn};

use super::attempt::Attempt;
use super::error::NotAcquired;
use super::retrying_client::OwnNode;
use super::{LockError, Loss};
use lockscope_terms::znode::ZnodePath;

/// The target of all spans and events, by which subscribers filter.
macro_rules! target {
    () => {
        "lockscope_lock"
    };
}

/// One attempt, from its first request to its last. Its parent is the caller's span.
pub(crate) fn attempt(attempt: &Attempt) -> Span {
    let spec = &attempt.spec;
    debug_span!(
        target: target!(), "lock_attempt", lock = %spec.path, algorithm = spec.algorithm.name(),
        session = %spec.client.session(), waits = attempt.waits,
    )
}

/// The time until the attempt holds the lock, or gives up.
pub(crate) fn wait(lock: &ZnodePath) -> Span {
    debug_span!(target: target!(), "lock_wait", %lock)
}

/// The time for which the attempt holds the lock.
pub(crate) fn hold(lock: &ZnodePath, own: &OwnNode) -> Span {
    debug_span!(target: target!(), "lock_hold", %lock, node = %own.path, token = own.created.0)
}

/// Tells why an attempt ended without the lock.
pub(crate) fn not_acquired(lock: &ZnodePath, reason: &NotAcquired) {
    match reason {
        NotAcquired::Cancelled => debug!(target: target!(), %lock, "the attempt was cancelled"),
        NotAcquired::NotFree => debug!(target: target!(), %lock, "the lock is not free"),
        NotAcquired::Failed(error) => debug!(target: target!(), %lock, %error, "the lock was not acquired"),
    }
}

/// Tells that a held lock is lost.
pub(crate) fn lost(lock: &ZnodePath, own: &OwnNode, loss: Loss) {
    warn!(target: target!(), %lock, node = %own.path, token = own.created.0, %loss, "the lock is lost");
}

/// Tells that a release found the lock lost, or could not delete its node.
pub(crate) fn release_failed(lock: &ZnodePath, own: &OwnNode, error: &LockError) {
    warn!(target: target!(), %lock, node = %own.path, token = own.created.0, %error, "the release failed");
}

#[cfg(test)]
mod tests {
    use std::fmt::{self, Display, Formatter};

    use super::*;

    struct Unread;

    impl Display for Unread {
        fn fmt(&self, _: &mut Formatter<'_>) -> fmt::Result {
            panic!("nobody subscribes, so nobody reads a field")
        }
    }

    #[test]
    fn nobody_pays_when_nobody_subscribes() {
        let span = debug_span!(target: target!(), "lock_hold", lock = %Unread);
        assert!(span.is_none() && wait(&ZnodePath::root()).is_none());
        warn!(target: target!(), lock = %Unread, "the lock is lost");
    }
}
