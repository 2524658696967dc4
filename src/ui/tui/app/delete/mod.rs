//! Deletes chosen nodes: the plan while the user reads it, the answer, and the outcome.
//!
//! A plan is made from live data. It is made again every second and once more at the answer, so
//! that the user never confirms outdated facts. Only
//! [`admin::confirm`](lockscope_live::admin::confirm) turns a plan into one that can be carried
//! out.

mod answer;
mod deletions;
mod outcome;
mod tags;

use std::time::Duration;

pub(super) use deletions::Deletions;
pub use outcome::Working;
pub use tags::Tags;

use super::{App, Effect, Prompt, PromptPurpose, Screen, Update};
use crate::tui::keymap::{Bindings, Command, FixedKey};
use crate::tui::page::Scroll;
use lockscope_base::znode::{Timestamp, ZnodePath, Zxid};
use lockscope_live::admin::{Confirmation, DeletePlan, NoPlan, TargetKind};
use lockscope_model::diagnose::{Diagnosis, TableAt, Unaware};
use lockscope_model::queue::{ContenderState, LockQueue, LockTable};

const READ_ONLY: &str = "To delete, start `lockscope --write`, or use `lockscope delete`.";
const NO_LOG: &str = "Nothing is deleted without an audit log: start the console with --audit-log FILE.";

/// Returns the sentence that names the key to close a plan that cannot be confirmed.
fn leaves() -> String {
    format!("{} leaves.", FixedKey::Leave.name())
}

/// How long a changed plan must be visible before an answer counts, so that the user can read it.
const MIN_READING_TIME: Duration = Duration::from_secs(1);

/// A plan that the user is asked to confirm.
#[derive(Debug)]
pub struct Deletion {
    /// The latest valid plan to delete.
    plan: DeletePlan,
    revokes: bool,
    obstacle: Option<String>,
    /// Why the recreation guards could not be determined; a sentence.
    not_found_out: Option<String>,
    changed: Option<Timestamp>,
    refused: Option<String>,
    typed: Prompt,
    scroll: Scroll,
}

impl Deletion {
    fn new(plan: DeletePlan) -> Self {
        Self {
            plan,
            revokes: false,
            obstacle: None,
            not_found_out: None,
            changed: None,
            refused: None,
            typed: Prompt::new(PromptPurpose::Confirmation, ""),
            scroll: Scroll::default(),
        }
    }

    /// Returns the plan that is asked about: to delete, or to ask the owners to release.
    pub fn plan(&self) -> DeletePlan {
        let revocation = if self.revokes { self.plan.revocation() } else { None };
        revocation.unwrap_or_else(|| self.plan.clone())
    }

    /// Returns whether the owners can be asked to release instead.
    pub fn can_turn(&self) -> bool {
        self.plan.revocation().is_some()
    }

    /// Returns why the plan cannot be confirmed now, as a sentence.
    pub fn obstacle(&self) -> Option<String> {
        let lacks = self.plan.lacks().filter(|_| !self.revokes).map(|(path, lacks)| {
            format!(
                "{path} cannot be deleted: the server wants {lacks}: give an identity with --auth-file. {}",
                leaves()
            )
        });
        self.obstacle.clone().or_else(|| self.not_found_out.clone()).or(lacks)
    }

    /// Returns whether the recreation guards are still unknown. Until they are known, nothing can
    /// be confirmed.
    pub fn is_finding_out(&self) -> bool {
        !self.plan.is_guarded()
    }

    fn is_open(&self) -> bool {
        !self.is_finding_out() && self.obstacle().is_none()
    }

    /// Returns whether facts about the nodes changed while the plan was shown.
    pub fn has_changed(&self) -> bool {
        self.changed.is_some()
    }

    /// Returns why the last answer was refused, as a sentence.
    pub fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// Returns the prompt for the typed answer; `None` if `y` is enough, or nothing can be
    /// confirmed.
    pub fn typed(&self) -> Option<&Prompt> {
        let wanted = self.is_open() && self.plan().confirmation() != Confirmation::Yes;
        wanted.then_some(&self.typed)
    }

    pub fn scroll(&self) -> Scroll {
        self.scroll
    }

    /// Makes the plan again from the current state, or stores why it can no longer be confirmed.
    fn plan_again(&mut self, table: &LockTable, diagnosis: &Diagnosis, bindings: &Bindings, now: Timestamp) {
        let paths: Vec<ZnodePath> = self.plan.nodes().iter().map(|node| node.path.clone()).collect();
        match DeletePlan::of_diagnosed(&TableAt::new(table, now), diagnosis, &paths) {
            Ok(plan) => {
                let other = other_node(&self.plan, &plan);
                self.obstacle =
                    other.map(|name| format!("{name} was recreated: another node has that name now. {}", leaves()));
                if self.obstacle.is_none() {
                    self.replace_plan(plan, now);
                }
            }
            Err(NoPlan::NotFound(path)) => {
                let leave = if paths.len() > 1 {
                    let (leave, delete) = (FixedKey::Leave.name(), bindings.name(Command::Delete));
                    format!("{leave}, then {delete} makes a plan without it.")
                } else {
                    leaves()
                };
                self.obstacle = Some(format!("{path} is gone: there is nothing to confirm. {leave}"));
            }
            Err(why) => self.obstacle = Some(format!("{} {}", sentence(&why.to_string()), leaves())),
        }
    }

