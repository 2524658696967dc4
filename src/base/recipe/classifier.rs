//! Assigns nodes to locks, by their paths and their neighbours.
//!
//! A path also shows which parents are likely those of an election ([`is_named_election`]), and
//! which locks a setting concerns ([`PathPattern`]).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{ChildName, LockKind, OwnRecipe, Recipe, RequestMode, names, terms};
use crate::znode::{BadPath, Sequence, ZnodePath, ZnodeStat};

/// Curator's semaphore at X queues in `X/locks` and keeps its leases in `X/leases`.
const LOCKS: &str = "locks";

const LEASES: &str = "leases";

/// kazoo's semaphore at P keeps its leases in P and queues in `P-__lock__`.
const KAZOO_QUEUE: &str = "-__lock__";

/// The role of a node in its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Role {
    /// The node is in the lock's queue. In a semaphore, it waits for its turn to take a lease.
    Queue,
    /// The node is a lease of a semaphore.
    Lease,
    /// The node is the lock.
    SingleNode,
}

/// The lock to which a node belongs, and the node's role there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classification {
    /// The lock's path: the lock parent; the semaphore's own path; the node itself for a single
    /// node.
    pub lock: ZnodePath,
    /// The name of the queue, if the parent has several.
    pub name: Option<Box<str>>,
    /// The recipe that made the node.
    pub recipe: Recipe,
    /// The role of the node in its lock.
    pub role: Role,
    /// The mode of the node's request.
    pub mode: RequestMode,
    /// The node's number in the queue; `None` for a node that the server did not number.
    pub sequence: Option<Sequence>,
}

impl Classification {
    /// Returns the recipe that represents all recipes in the same queue: see [`Recipe::family`].
    pub fn family(&self) -> Recipe {
        self.recipe.family()
    }

    /// Returns whether only an ephemeral node is a contender: see [`Recipe::needs_ephemeral`].
    pub fn needs_ephemeral(&self) -> bool {
        self.recipe.needs_ephemeral()
    }
}

/// The facts besides a node's own path that decide on its role: the nodes that the user named as
/// locks, and the *hints*, nodes that are no contenders but show what their neighbours are.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Classifier {
    named: BTreeSet<ZnodePath>,
    hints: BTreeSet<ZnodePath>,
    /// The user's own recipes, in the order in which they are tried. Not serialized: recordings of
    /// earlier versions have none.
    #[serde(skip)]
    own: Vec<OwnRecipe>,
}

impl Classifier {
    /// Returns whether the same nodes are named as locks.
    pub fn names_as(&self, other: &Self) -> bool {
        self.named == other.named
    }

    /// Creates a classifier without hints. The given nodes are single-node locks, whatever their
    /// names.
    pub fn new(named: impl IntoIterator<Item = ZnodePath>) -> Self {
        Self { named: named.into_iter().collect(), hints: BTreeSet::new(), own: Vec::new() }
    }

    /// Sets the user's own recipes, which take precedence over the others.
    #[must_use]
    pub fn with_recipes(self, own: &[OwnRecipe]) -> Self {
        Self { own: own.to_vec(), ..self }
    }

    /// Returns the user's own recipes.
    pub fn own_recipes(&self) -> &[OwnRecipe] {
        &self.own
    }

    /// Returns whether this node's presence shows what its neighbours are. A `leases` node makes
    /// its parent a Curator semaphore; a `P-__lock__` node makes P a kazoo semaphore.
    pub fn is_hint(path: &ZnodePath) -> bool {
        path.name() == LEASES || kazoo_semaphore(path.as_str()).is_some()
    }

    /// Records a hint; ignores other nodes. Returns whether the hint is new. If so, the nodes below
    /// [`Self::regrouped_by`] must be classified again.
    pub fn add_hint(&mut self, path: &ZnodePath) -> bool {
        Self::is_hint(path) && self.hints.insert(path.clone())
    }

    /// Removes a node that is gone. Returns whether it was a known hint.
    pub fn forget(&mut self, path: &ZnodePath) -> bool {
        self.hints.remove(path)
    }

    /// Returns the known hints, in the order of their paths.
    pub fn hints(&self) -> impl Iterator<Item = &ZnodePath> {
        self.hints.iter()
    }

    /// Returns the parents whose children this hint regroups; empty for a node that is no hint.
    pub fn regrouped_by(hint: &ZnodePath) -> Vec<ZnodePath> {
        if let Some(semaphore) = kazoo_semaphore(hint.as_str()).and_then(|path| ZnodePath::new(path).ok()) {
            return vec![semaphore, hint.clone()];
        }
        match hint.parent() {
            Some(semaphore) if hint.name() == LEASES => vec![semaphore.child(LOCKS), hint.clone()],
            _ => Vec::new(),
        }
    }

    /// Returns the semaphore that a hint belongs to; `None` for a node that is no hint.
    pub fn lock_of(hint: &ZnodePath) -> Option<ZnodePath> {
        match kazoo_semaphore(hint.as_str()) {
            Some(semaphore) => ZnodePath::new(semaphore).ok(),
            None if hint.name() == LEASES => hint.parent(),
            None => None,
        }
    }

