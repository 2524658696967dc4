//! What a session has done to one confirmed node, and to others for its sake.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lockscope_sandbox::parts::{known, parent};

use super::REVOKE;
use crate::ensemble::{Change, Ensemble};
use crate::program::Doomed;

/// A node: its path and the transaction that created it.
pub(super) type NodeId = (Arc<str>, i64);

/// What a session has done for one confirmed node.
#[derive(Clone, Debug, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact, and every combination occurs")]
pub(super) struct Done {
    pub target: NodeId,
    /// Whether the owner is asked to release.
    asks: bool,
    /// Whether neither the node nor its parent may be written.
    pub is_unguarded: bool,
    /// Whether it has deleted the confirmed node.
    pub has_deleted: bool,
    /// Whether it has asked the owner of the confirmed node, and nobody has overwritten that since.
    pub has_asked: bool,
    pub still_asks: bool,
    /// Another node that it has deleted.
    pub deleted_other: Option<Arc<str>>,
    /// The nodes that it has written to.
    pub raised: BTreeSet<NodeId>,
    /// The nodes that have its data in place of their own, which are kept here.
    pub overwritten: BTreeMap<NodeId, Arc<[u8]>>,
    /// Whether it has ever written to a node that is neither the confirmed one nor, if that existed
    /// when the deletion was confirmed, its parent.
    pub has_hit_other: bool,
    /// The transaction that created the parent when the deletion was confirmed.
    parent: Option<i64>,
    /// Whether the node has ever had children since.
    pub had_children: bool,
    /// When the outcome was found, and whether it was judged.
    pub told_at: Option<u32>,
    /// When the first examination ended.
    pub examined_at: Option<u32>,
    pub intended_at: Option<u32>,
}

impl Done {
    pub fn new(node: &Doomed, asks: bool, ensemble: &Ensemble) -> Self {
        let parent = parent(&node.path).and_then(|parent| ensemble.tree().node(known(parent)));
        let now = ensemble.tree().node(&node.path).ok();
        let children = now.is_some_and(|node| !node.children.is_empty());
        Self {
            target: (Arc::clone(&node.path), node.czxid),
            asks,
            is_unguarded: node.guard == "none",
            has_deleted: false,
            has_asked: false,
            still_asks: false,
            deleted_other: None,
            raised: BTreeSet::new(),
            overwritten: BTreeMap::new(),
            has_hit_other: false,
            parent: parent.ok().map(|parent| parent.czxid),
            had_children: children,
            told_at: None,
            examined_at: None,
            intended_at: None,
        }
    }

    /// Returns whether a node exists.
    pub fn exists(ensemble: &Ensemble, (path, czxid): &NodeId) -> bool {
        ensemble.tree().node(path).is_ok_and(|node| node.czxid == *czxid)
    }

    /// Records what anybody has done.
    pub fn note(&mut self, change: &Change) {
        if let Change::Created { path, .. } = change {
            self.had_children |= parent(path).is_ok_and(|parent| *parent == *self.target.0);
        }
    }

    /// Records a change of its own session. Returns whether it leaves a node with other data.
    pub fn changed(&mut self, change: &Change, before: &BTreeMap<Arc<str>, Arc<[u8]>>) -> bool {
        match change {
            Change::Created { .. } => false,
            Change::Deleted { path, czxid, .. } => {
                let node = (Arc::clone(path), *czxid);
                self.overwritten.remove(&node);
                if node == self.target {
                    self.has_deleted = true;
                } else {
                    self.deleted_other = Some(Arc::clone(path));
                }
                false
            }
            Change::DataChanged { path, czxid, data, .. } => {
                let node = (Arc::clone(path), *czxid);
                if self.asks && node == self.target && **data == *REVOKE {
                    (self.has_asked, self.still_asks) = (true, true);
                    return true;
                }
                let own = self.overwritten.remove(&node).or_else(|| before.get(path).cloned());
                self.raised.insert(node.clone());
                self.has_hit_other |= *czxid != self.target.1 && Some(*czxid) != self.parent;
                match own {
                    Some(own) if own != *data => {
                        self.overwritten.insert(node, own);
                        true
                    }
                    _ => false,
                }
            }
        }
    }

    /// Records a change of somebody else. It undoes what the session has done to the data.
    pub fn others_changed(&mut self, change: &Change) {
        self.still_asks &= !matches!(change, Change::DataChanged { czxid, .. } if *czxid == self.target.1);
        if let Change::Deleted { path, czxid, .. } | Change::DataChanged { path, czxid, .. } = change {
            self.overwritten.remove(&(Arc::clone(path), *czxid));
        }
    }
}
