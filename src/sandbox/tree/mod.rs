//! The tree of nodes, its operations, and how to undo them.
//!
//! The tree knows no sessions and no connections: callers check permissions, and [`TreeChange`]
//! tells them which watchers to notify. A failed transaction undoes its changes, so it leaves no
//! trace.

mod acl;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::config::ServerBehaviour;
use lockscope_base::wire::ErrorCode;

pub use acl::{Acls, Id, NodeAcl, acl_bytes, anyone, check, effective_acls, permission};

#[cfg(test)]
mod tests;

#[cfg(test)]
mod path_tests;

/// The approximate bytes that a node takes besides its path and its data.
const NODE_MEMORY: usize = 256;

/// The nodes that every server has. No client can delete them.
const SPECIAL: [&str; 4] = ["/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"];

/// The nodes that every `ClickHouse` Keeper has.
const SPECIAL_OF_KEEPER: [&str; 4] = ["/", "/keeper", "/keeper/api_version", "/keeper/config"];

/// The nodes, by path, with indexes of those that expire.
#[derive(Clone, Debug)]
pub struct Tree {
    nodes: HashMap<Arc<str>, TreeNode>,
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
    behaviour: ServerBehaviour,
}

impl Default for Tree {
    fn default() -> Self {
        Self::new(ServerBehaviour::ZooKeeper)
    }
}

impl Tree {
    /// Creates the tree of a new server.
    pub fn new(behaviour: ServerBehaviour) -> Self {
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
            let mut node = TreeNode::new(Some(Arc::new([])), Arc::clone(&all), Owner::Nobody, 0, 0);
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

    /// Returns the node of a path. An empty path means the root, as on a real server.
    pub fn node(&self, path: &str) -> Result<&TreeNode, ErrorCode> {
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
    pub fn cost(path: &str, data: Option<&[u8]>, acls: &[NodeAcl]) -> usize {
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

    fn special(behaviour: ServerBehaviour) -> [&'static str; 4] {
        match behaviour {
            ServerBehaviour::ZooKeeper | ServerBehaviour::ZooKeeper35 => SPECIAL,
            ServerBehaviour::Keeper => SPECIAL_OF_KEEPER,
        }
    }
}

/// The event that deletes a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A client's request only.
    Nobody,
    /// The end of this session.
    Session(i64),
    /// The deletion of its last child.
    Container,
    /// This many milliseconds without a change and without children.
    Ttl(i64),
}

/// A node's stat, in the numbers of the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stat {
    pub czxid: i64,
    pub mzxid: i64,
    pub pzxid: i64,
    pub ctime: i64,
    pub mtime: i64,
    pub version: i32,
    pub cversion: i32,
    pub aversion: i32,
    pub ephemeral_owner: i64,
    pub data_length: i32,
    pub num_children: i32,
}

/// A node as the tree keeps it.
#[derive(Clone, Debug)]
pub struct TreeNode {
    pub data: Option<Arc<[u8]>>,
    pub acls: Acls,
    pub owner: Owner,
    pub czxid: i64,
    pub mzxid: i64,
    pub pzxid: i64,
    pub ctime: i64,
    pub mtime: i64,
    pub version: i32,
    pub aversion: i32,
    /// The number of children that were ever created: the next sequence number.
    pub made: i32,
    /// What `cversion` counts besides creations and deletions of children: on Keeper, writes to them.
    pub written: i32,
    pub children: BTreeSet<Arc<str>>,
}

impl TreeNode {
    pub fn new(data: Option<Arc<[u8]>>, acls: Acls, owner: Owner, zxid: i64, time: i64) -> Self {
        Self {
            data,
            acls,
            owner,
            czxid: zxid,
            mzxid: zxid,
            pzxid: zxid,
            ctime: time,
            mtime: time,
            version: 0,
            aversion: 0,
            made: 0,
            written: 0,
            children: BTreeSet::new(),
        }
    }

    pub fn data_length(&self) -> usize {
        self.data.as_ref().map_or(0, |data| data.len())
    }

