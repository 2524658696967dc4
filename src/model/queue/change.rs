//! The input of the table: one change to a node, to the connection or to the servers' answers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::crossed::CrossWaits;
use super::event::SessionAtEnd;
use super::mutes::Mutes;
use crate::server_view::{MemberComparison, ServerView};
use lockscope_base::znode::{Node, SessionId, Timestamp, ZnodePath, ZnodeStat, Zxid};

/// The reason for which a root that does not exist is unreadable.
pub const NO_SUCH_NODE: &str = "there is no such node; it will be found when it is created";

/// Something that was learned about a node, about our connection or about the servers.
///
/// The live view, headless output and tests all use this type. A change may arrive twice, and a
/// read that is older than the known state of its node is ignored. Only the reader can tell that a
/// read was overtaken by the deletion of its node: the observer drops such answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// A read returned this node. The node may be new, changed or unchanged.
    Seen {
        /// The node's path.
        path: ZnodePath,
        /// What the read found.
        node: Node,
    },
    /// The children of this node were listed. The node exists and may be a lock parent.
    Listed {
        /// The node's path.
        path: ZnodePath,
        /// The node's stat at the time of the listing.
        stat: ZnodeStat,
    },
    /// A node exists that was not read, and its name alone is information.
    ///
    /// - A hint ([`Classifier::is_hint`](lockscope_base::recipe::Classifier::is_hint)) tells what
    ///   its neighbours are.
    /// - A semaphore's lease, which is read next, may belong to a contender that leaves the queue
    ///   later.
    /// - Any other contender counts from now on. Its node is read later, or never if it is deleted
    ///   soon.
    Appeared {
        /// The node's path.
        path: ZnodePath,
    },
    /// A node was deleted, by any client or by the server.
    Deleted {
        /// The node's path.
        path: ZnodePath,
        /// The transaction that deleted the node, where the server reports it (ZooKeeper 3.9 and
        /// later).
        zxid: Option<Zxid>,
    },
    /// The stat of a lock parent was read during an overload ([`ConnectionState::Overloaded`]).
    ///
    /// The stat tells how many children the parent has and how many were created and deleted, but
    /// not which ones.
    Sampled {
        /// The parent's path.
        path: ZnodePath,
        /// The parent's stat at the time of the read.
        stat: ZnodeStat,
    },
    /// The servers answered questions about themselves: connections, sessions and watches.
    Surveyed {
        /// All answers, combined.
        view: Arc<ServerView>,
    },
    /// The server refused to let us read this node, so the nodes below it are unknown.
    Unreadable {
        /// The node's path.
        path: ZnodePath,
        /// The server's reason, as a sentence for people.
        why: String,
    },
    /// The last message from the server arrived at this time, as far as is known.
    ///
    /// Sent when the server is silent or the connection is lost: the table was accurate up to then.
    Heard {
        /// The time of that message, by this machine's clock.
        at: Timestamp,
    },
    /// The state of the connection changed.
    Connection(ConnectionState),
    /// A complete reading begins. Nodes that are not seen before [`Change::Synced`] are gone.
    Syncing,
    /// The complete reading is finished. The table is accurate until the connection is lost.
    Synced,
    /// A node was deleted, and a transaction log shows by whom.
    DeletedBy {
        /// The node's path.
        path: ZnodePath,
        /// The transaction that deleted the node.
        zxid: Zxid,
        /// The deleter.
        by: Deleter,
    },
    /// The trees of the members were compared.
    Compared {
        /// What the members showed.
        comparison: Arc<MemberComparison>,
    },
    /// The clients of several ensembles were compared.
    Crossed {
        /// The cycles of waits in which this ensemble takes part.
        waits: Arc<CrossWaits>,
    },
    /// A person muted findings, or a mute ended.
    Muted {
        /// All mutes of this ensemble.
        mutes: Arc<Mutes>,
    },
}

/// What a [silent](ConnectionState::Silent) ensemble means.
pub const NO_ANSWER: &str = "the ensemble does not answer: it has stopped, has lost its majority, or cannot be reached";

/// The state of the connection to the ensemble. It tells whether the table is accurate now.
///
/// New variants go to the end: a recording stores a variant by its position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConnectionState {
    /// There is no session, or it is lost. The console is trying to connect.
    Connecting {
        /// The number of this attempt, from 1.
        attempt: u32,
        /// Why the last attempt failed.
        reason: Option<String>,
        /// When the next attempt starts; `None` while one is running.
        next_try: Option<Timestamp>,
    },
    /// There is a session, and it is connected.
    Connected {
        /// The console's own session.
        session: SessionId,
        /// Whether one recursive watch per root is used. `false` for a server before 3.6.0, where
        /// one-shot child watches are used instead.
        recursive: bool,
    },
    /// There is a connection, but events arrive faster than they can be processed.
    ///
    /// The table is outdated until the next complete reading, which begins with the next
    /// [`Connected`](Self::Connected).
    Overloaded {
        /// What is wrong, as a sentence.
        reason: String,
    },
    /// The connection was cut. The session may still survive.
    Lost {
        /// Why the connection was cut.
        reason: String,
    },
    /// The server refused us. There is no further attempt.
    Refused {
        /// Why, and what to do.
        reason: String,
    },
    /// There is a connection, but the member of the ensemble behind it lags, so its data is
    /// outdated.
    ///
    /// Everything is read again from another member, or from this one once it has caught up. That
    /// reading begins with the next [`Connected`](Self::Connected).
    Lagging {
        /// The member, as `--connect` names it.
        member: String,
        /// What is wrong and what happens next, as a sentence.
        reason: String,
    },
    /// There is a connection, but nothing has come from the ensemble for a while: no event, and no
    /// answer to what it was asked. It may have stopped, lost its majority, or be out of reach.
    ///
    /// No event is missed as long as the connection lasts, so the next
    /// [`Connected`](Self::Connected) makes the table accurate again without a reading.
    Silent {
        /// When something came for the last time.
        since: Timestamp,
    },
}

impl Default for ConnectionState {
    fn default() -> Self {
        Self::Connecting { attempt: 1, reason: None, next_try: None }
    }
}

impl ConnectionState {
    /// Returns why the locks are not seen.
    pub fn why_not_seen(&self) -> &str {
        match self {
            Self::Lost { reason }
            | Self::Overloaded { reason }
            | Self::Refused { reason }
            | Self::Lagging { reason, .. }
            | Self::Connecting { reason: Some(reason), .. } => reason,
            Self::Connecting { reason: None, .. } => "there is no connection",
            Self::Silent { .. } => NO_ANSWER,
            Self::Connected { .. } => "everything is read again",
        }
    }
}

/// The deleter of a node. Only the servers' transaction logs show it; watch events do not.
///
/// New variants go to the end: a recording stores a variant by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Deleter {
    /// A client of this session, by a request.
    Session(SessionId),
    /// The servers, with the session that owned the node: the session had expired.
    Expiry,
    /// The servers, with the session that owned the node: its client had closed the session.
    Close,
}

impl Deleter {
    /// Returns the session whose request deleted the node; `None` for the servers.
    pub fn session(self) -> Option<SessionId> {
        match self {
            Self::Session(session) => Some(session),
            Self::Expiry | Self::Close => None,
        }
    }

    pub(super) fn session_at_end(self) -> SessionAtEnd {
        match self {
            Self::Expiry => SessionAtEnd::Expired,
            Self::Session(_) | Self::Close => SessionAtEnd::Lived,
        }
    }
}