    /// Returns the two hints that would make this node a semaphore: Curator's and kazoo's.
    pub fn hints_of(semaphore: &ZnodePath) -> [ZnodePath; 2] {
        let kazoo = ZnodePath::new(&format!("{semaphore}{KAZOO_QUEUE}"));
        let curator = semaphore.child(LEASES);
        [kazoo.unwrap_or_else(|_| curator.clone()), curator]
    }

    /// Returns the hints that would make this parent the queue of a semaphore.
    pub fn hints_beside(queue: &ZnodePath) -> Vec<ZnodePath> {
        match queue.parent() {
            Some(semaphore) if queue.name() == LOCKS => vec![semaphore.child(LEASES)],
            _ if Self::is_hint(queue) => vec![queue.clone()],
            _ => Vec::new(),
        }
    }

    /// Returns whether a node that is classified so is a contender, by its stat.
    ///
    /// A node that the user named as a lock is one although no session owns it, such as a barrier:
    /// unless it has or had children, since then it is a parent.
    pub fn counts(&self, path: &ZnodePath, place: &Classification, stat: &ZnodeStat) -> bool {
        let is_bare = stat.num_children == 0 && stat.cversion == 0;
        stat.ephemeral_owner.is_some() || !place.needs_ephemeral() || is_bare && self.is_named(path)
    }

    /// Returns whether the user named this node as a single-node lock.
    pub fn is_named(&self, path: &ZnodePath) -> bool {
        self.named.contains(path)
    }

    /// Returns the lock and the role of a node, or `None` if it cannot be a contender and need not
    /// be read.
    ///
    /// A path does not show whether a node is ephemeral. If the classification [needs
    /// it](Classification::needs_ephemeral), the caller checks that after it has read the node.
    pub fn classify(&self, path: &ZnodePath) -> Option<Classification> {
        let (parent, name) = (path.parent_str()?, path.name());
        if self.is_named(path) {
            return Some(single_node(path, names::read(name).map(|name| name.recipe)));
        }
        if path.is_servers_own() {
            return None;
        }
        if self.is_kazoo_lease(parent, name) {
            let lock = path.parent()?;
            return Some(in_semaphore(lock, Recipe::KazooSemaphore, Role::Lease, None));
        }
        if let Some((own, child)) = self.own_at(path) {
            return if own.definition().lock { of_own(path, own, &child) } else { None };
        }
        let child = names::read_at(path).or_else(|| names::read(name))?;
        if child.recipe == Recipe::UnknownQueue && counts_only(parent) || names::is_registration(path, &child) {
            return None;
        }
        if child.sequence.is_none() {
            return Some(single_node(path, Some(child.recipe)));
        }
        self.numbered_in_semaphore(path, &child).or_else(|| in_queue(path, &child))
    }

    /// Returns the first of the user's own recipes that reads this node's name, and the facts in
    /// the name.
    pub fn own_at<'n>(&self, path: &'n ZnodePath) -> Option<(OwnRecipe, ChildName<'n>)> {
        self.own.iter().filter(|own| own.holds_at(path)).find_map(|own| Some((*own, own.read(path.name())?)))
    }

    /// Classifies a numbered node whose parent belongs to a semaphore.
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

    /// Returns whether the node is a kazoo lease: 32 hex digits in a parent with a semaphore's
    /// queue beside it.
    fn is_kazoo_lease(&self, parent: &str, name: &str) -> bool {
        !self.hints.is_empty() && terms::is_hex32(name) && self.hints.contains(&*format!("{parent}{KAZOO_QUEUE}"))
    }
}

/// Returns the path of the kazoo semaphore whose queue is at `path`, if the name fits.
fn kazoo_semaphore(path: &str) -> Option<&str> {
    path.strip_suffix(KAZOO_QUEUE).filter(|semaphore| !semaphore.ends_with('/'))
}

/// Returns whether the parent's children are numbered only to get numbers, not to queue: below
/// ClickHouse's `block_numbers`, in Kafka's `seqid`. Nodes there with the name of a known recipe
/// are contenders all the same.
fn counts_only(parent: &str) -> bool {
    parent.ends_with("/seqid") || parent.split('/').any(|name| name == "block_numbers")
}

fn in_semaphore(lock: ZnodePath, recipe: Recipe, role: Role, sequence: Option<Sequence>) -> Classification {
    Classification { lock, name: None, recipe, role, mode: RequestMode::Lease, sequence }
}

fn single_node(path: &ZnodePath, by_name: Option<Recipe>) -> Classification {
    let recipe = match by_name {
        Some(own @ Recipe::Own(_)) => own,
        _ if path.as_str() == "/controller" => Recipe::KafkaController,
        Some(known) if known.kind() == LockKind::SingleNode => known,
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
        LockKind::Semaphore if own.definition().leases.is_some() || own.is_waiter(path.name()) => Role::Queue,
        LockKind::Semaphore => Role::Lease,
        LockKind::Exclusive | LockKind::ReadWrite | LockKind::Election => return in_queue(path, child),
    };
    Some(in_semaphore(path.parent()?, child.recipe, role, child.sequence))
}

