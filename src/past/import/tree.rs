//! The nodes of the ensemble at one transaction, rebuilt from a snapshot and the logs after it, and
//! the changes that an observer of this tree would report.
//!
//! The logs name only the session of a refused create. The tree tells which lock it was most likely
//! for.

mod packed;
#[cfg(test)]
mod taken_tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crc32fast::Hasher;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use lockscope_base::disk::{CreateTxn, NodeKind};
use lockscope_base::recipe::{Classifier, Role};
use lockscope_base::znode::{MAX_KEPT_DATA, Node, NodeData, SessionId, Timestamp, ZnodePath, ZnodeStat, Zxid};
use lockscope_model::follow::{Follower, NodeEvent, NodeRead, ReadAnswer, WatchStyle};
use lockscope_model::queue::{Change, Deleter};
use packed::{PackedChild, PackedNodes};

/// How much data of a node is kept whose name is that of no contender: enough for the maximum of a
/// semaphore, and for the name of a client. Its name may become a contender's later.
const MAX_OTHER_DATA: usize = 64;

/// The nodes below the roots. Memory grows with their number, and with the data of contenders.
#[derive(Debug, Default)]
pub struct LogTree {
    roots: Vec<ZnodePath>,
    /// Tells which nodes can be contenders by their names alone.
    names: Classifier,
    /// The contenders, and the nodes that transactions name.
    nodes: HashMap<ZnodePath, LogNode>,
    /// All other nodes of a snapshot. They are most nodes, and unpacked when a transaction names them.
    packed: PackedNodes,
    /// The names of each node's children in `nodes`, whether or not the node itself is known.
    children: HashMap<ZnodePath, BTreeSet<Box<str>>>,
    /// The ephemeral nodes of each session. Before ZooKeeper 3.6 the end of a session does not list
    /// them.
    owned: FxHashMap<SessionId, BTreeSet<ZnodePath>>,
    /// Whether nodes may stand that the tree does not have.
    is_partial: bool,
}

/// The node below which nothing counts.
const NOT_COUNTED: &str = "/zookeeper";

/// What a digest needs of a node besides its stat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSum {
    /// The CRC-32 of the path and the data; `None` where the data are not known.
    crc: Option<u32>,
    /// The owner as servers store it, which tells containers and TTL nodes, too.
    owner: i64,
}

impl NodeSum {
    /// Sums a node.
    pub fn of(path: &str, data: &[u8], kind: NodeKind) -> Self {
        Self { crc: None, owner: kind.stored() }.with_data(path, data)
    }

    /// Returns the sum of the node with other data.
    #[must_use]
    pub fn with_data(self, path: &str, data: &[u8]) -> Self {
        let mut crc = Hasher::new();
        crc.update(if path == "/" { b"" } else { path.as_bytes() });
        crc.update(data);
        Self { crc: Some(crc.finalize()), ..self }
    }

    /// Returns the sum of a node whose data are not known.
    #[must_use]
    pub fn without_data(self) -> Self {
        Self { crc: None, ..self }
    }

    /// Returns the part of the node in the digest; `None` if it is not known.
    pub fn digest(self, path: &str, stat: &ZnodeStat) -> Option<i64> {
        if path.starts_with(NOT_COUNTED) {
            return Some(0);
        }
        let mut crc = Hasher::new_with_initial(self.crc?);
        for long in [stat.czxid.0, stat.mzxid.0, stat.pzxid.0, stat.ctime.0, stat.mtime.0] {
            crc.update(&long.to_be_bytes());
        }
        // A stat counts deletions too, and the servers store the number of creations.
        let ever = i32::try_from(stat.next_sequence()?).ok()?;
        for int in [stat.version, ever, stat.aversion] {
            crc.update(&int.to_be_bytes());
        }
        crc.update(&self.owner.to_be_bytes());
        Some(i64::from(crc.finalize()))
    }
}

/// A node, and what the servers' digests need of it.
#[derive(Clone, Debug)]
struct LogNode {
    node: Node,
    sum: NodeSum,
}

