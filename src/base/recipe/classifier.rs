//! To which lock a node belongs and as what, by its path and by what stands around it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{ChildName, LockKind, OwnRecipe, Recipe, RequestMode, ids, names};
use crate::znode::{Sequence, ZnodePath};

/// Curator's semaphore at X queues in `X/locks` and keeps its leases in `X/leases`.
const LOCKS: &str = "locks";
const LEASES: &str = "leases";

/// kazoo's semaphore at P keeps its leases in P and queues in `P-__lock__`.
const KAZOO_QUEUE: &str = "-__lock__";

/// What a node is in its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Role {
    /// It stands in the lock's queue. In a semaphore: it waits for its turn to take a lease.
    Queue,
    /// It is a lease of a semaphore.
    Lease,
    /// It is the lock.
    SingleNode,
}

/// To which lock a node belongs, and as what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classification {
    /// The lock's path: the lock parent; the semaphore's own path; the node itself for a single node.
    pub lock: ZnodePath,
    /// Which of several queues of that parent; `None` where there is one.
    pub name: Option<Box<str>>,
    /// The recipe.
    pub recipe: Recipe,
    /// What the node is in its lock.
    pub role: Role,
    /// What it asks for.
    pub mode: RequestMode,
    /// Its number in the queue; `None` for a node that the server did not number.
    pub sequence: Option<Sequence>,
}

impl Classification {
    /// The recipe that stands for all that stand in one queue with this one: see [`Recipe::family`].
    pub fn family(&self) -> Recipe {
        self.recipe.family()
    }

    /// Whether the node is a contender only when a session owns it: see [`Recipe::needs_ephemeral`].
    pub fn needs_ephemeral(&self) -> bool {
        self.recipe.needs_ephemeral()
    }
}

/// What must be known of the tree besides a node's own path to say what the node is: the nodes that the user calls
/// locks, and the *hints*, nodes that are no contenders but show what their neighbours are.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Classifier {
    named: BTreeSet<ZnodePath>,
    hints: BTreeSet<ZnodePath>,
    /// In the order in which they are asked. Not written with the rest: recordings of earlier versions have none.
    #[serde(skip)]
    own: Vec<OwnRecipe>,
}

impl Classifier {
    /// A classifier without hints, in which the given nodes are single-node locks whatever they are called.
    pub fn new(named: impl IntoIterator<Item = ZnodePath>) -> Self {
        Self { named: named.into_iter().collect(), hints: BTreeSet::new(), own: Vec::new() }
    }

    /// The same with recipes of the user's own, which come before the others.
    #[must_use]
    pub fn with_recipes(self, own: &[OwnRecipe]) -> Self {
        Self { own: own.to_vec(), ..self }
    }

    /// The recipes of the user's own.
    pub fn own_recipes(&self) -> &[OwnRecipe] {
        &self.own
    }

    /// Whether the mere presence of this node shows what its neighbours are: a `leases` makes a semaphore of
    /// Curator's out of its parent, a `P-__lock__` one of kazoo's out of P.
    pub fn is_hint(path: &ZnodePath) -> bool {
        path.name() == LEASES || kazoo_semaphore(path.as_str()).is_some()
    }

    /// A hint exists. Returns whether that is news; then the nodes below [`Self::regrouped_by`] have other places than
    /// before. Other nodes are not kept.
    pub fn note(&mut self, path: &ZnodePath) -> bool {
        Self::is_hint(path) && self.hints.insert(path.clone())
    }

    /// A node is gone. Returns whether it was a hint that had been noted.
    pub fn forget(&mut self, path: &ZnodePath) -> bool {
        self.hints.remove(path)
    }

    /// The hints that exist, in the order of their paths.
    pub fn hints(&self) -> impl Iterator<Item = &ZnodePath> {
        self.hints.iter()
    }

    /// The parents whose children's places depend on whether this hint exists; empty for a node that is no hint.
    pub fn regrouped_by(hint: &ZnodePath) -> Vec<ZnodePath> {
        if let Some(semaphore) = kazoo_semaphore(hint.as_str()).and_then(|path| ZnodePath::new(path).ok()) {
            return vec![semaphore, hint.clone()];
        }
        match hint.parent() {
            Some(semaphore) if hint.name() == LEASES => vec![semaphore.child(LOCKS), hint.clone()],
            _ => Vec::new(),
        }
    }

    /// The semaphore that a hint makes of its neighbours; `None` for a node that is no hint.
    pub fn lock_of(hint: &ZnodePath) -> Option<ZnodePath> {
        match kazoo_semaphore(hint.as_str()) {
            Some(semaphore) => ZnodePath::new(semaphore).ok(),
            None if hint.name() == LEASES => hint.parent(),
            None => None,
        }
    }

    /// The hints that would make a semaphore of this node: Curator's and kazoo's.
    pub fn hints_of(semaphore: &ZnodePath) -> [ZnodePath; 2] {
        let kazoo = ZnodePath::new(&format!("{semaphore}{KAZOO_QUEUE}"));
        let curator = semaphore.child(LEASES);
        [kazoo.unwrap_or_else(|_| curator.clone()), curator]
    }

    /// The hints that would make this parent the queue of a semaphore.
    pub fn hints_beside(queue: &ZnodePath) -> Vec<ZnodePath> {
        match queue.parent() {
            Some(semaphore) if queue.name() == LOCKS => vec![semaphore.child(LEASES)],
            _ if Self::is_hint(queue) => vec![queue.clone()],
            _ => Vec::new(),
        }
    }

    /// Whether the user called this node a single-node lock.
    pub fn is_named(&self, path: &ZnodePath) -> bool {
        self.named.contains(path)
    }

