use super::{Mode, Recipe};
use crate::znode::{Sequence, ZnodePath};

/// Which part a node plays in its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// It stands in the lock's queue. In a semaphore: it waits for its turn to take a lease.
    Queue,
    /// It is a lease of a semaphore.
    Lease,
    /// It is the lock.
    SingleNode,
}

/// To which lock a node belongs, and as what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The lock's path: the lock parent; the semaphore's own path; the node itself for a single node.
    pub lock: ZnodePath,
    /// Which of several queues of that parent.
    pub name: Option<Box<str>>,
    /// The recipe.
    pub recipe: Recipe,
    /// The part that it plays.
    pub role: Role,
    /// What it asks for.
    pub mode: Mode,
    /// Its number.
    pub sequence: Option<Sequence>,
}

/// What must be known of the tree besides a node's own path to say what the node is.
#[derive(Clone, Debug, Default)]
pub struct Shape {}

impl Shape {
    /// Where the node stands; `None` when it can be no contender and need not be read.
    pub fn place(&self, path: &ZnodePath) -> Option<Place> {
        let _ = path;
        None
    }
}
