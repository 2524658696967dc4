//! The deletion of empty lock parents, as JSON and as sentences.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::{Empties, EmptyGroup, MAX_EMPTIES};
use crate::admin::{Ending, NodeOutcome};
use lockscope_base::znode::ZnodePath;
use lockscope_model::report::SCHEMA;
use lockscope_model::text::human;

/// The results for the nodes of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmptiesReport {
    /// `deleted` if any node was; `nothing`, `not-confirmed` or `production` if none was tried; and
    /// `none` if none was deleted.
    pub result: &'static str,
    /// Why nothing was tried, or why the rest was not; empty if everything was tried.
    pub why: String,
    /// The nodes that are deleted.
    pub deleted: EmptyGroup,
    /// The nodes that were planned and are not deleted, by [`Ending::id`].
    pub left: BTreeMap<&'static str, (EmptyGroup, String)>,
    /// The nodes of which it is not known whether they are deleted.
    pub not_known: EmptyGroup,
    /// The number of planned nodes that were not tried.
    pub not_tried: usize,
    /// Nodes whose data were replaced, or may have been, although another owner had the name.
    pub overwritten: EmptyGroup,
    /// Nodes that are left with a raised version.
    pub raised: EmptyGroup,
    /// The first reason why the audit log lacks a result.
    pub audit_error: Option<String>,
    /// Whether a deletion could not be completed.
    pub failed: bool,
}

impl EmptiesReport {
    /// Creates the report of a run that tried nothing.
    pub fn not_tried(result: &'static str, why: String, planned: usize) -> Self {
        Self { result, why, not_tried: planned, ..Self::default() }
    }

    /// Sums up the outcomes of a plan of that many nodes. `interrupted` tells that a person ended
    /// the run.
    pub fn of(outcomes: &[NodeOutcome], planned: usize, interrupted: bool) -> Self {
        let mut report = Self { not_tried: planned.saturating_sub(outcomes.len()), ..Self::default() };
        for outcome in outcomes {
            report.add(outcome);
        }
        report.result = if report.deleted.count > 0 { "deleted" } else { "none" };
        if report.not_tried > 0 {
            let failed = outcomes.last().filter(|last| last.ending.is_failure()).map(NodeOutcome::sentence);
            report.why = match failed {
                Some(sentence) => format!("the run ended early, since {sentence}"),
                None if interrupted => "the run was interrupted; run it again for the rest".to_owned(),
                None => "the run ended early".to_owned(),
            };
        }
        report
    }

    fn add(&mut self, outcome: &NodeOutcome) {
        let path = &outcome.path;
        match &outcome.ending {
            Ending::Deleted { .. } => self.deleted.add(path),
            Ending::NotKnown { .. } => self.not_known.add(path),
            ending => {
                self.left.entry(ending.id()).or_insert_with(|| (EmptyGroup::default(), ending.to_string())).0.add(path);
            }
        }
        if outcome.overwritten {
            self.overwritten.add(path);
        }
        if let Some(raised) = &outcome.raised {
            self.raised.add(raised);
        }
        self.audit_error = self.audit_error.take().or_else(|| outcome.unaudited.clone());
        self.failed |= outcome.ending.is_failure();
    }

    /// Returns the result as one sentence.
    pub fn sentence(&self) -> String {
        let left: usize = self.left.values().map(|(group, _)| group.count).sum();
        let counts = [
            format!("deleted {}", human::count(self.deleted.count)),
            format!("left {}", human::count(left + self.not_tried)),
            format!("not known {}", human::count(self.not_known.count)),
        ];
        if self.why.is_empty() { counts.join(", ") } else { format!("{}: {}", counts.join(", "), self.why) }
    }

    /// Returns whether the run did all that it could: what changed meanwhile is rightly left.
    pub fn is_done(&self) -> bool {
        self.deleted.count > 0 && self.not_tried == 0 && !self.failed
    }
}

/// The JSON that `lockscope delete --empty-parents` prints.
#[derive(Serialize)]
pub struct EmptiesFacts<'a> {
    schema: u32,
    below: &'a ZnodePath,
    action: &'static str,
    older_than_ms: u64,
    limit: usize,
    dry_run: bool,
    plan: Option<EmptiesPlanFacts>,
    outcome: Option<OutcomeFacts<'a>>,
    audit_log: Option<String>,
}

impl<'a> EmptiesFacts<'a> {
    /// Creates the facts. Without an audit log it is a dry run.
    pub fn new(
        below: &'a ZnodePath,
        older_than: Duration,
        empties: Option<&Empties>,
        report: Option<&'a EmptiesReport>,
        audit_log: Option<&Path>,
    ) -> Self {
        Self {
            schema: SCHEMA,
            below,
            action: "delete",
            older_than_ms: u64::try_from(older_than.as_millis()).unwrap_or(u64::MAX),
            limit: MAX_EMPTIES,
            // Without an audit log nothing can be deleted.
            dry_run: audit_log.is_none(),
            plan: empties.map(EmptiesPlanFacts::of),
            outcome: report.map(OutcomeFacts::of),
            audit_log: audit_log.map(|path| path.display().to_string()),
        }
    }
}

#[derive(Serialize)]
struct EmptiesPlanFacts {
    confirmation: &'static str,
    delete: GroupFacts,
    left: Vec<GroupFacts>,
}

impl EmptiesPlanFacts {
    fn of(empties: &Empties) -> Self {
        let left = empties.left.iter();
        Self {
            confirmation: empties.plan.confirmation().id(),
            delete: GroupFacts::of(&empties.chosen(), None),
            left: left.map(|(why, group)| GroupFacts::of(group, Some((why.id(), why.reason())))).collect(),
        }
    }
}

#[derive(Serialize)]
struct OutcomeFacts<'a> {
    result: &'static str,
    reason: String,
    done: bool,
    deleted: usize,
    left: Vec<GroupFacts>,
    not_known: GroupFacts,
    not_tried: usize,
    overwritten: GroupFacts,
    raised: GroupFacts,
    audit_error: Option<&'a str>,
}

impl<'a> OutcomeFacts<'a> {
    fn of(report: &'a EmptiesReport) -> Self {
        let left = report.left.iter().map(|(id, (group, says))| GroupFacts::of(group, Some((*id, says.as_str()))));
        Self {
            result: report.result,
            reason: report.sentence(),
            done: report.is_done(),
            deleted: report.deleted.count,
            left: left.collect(),
            not_known: GroupFacts::of(&report.not_known, None),
            not_tried: report.not_tried,
            overwritten: GroupFacts::of(&report.overwritten, None),
            raised: GroupFacts::of(&report.raised, None),
            audit_error: report.audit_error.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct GroupFacts {
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    count: usize,
    first: Vec<ZnodePath>,
}

impl GroupFacts {
    fn of(group: &EmptyGroup, why: Option<(&'static str, &str)>) -> Self {
        let (why, reason) = why.map(|(why, reason)| (why, reason.to_owned())).unzip();
        Self { why, reason, count: group.count, first: group.first.clone() }
    }
}
