//! What would be deleted, and what that means. Pure: time is an argument, and nothing here asks a server.

mod again;
mod next;
mod node;
mod parent;
mod recreation;
mod sentences;

#[cfg(test)]
mod tests;

pub(super) use again::outdated;
pub(super) use recreation::{MAX_RAISE_BYTES, MAX_RAISES, MIN_RAISES, NeededGuard};
pub use recreation::{Permitted, RecreationGuard};

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use lockscope_base::recipe::Recipe;
use lockscope_base::znode::{Sequence, SessionId, ZnodePath, Zxid};
use lockscope_model::diagnose::{Diagnosis, TableAt, Unaware};
use lockscope_model::queue::{ContenderRow, ContenderState, LockId, LockQueue, LockTable};

/// How many nodes one plan may hold: what a person can read before saying yes.
pub const MAX_TARGETS: usize = 100;

/// Whether the owner of a node is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OwnerLiveness {
    /// Its session is proven to be gone.
    Ghost,
    /// No session owns it.
    Ownerless,
    /// Its session has no connection: the servers delete the node when it expires.
    Expiring {
        /// After this time, where that is known.
        within: Option<Duration>,
    },
    /// There is evidence that the owner is gone, but no proof.
    Suspect,
    /// A server holds a connection of its session.
    Live,
    /// The servers did not say enough.
    Unknown,
}

impl OwnerLiveness {
    /// The name in JSON, in the audit log and on the screen.
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

    /// Whether the owner may be at work.
    fn may_work(self) -> bool {
        matches!(self, Self::Live | Self::Suspect | Self::Unknown)
    }
}

/// What is to be done to the nodes of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// To delete them.
    Delete,
    /// To ask their owners to release, in Curator's way: the node's data become `__REVOKE__`.
    Revoke,
}

impl Action {
    /// The name in JSON, in the audit log and on the screen.
    pub fn id(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Revoke => "revoke",
        }
    }
}

/// What a planned node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TargetKind {
    /// It stands in a lock's queue, or is the lock.
    Contender,
    /// It is a lock parent, and nobody contends below it.
    EmptyParent,
}

/// What has to be answered before a plan is carried out. The later one is the stricter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confirmation {
    /// `y` or `yes`.
    Yes,
    /// The sequence number of the node, with or without its leading zeros; where it has none, its name.
    SequenceNumber(String),
    /// On an ensemble that people depend on: the name of its context, and behind it, after a blank, the number or name that would have
    /// to be answered elsewhere, if any.
    Context {
        /// The name.
        name: String,
        /// What stands behind it.
        number: Option<String>,
    },
}

impl Confirmation {
    /// What has to be typed; `None` where a yes is enough.
    pub fn typed(&self) -> Option<String> {
        match self {
            Self::Yes => None,
            Self::SequenceNumber(number) => Some(number.clone()),
            Self::Context { name, number: None } => Some(name.clone()),
            Self::Context { name, number: Some(number) } => Some(format!("{name} {number}")),
        }
    }
}

/// Who acquires when a node is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextHolder {
    /// The name of its node.
    pub node: Arc<str>,
    /// Who owns that.
    pub session: Option<SessionId>,
}

/// One node of a plan. Names in its sentences are those of znodes: escape them before they are shown
/// ([`escaped`](lockscope_base::znode::escaped)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedNode {
    /// Its path.
    pub path: ZnodePath,
    /// What it is.
    pub kind: TargetKind,
    /// The lock's path.
    pub lock: ZnodePath,
    /// The lock's name, where one parent holds several.
    pub lock_name: Option<String>,
    /// The lock's recipe; `None` for a parent of which nothing shows what stood there.
    pub recipe: Option<Recipe>,
    /// Its sequence number; `None` when its name has none.
    pub sequence: Option<Sequence>,
    /// Who owns it.
    pub session: Option<SessionId>,
    /// The transaction that created it: only a node with this one is deleted.
    pub czxid: Zxid,
    /// How often its data had been changed when it was seen.
    pub version: i32,
    /// Whether it holds; `None` for a parent.
    pub state: Option<ContenderState>,
    /// Whether its owner is alive.
    pub liveness: OwnerLiveness,
    /// Its owner's address, where a server knows it.
    pub client: Option<String>,
    /// What its client does not know, by the evidence or by a finding that stands.
    pub unaware: Option<Unaware>,
    /// What `liveness` is known from, and the evidence that the node is orphaned.
    pub evidence: String,
    /// Who acquires when the whole plan is carried out: at most ten of them.
    pub acquires_next: Vec<NextHolder>,
    /// The same as a sentence.
    pub then: String,
    /// What may go wrong, one sentence each.
    pub risks: Vec<String>,
    /// What has to be answered for it.
    pub confirmation: Confirmation,
    /// How it can be made sure of; `None` before that was found out.
    pub guard: Option<RecreationGuard>,
    /// Which permission is missing to delete it, and where; `None` when none is known to be.
    pub lacks: Option<&'static str>,
    /// Whether its owner can be asked to release: its recipe has a way to do so, its owner may be alive and hold, and knows so.
    pub revocable: bool,
    /// Its place in the queue.
    position: usize,
}

impl PlannedNode {
    /// The node's name.
    pub fn name(&self) -> &str {
        self.path.name()
    }

    /// Whether its owner may be at work and may hold the lock: deleting it needs more than a yes.
    pub fn may_be_live_holder(&self) -> bool {
        self.confirmation != Confirmation::Yes
    }

