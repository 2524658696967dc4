//! STUB of the reading side; being implemented.
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Contender, LockName, Rates, State, WatchEvents};
use crate::recipe::{Kind, Recipe};
use crate::znode::{Timestamp, ZnodePath};

/// A lock's place in its table; not reused while the table lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LockId(pub u64);

/// Since when a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Nobody holds it.
    Free,
    /// The acquisition was seen, at this time by this machine's clock.
    Since(Timestamp),
    /// It was held already when it was first seen: not longer than since then, when the holder's node was created, by the server's clock.
    AtMostSince(Timestamp),
}

/// One contender, with what its place in the queue says.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Its place in the queue, from 0.
    pub position: usize,
    /// The contender.
    pub contender: &'a Contender,
    /// Whether it holds.
    pub state: State,
}

/// One lock: its contenders in order.
#[derive(Clone, Debug)]
pub struct LockQueue {}

impl LockQueue {
    /// Its place in the table.
    pub fn id(&self) -> LockId {
        todo!()
    }
    /// How it is named.
    pub fn lock_name(&self) -> LockName {
        todo!()
    }
    /// Its path: the lock parent, the semaphore's own path, or the node of a single-node lock.
    pub fn path(&self) -> &ZnodePath {
        todo!()
    }
    /// Which queue, where its parent holds several.
    pub fn name(&self) -> Option<&str> {
        todo!()
    }
    /// Who made it.
    pub fn recipe(&self) -> Recipe {
        todo!()
    }
    /// What it grants.
    pub fn kind(&self) -> Kind {
        todo!()
    }
    /// Contenders, holders among them.
    pub fn len(&self) -> usize {
        todo!()
    }
    /// Whether nobody contends.
    pub fn is_empty(&self) -> bool {
        todo!()
    }
    /// How many hold.
    pub fn holding(&self) -> usize {
        todo!()
    }
    /// How many wait.
    pub fn waiting(&self) -> usize {
        todo!()
    }
    /// The first holder in queue order.
    pub fn first_holder(&self) -> Option<&Contender> {
        todo!()
    }
    /// The first waiter in queue order.
    pub fn first_waiter(&self) -> Option<&Contender> {
        todo!()
    }
    /// Since when it is held (by the holder that holds longest).
    pub fn held(&self) -> Held {
        todo!()
    }
    /// The number that the next contender gets, where known.
    pub fn next_sequence(&self) -> Option<i64> {
        todo!()
    }
    /// The row at a position. Logarithmic.
    pub fn row(&self, position: usize) -> Option<Row<'_>> {
        let _ = position;
        todo!()
    }
    /// The rows of a window. Work follows the window, not the queue.
    pub fn rows(&self, window: Range<usize>) -> impl Iterator<Item = Row<'_>> {
        window.filter_map(|position| self.row(position))
    }
    /// The position of a node by its name. Logarithmic.
    pub fn position(&self, node: &str) -> Option<usize> {
        let _ = node;
        todo!()
    }
    /// The names of the nodes that the contender at this position stands behind directly: at most `most` of them.
    pub fn waits_for(&self, position: usize, most: usize) -> Vec<&str> {
        let _ = (position, most);
        todo!()
    }
    /// Full path of one of its contenders.
    pub fn path_of(&self, contender: &Contender) -> ZnodePath {
        let _ = contender;
        todo!()
    }
    /// Watch events that the next release costs; `None` where the waiters are not in the tree (single node).
    pub fn watch_cost(&self) -> Option<WatchEvents> {
        todo!()
    }
    /// What it does per second.
    pub fn rates(&self, now: Timestamp) -> Rates {
        let _ = now;
        todo!()
    }
}
