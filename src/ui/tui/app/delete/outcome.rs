//! A confirmed deletion while it is carried out, and its outcome.

use crate::tui::app::{App, Notice, TimelineEntry, Update};
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_live::admin::{Action, DeletePlan, Ending, NodeOutcome};
use lockscope_model::queue::{ClientIdentity, LockName, LockQueue, LockTable};

/// A confirmed plan that is being carried out.
#[derive(Clone, Debug)]
pub struct Working {
    action: Action,
    nodes: Vec<WorkingNode>,
}

/// One node of a confirmed plan.
#[derive(Clone, Debug)]
struct WorkingNode {
    path: ZnodePath,
    lock: Option<LockName>,
    /// The owner, as known when the plan was confirmed.
    client: ClientIdentity,
}

impl Working {
    pub(super) fn new(plan: &DeletePlan, table: &LockTable) -> Self {
        let nodes = plan.nodes().iter().map(|node| {
            let lock = table.find(&node.lock, node.lock_name.as_deref()).and_then(|id| table.lock(id));
            let row = table.position(&node.path).and_then(|(id, position)| table.lock(id)?.row(position));
            let contender = row.map(|row| row.contender).filter(|contender| contender.czxid == node.czxid);
            let known = contender.map(|contender| table.identity_of(contender));
            let client = known.unwrap_or_else(|| node.session.map(|id| table.identity(id)).unwrap_or_default());
            WorkingNode { path: node.path.clone(), lock: lock.map(LockQueue::lock_name), client }
        });
        Self { action: plan.action(), nodes: nodes.collect() }
    }

    /// Returns the deleted node and its lock, if the plan deletes exactly one node of a known lock.
    fn freed(self) -> Option<(ZnodePath, LockName)> {
        match <[_; 1]>::try_from(self.nodes) {
            Ok([WorkingNode { path, lock, .. }]) if self.action == Action::Delete => Some((path, lock?)),
            _ => None,
        }
    }

    fn node(&self, outcome: &NodeOutcome) -> Option<&WorkingNode> {
        self.nodes.iter().find(|node| node.path == outcome.path)
    }

    pub fn action(&self) -> Action {
        self.action
    }

    pub fn count(&self) -> usize {
        self.nodes.len()
    }
}

/// What the console reports about a finished deletion.
#[derive(Debug)]
pub(super) struct Told {
    /// The text of the notice, a few sentences.
    text: String,
    /// Whether a deletion or request failed, or an outcome is missing in the audit log.
    failed: bool,
    entries: Vec<TimelineEntry>,
    /// The deleted node and its lock, if exactly one node was deleted and nothing failed.
    freed: Option<(ZnodePath, LockName)>,
}

impl Told {
    pub fn new(outcomes: &[NodeOutcome], working: Option<Working>, now: Timestamp) -> Self {
        let failed = outcomes.iter().any(|outcome| !outcome.ending.is_done() || outcome.unaudited.is_some());
        Self {
            text: summary(outcomes, working.as_ref(), now),
            failed,
            entries: outcomes.iter().map(|outcome| timeline_entry(outcome, working.as_ref(), now)).collect(),
            freed: working.filter(|_| !failed).and_then(Working::freed),
        }
    }
}

impl App {
    /// Shows the outcome on every screen and in the timeline. Does not touch the table of locks,
    /// which follows the ensemble.
    pub(in crate::tui::app) fn deletion_done(&mut self, done: Result<Vec<NodeOutcome>, String>) -> Update {
        match done {
            Err(why) => {
                self.deletions.not_tried();
                self.show_failure(why);
            }
            Ok(outcomes) => {
                let Told { text, failed, entries, freed } = self.deletions.done(&outcomes, self.wall);
                for entry in entries {
                    self.live.push(entry);
                }
                self.footer.notice = Some(Notice { freed, ..Notice::new(text, failed, self.wall) });
                self.name_new_holder();
            }
        }
        self.read_audit_again()
    }

    /// Adds the new holder to the notice of a deletion, once the table no longer has the deleted
    /// node.
    pub(in crate::tui::app) fn name_new_holder(&mut self) {
        let (now, table) = (self.wall, self.live.table());
        let Some(notice) = &mut self.footer.notice else { return };
        let Some((_, lock)) = notice.freed.take_if(|(node, _)| table.position(node).is_none()) else { return };
        if let Some(lock) = table.find(&lock.path, lock.name.as_deref()).and_then(|id| table.lock(id)) {
            *notice = Notice::new(format!("{} {}", notice.text, holder_now(lock, table, now)), false, now);
        }
    }
}

fn holder_now(lock: &LockQueue, table: &LockTable, now: Timestamp) -> String {
    let Some(holder) = lock.first_holder() else { return "Nobody holds the lock now.".to_owned() };
    match table.identity_of(holder) {
        ClientIdentity { session: None, name: None, .. } => format!("It is now held by {}.", lock.path_of(holder)),
        client => format!("It is now held by {}.", client.in_sentence(now)),
    }
}

fn timeline_entry(outcome: &NodeOutcome, working: Option<&Working>, at: Timestamp) -> TimelineEntry {
    let known = working.and_then(|working| working.node(outcome));
    let (lock, client) = known.map(|node| (node.lock.clone(), node.client.clone())).unwrap_or_default();
    let (node, ending) = (outcome.path.name().into(), Box::new(outcome.ending.clone()));
    TimelineEntry::Deletion { at, lock, node, client, ending }
}

/// Returns the outcomes as text: the number of nodes done, the first failure, and a missing audit
/// entry.
fn summary(outcomes: &[NodeOutcome], working: Option<&Working>, now: Timestamp) -> String {
    let sentence_of = |outcome| sentence_of(outcome, working, now);
    let mut text = match outcomes {
        [] => "Nothing was done.".to_owned(),
        [only] => sentence_of(only),
        several => {
            let done = several.iter().filter(|outcome| outcome.ending.is_done()).count();
            let asked = several.iter().any(|outcome| outcome.ending == Ending::Asked);
            let verb = if asked { "asked to release" } else { "deleted" };
            match several.iter().find(|outcome| !outcome.ending.is_done()) {
                None => format!("All {done} nodes are {verb}."),
                Some(first) => format!("{done} of {} nodes are {verb}. {}", several.len(), sentence_of(first)),
            }
        }
    };
    if let Some(why) = outcomes.iter().find_map(|outcome| outcome.unaudited.as_deref()) {
        text.push_str(" The audit log lacks this outcome: ");
        text.push_str(why);
        text.push('.');
    }
    text
}

/// Returns the outcome of one node as a sentence that names its owner.
fn sentence_of(outcome: &NodeOutcome, working: Option<&Working>, now: Timestamp) -> String {
    let node = working.and_then(|working| working.node(outcome));
    let owner = node.map(|node| node.client.behind_node(now)).unwrap_or_default();
    format!("{}{owner} {}.", outcome.path, outcome.predicate())
}
