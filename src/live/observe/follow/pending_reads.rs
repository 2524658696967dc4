//! The reads that are asked for or under way, each at most once.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::NodeRead;
use lockscope_base::recipe::{self, Recipe};
use lockscope_base::znode::ZnodePath;

/// How many reads are put in order at a time: what a hundred requests take.
const MAX_ARRANGED: usize = 6_000;

/// How far a read is, and what it is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ReadState {
    /// It is to be sent.
    #[default]
    Waiting,
    /// It waits, but need not be sent any more.
    Void,
    /// It was sent.
    UnderWay,
    /// It was sent, and its answer is to be dropped.
    Stale,
}

/// One read that is asked for or under way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PendingRead {
    state: ReadState,
    /// Once answered, it is to be sent again.
    again: bool,
    /// The walk is not finished without it.
    pub(super) walk: bool,
    /// For listings and counts: how often the number of descendants was asked for.
    pub(super) counted: u8,
    /// For counts: how many children there are; `None` when something happened below the node meanwhile.
    pub(super) expected: Option<usize>,
}

impl PendingRead {
    pub(super) fn is_stale(&self) -> bool {
        self.state == ReadState::Stale
    }
}

/// The reads that are asked for and not answered: each at most once.
#[derive(Debug, Default)]
pub(super) struct PendingReads {
    entries: FxHashMap<NodeRead, PendingRead>,
    /// Not issued: single nodes, in the order in which they were asked for.
    nodes: VecDeque<NodeRead>,
    /// Not issued: listings and counts. The last one first, so that what waits grows with the depth of the
    /// tree and not with its width.
    lists: Vec<NodeRead>,
    /// How many of the entries belong to the walk.
    of_walk: usize,
    /// Counts in all, for they are few.
    counts: Vec<ZnodePath>,
    /// The node below which the queue is that somebody looks at.
    pub(super) open_queue: Option<ZnodePath>,
}

impl PendingReads {
    /// Forgets every read. Their answers must not be handed in any more.
    pub(super) fn clear(&mut self) {
        *self = Self { open_queue: self.open_queue.take(), ..Self::default() };
    }

    /// Asks for a read, unless one is under way whose answer is as good.
    pub(super) fn want(&mut self, read: NodeRead) {
        let entry = self.enter(read);
        match entry.state {
            ReadState::Stale => entry.again = true,
            ReadState::Void => entry.state = ReadState::Waiting,
            ReadState::Waiting | ReadState::UnderWay => {}
        }
    }

    /// Asks for a read as part of the walk, unless one is under way, which the walk then waits for.
    pub(super) fn walk(&mut self, read: NodeRead) {
        self.want(read.clone());
        let entry = self.enter(read);
        let joins = !std::mem::replace(&mut entry.walk, true);
        self.of_walk += usize::from(joins);
    }

    /// Asks for a listing as part of the walk, after the descendants were asked for so many times.
    pub(super) fn walk_counted(&mut self, path: &ZnodePath, counted: u8) {
        self.walk(NodeRead::List(path.clone()));
        self.enter(NodeRead::List(path.clone())).counted = counted;
    }

    /// Asks for the number of descendants of a node with so many children, for the `counted`th time.
    pub(super) fn walk_count(&mut self, path: &ZnodePath, counted: u8, children: usize) {
        self.walk(NodeRead::Count(path.clone()));
        let entry = self.enter(NodeRead::Count(path.clone()));
        entry.counted = counted;
        entry.expected = Some(children);
    }

    /// Asks for a read that is newer than now: what is under way counts, but one more follows it.
    pub(super) fn refresh(&mut self, read: NodeRead) {
        let entry = self.enter(read);
        match entry.state {
            ReadState::UnderWay | ReadState::Stale => entry.again = true,
            ReadState::Waiting | ReadState::Void => entry.state = ReadState::Waiting,
        }
    }

    /// A node was just created: what is under way is about another node of that path, or about none. What waits is as good as
    /// new.
    pub(super) fn outdate(&mut self, path: &ZnodePath) {
        for read in reads_of(path) {
            let Some(entry) = self.entries.get_mut(&read) else { continue };
            if entry.state == ReadState::UnderWay {
                entry.state = ReadState::Stale;
            }
        }
    }

