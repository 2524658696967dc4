//! Deletes chosen nodes: the plan while the user reads it, and the answer.
//!
//! A plan is made from live data. It is made again every second and once more at the answer, so
//! that the user never confirms outdated facts. Only
//! [`admin::confirm`](lockscope_live::admin::confirm) turns a plan into one that can be carried
//! out. While a plan is open it handles all keys, also those that are typed.

mod acts;
pub mod outcome;

use super::{Prompt, PromptPurpose};
use crate::tui::app::Key;
use crate::tui::keymap::{Bindings, Command, FixedKey, entry_of};
use crate::tui::page::Scroll;
use lockscope_base::znode::{Timestamp, ZnodePath, Zxid};
use lockscope_live::admin::{Confirmation, DeletePlan, NoPlan, TargetKind};
use lockscope_model::diagnose::{Diagnosis, TableAt, Unaware};
use lockscope_model::queue::{ContenderState, LockQueue, LockTable};

pub use outcome::Deletions;
pub use outcome::{Tags, Working};

/// Returns the sentence that names the key to close a plan that cannot be confirmed.
fn leaves() -> String {
    format!("{} leaves.", FixedKey::Leave.name())
}

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
pub fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).chain(['.']).collect()
}

/// The meaning of a key while a plan is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AnswerKey {
    /// Confirms the plan.
    Yes,
    /// Submits the typed answer.
    Typed,
    /// Switches between deleting and asking the owner to release.
    Turn,
    /// Closes the plan without doing anything.
    Leave,
}

impl Deletion {
    fn meaning(&self, key: Key, bindings: &Bindings) -> Option<AnswerKey> {
        let found = self.answers(bindings).into_iter().find(|(keys, ..)| keys.contains(&key));
        found.map(|(_, answer, _)| answer)
    }

    fn answers(&self, bindings: &Bindings) -> Vec<(Vec<Key>, AnswerKey, &'static str)> {
        let mut answers = Vec::new();
        let open = self.is_open();
        let (yes, turn) = if self.revokes {
            ("ask its owner to release", "delete instead")
        } else {
            ("delete", "ask its owner to release instead")
        };
        if open {
            answers.push(match self.plan().confirmation() {
                // Only the lower-case letter confirms.
                Confirmation::Yes => (vec![FixedKey::Yes.key()], AnswerKey::Yes, yes),
                Confirmation::SequenceNumber(_) | Confirmation::NodeCount(_) | Confirmation::Context { .. } => {
                    (FixedKey::Enter.keys().to_vec(), AnswerKey::Typed, yes)
                }
            });
        }
        if open && self.can_turn() {
            answers.push((self.turn_keys(bindings), AnswerKey::Turn, turn));
        }
        answers.push((FixedKey::Leave.keys().to_vec(), AnswerKey::Leave, "leave"));
        answers
    }

    /// Returns the first key of each possible answer, with a description of the answer.
    pub fn keys(&self, bindings: &Bindings) -> impl Iterator<Item = (Key, &'static str)> {
        self.answers(bindings).into_iter().filter_map(|(keys, _, word)| Some((*keys.first()?, word)))
    }

    /// Returns the key that switches between deleting and asking the owner; `None` if the owner
    /// cannot be asked.
    pub fn turn_key(&self, bindings: &Bindings) -> Option<Key> {
        self.turn_keys(bindings).into_iter().next().filter(|_| self.can_turn())
    }

    /// Returns the keys that switch between deleting and asking the owner. Leaves out keys that may
    /// be part of the typed answer; if that leaves out all configured keys, falls back to the
    /// default keys.
    fn turn_keys(&self, bindings: &Bindings) -> Vec<Key> {
        let usual = entry_of(Command::AskOwner).keys;
        let untyped = |keys: &[Key]| keys.iter().copied().filter(|key| !self.may_be_typed(*key)).collect::<Vec<_>>();
        let chosen = untyped(bindings.keys_of(Command::AskOwner));
        if chosen.is_empty() { untyped(usual) } else { chosen }
    }

    /// Returns whether the key may be part of the expected answer. For a number, only digits and
    /// `-` are; for a name, every character is.
    fn may_be_typed(&self, key: Key) -> bool {
        let Key::Char(letter) = key else { return false };
        let Some(expected) = self.plan().confirmation().typed() else { return false };
        let is_number = expected.parse::<i64>().is_ok();
        !is_number || letter.is_ascii_digit() || letter == '-'
    }

    /// Edits the typed answer. Ignores characters that cannot be part of the expected one. Returns
    /// whether the text changed.
    fn type_key(&mut self, key: Key) -> bool {
        let edits = !matches!(key, Key::Char(_)) && self.plan().confirmation() != Confirmation::Yes;
        (edits || self.may_be_typed(key)) && self.is_open() && self.typed.edit(key)
    }
}
