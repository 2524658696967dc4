//! What must hold for a deletion, and for a request to release.
//!
//! It hits the confirmed node or nothing. It sends nothing before the intent is recorded and the
//! node was examined, and nothing after the outcome is recorded. Its outcome says no less than what
//! its session has done, and no more than what can be known, and it comes in time.
//!
//! # The duties of an outcome
//!
//! | ending | only if |
//! | --- | --- |
//! | `deleted` | its session has deleted the node |
//! | `asked` | its session has written the request to the node |
//! | `gone` | the node does not exist |
//! | `changed-hands` | the node does not exist, and the named one was at its path |
//! | `changed` | the last examination has found a difference |
//! | `not-empty` | the node has had children |
//! | `refused` | the servers do not permit it |
//! | `busy` | it was tried ten times |
//! | `not-audited` | the log did not take the intent |
//! | `not-done` | the node was not deleted, and something was in the way: an examination failed, a reply was lost, or the time was up |
//! | `not-known` | a deletion was sent and not answered |

mod sent;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Violation;
use super::limits::REVOKE;
use crate::ensemble::{Author, Committed, LinkId, Request, SimulatedEnsemble, WriteOp, session_of};
use crate::program::{DeletionFact, DeletionOutcome, Doomed, ExaminationResult, ProgramState, Stage};
use crate::rules::Limit;
use lockscope_sandbox::parts::{known, parent};
use sent::SentRequests;

/// The deletions of a run.
#[derive(Clone, Debug, Default, Hash)]
pub struct DeletionRules {
    works: BTreeMap<usize, Work>,
    /// The nodes that have existed.
    created: BTreeSet<NodeId>,
}

/// The work on a plan.
#[derive(Clone, Debug, Default, Hash)]
struct Work {
    /// What has become of the nodes, in the order of the plan.
    nodes: Vec<Done>,
    sent: SentRequests,
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
    fn new(deletion: &DeletionFact, ensemble: &SimulatedEnsemble) -> Self {
        let nodes = deletion.nodes.iter().map(|node| Done::new(node, deletion.asks, ensemble)).collect();
        Self { nodes, ..Self::default() }
    }

