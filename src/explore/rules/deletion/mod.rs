//! What must hold for a deletion, and for a request to release.
//!
//! It hits the confirmed node or nothing. It sends nothing before the intent is recorded and the node
//! was examined, and nothing after the outcome is recorded. Its outcome says no less than what its
//! session has done, and no more than what can be known, and it comes in time.

mod done;
mod outcome;
mod sent;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Violation;
use crate::ensemble::{Author, Change, Ensemble, LinkId, Request, WriteOp, session_of};
use crate::program::{Deletion, Facts, Stage};
use done::{Done, NodeId};
use sent::Sent;

/// The data of a node whose owner is asked to release it.
pub(super) const REVOKE: &[u8] = b"__REVOKE__";

/// The deletions of a run.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Deletions {
    works: BTreeMap<usize, Work>,
    /// The nodes that have existed.
    created: BTreeSet<NodeId>,
}

/// The work on a plan.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Work {
    /// What has become of the nodes, in the order of the plan.
    nodes: Vec<Done>,
    sent: Sent,
    /// The data of the nodes of the next writes, before these.
    before: BTreeMap<Arc<str>, Arc<[u8]>>,
    /// The node that the last request worked on.
    current: usize,
    /// The seconds for which its process has run.
    second: u32,
    /// Whether it was disturbed: a connection was lost, or the process was stopped.
    is_disturbed: bool,
    /// Whether the servers have refused a request for a reason of their own.
    is_refused: bool,
}

impl Work {
    fn new(deletion: &Deletion, ensemble: &Ensemble) -> Self {
        let nodes = deletion.nodes.iter().map(|node| Done::new(node, deletion.asks, ensemble)).collect();
        Self { nodes, ..Self::default() }
    }

    fn check(
        &mut self,
        client: usize,
        deletion: &Deletion,
        facts: &Facts,
        ensemble: &Ensemble,
        created: &BTreeSet<NodeId>,
    ) -> Option<Violation> {
        self.before.clear();
        let wrong = self.sent.check(client, deletion, ensemble, self.second);
        if let Some(what) = wrong.or_else(|| Self::check_order(deletion)) {
            return Some(Violation { what: format!("the deletion {what}"), limit: None });
        }
        for index in 0..self.nodes.len() {
            if let Some(violation) = self.check_node(index, deletion, ensemble, created) {
                return Some(violation);
            }
        }
        let stays = deletion.is_over && !matches!(facts.stage, Stage::Ended(_));
        stays.then(|| Violation { what: "the deletion is over, and its session is not".to_owned(), limit: None })
    }

    /// Checks that the nodes are worked on from a queue's end to its head, one after the other.
    fn check_order(deletion: &Deletion) -> Option<String> {
        for node in &deletion.nodes {
            let Some(intended) = node.intended else { continue };
            let is_before = |other: &&crate::program::Doomed| other.position > node.position;
            let later = deletion.nodes.iter().filter(is_before);
            for other in later {
                let is_open = other.intended.is_some() && other.logged.is_none();
                if is_open || other.intended.is_some_and(|other| other > intended) {
                    return Some(format!("works on {} before {}, which is behind it", node.path, other.path));
                }
            }
        }
        None
    }
}

impl Deletions {
    /// Records that a process has run for a second.
    pub(super) fn runs(&mut self, client: usize) {
        if let Some(work) = self.works.get_mut(&client) {
            work.second += 1;
        }
    }

    /// Records that a request of a client is refused, or a reply spoilt.
    pub(super) fn refuses(&mut self, client: usize) {
        if let Some(work) = self.works.get_mut(&client) {
            work.is_refused = true;
        }
    }

    /// Records the data that a request is about to replace.
    pub(super) fn carries_out(&mut self, ensemble: &Ensemble, id: LinkId, request: &Request) {
        let Some(work) = self.works.get_mut(&id.client) else { return };
        let number = ensemble.link(id).and_then(|link| link.requests.front()).map_or(0, |(number, _)| *number);
        work.current = work.sent.node_of(number);
        for write in request.writes() {
            if let WriteOp::SetData { path, .. } = write
                && let Ok(node) = ensemble.tree().node(path)
            {
                work.before.insert(Arc::clone(path), node.data.clone().unwrap_or_default());
            }
        }
    }

    /// Records a change. Returns `None` unless a deletion made it, and else whether it leaves a node
    /// with other data.
    pub(super) fn changed(&mut self, by: Author, zxid: i64, change: &Change) -> Option<bool> {
        let mut made = None;
        if let (false, Change::Created { path, .. }) = (self.works.is_empty(), change) {
            self.created.insert((Arc::clone(path), zxid));
        }
        for (client, work) in &mut self.works {
            let is_author = by == Author::Session(session_of(*client));
            let current = work.current;
            for (index, node) in work.nodes.iter_mut().enumerate() {
                node.note(change);
                if is_author && index == current {
                    made = Some(node.changed(change, &work.before));
                } else {
                    node.others_changed(change);
                }
            }
        }
        made
    }

    /// Checks what the deletions have sent, and their outcomes. `is_disturbed` tells whether a client
    /// can have missed a reply.
    pub(super) fn check(
        &mut self,
        ensemble: &Ensemble,
        facts: &[&Facts],
        is_disturbed: impl Fn(usize) -> bool,
    ) -> Option<Violation> {
        for (client, facts) in facts.iter().enumerate() {
            let Some(deletion) = &facts.deletion else { continue };
            let work = self.works.entry(client).or_default();
            if deletion.nodes.is_empty() {
                continue;
            }
            if work.nodes.is_empty() {
                *work = Work { is_refused: work.is_refused, ..Work::new(deletion, ensemble) };
            }
            work.is_disturbed = is_disturbed(client);
            let violation = work.check(client, deletion, facts, ensemble, &self.created);
            if let Some(violation) = violation {
                return Some(violation);
            }
        }
        None
    }
}
