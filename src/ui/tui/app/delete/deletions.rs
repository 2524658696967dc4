//! What is to be deleted, and what is being deleted.

use super::outcome::{Told, Working};
use super::tags::Tags;
use super::{Deletion, leaves};
use crate::tui::app::World;
use crate::tui::keymap::Bindings;
use lockscope_base::znode::Timestamp;
use lockscope_live::admin::{Action, DeletePlan, NodeOutcome};

/// What is to be deleted, and what is being deleted.
#[derive(Debug, Default)]
pub(in crate::tui::app) struct Deletions {
    /// The plan that somebody is asked about.
    pub open: Option<Deletion>,
    /// What was confirmed and is being carried out.
    pub(super) working: Option<Working>,
    pub tags: Tags,
}

impl Deletions {
    pub fn working(&self) -> Option<&Working> {
        self.working.as_ref()
    }

    /// Why nothing more can be deleted now: something is under way. A sentence.
    pub(super) fn why_busy(&self) -> Option<&'static str> {
        self.working.as_ref().map(|working| match working.action() {
            Action::Delete => "A deletion is under way: wait for what comes of it.",
            Action::Revoke => "An owner is being asked: wait for what comes of it.",
        })
    }

    /// How the nodes can be made sure of: of a plan that was left meanwhile, it is of no use. Gives
    /// whether it counts.
    pub(super) fn guards_found(&mut self, found: Result<Box<DeletePlan>, String>) -> bool {
        let Some(deletion) = &mut self.open else { return false };
        match found {
            Ok(found) => deletion.plan = deletion.plan.clone().guarded_as(&found),
            Err(_) if deletion.plan.is_guarded() => {}
            Err(why) => deletion.not_found_out = Some(format!("{why} {}", leaves())),
        }
        true
    }

    /// The ensemble changed: a plan that is open, and what is tagged, may have been about a node
    /// that is gone.
    pub fn recheck(&mut self, live: &World, bindings: &Bindings, now: Timestamp) {
        let table = live.table();
        self.tags.keep(table);
        if let Some(deletion) = &mut self.open
            && deletion.obstacle.is_none()
            && !(table.is_live() && deletion.is_still_there(table))
        {
            deletion.look_again(table, live.diagnosis(), bindings, now);
        }
    }

    /// A second has passed: the plan is made anew of what is true now.
    pub fn tick(&mut self, live: &World, bindings: &Bindings, now: Timestamp) {
        if let Some(deletion) = &mut self.open {
            deletion.look_again(live.table(), live.diagnosis(), bindings, now);
        }
    }

    /// What was confirmed is done: what to say of it, on every screen and in the timeline.
    pub(super) fn done(&mut self, outcomes: &[NodeOutcome], now: Timestamp) -> Told {
        Told::new(outcomes, self.working.take(), now)
    }

    /// What was confirmed was not even tried.
    pub(super) fn not_tried(&mut self) {
        self.working = None;
    }
}
