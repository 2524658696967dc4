//! Why a lock was not acquired, or was lost.

use std::fmt;
use std::time::Duration;

use zookeeper_client::{Error, SessionState};

use lockscope_terms::znode::{BadPath, ZnodePath};

/// Why a lock was not acquired, or is not held any more. Each message is one sentence: what
/// happened, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Others held the lock all the time. The attempt's node is deleted.
    #[error("{path} was not free within {}: wait longer, or try again later", humantime::format_duration(*.within))]
    TimedOut {
        /// The lock.
        path: ZnodePath,
        /// The time that was given.
        within: Duration,
    },
    /// The session has ended, and all its locks with it.
    #[error("the session of the lock {path} has expired: connect anew and make a new lock object")]
    SessionExpired {
        /// The lock.
        path: ZnodePath,
    },
    /// There was no connection to a server when the time was over. Requests that were sent are
    /// undone once there is one.
    #[error("no server answered for {path}: check the connection, and try again")]
    ConnectionLost {
        /// The lock.
        path: ZnodePath,
    },
    /// Somebody else deleted the node of this attempt or guard.
    #[error("somebody else deleted {node}: the place in the queue is lost, so acquire again")]
    NodeDeleted {
        /// The node.
        node: ZnodePath,
    },
    /// An ACL forbids a request to the identities of this session.
    #[error("the server does not permit to {act} {path}: log in with credentials that may, or have its ACL changed")]
    NotPermitted {
        /// The request, as a verb: `create`, `delete`, `read`.
        act: &'static str,
        /// The node.
        path: ZnodePath,
    },
    /// The lock's path is not a znode path.
    #[error(transparent)]
    BadPath(#[from] BadPath),
    /// No lock can be at this path.
    #[error("{path} cannot hold a lock: {why}")]
    Unusable {
        /// The path.
        path: ZnodePath,
        /// The reason.
        why: &'static str,
    },
    /// A parent of the lock's nodes does not exist, and must not or could not be created.
    #[error("{path} does not exist: create it, or let the lock create missing parents")]
    NoParent {
        /// The parent.
        path: ZnodePath,
    },
    /// The numbers of the sequential nodes below a lock's parent are used up: later nodes would be
    /// in no order, so none is put into the queue. They end at 2147483647, after more than two
    /// billion requests.
    #[error(
        "the numbers of the nodes below {parent} are used up: delete it while nobody uses the lock, so that they begin anew"
    )]
    NumbersUsedUp {
        /// The parent.
        parent: ZnodePath,
    },
    /// The server cannot create a node and return its stat, as servers do from `ZooKeeper` 3.5 on, or
    /// the client was told to ask as for an older one
    /// ([`with_server_version`](zookeeper_client::Connector::with_server_version)).
    #[error(
        "the server cannot create the nodes of the lock {path}: it is older than ZooKeeper 3.5, or the client treats it \
         as such, so use servers of 3.5 or later"
    )]
    ServerTooOld {
        /// The lock.
        path: ZnodePath,
    },
    /// The options do not fit the algorithm.
    #[error("these options form no valid lock: {0}")]
    BadOptions(&'static str),
    /// An owner that holds a lock for reading asked for writing.
    #[error("{path} is held for reading and cannot be acquired for writing: release it first")]
    UpgradeRefused {
        /// The lock.
        path: ZnodePath,
    },
    /// Only a lock that is held for writing can be downgraded to reading.
    #[error("{path} is not held for writing, so it cannot be downgraded to reading")]
    NoDowngrade {
        /// The lock.
        path: ZnodePath,
    },
    /// The client is closed or not authenticated, or the runtime is shut down.
    #[error("the client of the lock {path} is closed: connect anew and make a new lock object")]
    Closed {
        /// The lock.
        path: ZnodePath,
    },
    /// Anything else that the client library reports.
    #[error("the lock {path} failed unexpectedly: {source}; if this repeats, read the logs of the servers")]
    Unexpected {
        /// The lock.
        path: ZnodePath,
        /// The error of the client library.
        source: Error,
    },
}

/// The reason why a held lock was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Loss {
    /// The session has expired, or it may have: there has been no sound connection for three tenths
    /// of its timeout. In the second case nobody else [holds the lock
    /// yet](super#what-a-lock-guarantees).
    Expired,
    /// Somebody else deleted the node.
    Deleted,
}

impl Loss {
    /// Returns the error for this loss.
    pub(super) fn error(self, lock: &ZnodePath, node: &ZnodePath) -> LockError {
        match self {
            Self::Expired => LockError::SessionExpired { path: lock.clone() },
            Self::Deleted => LockError::NodeDeleted { node: node.clone() },
        }
    }
}

impl std::error::Error for Loss {}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Expired => "the session expired, or may have by now",
            Self::Deleted => "somebody else deleted the lock's node",
        })
    }
}

/// Returns whether the outcome of a request is unknown, or the server asks to send it again. While
/// the session lives, the next request waits for the next connection by itself.
pub fn is_transient(error: &Error) -> bool {
    // A connection that ends with an error of the operating system gives that error, as a custom
    // one, to all that is outstanding.
    matches!(error, Error::ConnectionLoss | Error::Timeout | Error::Custom(_) | Error::Throttled | Error::SessionMoved)
}

/// Returns whether the client library could not read a reply.
pub fn is_unreadable(error: &Error) -> bool {
    matches!(error, Error::UnmarshalError { .. } | Error::UnexpectedError(_))
}

/// Returns the error of the lock at `lock` for a request to `act` on `path` that failed with an
/// error that is not transient.
pub fn lock_error(error: Error, lock: &ZnodePath, act: &'static str, path: &ZnodePath) -> LockError {
    let lock = lock.clone();
    match error {
        Error::SessionExpired => LockError::SessionExpired { path: lock },
        Error::ClientClosed | Error::AuthFailed | Error::NoHosts => LockError::Closed { path: lock },
        Error::NoAuth | Error::InvalidAcl | Error::NotReadOnly => LockError::NotPermitted { act, path: path.clone() },
        Error::NoNode => LockError::NoParent { path: path.clone() },
        // Every server has the other requests of a lock.
        Error::Unimplemented => LockError::ServerTooOld { path: lock },
        Error::NoChildrenForEphemerals => {
            LockError::Unusable { path: lock, why: "its parent is ephemeral, so it can have no children" }
        }
        source => LockError::Unexpected { path: lock, source },
    }
}

/// Returns the error of the lock at `lock` after its session has ended in this state.
pub fn session_ended(state: SessionState, lock: &ZnodePath) -> LockError {
    match state {
        SessionState::Expired => LockError::SessionExpired { path: lock.clone() },
        _ => LockError::Closed { path: lock.clone() },
    }
}

/// Why an attempt ended without the lock.
#[derive(Debug)]
pub enum NotAcquired {
    /// The future or guard was dropped, or its time is over.
    Cancelled,
    /// Others hold the lock, and the attempt does not wait.
    NotFree,
    /// The lock cannot be acquired.
    Failed(LockError),
}

impl From<LockError> for NotAcquired {
    fn from(error: LockError) -> Self {
        Self::Failed(error)
    }
}
