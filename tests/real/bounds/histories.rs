//! Random histories of many locks on a real server, whose holders the test knows: no bound is ever
//! wrong.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::join_all;
use lockscope_base::recipe::LockKind;
use lockscope_base::time::now;
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_live::observe::Observer;
use lockscope_model::queue::{ContenderState, HoldBounds, LockTable};
use tokio::time::timeout;
use zookeeper_client::{Client, CreateMode};

use crate::harness::wait::{PATIENCE, eventually};
use crate::harness::zk;
use crate::observe::fixture::{connection, observing};

/// The number of locks, each with a history of its own.
const HISTORIES: usize = 200;

/// The maximum number of creates and deletes in each history.
const MOST_STEPS: usize = 12;

/// The earliest and the latest time of an event, by the test's clock, which is the server's too.
type Between = (Timestamp, Timestamp);

/// A node in a queue, in the order of creation.
#[derive(Clone, Debug)]
struct Contender {
    path: String,
    reads: bool,
    created: Between,
}

/// A lock and its history.
#[derive(Debug)]
struct History {
    recipe: usize,
    parent: String,
    contenders: Vec<Contender>,
    /// When each holder began to hold.
    held: BTreeMap<String, Between>,
    /// When a child of the parent was last deleted.
    deleted: Option<Between>,
    number: u64,
}

impl History {
    fn new(number: usize) -> Self {
        let recipe = number % 7;
        let parent = format!("/histories/{number:03}");
        Self { recipe, parent, contenders: Vec::new(), held: BTreeMap::new(), deleted: None, number: number as u64 }
    }

    /// Returns the beginning of a new node's name, and whether the node requests to read.
    fn name(&self, random: &mut fastrand::Rng) -> (String, bool) {
        let id = format!("{:08x}-0000-4000-8000-{:012x}", random.u32(..), self.number);
        let hex = format!("{:032x}", random.u128(..));
        let reads = random.bool();
        match self.recipe {
            0 => (format!("_c_{id}-lock-"), false),
            1 => (format!("{hex}__lock__"), false),
            2 => (format!("_c_{id}-latch-"), false),
            3 => (format!("x-{}-", random.u32(..)), false),
            4 if reads => (format!("_c_{id}-__READ__"), true),
            4 => (format!("_c_{id}-__WRIT__"), false),
            5 if reads => ("read-".to_owned(), true),
            5 => ("write-".to_owned(), false),
            _ => ("lock-".to_owned(), false),
        }
    }

    async fn create(&mut self, client: &Client, random: &mut fastrand::Rng) {
        let (name, reads) = self.name(random);
        let path = format!("{}/{name}", self.parent);
        let before = now();
        let created = client.create(&path, b"", &zk::open(CreateMode::EphemeralSequential)).await;
        let (_, sequence) = created.expect("its parent is there");
        let created = (before, now());
        self.contenders.push(Contender { path: format!("{path}{sequence}"), reads, created });
        self.settle(created);
    }

    async fn delete(&mut self, client: &Client, which: usize) {
        let gone = self.contenders.remove(which);
        let before = now();
        client.delete(&gone.path, None).await.expect("it is there");
        let deleted = (before, now());
        self.deleted = Some(deleted);
        self.settle(deleted);
    }

    /// Creates and deletes a child that is no contender, which changes no holder.
    async fn disturb(&mut self, client: &Client) {
        let path = format!("{}/notes", self.parent);
        client.create(&path, b"", &zk::open(CreateMode::Persistent)).await.expect("it is free");
        let before = now();
        client.delete(&path, None).await.expect("it is there");
        self.deleted = Some((before, now()));
    }

    /// Updates the holders after an event: the first contender, or all readers before the first
    /// writer.
    fn settle(&mut self, at: Between) {
        let readers = self.contenders.iter().take_while(|contender| contender.reads).count();
        let holding = readers.max(1).min(self.contenders.len());
        let before = std::mem::take(&mut self.held);
        let holders = self.contenders[..holding].iter();
        self.held =
            holders.map(|holder| (holder.path.clone(), before.get(&holder.path).copied().unwrap_or(at))).collect();
    }

    async fn run(mut self, client: &Client, seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..random.usize(1..=MOST_STEPS) {
            match random.u8(..10) {
                0 => self.disturb(client).await,
                1..4 if !self.contenders.is_empty() => self.delete(client, random.usize(..self.contenders.len())).await,
                _ => self.create(client, &mut random).await,
            }
            // Waits for no event: bounds are about time, so histories need both long and short
            // steps.
            tokio::time::sleep(Duration::from_millis(random.u64(..40))).await;
        }
        if random.u8(..3) == 0 && !self.contenders.is_empty() {
            self.delete(client, 0).await;
        }
        self
    }

