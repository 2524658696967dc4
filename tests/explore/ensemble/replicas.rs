//! The servers' data: the history of the leader, each member's last applied zxid and watches, and
//! how the leader carries out a write.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

use super::request::{
    Author, Commit, Committed, CreatedNode, LinkId, ReadOp, Response, SimulatedEventKind, SimulatedMessage,
    SimulatedWatchKind, WriteOp,
};
use lockscope_base::wire::ErrorCode;
use lockscope_sandbox::parts::{Owner, Stat, Tree, TreeChange, TreeMode, Wish, anyone, known, parent, permission};

/// The members, and the transactions that some of them lack.
#[derive(Clone, Debug)]
pub struct Replicas {
    pub(super) members: Vec<Replica>,
    /// The leader's tree.
    tree: Rc<Tree>,
    /// The transactions that a member lacks, each with the tree before it.
    lacked: Vec<(Rc<Commit>, Rc<Tree>)>,
    zxid: i64,
    /// The hash of all transactions, in order.
    history: u64,
    /// The transactions of the last step, for those who judge it.
    pub(super) fresh: Vec<Rc<Commit>>,
    /// Whether events have no zxids.
    masks: bool,
}

impl Replicas {
    pub fn new(members: usize, first_sequence: i32, masks: bool) -> Self {
        let mut tree = Tree::default();
        tree.first_sequence = first_sequence;
        Self {
            members: vec![Replica::new(); members],
            tree: Rc::new(tree),
            lacked: Vec::new(),
            zxid: 0,
            history: 0,
            fresh: Vec::new(),
            masks,
        }
    }

    /// Returns the zxid of the next transaction.
    pub fn next_zxid(&self) -> i64 {
        self.zxid + 1
    }

    /// Returns the tree of the leader.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Returns the tree of a member.
    pub fn tree_of(&self, member: usize) -> &Rc<Tree> {
        let zxid = self.members[member].zxid;
        self.lacked.iter().find(|(commit, _)| commit.zxid > zxid).map_or(&self.tree, |(_, before)| before)
    }

    /// Adds a transaction to the history, and returns the events of the members that do not lag.
    /// Refused transactions get no zxid, unlike on real servers: nothing depends on it.
    pub fn add(&mut self, by: Author, changes: Vec<Committed>, tree: Tree) -> Vec<(LinkId, SimulatedMessage)> {
        self.zxid += 1;
        let before = std::mem::replace(&mut self.tree, Rc::new(tree));
        let commit = Rc::new(Commit { zxid: self.zxid, by, changes });
        let mut hasher = DefaultHasher::new();
        (self.history, commit.zxid, commit.by, &commit.changes).hash(&mut hasher);
        self.history = hasher.finish();
        self.lacked.push((Rc::clone(&commit), before));
        self.fresh.push(commit);
        let mut events = Vec::new();
        for member in 0..self.members.len() {
            if !self.members[member].lags {
                events.extend(self.apply(member, self.zxid));
            }
        }
        self.forget_applied();
        events
    }

    /// Lets a member apply the history up to a zxid, and returns the events.
    pub fn catch_up(&mut self, member: usize, zxid: i64) -> Vec<(LinkId, SimulatedMessage)> {
        let events = self.apply(member, zxid);
        self.forget_applied();
        events
    }

    /// Lets a lagging member apply the next transaction. It lags no longer once it lacks none.
    pub fn advance(&mut self, member: usize) -> Vec<(LinkId, SimulatedMessage)> {
        let from = self.members[member].zxid;
        let next = self.lacked.iter().map(|(commit, _)| commit.zxid).find(|zxid| *zxid > from);
        let events = next.map(|next| self.catch_up(member, next)).unwrap_or_default();
        self.members[member].lags = self.members[member].zxid < self.zxid;
        events
    }

    /// Returns whether a member lags, and whether it lacks transactions.
    pub fn lag_of(&self, member: usize) -> (bool, bool) {
        (self.members[member].lags, self.members[member].zxid < self.zxid)
    }

