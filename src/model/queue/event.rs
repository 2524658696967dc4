//! What can happen to a lock, and what a change costs in watch events.

use serde::{Deserialize, Serialize};

/// What is said of a node that went while its session lived: released by its client, or deleted by
/// another.
pub const GONE: &str = "gone";

/// What a change means for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockEvent {
    /// A contender joined the queue.
    Enqueued,
    /// A contender became a holder.
    Acquired,
    /// A holder's node is gone, and nothing proves that its session had expired. Whether it can have is in
    /// [`Happening::may_have_expired`](super::Happening::may_have_expired). ZooKeeper does not say
    /// who deleted the node: the holder released it, or somebody else deleted it.
    Released,
    /// A waiter's node is gone before its turn; the same holds.
    Left,
    /// A contender's node vanished with its session, whose time had run out.
    Expired,
    /// A lock was found.
    LockFound,
    /// A lock is gone: its parent is, or who stood there belongs to another lock now, and is reported as enqueued there.
    LockGone,
    /// The connection was cut: from here on nothing is known.
    Disconnected,
    /// Events came faster than they could be taken in: from here on nothing is known until everything was read again.
    Overloaded,
    /// There is a connection again.
    Reconnected,
    /// Everything was read again: what happened meanwhile stands before this, without its true time.
    Resynced,
}

impl LockEvent {
    /// The name on the screen and in lines for people. It is `gone` where JSON says `released` or
    /// `left`: nothing proves that the client itself deleted the node.
    pub fn title(self) -> &'static str {
        match self {
            Self::Released | Self::Left => GONE,
            event => event.id(),
        }
    }

    /// The name in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Self::Enqueued => "enqueued",
            Self::Acquired => "acquired",
            Self::Released => "released",
            Self::Left => "left",
            Self::Expired => "expired",
            Self::LockFound => "lock-found",
            Self::LockGone => "lock-gone",
            Self::Disconnected => "disconnected",
            Self::Overloaded => "overloaded",
            Self::Reconnected => "reconnected",
            Self::Resynced => "resynced",
        }
    }
}

/// What is known of a session at the moment at which a node of it goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::queue) enum SessionAtEnd {
    /// It cannot have expired: its client deleted the node, or ended the session, or somebody else did. So it is with nodes without a session.
    Lived,
    /// It was heard so long ago that nobody can tell.
    #[default]
    MayHaveExpired,
    /// It expired.
    Expired,
}

/// Watch events that a change costs the ensemble and its clients.
///
/// Both are bounds that the recipes imply, not measurements: watches fire once, so a waiter that is late to set its
/// watch again gets fewer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchEvents {
    /// When every waiter watches the lock parent's children.
    pub herd: u64,
    /// When each waiter watches the one that it waits for.
    pub chain: u64,
}
