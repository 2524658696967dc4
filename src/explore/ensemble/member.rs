//! One server: the length of its history, and the watches of its connections.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lockscope_base::wire::ErrorCode;
use lockscope_sandbox::parts::{Tree, known, parent};

use super::link::{EventKind, LinkId, Message};
use super::request::{Answer, Change, Commit, ReadOp, WatchKind};

type Watches = BTreeMap<Arc<str>, BTreeSet<LinkId>>;

/// A server of the ensemble.
#[derive(Clone, Debug, Hash)]
pub struct Member {
    /// The zxid of the last transaction that it has applied.
    pub(super) zxid: i64,
    /// Whether it applies transactions late.
    pub(super) lags: bool,
    /// Watches on nodes, existing or not.
    data_watches: Watches,
    child_watches: Watches,
    recursive_watches: Watches,
}

impl Member {
    pub(super) fn new() -> Self {
        Self {
            zxid: 0,
            lags: false,
            data_watches: Watches::new(),
            child_watches: Watches::new(),
            recursive_watches: Watches::new(),
        }
    }

    /// Applies a transaction, and returns the events that it fires.
    pub(super) fn apply(&mut self, commit: &Commit, event_zxid: i64) -> Vec<(LinkId, Message)> {
        self.zxid = commit.zxid;
        let mut fired = Vec::new();
        for change in &commit.changes {
            self.fire(change, event_zxid, &mut fired);
        }
        fired
    }

    fn fire(&mut self, change: &Change, zxid: i64, fired: &mut Vec<(LinkId, Message)>) {
        let (path, own, moved) = match change {
            Change::Created { path, .. } => (path, EventKind::Created, true),
            Change::Deleted { path, .. } => (path, EventKind::Deleted, true),
            Change::DataChanged { path, .. } => (path, EventKind::DataChanged, false),
        };
        let mut watchers = self.data_watches.remove(path).unwrap_or_default();
        if own == EventKind::Deleted {
            watchers.extend(self.child_watches.remove(path).unwrap_or_default());
        }
        for (root, links) in &self.recursive_watches {
            if is_below(path, root) {
                watchers.extend(links);
            }
        }
        let event = |kind, path: &Arc<str>| Message::Event { kind, path: Arc::clone(path), zxid };
        fired.extend(watchers.into_iter().map(|link| (link, event(own, path))));
        if moved {
            let above = known(parent(path).unwrap_or_default());
            let watchers = self.child_watches.remove(above).unwrap_or_default();
            if !watchers.is_empty() {
                let above: Arc<str> = above.into();
                fired.extend(watchers.into_iter().map(|link| (link, event(EventKind::ChildrenChanged, &above))));
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
    pub(super) fn unwatch(&mut self, link: LinkId, path: &str, kind: WatchKind) {
        match kind {
            WatchKind::Data | WatchKind::Exists => remove(&mut self.data_watches, path, link),
            WatchKind::Children => remove(&mut self.child_watches, path, link),
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
        watches: &[(Arc<str>, WatchKind)],
        masks: bool,
    ) -> Vec<Message> {
        let mut missed = Vec::new();
        let zxid = if masks { 0 } else { self.zxid };
        for (path, kind) in watches {
            let event = match (kind, tree.node(path)) {
                (WatchKind::Exists, Ok(_)) => Some(EventKind::Created),
                (WatchKind::Data | WatchKind::Children, Err(_)) => Some(EventKind::Deleted),
                (WatchKind::Data, Ok(node)) => (node.mzxid > seen).then_some(EventKind::DataChanged),
                (WatchKind::Children, Ok(node)) => (node.pzxid > seen).then_some(EventKind::ChildrenChanged),
                (WatchKind::Exists, Err(_)) => None,
            };
            match (event, kind) {
                (Some(kind), _) => missed.push(Message::Event { kind, path: Arc::clone(path), zxid }),
                (None, WatchKind::Children) => self.watch(link, &ReadOp::Children(Arc::clone(path))),
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
pub(super) fn read(tree: &Tree, read: &ReadOp) -> Result<Answer, ErrorCode> {
    Ok(match read {
        ReadOp::Data(path) => {
            let node = tree.node(path)?;
            Answer::Data { data: node.data.clone().unwrap_or_default(), stat: node.stat() }
        }
        ReadOp::Stat(path) => Answer::Stat(tree.node(path).ok().map(lockscope_sandbox::parts::Node::stat)),
        ReadOp::Children(path) => {
            let node = tree.node(path)?;
            Answer::Children { names: node.children.iter().cloned().collect(), stat: node.stat() }
        }
        ReadOp::Count(path) => {
            tree.node(path)?;
            Answer::Count(tree.below(path))
        }
    })
}
