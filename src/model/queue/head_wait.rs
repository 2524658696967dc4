//! The watch by which the first contender of a queue waits itself.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use lockscope_base::znode::{Timestamp, Zxid};

/// What the node is that the head of a queue waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HeadAwaits {
    /// A request behind it.
    Behind,
    /// A node that is gone.
    Gone,
    /// A node of another recipe.
    Foreign,
}

/// The watch by which the head of a queue waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadWait {
    /// The transaction that created the head's node.
    pub(super) head: Zxid,
    /// The node that it waits for, by its name in the same parent.
    pub node: Arc<str>,
    /// What that node is.
    pub awaits: HeadAwaits,
    /// When a server first listed the watch after the head's turn, by this machine's clock.
    pub since: Timestamp,
    /// Whether two lists showed it.
    pub(super) settled: bool,
}
