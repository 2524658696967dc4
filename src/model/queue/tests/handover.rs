//! Each contender of a semaphore stays one contender, in whatever order events and answers arrive.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proptest::prelude::*;

use super::TableFixture;
use crate::queue::{Change, ContenderState, Happening, LockEvent};
use crate::testing::{deleted, path, uuid};
use lockscope_base::znode::{Node, ZnodePath};

/// The parent of the leases in Curator's semaphore.
const LEASES: &str = "/s/leases";

/// The stage of a client in the recipe.
#[derive(Clone, Debug, PartialEq, Eq)]
enum At {
    Queue(ZnodePath),
    Both(ZnodePath, ZnodePath),
    Lease(ZnodePath),
}

#[derive(Clone, Debug)]
enum Step {
    /// A client joins the queue.
    Come,
    /// The head of the queue creates its lease, or leaves the queue if it has one.
    Advance,
    /// The head gives up. Its lease, if any, is deleted first.
    GiveUp,
    /// A holder returns its lease.
    Return(prop::sample::Index),
    /// A session ends. Its queue node is deleted first or last.
    Die(prop::sample::Index, bool),
    /// The server deletes the empty parent of Curator's leases, a container.
    Clean,
    /// The answer to the oldest read arrives.
    Answer,
    /// The connection is cut, these steps happen, and then everything is read again.
    Cut(Vec<Step>),
    /// As `Cut`, with a second cut and more steps during the complete reading.
    CutTwice(Vec<Step>, prop::sample::Index, Vec<Step>),
    /// As `Cut`, but more steps happen during the complete reading, and the table sees them.
    CutAndGoOn(Vec<Step>, prop::sample::Index, Vec<Step>),
}

