//! What the table is fed with: one change to a node, to the connection, or to what the servers say.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ConnectionState;
use crate::server_view::ServerView;
use lockscope_base::znode::{Node, Timestamp, ZnodePath, ZnodeStat, Zxid};

/// What the ensemble did to a node, or what happened to the way we look at it.
///
/// One type serves the live view, headless output and tests. A change may come twice, and a read that is older than what
/// is known of its node is ignored. Only the reader can know whether a read was overtaken by its node's deletion:
/// the observer drops such answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// A read found this node, new or changed or as it was.
    Seen {
        /// Its path.
        path: ZnodePath,
        /// What the read found.
        node: Node,
    },
    /// A listing of this node's children was answered: it exists, and may be a lock parent.
    Listed {
        /// Its path.
        path: ZnodePath,
        /// Its stat at that time.
        stat: ZnodeStat,
    },
    /// A node exists that was not read, and its mere presence says something: of a hint
    /// ([`Classifier::is_hint`](lockscope_base::recipe::Classifier::is_hint)), what its neighbours are; of a semaphore's lease, which is read next,
    /// that a contender which leaves the queue after this may have it; of any other
    /// contender, that it is there, though its node is read later or, when it is soon gone, never.
    Appeared {
        /// Its path.
        path: ZnodePath,
    },
    /// A node is gone, whoever deleted it.
    Deleted {
        /// Its path.
        path: ZnodePath,
        /// The transaction that deleted it, where the server reports it (ZooKeeper 3.9 and later).
        zxid: Option<Zxid>,
    },
    /// While events come faster than they can be taken in ([`ConnectionState::Overloaded`]), a lock parent was read: it says how many
    /// children it has, and how many were created and deleted, and not which.
    Sampled {
        /// Its path.
        path: ZnodePath,
        /// Its stat at that time.
        stat: ZnodeStat,
    },
    /// The servers answered what was asked about themselves: their connections, sessions and watches.
    Surveyed {
        /// Their answers, put together.
        view: Arc<ServerView>,
    },
    /// The server refused to let us read here; what lies below is not known.
    Unreadable {
        /// Where.
        path: ZnodePath,
        /// What it said, as a sentence for people.
        why: String,
    },
    /// The last sign of the server came at that time, as far as is known. Sent when the server is silent or the connection is gone:
    /// what the table says was true until then.
    Heard {
        /// When, by this machine's clock.
        at: Timestamp,
    },
    /// The connection changed.
    Connection(ConnectionState),
    /// Everything is about to be read anew: what is not seen until [`Change::Synced`] is gone.
    Syncing,
    /// Everything was read: from here on the table is true, until the connection is lost.
    Synced,
}
