//! A model server, and a client that schedules the follower's input in every order that the real
//! client allows.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use crate::observe::schedule::{ReadRequest, ReadScheduler};
use crate::testing::path;
use lockscope_base::recipe::{Classifier, Role};
use lockscope_base::znode::{Node, NodeData, SessionId, Timestamp, ZnodePath, ZnodeStat, Zxid};
use lockscope_model::follow::{Follower, NodeEvent, NodeRead, ReadAnswer, WatchStyle};
use lockscope_model::queue::Change;

pub(super) fn stat(czxid: i64, mzxid: i64, owner: Option<i64>, children: i32) -> ZnodeStat {
    let of_new = ZnodeStat::of_new(Zxid(czxid), Timestamp(czxid), owner.map(SessionId));
    ZnodeStat { mzxid: Zxid(mzxid), mtime: Timestamp(mzxid), num_children: children, ..of_new }
}

/// A message from the server to the client.
#[derive(Clone, Debug)]
enum Item {
    /// An event, with the number of the one-shot watch that fired, if any.
    Event(NodeEvent, ZnodePath, Option<u64>),
    /// An answer, with the number of the one-shot watch that was set, if any.
    Answer(ReadRequest, Vec<ReadAnswer>, Option<u64>),
}

/// The tree, the wire and the client.
pub(super) struct Model {
    pub(super) follower: Follower,
    pub(super) scheduler: ReadScheduler,
    now: Duration,
    watching: WatchStyle,
    nodes: BTreeMap<ZnodePath, (i64, i64, bool)>,
    zxid: i64,
    connected: bool,
    /// One-shot watches on the server.
    watches: BTreeMap<ZnodePath, u64>,
    next_watch: u64,
    /// Requests that the client has sent and the server has not answered.
    requests: VecDeque<ReadRequest>,
    /// Answers to the operations of the first request that the server has run.
    done: Vec<ReadAnswer>,
    /// The children of the node whose stat is read next.
    names: Option<ReadAnswer>,
    wire: VecDeque<Item>,
    events: VecDeque<(NodeEvent, ZnodePath, Option<u64>)>,
    answers: Vec<(ReadRequest, Vec<ReadAnswer>, Option<u64>)>,
    armed: BTreeSet<u64>,
    /// Names that the server has given out and does not give out again.
    spent: BTreeSet<ZnodePath>,
    pub(super) reads: usize,
    pub(super) sent: usize,
    pub(super) seen: BTreeMap<ZnodePath, Node>,
    pub(super) listed: BTreeSet<ZnodePath>,
    unconfirmed: BTreeSet<ZnodePath>,
    pub(super) changes: Vec<Change>,
}

impl Model {
    pub(super) fn new(roots: &[&str], watching: WatchStyle) -> Self {
        let roots: Vec<ZnodePath> = roots.iter().map(|root| path(root)).collect();
        let mut model = Self {
            follower: Follower::new(&roots, &[]),
            scheduler: ReadScheduler::default(),
            now: Duration::ZERO,
            watching,
            nodes: BTreeMap::from([(path("/"), (0, 0, false))]),
            zxid: 0,
            connected: false,
            watches: BTreeMap::new(),
            next_watch: 0,
            requests: VecDeque::new(),
            done: Vec::new(),
            names: None,
            wire: VecDeque::new(),
            events: VecDeque::new(),
            answers: Vec::new(),
            armed: BTreeSet::new(),
            spent: BTreeSet::new(),
            reads: 0,
            sent: 0,
            seen: BTreeMap::new(),
            listed: BTreeSet::new(),
            unconfirmed: BTreeSet::new(),
            changes: Vec::new(),
        };
        if watching == WatchStyle::OneShot {
            model.scheduler.read_one_by_one();
        }
        model.reconnect();
        model
    }

    /// Drops what is on the wire, then sets the watches again and starts a walk.
    pub(super) fn reconnect(&mut self) {
        self.cut();
        self.connected = true;
        self.follower.begin(self.watching);
        self.pump();
    }

    pub(super) fn cut(&mut self) {
        self.connected = false;
        self.scheduler.cut();
        self.requests.clear();
        self.done.clear();
        self.names = None;
        self.wire.clear();
        self.events.clear();
        self.answers.clear();
        self.armed.clear();
        self.watches.clear();
    }

    pub(super) fn exists(&self, at: &ZnodePath) -> bool {
        self.nodes.contains_key(at)
    }

    pub(super) fn create(&mut self, at: &ZnodePath, ephemeral: bool, twice: bool) -> bool {
        let parent = at.parent().expect("not the top");
        let fits = self.nodes.get(&parent).is_some_and(|(_, _, ephemeral)| !ephemeral);
        if !fits || self.exists(at) || self.spent.contains(at) {
            return false;
        }
        self.zxid += 1;
        self.nodes.insert(at.clone(), (self.zxid, self.zxid, ephemeral));
        self.fire(NodeEvent::Created, at, twice);
        self.fire_one_shot(at, NodeEvent::Created);
        self.fire_one_shot(&parent, NodeEvent::ChildrenChanged);
        true
    }