impl LogTree {
    /// Creates a tree without nodes. `names` tells which nodes can be contenders.
    pub fn new(roots: &[ZnodePath], names: Classifier) -> Self {
        Self { roots: roots.to_vec(), names, ..Self::default() }
    }

    /// Forgets all nodes. If the ensemble had none at that time but `/`, the tree is complete from
    /// then on. Otherwise it takes only nodes whose siblings are all known: see
    /// [`Self::create`].
    pub fn clear(&mut self, is_empty: bool) {
        self.nodes.clear();
        self.packed = PackedNodes::default();
        self.children.clear();
        self.owned.clear();
        self.is_partial = !is_empty;
        if is_empty {
            let stat = ZnodeStat::of_new(Zxid(0), Timestamp(0), None);
            let node = Node { stat, data: NodeData::default() };
            self.nodes.insert(ZnodePath::root(), LogNode { node, sum: NodeSum::of("/", b"", NodeKind::Persistent) });
        }
    }

    /// Returns a tree without nodes but `/`, which follows the same nodes.
    pub fn emptied(&self) -> Self {
        let mut tree = Self::new(&self.roots, self.names.clone());
        tree.clear(true);
        tree
    }

    /// Returns whether nodes may stand that the tree does not have.
    pub fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Returns a tree of which no node is known, which follows the same nodes.
    pub fn unknown(&self) -> Self {
        let mut tree = Self::new(&self.roots, self.names.clone());
        tree.clear(false);
        tree
    }

    /// Returns the latest time that a node knows. The nodes of a new server know none.
    pub fn latest_time(&self) -> Option<Timestamp> {
        let times = self.stats().map(|stat| stat.ctime.max(stat.mtime));
        times.max().filter(|at| at.0 > 0)
    }

    fn stats(&self) -> impl Iterator<Item = ZnodeStat> {
        self.nodes.values().map(|LogNode { node, .. }| node.stat).chain(self.packed.stats())
    }

    /// Returns whether a node is followed: it is within a root, above one, or a root. Most paths of
    /// an ensemble are not, and cost no more than this.
    pub fn is_followed(&self, path: &str) -> bool {
        self.roots.iter().any(|root| is_within(path, root.as_str()) || is_within(root.as_str(), path))
    }