fn in_queue(path: &ZnodePath, child: &ChildName<'_>) -> Option<Classification> {
    // A lease outside of `leases` is not from Curator's semaphore; its recipe is unknown.
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

/// The beginnings of words that name an election.
const BEGINNINGS: [&str; 2] = ["elect", "leader"];

/// The ends of words that name an election.
const ENDINGS: [&str; 3] = ["election", "elector", "leader"];

/// Names of nodes that only elections have.
const NAMES: [&str; 4] = ["latch", "master", "active", "controller"];

/// Names that say nothing by themselves; the name before them counts.
const GENERAL: [&str; 5] = ["lock", "locks", "candidates", "nodes", "queue"];

/// Returns whether the last name of a path suggests an election, such as `/app/leader-election`,
/// `/app/leaderLatch`, `/jobs/master` and `/app/leader/locks`.
///
/// The name is a hint, no proof: an application may keep a mutex below such a name.
pub fn is_named_election(path: &ZnodePath) -> bool {
    let mut names = path.as_str().rsplit('/').filter(|name| !name.is_empty());
    let Some(last) = names.next() else { return false };
    let is_general = GENERAL.iter().any(|general| last.eq_ignore_ascii_case(general));
    names_election(if is_general { names.next().unwrap_or(last) } else { last })
}

fn names_election(name: &str) -> bool {
    let is_name = NAMES.iter().any(|word| name.eq_ignore_ascii_case(word));
    let mut words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    is_name
        || words
            .any(|word| BEGINNINGS.iter().any(|part| begins(word, part)) || ENDINGS.iter().any(|part| ends(word, part)))
}

fn begins(word: &str, part: &str) -> bool {
    word.get(..part.len()).is_some_and(|start| start.eq_ignore_ascii_case(part))
}

fn ends(word: &str, part: &str) -> bool {
    let at = word.len().checked_sub(part.len());
    at.and_then(|at| word.get(at..)).is_some_and(|end| end.eq_ignore_ascii_case(part))
}

/// A path in which `*` stands for any part of one name: `/druid/*/leader`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct PathPattern(String);

impl PathPattern {
    /// Creates a pattern.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is no path even with its stars.
    pub fn new(text: &str) -> Result<Self, BadPath> {
        ZnodePath::new(text).map(|path| Self(path.as_str().to_owned()))
    }

    /// Returns the pattern as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the pattern matches a path. The cost is at most the product of both lengths.
    pub fn matches(&self, path: &ZnodePath) -> bool {
        let (mut patterns, mut names) = (self.0.split('/'), path.as_str().split('/'));
        loop {
            match (patterns.next(), names.next()) {
                (None, None) => return true,
                (Some(pattern), Some(name)) if name_matches(pattern, name) => {}
                _ => return false,
            }
        }
    }
}

/// Returns whether a pattern matches a name; each `*` in it stands for any part. The cost is at most
/// the product of both lengths.
pub fn name_matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return left.ends_with(part);
        }
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_name_of_an_election_says_so() {
        let is_named = |path: &&&str| is_named_election(&ZnodePath::new(path).unwrap());
        let elections = [
            "/app/leader-election",
            "/app/leaderLatch",
            "/druid/coordinator/_COORDINATOR_LEADER",
            "/e/election",
            "/jobs/master",
            "/a/leader/locks",
            "/x/latch",
            "/overseer_elect",
            "/LEADER",
        ];
        assert_eq!(elections.iter().filter(|path| !is_named(path)).count(), 0);
        let others =
            ["/", "/app/orders", "/jobs/master-data", "/selected", "/locks/proactive", "/election/orders", "/platch"];
        assert_eq!(others.iter().filter(is_named).collect::<Vec<_>>(), Vec::<&&str>::new());
    }

    #[test]
    fn a_star_stands_for_a_part_of_one_name() {
        let matches =
            |pattern: &str, path: &str| PathPattern::new(pattern).unwrap().matches(&ZnodePath::new(path).unwrap());
        for (pattern, path) in [
            ("/a/b", "/a/b"),
            ("/a/*", "/a/b"),
            ("/*/leader", "/druid/leader"),
            ("/a-*-c", "/a-b-b-c"),
            ("/*b*b*", "/abxb"),
            ("/", "/"),
        ] {
            assert!(matches(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [("/a/*", "/a/b/c"), ("/a/*", "/a"), ("/a*c", "/ab"), ("/a*a", "/a"), ("/*b*b", "/ab")] {
            assert!(!matches(pattern, path), "{pattern} {path}");
        }
        assert!(PathPattern::new("a/*").is_err() && PathPattern::new("/a//b").is_err());
    }
}
