//! What is still open: the reads that are requested or under way, each at most once, and the
//! contenders that were created and are not read yet, in the order of creation.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::NodeRead;
use lockscope_base::recipe;
use lockscope_base::recipe::Recipe;
use lockscope_base::znode::ZnodePath;

/// The most reads put in order at a time: enough for a hundred requests.
const MAX_ARRANGED: usize = 6_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ReadState {
    /// The read is to be sent.
    #[default]
    Waiting,
    /// The read is queued but need not be sent any more.
    Void,
    /// The read was sent.
    UnderWay,
    /// The read was sent, and its answer is to be dropped.
    Stale,
}

/// A read that is requested or under way.
#[derive(Clone, Copy, Debug, Default)]
pub struct PendingRead {
    state: ReadState,
    /// The read is sent again once it is answered.
    again: bool,
    /// The walk waits for this read.
    pub(super) walk: bool,
    /// For listings and counts: how often the number of descendants was read.
    pub(super) counted: u8,
    /// For counts: the number of children; `None` when something changed below the node meanwhile.
    pub(super) expected: Option<usize>,
}

impl PendingRead {
    pub fn is_stale(&self) -> bool {
        self.state == ReadState::Stale
    }
}

/// The reads that are requested and not answered, each at most once.
#[derive(Debug, Default)]
pub struct PendingReads {
    entries: FxHashMap<NodeRead, PendingRead>,
    /// Single nodes not issued yet, in the order of the requests.
    nodes: VecDeque<NodeRead>,
    /// Listings and counts not issued yet, a stack: the number of waiting reads grows with the
    /// depth of the tree instead of its width.
    lists: Vec<NodeRead>,
    /// The number of entries that belong to the walk.
    of_walk: usize,
    /// The bytes of the paths in `entries`.
    path_bytes: usize,
    /// The paths of all counts. A list is enough, because there are few.
    counts: Vec<ZnodePath>,
    /// The parent of the open queue.
    pub(super) open_queue: Option<ZnodePath>,
}

impl PendingReads {
    /// Forgets every read. Answers to them must not be passed in any more.
    pub fn clear(&mut self) {
        *self = Self { open_queue: self.open_queue.take(), ..Self::default() };
    }

    /// Requests a read, unless a read under way gives an answer as good.
    pub fn want(&mut self, read: NodeRead) {
        let entry = self.enter(read);
        match entry.state {
            ReadState::Stale => entry.again = true,
            ReadState::Void => entry.state = ReadState::Waiting,
            ReadState::Waiting | ReadState::UnderWay => {}
        }
    }

    /// Requests a read as part of the walk. If that read is already under way, the walk waits for
    /// it.
    pub fn walk(&mut self, read: NodeRead) {
        self.want(read.clone());
        let entry = self.enter(read);
        let joins = !std::mem::replace(&mut entry.walk, true);
        self.of_walk += usize::from(joins);
    }

    /// Requests a listing as part of the walk, after `counted` reads of the number of descendants.
    pub fn walk_counted(&mut self, path: &ZnodePath, counted: u8) {
        self.walk(NodeRead::List(path.clone()));
        self.enter(NodeRead::List(path.clone())).counted = counted;
    }

    /// Requests the number of descendants of a node with `children` children, for the `counted`th
    /// time.
    pub fn walk_count(&mut self, path: &ZnodePath, counted: u8, children: usize) {
        self.walk(NodeRead::Count(path.clone()));
        let entry = self.enter(NodeRead::Count(path.clone()));
        entry.counted = counted;
        entry.expected = Some(children);
    }

    /// Requests a read that starts after this call: a read under way still counts, but one more
    /// follows it.
    pub fn refresh(&mut self, read: NodeRead) {
        let entry = self.enter(read);
        match entry.state {
            ReadState::UnderWay | ReadState::Stale => entry.again = true,
            ReadState::Waiting | ReadState::Void => entry.state = ReadState::Waiting,
        }
    }

