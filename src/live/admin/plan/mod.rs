//! The plan of a deletion: what would be deleted, and the consequences. Pure: time is an argument,
//! and nothing here sends a request.
//!
//! `nodes` makes the planned nodes, `recreation` the guards against a new node of the same name.
//! Right before the execution, [`outdated`] tells whether the confirmed facts are still true.

mod nodes;
mod recreation;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use lockscope_base::recipe::Recipe;
use lockscope_base::znode::{Sequence, SessionId, ZnodePath, Zxid};
use lockscope_model::diagnose::{Diagnosis, TableAt, Unaware};
use lockscope_model::queue::{ContenderRow, ContenderState, LockId, LockQueue, LockTable};

pub use nodes::Emptiness;
pub use recreation::{MAX_RAISE_BYTES, MAX_RAISES, MIN_RAISES, NeededGuard};
pub use recreation::{Permitted, RecreationGuard};

#[cfg(test)]
mod tests;

/// The maximum number of nodes in a plan: as many as a person can read before saying yes.
pub const MAX_TARGETS: usize = 1000;

/// The most nodes of a plan that a mere yes confirms.
const MAX_BY_YES: usize = 20;

/// The state of a node's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OwnerLiveness {
    /// The owner's session is proven to be gone.
    Ghost,
    /// No session owns the node.
    Ownerless,
    /// The owner's session has no connection: the servers delete the node when the session expires.
    Expiring {
        /// The time until then, if known.
        within: Option<Duration>,
    },
    /// There is evidence that the owner is gone, but no proof.
    Suspect,
    /// A server holds a connection of the owner's session.
    Live,
    /// The servers did not report enough.
    Unknown,
}

impl OwnerLiveness {
    /// Returns the name in JSON, in the audit log and on the screen.
    pub fn id(self) -> &'static str {
        match self {
            Self::Ghost => "ghost",
            Self::Ownerless => "ownerless",
            Self::Expiring { .. } => "expiring",
            Self::Suspect => "suspect",
            Self::Live => "live",
            Self::Unknown => "unknown",
        }
    }

    /// Returns whether the owner may be at work.
    fn may_work(self) -> bool {
        matches!(self, Self::Live | Self::Suspect | Self::Unknown)
    }
}

/// The action on the nodes of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Deletes the nodes.
    Delete,
    /// Asks the owners to release, in Curator's way: the node's data become `__REVOKE__`.
    Revoke,
}

impl Action {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Delete, Self::Revoke];

    /// Returns the rest of a sentence about a node on which it was not carried out.
    pub fn not_done(self) -> &'static str {
        match self {
            Self::Delete => "was not deleted",
            Self::Revoke => "was not marked",
        }
    }

    /// Returns the name in JSON, in the audit log and on the screen.
    pub fn id(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Revoke => "revoke",
        }
    }
}

/// The kind of a planned node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TargetKind {
    /// The node is in a lock's queue, or is the lock.
    Contender,
    /// The node is a lock parent without contenders.
    EmptyParent,
}

/// The answer that a plan requires before it is executed. A later variant is stricter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confirmation {
    /// `y` or `yes`.
    Yes,
    /// The sequence number of the node, with or without its leading zeros. If it has none, its
    /// name.
    SequenceNumber(String),
    /// The number of nodes, for a plan with more than a person reads.
    NodeCount(usize),
    /// On an ensemble that people depend on: the name of its context. After a space follows the
    /// number or name that would be required elsewhere, if any.
    Context {
        /// The name of the context.
        name: String,
        /// The number or name after it.
        number: Option<String>,
    },
}

impl Confirmation {
    /// Returns the name in JSON.
    pub fn id(&self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::SequenceNumber(_) => "sequence-number",
            Self::NodeCount(_) => "node-count",
            Self::Context { .. } => "context-name",
        }
    }

    /// Returns the text to type; `None` if a yes is enough.
    pub fn typed(&self) -> Option<String> {
        match self {
            Self::Yes => None,
            Self::SequenceNumber(number) => Some(number.clone()),
            Self::NodeCount(count) => Some(count.to_string()),
            Self::Context { name, number: None } => Some(name.clone()),
            Self::Context { name, number: Some(number) } => Some(format!("{name} {number}")),
        }
    }
}