    /// Returns the stat that clients see. `cversion` counts creations and deletions of children,
    /// and wraps like Java's numbers.
    pub fn stat(&self) -> Stat {
        let num_children = i32::try_from(self.children.len()).unwrap_or(i32::MAX);
        Stat {
            czxid: self.czxid,
            mzxid: self.mzxid,
            pzxid: self.pzxid,
            ctime: self.ctime,
            mtime: self.mtime,
            version: self.version,
            cversion: self.made.wrapping_mul(2).wrapping_sub(num_children).wrapping_add(self.written),
            aversion: self.aversion,
            ephemeral_owner: match self.owner {
                Owner::Session(session) => session,
                _ => 0,
            },
            data_length: i32::try_from(self.data_length()).unwrap_or(i32::MAX),
            num_children,
        }
    }
}

/// A create mode, decoded from the numbers of ZooKeeper's `CreateMode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeMode {
    pub ephemeral: bool,
    pub sequential: bool,
    pub ttl: bool,
}

impl TreeMode {
    pub fn of(flags: i32) -> Result<Self, ErrorCode> {
        let mode = |ephemeral, sequential, ttl| Ok(Self { ephemeral, sequential, ttl });
        match flags {
            // The operation makes a container; the mode 4 alone makes a persistent node.
            0 | 4 => mode(false, false, false),
            1 => mode(true, false, false),
            2 => mode(false, true, false),
            3 => mode(true, true, false),
            5 => mode(false, false, true),
            6 => mode(false, true, true),
            _ => Err(ErrorCode::BadArguments),
        }
    }
}

/// A node to create. The permission has been checked.
#[derive(Debug)]
pub struct Wish<'a> {
    pub path: &'a str,
    pub data: Option<&'a [u8]>,
    pub acls: Acls,
    pub mode: TreeMode,
    pub owner: Owner,
}

/// A change of the tree, for the reply and the watchers. Watchers that may read the node get the
/// event. For a change of children, the ACLs `above`, those of the parent, decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeChange {
    Created {
        path: Arc<str>,
        stat: Stat,
        acls: Acls,
        above: Acls,
    },
    Deleted {
        path: Arc<str>,
        acls: Acls,
        above: Acls,
    },
    DataChanged {
        path: Arc<str>,
        stat: Stat,
        acls: Acls,
    },
    /// Watchers get no event.
    AclChanged {
        stat: Stat,
    },
    /// The version matched; the tree did not change.
    Checked {
        stat: Stat,
    },
}

/// The values that undo a change.
#[derive(Debug)]
pub enum Undo {
    Create { path: Arc<str>, made: i32, pzxid: i64 },
    Delete { path: Arc<str>, node: Box<TreeNode>, pzxid: i64 },
    SetData { path: Arc<str>, data: Option<Arc<[u8]>>, version: i32, mzxid: i64, mtime: i64 },
    SetAcl { path: Arc<str>, acls: Acls, version: i32 },
    Check,
}

type Done = Result<(TreeChange, Undo), ErrorCode>;

impl Tree {
    /// Creates a node. The caller has checked the permission to create below the parent.
    pub fn create(&mut self, wish: Wish<'_>, zxid: i64, time: i64) -> Done {
        let parent_path = known(parent(wish.path)?);
        let above = self.node(parent_path)?;
        let path: Arc<str> =
            if wish.mode.sequential { format!("{}{:010}", wish.path, above.made).into() } else { wish.path.into() };
        validate(&path)?;
        if self.nodes.contains_key(&path) {
            return Err(ErrorCode::NodeExists);
        }
        if matches!(above.owner, Owner::Session(_)) {
            return Err(ErrorCode::NoChildrenForEphemerals);
        }
        let undo = Undo::Create { path: Arc::clone(&path), made: above.made, pzxid: above.pzxid };
        let (acls, above) = (Arc::clone(&wish.acls), Arc::clone(&above.acls));
        let mut node = TreeNode::new(wish.data.map(Into::into), wish.acls, wish.owner, zxid, time);
        node.made = self.first_sequence;
        let stat = node.stat();
        let wraps = self.behaviour == ServerBehaviour::ZooKeeper35;
        self.link(&path, node, |above| {
            let made = above.made.wrapping_add(1);
            // At `i32::MAX` the counter stays as it is, and so does `pzxid`, as on a real server.
            if made > above.made || wraps {
                above.made = made;
                above.pzxid = zxid;
            }
        });
        Ok((TreeChange::Created { path, stat, acls, above }, undo))
    }

