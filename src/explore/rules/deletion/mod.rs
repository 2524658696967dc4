//! What must hold for a guarded deletion: it hits the confirmed node or nothing, and its outcome
//! never says less than what its session has done.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lockscope_sandbox::parts::{known, parent};

use super::{Limit, Violation};
use crate::ensemble::{Author, Change, Ensemble, LinkId, Request, WriteOp, session_of};
use crate::program::{Deletion, DeletionOutcome, Facts};

/// A node: its path and the transaction that created it.
type NodeId = (Arc<str>, i64);

/// The deletions of a run, by client.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Deletions(BTreeMap<usize, Done>);

/// What one client's session has done to the nodes of others.
#[derive(Clone, Debug, Hash)]
struct Done {
    target: NodeId,
    /// The data of the nodes of the next writes, before these.
    before: BTreeMap<Arc<str>, Arc<[u8]>>,
    /// Whether it has deleted the confirmed node.
    has_deleted: bool,
    /// Another node that it has deleted.
    deleted_other: Option<Arc<str>>,
    /// The nodes that it has written to.
    raised: BTreeSet<NodeId>,
    /// The nodes that have its data in place of their own, which are kept here.
    overwritten: BTreeMap<NodeId, Arc<[u8]>>,
    /// Whether it has ever written to a node that is neither the confirmed one nor, if that existed
    /// when the deletion was confirmed, its parent.
    has_hit_other: bool,
    /// The transaction that created the parent when the deletion was confirmed.
    parent: Option<i64>,
}

impl Done {
    fn new(deletion: &Deletion, ensemble: &Ensemble) -> Self {
        let parent = parent(&deletion.path).and_then(|parent| ensemble.tree().node(known(parent)));
        Self {
            target: (Arc::clone(&deletion.path), deletion.czxid),
            before: BTreeMap::new(),
            has_deleted: false,
            deleted_other: None,
            raised: BTreeSet::new(),
            overwritten: BTreeMap::new(),
            has_hit_other: false,
            parent: parent.ok().map(|parent| parent.czxid),
        }
    }

    /// Records a change of its own session. Returns whether it leaves a node with other data.
    fn changed(&mut self, change: &Change) -> bool {
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
                let own = self.overwritten.remove(&node).or_else(|| self.before.get(path).cloned());
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
    fn others_changed(&mut self, change: &Change) {
        if let Change::Deleted { path, czxid, .. } | Change::DataChanged { path, czxid, .. } = change {
            self.overwritten.remove(&(Arc::clone(path), *czxid));
        }
    }

    /// Returns what the outcome says wrongly, and the limit that explains it.
    fn judge(&self, outcome: &DeletionOutcome, ensemble: &Ensemble, is_disturbed: bool) -> Option<Violation> {
        let exists = |(path, czxid): &NodeId| ensemble.tree().node(path).is_ok_and(|node| node.czxid == *czxid);
        let ending = outcome.ending;
        let (path, _) = &self.target;
        let is_uncertain = is_disturbed || !outcome.in_time;
        let says_raised = |(path, _): &NodeId| outcome.overwritten || outcome.raised.as_ref() == Some(path);
        let untold = self.raised.iter().find(|node| exists(node) && !says_raised(node));
        let wrong = if let Some(other) = &self.deleted_other {
            let limit = outcome.window.then_some(Limit::DeletedOther);
            return Some(Violation { what: format!("it deletes {other}, which is not the confirmed node"), limit });
        } else if self.has_deleted && !matches!(ending, "deleted" | "not-known") {
            format!("it has deleted {path}")
        } else if !self.has_deleted && ending == "deleted" {
            format!("it has not deleted {path}")
        } else if matches!(ending, "gone" | "changed-hands") && exists(&self.target) {
            format!("{path} still exists")
        } else if ending == "not-known" && !is_uncertain {
            "no reply was lost".to_owned()
        } else if let Some(((path, _), _)) = self.overwritten.iter().next().filter(|_| !outcome.overwritten) {
            format!("it has replaced the data of {path}, and does not say so")
        } else if outcome.overwritten && !self.has_hit_other && !is_uncertain {
            "it has written to no other node, and says so".to_owned()
        } else if let Some((path, _)) = untold.filter(|_| ending != "deleted") {
            format!("it has raised the version of {path}, and does not say so")
        } else if outcome.raised.is_some() && self.raised.is_empty() && !is_uncertain {
            "it has raised no version, and says so".to_owned()
        } else {
            return None;
        };
        Some(Violation { what: format!("the deletion ends as {ending}, but {wrong}"), limit: None })
    }
}

impl Deletions {
    /// Records the data that a request is about to replace.
    pub(super) fn carries_out(&mut self, ensemble: &Ensemble, id: LinkId, request: &Request) {
        let Some(done) = self.0.get_mut(&id.client) else { return };
        let writes = match request {
            Request::Write(write) => std::slice::from_ref(write),
            Request::Multi(writes) => writes,
            _ => return,
        };
        for write in writes {
            if let WriteOp::SetData { path, .. } = write
                && let Ok(node) = ensemble.tree().node(path)
            {
                done.before.insert(Arc::clone(path), node.data.clone().unwrap_or_default());
            }
        }
    }

    /// Records a change. Returns `None` unless a deletion made it, and else whether it leaves a node
    /// with other data.
    pub(super) fn changed(&mut self, by: Author, change: &Change) -> Option<bool> {
        let author = |client: &usize| by == Author::Session(session_of(*client));
        let mut made = None;
        for (client, done) in &mut self.0 {
            if author(client) {
                made = Some(done.changed(change));
            } else {
                done.others_changed(change);
            }
        }
        made
    }

    /// Checks the outcomes. `is_disturbed` tells whether a client can have missed a reply.
    pub(super) fn check(
        &mut self,
        ensemble: &Ensemble,
        facts: &[&Facts],
        is_disturbed: impl Fn(usize) -> bool,
    ) -> Option<Violation> {
        for (client, deletion) in
            facts.iter().enumerate().filter_map(|(at, facts)| Some((at, facts.deletion.as_ref()?)))
        {
            let done = self.0.entry(client).or_insert_with(|| Done::new(deletion, ensemble));
            done.before.clear();
            let outcome = deletion.outcome.as_ref();
            if let Some(violation) = outcome.and_then(|outcome| done.judge(outcome, ensemble, is_disturbed(client))) {
                return Some(violation);
            }
        }
        None
    }
}