/// The contender that acquires when a node is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextHolder {
    /// The name of the contender's node.
    pub node: Arc<str>,
    /// The session that owns the node.
    pub session: Option<SessionId>,
}

/// A node of a plan. Names of znodes in its sentences are not escaped: escape them before they are
/// shown ([`escaped`](lockscope_base::znode::escaped)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedNode {
    /// The node's path.
    pub path: ZnodePath,
    /// The kind of the node.
    pub kind: TargetKind,
    /// The lock's path.
    pub lock: ZnodePath,
    /// The lock's name, where one parent holds several.
    pub lock_name: Option<String>,
    /// The lock's recipe; `None` for a parent whose earlier contenders are unknown.
    pub recipe: Option<Recipe>,
    /// The node's sequence number; `None` if its name has none.
    pub sequence: Option<Sequence>,
    /// The session that owns the node.
    pub session: Option<SessionId>,
    /// The transaction that created the node. Only a node with this czxid is deleted.
    pub czxid: Zxid,
    /// The version of the node's data when it was seen.
    pub version: i32,
    /// The node's state in the queue; `None` for a parent.
    pub state: Option<ContenderState>,
    /// The state of the node's owner.
    pub liveness: OwnerLiveness,
    /// The owner's address, if a server knows it.
    pub client: Option<String>,
    /// What the node's client does not know, according to the evidence or to a standing finding.
    pub unaware: Option<Unaware>,
    /// The evidence for `liveness`, and evidence that the node is orphaned.
    pub evidence: String,
    /// The contenders that acquire when the whole plan is executed, at most ten.
    pub acquires_next: Vec<NextHolder>,
    /// The next holders, and the other nodes of the session, as a sentence.
    pub then: String,
    /// The risks, one sentence each.
    pub risks: Vec<String>,
    /// The answer that this node requires.
    pub confirmation: Confirmation,
    /// The guard against a new node of the same name; `None` before it was found out.
    pub guard: Option<RecreationGuard>,
    /// The missing permission to delete the node, and where; `None` if none is known to be missing.
    pub lacks: Option<&'static str>,
    /// Whether the owner can be asked to release: the recipe supports it, and the owner may be
    /// alive, may hold, and knows so.
    pub revocable: bool,
    /// The node's position in the queue; 0 for a parent.
    pub position: usize,
    /// How empty the node is; `None` unless one read of the node told it.
    pub emptiness: Option<Emptiness>,
}

impl PlannedNode {
    /// Returns the node's name.
    pub fn name(&self) -> &str {
        self.path.name()
    }

    /// Returns whether the owner may be at work and may hold the lock, so that the deletion needs
    /// more than a yes.
    pub fn may_be_live_holder(&self) -> bool {
        self.confirmation != Confirmation::Yes
    }

    /// Returns the answer that this node requires. Without a guard a yes is not enough either.
    fn answer(&self) -> Confirmation {
        if self.confirmation == Confirmation::Yes && self.guard == Some(RecreationGuard::Unguarded) {
            return self.typed();
        }
        self.confirmation.clone()
    }

    /// Returns the answer that names the node.
    fn typed(&self) -> Confirmation {
        Confirmation::SequenceNumber(match self.sequence {
            Some(sequence) => sequence.0.to_string(),
            None => self.name().to_owned(),
        })
    }
}

/// The context of an ensemble that people depend on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProductionMark {
    /// The name of the context.
    pub context: String,
    /// Why it is not certain that this is its ensemble: a clause.
    pub doubt: Option<String>,
}

impl ProductionMark {
    /// Marks an ensemble as that of a context, without doubt.
    pub fn certain(context: &str) -> Self {
        Self { context: context.to_owned(), doubt: None }
    }

    /// Says whose ensemble this is, as a sentence without a full stop.
    pub fn sentence(&self) -> String {
        let context = &self.context;
        match &self.doubt {
            None => format!("people depend on this ensemble, which the context {context} names"),
            Some(why) => {
                format!(
                    "people may depend on this ensemble: it cannot be told from that of the context {context}: {why}"
                )
            }
        }
    }
}

