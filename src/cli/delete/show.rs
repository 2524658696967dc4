//! A plan and its outcome, for people and for programs.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use super::super::output::write_json;
use crate::admin::{
    Action, Confirmation, DeletePlan, NodeOutcome, OwnerLiveness, PlannedNode, RecreationGuard, TargetKind,
};
use crate::queue::ContenderState;
use crate::report::SCHEMA;
use crate::znode::{ZnodePath, escaped};

/// The result of a deletion, or why it was not tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct DeletionReport {
    /// [`Ending::id`](crate::admin::Ending::id), or `changed-hands`, `gone`, `live`, `not-confirmed`, `unguarded` when it was not
    /// tried.
    pub result: &'static str,
    /// The same as a sentence.
    pub reason: String,
    /// Whether the node was deleted, or its owner asked.
    pub done: bool,
    /// Whether another owner's data were replaced, or may have been.
    pub overwritten: bool,
    /// The node whose version and time of modification changed, or may have, although it was not deleted by that.
    pub raised: Option<ZnodePath>,
    /// Why the audit log lacks this outcome.
    pub audit_error: Option<String>,
    /// Whether it could not be tried to the end.
    #[serde(skip)]
    pub failed: bool,
}

impl DeletionReport {
    pub(super) fn not_tried(result: &'static str, reason: String) -> Self {
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

/// Everything, as one JSON object.
#[derive(Serialize)]
struct Object<'a> {
    schema: u32,
    path: &'a ZnodePath,
    action: &'static str,
    dry_run: bool,
    plan: Option<PlanObject<'a>>,
    outcome: Option<&'a DeletionReport>,
    audit_log: Option<String>,
}

#[derive(Serialize)]
struct PlanObject<'a> {
    confirmation: &'static str,
    nodes: Vec<NodeObject<'a>>,
}

#[derive(Serialize)]
struct NodeObject<'a> {
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

impl<'a> NodeObject<'a> {
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
            recipe: node.recipe.map(crate::recipe::Recipe::id),
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

/// Writes everything as one line of JSON. `audit_log` is where the outcome is recorded.
pub(super) fn json(
    out: &mut impl Write,
    path: &ZnodePath,
    action: Action,
    plan: Option<&DeletePlan>,
    outcome: Option<&DeletionReport>,
    audit_log: Option<&Path>,
) -> io::Result<()> {
    let plan = plan.map(|plan| PlanObject {
        confirmation: match plan.confirmation() {
            Confirmation::Yes => "yes",
            Confirmation::SequenceNumber(_) => "sequence-number",
        },
        nodes: plan.nodes().iter().map(NodeObject::new).collect(),
    });
    let audit_log = audit_log.map(|path| path.display().to_string());
    let dry_run = outcome.is_none();
    let object = Object { schema: SCHEMA, path, action: action.id(), dry_run, plan, outcome, audit_log };
    write_json(out, &object)
}

/// Writes the plan for people.
pub(super) fn table(out: &mut impl Write, plan: &DeletePlan) -> io::Result<()> {
    for node in plan.nodes() {
        let verb = match plan.action() {
            Action::Delete => "Delete",
            Action::Revoke => "Ask the owner to release",
        };
        writeln!(out, "{verb}: {}", escaped(node.path.as_str()))?;
        let mut line = |name: &str, text: &str| writeln!(out, "  {name:<9} {}", escaped(text));
        let recipe = node.recipe.map_or("no known recipe", crate::recipe::Recipe::title);
        match &node.lock_name {
            Some(name) => line("lock", &format!("{} {name}   {recipe}", node.lock))?,
            None => line("lock", &format!("{}   {recipe}", node.lock))?,
        }
        if let Some(sequence) = node.sequence {
            line("number", &sequence.0.to_string())?;
        }
        line("state", node.state.map_or("nobody contends", ContenderState::id))?;
        let session = node.session.map_or_else(|| "none".to_owned(), |session| session.to_string());
        match &node.client {
            Some(client) => line("session", &format!("{session}   {client}"))?,
            None => line("session", &session)?,
        }
        line("czxid", &format!("{}   version {}", node.czxid, node.version))?;
        line("owner", node.liveness.id())?;
        line("evidence", &node.evidence)?;
        line("then", &node.then)?;
        for risk in &node.risks {
            line("careful", risk)?;
        }
        if let (Action::Delete, Some(guard)) = (plan.action(), node.guard) {
            line("guard", &guard.sentence())?;
        }
        if let Some(lacks) = node.lacks {
            line("missing", lacks)?;
        }
    }
    if plan.revocation().is_some() {
        writeln!(out, "  Its owner can be asked to release first, with --revoke.")?;
    }
    Ok(())
}
