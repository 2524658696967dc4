//! Shared parts of the tests of locks.

use std::num::NonZeroU32;
use std::time::Duration;

use lockscope_lock::{Access, Algorithm, Guard, Lock, LockError, LockOptions, Parents};
use tokio::task::JoinHandle;
use zookeeper_client::{Client, Connector, Error};

use crate::harness::relay::Relay;
use crate::harness::server::Server;
use crate::harness::wait::eventually;
use crate::harness::zk;

/// Long enough for a test to see a wait, short enough to wait for.
pub const SHORT_WAIT: Duration = Duration::from_millis(300);

pub const LEASES: NonZeroU32 = NonZeroU32::new(1).expect("a number above zero");

/// Every algorithm, configured for a single holder.
pub const ALONE: [Algorithm; 8] = [
    Algorithm::Mutex,
    Algorithm::MutexParent,
    Algorithm::Herd,
    Algorithm::Chain,
    Algorithm::ChainAhead,
    Algorithm::SharedHerd(Access::Write),
    Algorithm::SharedChain(Access::Write),
    Algorithm::Semaphore(LEASES),
];

/// The algorithms whose queue is visible in the tree, with one node for each contender.
pub const QUEUES: [Algorithm; 5] = [
    Algorithm::Herd,
    Algorithm::Chain,
    Algorithm::ChainAhead,
    Algorithm::SharedHerd(Access::Write),
    Algorithm::SharedChain(Access::Write),
];

/// A chroot for one test on the shared server.
#[derive(Debug)]
pub struct LockFixture {
    pub connect: String,
}

impl LockFixture {
    pub async fn new() -> Self {
        Self { connect: zk::own_root("locks").await }
    }

    pub async fn client(&self) -> Client {
        zk::connect(&self.connect).await
    }

    /// Returns a lock with a session of its own. All locks with the same name and algorithm are the
    /// same lock.
    pub async fn lock(&self, algorithm: Algorithm) -> Lock {
        lock(&self.client().await, algorithm)
    }

    pub async fn locks<const N: usize>(&self, algorithm: Algorithm) -> [Lock; N] {
        let mut locks = Vec::new();
        for _ in 0..N {
            locks.push(self.lock(algorithm).await);
        }
        locks.try_into().expect("as many")
    }

    /// Creates the parents of a lock's nodes. They are not containers, which the server may remove
    /// while they are empty.
    pub async fn make_parents(&self, algorithm: Algorithm) {
        let options = LockOptions::default().parents(Parents::Persistent);
        let lock = Lock::with(&self.client().await, &path(algorithm), algorithm, options).expect("a good path");
        held(&lock).await.release().await.expect("it was held");
        self.until_nodes(0).await;
    }

    /// Returns all ephemeral nodes below the chroot.
    pub async fn nodes(&self) -> Vec<String> {
        let nodes = zk::tree(&self.client().await, "/").await;
        nodes.into_iter().filter(|node| node.stat.ephemeral_owner != 0).map(|node| node.path).collect()
    }

    /// Waits until there are `count` ephemeral nodes. Returns them in the order of creation.
    pub async fn until_nodes(&self, count: usize) -> Vec<String> {
        let client = self.client().await;
        eventually("that many nodes", async || {
            let mut nodes = zk::tree(&client, "/").await;
            nodes.retain(|node| node.stat.ephemeral_owner != 0);
            nodes.sort_by_key(|node| node.stat.czxid);
            let paths: Vec<String> = nodes.into_iter().map(|node| node.path).collect();
            if paths.len() == count { Ok(paths) } else { Err(paths) }
        })
        .await
    }

    /// Lets locks join the queue one after the other; the first `holding` nodes already exist.
    pub async fn queue_up(&self, locks: &[Lock], holding: usize) -> Vec<Waiting> {
        let mut waiting = Vec::new();
        for (index, lock) in locks.iter().enumerate() {
            waiting.push(wait_for(lock));
            self.until_nodes(holding + index + 1).await;
        }
        waiting
    }
}

pub type Waiting = JoinHandle<Result<Guard, LockError>>;

pub fn lock(client: &Client, algorithm: Algorithm) -> Lock {
    Lock::new(client, &path(algorithm), algorithm).expect("a good path")
}

fn path(algorithm: Algorithm) -> String {
    format!("/{}", algorithm.name())
}

/// Acquires in the background.
pub fn wait_for(lock: &Lock) -> Waiting {
    let lock = lock.clone();
    tokio::spawn(async move { lock.acquire().await })
}

/// Acquires. Panics with the reason when that fails or takes too long.
pub async fn held(lock: &Lock) -> Guard {
    got(wait_for(lock)).await
}

/// Returns the guard of a background acquire.
pub async fn got(waiting: Waiting) -> Guard {
    ended(waiting).await.expect("the lock")
}

/// Returns the result of a background acquire.
pub async fn ended(waiting: Waiting) -> Result<Guard, LockError> {
    let ended = tokio::time::timeout(crate::harness::wait::PATIENCE, waiting).await;
    ended.expect("it ends in time").expect("it does not panic")
}

/// Deletes a node with another client.
pub async fn delete(client: &Client, path: &str) {
    match client.delete(path, None).await {
        Ok(()) => {}
        Err(Error::NoNode) => panic!("{path} was gone already"),
        Err(error) => panic!("{path}: {error}"),
    }
}

/// A client whose requests go through a relay.
pub struct Relayed {
    pub relay: Relay,
    pub client: Client,
}

impl Relayed {
    pub async fn new(fixture: &LockFixture, timeout: Duration) -> Self {
        Self::with(fixture, Client::connector().with_session_timeout(timeout)).await
    }

    pub async fn with(fixture: &LockFixture, connector: Connector) -> Self {
        let (server, chroot) = fixture.connect.split_once('/').expect("a chroot");
        let relay = Relay::start(server).await;
        let client = connector.connect(&format!("{}/{chroot}", relay.connect_string())).await.expect("a session");
        Self { relay, client }
    }

    /// Ends the session at the server while its client is cut off, as an expiry does. The client
    /// notices when it is connected again.
    pub async fn end_session(&self, server: &Server) {
        self.relay.refuse().await;
        let session = self.client.session().clone();
        let taken_over = Client::connector().with_session(session).connect(&server.connect_string()).await;
        drop(taken_over.expect("the session is taken over"));
        let id = format!("0x{:x}", self.client.session_id().0);
        eventually("the end of the session", async || match server.words("dump") {
            dump if dump.contains(&id) => Err(dump),
            _ => Ok(()),
        })
        .await;
        self.relay.heal();
    }
}