    fn apply(&mut self, member: usize, zxid: i64) -> Vec<(LinkId, SimulatedMessage)> {
        let from = self.members[member].zxid;
        let mut events = Vec::new();
        for (commit, _) in self.lacked.iter().filter(|(commit, _)| commit.zxid > from && commit.zxid <= zxid) {
            let event_zxid = if self.masks { 0 } else { commit.zxid };
            events.extend(self.members[member].apply(commit, event_zxid));
        }
        events
    }

    /// Forgets the transactions that every member has applied.
    fn forget_applied(&mut self) {
        let oldest = self.members.iter().map(|member| member.zxid).min().unwrap_or(self.zxid);
        self.lacked.retain(|(commit, _)| commit.zxid > oldest);
    }
}

impl Hash for Replicas {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.members, self.zxid, self.history).hash(state);
    }
}

type Watches = BTreeMap<Arc<str>, BTreeSet<LinkId>>;

/// A server of the ensemble.
#[derive(Clone, Debug, Hash)]
pub struct Replica {
    /// The zxid of the last transaction that it has applied.
    pub(super) zxid: i64,
    /// Whether it applies transactions late.
    pub(super) lags: bool,
    /// Watches on nodes, existing or not.
    data_watches: Watches,
    child_watches: Watches,
    recursive_watches: Watches,
}

impl Replica {
    fn new() -> Self {
        Self {
            zxid: 0,
            lags: false,
            data_watches: Watches::new(),
            child_watches: Watches::new(),
            recursive_watches: Watches::new(),
        }
    }

    /// Applies a transaction, and returns the events that it fires.
    fn apply(&mut self, commit: &Commit, event_zxid: i64) -> Vec<(LinkId, SimulatedMessage)> {
        self.zxid = commit.zxid;
        let mut fired = Vec::new();
        for change in &commit.changes {
            self.fire(change, event_zxid, &mut fired);
        }
        fired
    }

    fn fire(&mut self, change: &Committed, zxid: i64, fired: &mut Vec<(LinkId, SimulatedMessage)>) {
        let (path, own, moved) = match change {
            Committed::Created { path, .. } => (path, SimulatedEventKind::Created, true),
            Committed::Deleted { path, .. } => (path, SimulatedEventKind::Deleted, true),
            Committed::DataChanged { path, .. } => (path, SimulatedEventKind::DataChanged, false),
        };
        let mut watchers = self.data_watches.remove(path).unwrap_or_default();
        if own == SimulatedEventKind::Deleted {
            watchers.extend(self.child_watches.remove(path).unwrap_or_default());
        }
        for (root, links) in &self.recursive_watches {
            if is_below(path, root) {
                watchers.extend(links);
            }
        }
        let event = |kind, path: &Arc<str>| SimulatedMessage::Event { kind, path: Arc::clone(path), zxid };
        fired.extend(watchers.into_iter().map(|link| (link, event(own, path))));
        if moved {
            let above = known(parent(path).unwrap_or_default());
            let watchers = self.child_watches.remove(above).unwrap_or_default();
            if !watchers.is_empty() {
                let above: Arc<str> = above.into();
                fired.extend(
                    watchers.into_iter().map(|link| (link, event(SimulatedEventKind::ChildrenChanged, &above))),
                );
            }
        }
    }

    /// Sets the watch of a read.
    pub(super) fn watch(&mut self, link: LinkId, read: &ReadOp) {
        match read {
            ReadOp::Data(path) | ReadOp::Stat(path) => self.watch_node(link, path),
            ReadOp::Children(path) => drop(self.child_watches.entry(Arc::clone(path)).or_default().insert(link)),
            ReadOp::Count(_) => {}
        }
    }

    fn watch_node(&mut self, link: LinkId, path: &Arc<str>) {
        self.data_watches.entry(Arc::clone(path)).or_default().insert(link);
    }

