//! The changes of the tree, and their undoing.

use std::sync::Arc;

use super::{Acls, Behaviour, ErrorCode, Node, Owner, Stat, Tree, TreeMode, acl_bytes, known, name, parent, validate};

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
pub enum Change {
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
    Delete { path: Arc<str>, node: Box<Node>, pzxid: i64 },
    SetData { path: Arc<str>, data: Option<Arc<[u8]>>, version: i32, mzxid: i64, mtime: i64 },
    SetAcl { path: Arc<str>, acls: Acls, version: i32 },
    Check,
}

type Done = Result<(Change, Undo), ErrorCode>;

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
        let mut node = Node::new(wish.data.map(Into::into), wish.acls, wish.owner, zxid, time);
        node.made = self.first_sequence;
        let stat = node.stat();
        let wraps = self.behaviour == Behaviour::ZooKeeper35;
        self.link(&path, node, |above| {
            let made = above.made.wrapping_add(1);
            // At `i32::MAX` the counter stays as it is, and so does `pzxid`, as on a real server.
            if made > above.made || wraps {
                above.made = made;
                above.pzxid = zxid;
            }
        });
        Ok((Change::Created { path, stat, acls, above }, undo))
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
        let is_keeper = self.behaviour == Behaviour::Keeper;
        let raise = |above: &mut Node| above.pzxid = if is_keeper { above.pzxid } else { above.pzxid.max(zxid) };
        let (path, node) = self.unlink(path, raise).ok_or(ErrorCode::NoNode)?;
        let undo = Undo::Delete { path: Arc::clone(&path), node: Box::new(node), pzxid };
        Ok((Change::Deleted { path, acls, above }, undo))
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
        Ok((Change::DataChanged { path, stat, acls }, undo))
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
        Ok((Change::AclChanged { stat }, undo))
    }

    /// Checks that a node's version matches; -1 matches any.
    pub fn check(&self, path: &str, version: i32) -> Done {
        let node = self.node(path)?;
        compare(node.version, version)?;
        Ok((Change::Checked { stat: node.stat() }, Undo::Check))
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
        if self.behaviour == Behaviour::Keeper
            && let Ok(Some(above)) = parent(path).map(|above| self.nodes.get_mut(known(above)))
        {
            above.written = above.written.wrapping_add(more);
        }
    }

    fn entry(&mut self, path: &str) -> Result<(Arc<str>, &mut Node), ErrorCode> {
        let (path, _) = self.nodes.get_key_value(path).ok_or(ErrorCode::NoNode)?;
        let path = Arc::clone(path);
        let node = self.nodes.get_mut(&path).ok_or(ErrorCode::NoNode)?;
        Ok((path, node))
    }

    /// Inserts a node below its existing parent.
    fn link(&mut self, path: &Arc<str>, node: Node, above: impl FnOnce(&mut Node)) {
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
    fn unlink(&mut self, path: &str, above: impl FnOnce(&mut Node)) -> Option<(Arc<str>, Node)> {
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
