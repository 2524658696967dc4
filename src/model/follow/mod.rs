//! Decides what to read and what to report. The observer and the import of transaction logs feed
//! it.
//!
//! It knows no client, no runtime and no clock. [`Follower`] takes watch events and the answers to
//! its reads, and returns reads to issue and [`Change`]s. Its rules:
//!
//! **Order.** On the wire, events and answers come in the order of the server. The caller must
//! handle every event that came before an answer first. An event may be handled *earlier* than an
//! answer that came before it, never later.
//!
//! An answer is stale when a creation or a deletion of its node was handled after the read was
//! issued. A stale answer is dropped; the creation has requested a read of its own. At most one
//! read of a node is under way. A change meanwhile requests one more read after it.
//!
//! **Events.** A created node costs one read when its name can be a contender's, otherwise nothing.
//! A deleted node costs nothing. New data cost one read where the data matter: for contenders, and
//! for the node whose data are the maximum of a kazoo semaphore. After a new hint
//! ([`Classifier::is_hint`]) the parents whose children it regroups are listed again.
//!
//! **Unread contenders.** A contender whose read is answered soon is reported only once, with what
//! was read. When its read has to wait ([`Follower::report_unread`]), or when it is deleted before
//! the answer, it is reported by [`Change::Appeared`], together with all contenders created before
//! it. Contenders of semaphores are excluded: the owner of a lease is known only when all nodes are
//! read.
//!
//! **Walk.** [`Follower::begin`] forgets everything except which nodes are lock parents, and walks
//! down from each root. A node costs one listing (its names, and a stat at least as new as they
//! are), and each possible contender costs one read. Nothing is kept about other nodes.
//!
//! Below a node with more than [`COUNT_DESCENDANTS_ABOVE`] children that are no contenders, the
//! number of all descendants is read first. When there are no descendants besides the children, the
//! children are not listed, apart from a few: if these are lock parents that were emptied, all are.
//!
//! **One-shot watches.** Where the server has no recursive watches, every listing sets a watch on
//! the children, and the follower finds creations and deletions by comparing listings. It then
//! keeps the names of all children of every listed node, costs a request for each change of a
//! parent, and does not notice new data.
//!
//! **Urgency.** When more reads wait than fit into one request, the caller arranges them by what
//! matters most for the locks.

mod pending;
mod walk;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::queue::{Change, Expectation, NO_SUCH_NODE};
use lockscope_base::recipe::{Classifier, OwnRecipe, Role};
use lockscope_base::znode::{Node, ZnodePath, ZnodeStat};
use pending::{CreatedContenders, PendingReads};

/// Above this many children that are no contenders, the descendants are counted before the children
/// are listed.
pub const COUNT_DESCENDANTS_ABOVE: usize = 1000;

/// Below a node with at least so many children that are no contenders, those that are empty and had
/// children before are reported.
pub const REPORT_EMPTIED_FROM: usize = 100;

/// How many children are listed nevertheless where there are no descendants besides the children. If
/// all of these are empty and had children before, the others are listed, too.
const SAMPLED_CHILDREN: usize = 5;

/// At most so many children of one node are listed for that reason, and at most so many emptied nodes
/// are reported in one walk.
const MAX_EMPTIED: usize = 20_000;

/// How often the descendants are counted again when the tree changes meanwhile.
const MAX_COUNTS: u8 = 3;

/// The most levels of the tree that are looked at. What waits to be read grows with the levels, and
/// so does each path. Trees in use have about ten levels; a server that invents children in each
/// answer would otherwise never let the walk end, and fill the memory.
const MAX_LEVELS: usize = 64;

/// Why nodes below [`MAX_LEVELS`] are not shown.
const TOO_DEEP: &str = "it is 64 levels deep: the nodes below it are not looked at";

/// The most bytes of the paths that wait to be read, and of the paths that one listing adds: room for
/// a million nodes with paths of 128 bytes, as many as one listing may name.
const MAX_PATH_BYTES: usize = 128 << 20;

/// Why the children of a node beyond [`MAX_PATH_BYTES`] are not shown.
const TOO_MANY: &str = "more nodes wait to be read than fit into memory (128 MiB of paths), so its children are not \
                        looked at: choose a root below it (--root)";

/// The most nodes that one walk reports for one of these two reasons. They show that something is
/// missing; a server can invent any number of them.
const MAX_UNLOOKED: usize = 100;

