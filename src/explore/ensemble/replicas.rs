//! The history of the leader, and how far each member has come in it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use lockscope_sandbox::parts::Tree;

use super::link::{LinkId, Message};
use super::member::Member;
use super::request::{Author, Change, Commit};

/// The members, and the transactions that some of them lack.
#[derive(Clone, Debug)]
pub(super) struct Replicas {
    pub(super) members: Vec<Member>,
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
    pub(super) fn new(members: usize, first_sequence: i32, masks: bool) -> Self {
        let mut tree = Tree::default();
        tree.first_sequence = first_sequence;
        Self {
            members: vec![Member::new(); members],
            tree: Rc::new(tree),
            lacked: Vec::new(),
            zxid: 0,
            history: 0,
            fresh: Vec::new(),
            masks,
        }
    }

    /// Returns the zxid of the next transaction.
    pub(super) fn next_zxid(&self) -> i64 {
        self.zxid + 1
    }

    /// Returns the tree of the leader.
    pub(super) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Returns the tree of a member.
    pub(super) fn tree_of(&self, member: usize) -> &Rc<Tree> {
        let zxid = self.members[member].zxid;
        self.lacked.iter().find(|(commit, _)| commit.zxid > zxid).map_or(&self.tree, |(_, before)| before)
    }

    /// Adds a transaction to the history, and returns the events of the members that do not lag.
    /// Refused transactions get no zxid, unlike on real servers: nothing depends on it.
    pub(super) fn add(&mut self, by: Author, changes: Vec<Change>, tree: Tree) -> Vec<(LinkId, Message)> {
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
    pub(super) fn catch_up(&mut self, member: usize, zxid: i64) -> Vec<(LinkId, Message)> {
        let events = self.apply(member, zxid);
        self.forget_applied();
        events
    }

    /// Lets a lagging member apply the next transaction. It lags no longer once it lacks none.
    pub(super) fn advance(&mut self, member: usize) -> Vec<(LinkId, Message)> {
        let from = self.members[member].zxid;
        let next = self.lacked.iter().map(|(commit, _)| commit.zxid).find(|zxid| *zxid > from);
        let events = next.map(|next| self.catch_up(member, next)).unwrap_or_default();
        self.members[member].lags = self.members[member].zxid < self.zxid;
        events
    }

    /// Returns whether a member lags, and whether it lacks transactions.
    pub(super) fn lag_of(&self, member: usize) -> (bool, bool) {
        (self.members[member].lags, self.members[member].zxid < self.zxid)
    }

    fn apply(&mut self, member: usize, zxid: i64) -> Vec<(LinkId, Message)> {
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