    /// Returns whether a node of this name can be a contender. The leases of kazoo are named by 32
    /// hexadecimal digits alone.
    pub fn may_contend(&self, path: &ZnodePath) -> bool {
        let name = path.name();
        self.names.classify(path).is_some() || name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    /// Returns whether an ephemeral node is a lock by itself.
    pub fn is_single_node_lock(&self, path: &ZnodePath) -> bool {
        self.names.classify(path).is_some_and(|place| place.role == Role::SingleNode)
    }

    /// Returns whether the tree has all nodes below this one, as far as files describe them.
    pub fn has_all_below(&self, path: &str) -> bool {
        !self.is_partial && self.roots.iter().any(|root| is_within(path, root.as_str()))
    }

    /// Returns whether all nodes are followed.
    pub fn follows_all(&self) -> bool {
        self.roots.iter().any(ZnodePath::is_root)
    }

    /// Returns the last transaction before another that changed a node of the tree or its children.
    /// A deletion shows in the parent.
    pub fn last_change_before(&self, next: Zxid) -> Zxid {
        let changes = self.stats().flat_map(|stat| [stat.mzxid, stat.pzxid]);
        changes.filter(|change| *change < next).max().unwrap_or(Zxid(0))
    }

    /// Adds a node of a snapshot, whose stat counts no children.
    pub fn add(&mut self, path: ZnodePath, stat: ZnodeStat, data: &[u8], kind: NodeKind) {
        self.is_partial = false;
        let parent = path.parent_str().unwrap_or_default();
        self.count_child(parent);
        let is_whole = usize::try_from(stat.data_length).is_ok_and(|length| length == data.len());
        let sum = NodeSum::of(path.as_str(), data, kind);
        let sum = if is_whole { sum } else { sum.without_data() };
        let is_plain = stat.ephemeral_owner.is_none() && !self.may_contend(&path);
        if is_plain && self.knows(parent) && !self.nodes.contains_key(&path) {
            let node = Node { stat, data: self.kept(&path, data) };
            if self.packed.insert(path.as_str(), &LogNode { node, sum }) {
                return;
            }
        }
        self.insert(path, stat, data, sum);
    }

    /// Counts a child of a node whose stat counts none.
    fn count_child(&mut self, parent: &str) {
        let count = |stat: &mut ZnodeStat| {
            // `cversion` counts deletions too, and a child that is there was not deleted.
            stat.num_children = stat.num_children.saturating_add(1);
            stat.cversion = stat.cversion.wrapping_sub(1);
        };
        match self.nodes.get_mut(parent) {
            Some(LogNode { node: parent, .. }) => count(&mut parent.stat),
            None => self.packed.update(parent, count),
        }
    }

    fn knows(&self, path: &str) -> bool {
        self.nodes.contains_key(path) || self.packed.contains(path)
    }

    /// Unpacks a node, which a transaction may change.
    fn unpack(&mut self, path: &str) {
        if let Some(node) = self.packed.take(path)
            && let Ok(path) = ZnodePath::new(path)
        {
            self.list(&path);
            self.nodes.insert(path, node);
        }
    }

    /// Takes a node of another tree that this one lacks.
    pub fn adopt(&mut self, path: &ZnodePath, from: &Self) {
        if let Some(LogNode { node, sum }) = from.get(path.as_str()) {
            self.count_child(path.parent_str().unwrap_or_default());
            self.insert(path.clone(), node.stat, node.data.bytes(), sum);
        }
    }

    /// Sets the stat of `/` as a snapshot has it, which counts no children.
    pub fn set_root(&mut self, stat: ZnodeStat, data: &[u8]) {
        let node = Node { stat, data: self.kept(&ZnodePath::root(), data) };
        self.nodes.insert(ZnodePath::root(), LogNode { node, sum: NodeSum::of("/", data, NodeKind::Persistent) });
    }

    /// Creates a node. Returns whether it is new: a snapshot may have it already.
    ///
    /// A tree that lacks nodes takes one only if it knows all nodes beside it. It does where the
    /// parent was created since. For a node that is a lock by itself, none beside it matter.
    pub fn create(&mut self, path: &ZnodePath, create: &CreateTxn<'_>, zxid: Zxid, at: Timestamp) -> bool {
        let parent = path.parent_str().unwrap_or_default();
        self.unpack(path.as_str());
        self.unpack(parent);
        let is_known = self.nodes.get(path).is_some_and(|LogNode { node, .. }| node.stat.czxid >= zxid);
        if is_known {
            // A snapshot may have the node, and its parent from before.
            if let Some(LogNode { node: parent, .. }) = self.nodes.get_mut(parent) {
                parent.stat = with_child(parent.stat, create, zxid, 0);
            }
            return false;
        }
        if self.is_partial && !self.nodes.contains_key(parent) && self.is_beside_others(path, create.kind) {
            return false;
        }
        if let Some(LogNode { node: parent, .. }) = self.nodes.get_mut(parent) {
            parent.stat = with_child(parent.stat, create, zxid, 1);
        }
        let stat = ZnodeStat {
            data_length: i32::try_from(create.data.len()).unwrap_or(i32::MAX),
            ..ZnodeStat::of_new(zxid, at, create.kind.session())
        };
        self.insert(path.clone(), stat, create.data, NodeSum::of(&create.path, create.data, create.kind));
        true
    }

    /// Returns whether nodes beside this one decide on its meaning.
    fn is_beside_others(&self, path: &ZnodePath, kind: NodeKind) -> bool {
        match self.names.classify(path) {
            Some(place) => place.lock != *path,
            None => kind.session().is_some(),
        }
    }

    fn insert(&mut self, path: ZnodePath, stat: ZnodeStat, data: &[u8], sum: NodeSum) {
        let data = self.kept(&path, data);
        if let Some(owner) = stat.ephemeral_owner {
            self.owned.entry(owner).or_default().insert(path.clone());
        }
        self.packed.take(path.as_str());
        self.list(&path);
        self.nodes.insert(path, LogNode { node: Node { stat, data }, sum });
    }

    /// Adds a node to the children of its parent, and so each node above that is not known: it must
    /// be there.
    fn list(&mut self, path: &ZnodePath) {
        if let Some(names) = path.parent_str().and_then(|parent| self.children.get_mut(parent)) {
            names.insert(path.name().into());
        } else if let Some(parent) = path.parent() {
            if !self.knows(parent.as_str()) {
                self.list(&parent);
            }
            self.children.insert(parent, [path.name().into()].into());
        }
    }

    /// Takes a node out of the children of its parent, and so each node above that was only implied.
    fn unlist(&mut self, path: &ZnodePath) {
        let Some((parent, names)) =
            path.parent().and_then(|parent| Some((parent.clone(), self.children.get_mut(&parent)?)))
        else {
            return;
        };
        names.remove(path.name());
        if names.is_empty() {
            self.children.remove(&parent);
            if !self.knows(parent.as_str()) && !self.packed.has_any_below(parent.as_str()) {
                self.unlist(&parent);
            }
        }
    }

    fn kept(&self, path: &ZnodePath, data: &[u8]) -> NodeData {
        let most = if self.names.classify(path).is_some() { MAX_KEPT_DATA } else { MAX_OTHER_DATA };
        NodeData::keep(&data[..data.len().min(most)])
    }

    /// Deletes a node. Returns whether it was there. The parent tells of the deletion in any case.
    pub fn delete(&mut self, path: &str, zxid: Zxid) -> bool {
        let above = parent_of(path);
        self.unpack(path);
        self.unpack(above);
        // A node that the snapshot has under this path may have been created after the deletion.
        let is_there = self.nodes.get(path).is_some_and(|LogNode { node, .. }| node.stat.czxid <= zxid);
        let gone = if is_there { self.nodes.remove_entry(path) } else { None };
        if let Some(LogNode { node: parent, .. }) = self.nodes.get_mut(above) {
            parent.stat = without_child(parent.stat, zxid, i32::from(gone.is_some()));
        }
        let Some((path, LogNode { node, .. })) = gone else { return false };
        self.unlist(&path);
        if let Some(owner) = node.stat.ephemeral_owner
            && let Some(owned) = self.owned.get_mut(&owner)
        {
            owned.remove(&path);
            if owned.is_empty() {
                self.owned.remove(&owner);
            }
        }
        true
    }

    /// Writes data into a node. Returns whether that is news.
    pub fn set(&mut self, path: &str, data: &[u8], version: i32, zxid: Zxid, at: Timestamp) -> bool {
        self.unpack(path);
        let Some((path, LogNode { node, sum })) = self.nodes.get_key_value(path) else { return false };
        if node.stat.mzxid >= zxid {
            return false;
        }
        let (kept, new_sum) = (self.kept(path, data), sum.with_data(path.as_str(), data));
        let Some(LogNode { node, sum }) = self.nodes.get_mut(path.clone().as_str()) else { return false };
        (node.data, *sum) = (kept, new_sum);
        node.stat.data_length = i32::try_from(data.len()).unwrap_or(i32::MAX);
        (node.stat.version, node.stat.mzxid, node.stat.mtime) = (version, zxid, at);
        true
    }

    /// Returns a node of which only the children are known: it must be there.
    fn implied(&self, path: &ZnodePath) -> Option<Node> {
        let stat = ZnodeStat::of_new(Zxid(0), Timestamp(0), None).without_child_history();
        let has_children = self.children.contains_key(path) || self.packed.has_any_below(path.as_str());
        has_children.then(|| Node { stat, data: NodeData::default() })
    }

    /// Sets how often a node's ACL was written.
    pub fn set_acl(&mut self, path: &str, version: i32) {
        self.unpack(path);
        if let Some(LogNode { node, .. }) = self.nodes.get_mut(path) {
            node.stat.aversion = node.stat.aversion.max(version);
        }
    }

    fn get(&self, path: &str) -> Option<LogNode> {
        self.nodes.get(path).cloned().or_else(|| self.packed.get(path))
    }

    /// Returns a node.
    pub fn node(&self, path: &ZnodePath) -> Option<Node> {
        self.get(path.as_str()).map(|LogNode { node, .. }| node)
    }

    /// Returns a node's stat, and what the servers' digests need besides.
    pub fn summed(&self, path: &str) -> Option<(ZnodeStat, NodeSum)> {
        self.get(path).map(|LogNode { node, sum }| (node.stat, sum))
    }

    /// Returns the ephemeral nodes of a session.
    pub fn owned_by(&self, session: SessionId) -> impl Iterator<Item = &ZnodePath> {
        self.owned.get(&session).into_iter().flatten()
    }

    /// Returns the nodes that sessions own.
    pub fn ephemerals(&self) -> impl Iterator<Item = (&ZnodePath, &Node)> {
        self.owned
            .values()
            .flatten()
            .filter_map(|path| self.nodes.get_key_value(path).map(|(path, LogNode { node, .. })| (path, node)))
    }

    /// Returns the names of a node's children.
    pub fn children(&self, path: &ZnodePath) -> Vec<String> {
        let mut names: Vec<String> = self.children.get(path).into_iter().flatten().map(ToString::to_string).collect();
        let unpacked = names.len();
        names.extend(self.packed.children(path.as_str()).map(PackedChild::name));
        if names.len() > unpacked {
            // A recording must not depend on which nodes are packed.
            names.sort_unstable();
        }
        names
    }

    /// Returns the number of nodes below a node.
    pub fn descendants(&self, path: &ZnodePath) -> usize {
        let (mut count, mut left) = (0, vec![path.clone()]);
        while let Some(parent) = left.pop() {
            let names = self.children.get(&parent).into_iter().flatten();
            left.extend(names.inspect(|_| count += 1).map(|name| parent.child(name)));
            for child in self.packed.children(parent.as_str()) {
                count += 1;
                let path = parent.child(&child.name());
                if child.has_any_below() || self.children.contains_key(&path) {
                    left.push(path);
                }
            }
        }
        count
    }
}

/// Returns the stat of a parent behind the creation of a child, which is `new` more than it has.
pub fn with_child(stat: ZnodeStat, create: &CreateTxn<'_>, zxid: Zxid, new: i32) -> ZnodeStat {
    let num_children = stat.num_children.saturating_add(new);
    // The log counts the children that the parent has ever had; answers of servers count deletions
    // too.
    let ever = stat.next_sequence().and_then(|ever| i32::try_from(ever).ok());
    let cversion = match create.parent_cversion {
        Some(count) => ever.map_or(count, |ever| count.max(ever)).wrapping_mul(2).wrapping_sub(num_children),
        None => stat.cversion.wrapping_add(new),
    };
    ZnodeStat { num_children, cversion, pzxid: stat.pzxid.max(zxid), ..stat }
}

/// Returns the stat of a parent behind a deletion below it, by which it has `gone` children less.
pub fn without_child(stat: ZnodeStat, zxid: Zxid, gone: i32) -> ZnodeStat {
    ZnodeStat {
        num_children: stat.num_children.saturating_sub(gone).max(0),
        cversion: stat.cversion.wrapping_add(gone),
        pzxid: stat.pzxid.max(zxid),
        ..stat
    }
}

/// Returns the path of a node's parent.
pub fn parent_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("/", |(above, _)| if above.is_empty() { "/" } else { above })
}

