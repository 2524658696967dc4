//! The duties of an outcome.
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

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Work;
use super::done::{Done, NodeId};
use crate::ensemble::Ensemble;
use crate::program::{Deletion, DeletionOutcome, Doomed, Verdict};
use crate::rules::{Limit, Violation};

/// The seconds from the end of the first examination to the outcome, at most: the patience, and some
/// for what happens at its end.
const WORKS_FOR: u32 = 15 + 2;

/// The seconds from the intent to the end of the first examination, at most.
const EXAMINES_FOR: u32 = 30 + 2;

/// The number of tries for one node.
const TRIES: u32 = 10;

impl Work {
    /// Checks what has become of one node.
    pub(super) fn check_node(
        &mut self,
        index: usize,
        deletion: &Deletion,
        ensemble: &Ensemble,
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
        deletion: &Deletion,
        outcome: &DeletionOutcome,
        ensemble: &Ensemble,
        created: &BTreeSet<NodeId>,
    ) -> Option<String> {
        let (node, done) = (&deletion.nodes[index], &self.nodes[index]);
        let look = node.looks.last().map(|look| if look.to.is_some() { look.verdict } else { Verdict::Unknown });
        let is_uncertain = deletion.cut_off || self.sent.is_uncertain(index, false);
        let wrong = match outcome.ending {
            "changed-hands" => match outcome.other {
                Some(other) if other != node.czxid && created.contains(&(Arc::clone(&node.path), other)) => None,
                other => Some(format!("no node of transaction {other:?} was at its path")),
            },
            // A guard that the servers refuse is one that cannot be had any more.
            "changed" if look != Some(Verdict::Changed) && !self.is_refused => {
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
        if look == Some(Verdict::Changed) && outcome.ending != "changed" {
            Some("the node has changed".to_owned())
        } else if look == Some(Verdict::Unknown) && !matches!(outcome.ending, "not-done" | "not-known") {
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
    fn may_give_up(&self, done: &Done, look: Option<Verdict>) -> bool {
        let lasted = self.second.saturating_sub(done.intended_at.unwrap_or_default());
        let is_left = self.nodes.iter().any(|other| other.target != done.target && other.told_at.is_some());
        look == Some(Verdict::Unknown) || self.is_disturbed || lasted + 3 >= WORKS_FOR || is_left && look.is_none()
    }
}

impl Done {
    /// Returns what an outcome says wrongly at any time after it was told, and the limit that
    /// explains it.
    fn lasting(&self, outcome: &DeletionOutcome, ensemble: &Ensemble) -> Option<Violation> {
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