    /// What has to be answered for it: where nothing can make sure of it, a yes is not enough either.
    fn answer(&self) -> Confirmation {
        if self.confirmation == Confirmation::Yes && self.guard == Some(RecreationGuard::Unguarded) {
            return self.typed();
        }
        self.confirmation.clone()
    }

    /// The answer that names it.
    fn typed(&self) -> Confirmation {
        Confirmation::SequenceNumber(match self.sequence {
            Some(sequence) => sequence.0.to_string(),
            None => self.name().to_owned(),
        })
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }
}

/// Why there is no plan. Each message is one sentence that says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPlan {
    /// There is nothing to delete.
    #[error("nothing is chosen: choose a contender or an empty lock parent")]
    Nothing,
    /// More nodes than a person reads.
    #[error("{0} nodes are too many for one plan: choose at most {MAX_TARGETS}")]
    TooMany(usize),
    /// There is no connection: what is known may be out of date.
    #[error("the connection is lost, and what is shown may be old: wait until it is back")]
    Stale,
    /// Nothing is known of it.
    #[error("{0} is neither a contender of a lock nor an empty lock parent, or it is gone: look again")]
    NotFound(ZnodePath),
    /// It is so new that it was not read yet.
    #[error("{0} was created just now and is not read yet: look again")]
    Unread(ZnodePath),
    /// There are contenders below it.
    #[error("{0} has contenders, and nothing is ever deleted recursively: choose them one by one")]
    NotEmpty(ZnodePath),
    /// It is not a lock parent, for the reason given.
    #[error("{0} is not a lock parent: {1}")]
    NoParent(ZnodePath, &'static str),
}

/// What would be deleted. Pure data; [`confirm`](super::confirm) lets it pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletePlan {
    action: Action,
    nodes: Vec<PlannedNode>,
    /// The context that marks the ensemble as one that people depend on.
    production: Option<Arc<str>>,
}

impl DeletePlan {
    /// The plan to delete these nodes, each once: contenders by the path of their node
    /// ([`LockQueue::path_of`](lockscope_model::queue::LockQueue::path_of)), and empty lock parents by theirs. The work grows with the number
    /// of targets, and with that of the readers who would acquire.
    pub fn of(table_at: &TableAt<'_>, targets: &[ZnodePath]) -> Result<Self, NoPlan> {
        Self::made(targets, table_at, |lock, row| table_at.unaware(lock, row))
    }

    /// The same plan in the words of the findings that stand: it says nothing else about a node than they do.
    pub fn of_diagnosed(table_at: &TableAt<'_>, diagnosis: &Diagnosis, targets: &[ZnodePath]) -> Result<Self, NoPlan> {
        Self::made(targets, table_at, |lock, row| {
            let findings = diagnosis.of(lock.id()).filter(|finding| finding.node.as_ref() == Some(&row.contender.node));
            let mut unaware = findings.filter_map(|finding| Unaware::by_finding(finding, row.state));
            // What the names prove needs no second look; what one look suspects does.
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
            Some((lock, position)) => node::planned(table_at, lock, position, &to_delete, &unaware),
            None => parent::planned(table_at, path),
        });
        Ok(Self { action: Action::Delete, nodes: planned.collect::<Result<_, _>>()?, production: None })
    }

    /// The same plan on an ensemble that people depend on, where this is the name of its context: it has to be typed.
    #[must_use]
    pub fn in_production(self, context: Option<&str>) -> Self {
        Self { production: context.map(Arc::from), ..self }
    }

    /// The context that marks the ensemble as one that people depend on.
    pub fn production(&self) -> Option<&str> {
        self.production.as_deref()
    }

    /// What is to be done.
    pub fn action(&self) -> Action {
        self.action
    }

    /// The nodes, in the order in which they were chosen.
    pub fn nodes(&self) -> &[PlannedNode] {
        &self.nodes
    }

    /// What has to be answered: the strictest of all nodes, and of the equally strict the first.
    pub fn confirmation(&self) -> Confirmation {
        let wanted = self.confirmation_of_nodes();
        match &self.production {
            Some(name) => Confirmation::Context { name: name.to_string(), number: wanted.typed() },
            None => wanted,
        }
    }

    fn confirmation_of_nodes(&self) -> Confirmation {
        if self.action == Action::Revoke {
            return Confirmation::Yes;
        }
        let mut answers = self.nodes.iter().map(PlannedNode::answer);
        answers.find(|answer| *answer != Confirmation::Yes).unwrap_or(Confirmation::Yes)
    }

    /// The plan to ask the owners to release instead; `None` unless all of the nodes are [`revocable`](PlannedNode::revocable). To
    /// be offered before the deletion.
    pub fn revocation(&self) -> Option<Self> {
        let revocable = self.action == Action::Delete && self.nodes.iter().all(|node| node.revocable);
        revocable.then(|| {
            let asked = self.nodes.iter().cloned().map(sentences::asked);
            Self { action: Action::Revoke, nodes: asked.collect(), production: self.production.clone() }
        })
    }

    /// In the order in which they are to be deleted: from a queue's end to its head, so that nobody acquires who is deleted
    /// next.
    pub(super) fn execution_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_by_key(|index| std::cmp::Reverse(self.nodes[*index].position()));
        order
    }
}

/// The first lock at a path that nobody contends for; an error when somebody contends for one of them.
fn free_lock<'a>(table: &'a LockTable, path: &ZnodePath) -> Result<Option<&'a LockQueue>, NoPlan> {
    let Some(lock) = table.find(path, None).and_then(|id| table.lock(id)) else { return Ok(None) };
    if lock.is_empty() { Ok(Some(lock)) } else { Err(NoPlan::NotEmpty(path.clone())) }
}