fn is_within(path: &str, ancestor: &str) -> bool {
    ancestor == "/" || path.strip_prefix(ancestor).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The children of one node that are listed in any case: more than make the follower look at them in
/// another way.
const MAX_LISTED: usize = 25_000;

/// A [`Follower`] whose reads are answered by a [`LogTree`] at once.
#[derive(Debug)]
pub struct FollowedTree {
    pub tree: LogTree,
    follower: Follower,
}

impl FollowedTree {
    pub fn new(tree: LogTree, follower: Follower) -> Self {
        Self { tree, follower }
    }

    /// Reads everything below the roots.
    pub fn read_all(&mut self) -> Vec<Change> {
        self.follower.begin(WatchStyle::Recursive);
        self.answer_all();
        self.follower.take_changes()
    }

    /// Reports a node that is new in the tree.
    pub fn created(&mut self, path: &ZnodePath, zxid: Zxid) -> Vec<Change> {
        self.event(NodeEvent::Created, path, zxid)
    }

    /// Reports a node with new data.
    pub fn written(&mut self, path: &ZnodePath, zxid: Zxid) -> Vec<Change> {
        self.event(NodeEvent::DataChanged, path, zxid)
    }

    /// Reports a node that is gone from the tree. `by` is who deleted it.
    pub fn deleted(&mut self, path: &ZnodePath, zxid: Zxid, by: Option<Deleter>) -> Vec<Change> {
        let mut changes = self.event(NodeEvent::Deleted, path, zxid);
        for change in &mut changes {
            if let (Change::Deleted { path: gone, .. }, Some(by)) = (&*change, by) {
                *change = Change::DeletedBy { path: gone.clone(), zxid, by };
            }
        }
        changes
    }

    /// Returns the ephemeral nodes of a session, of each parent the latest first. When they go
    /// together, none of them becomes a holder on the way.
    pub fn owned_by(&self, session: SessionId) -> Vec<ZnodePath> {
        let mut owned: Vec<(Zxid, ZnodePath)> = self
            .tree
            .owned_by(session)
            .filter_map(|path| Some((self.tree.node(path)?.stat.czxid, path.clone())))
            .collect();
        owned.sort_unstable_by(|one, other| other.cmp(one));
        owned.into_iter().map(|(_, path)| path).collect()
    }

    fn event(&mut self, event: NodeEvent, path: &ZnodePath, zxid: Zxid) -> Vec<Change> {
        self.follower.event(event, path, Some(zxid));
        self.answer_all();
        self.follower.take_changes()
    }

    fn answer_all(&mut self) {
        while let Some(read) = self.follower.next_read(|_| true) {
            let answer = self.answer(&read);
            self.follower.answer(&read, answer);
        }
    }

    fn answer(&self, read: &NodeRead) -> ReadAnswer {
        let path = read.path();
        let Some(node) = self.tree.node(path).or_else(|| self.tree.implied(path)) else {
            return ReadAnswer::NoNode;
        };
        match read {
            NodeRead::Node(_) => ReadAnswer::Node(node),
            NodeRead::List(_) => ReadAnswer::Children(self.listing(path).0, node.stat),
            NodeRead::Count(_) => {
                ReadAnswer::Descendants(self.tree.descendants(path).saturating_sub(self.listing(path).1))
            }
        }
    }

    /// Returns the names of a node's children, and how many are left out: where there are very many,
    /// those of which the follower would find that they have no children and never had any.
    fn listing(&self, path: &ZnodePath) -> (Vec<String>, usize) {
        let is_wide = self.tree.packed.children(path.as_str()).nth(MAX_LISTED).is_some();
        // A hint tells what its neighbours are.
        let has_hint = || self.tree.children(path).iter().any(|name| Classifier::is_hint(&path.child(name)));
        if !is_wide || has_hint() {
            return (self.tree.children(path), 0);
        }
        let mut names: Vec<String> =
            self.tree.children.get(path).into_iter().flatten().map(ToString::to_string).collect();
        let (mut listed, mut left_out) = (0, 0);
        for child in self.tree.packed.children(path.as_str()) {
            let name = child.name();
            let below = path.child(&name);
            let is_silent =
                child.is_childless() && !self.tree.children.contains_key(&below) && !self.follower.minds(&below);
            if is_silent && listed >= MAX_LISTED {
                left_out += 1;
            } else {
                listed += usize::from(is_silent);
                names.push(name);
            }
        }
        names.sort_unstable();
        (names, left_out)
    }
}

/// The locks that are single nodes and stand.
#[derive(Debug, Default)]
pub struct SingleNodeLocks {
    owners: BTreeMap<ZnodePath, SessionId>,
    /// The lock that each session took last.
    last_taken: FxHashMap<SessionId, ZnodePath>,
}

impl SingleNodeLocks {
    /// Collects the locks of a tree.
    pub fn of(tree: &LogTree) -> Self {
        let mut taken = Self::default();
        for (path, node) in tree.ephemerals() {
            if let Some(owner) = node.stat.ephemeral_owner.filter(|_| tree.is_single_node_lock(path)) {
                taken.takes(path, owner);
            }
        }
        taken
    }

    pub fn takes(&mut self, path: &ZnodePath, owner: SessionId) {
        self.owners.insert(path.clone(), owner);
        self.last_taken.insert(owner, path.clone());
    }

    pub fn released(&mut self, path: &ZnodePath) {
        self.owners.remove(path);
    }

    pub fn closed(&mut self, session: SessionId) {
        self.last_taken.remove(&session);
    }

    /// Returns whether any lock is taken: otherwise a refused create was not for a lock.
    pub fn is_any(&self) -> bool {
        !self.owners.is_empty()
    }

    /// Returns the lock that a session tried in vain: the one that it took last, if another has it
    /// now; else the only one, if `is_all` says that no others exist.
    pub fn tried_by(&self, session: SessionId, is_all: bool) -> Option<&ZnodePath> {
        let others = |path: &&ZnodePath| self.owners.get(*path).is_some_and(|owner| *owner != session);
        let only = || self.owners.keys().next().filter(|_| is_all && self.owners.len() == 1);
        match self.last_taken.get(&session) {
            Some(last) => Some(last).filter(others),
            None => only().filter(others),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockscope_base::disk::{Entry, Txn};
    use lockscope_base::wire::{Writer, op};

    fn path(text: &str) -> ZnodePath {
        ZnodePath::new(text).unwrap()
    }

    fn tree(is_empty: bool) -> LogTree {
        let mut tree = LogTree::new(&[ZnodePath::root()], Classifier::new([]));
        tree.clear(is_empty);
        tree
    }

    fn create(tree: &mut LogTree, at: &str, ever: i32, zxid: i64) -> bool {
        let mut bytes = Vec::new();
        bytes.put_long(7);
        bytes.put_int(1);
        bytes.put_long(zxid);
        bytes.put_long(zxid);
        bytes.put_int(op::CREATE);
        bytes.put_text(at);
        bytes.put_buffer(Some(b"x"));
        bytes.put_int(0);
        bytes.put_bool(true);
        bytes.put_int(ever);
        let Txn::Create(create) = Entry::read(&bytes).unwrap().txn else { panic!("a create") };
        tree.create(&path(at), &create, Zxid(zxid), Timestamp(zxid))
    }

    #[test]
    fn nodes_within_and_above_the_roots_are_followed() {
        let of = |roots: &[&str]| {
            LogTree::new(&roots.iter().map(|root| path(root)).collect::<Vec<_>>(), Classifier::new([]))
        };
        let paths = ["/", "/a", "/a/b", "/a/b/c", "/a/bc", "/ab"];
        let followed = |tree: LogTree| paths.map(|path| tree.is_followed(path));
        assert_eq!(followed(of(&["/a/b"])), [true, true, true, true, false, false]);
        assert_eq!(followed(of(&["/ab", "/a/b/c"])), [true, true, true, true, false, true]);
        assert_eq!(followed(of(&["/"])), [true; 6]);
    }

    #[test]
    fn children_are_listed_without_what_is_below_them() {
        let mut tree = tree(true);
        for at in ["/a", "/a/b", "/a/b/c", "/a/b/c/d", "/a/b-", "/a/b-/x", "/a/b0", "/a/b.", "/ab", "/a/z"] {
            create(&mut tree, at, 1, 1);
        }
        let mut children = tree.children(&path("/a"));
        children.sort();
        assert_eq!(children, ["b", "b-", "b.", "b0", "z"]);
        assert_eq!(tree.children(&ZnodePath::root()), ["a", "ab"]);
        assert_eq!(tree.descendants(&path("/a")), 8);
        assert_eq!(tree.children(&path("/a/z")), Vec::<String>::new());
    }

    /// A tree of a snapshot with very many plain nodes: below a node of their own, and beside a lock.
    fn wide(parent: &str) -> FollowedTree {
        let mut tree = tree(true);
        let mut add = |at: String, owner: Option<i64>| {
            let kind = owner.map_or(NodeKind::Persistent, |owner| NodeKind::Ephemeral(SessionId(owner)));
            let stat = ZnodeStat { data_length: 1, ..ZnodeStat::of_new(Zxid(5), Timestamp(5), kind.session()) };
            tree.add(path(&at), stat, b"x", kind);
        };
        if parent != "/" {
            add(parent.to_owned(), None);
        }
        for number in 0..MAX_LISTED + 5_000 {
            add(format!("{}/item-{number}", parent.trim_end_matches('/')), None);
        }
        add("/locks".to_owned(), None);
        for session in 1..4 {
            add(
                format!("/locks/_c_00000000-0000-4000-8000-00000000000{session}-lock-000000000{session}"),
                Some(session),
            );
        }
        FollowedTree::new(tree, Follower::new(&[ZnodePath::root()], &[]))
    }

    #[test]
    fn nodes_that_are_packed_and_not_listed_change_nothing_that_is_reported() {
        for parent in ["/", "/data"] {
            let (mut packed, mut unpacked) = (wide(parent), wide(parent));
            for name in unpacked.tree.children(&path(parent)) {
                unpacked.tree.unpack(path(parent).child(&name).as_str());
            }
            assert!(unpacked.tree.packed.children(parent).next().is_none());
            assert_eq!(packed.listing(&path(parent)).1, 5_000, "{parent}");
            assert_eq!(packed.tree.descendants(&ZnodePath::root()), unpacked.tree.descendants(&ZnodePath::root()));
            let changes = packed.read_all();
            assert!(changes.len() >= 5, "{changes:?}");
            assert_eq!(changes, unpacked.read_all(), "{parent}");
            assert!(packed.tree.delete("/data/item-7", Zxid(6)) == (parent == "/data"));
        }
    }

    #[test]
    fn the_parents_stat_is_that_of_a_server() {
        let mut tree = tree(true);
        create(&mut tree, "/a", 1, 1);
        for number in 0..5 {
            create(&mut tree, &format!("/a/n-{number}"), number + 1, i64::from(number) + 2);
        }
        assert!(tree.delete("/a/n-1", Zxid(9)) && !tree.delete("/a/n-1", Zxid(10)));
        let stat = tree.node(&path("/a")).unwrap().stat;
        assert_eq!((stat.num_children, stat.cversion, stat.pzxid), (4, 6, Zxid(10)));
        assert_eq!(stat.next_sequence(), Some(5));
        assert_eq!(tree.owned_by(SessionId(7)).count(), 5);
    }

    #[test]
    fn what_a_snapshot_has_already_is_applied_once() {
        let mut tree = tree(true);
        tree.add(path("/a"), ZnodeStat::of_new(Zxid(20), Timestamp(20), None), b"new", NodeKind::Persistent);
        assert!(!create(&mut tree, "/a", 1, 20) && !tree.delete("/a", Zxid(19)));
        assert!(!tree.set("/a", b"old", 1, Zxid(20), Timestamp(20)));
        assert!(tree.set("/a", b"newer", 1, Zxid(21), Timestamp(21)));
        assert_eq!(tree.node(&path("/a")).unwrap().data.bytes(), b"newer");
    }

    #[test]
    fn a_tree_that_lacks_nodes_takes_only_those_whose_siblings_it_knows() {
        let mut tree = tree(false);
        assert!(!create(&mut tree, "/old/_c_00000000-0000-4000-8000-000000000001-lock-0000000007", 8, 1));
        assert!(!create(&mut tree, "/member", 1, 2));
        assert!(create(&mut tree, "/lock", 1, 3), "a lock by itself");
        assert!(create(&mut tree, "/lock/_c_00000000-0000-4000-8000-000000000001-lock-0000000007", 8, 4));
    }
}
