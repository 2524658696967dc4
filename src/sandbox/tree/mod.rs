//! The tree of nodes, its operations, and how to undo them.
//!
//! The tree knows no sessions and no connections: callers check permissions, and [`Change`] tells
//! them which watchers to notify. A failed transaction undoes its changes, so it leaves no trace.

mod acl;
mod change;
mod mode;
mod node;
mod path;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

pub use acl::{Acl, Acls, Id, acl_bytes, anyone, check, effective_acls, permission};
pub use change::{Change, Undo, Wish};
pub use mode::TreeMode;
pub use node::{Node, Owner, Stat};
pub use path::{known, name, parent, validate};

use crate::config::Behaviour;
use lockscope_base::wire::ErrorCode;

/// The approximate bytes that a node takes besides its path and its data.
const NODE_MEMORY: usize = 256;

/// The nodes that every server has. No client can delete them.
const SPECIAL: [&str; 4] = ["/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"];

/// The nodes that every `ClickHouse` Keeper has.
const SPECIAL_OF_KEEPER: [&str; 4] = ["/", "/keeper", "/keeper/api_version", "/keeper/config"];

/// The nodes, by path, with indexes of those that expire.
#[derive(Clone, Debug)]
pub struct Tree {
    nodes: HashMap<Arc<str>, Node>,
    /// Each session's ephemeral nodes.
    ephemerals: HashMap<i64, BTreeSet<Arc<str>>>,
    /// The paths of containers and TTL nodes.
    passing: BTreeSet<Arc<str>>,
    /// The bytes of all paths and data.
    size: usize,
    /// The bytes of ACLs and of the child names that parents keep.
    beside: usize,
    /// The number of the first sequential child of a new node.
    pub first_sequence: i32,
    /// The server that the tree is one of.
    behaviour: Behaviour,
}

impl Default for Tree {
    fn default() -> Self {
        Self::new(Behaviour::ZooKeeper)
    }
}

impl Tree {
    /// Creates the tree of a new server.
    pub fn new(behaviour: Behaviour) -> Self {
        let mut tree = Self {
            behaviour,
            nodes: HashMap::new(),
            ephemerals: HashMap::new(),
            passing: BTreeSet::new(),
            size: 0,
            beside: 0,
            first_sequence: 0,
        };
        let all = anyone(permission::ALL);
        for path in Self::special(behaviour) {
            let mut node = Node::new(Some(Arc::new([])), Arc::clone(&all), Owner::Nobody, 0, 0);
            if path.ends_with("/config") {
                node.acls = anyone(permission::READ);
                node.aversion = -1;
            }
            tree.size += path.len();
            tree.beside += acl_bytes(&node.acls) + name(path).len();
            tree.nodes.insert(path.into(), node);
        }
        for path in Self::special(behaviour).into_iter().filter(|path| *path != "/") {
            if let Ok(Some(node)) = parent(path).map(|above| tree.nodes.get_mut(known(above))) {
                node.children.insert(name(path).into());
            }
        }
        tree
    }
}

impl Tree {
    /// Returns the node of a path. An empty path means the root, as on a real server.
    pub fn node(&self, path: &str) -> Result<&Node, ErrorCode> {
        self.nodes.get(known(path)).ok_or(ErrorCode::NoNode)
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the bytes of all paths and data.
    pub fn data_size(&self) -> usize {
        self.size
    }

    /// Returns the approximate bytes of memory of the tree.
    pub fn memory(&self) -> usize {
        self.size + self.beside + self.nodes.len() * NODE_MEMORY
    }

    /// Returns the approximate bytes that a node takes, with room for a sequence number.
    pub fn cost(path: &str, data: Option<&[u8]>, acls: &[Acl]) -> usize {
        NODE_MEMORY + path.len() + name(path).len() + 2 * 10 + data.map_or(0, <[u8]>::len) + acl_bytes(acls)
    }

    /// Returns the number of nodes below a path, at any depth. Visits each of them.
    pub fn below(&self, path: &str) -> usize {
        let mut open = vec![path.to_owned()];
        let mut count = 0;
        while let Some(path) = open.pop() {
            let Some(node) = self.nodes.get(&*path) else { continue };
            count += node.children.len();
            let base = if path == "/" { "" } else { &*path };
            open.extend(node.children.iter().map(|name| format!("{base}/{name}")));
        }
        count
    }

    /// Returns the paths of a session's ephemeral nodes, in their order.
    pub fn ephemerals_of(&self, session: i64) -> impl Iterator<Item = &Arc<str>> {
        self.ephemerals.get(&session).into_iter().flatten()
    }

    /// Returns the sessions that own ephemeral nodes, with the paths.
    pub fn owners(&self) -> impl Iterator<Item = (i64, &BTreeSet<Arc<str>>)> {
        self.ephemerals.iter().map(|(session, paths)| (*session, paths))
    }

    /// Returns the containers and TTL nodes that are due for deletion.
    pub fn due(&self, now: i64) -> Vec<Arc<str>> {
        let is_due = |path: &&Arc<str>| {
            self.nodes.get(&***path).is_some_and(|node| {
                node.children.is_empty()
                    && match node.owner {
                        // A container that never had a child waits for its first.
                        Owner::Container => node.made > 0,
                        Owner::Ttl(ttl) => now.saturating_sub(node.mtime) > ttl,
                        Owner::Nobody | Owner::Session(_) => false,
                    }
            })
        };
        self.passing.iter().filter(is_due).cloned().collect()
    }

    fn is_special(&self, path: &str) -> bool {
        Self::special(self.behaviour).contains(&path)
    }

    fn special(behaviour: Behaviour) -> [&'static str; 4] {
        match behaviour {
            Behaviour::ZooKeeper | Behaviour::ZooKeeper35 => SPECIAL,
            Behaviour::Keeper => SPECIAL_OF_KEEPER,
        }
    }
}