    /// Marks reads of a path as outdated, because a node was just created there: a read under way
    /// is about an earlier node of that path, or about none. A waiting read stays valid.
    pub fn outdate(&mut self, path: &ZnodePath) {
        for read in reads_of(path) {
            let Some(entry) = self.entries.get_mut(&read) else { continue };
            if entry.state == ReadState::UnderWay {
                entry.state = ReadState::Stale;
            }
        }
    }

    /// Voids the requested reads of a deleted node.
    pub fn void(&mut self, path: &ZnodePath) {
        self.outdate(path);
        for read in reads_of(path) {
            let Some(entry) = self.entries.get_mut(&read) else { continue };
            entry.again = false;
            if entry.state == ReadState::Waiting {
                entry.state = ReadState::Void;
            }
        }
    }

    /// Marks the counts above a changed path as unreliable.
    pub fn disturb(&mut self, path: &ZnodePath) {
        for counted in self.counts.iter().filter(|counted| path.is_within(counted)) {
            if let Some(entry) = self.entries.get_mut(&NodeRead::Count(counted.clone())) {
                entry.expected = None;
            }
        }
    }

    /// Returns the next read to send, single nodes before listings. If `takes` refuses it, it stays
    /// queued.
    pub fn issue(&mut self, takes: impl FnOnce(&NodeRead) -> bool) -> Option<NodeRead> {
        self.drop_void();
        let read = self.nodes.front().or(self.lists.last()).filter(|read| takes(read)).cloned()?;
        if self.nodes.pop_front().is_none() {
            self.lists.pop();
        }
        self.entries.entry(read.clone()).or_default().state = ReadState::UnderWay;
        Some(read)
    }

    /// Moves the single nodes below the open parent to the front, and behind them the first node of
    /// each other queue. Names decide which children of one parent share a queue; otherwise the
    /// order stays. Only the first [`MAX_ARRANGED`] nodes are looked at, which bounds the work.
    pub fn arrange(&mut self) {
        let count = self.nodes.len().min(MAX_ARRANGED);
        let open = self.open_queue.as_ref().map(ZnodePath::as_str);
        let reads: Vec<NodeRead> = self.nodes.drain(..count).collect();
        let mut queues = FxHashSet::default();
        let ranks = reads.iter().map(|read| {
            let waits = self.entries.get(read).is_some_and(|entry| entry.state == ReadState::Waiting);
            match read.path().parent_str().filter(|_| waits) {
                Some(parent) if Some(parent) == open => ReadRank::BelowOpenParent,
                Some(parent) if queues.insert((parent, queue_in_name(read.path().name()))) => ReadRank::FirstOfQueue,
                _ => ReadRank::Other,
            }
        });
        let ranks: Vec<ReadRank> = ranks.collect();
        let mut ranked: Vec<(ReadRank, NodeRead)> = ranks.into_iter().zip(reads).collect();
        ranked.sort_by_key(|(rank, _)| *rank);
        for (_, read) in ranked.into_iter().rev() {
            self.nodes.push_front(read);
        }
    }

    /// Drops void reads in front of the next read to send.
    fn drop_void(&mut self) {
        while let Some(read) = self.nodes.front().or(self.lists.last()) {
            let entry = self.entries.get(read).copied();
            if entry.is_some_and(|entry| entry.state == ReadState::Waiting) {
                return;
            }
            let Some(read) = self.nodes.pop_front().or_else(|| self.lists.pop()) else { return };
            if let Some(entry) = entry {
                self.remove(&read, entry);
            }
        }
    }

    /// Closes an answered read and returns its entry. A read that is wanted again is requested
    /// anew. Returns `None` when the read was not under way.
    pub fn close(&mut self, read: &NodeRead) -> Option<PendingRead> {
        let entry =
            *self.entries.get(read).filter(|entry| matches!(entry.state, ReadState::UnderWay | ReadState::Stale))?;
        self.remove(read, entry);
        // The walk does not wait for this read: it was requested by an event, for a node newer than
        // the walk.
        if entry.again {
            self.want(read.clone());
        }
        Some(entry)
    }

    /// Frees the memory that the walk needed.
    pub fn release_spare_memory(&mut self) {
        self.entries.shrink_to_fit();
        self.nodes.shrink_to_fit();
        self.lists.shrink_to_fit();
    }

