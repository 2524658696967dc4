//! Turns transactions into the changes that an observer would report.

use lockscope_base::znode::{SessionId, ZnodePath, Zxid};
use lockscope_model::follow::{Follower, NodeEvent, NodeRead, ReadAnswer, WatchStyle};
use lockscope_model::queue::{Change, Deleter};

use super::tree::Tree;

/// A [`Follower`] whose reads are answered by a [`Tree`] at once.
#[derive(Debug)]
pub(super) struct Followed {
    pub tree: Tree,
    follower: Follower,
}

impl Followed {
    pub fn new(tree: Tree, follower: Follower) -> Self {
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
        let Some(node) = self.tree.node(path) else { return ReadAnswer::NoNode };
        match read {
            NodeRead::Node(_) => ReadAnswer::Node(node.clone()),
            NodeRead::List(_) => ReadAnswer::Children(self.tree.children(path), node.stat),
            NodeRead::Count(_) => ReadAnswer::Descendants(self.tree.descendants(path)),
        }
    }
}