    pub(super) fn delete(&mut self, at: &ZnodePath, twice: bool) -> bool {
        let has_children = self.nodes.keys().any(|other| other != at && other.is_within(at));
        if at.is_root() || has_children || self.nodes.remove(at).is_none() {
            return false;
        }
        self.zxid += 1;
        if self.watching == WatchStyle::OneShot && lockscope_base::znode::Sequence::split(at.name()).is_some() {
            self.spent.insert(at.clone());
        }
        self.fire(NodeEvent::Deleted, at, twice);
        self.fire_one_shot(at, NodeEvent::Deleted);
        self.fire_one_shot(&at.parent().expect("not the top"), NodeEvent::ChildrenChanged);
        true
    }

    pub(super) fn set(&mut self, at: &ZnodePath, twice: bool) {
        self.zxid += 1;
        if let Some(node) = self.nodes.get_mut(at) {
            node.1 = self.zxid;
            self.fire(NodeEvent::DataChanged, at, twice);
        }
    }

    fn fire(&mut self, event: NodeEvent, at: &ZnodePath, twice: bool) {
        let watched = self.follower.roots().iter().any(|root| at.is_within(root));
        if self.connected && watched && self.watching == WatchStyle::Recursive {
            for _ in 0..=usize::from(twice) {
                self.wire.push_back(Item::Event(event, at.clone(), None));
            }
        }
    }

    fn fire_one_shot(&mut self, at: &ZnodePath, event: NodeEvent) {
        if let Some(watch) = self.watches.remove(at) {
            self.wire.push_back(Item::Event(event, at.clone(), Some(watch)));
        }
    }

    /// Runs up to `count` operations on the server. Other clients may change the tree between the
    /// operations of one request, also between the children of a node and its stat.
    pub(super) fn serve(&mut self, count: usize) {
        for _ in 0..count {
            let Some(request) = self.requests.front() else { return };
            let read = request.reads[self.done.len()].clone();
            let together = request.reads.len() > 1;
            if together && matches!(read, NodeRead::List(_)) && self.names.is_none() {
                self.names = Some(self.answer_to(&read));
                continue;
            }
            let answer = match (self.names.take(), self.answer_to(&read)) {
                (None, answer) => answer,
                (Some(ReadAnswer::Children(names, _)), ReadAnswer::Children(_, stat)) => {
                    ReadAnswer::Children(names, stat)
                }
                (Some(_), _) => ReadAnswer::NoNode,
            };
            self.reads += 1;
            let watch = self.set_watch(&read, &answer);
            self.done.push(answer);
            if self.requests.front().is_some_and(|request| request.reads.len() == self.done.len())
                && let Some(request) = self.requests.pop_front()
            {
                self.wire.push_back(Item::Answer(request, std::mem::take(&mut self.done), watch));
            }
        }
    }

    fn set_watch(&mut self, read: &NodeRead, answer: &ReadAnswer) -> Option<u64> {
        let awaits = matches!(read, NodeRead::List(_)) && self.follower.roots().contains(read.path());
        let sets_watch = self.watching == WatchStyle::OneShot
            && (matches!(answer, ReadAnswer::Children(..)) || (awaits && *answer == ReadAnswer::NoNode));
        sets_watch.then(|| {
            self.next_watch += 1;
            *self.watches.entry(read.path().clone()).or_insert(self.next_watch)
        })
    }

    fn answer_to(&self, read: &NodeRead) -> ReadAnswer {
        let at = read.path();
        let Some((czxid, mzxid, ephemeral)) = self.nodes.get(at) else { return ReadAnswer::NoNode };
        let children: Vec<String> = self.children(at).map(|child| child.name().to_owned()).collect();
        let stat = stat(*czxid, *mzxid, ephemeral.then_some(1), i32::try_from(children.len()).expect("few"));
        match read {
            NodeRead::Node(_) => ReadAnswer::Node(Node { stat, data: NodeData::default() }),
            NodeRead::List(_) => ReadAnswer::Children(children, stat),
            NodeRead::Count(_) => {
                ReadAnswer::Descendants(self.nodes.keys().filter(|other| *other != at && other.is_within(at)).count())
            }
        }
    }

    fn children<'a>(&'a self, at: &'a ZnodePath) -> impl Iterator<Item = &'a ZnodePath> {
        self.nodes.keys().filter(move |other| other.parent_str() == Some(at.as_str()))
    }

    /// Delivers up to `count` messages to the client.
    pub(super) fn deliver(&mut self, count: usize) {
        for _ in 0..count {
            match self.wire.pop_front() {
                Some(Item::Event(event, at, watch)) => self.events.push_back((event, at, watch)),
                Some(Item::Answer(request, answers, watch)) => self.answers.push((request, answers, watch)),
                None => return,
            }
        }
    }