    /// Returns the bytes of the paths of all reads that are requested or under way.
    pub fn path_bytes(&self) -> usize {
        self.path_bytes
    }

    /// Returns whether every read of the walk was answered.
    pub fn walk_is_done(&self) -> bool {
        self.of_walk == 0
    }

    /// Returns about how many reads wait to be issued outside of the walk. Reads of the walk that
    /// are under way make the number too low.
    pub fn waiting_for_events(&self) -> usize {
        (self.nodes.len() + self.lists.len()).saturating_sub(self.of_walk)
    }

    /// Returns whether a count is requested or under way.
    pub fn is_counting(&self) -> bool {
        !self.counts.is_empty()
    }

    /// Returns how many single nodes and listings are queued, including void ones.
    pub fn waiting(&self) -> (usize, usize) {
        (self.nodes.len(), self.lists.len())
    }

    /// Returns the entry of a read; creates and queues it when there is none.
    fn enter(&mut self, read: NodeRead) -> &mut PendingRead {
        let Self { entries, nodes, lists, counts, path_bytes, .. } = self;
        entries.entry(read).or_insert_with_key(|read| {
            *path_bytes += read.path().as_str().len();
            match read {
                NodeRead::Node(_) => nodes.push_back(read.clone()),
                NodeRead::List(_) => lists.push(read.clone()),
                NodeRead::Count(path) => {
                    counts.push(path.clone());
                    lists.push(read.clone());
                }
            }
            PendingRead::default()
        })
    }

    fn remove(&mut self, read: &NodeRead, entry: PendingRead) {
        if self.entries.remove(read).is_some() {
            self.path_bytes -= read.path().as_str().len();
        }
        self.of_walk -= usize::from(entry.walk);
        if let NodeRead::Count(path) = read {
            self.counts.retain(|counted| counted != path);
        }
    }
}

/// The order in which reads are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ReadRank {
    BelowOpenParent,
    FirstOfQueue,
    Other,
}

/// Returns what a name says about its queue: the family of its recipe and the name of the lock.
fn queue_in_name(name: &str) -> Option<(Recipe, Option<&str>)> {
    recipe::read(name).map(|child| (child.recipe.family(), child.lock_name))
}

fn reads_of(path: &ZnodePath) -> [NodeRead; 3] {
    [NodeRead::Node(path.clone()), NodeRead::List(path.clone()), NodeRead::Count(path.clone())]
}

/// Contenders of which only the creation is known.
///
/// A later contender must not be reported before them: it would look as if they did not exist.
/// Whenever one is reported, all contenders created before it are reported too.
#[derive(Debug, Default)]
pub struct CreatedContenders {
    in_order: VecDeque<ZnodePath>,
    /// The contenders in the list that are not reported yet.
    unreported: FxHashSet<ZnodePath>,
}

impl CreatedContenders {
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Adds a created contender.
    pub fn insert(&mut self, path: &ZnodePath) {
        if self.unreported.insert(path.clone()) {
            self.in_order.push_back(path.clone());
        }
    }

    /// Removes a contender that turned out to be none or that cannot be read.
    pub fn remove(&mut self, path: &ZnodePath) {
        self.unreported.remove(path);
        while self.in_order.front().is_some_and(|first| !self.unreported.contains(first)) {
            self.in_order.pop_front();
        }
    }

    /// Takes all contenders created before `path`, and `path` itself last. Takes nothing when
    /// `path` is not in the list.
    pub fn take_until(&mut self, path: &ZnodePath) -> Vec<ZnodePath> {
        if !self.unreported.contains(path) {
            return Vec::new();
        }
        let mut taken = Vec::new();
        while let Some(first) = self.in_order.pop_front() {
            let found = first == *path;
            if self.unreported.remove(&first) {
                taken.push(first);
            }
            if found {
                break;
            }
        }
        taken
    }

    pub fn take_all(&mut self) -> Vec<ZnodePath> {
        let taken = self.in_order.drain(..).filter(|path| self.unreported.contains(path)).collect();
        self.unreported.clear();
        taken
    }
}
