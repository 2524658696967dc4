//! The events of a lock, and their cost in watch events.

use serde::{Deserialize, Serialize};

/// The name for the end of a node whose session lived on: its client released it, or another client
/// deleted it.
pub const GONE: &str = "gone";

/// The name for the end of a node that another session deleted.
pub const DELETED: &str = "deleted";

/// The name for the end of a node whose client closed its session.
pub const CLOSED: &str = "closed";

/// An event of a lock or of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockEvent {
    /// A contender joined the queue.
    Enqueued,
    /// A contender became a holder.
    Acquired,
    /// A holder's node is gone, and nothing proves that its session expired.
    ///
    /// [`Happening::may_have_expired`](super::Happening::may_have_expired) tells whether the
    /// session can have expired. ZooKeeper does not report who deleted a node: the holder released
    /// the lock, or another client deleted the node.
    Released,
    /// A waiter's node is gone before its turn. As for `Released`, ZooKeeper does not report who
    /// deleted it.
    Left,
    /// A contender's session expired and took the node with it.
    Expired,
    /// A lock was found.
    LockFound,
    /// A lock is gone. Either its parent was deleted, or its contenders belong to another lock now
    /// and are reported as enqueued there.
    LockGone,
    /// The connection was cut. Nothing is known from here on.
    Disconnected,
    /// Events arrived faster than they could be processed. Nothing is known until the next complete
    /// reading.
    Overloaded,
    /// The connection is back.
    Reconnected,
    /// The complete reading after a cut is finished. Events during the cut come before this one,
    /// without their true times.
    Resynced,
    /// The servers have told that the session of a contender that released or left had expired.
    Settled,
    /// The servers have told that a contender that stood first, and counted as the holder, waits
    /// itself.
    Waits,
}

impl LockEvent {
    /// Returns the name on the screen and in lines for people.
    ///
    /// The name is `gone` where JSON says `released` or `left`, since nothing proves that the
    /// client itself deleted the node.
    pub fn title(self) -> &'static str {
        match self {
            Self::Released | Self::Left => GONE,
            event => event.id(),
        }
    }

    /// Returns the name in JSON.
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
            Self::Settled => "settled",
            Self::Waits => "waits",
        }
    }
}

/// What is known about a session at the moment one of its nodes is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::queue) enum SessionAtEnd {
    /// The session cannot have expired, or the node has none. The client deleted the node or closed
    /// its session, or another client deleted the node.
    Lived,
    /// Unknown: the session was last heard too long ago.
    #[default]
    MayHaveExpired,
    /// The session expired.
    Expired,
}

/// The watch events that a change costs the ensemble and its clients.
///
/// Both numbers are bounds that follow from the recipes, not measurements. A watch fires once, so a
/// waiter that is late to set its watch again gets fewer events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchEvents {
    /// The cost when every waiter watches the children of the lock parent.
    pub herd: u64,
    /// The cost when each waiter watches its predecessor.
    pub chain: u64,
}