    /// Deletes a node if its version matches; -1 matches any.
    pub fn delete(&mut self, path: &str, version: i32, zxid: i64) -> Done {
        let node = self.node(path)?;
        compare(node.version, version)?;
        if !node.children.is_empty() {
            return Err(ErrorCode::NotEmpty);
        }
        let above = self.node(known(parent(path)?))?;
        let (pzxid, above) = (above.pzxid, Arc::clone(&above.acls));
        let acls = Arc::clone(&node.acls);
        let is_keeper = self.behaviour == ServerBehaviour::Keeper;
        let raise = |above: &mut TreeNode| above.pzxid = if is_keeper { above.pzxid } else { above.pzxid.max(zxid) };
        let (path, node) = self.unlink(path, raise).ok_or(ErrorCode::NoNode)?;
        let undo = Undo::Delete { path: Arc::clone(&path), node: Box::new(node), pzxid };
        Ok((TreeChange::Deleted { path, acls, above }, undo))
    }

    /// Returns the path of the node's parent, whose ACLs decide on a deletion. Fails for nodes that
    /// no client may delete.
    pub fn deletable<'p>(&self, path: &'p str) -> Result<&'p str, ErrorCode> {
        let above = parent(path)?;
        if self.is_special(path) { Err(ErrorCode::BadArguments) } else { Ok(known(above)) }
    }

    /// Replaces a node's data if its version matches; -1 matches any.
    pub fn set_data(&mut self, path: &str, data: Option<&[u8]>, version: i32, zxid: i64, time: i64) -> Done {
        let (path, node) = self.entry(path)?;
        let next = compare(node.version, version)?.wrapping_add(1);
        let was = node.data_length();
        let data = std::mem::replace(&mut node.data, data.map(Into::into));
        let undo = Undo::SetData {
            path: Arc::clone(&path),
            data,
            version: node.version,
            mzxid: node.mzxid,
            mtime: node.mtime,
        };
        (node.version, node.mzxid, node.mtime) = (next, zxid, time);
        let (stat, is, acls) = (node.stat(), node.data_length(), Arc::clone(&node.acls));
        self.size = self.size + is - was;
        self.count_write(&path, 1);
        Ok((TreeChange::DataChanged { path, stat, acls }, undo))
    }

    /// Replaces a node's ACLs if its ACL version matches; -1 matches any.
    pub fn set_acl(&mut self, path: &str, acls: Acls, version: i32) -> Done {
        let (path, node) = self.entry(path)?;
        let next = compare(node.aversion, version)?.wrapping_add(1);
        let is = acl_bytes(&acls);
        let acls = std::mem::replace(&mut node.acls, acls);
        let was = acl_bytes(&acls);
        let undo = Undo::SetAcl { path, acls, version: node.aversion };
        node.aversion = next;
        let stat = node.stat();
        self.beside = self.beside + is - was;
        Ok((TreeChange::AclChanged { stat }, undo))
    }

    /// Checks that a node's version matches; -1 matches any.
    pub fn check(&self, path: &str, version: i32) -> Done {
        let node = self.node(path)?;
        compare(node.version, version)?;
        Ok((TreeChange::Checked { stat: node.stat() }, Undo::Check))
    }

    /// Undoes a change. Several changes must be undone in reverse order.
    pub fn undo(&mut self, undo: Undo) {
        match undo {
            Undo::Create { path, made, pzxid } => {
                self.unlink(&path, |above| (above.made, above.pzxid) = (made, pzxid));
            }
            Undo::Delete { path, node, pzxid } => self.link(&path, *node, |above| above.pzxid = pzxid),
            Undo::SetData { path, data, version, mzxid, mtime } => {
                self.count_write(&path, -1);
                if let Some(node) = self.nodes.get_mut(&path) {
                    let was = node.data_length();
                    (node.data, node.version, node.mzxid, node.mtime) = (data, version, mzxid, mtime);
                    self.size = self.size + node.data_length() - was;
                }
            }
            Undo::SetAcl { path, acls, version } => {
                if let Some(node) = self.nodes.get_mut(&path) {
                    self.beside = self.beside + acl_bytes(&acls) - acl_bytes(&node.acls);
                    (node.acls, node.aversion) = (acls, version);
                }
            }
            Undo::Check => {}
        }
    }

    /// Counts a write to a child in the parent's `cversion`, as Keeper does.
    fn count_write(&mut self, path: &str, more: i32) {
        if self.behaviour == ServerBehaviour::Keeper
            && let Ok(Some(above)) = parent(path).map(|above| self.nodes.get_mut(known(above)))
        {
            above.written = above.written.wrapping_add(more);
        }
    }

    fn entry(&mut self, path: &str) -> Result<(Arc<str>, &mut TreeNode), ErrorCode> {
        let (path, _) = self.nodes.get_key_value(path).ok_or(ErrorCode::NoNode)?;
        let path = Arc::clone(path);
        let node = self.nodes.get_mut(&path).ok_or(ErrorCode::NoNode)?;
        Ok((path, node))
    }

    /// Inserts a node below its existing parent.
    fn link(&mut self, path: &Arc<str>, node: TreeNode, above: impl FnOnce(&mut TreeNode)) {
        if let Ok(Some(parent)) = parent(path).map(|parent| self.nodes.get_mut(known(parent))) {
            parent.children.insert(name(path).into());
            above(parent);
        }
        match node.owner {
            Owner::Session(session) => {
                self.ephemerals.entry(session).or_default().insert(Arc::clone(path));
            }
            Owner::Container | Owner::Ttl(_) => {
                self.passing.insert(Arc::clone(path));
            }
            Owner::Nobody => {}
        }
        self.size += path.len() + node.data_length();
        self.beside += acl_bytes(&node.acls) + name(path).len();
        self.nodes.insert(Arc::clone(path), node);
    }

    /// Removes a node from its parent and from the indexes.
    fn unlink(&mut self, path: &str, above: impl FnOnce(&mut TreeNode)) -> Option<(Arc<str>, TreeNode)> {
        let (path, node) = self.nodes.remove_entry(path)?;
        if let Ok(Some(parent)) = parent(&path).map(|parent| self.nodes.get_mut(known(parent))) {
            parent.children.remove(name(&path));
            above(parent);
        }
        match node.owner {
            Owner::Session(session) => {
                if let Some(paths) = self.ephemerals.get_mut(&session) {
                    paths.remove(&path);
                    if paths.is_empty() {
                        self.ephemerals.remove(&session);
                    }
                }
            }
            Owner::Container | Owner::Ttl(_) => {
                self.passing.remove(&path);
            }
            Owner::Nobody => {}
        }
        self.size -= path.len() + node.data_length();
        self.beside -= acl_bytes(&node.acls) + name(&path).len();
        Some((path, node))
    }
}