/// A read that the follower needs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NodeRead {
    /// The stat and the data of a node.
    Node(ZnodePath),
    /// The names of a node's children, and its stat. With one-shot watches the listing also sets a
    /// watch.
    List(ZnodePath),
    /// The number of descendants of a node.
    Count(ZnodePath),
}

impl NodeRead {
    /// Returns the node to read.
    pub fn path(&self) -> &ZnodePath {
        match self {
            Self::Node(path) | Self::List(path) | Self::Count(path) => path,
        }
    }
}

/// The answer to a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadAnswer {
    /// The answer to [`NodeRead::Node`].
    Node(Node),
    /// The answer to [`NodeRead::List`].
    Children(Vec<String>, ZnodeStat),
    /// The answer to [`NodeRead::Count`].
    Descendants(usize),
    /// There is no such node.
    NoNode,
    /// The node cannot be read, with the reason.
    Refused(String),
    /// The server does not know this kind of read.
    Unsupported,
}

impl ReadAnswer {
    /// Removes what a stat tells about the children's past, for a server where it means something
    /// else.
    #[must_use]
    pub fn without_child_history(self) -> Self {
        match self {
            Self::Node(node) => Self::Node(Node { stat: node.stat.without_child_history(), ..node }),
            Self::Children(names, stat) => Self::Children(names, stat.without_child_history()),
            answer => answer,
        }
    }
}

/// The kind of a watch event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeEvent {
    /// The node was created.
    Created,
    /// The node was deleted.
    Deleted,
    /// The node got new data.
    DataChanged,
    /// A child of the node was created or deleted; only from one-shot watches.
    ChildrenChanged,
}

/// How changes are noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchStyle {
    /// By one recursive watch for each root.
    Recursive,
    /// By a one-shot watch on the children of every listed node.
    OneShot,
}

/// A node with very many children that are no contenders.
#[derive(Clone, Debug, Default)]
struct WideNode {
    /// The only children to list if there are no descendants besides the children; empty where all are
    /// listed, or none.
    sample: Vec<ZnodePath>,
    /// How many of the children were found to be empty and to have had children before.
    emptied: usize,
}

/// Tracks what is known, what is being read and what is still to be read. See the [module](self).
#[derive(Debug)]
pub struct Follower {
    roots: Vec<ZnodePath>,
    named: Vec<ZnodePath>,
    recipes: Vec<OwnRecipe>,
    expected: Vec<Expectation>,
    watching: WatchStyle,
    /// Whether the server can count descendants.
    counts: bool,
    classifier: Classifier,
    /// The existing lock parents and roots, with the number of the walk that last found them.
    parents: FxHashMap<ZnodePath, u32>,
    /// The children of every listed node; only with one-shot watches.
    children: FxHashMap<ZnodePath, FxHashSet<Box<str>>>,
    /// The nodes with very many children in this walk.
    wide: FxHashMap<ZnodePath, WideNode>,
    /// How many emptied nodes were reported in this walk.
    emptied: usize,
    /// How many nodes were reported in this walk whose children are not looked at.
    unlooked: usize,
    pending: PendingReads,
    created: CreatedContenders,
    /// Whether a node was created that can only be shown once it is read.
    urgent: bool,
    walk: u32,
    walking: bool,
    changes: Vec<Change>,
}

impl Follower {
    /// Creates a follower that knows nothing yet. Roots within other roots are dropped.
    pub fn new(roots: &[ZnodePath], named: &[ZnodePath]) -> Self {
        Self {
            roots: outermost(roots),
            named: named.to_vec(),
            recipes: Vec::new(),
            expected: Vec::new(),
            watching: WatchStyle::Recursive,
            counts: true,
            classifier: Classifier::default(),
            parents: FxHashMap::default(),
            children: FxHashMap::default(),
            wide: FxHashMap::default(),
            emptied: 0,
            unlooked: 0,
            pending: PendingReads::default(),
            created: CreatedContenders::default(),
            urgent: false,
            walk: 0,
            walking: false,
            changes: Vec::new(),
        }
    }

    /// Adds the user's own recipes.
    #[must_use]
    pub fn with_recipes(self, recipes: Vec<OwnRecipe>) -> Self {
        Self { recipes, ..self }
    }

    /// Adds what the user expects of elections: their parents are reported even when they are empty.
    #[must_use]
    pub fn with_expectations(self, expected: Vec<Expectation>) -> Self {
        Self { expected, ..self }
    }

    /// Returns the roots to walk and to watch.
    pub fn roots(&self) -> &[ZnodePath] {
        &self.roots
    }