    /// Checks the table's bounds for each holder.
    fn check(&self, table: &LockTable, at: Timestamp) -> usize {
        let path = ZnodePath::new(&self.parent).expect("a path");
        let lock = table.find(&path, None).and_then(|id| table.lock(id));
        let Some(lock) = lock.filter(|lock| !lock.is_empty()) else {
            assert!(self.held.is_empty(), "{self:?}");
            return 0;
        };
        let holders = lock.rows(0..lock.len()).filter(|row| row.state == ContenderState::Holds);
        let holders: Vec<_> = holders.map(|row| row.contender).collect();
        assert_eq!(holders.len(), self.held.len(), "{self:?}");
        for holder in &holders {
            let (earliest, latest) = self.held[lock.path_of(holder).as_str()];
            let HoldBounds { at_least, at_most } = table.clock().hold_bounds(holder, at).expect("it holds");
            assert!(at_least <= at.since(earliest), "{at_least:?} of {:?}: {self:?}", at.since(earliest));
            assert!(at_most >= at.since(latest), "{at_most:?} of {:?}: {self:?}", at.since(latest));
        }
        let since = table.clock().no_handover_since(lock).expect("it is held");
        let latest = self.held.values().map(|(earliest, _)| *earliest).max().expect("somebody holds");
        assert!(since >= latest && since <= at, "{since:?}: {self:?}");
        if lock.kind() != LockKind::ReadWrite {
            let bounds = table.clock().hold_bounds(holders[0], at).expect("it holds");
            assert!(since.plus(bounds.at_least) >= at, "one says more than the other: {self:?}");
        }
        self.tight(table.clock().hold_bounds(holders[0], at).expect("it holds"), at)
    }

    /// Checks that the bound reaches back to the newest contender's arrival if nothing was deleted
    /// since. Returns 1 if so, and 0 if there is nothing to check.
    fn tight(&self, HoldBounds { at_least, .. }: HoldBounds, at: Timestamp) -> usize {
        let newest = self.contenders.last().expect("somebody contends").created;
        if self.deleted.is_some_and(|(_, deleted)| deleted >= newest.0) {
            return 0;
        }
        assert!(
            at_least >= at.since(newest.1),
            "{at_least:?}, and the newest came {:?} ago: {self:?}",
            at.since(newest.1)
        );
        1
    }
}

/// Reads everything once, as every console does at first.
async fn first_look(connect: &str) -> (LockTable, Timestamp) {
    let mut observer = Observer::start(observing(connection(connect)));
    let mut table = LockTable::new([]);
    let mut at = Timestamp::default();
    let reading = async {
        while !table.is_live() {
            for observed in observer.next().await.expect("the observer goes on") {
                at = observed.at;
                table.apply(observed.change, observed.at);
            }
        }
    };
    timeout(PATIENCE, reading).await.expect("everything is read in time");
    observer.stop().await;
    (table, at)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_bound_of_two_hundred_random_histories_holds() {
    let at = zk::own_root("bounds").await;
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut clients = Vec::new();
    for _ in 0..4 {
        clients.push(zk::connect(&at).await);
    }
    let histories: Vec<History> = (0..HISTORIES).map(History::new).collect();
    zk::make(&clients[0], histories.iter().map(|history| history.parent.clone())).await;
    let running = histories.into_iter().enumerate().map(|(number, history)| {
        let client = &clients[number % clients.len()];
        history.run(client, seed.wrapping_add(number as u64))
    });
    let mut histories = join_all(running).await;
    let ended = now();
    for quiet in [Duration::ZERO, Duration::from_secs(1)] {
        // At the second look each lock has been quiet for a while, by the clock by which the bounds
        // are checked.
        eventually("quiet locks", async || {
            let stood = now().since(ended);
            if stood >= quiet { Ok(()) } else { Err(stood) }
        })
        .await;
        let (table, read) = first_look(&at).await;
        let tight: usize = histories.iter().map(|history| history.check(&table, read)).sum();
        println!("{tight} of {HISTORIES} bounds are as tight as the newest contender");
        assert!(tight > HISTORIES / 10, "most histories show nothing: {tight}");
    }
    // A lock that was handed on between the looks is bounded by what was later created elsewhere.
    let handed_on = histories.iter().position(|history| history.contenders.len() > 1).expect("one has a waiter");
    let history = &mut histories[handed_on];
    history.delete(&clients[handed_on % clients.len()], 0).await;
    let elsewhere =
        histories.iter().position(|history| history.contenders.is_empty()).unwrap_or((handed_on + 1) % HISTORIES);
    let mut random = fastrand::Rng::with_seed(seed);
    histories[elsewhere].create(&clients[elsewhere % clients.len()], &mut random).await;
    let created = histories[elsewhere].contenders.last().expect("it was created").created.1;
    let (table, read) = first_look(&at).await;
    for history in &histories {
        history.check(&table, read);
    }
    let path = ZnodePath::new(&histories[handed_on].parent).expect("a path");
    let lock = table.find(&path, None).and_then(|id| table.lock(id)).expect("it is there");
    let bounds = table.clock().hold_bounds(lock.first_holder().expect("it is held"), read).expect("it holds");
    assert!(bounds.at_least >= read.since(created), "{bounds:?}");
}
