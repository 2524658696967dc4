//! A plan and its outcome as JSON.

use std::path::Path;

use serde::Serialize;

use super::execute::NodeOutcome;
use super::plan::{Action, DeletePlan, OwnerLiveness, PlannedNode, RecreationGuard, TargetKind};
use lockscope_base::recipe::Recipe;
use lockscope_base::znode::ZnodePath;
use lockscope_model::queue::ContenderState;
use lockscope_model::report::SCHEMA;

/// The result of a deletion, or the reason why it was not tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeletionReport {
    /// [`Ending::id`](super::Ending::id), or `changed`, `changed-hands`, `gone`, `live`,
    /// `not-confirmed`, `refused`, `unguarded` if the deletion was not tried.
    pub result: &'static str,
    /// The result as a sentence.
    pub reason: String,
    /// Whether the node was deleted or its owner asked.
    pub done: bool,
    /// Whether another owner's data were replaced, or may have been.
    pub overwritten: bool,
    /// The node whose version and modification time changed, or may have, although the action did
    /// not delete it.
    pub raised: Option<ZnodePath>,
    /// The reason why the audit log lacks this result.
    pub audit_error: Option<String>,
    /// Whether the action could not be completed: see
    /// [`Ending::is_failure`](super::Ending::is_failure).
    #[serde(skip)]
    pub failed: bool,
}

impl DeletionReport {
    /// Creates the report of a deletion that was not tried.
    pub fn not_tried(result: &'static str, reason: String) -> Self {
        Self { result, reason, done: false, overwritten: false, raised: None, audit_error: None, failed: false }
    }
}

impl From<&NodeOutcome> for DeletionReport {
    fn from(outcome: &NodeOutcome) -> Self {
        Self {
            result: outcome.ending.id(),
            reason: outcome.sentence(),
            done: outcome.ending.is_done(),
            overwritten: outcome.overwritten,
            raised: outcome.raised.clone(),
            audit_error: outcome.unaudited.clone(),
            failed: outcome.ending.is_failure(),
        }
    }
}

/// The JSON that `lockscope delete` prints: the plan, if there is one, and the result, if the
/// deletion was tried.
#[derive(Serialize)]
pub struct DeletionFacts<'a> {
    schema: u32,
    path: &'a ZnodePath,
    action: &'static str,
    dry_run: bool,
    plan: Option<PlanFacts<'a>>,
    outcome: Option<&'a DeletionReport>,
    audit_log: Option<String>,
}

impl<'a> DeletionFacts<'a> {
    /// Creates the facts. Without an outcome it was a dry run. `audit_log` is the path of the log
    /// that has the outcome.
    pub fn new(
        path: &'a ZnodePath,
        action: Action,
        plan: Option<&'a DeletePlan>,
        outcome: Option<&'a DeletionReport>,
        audit_log: Option<&Path>,
    ) -> Self {
        let plan = plan.map(|plan| PlanFacts {
            confirmation: plan.confirmation().id(),
            nodes: plan.nodes().iter().map(NodeFacts::new).collect(),
        });
        Self {
            schema: SCHEMA,
            path,
            action: action.id(),
            dry_run: outcome.is_none(),
            plan,
            outcome,
            audit_log: audit_log.map(|path| path.display().to_string()),
        }
    }
}

#[derive(Serialize)]
struct PlanFacts<'a> {
    confirmation: &'static str,
    nodes: Vec<NodeFacts<'a>>,
}

#[derive(Serialize)]
struct NodeFacts<'a> {
    node: &'a str,
    path: &'a ZnodePath,
    what: &'static str,
    lock: &'a ZnodePath,
    name: Option<&'a str>,
    recipe: Option<&'static str>,
    sequence: Option<i32>,
    state: Option<&'static str>,
    session: Option<String>,
    client: Option<&'a str>,
    czxid: i64,
    version: i32,
    liveness: &'static str,
    expires_in_ms: Option<u64>,
    evidence: &'a str,
    acquires_next: Vec<&'a str>,
    then: &'a str,
    risks: &'a [String],
    guard: Option<&'static str>,
    guard_effect: Option<String>,
    lacks: Option<&'static str>,
    revocable: bool,
}

impl<'a> NodeFacts<'a> {
    fn new(node: &'a PlannedNode) -> Self {
        let expires_in = if let OwnerLiveness::Expiring { within } = node.liveness { within } else { None };
        Self {
            node: node.name(),
            path: &node.path,
            what: match node.kind {
                TargetKind::Contender => "contender",
                TargetKind::EmptyParent => "empty-parent",
            },
            lock: &node.lock,
            name: node.lock_name.as_deref(),
            recipe: node.recipe.map(Recipe::id),
            sequence: node.sequence.map(|sequence| sequence.0),
            state: node.state.map(ContenderState::id),
            session: node.session.map(|session| session.to_string()),
            client: node.client.as_deref(),
            czxid: node.czxid.0,
            version: node.version,
            liveness: node.liveness.id(),
            expires_in_ms: expires_in.map(|within| u64::try_from(within.as_millis()).unwrap_or(u64::MAX)),
            evidence: &node.evidence,
            acquires_next: node.acquires_next.iter().map(|next| &*next.node).collect(),
            then: &node.then,
            risks: &node.risks,
            guard: node.guard.map(RecreationGuard::id),
            guard_effect: node.guard.map(RecreationGuard::sentence),
            lacks: node.lacks,
            revocable: node.revocable,
        }
    }
}
