//! A confirmed deletion while it is carried out, and what came of it.

use super::{called, sentence};
use crate::admin::{Action, DeletePlan, Ending, NodeOutcome};
use crate::queue::{LockName, LockTable};
use crate::tui::app::{App, TimelineEntry, Update};
use crate::znode::{SessionId, ZnodePath};

/// What was confirmed and is being carried out.
#[derive(Clone, Debug)]
pub struct Working {
    action: Action,
    nodes: Vec<(ZnodePath, Option<LockName>, Option<SessionId>)>,
}

impl Working {
    pub(super) fn new(plan: &DeletePlan, table: &LockTable) -> Self {
        let nodes = plan.nodes().iter().map(|node| {
            let lock = table.find(&node.lock, node.lock_name.as_deref()).and_then(|id| table.lock(id));
            (node.path.clone(), lock.map(crate::queue::LockQueue::lock_name), node.session)
        });
        Self { action: plan.action(), nodes: nodes.collect() }
    }

    /// What is being done.
    pub fn action(&self) -> Action {
        self.action
    }

    /// To how many nodes.
    pub fn count(&self) -> usize {
        self.nodes.len()
    }
}

impl App {
    /// What was confirmed and is being carried out.
    pub fn working(&self) -> Option<&Working> {
        self.deletions.working.as_ref()
    }

    /// Tells what came of it, on every screen and in the timeline. The table shows the truth by itself.
    pub(in crate::tui::app) fn deletion_done(&mut self, done: Result<Vec<NodeOutcome>, String>) -> Update {
        let working = self.deletions.working.take();
        match done {
            Err(why) => self.show_failure(why),
            Ok(outcomes) => {
                for outcome in &outcomes {
                    let moment = self.timeline_entry(outcome, working.as_ref());
                    self.live.push(moment);
                }
                let failed = outcomes.iter().any(|outcome| !outcome.ending.is_done() || outcome.unaudited.is_some());
                let text = summary(&outcomes);
                if failed { self.show_failure(text) } else { self.show_notice(text) }
            }
        }
        self.read_audit_again()
    }

    fn timeline_entry(&self, outcome: &NodeOutcome, working: Option<&Working>) -> TimelineEntry {
        let known = working.and_then(|working| working.nodes.iter().find(|(path, ..)| *path == outcome.path));
        let (lock, session) = known.map_or((None, None), |(_, lock, session)| (lock.clone(), *session));
        let (node, ending) = (outcome.path.name().into(), Box::new(outcome.ending.clone()));
        TimelineEntry::Deletion { at: self.now, lock, node, session, ending }
    }
}

/// What came of all of them, in a sentence or two.
fn summary(outcomes: &[NodeOutcome]) -> String {
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

/// `4711 of /locks/billing is deleted.`
fn sentence_of(outcome: &NodeOutcome) -> String {
    sentence(&format!("{} {}", called(&outcome.path), outcome.predicate()))
}
