//! What to read and what to report: the part of the observer that knows no client, no runtime and no clock.
//!
//! [`Follower`] takes watch events and the answers to its reads, and gives reads to issue and [`Change`]s. These are its
//! rules.
//!
//! **Order.** On the wire, events and answers come in the server's order. Whoever feeds the follower must handle every event
//! that came before an answer first; an event may be handled *earlier* than an answer that came before it, never later.
//! An answer is stale when a creation or a deletion of its node was handled since the read was issued: it is
//! dropped, and a creation has asked for a read of its own. At most one read of a node is under way; what happens
//! meanwhile asks for one more after it.
//!
//! **Events.** A created node costs one read when its name can be a contender's, else nothing. A deleted node costs nothing. New
//! data cost one read where the data matter: contenders, and the node whose data are the maximum of a kazoo semaphore.
//! A new hint ([`Classifier::is_hint`]) makes the parents whose children it regroups be listed again.
//!
//! **Unread contenders.** A contender whose read is answered soon is reported as it was read, and nothing else. When its read
//! has to wait ([`Follower::report_unread`]), or it is deleted before the answer, it is reported by [`Change::Appeared`], and all
//! that were created before it as well. Contenders of semaphores are not: whose a lease is shows only when all are read.
//!
//! **Walk.** [`Follower::begin`] forgets everything but which nodes are known to be lock parents, and walks down from each
//! root: one listing a node (its names, and a stat that is not older than they are), one read a node that can be a contender.
//! Nothing is kept of other nodes. Below a node with more than [`COUNT_DESCENDANTS_ABOVE`] children that are no contenders, the
//! server is asked for the number of all descendants first; when there are none besides the children, these are not listed.
//!
//! **One-shot watches.** Where the server has no recursive watch, every listing sets a watch on the children, and the
//! follower finds creations and deletions by comparing listings. It then keeps the names of all children of every
//! node that is listed, costs a request for each change of a parent, and does not notice new data.

mod created;
mod events;
mod noted;
mod pending_reads;
mod read_order;
mod walk;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod unread_tests;

use rustc_hash::{FxHashMap, FxHashSet};

use self::created::CreatedContenders;
use self::pending_reads::PendingReads;
use lockscope_base::recipe::{Classifier, OwnRecipe, Role};
use lockscope_base::znode::{Node, ZnodePath, ZnodeStat};
use lockscope_model::queue::Change;

/// With more children than this that are no contenders, it is worth asking whether anything lies below them.
const COUNT_DESCENDANTS_ABOVE: usize = 1000;

/// How often the number of descendants is asked for when the tree changes meanwhile.
const MAX_COUNTS: u8 = 3;

/// What is said of a root that does not exist.
pub(super) const NO_SUCH_NODE: &str = "there is no such node; it will be found when it is created";

/// A read to issue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum NodeRead {
    /// The stat and the data of a node.
    Node(ZnodePath),
    /// The names of a node's children, and its stat. With one-shot watches it also sets one.
    List(ZnodePath),
    /// How many nodes lie below a node.
    Count(ZnodePath),
}

impl NodeRead {
    pub(super) fn path(&self) -> &ZnodePath {
        match self {
            Self::Node(path) | Self::List(path) | Self::Count(path) => path,
        }
    }
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReadAnswer {
    /// To [`NodeRead::Node`].
    Node(Node),
    /// To [`NodeRead::List`].
    Children(Vec<String>, ZnodeStat),
    /// To [`NodeRead::Count`].
    Descendants(usize),
    /// There is no such node.
    NoNode,
    /// The node cannot be read, for this reason.
    Refused(String),
    /// The server does not know this kind of read.
    Unsupported,
}

/// What a watch event says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeEvent {
    /// The node was created.
    Created,
    /// The node was deleted.
    Deleted,
    /// The node got new data.
    DataChanged,
    /// A child of the node was created or deleted; from one-shot watches only.
    ChildrenChanged,
}

/// How changes are noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WatchStyle {
    /// By a recursive watch a root.
    Recursive,
    /// By a one-shot watch on the children of every node that is listed.
    OneShot,
}

/// Keeps account of what is known, what is being read and what is still to be read. See the [module](self).
#[derive(Debug)]
pub(super) struct Follower {
    roots: Vec<ZnodePath>,
    named: Vec<ZnodePath>,
    recipes: Vec<OwnRecipe>,
    watching: WatchStyle,
    /// Whether the server can count descendants.
    counts: bool,
    classifier: Classifier,
    /// Lock parents and roots that exist, with the walk in which they were last found.
    parents: FxHashMap<ZnodePath, u32>,
    /// The children of every listed node; with one-shot watches only.
    children: FxHashMap<ZnodePath, FxHashSet<Box<str>>>,
    pending: PendingReads,
    created: CreatedContenders,
    /// Whether a node was created that can be shown only when it is read.
    urgent: bool,
    walk: u32,
    walking: bool,
    changes: Vec<Change>,
}