    /// Returns whether the last walk is finished.
    pub fn is_synced(&self) -> bool {
        self.walk > 0 && !self.walking
    }

    /// Returns how many reads were requested by events and have not been issued yet.
    pub fn waiting_for_events(&self) -> usize {
        self.pending.waiting_for_events()
    }

    /// Stops counting descendants.
    pub fn stop_counting(&mut self) {
        self.counts = false;
    }

    /// Returns whether a number of descendants is being read.
    pub fn is_counting(&self) -> bool {
        self.pending.is_counting()
    }

    /// Returns the next read to issue, or `None` when there is none or when `takes` refuses it. A
    /// refused read stays queued.
    pub fn next_read(&mut self, takes: impl FnOnce(&NodeRead) -> bool) -> Option<NodeRead> {
        let read = self.pending.issue(takes);
        self.urgent &= self.waiting() != (0, 0);
        self.finish_walk();
        read
    }

    /// Returns how many single nodes and how many listings are queued, some of which will never be
    /// issued.
    pub fn waiting(&self) -> (usize, usize) {
        self.pending.waiting()
    }

    /// Reports the created contenders that are not read yet, because their reads will wait for a
    /// while.
    pub fn report_unread(&mut self) {
        if !self.walking {
            let created = self.created.take_all();
            self.changes.extend(created.into_iter().map(|path| Change::Appeared { path }));
        }
    }

    /// Takes the changes found since the last call, in order.
    pub fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    fn missing_root(&mut self, root: &ZnodePath) {
        self.changes.push(Change::Unreadable { path: root.clone(), why: NO_SUCH_NODE.to_owned() });
    }

    /// Returns whether the node is a kazoo semaphore, which keeps its maximum in its data. Children
    /// of such a node that are named by an id are leases.
    fn holds_maximum(&self, path: &ZnodePath) -> bool {
        self.classifier.hints().next().is_some()
            && self
                .classifier
                .classify(&path.child("00000000000000000000000000000000"))
                .is_some_and(|place| place.role == Role::Lease && place.lock == *path)
    }

    /// Returns whether a node without children matters that never had any: by its name, or because
    /// it is known. A caller that has very many others need not list all of them.
    pub fn minds(&self, path: &ZnodePath) -> bool {
        self.is_root(path)
            || self.parents.contains_key(path)
            || Classifier::is_hint(path)
            || self.classifier.classify(path).is_some()
            || self.holds_maximum(path)
    }

    fn is_root(&self, path: &ZnodePath) -> bool {
        self.roots.contains(path)
    }

    /// Ends the walk once its last read is answered.
    pub fn finish_walk(&mut self) {
        if self.walking && self.pending.walk_is_done() {
            self.walking = false;
            let walk = self.walk;
            self.parents.retain(|_, found| *found == walk);
            self.wide = FxHashMap::default();
            self.pending.release_spare_memory();
            self.changes.push(Change::Synced);
        }
    }
}

/// Returns the roots that lie within no other root. Nodes of the server itself count as roots only
/// when named explicitly.
pub fn outermost(roots: &[ZnodePath]) -> Vec<ZnodePath> {
    let covers = |outer: &ZnodePath, inner: &ZnodePath| {
        outer != inner && inner.is_within(outer) && !(outer.is_root() && inner.is_servers_own())
    };
    let mut kept: Vec<ZnodePath> = Vec::new();
    for root in roots {
        if !kept.contains(root) && !roots.iter().any(|outer| covers(outer, root)) {
            kept.push(root.clone());
        }
    }
    kept
}

impl Follower {
    /// Sets the parent of the open queue, or none. The contenders of the open queue are read first.
    pub fn set_open_queue(&mut self, parent: Option<ZnodePath>) {
        self.pending.open_queue = parent;
    }

    /// Returns the parent of the open queue.
    pub fn open_queue(&self) -> Option<&ZnodePath> {
        self.pending.open_queue.as_ref()
    }

    /// Puts the most important reads first: the contenders below the open parent, then the first
    /// contender of each other queue, because only
    /// that one can hold the lock without having been read.
    pub fn arrange_reads(&mut self) {
        self.pending.arrange();
    }

    /// Returns whether a read is waiting that must not wait long. The owner of a lease is known
    /// only from the sessions.
    pub fn is_urgent(&self) -> bool {
        self.urgent
    }

    /// Returns the existing lock parents and roots known so far, in any order.
    pub fn parents(&self) -> impl Iterator<Item = &ZnodePath> {
        self.parents.keys()
    }
}