/// Returns the actual version if it matches the requested one.
fn compare(is: i32, asked: i32) -> Result<i32, ErrorCode> {
    if asked == -1 || asked == is { Ok(is) } else { Err(ErrorCode::BadVersion) }
}

/// Returns the parent's path as a server computes it: the text before the last slash. It is empty
/// for the root's children and for the root itself.
pub fn parent(path: &str) -> Result<&str, ErrorCode> {
    match path.rfind('/') {
        Some(at) if !path.contains('\0') => Ok(&path[..at]),
        _ => Err(ErrorCode::BadArguments),
    }
}

/// Returns the key of a parent in the tree: `/` in place of an empty path.
pub fn known(parent: &str) -> &str {
    if parent.is_empty() { "/" } else { parent }
}

/// Returns the last name of a path.
pub fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Checks that a node may have this path.
pub fn validate(path: &str) -> Result<(), ErrorCode> {
    let Some(rest) = path.strip_prefix('/') else { return Err(ErrorCode::BadArguments) };
    if rest.is_empty() {
        return Ok(());
    }
    let good = rest.split('/').all(|name| !matches!(name, "" | "." | "..")) && !path.contains(is_refused);
    if good { Ok(()) } else { Err(ErrorCode::BadArguments) }
}

/// Returns whether a character is a control character, private, special, or outside of the basic
/// plane, where Java needs two surrogates.
fn is_refused(c: char) -> bool {
    matches!(c, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..)
}