impl Follower {
    /// One that knows nothing yet. Roots within other roots are dropped.
    pub(super) fn new(roots: &[ZnodePath], named: &[ZnodePath]) -> Self {
        Self {
            roots: outermost(roots),
            named: named.to_vec(),
            recipes: Vec::new(),
            watching: WatchStyle::Recursive,
            counts: true,
            classifier: Classifier::default(),
            parents: FxHashMap::default(),
            children: FxHashMap::default(),
            pending: PendingReads::default(),
            created: CreatedContenders::default(),
            urgent: false,
            walk: 0,
            walking: false,
            changes: Vec::new(),
        }
    }

    /// The same with recipes of the user's own.
    pub(super) fn with_recipes(self, recipes: Vec<OwnRecipe>) -> Self {
        Self { recipes, ..self }
    }

    /// The roots that are walked and to be watched.
    pub(super) fn roots(&self) -> &[ZnodePath] {
        &self.roots
    }

    /// Whether the last walk is finished.
    pub(super) fn is_synced(&self) -> bool {
        self.walk > 0 && !self.walking
    }

    /// Reads asked for by events that have not been issued yet.
    pub(super) fn waiting_for_events(&self) -> usize {
        self.pending.waiting_for_events()
    }

    /// Counts no descendants from here on.
    pub(super) fn stop_counting(&mut self) {
        self.counts = false;
    }

    /// Whether the number of a node's descendants is being asked for.
    pub(super) fn is_counting(&self) -> bool {
        self.pending.is_counting()
    }

    /// The next read to issue; `None` when there is none, or when `takes` refuses it: then it waits on.
    pub(super) fn next_read(&mut self, takes: impl FnOnce(&NodeRead) -> bool) -> Option<NodeRead> {
        let read = self.pending.issue(takes);
        self.urgent &= self.waiting() != (0, 0);
        self.finish_walk();
        read
    }

    /// How many single nodes and how many listings wait to be issued, some of which will not be issued.
    pub(super) fn waiting(&self) -> (usize, usize) {
        self.pending.waiting()
    }

    /// The reads that wait will wait for a while: the contenders that were created and are not read yet are reported without.
    pub(super) fn report_unread(&mut self) {
        if !self.walking {
            let created = self.created.take_all();
            self.changes.extend(created.into_iter().map(|path| Change::Appeared { path }));
        }
    }

    /// What was found since this was last asked, in order.
    pub(super) fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    fn missing_root(&mut self, root: &ZnodePath) {
        self.changes.push(Change::Unreadable { path: root.clone(), why: NO_SUCH_NODE.to_owned() });
    }

    /// Whether the node is a semaphore of kazoo's, which keeps its maximum in its data: its children that are called by an id
    /// are leases.
    fn holds_maximum(&self, path: &ZnodePath) -> bool {
        self.classifier.hints().next().is_some()
            && self
                .classifier
                .classify(&path.child("00000000000000000000000000000000"))
                .is_some_and(|place| place.role == Role::Lease && place.lock == *path)
    }

    fn is_root(&self, path: &ZnodePath) -> bool {
        self.roots.contains(path)
    }

    /// Ends the walk when its last read was answered.
    pub(super) fn finish_walk(&mut self) {
        if self.walking && self.pending.walk_is_done() {
            self.walking = false;
            let walk = self.walk;
            self.parents.retain(|_, found| *found == walk);
            self.pending.release_spare_memory();
            self.changes.push(Change::Synced);
        }
    }
}

/// The roots that lie within no other. What is the server's own counts only where it is asked for by itself.
fn outermost(roots: &[ZnodePath]) -> Vec<ZnodePath> {
    let covers = |outer: &ZnodePath, inner: &ZnodePath| {
        outer != inner && inner.is_within(outer) && !(outer.is_root() && is_servers_own(inner))
    };
    let mut kept: Vec<ZnodePath> = Vec::new();
    for root in roots {
        if !kept.contains(root) && !roots.iter().any(|outer| covers(outer, root)) {
            kept.push(root.clone());
        }
    }
    kept
}

fn is_servers_own(path: &ZnodePath) -> bool {
    path.as_str().strip_prefix("/zookeeper").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