    /// Where the node stands; `None` when it can be no contender and need not be read.
    ///
    /// A path does not show whether a node is ephemeral. Of those places that [need it](Classification::needs_ephemeral) only
    /// ephemeral nodes are contenders: the caller checks that when it has read the node.
    pub fn classify(&self, path: &ZnodePath) -> Option<Classification> {
        let (parent, name) = (path.parent_str()?, path.name());
        if self.is_named(path) {
            return Some(single_node(path, names::read(name).map(|name| name.recipe)));
        }
        if is_servers_own(path) {
            return None;
        }
        if self.is_kazoo_lease(parent, name) {
            let lock = path.parent()?;
            return Some(in_semaphore(lock, Recipe::KazooSemaphore, Role::Lease, None));
        }
        if let Some((own, child)) = self.own_at(path) {
            return if own.definition().lock { of_own(path, own, &child) } else { None };
        }
        let child = names::read(name)?;
        if child.recipe == Recipe::UnknownQueue && counts_only(parent) {
            return None;
        }
        if child.sequence.is_none() {
            return Some(single_node(path, Some(child.recipe)));
        }
        self.numbered_in_semaphore(path, &child).or_else(|| in_queue(path, &child))
    }

    /// The first recipe of the user's own that reads the name of this node, and what it says.
    pub fn own_at<'n>(&self, path: &'n ZnodePath) -> Option<(OwnRecipe, ChildName<'n>)> {
        self.own.iter().filter(|own| own.holds_at(path)).find_map(|own| Some((*own, own.read(path.name())?)))
    }

    /// The place of a numbered node in a semaphore, when its parent belongs to one.
    fn numbered_in_semaphore(&self, path: &ZnodePath, child: &ChildName<'_>) -> Option<Classification> {
        let parent = path.parent()?;
        let (lock, role) = match (child.recipe, parent.name()) {
            (Recipe::CuratorSemaphore, LEASES) => (parent.parent()?, Role::Lease),
            (Recipe::CuratorMutex, LOCKS) => {
                let semaphore = parent.parent()?;
                if !self.hints.contains(&semaphore.child(LEASES)) {
                    return None;
                }
                (semaphore, Role::Queue)
            }
            (Recipe::KazooLock, _) => (ZnodePath::new(kazoo_semaphore(parent.as_str())?).ok()?, Role::Queue),
            _ => return None,
        };
        let recipe = if child.recipe == Recipe::KazooLock { Recipe::KazooSemaphore } else { Recipe::CuratorSemaphore };
        Some(in_semaphore(lock, recipe, role, child.sequence))
    }

    /// Whether the node is a lease of kazoo's: 32 hex digits in a parent that has a semaphore's queue beside it.
    fn is_kazoo_lease(&self, parent: &str, name: &str) -> bool {
        !self.hints.is_empty() && ids::is_hex32(name) && self.hints.contains(&*format!("{parent}{KAZOO_QUEUE}"))
    }
}

/// The path of the semaphore of kazoo's whose queue stands at `path`, when it is called so.
fn kazoo_semaphore(path: &str) -> Option<&str> {
    path.strip_suffix(KAZOO_QUEUE).filter(|semaphore| !semaphore.ends_with('/'))
}

/// Whether the node is the server's own (`config`, `quota`).
fn is_servers_own(path: &ZnodePath) -> bool {
    path.as_str().strip_prefix("/zookeeper").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether the parent's children are numbered for the sake of the numbers, not to queue: below ClickHouse's
/// `block_numbers`, in Kafka's `seqid`. Nodes there that bear the name of a known recipe are contenders all the same.
fn counts_only(parent: &str) -> bool {
    parent.ends_with("/seqid") || parent.split('/').any(|name| name == "block_numbers")
}

fn in_semaphore(lock: ZnodePath, recipe: Recipe, role: Role, sequence: Option<Sequence>) -> Classification {
    Classification { lock, name: None, recipe, role, mode: RequestMode::Lease, sequence }
}

fn single_node(path: &ZnodePath, by_name: Option<Recipe>) -> Classification {
    let recipe = match by_name {
        Some(own @ (Recipe::HadoopElector | Recipe::Own(_))) => own,
        _ if path.as_str() == "/controller" => Recipe::KafkaController,
        _ => Recipe::SingleNode,
    };
    Classification {
        lock: path.clone(),
        name: None,
        recipe,
        role: Role::SingleNode,
        mode: RequestMode::Exclusive,
        sequence: None,
    }
}

fn of_own(path: &ZnodePath, own: OwnRecipe, child: &ChildName<'_>) -> Option<Classification> {
    let role = match own.definition().kind {
        LockKind::SingleNode => return Some(single_node(path, Some(child.recipe))),
        LockKind::Semaphore if own.is_waiter(path.name()) => Role::Queue,
        LockKind::Semaphore => Role::Lease,
        LockKind::Exclusive | LockKind::ReadWrite | LockKind::Latch => return in_queue(path, child),
    };
    Some(in_semaphore(path.parent()?, child.recipe, role, child.sequence))
}

fn in_queue(path: &ZnodePath, child: &ChildName<'_>) -> Option<Classification> {
    // A lease outside `leases` is not Curator's semaphore; what it is, nobody knows.
    let (recipe, mode) = match child.recipe {
        Recipe::CuratorSemaphore => (Recipe::UnknownQueue, RequestMode::Exclusive),
        recipe => (recipe, child.mode),
    };
    Some(Classification {
        lock: path.parent()?,
        name: child.lock_name.map(Into::into),
        recipe,
        role: Role::Queue,
        mode,
        sequence: child.sequence,
    })
}