/// The reason why there is no plan. Each message is one sentence that says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPlan {
    /// No target was given.
    #[error("nothing is chosen: choose a contender or an empty lock parent")]
    Nothing,
    /// There are more targets than a person reads.
    #[error("{0} nodes are too many for one plan: choose at most {MAX_TARGETS}")]
    TooMany(usize),
    /// There is no connection, so the known state may be out of date.
    #[error("the connection is lost, and what is shown may be old: wait until it is back")]
    Stale,
    /// The target is unknown.
    #[error("{0} is neither a contender of a lock nor an empty lock parent, or it is gone: look again")]
    NotFound(ZnodePath),
    /// The target is so new that it has not been read yet.
    #[error("{0} was created just now and is not read yet: look again")]
    Unread(ZnodePath),
    /// The target has contenders below it.
    #[error("{0} has contenders, and nothing is ever deleted recursively: choose them one by one")]
    NotEmpty(ZnodePath),
    /// The target is not a lock parent, for the given reason.
    #[error("{0} is not a lock parent: {1}")]
    NoParent(ZnodePath, &'static str),
}

/// The plan of a deletion. Pure data; [`confirm`](super::confirm) turns it into a confirmed one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletePlan {
    action: Action,
    nodes: Vec<PlannedNode>,
    /// The context, if people depend on the ensemble, or may.
    production: Option<Arc<ProductionMark>>,
    /// Whether the number of nodes confirms the plan.
    by_count: bool,
}

impl DeletePlan {
    /// Creates the plan to delete these nodes, each once. Contenders are given by the path of their
    /// node ([`LockQueue::path_of`](lockscope_model::queue::LockQueue::path_of)), and empty lock
    /// parents by theirs. The cost grows with the number of targets, and with the number of readers
    /// that would acquire.
    pub fn of(table_at: &TableAt<'_>, targets: &[ZnodePath]) -> Result<Self, NoPlan> {
        Self::made(targets, table_at, |lock, row| table_at.unaware(lock, row))
    }

    /// Creates the same plan from the standing findings: it says nothing about a node that they do
    /// not say.
    pub fn of_diagnosed(table_at: &TableAt<'_>, diagnosis: &Diagnosis, targets: &[ZnodePath]) -> Result<Self, NoPlan> {
        Self::made(targets, table_at, |lock, row| {
            let findings = diagnosis.of(lock.id()).filter(|finding| finding.node.as_ref() == Some(&row.contender.node));
            let mut unaware = findings.filter_map(|finding| Unaware::by_finding(finding, row.state));
            // A fact that the names prove needs no finding. A fact that one look suspects does.
            unaware.next().or_else(|| table_at.unaware(lock, row).filter(|unaware| *unaware == Unaware::OfNode))
        })
    }

    fn made<'a>(
        targets: &[ZnodePath],
        table_at: &TableAt<'a>,
        unaware: impl Fn(&LockQueue, &ContenderRow<'a>) -> Option<Unaware>,
    ) -> Result<Self, NoPlan> {
        let mut seen = HashSet::new();
        let targets: Vec<&ZnodePath> = targets.iter().filter(|path| seen.insert(*path)).collect();
        match targets.len() {
            0 => return Err(NoPlan::Nothing),
            1..=MAX_TARGETS => {}
            many => return Err(NoPlan::TooMany(many)),
        }
        if !table_at.table().is_live() {
            return Err(NoPlan::Stale);
        }
        let to_delete: HashSet<(LockId, usize)> =
            targets.iter().filter_map(|path| table_at.table().position(path)).collect();
        let planned = targets.into_iter().map(|path| match table_at.table().position(path) {
            Some((lock, position)) => nodes::planned_contender(table_at, lock, position, &to_delete, &unaware),
            None => nodes::planned_parent(table_at, path),
        });
        Ok(Self {
            action: Action::Delete,
            nodes: planned.collect::<Result<_, _>>()?,
            production: None,
            by_count: false,
        })
    }

    /// Marks the ensemble as one that people depend on. The name of its context must then be typed.
    #[must_use]
    pub fn in_production(self, mark: Option<ProductionMark>) -> Self {
        Self { production: mark.map(Arc::from), ..self }
    }

