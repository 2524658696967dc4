//! The kinds of locks and of requests.

use serde::{Deserialize, Serialize};

/// The properties of a recipe.
#[derive(Clone, Copy, Debug)]
pub(super) struct Traits {
    /// The name in JSON and on the command line. It never changes, since other programs depend on
    /// it.
    pub id: &'static str,
    /// The name for people, at most 16 columns.
    pub title: &'static str,
    pub kind: LockKind,
    /// Whether only ephemeral nodes are contenders, because the names alone do not tell a lock from
    /// a folder or another numbered node.
    pub needs_ephemeral: bool,
}

/// The kind of a lock: what it grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockKind {
    /// One holder.
    Exclusive,
    /// Readers together, or one writer.
    ReadWrite,
    /// Up to a number of leases.
    Semaphore,
    /// One leader until its node is gone; the others stand by.
    // Its name in earlier versions.
    #[serde(alias = "latch")]
    Election,
    /// One node; its waiters are not in the tree.
    SingleNode,
}

impl LockKind {
    /// Returns the name in JSON, in the config file and in recordings.
    pub fn id(self) -> &'static str {
        match self {
            Self::Exclusive => "exclusive",
            Self::ReadWrite => "read-write",
            Self::Semaphore => "semaphore",
            Self::Election => "election",
            Self::SingleNode => "single-node",
        }
    }
}

/// The mode of a contender's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestMode {
    /// The lock alone, in a queue without readers.
    Exclusive,
    /// The lock together with other readers.
    Read,
    /// The lock alone, in a queue that has readers too.
    Write,
    /// One of a semaphore's leases.
    Lease,
}
