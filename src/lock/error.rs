use std::fmt;
use std::time::Duration;

use zookeeper_client::{Error, SessionState};

use crate::znode::{BadPath, ZnodePath};

/// Why there is no lock, or no longer. Each message is one sentence that says what happened and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Others held it for all the time that was given; the own node is gone.
    #[error("{path} was not free within {}: wait longer, or try again later", humantime::format_duration(*.within))]
    TimedOut {
        /// The lock.
        path: ZnodePath,
        /// How long it was waited.
        within: Duration,
    },
    /// The session is over, and with it every lock of it.
    #[error("the session of the lock {path} has expired: connect anew and make a new lock object")]
    SessionExpired {
        /// The lock.
        path: ZnodePath,
    },
    /// There was no connection to a server when the time given was over. What was sent is taken back as soon as
    /// there is one.
    #[error("no server answered for {path}: look after the connection, and try again")]
    ConnectionLost {
        /// The lock.
        path: ZnodePath,
    },
    /// Somebody else deleted the node of this request or of this guard.
    #[error("somebody else deleted {node}: the place in the queue is lost, so acquire again")]
    NodeDeleted {
        /// The node.
        node: ZnodePath,
    },
    /// The server refuses something to this session's identities.
    #[error("the server does not permit to {act} {path}: log in with credentials that may, or have its ACL changed")]
    NotPermitted {
        /// What was refused.
        act: &'static str,
        /// Where.
        path: ZnodePath,
    },
    /// The lock's path cannot be one.
    #[error(transparent)]
    BadPath(#[from] BadPath),
    /// The lock's path cannot hold a lock.
    #[error("{path} cannot hold a lock: {why}")]
    Unusable {
        /// The path.
        path: ZnodePath,
        /// Why not.
        why: &'static str,
    },
    /// A node above the lock's nodes does not exist, and was not or could not be made.
    #[error("{path} does not exist: create it, or let the lock make missing parents")]
    NoParent {
        /// The node.
        path: ZnodePath,
    },
    /// The options do not fit the algorithm.
    #[error("a lock cannot be made so: {0}")]
    BadOptions(&'static str),
    /// Who holds for reading asked for writing.
    #[error("{path} is held for reading and cannot be had for writing: release it first, then acquire it for writing")]
    UpgradeRefused {
        /// The lock.
        path: ZnodePath,
    },
    /// Only a guard that holds for writing can step down to reading.
    #[error("{path} is not held for writing, so there is nothing to step down from")]
    NoDowngrade {
        /// The lock.
        path: ZnodePath,
    },
    /// The client was closed or refused.
    #[error("the client of the lock {path} is closed: connect anew and make a new lock object")]
    Closed {
        /// The lock.
        path: ZnodePath,
    },
    /// Anything else that the client library reports.
    #[error("the lock {path} failed: {source}; this was not expected, so look into the servers' logs when it stays")]
    Unexpected {
        /// The lock.
        path: ZnodePath,
        /// What it was.
        source: Error,
    },
}

/// How a lock was lost while it was held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loss {
    /// The session has expired; or there has been no connection for so long that it may have, which is told in time
    /// for nobody else to hold yet.
    Expired,
    /// Somebody else deleted the node.
    Deleted,
}

impl Loss {
    /// The same as an error.
    pub(super) fn error(self, lock: &ZnodePath, node: &ZnodePath) -> LockError {
        match self {
            Self::Expired => LockError::SessionExpired { path: lock.clone() },
            Self::Deleted => LockError::NodeDeleted { node: node.clone() },
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Expired => "the session expired, or may have by now",
            Self::Deleted => "somebody else deleted the lock's node",
        })
    }
}

/// Whether an error leaves open what became of the request, or asks to send it again. As long as its session lives,
/// the next request waits by itself for the next connection.
pub(super) fn is_transient(error: &Error) -> bool {
    // A connection that ends with an error of the operating system gives that error, as a custom one, to all that is
    // outstanding.
    matches!(error, Error::ConnectionLoss | Error::Timeout | Error::Custom(_) | Error::Throttled | Error::SessionMoved)
}

/// What an error that is not passing means to the lock at `lock`, which wanted to `act` at `path`.
pub(super) fn lock_error(error: Error, lock: &ZnodePath, act: &'static str, path: &ZnodePath) -> LockError {
    let lock = lock.clone();
    match error {
        Error::SessionExpired => LockError::SessionExpired { path: lock },
        Error::ClientClosed | Error::AuthFailed | Error::NoHosts => LockError::Closed { path: lock },
        Error::NoAuth | Error::InvalidAcl | Error::NotReadOnly => LockError::NotPermitted { act, path: path.clone() },
        Error::NoNode => LockError::NoParent { path: path.clone() },
        Error::NoChildrenForEphemerals => {
            LockError::Unusable { path: lock, why: "its parent is ephemeral, so it can have no children" }
        }
        source => LockError::Unexpected { path: lock, source },
    }
}

/// What the end of a session means to the lock at `lock`.
pub(super) fn session_ended(state: SessionState, lock: &ZnodePath) -> LockError {
    match state {
        SessionState::Expired => LockError::SessionExpired { path: lock.clone() },
        _ => LockError::Closed { path: lock.clone() },
    }
}

/// Why an attempt ended without the lock.
#[derive(Debug)]
pub(super) enum NotAcquired {
    /// The handle was dropped or its time is over.
    Cancelled,
    /// Others hold the lock, and the attempt does not wait.
    NotFree,
    /// It cannot be had.
    Failed(LockError),
}

impl From<LockError> for NotAcquired {
    fn from(error: LockError) -> Self {
        Self::Failed(error)
    }
}