    fn check(
        &mut self,
        client: usize,
        deletion: &DeletionFact,
        facts: &ProgramState,
        ensemble: &SimulatedEnsemble,
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
    fn check_order(deletion: &DeletionFact) -> Option<String> {
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

impl DeletionRules {
    /// Records that a process has run for a second.
    pub fn runs(&mut self, client: usize) {
        if let Some(work) = self.works.get_mut(&client) {
            work.second += 1;
        }
    }

    /// Records that a request of a client is refused, or a reply spoilt.
    pub fn refuses(&mut self, client: usize) {
        if let Some(work) = self.works.get_mut(&client) {
            work.is_refused = true;
        }
    }

    /// Records the data that a request is about to replace.
    pub fn carries_out(&mut self, ensemble: &SimulatedEnsemble, id: LinkId, request: &Request) {
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
    pub fn changed(&mut self, by: Author, zxid: i64, change: &Committed) -> Option<bool> {
        let mut made = None;
        if let (false, Committed::Created { path, .. }) = (self.works.is_empty(), change) {
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
    pub fn check(
        &mut self,
        ensemble: &SimulatedEnsemble,
        facts: &[&ProgramState],
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

/// A node: its path and the transaction that created it.
type NodeId = (Arc<str>, i64);

/// What a session has done for one confirmed node.
#[derive(Clone, Debug, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact, and every combination occurs")]
struct Done {
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
    pub fn new(node: &Doomed, asks: bool, ensemble: &SimulatedEnsemble) -> Self {
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
    pub fn exists(ensemble: &SimulatedEnsemble, (path, czxid): &NodeId) -> bool {
        ensemble.tree().node(path).is_ok_and(|node| node.czxid == *czxid)
    }

    /// Records what anybody has done.
    pub fn note(&mut self, change: &Committed) {
        if let Committed::Created { path, .. } = change {
            self.had_children |= parent(path).is_ok_and(|parent| *parent == *self.target.0);
        }
    }

    /// Records a change of its own session. Returns whether it leaves a node with other data.
    pub fn changed(&mut self, change: &Committed, before: &BTreeMap<Arc<str>, Arc<[u8]>>) -> bool {
        match change {
            Committed::Created { .. } => false,
            Committed::Deleted { path, czxid, .. } => {
                let node = (Arc::clone(path), *czxid);
                self.overwritten.remove(&node);
                if node == self.target {
                    self.has_deleted = true;
                } else {
                    self.deleted_other = Some(Arc::clone(path));
                }
                false
            }
            Committed::DataChanged { path, czxid, data, .. } => {
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
    pub fn others_changed(&mut self, change: &Committed) {
        self.still_asks &= !matches!(change, Committed::DataChanged { czxid, .. } if *czxid == self.target.1);
        if let Committed::Deleted { path, czxid, .. } | Committed::DataChanged { path, czxid, .. } = change {
            self.overwritten.remove(&(Arc::clone(path), *czxid));
        }
    }
}

/// The seconds from the end of the first examination to the outcome, at most: the patience, and some
/// for what happens at its end.
const WORKS_FOR: u32 = 15 + 2;

/// The seconds from the intent to the end of the first examination, at most.
const EXAMINES_FOR: u32 = 30 + 2;

/// The number of tries for one node.
const TRIES: u32 = 10;

impl Work {
    /// Checks what has become of one node.
    fn check_node(
        &mut self,
        index: usize,
        deletion: &DeletionFact,
        ensemble: &SimulatedEnsemble,
        created: &BTreeSet<NodeId>,
    ) -> Option<Violation> {
        let (node, second) = (&deletion.nodes[index], self.second);
        let done = &mut self.nodes[index];
        if node.intended.is_some() {
            done.intended_at.get_or_insert(second);
        }
        if node.looks.iter().any(|look| look.to.is_some()) {
            done.examined_at.get_or_insert(second);
        }
        let wrong = if deletion.told_early {
            Some(format!("the outcome of {} is told while a write may still be sent", node.path))
        } else if let Some((_, outcome)) = &node.logged {
            if let Some(violation) = self.nodes[index].lasting(outcome, ensemble) {
                return Some(violation);
            }
            let is_new = self.nodes[index].told_at.replace(second).is_none();
            let wrong = is_new.then(|| self.wrong_outcome(index, deletion, outcome, ensemble, created)).flatten();
            wrong.map(|wrong| format!("the deletion ends as {}, but {wrong}", outcome.ending))
        } else {
            wrong_wait(done, node, second)
        };
        let wrong = wrong.or_else(|| deletion.is_over.then(|| wrong_result(node)).flatten());
        wrong.map(|what| Violation { what, limit: None })
    }

    /// Returns why an outcome may not be told now.
    fn wrong_outcome(
        &self,
        index: usize,
        deletion: &DeletionFact,
        outcome: &DeletionOutcome,
        ensemble: &SimulatedEnsemble,
        created: &BTreeSet<NodeId>,
    ) -> Option<String> {
        let (node, done) = (&deletion.nodes[index], &self.nodes[index]);
        let look =
            node.looks.last().map(|look| if look.to.is_some() { look.verdict } else { ExaminationResult::Unknown });
        let is_uncertain = deletion.cut_off || self.sent.is_uncertain(index, false);
        let wrong = match outcome.ending {
            "changed-hands" => match outcome.other {
                Some(other) if other != node.czxid && created.contains(&(Arc::clone(&node.path), other)) => None,
                other => Some(format!("no node of transaction {other:?} was at its path")),
            },
            // A guard that the servers refuse is one that cannot be had any more.
            "changed" if look != Some(ExaminationResult::Changed) && !self.is_refused => {
                Some("no examination says so".to_owned())
            }
            "not-empty" if !done.had_children => Some("it has had no children".to_owned()),
            "busy" if self.sent.tries(index) < TRIES => Some(format!("it was tried {} times", self.sent.tries(index))),
            "not-known" if !deletion.cut_off && !self.sent.is_uncertain(index, true) => {
                Some("no reply was lost".to_owned())
            }
            "not-done" if !self.may_give_up(done, look) => Some("nothing was in the way".to_owned()),
            "refused" if !(deletion.asks && ensemble.permits.private) => Some("everybody may do that".to_owned()),
            "not-audited" => Some("the log has the intent".to_owned()),
            _ => None,
        };
        if wrong.is_some() {
            return wrong;
        }
        if look == Some(ExaminationResult::Changed) && outcome.ending != "changed" {
            Some("the node has changed".to_owned())
        } else if look == Some(ExaminationResult::Unknown) && !matches!(outcome.ending, "not-done" | "not-known") {
            Some("nothing is known of the node".to_owned())
        } else if outcome.window && node.guard != "none" && outcome.ending == "deleted" {
            Some("its guard leaves no gap".to_owned())
        } else if outcome.overwritten && !done.has_hit_other && !is_uncertain {
            Some("it has written to no other node, and says so".to_owned())
        } else if outcome.raised.is_some() && done.raised.is_empty() && !is_uncertain {
            Some("it has raised no version, and says so".to_owned())
        } else {
            None
        }
    }

    /// Returns whether something was in the way of a node that was not deleted.
    fn may_give_up(&self, done: &Done, look: Option<ExaminationResult>) -> bool {
        let lasted = self.second.saturating_sub(done.intended_at.unwrap_or_default());
        let is_left = self.nodes.iter().any(|other| other.target != done.target && other.told_at.is_some());
        look == Some(ExaminationResult::Unknown)
            || self.is_disturbed
            || lasted + 3 >= WORKS_FOR
            || is_left && look.is_none()
    }
}

impl Done {
    /// Returns what an outcome says wrongly at any time after it was told, and the limit that
    /// explains it.
    fn lasting(&self, outcome: &DeletionOutcome, ensemble: &SimulatedEnsemble) -> Option<Violation> {
        let ending = outcome.ending;
        let (path, _) = &self.target;
        let says_raised = |(path, _): &NodeId| outcome.overwritten || outcome.raised.as_ref() == Some(path);
        let untold = self.raised.iter().find(|node| Self::exists(ensemble, node) && !says_raised(node));
        let wrong = if let Some(other) = &self.deleted_other {
            let is_told = outcome.window || self.is_unguarded && ending == "not-known";
            let limit = is_told.then_some(Limit::DeletedOther);
            return Some(Violation { what: format!("it deletes {other}, which is not the confirmed node"), limit });
        } else if self.has_deleted && !matches!(ending, "deleted" | "not-known") {
            format!("it has deleted {path}")
        } else if !self.has_deleted && ending == "deleted" {
            format!("it has not deleted {path}")
        } else if self.still_asks && !matches!(ending, "asked" | "not-known") {
            format!("it has asked the owner of {path}")
        } else if !self.has_asked && ending == "asked" {
            format!("it has not asked the owner of {path}")
        } else if matches!(ending, "gone" | "changed-hands") && Self::exists(ensemble, &self.target) {
            format!("{path} still exists")
        } else if let Some(((path, _), _)) = self.overwritten.iter().next().filter(|_| !outcome.overwritten) {
            format!("it has replaced the data of {path}, and does not say so")
        } else if let Some((path, _)) = untold.filter(|_| !matches!(ending, "deleted" | "asked")) {
            format!("it has raised the version of {path}, and does not say so")
        } else {
            return None;
        };
        Some(Violation { what: format!("the deletion ends as {ending}, but {wrong}"), limit: None })
    }
}

/// Returns why the work on a node lasts too long.
fn wrong_wait(done: &Done, node: &Doomed, second: u32) -> Option<String> {
    let (since, limit) = match (done.examined_at, done.intended_at) {
        (Some(examined), _) => (examined, WORKS_FOR),
        (None, intended) => (intended?, EXAMINES_FOR),
    };
    (second > since + limit).then(|| format!("the deletion of {} goes on for more than {limit} seconds", node.path))
}

/// Returns how the result that was returned differs from the log.
fn wrong_result(node: &Doomed) -> Option<String> {
    let path = &node.path;
    match (node.intended, &node.logged, &node.outcome) {
        (None, None, None) => None,
        (None, None, Some(outcome)) if outcome.ending == "not-audited" => None,
        (None, _, Some(outcome)) => Some(format!("{path} ends as {}, and the log has no intent", outcome.ending)),
        (None, Some(_), None) => Some(format!("the log has an outcome of {path}, which was not tried")),
        (Some(_), _, None) => Some(format!("{path} was tried, and no outcome is told")),
        (Some(_), None, Some(_)) => Some(format!("the log has no outcome of {path}")),
        (Some(_), Some((_, logged)), Some(outcome)) if logged == outcome => None,
        (Some(_), Some((_, logged)), Some(outcome)) => {
            Some(format!("{path} ends as {}, and the log says {}", outcome.sentence, logged.sentence))
        }
    }
}