    pub(super) fn watch_recursively(&mut self, link: LinkId, root: &Arc<str>) {
        self.recursive_watches.entry(Arc::clone(root)).or_default().insert(link);
    }

    pub(super) fn is_watched(&self, path: &str) -> bool {
        self.data_watches.contains_key(path) || self.recursive_watches.contains_key(path)
    }

    /// Removes a client's watch.
    pub(super) fn unwatch(&mut self, link: LinkId, path: &str, kind: SimulatedWatchKind) {
        match kind {
            SimulatedWatchKind::Data | SimulatedWatchKind::Exists => remove(&mut self.data_watches, path, link),
            SimulatedWatchKind::Children => remove(&mut self.child_watches, path, link),
        }
    }

    pub(super) fn unwatch_recursively(&mut self, link: LinkId, root: &str) {
        remove(&mut self.recursive_watches, root, link);
    }

    /// Sets a client's watches again. Returns the events of those whose node changed after `seen`.
    pub(super) fn set_watches(
        &mut self,
        tree: &Tree,
        link: LinkId,
        seen: i64,
        watches: &[(Arc<str>, SimulatedWatchKind)],
        masks: bool,
    ) -> Vec<SimulatedMessage> {
        let mut missed = Vec::new();
        let zxid = if masks { 0 } else { self.zxid };
        for (path, kind) in watches {
            let event = match (kind, tree.node(path)) {
                (SimulatedWatchKind::Exists, Ok(_)) => Some(SimulatedEventKind::Created),
                (SimulatedWatchKind::Data | SimulatedWatchKind::Children, Err(_)) => Some(SimulatedEventKind::Deleted),
                (SimulatedWatchKind::Data, Ok(node)) => (node.mzxid > seen).then_some(SimulatedEventKind::DataChanged),
                (SimulatedWatchKind::Children, Ok(node)) => {
                    (node.pzxid > seen).then_some(SimulatedEventKind::ChildrenChanged)
                }
                (SimulatedWatchKind::Exists, Err(_)) => None,
            };
            match (event, kind) {
                (Some(kind), _) => missed.push(SimulatedMessage::Event { kind, path: Arc::clone(path), zxid }),
                (None, SimulatedWatchKind::Children) => self.watch(link, &ReadOp::Children(Arc::clone(path))),
                (None, _) => self.watch_node(link, path),
            }
        }
        missed
    }

    /// Forgets the watches of a connection that is gone.
    pub(super) fn forget(&mut self, link: LinkId) {
        for watches in [&mut self.data_watches, &mut self.child_watches, &mut self.recursive_watches] {
            watches.retain(|_, links| {
                links.remove(&link);
                !links.is_empty()
            });
        }
    }
}

fn remove(watches: &mut Watches, path: &str, link: LinkId) {
    if let Some(links) = watches.get_mut(path) {
        links.remove(&link);
        if links.is_empty() {
            watches.remove(path);
        }
    }
}

/// Returns whether a node is another one or below it.
pub fn is_below(path: &str, root: &str) -> bool {
    root == "/" || path == root || path.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'))
}

/// Answers a read from a tree.
pub fn read(tree: &Tree, read: &ReadOp) -> Result<Response, ErrorCode> {
    Ok(match read {
        ReadOp::Data(path) => {
            let node = tree.node(path)?;
            Response::Data { data: node.data.clone().unwrap_or_default(), stat: node.stat() }
        }
        ReadOp::Stat(path) => Response::Stat(tree.node(path).ok().map(lockscope_sandbox::parts::TreeNode::stat)),
        ReadOp::Children(path) => {
            let node = tree.node(path)?;
            Response::Children { names: node.children.iter().cloned().collect(), stat: node.stat() }
        }
        ReadOp::Count(path) => {
            tree.node(path)?;
            Response::Count(tree.below(path))
        }
    })
}

/// The time of all changes, in milliseconds since 1970. No lock decides by it.
const TIME: i64 = 1_700_000_000_000;

/// The index of the write that the leader refuses, and the reason.
pub type Refused = (usize, ErrorCode);