    /// A node is gone: no read of it that is asked for is worth anything.
    pub(super) fn void(&mut self, path: &ZnodePath) {
        self.outdate(path);
        for read in reads_of(path) {
            let Some(entry) = self.entries.get_mut(&read) else { continue };
            entry.again = false;
            if entry.state == ReadState::Waiting {
                entry.state = ReadState::Void;
            }
        }
    }

    /// Something happened at a path: counts above it may be off.
    pub(super) fn disturb(&mut self, path: &ZnodePath) {
        for counted in self.counts.iter().filter(|counted| path.is_within(counted)) {
            if let Some(entry) = self.entries.get_mut(&NodeRead::Count(counted.clone())) {
                entry.expected = None;
            }
        }
    }

    /// The next read to send, single nodes before listings. When `takes` refuses it, it waits on.
    pub(super) fn issue(&mut self, takes: impl FnOnce(&NodeRead) -> bool) -> Option<NodeRead> {
        self.drop_void();
        let read = self.nodes.front().or(self.lists.last()).filter(|read| takes(read)).cloned()?;
        if self.nodes.pop_front().is_none() {
            self.lists.pop();
        }
        self.entries.entry(read.clone()).or_default().state = ReadState::UnderWay;
        Some(read)
    }

    /// Puts those of the first single nodes in front that stand below the open parent, and behind them the first of each other queue, as
    /// far as the names tell which children of one parent stand in one queue; else the order stays. Work follows their number, which is
    /// bounded.
    pub(super) fn arrange(&mut self) {
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

    /// Takes out what need not be sent any more, up to the next read to send.
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

    /// Closes a read that was answered and returns what was noted of it. When it is to be sent again, it is asked for anew.
    /// `None` when it was not under way.
    pub(super) fn close(&mut self, read: &NodeRead) -> Option<PendingRead> {
        let entry =
            *self.entries.get(read).filter(|entry| matches!(entry.state, ReadState::UnderWay | ReadState::Stale))?;
        self.remove(read, entry);
        // The walk does not wait for it: what an event asked for is about a node that is newer than the walk.
        if entry.again {
            self.want(read.clone());
        }
        Some(entry)
    }

    /// Gives back what the walk left over.
    pub(super) fn release_spare_memory(&mut self) {
        self.entries.shrink_to_fit();
        self.nodes.shrink_to_fit();
        self.lists.shrink_to_fit();
    }

    /// Whether nothing of the walk is left to be answered.
    pub(super) fn walk_is_done(&self) -> bool {
        self.of_walk == 0
    }

    /// Reads that wait to be issued and do not belong to the walk, give or take those under way.
    pub(super) fn waiting_for_events(&self) -> usize {
        (self.nodes.len() + self.lists.len()).saturating_sub(self.of_walk)
    }

    /// Whether a count is asked for or under way.
    pub(super) fn is_counting(&self) -> bool {
        !self.counts.is_empty()
    }

    /// Single nodes and listings that wait to be sent, some of which need not be sent any more.
    pub(super) fn waiting(&self) -> (usize, usize) {
        (self.nodes.len(), self.lists.len())
    }

    /// The entry of a read, which is made and queued when there is none.
    fn enter(&mut self, read: NodeRead) -> &mut PendingRead {
        let Self { entries, nodes, lists, counts, .. } = self;
        entries.entry(read).or_insert_with_key(|read| {
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
        self.entries.remove(read);
        self.of_walk -= usize::from(entry.walk);
        if let NodeRead::Count(path) = read {
            self.counts.retain(|counted| counted != path);
        }
    }
}

/// How early a read is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ReadRank {
    BelowOpenParent,
    FirstOfQueue,
    Other,
}

/// What a name says of the queue of its parent in which it stands.
fn queue_in_name(name: &str) -> Option<(Recipe, Option<&str>)> {
    recipe::read(name).map(|child| (child.recipe.family(), child.lock_name))
}

fn reads_of(path: &ZnodePath) -> [NodeRead; 3] {
    [NodeRead::Node(path.clone()), NodeRead::List(path.clone()), NodeRead::Count(path.clone())]
}
