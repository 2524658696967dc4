//! The open plan, the tagged contenders, and the deletion that is being carried out.

use super::outcome::{Told, Working};
use super::tags::Tags;
use super::{Deletion, leaves};
use crate::tui::app::World;
use crate::tui::keymap::Bindings;
use lockscope_base::znode::Timestamp;
use lockscope_live::admin::{Action, DeletePlan, NodeOutcome};

/// The open plan, the tagged contenders, and the deletion that is being carried out.
#[derive(Debug, Default)]
pub(in crate::tui::app) struct Deletions {
    /// The plan that the user is asked to confirm.
    pub open: Option<Deletion>,
    /// The confirmed plan that is being carried out.
    pub(super) working: Option<Working>,
    pub tags: Tags,
}

impl Deletions {
    pub fn working(&self) -> Option<&Working> {
        self.working.as_ref()
    }

    /// Returns, as a sentence, that a deletion or request is under way; `None` if none is. Only one
    /// runs at a time.
    pub(super) fn why_busy(&self) -> Option<&'static str> {
        self.working.as_ref().map(|working| match working.action() {
            Action::Delete => "A deletion is running: wait for its outcome.",
            Action::Revoke => "An owner is being asked: wait for the outcome.",
        })
    }

    /// Stores the recreation guards found for the open plan, or why they could not be determined.
    /// Ignored once the plan is closed. Returns whether a plan is open.
    pub(super) fn guards_found(&mut self, found: Result<Box<DeletePlan>, String>) -> bool {
        let Some(deletion) = &mut self.open else { return false };
        match found {
            Ok(found) => deletion.plan = deletion.plan.clone().guarded_as(&found),
            Err(_) if deletion.plan.is_guarded() => {}
            Err(why) => deletion.not_found_out = Some(format!("{why} {}", leaves())),
        }
        true
    }

    /// Updates the tags and the open plan after a change in the ensemble. Makes the plan again only
    /// if it has no obstacle yet, and its nodes are no longer as planned (gone, recreated, a parent
    /// not empty) or the table is no longer live.
    pub fn recheck(&mut self, live: &World, bindings: &Bindings, now: Timestamp) {
        let table = live.table();
        self.tags.keep(table);
        if let Some(deletion) = &mut self.open
            && deletion.obstacle.is_none()
            && !(table.is_live() && deletion.is_still_there(table))
        {
            deletion.plan_again(table, live.diagnosis(), bindings, now);
        }
    }

    /// Makes the open plan again from the current state. Called once a second.
    pub fn tick(&mut self, live: &World, bindings: &Bindings, now: Timestamp) {
        if let Some(deletion) = &mut self.open {
            deletion.plan_again(live.table(), live.diagnosis(), bindings, now);
        }
    }

    /// Ends the deletion under way. Returns what to show on the screen and in the timeline.
    pub(super) fn done(&mut self, outcomes: &[NodeOutcome], now: Timestamp) -> Told {
        Told::new(outcomes, self.working.take(), now)
    }

    /// Forgets the confirmed plan, of which nothing was tried.
    pub(super) fn not_tried(&mut self) {
        self.working = None;
    }
}