    /// Handles the events that reached the client; one-shot events only where the client knows the
    /// watch.
    pub(super) fn handle_events(&mut self) {
        for (event, at, watch) in std::mem::take(&mut self.events) {
            if watch.is_some_and(|watch| !self.armed.remove(&watch)) {
                self.events.push_back((event, at, watch));
            } else {
                self.follower.event(event, &at, None);
            }
        }
        self.pump();
    }

    /// Handles one of the answers that reached the client, after all events that did.
    pub(super) fn handle_answer(&mut self, which: usize) {
        if self.answers.is_empty() {
            return;
        }
        if self.watching == WatchStyle::Recursive {
            self.handle_events();
        }
        let (request, answers, watch) = self.answers.remove(which % self.answers.len());
        self.scheduler.answered(&request, answers.iter());
        for (read, answer) in request.reads.iter().zip(answers) {
            self.follower.answer(read, answer);
        }
        self.armed.extend(watch);
        self.pump();
    }

    fn pump(&mut self) {
        while let Some(request) = self.scheduler.next(&mut self.follower, self.now) {
            self.requests.push_back(request);
            self.sent += 1;
        }
        if self.follower.waiting() != (0, 0) {
            self.follower.report_unread();
        }
        for change in self.follower.take_changes() {
            self.apply(&change);
            self.changes.push(change);
        }
    }

    /// Applies a change as a lock table would.
    fn apply(&mut self, change: &Change) {
        match change {
            Change::Syncing => {
                self.unconfirmed = self.seen.keys().chain(&self.listed).cloned().collect();
            }
            Change::Seen { path, node } => {
                self.unconfirmed.remove(path);
                self.seen.insert(path.clone(), node.clone());
            }
            Change::Listed { path, .. } => {
                self.unconfirmed.remove(path);
                self.listed.insert(path.clone());
            }
            Change::Deleted { path, .. } => {
                self.seen.remove(path);
                self.listed.remove(path);
            }
            Change::Synced => {
                for gone in std::mem::take(&mut self.unconfirmed) {
                    self.seen.remove(&gone);
                    self.listed.remove(&gone);
                }
            }
            _ => {}
        }
    }

    /// Advances the clock and sends the reads that waited for it.
    pub(super) fn pass(&mut self, time: Duration) {
        self.now += time;
        self.pump();
    }

    /// Returns whether reads wait for their time.
    fn waits(&self) -> bool {
        self.connected && self.scheduler.wakes_at().is_some()
    }

    /// Runs until nothing is under way any more.
    pub(super) fn settle(&mut self) {
        for _ in 0..100_000 {
            self.serve(usize::MAX);
            self.deliver(usize::MAX);
            self.handle_events();
            self.handle_answer(0);
            let idle = self.requests.is_empty() && self.wire.is_empty() && self.answers.is_empty();
            if self.waits() {
                self.pass(Duration::from_millis(1));
            } else if idle
                && self.events.iter().all(|(_, _, watch)| watch.is_some_and(|watch| !self.armed.contains(&watch)))
            {
                return;
            }
        }
        panic!("it never comes to an end");
    }

    /// Returns the contenders of the tree, with the transactions that created them and changed
    /// their data.
    pub(super) fn contenders(&self) -> BTreeMap<ZnodePath, (i64, i64)> {
        let classifier = self.classifier();
        let visible = |at: &ZnodePath| self.follower.roots().iter().any(|root| at.is_within(root));
        self.nodes
            .iter()
            .filter(|(at, (_, _, ephemeral))| {
                let counts = classifier.classify(at).is_some_and(|place| *ephemeral || !place.needs_ephemeral());
                visible(at) && (counts || holds_maximum(&classifier, at))
            })
            .map(|(at, (czxid, mzxid, _))| (at.clone(), (*czxid, *mzxid)))
            .collect()
    }

    /// Returns the contenders according to the changes. A contender that lost its place through a
    /// hint is left out.
    pub(super) fn found(&self) -> BTreeMap<ZnodePath, (i64, i64)> {
        let shape = self.classifier();
        self.seen
            .iter()
            .filter(|(at, node)| {
                let owned = node.stat.ephemeral_owner.is_some();
                let counts = shape.classify(at).is_some_and(|place| owned || !place.needs_ephemeral());
                counts || holds_maximum(&shape, at)
            })
            .map(|(at, node)| (at.clone(), (node.stat.czxid.0, node.stat.mzxid.0)))
            .collect()
    }

    fn classifier(&self) -> Classifier {
        let mut classifier = Classifier::new([]);
        for at in self.nodes.keys().filter(|at| self.follower.roots().iter().any(|root| at.is_within(root))) {
            classifier.add_hint(at);
        }
        classifier
    }
}

fn holds_maximum(classifier: &Classifier, at: &ZnodePath) -> bool {
    let lease = classifier.classify(&at.child(&"0".repeat(32)));
    lease.is_some_and(|place| place.role == Role::Lease && place.lock == *at)
}
