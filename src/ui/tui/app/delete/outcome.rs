//! A confirmed deletion while it is carried out, and what came of it.

use crate::tui::app::{App, Notice, TimelineEntry, Update};
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_live::admin::{Action, DeletePlan, Ending, NodeOutcome};
use lockscope_model::queue::{ClientIdentity, LockName, LockQueue, LockTable};

/// What was confirmed and is being carried out.
#[derive(Clone, Debug)]
pub struct Working {
    action: Action,
    nodes: Vec<WorkingNode>,
}

/// One node of it.
#[derive(Clone, Debug)]
struct WorkingNode {
    path: ZnodePath,
    lock: Option<LockName>,
    /// Who owns it, as far as is known when it is confirmed.
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

    /// The only node that is deleted, with its lock.
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

impl App {
    /// Says what came of it, on every screen and in the timeline. The table shows the truth by itself.
    pub(in crate::tui::app) fn deletion_done(&mut self, done: Result<Vec<NodeOutcome>, String>) -> Update {
        let working = self.deletions.working.take();
        match done {
            Err(why) => self.show_failure(why),
            Ok(outcomes) => {
                for outcome in &outcomes {
                    let entry = self.timeline_entry(outcome, working.as_ref());
                    self.live.push(entry);
                }
                let failed = outcomes.iter().any(|outcome| !outcome.ending.is_done() || outcome.unaudited.is_some());
                let text = summary(&outcomes, working.as_ref(), self.wall);
                if failed {
                    self.show_failure(text);
                } else {
                    self.show_notice(text);
                    if let Some(notice) = &mut self.footer.notice {
                        notice.freed = working.and_then(Working::freed);
                    }
                    self.name_new_holder();
                }
            }
        }
        self.read_audit_again()
    }

    /// Adds to the notice of a deletion who holds the lock now, as soon as the deletion was seen.
    pub(in crate::tui::app) fn name_new_holder(&mut self) {
        let table = self.live.table();
        let Some(notice) = &mut self.footer.notice else { return };
        let Some((node, lock)) = &notice.freed else { return };
        if table.position(node).is_some() {
            return;
        }
        let holder = table.find(&lock.path, lock.name.as_deref()).and_then(|id| table.lock(id)).map(|lock| {
            lock.first_holder().map_or_else(
                || "Nobody holds the lock now.".to_owned(),
                |holder| match table.identity_of(holder) {
                    ClientIdentity { session: None, name: None, .. } => {
                        format!("It is now held by {}.", lock.path_of(holder))
                    }
                    client => format!("It is now held by {}.", client.in_sentence(self.wall)),
                },
            )
        });
        notice.freed = None;
        if let Some(holder) = holder {
            *notice = Notice::new(format!("{} {holder}", notice.text), false, self.wall);
        }
    }

    fn timeline_entry(&self, outcome: &NodeOutcome, working: Option<&Working>) -> TimelineEntry {
        let known = working.and_then(|working| working.node(outcome));
        let (lock, client) = known.map(|node| (node.lock.clone(), node.client.clone())).unwrap_or_default();
        let (node, ending) = (outcome.path.name().into(), Box::new(outcome.ending.clone()));
        TimelineEntry::Deletion { at: self.wall, lock, node, client, ending }
    }
}

/// What came of all of them, in a sentence or two.
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

/// With whose node it is.
fn sentence_of(outcome: &NodeOutcome, working: Option<&Working>, now: Timestamp) -> String {
    let node = working.and_then(|working| working.node(outcome));
    let owner = node.map(|node| node.client.behind_node(now)).unwrap_or_default();
    format!("{}{owner} {}.", outcome.path, outcome.predicate())
}