/// Carries out all writes of a session on a copy of a tree.
pub fn carry_out(
    tree: &Tree,
    session: i64,
    zxid: i64,
    writes: &[WriteOp],
) -> Result<(Vec<Response>, Vec<Committed>, Tree), Refused> {
    let mut tree = tree.clone();
    let (mut answers, mut changes) = (Vec::new(), Vec::new());
    for (index, write) in writes.iter().enumerate() {
        let (answer, change) = write_one(&mut tree, session, zxid, write).map_err(|code| (index, code))?;
        answers.push(answer);
        changes.extend(change);
    }
    Ok((answers, changes, tree))
}

/// Deletes the ephemeral nodes of a session that has ended from a copy of a tree.
pub fn without_ephemerals(tree: &Tree, session: i64, zxid: i64) -> (Vec<Committed>, Tree) {
    let mut tree = tree.clone();
    let nodes: Vec<Arc<str>> = tree.ephemerals_of(session).cloned().collect();
    let mut changes = Vec::new();
    for path in nodes {
        let (czxid, version) = tree.node(&path).map_or((0, 0), |node| (node.czxid, node.version));
        if tree.delete(&path, -1, zxid).is_ok() {
            changes.push(Committed::Deleted { path, czxid, version, owner: Some(session) });
        }
    }
    (changes, tree)
}

fn write_one(
    tree: &mut Tree,
    session: i64,
    zxid: i64,
    write: &WriteOp,
) -> Result<(Response, Option<Committed>), ErrorCode> {
    match write {
        WriteOp::Create(create) => {
            let owner = create.ephemeral.then_some(session);
            let (path, stat) = make(tree, create, owner, zxid)?;
            Ok((Response::Created { path: Arc::clone(&path), stat }, Some(Committed::Created { path, owner })))
        }
        WriteOp::Delete { path, version } => {
            tree.deletable(path)?;
            let (czxid, owner) = owner_of(tree, path)?;
            let of_node = tree.node(path)?.version;
            tree.delete(path, version.unwrap_or(-1), zxid)?;
            Ok((Response::Done, Some(Committed::Deleted { path: Arc::clone(path), czxid, version: of_node, owner })))
        }
        WriteOp::SetData { path, data, version } => {
            let (czxid, owner) = owner_of(tree, path)?;
            tree.set_data(path, Some(data), version.unwrap_or(-1), zxid, TIME)?;
            let stat = tree.node(path)?.stat();
            let (path, data) = (Arc::clone(path), Arc::clone(data));
            Ok((Response::Stat(Some(stat)), Some(Committed::DataChanged { path, czxid, owner, data })))
        }
        WriteOp::Check { path, version } => {
            if [-1, tree.node(path)?.version].contains(version) {
                Ok((Response::Done, None))
            } else {
                Err(ErrorCode::BadVersion)
            }
        }
    }
}

fn owner_of(tree: &Tree, path: &str) -> Result<(i64, Option<i64>), ErrorCode> {
    let node = tree.node(path)?;
    let owner = if let Owner::Session(session) = node.owner { Some(session) } else { None };
    Ok((node.czxid, owner))
}

/// Creates a node in a tree and returns its path and stat.
fn make(tree: &mut Tree, create: &CreatedNode, owner: Option<i64>, zxid: i64) -> Result<(Arc<str>, Stat), ErrorCode> {
    let wish = Wish {
        path: &create.path,
        data: Some(&create.data),
        acls: anyone(permission::ALL),
        mode: TreeMode { sequential: create.sequential, ephemeral: create.ephemeral, ttl: false },
        owner: match owner {
            Some(session) => Owner::Session(session),
            None if create.container => Owner::Container,
            None => Owner::Nobody,
        },
    };
    match tree.create(wish, zxid, TIME)?.0 {
        TreeChange::Created { path, stat, .. } => Ok((path, stat)),
        other => unreachable!("a create makes a node: {other:?}"),
    }
}