    fn replace_plan(&mut self, plan: DeletePlan, now: Timestamp) {
        let plan = plan.guarded_as(&self.plan);
        if facts_that_count(&plan) != facts_that_count(&self.plan) {
            (self.changed, self.refused) = (Some(now), None);
            self.typed = Prompt::new(PromptPurpose::Confirmation, "");
        }
        self.plan = plan;
        self.revokes &= self.can_turn();
    }

    /// Returns whether the table still has the nodes of the plan, with the same czxids, and every
    /// parent to delete is still empty. Takes logarithmic time for each node.
    fn is_still_there(&self, table: &LockTable) -> bool {
        self.plan.nodes().iter().all(|node| match node.kind {
            TargetKind::Contender => is_there(table, &node.path, node.czxid),
            TargetKind::EmptyParent => {
                let free = table.find(&node.path, None).and_then(|id| table.lock(id)).is_some_and(LockQueue::is_empty);
                free && table.parent(&node.path).is_some_and(|parent| parent.czxid == node.czxid)
            }
        })
    }
}

/// Returns whether the contender at a path exists and was created by the transaction `czxid`.
fn is_there(table: &LockTable, path: &ZnodePath, czxid: Zxid) -> bool {
    let found = table.position(path).and_then(|(lock, position)| table.lock(lock)?.row(position));
    found.is_some_and(|row| row.contender.czxid == czxid)
}

/// Returns the first path of `before` that names another node in `after`: one with another czxid.
fn other_node<'a>(before: &'a DeletePlan, after: &DeletePlan) -> Option<&'a ZnodePath> {
    let mut pairs = before.nodes().iter().zip(after.nodes());
    pairs.find(|(before, after)| before.czxid != after.czxid).map(|(before, _)| &before.path)
}

/// Returns the facts that the user's answer depends on, for each node. If they change, a typed
/// answer is discarded.
fn facts_that_count(plan: &DeletePlan) -> Vec<AnswerBasis> {
    let facts = plan.nodes().iter().map(|node| AnswerBasis {
        owner: node.liveness.id(),
        state: node.state,
        unaware: node.unaware,
        confirmation: node.confirmation.clone(),
    });
    facts.collect()
}

/// The facts about one node that the user's answer depends on.
#[derive(PartialEq, Eq)]
struct AnswerBasis {
    owner: &'static str,
    state: Option<ContenderState>,
    unaware: Option<Unaware>,
    confirmation: Confirmation,
}

/// Returns an error message as a sentence, with a capital letter and a full stop.
pub(super) fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).chain(['.']).collect()
}

impl App {
    /// Opens the plan to delete the tagged contenders, or else the selected node.
    pub(super) fn ask_to_delete(&mut self) -> Update {
        if let Some(why) = self.why_no_deletion() {
            return self.refuse(why);
        }
        let targets = self.targets();
        match DeletePlan::of_diagnosed(&self.live.table_at(self.wall), self.live.diagnosis(), &targets) {
            Ok(plan) => {
                let plan = plan.in_production(self.settings.production.as_deref());
                self.deletions.open = Some(Deletion::new(plan.clone()));
                Update::effect(Effect::FindGuards(Box::new(plan)))
            }
            Err(why) => self.refuse(sentence(&why.to_string())),
        }
    }

    /// Stores the recreation guards found for the open plan.
    pub(in crate::tui::app) fn guards_found(&mut self, found: Result<Box<DeletePlan>, String>) -> Update {
        Update { redraw: self.deletions.guards_found(found), effects: Vec::new() }
    }

    /// Returns why no deletion can start now, whatever is selected; `None` if one can.
    pub(super) fn why_no_deletion(&self) -> Option<String> {
        if !self.settings.write {
            return Some(READ_ONLY.to_owned());
        }
        if self.settings.audit_log.is_none() {
            return Some(NO_LOG.to_owned());
        }
        if self.shown.is_paused() {
            let sentence = "Paused data may be stale: {pause} resumes, then {delete}.";
            return Some(self.settings.bindings.fill(sentence));
        }
        self.deletions.why_busy().map(str::to_owned)
    }

    /// Returns the tagged contenders on Queue, or else what the list of the screen selects.
    fn targets(&self) -> Vec<ZnodePath> {
        let list = self.navigation.screen.list().filter(|_| self.tags().is_empty() || self.screen() != Screen::Queue);
        list.map_or_else(|| self.tags().paths().cloned().collect(), |list| list.deletable(self))
    }
}