    /// Returns the context, if people depend on the ensemble, or may.
    pub fn production(&self) -> Option<&ProductionMark> {
        self.production.as_deref()
    }

    /// Returns the action.
    pub fn action(&self) -> Action {
        self.action
    }

    /// Returns the nodes, in the order in which they were chosen.
    pub fn nodes(&self) -> &[PlannedNode] {
        &self.nodes
    }

    /// Returns the answer that the plan requires: the strictest of all nodes, and the first of
    /// equally strict ones.
    pub fn confirmation(&self) -> Confirmation {
        let wanted = self.confirmation_of_nodes();
        match &self.production {
            Some(mark) => Confirmation::Context { name: mark.context.clone(), number: wanted.typed() },
            None => wanted,
        }
    }

    fn confirmation_of_nodes(&self) -> Confirmation {
        if self.action == Action::Revoke {
            return Confirmation::Yes;
        }
        if self.by_count {
            return Confirmation::NodeCount(self.nodes.len());
        }
        let mut answers = self.nodes.iter().map(PlannedNode::answer);
        match answers.find(|answer| *answer != Confirmation::Yes) {
            Some(answer) => answer,
            // Nobody reads so many lines: their number shows that the summary was read.
            None if self.nodes.len() > MAX_BY_YES => Confirmation::NodeCount(self.nodes.len()),
            None => Confirmation::Yes,
        }
    }

    /// Returns the plan to ask the owners to release instead, or `None` unless all nodes are
    /// [`revocable`](PlannedNode::revocable). Callers offer this plan before the deletion.
    pub fn revocation(&self) -> Option<Self> {
        let revocable = self.action == Action::Delete && self.nodes.iter().all(|node| node.revocable);
        revocable.then(|| {
            let asked = self.nodes.iter().cloned().map(nodes::asked);
            Self {
                action: Action::Revoke,
                nodes: asked.collect(),
                production: self.production.clone(),
                by_count: false,
            }
        })
    }

    /// Returns the order of the deletions: from a queue's end to its head, so that no node acquires
    /// that is deleted next.
    pub(super) fn execution_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_by_key(|index| std::cmp::Reverse(self.nodes[*index].position));
        order
    }
}

/// Returns the first lock at a path if nobody contends for it. Fails if it has contenders.
fn free_lock<'a>(table: &'a LockTable, path: &ZnodePath) -> Result<Option<&'a LockQueue>, NoPlan> {
    let Some(lock) = table.find(path, None).and_then(|id| table.lock(id)) else { return Ok(None) };
    if lock.is_empty() { Ok(Some(lock)) } else { Err(NoPlan::NotEmpty(path.clone())) }
}

/// Returns why the confirmation of `before` does not cover the node as it is `now`, as the rest of
/// a sentence; `None` if it does.
///
/// A less risky state needs no new answer: a holder that waits again, or an owner that is known
/// less.
pub fn outdated(action: Action, before: &PlannedNode, now: &PlannedNode) -> Option<String> {
    if action == Action::Revoke {
        return (!now.revocable).then(|| {
            "its owner cannot be asked: it does not hold, it is gone, or it does not know of this node".to_owned()
        });
    }
    if let (Some(was), Some(is)) = (before.emptiness, now.emptiness)
        && was != is
    {
        return Some("it was used meanwhile".to_owned());
    }
    if before.state == Some(ContenderState::Waits) && now.state != Some(ContenderState::Waits) {
        return Some(format!("it acquired, and its owner is {}", now.liveness.id()));
    }
    let was_gone =
        matches!(before.liveness, OwnerLiveness::Ghost | OwnerLiveness::Expiring { .. } | OwnerLiveness::Suspect);
    if was_gone && now.liveness == OwnerLiveness::Live {
        return Some(format!("its owner was {} and is live again", before.liveness.id()));
    }
    if before.confirmation == Confirmation::Yes && now.confirmation != Confirmation::Yes {
        return Some(format!("its owner was {} and is {}", before.liveness.id(), now.liveness.id()));
    }
    None
}
