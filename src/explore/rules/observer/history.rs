//! What has happened to the nodes that sessions own, in order.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockscope_base::znode::Sequence;
use lockscope_sandbox::parts::{name, parent};

use crate::ensemble::{Author, Change, Commit};

/// A node, by its place in the history.
pub(super) type LifeId = usize;

/// The place of a node in its queue: its number, and the transaction that created it.
pub(super) type Rank = (Option<i32>, i64);

/// The life of a node.
#[derive(Clone, Debug, Hash)]
pub(super) struct Life {
    pub path: Arc<str>,
    pub lock: Arc<str>,
    pub czxid: i64,
    pub owner: i64,
    /// The place of its creation in the log.
    pub began: usize,
    /// Whether it was the first of its queue at any time.
    pub was_first: bool,
    pub end: Option<End>,
}

/// The end of a node.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct End {
    pub zxid: i64,
    /// Its place in the log.
    pub at: usize,
    /// Whether it is that of the session.
    pub by_expiry: bool,
}

/// What happens to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    Joins,
    Acquires,
    Ends,
}

/// The lives of all nodes that sessions own or owned.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct History {
    lives: Vec<Life>,
    at_path: BTreeMap<Arc<str>, Vec<LifeId>>,
    /// The nodes of each lock that exist.
    queues: BTreeMap<Arc<str>, BTreeMap<Rank, LifeId>>,
    /// What has happened. The changes of one transaction are told one after the other.
    pub log: Vec<(Kind, LifeId)>,
}

impl History {
    pub fn life(&self, id: LifeId) -> &Life {
        &self.lives[id]
    }

    /// Returns the nodes that have had a path, oldest first.
    pub fn at_path(&self, path: &str) -> &[LifeId] {
        self.at_path.get(path).map_or(&[], Vec::as_slice)
    }

    /// Returns the node that a transaction created at a path.
    pub fn find(&self, path: &str, czxid: i64) -> Option<LifeId> {
        self.at_path(path).iter().copied().find(|id| self.life(*id).czxid == czxid)
    }

    pub fn add(&mut self, commit: &Commit) {
        for change in &commit.changes {
            match change {
                Change::Created { path, owner: Some(owner) } => self.created(path, commit.zxid, *owner),
                Change::Deleted { path, czxid, owner: Some(_), .. } => {
                    let Some(id) = self.find(path, *czxid) else { continue };
                    let by_expiry = matches!(commit.by, Author::Expiry(_));
                    self.lives[id].end = Some(End { zxid: commit.zxid, at: self.log.len(), by_expiry });
                    self.log.push((Kind::Ends, id));
                    let lock = Arc::clone(&self.life(id).lock);
                    self.queues.entry(Arc::clone(&lock)).or_default().remove(&(number(path), *czxid));
                    self.note_first(&lock);
                }
                _ => {}
            }
        }
    }

    fn created(&mut self, path: &Arc<str>, czxid: i64, owner: i64) {
        let (id, lock) = (self.lives.len(), lock_of(path));
        self.lives.push(Life {
            path: Arc::clone(path),
            lock: Arc::clone(&lock),
            czxid,
            owner,
            began: self.log.len(),
            was_first: false,
            end: None,
        });
        self.log.push((Kind::Joins, id));
        self.at_path.entry(Arc::clone(path)).or_default().push(id);
        self.queues.entry(Arc::clone(&lock)).or_default().insert((number(path), czxid), id);
        self.note_first(&lock);
    }

    fn note_first(&mut self, lock: &str) {
        let Some(first) = self.queues.get(lock).and_then(|queue| queue.values().next().copied()) else { return };
        if !std::mem::replace(&mut self.lives[first].was_first, true) {
            self.log.push((Kind::Acquires, first));
        }
    }
}

/// Returns the path of a node's lock: its parent, or itself if it has no number.
pub(super) fn lock_of(path: &Arc<str>) -> Arc<str> {
    if number(path).is_none() { Arc::clone(path) } else { parent(path).unwrap_or_default().into() }
}

pub(super) fn number(path: &str) -> Option<i32> {
    Sequence::split(name(path)).map(|(_, number)| number.0)
}