/// Generates the steps of clients while the connection lasts.
fn plain_step() -> impl Strategy<Value = Step> + Clone {
    prop_oneof![
        4 => Just(Step::Come),
        8 => Just(Step::Advance),
        1 => Just(Step::GiveUp),
        3 => any::<prop::sample::Index>().prop_map(Step::Return),
        6 => Just(Step::Answer),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let dies = any::<(prop::sample::Index, bool)>().prop_map(|(who, queue_first)| Step::Die(who, queue_first));
    let uncut = prop_oneof![22 => plain_step(), 1 => dies, 1 => Just(Step::Clean)];
    let meanwhile = prop::collection::vec(uncut.clone(), 0..12);
    let cut = meanwhile.clone().prop_map(Step::Cut);
    let in_two = (meanwhile.clone(), any::<prop::sample::Index>(), meanwhile);
    let cut_twice = in_two.clone().prop_map(|(before, read, after)| Step::CutTwice(before, read, after));
    let cut_and_go_on = in_two.prop_map(|(before, read, after)| Step::CutAndGoOn(before, read, after));
    prop_oneof![60 => uncut, 1 => cut, 1 => cut_twice, 1 => cut_and_go_on]
}

/// A server with its clients, and a table that watches: events arrive at once, answers later.
struct SemaphoreFixture {
    server: TableFixture,
    kazoo: bool,
    /// Whether all threads share one session, as the threads of a process do.
    shared: bool,
    clients: Vec<(u32, At)>,
    /// The answers that are on their way.
    reads: VecDeque<(ZnodePath, Node)>,
    next: u32,
    cut: bool,
    lines: Vec<Happening>,
}

impl SemaphoreFixture {
    fn new(kazoo: bool, shared: bool) -> Self {
        let mut fixture = TableFixture::new();
        if kazoo {
            fixture.create_plain("/k", None);
            fixture.create_plain("/k-__lock__", None);
        } else {
            fixture.create_plain("/s/locks", None);
            fixture.create_plain(LEASES, None);
        }
        Self {
            server: fixture,
            kazoo,
            shared,
            clients: Vec::new(),
            reads: VecDeque::new(),
            next: 0,
            cut: false,
            lines: Vec::new(),
        }
    }

    fn session(&self, client: u32) -> i64 {
        if self.shared { 1 } else { i64::from(client) }
    }

    fn apply(&mut self, change: Change) {
        let lines = self.server.apply(change);
        self.lines.extend(lines);
    }

    fn create(&mut self, prefix: &str, client: u32) -> ZnodePath {
        let session = self.session(client);
        let at = if prefix.ends_with('-') || prefix.ends_with("lock__") {
            self.server.put_numbered(prefix, session)
        } else {
            self.server.put(prefix, Some(session))
        };
        if !self.cut {
            self.apply(Change::Appeared { path: at.clone() });
            self.reads.push_back((at.clone(), self.server.tree[&at].clone()));
        }
        at
    }

    /// Creates the parent of Curator's leases if it is missing.
    fn make_leases(&mut self) {
        let leases = path(LEASES);
        if !self.server.tree.contains_key(&leases) {
            self.server.put(LEASES, None);
            if !self.cut {
                self.apply(Change::Appeared { path: leases });
            }
        }
    }

    fn delete(&mut self, at: &ZnodePath) {
        self.server.tree.remove(at);
        if !self.cut {
            // The answer on its way is outdated.
            self.reads.retain(|(read, _)| read != at);
            self.apply(deleted(at));
        }
    }

    fn head(&self) -> Option<usize> {
        self.clients.iter().position(|(_, at)| !matches!(at, At::Lease(_)))
    }

    fn choose(&self, who: prop::sample::Index) -> Option<usize> {
        (!self.clients.is_empty()).then(|| who.index(self.clients.len()))
    }

    fn apply_step(&mut self, step: &Step) {
        match step {
            Step::Come => {
                self.next += 1;
                let queue = if self.kazoo {
                    format!("/k-__lock__/{:032x}__lock__", self.next)
                } else {
                    format!("/s/locks/_c_{}-lock-", uuid(self.next))
                };
                let at = self.create(&queue, self.next);
                self.clients.push((self.next, At::Queue(at)));
            }
            Step::Advance => {
                let Some(head) = self.head() else { return };
                let (client, at) = self.clients[head].clone();
                self.clients[head].1 = match at {
                    At::Queue(queue) => {
                        let lease = if self.kazoo {
                            format!("/k/{:032x}", 10_000 + client)
                        } else {
                            self.make_leases();
                            format!("{LEASES}/_c_{}-lease-", uuid(10_000 + client))
                        };
                        At::Both(queue, self.create(&lease, client))
                    }
                    At::Both(queue, lease) => {
                        self.delete(&queue);
                        At::Lease(lease)
                    }
                    lease @ At::Lease(_) => lease,
                };
            }
            Step::GiveUp => {
                let Some(head) = self.head() else { return };
                match self.clients.remove(head).1 {
                    At::Both(queue, lease) => {
                        self.delete(&lease);
                        self.delete(&queue);
                    }
                    At::Queue(at) | At::Lease(at) => self.delete(&at),
                }
            }
            Step::Return(which) => {
                let held: Vec<usize> =
                    (0..self.clients.len()).filter(|at| matches!(self.clients[*at].1, At::Lease(_))).collect();
                if held.is_empty() {
                    return;
                }
                if let At::Lease(at) = self.clients.remove(*which.get(&held)).1 {
                    self.delete(&at);
                }
            }
            Step::Die(who, queue_first) => {
                let Some(who) = self.choose(*who) else { return };
                let nodes = match self.clients.remove(who).1 {
                    At::Both(queue, lease) if *queue_first => vec![queue, lease],
                    At::Both(queue, lease) => vec![lease, queue],
                    At::Queue(at) | At::Lease(at) => vec![at],
                };
                for node in &nodes {
                    self.delete(node);
                }
            }
            Step::Clean => {
                let leases = path(LEASES);
                let is_empty = !self.server.tree.keys().any(|at| *at != leases && at.is_within(&leases));
                if is_empty && self.server.tree.contains_key(&leases) {
                    self.delete(&leases);
                }
            }
            Step::Answer => {
                if let Some((path, node)) = self.reads.pop_front() {
                    self.apply(Change::Seen { path, node });
                }
            }
            Step::Cut(meanwhile) => {
                self.while_cut(meanwhile);
                let lines = self.server.reconnect();
                self.lines.extend(lines);
            }
            Step::CutTwice(before, read, after) => {
                self.while_cut(before);
                let lines = self.server.reconnect_for(*read);
                self.lines.extend(lines);
                self.apply_step(&Step::Cut(after.clone()));
            }
            Step::CutAndGoOn(before, read, after) => {
                self.while_cut(before);
                let lines = self.server.reconnect_for(*read);
                self.lines.extend(lines);
                for step in after {
                    self.apply_step(step);
                }
                let rest = self.server.walk().into_iter().filter(|change| *change != Change::Syncing);
                for change in rest.collect::<Vec<_>>() {
                    self.apply(change);
                }
            }
        }
    }

    fn while_cut(&mut self, steps: &[Step]) {
        self.reads.clear();
        self.cut = true;
        for step in steps {
            self.apply_step(step);
        }
        self.cut = false;
    }

    fn settle(&mut self) {
        while !self.reads.is_empty() {
            self.apply_step(&Step::Answer);
        }
    }

    /// Returns each contender's reported events, in order. Locks that are gone are left out.
    fn contenders(&self) -> BTreeMap<(ZnodePath, String), Vec<LockEvent>> {
        let mut contenders: BTreeMap<(ZnodePath, String), Vec<LockEvent>> = BTreeMap::new();
        for line in &self.lines {
            let Some(lock) = &line.lock else { continue };
            if line.event == LockEvent::LockGone {
                contenders.retain(|(path, _), _| *path != lock.path);
            }
            if let Some(contender) = &line.contender {
                contenders.entry((lock.path.clone(), contender.to_string())).or_default().push(line.event);
            }
        }
        contenders
    }
}

impl SemaphoreFixture {
    /// Returns the contenders by their last reported events.
    fn said_to_be_there(&self) -> BTreeSet<(ZnodePath, String)> {
        let there = |events: &Vec<LockEvent>| matches!(events.last(), Some(LockEvent::Enqueued | LockEvent::Acquired));
        self.contenders().into_iter().filter(|(_, events)| there(events)).map(|(contender, _)| contender).collect()
    }

    /// Returns the contenders that the table shows.
    fn shown(&self) -> BTreeSet<(ZnodePath, String)> {
        let rows = self.server.table.locks().flat_map(|lock| lock.rows(0..lock.len()).map(move |row| (lock, row)));
        rows.map(|(lock, row)| (lock.path().clone(), row.contender.id().to_string())).collect()
    }
}

const COMPLETE_HISTORIES: [&[LockEvent]; 5] = [
    &[LockEvent::Enqueued],
    &[LockEvent::Enqueued, LockEvent::Left],
    &[LockEvent::Enqueued, LockEvent::Acquired],
    &[LockEvent::Enqueued, LockEvent::Acquired, LockEvent::Released],
    // No part of the hand-over was seen.
    &[LockEvent::Enqueued, LockEvent::Released],
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn each_contender_enqueues_and_acquires_and_releases_or_enqueues_and_leaves(
        steps in prop::collection::vec(step(), 1..90),
        kazoo in any::<bool>(),
    ) {
        // After a cut, the actions of threads that share a session cannot be told apart.
        let mut fixture = SemaphoreFixture::new(kazoo, false);
        for step in &steps {
            fixture.apply_step(step);
        }
        fixture.settle();
        for ((lock, contender), events) in fixture.contenders() {
            prop_assert!(COMPLETE_HISTORIES[..4].contains(&events.as_slice()), "{contender} in {lock}: {events:?}");
        }
        prop_assert_eq!(fixture.said_to_be_there(), fixture.shown());
        let table = &fixture.server.table;
        prop_assert!(table.announced.is_empty(), "{:?}", table.announced);
        for handover in table.locks.values().filter_map(|lock| lock.handover()) {
            prop_assert!(!handover.awaits_something(), "{handover:?}");
        }
    }

    #[test]
    fn without_a_cut_it_is_said_of_each_what_it_did(
        steps in prop::collection::vec(plain_step(), 1..90),
        kazoo in any::<bool>(),
        shared in any::<bool>(),
    ) {
        let mut fixture = SemaphoreFixture::new(kazoo, shared);
        let mut gave_up = 0;
        for step in &steps {
            let queued = fixture.server.table.contender_count();
            let gives_up = matches!(step, Step::GiveUp) && fixture.head().is_some();
            fixture.apply_step(step);
            gave_up += usize::from(gives_up && fixture.server.table.contender_count() < queued);
            let in_queues: usize = fixture.server.table.locks().map(crate::queue::LockQueue::len).sum();
            prop_assert_eq!(fixture.server.table.contender_count(), in_queues, "nobody counts twice");
        }
        fixture.settle();
        let left = fixture.contenders().values().filter(|events| events.ends_with(&[LockEvent::Left])).count();
        prop_assert!(left <= gave_up, "{left} left, and {gave_up} gave up");
        let holding = fixture.clients.iter().filter(|(_, at)| matches!(at, At::Lease(_))).count();
        let lock = path(if kazoo { "/k" } else { "/s" });
        let lock = fixture.server.table.find(&lock, None).and_then(|id| fixture.server.table.lock(id));
        prop_assert_eq!(lock.map_or(0, crate::queue::LockQueue::holding), holding);
        let waits = |state| lock.map_or(0, |lock| lock.rows(0..lock.len()).filter(|row| row.state == state).count());
        prop_assert_eq!(waits(ContenderState::Waits), fixture.clients.len() - holding);
    }
}

#[test]
fn a_lease_that_is_returned_before_it_is_read_was_held() {
    let mut fixture = SemaphoreFixture::new(false, false);
    for step in [Step::Come, Step::Answer, Step::Advance, Step::Advance, Step::Return(index())] {
        fixture.apply_step(&step);
    }
    let contenders = fixture.contenders();
    assert_eq!(
        contenders.values().collect::<Vec<_>>(),
        [&vec![LockEvent::Enqueued, LockEvent::Acquired, LockEvent::Released]]
    );
}

#[test]
fn a_contender_from_before_the_first_look_has_waited_since_its_creation() {
    let mut fixture = SemaphoreFixture::new(false, false);
    fixture.cut = true;
    fixture.apply_step(&Step::Come);
    fixture.cut = false;
    let came = fixture.server.now;
    fixture.server.table = fixture.server.fresh();
    fixture.server.now = lockscope_base::znode::Timestamp(came.0 + 60_000);
    for step in [Step::Advance, Step::Answer, Step::Advance] {
        fixture.apply_step(&step);
    }
    let acquired = fixture.lines.last().expect("an acquisition");
    assert_eq!((acquired.event, acquired.waited_ms), (LockEvent::Acquired, Some(60_030)));
    assert!(acquired.contender.as_ref().is_some_and(|contender| contender.node.contains("-lock-")));
}

fn index() -> prop::sample::Index {
    use proptest::strategy::{Strategy, ValueTree};
    use proptest::test_runner::TestRunner;
    any::<prop::sample::Index>().new_tree(&mut TestRunner::deterministic()).expect("an index").current()
}
