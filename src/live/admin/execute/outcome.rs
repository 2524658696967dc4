//! The results for the nodes of a plan, as sentences and as JSON, and the plan as JSON.

use std::fmt;
use std::path::Path;

use serde::Serialize;

use super::super::plan::{DeletePlan, OwnerLiveness, RecreationGuard, TargetKind};
use super::super::{Action, PlannedNode};
use lockscope_base::recipe::Recipe;
use lockscope_base::znode::{ZnodePath, Zxid};
use lockscope_model::queue::ContenderState;
use lockscope_model::report::SCHEMA;

/// The result for one node of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The node is deleted.
    Deleted {
        /// Whether the name could have passed to another owner between the last look and the
        /// deletion, unnoticed because the node may not be written.
        window: bool,
    },
    /// The owner is asked to release.
    Asked,
    /// The node was gone already.
    Gone,
    /// Another node has the name now. Nothing was deleted.
    ChangedHands {
        /// The transaction that created that node.
        czxid: Zxid,
    },
    /// Another owner's node was deleted. The node, or its parent, was created again between two
    /// requests, and was written to exactly as often as the pinned one.
    DeletedOther,
    /// The confirmed facts are not true any more. Nothing was deleted.
    Changed {
        /// The difference.
        what: String,
    },
    /// The node has children. Nothing was deleted.
    NotEmpty,
    /// The server does not permit the action. Nothing was deleted or marked.
    Refused {
        /// The action.
        action: Action,
        /// The missing permission, and the node that lacks it.
        lacks: &'static str,
    },
    /// Others kept changing the node while it was being pinned. Nothing was deleted.
    Busy,
    /// The intent could not be recorded. Nothing was sent.
    NotAudited {
        /// The reason why the audit log could not be written, as a sentence.
        why: String,
    },
    /// The time was up, or the session ended, before a deletion was sent, or the server refused it
    /// for another reason than a permission. Nothing was deleted or marked.
    NotDone {
        /// The action.
        action: Action,
        /// The event, as a part of a sentence.
        why: String,
    },
    /// A deletion or a request to the owner was sent, and its outcome is unknown.
    NotKnown {
        /// The action that was sent.
        action: Action,
        /// The event, as a part of a sentence.
        why: String,
    },
}

impl Ending {
    /// Returns the name in JSON and in the audit log.
    pub fn id(&self) -> &'static str {
        match self {
            Self::Deleted { .. } => "deleted",
            Self::Asked => "asked",
            Self::Gone => "gone",
            Self::ChangedHands { .. } => "changed-hands",
            Self::DeletedOther => "deleted-other",
            Self::Changed { .. } => "changed",
            Self::NotEmpty => "not-empty",
            Self::Refused { .. } => "refused",
            Self::Busy => "busy",
            Self::NotAudited { .. } => "not-audited",
            Self::NotDone { .. } => "not-done",
            Self::NotKnown { .. } => "not-known",
        }
    }

    /// Returns whether the requested action is done.
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Deleted { .. } | Self::Asked)
    }

    /// Returns whether the action could not be completed, for example for lack of a permission, a
    /// connection or the audit log, rather than because of what the node was.
    pub fn is_failure(&self) -> bool {
        matches!(
            self,
            Self::Refused { .. }
                | Self::NotAudited { .. }
                | Self::NotDone { .. }
                | Self::NotKnown { .. }
                | Self::Busy
                | Self::DeletedOther
        )
    }
}

impl fmt::Display for Ending {
    /// Writes the rest of a sentence that begins with the node's path.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deleted { window: false } => f.write_str("is deleted"),
            Self::Deleted { window: true } => f.write_str(
                "is deleted; since we may not write to it, its name could have passed to another owner between our last look and the \
                 deletion",
            ),
            Self::Asked => f.write_str("is marked: its owner is asked to release, and does so if its application made the lock revocable"),
            Self::Gone => f.write_str("was gone already: nothing was deleted"),
            Self::ChangedHands { czxid } => {
                write!(f, "changed hands: since zxid {czxid} another node has that name; nothing was deleted")
            }
            Self::DeletedOther => f.write_str(
                "is deleted, but by then it was another owner's node: it, or its parent, was created again at that very moment; \
                 tell that owner",
            ),
            Self::Changed { what } => {
                write!(f, "changed since you confirmed: {what}; nothing was deleted, check it and confirm again")
            }
            Self::NotEmpty => f.write_str("has children: nothing was deleted, since nothing is ever deleted recursively"),
            Self::Refused { action, lacks } => {
                write!(f, "{}: this needs {lacks}; log in as somebody who has it", action.not_done())
            }
            Self::Busy => f.write_str("was changed repeatedly by others: nothing was deleted; try again"),
            Self::NotAudited { why } => write!(f, "was not touched: {why}"),
            Self::NotDone { action, why } => write!(f, "{}: {why}", action.not_done()),
            Self::NotKnown { action: Action::Delete, why } => {
                write!(f, "may or may not be deleted: {why}; look again")
            }
            Self::NotKnown { action: Action::Revoke, why } => {
                write!(f, "may or may not be marked: {why}; look again")
            }
        }
    }
}

/// The result for one node, and whether it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeOutcome {
    /// The node.
    pub path: ZnodePath,
    /// The transaction that created the node.
    pub czxid: Zxid,
    /// The result.
    pub ending: Ending,
    /// The node whose version and modification time were raised, or may have been, to guard the
    /// deletion; `None` if that node itself is gone.
    pub raised: Option<ZnodePath>,
    /// Whether the data of another owner's node, or of a recreated parent, were or may have been
    /// replaced by those of the earlier node.
    pub overwritten: bool,
    /// The reason why the outcome could not be written to the audit log, which has the intent;
    /// `None` if it was written.
    pub unaudited: Option<String>,
}

impl NodeOutcome {
    /// Creates the result for a node whose deletion left no other trace.
    pub fn new(node: &PlannedNode, ending: Ending) -> Self {
        let (path, czxid) = (node.path.clone(), node.czxid);
        Self { path, czxid, ending, raised: None, overwritten: false, unaudited: None }
    }

    /// Returns the result as one sentence. The node's path is not escaped: escape it before it is
    /// shown.
    pub fn sentence(&self) -> String {
        format!("{} {}", self.path, self.predicate())
    }

    /// Returns that sentence without the node's path.
    pub fn predicate(&self) -> String {
        let mut words = vec![self.ending.to_string()];
        if let Some(raised) = &self.raised {
            words.push(format!("the version and the modification time of {raised} changed, its data did not"));
        }
        if self.overwritten {
            let hit = "the data of another owner's node at that name, or of a parent that was created again, were or may have been \
                       overwritten with older data: tell that owner";
            words.push(hit.to_owned());
        }
        words.join("; ")
    }
}

/// The result of a deletion, or the reason why it was not tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeletionReport {
    /// [`Ending::id`](super::super::Ending::id), or `changed`, `changed-hands`, `gone`, `live`,
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
    /// [`Ending::is_failure`](super::super::Ending::is_failure).
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
