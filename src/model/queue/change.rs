//! The input of the table: one change to a node, to the connection or to the servers' answers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{ConnectionState, Deleter};
use crate::server_view::{MemberComparison, ServerView};
use lockscope_base::znode::{Node, Timestamp, ZnodePath, ZnodeStat, Zxid};

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
}
