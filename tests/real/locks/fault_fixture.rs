//! A lock, a client behind a relay, other clients without one, and the conditions that must hold at
//! any time.

use std::future::Future;
use std::time::Duration;

use lockscope_lock::{Lock, LockError};
use zookeeper_client::Client;

use super::ours::{Held, Recipe};
use crate::harness::relay::Relay;
use crate::harness::server::Server;
use crate::harness::wait::{PATIENCE, eventually};
use crate::harness::zk;

/// How long a client may be inactive before it counts as hanging.
const HANGING: Duration = PATIENCE;

/// A lock for one test on the shared server.
pub struct FaultFixture {
    pub recipe: Recipe,
    pub relay: Relay,
    /// The client behind the relay.
    pub faulty: Client,
    /// The faulty client's lock.
    pub lock: Lock,
    /// A client without a relay, like `third` and the observers.
    pub other: Client,
    pub third: Client,
    /// The lock's path, which does not exist yet.
    pub path: String,
}

impl FaultFixture {
    pub async fn new(recipe: Recipe) -> Self {
        let server = Server::shared().connect_string();
        let path = zk::own_root("locks").await.split_off(server.len()) + "/lock";
        let relay = Relay::start(&server).await;
        let faulty = zk::connect(&relay.connect_string()).await;
        let lock = recipe.lock(&faulty, &path);
        let (other, third) = (zk::connect(&server).await, zk::connect(&server).await);
        let fixture = Self { recipe, relay, faulty, lock, other, third, path };
        if recipe.has_waited {
            fixture.let_it_wait().await;
        }
        fixture
    }

    /// Lets the faulty client's lock wait behind two others once, before any fault.
    async fn let_it_wait(&self) {
        let first = self.recipe.acquire(&self.other, &self.path).await.expect("nobody holds");
        let (recipe, third, path) = (self.recipe, self.third.clone(), self.path.clone());
        let second = tokio::spawn(async move { recipe.acquire(&third, &path).await });
        self.until_nodes_of(&self.third, 1).await;
        self.relay.record();
        let lock = self.lock.clone();
        let waiting = tokio::spawn(async move { lock.acquire().await });
        eventually("a waiter", async || match self.relay.recorded() {
            log if log.iter().any(|passed| passed.is_watch_set()) => Ok(()),
            log => Err(log),
        })
        .await;
        first.release().await.expect("its connection is sound");
        second.await.expect("no panic").expect("it is next").release().await.expect("its connection is sound");
        waiting.await.expect("no panic").expect("it is next").release().await.expect("there is no fault yet");
    }

    /// Acquires the lock with the faulty client.
    pub async fn acquire(&self) -> Result<Held, LockError> {
        self.lock.acquire().await.map(Held)
    }

    /// Returns the lock's ephemeral nodes of a session, or of all sessions with `None`.
    pub async fn nodes_of(&self, session: Option<&Client>) -> Vec<String> {
        let session = session.map(|session| session.session_id().0);
        let root = self.path.rsplit_once('/').expect("it has a root").0;
        let owned = |owner: i64| session.map_or(owner != 0, |session| owner == session);
        let nodes = zk::tree(&self.other, root).await.into_iter();
        nodes.filter(|node| owned(node.stat.ephemeral_owner)).map(|node| node.path).collect()
    }

    /// Returns how many watches of the faulty client were confirmed.
    pub fn watches_set(&self) -> usize {
        self.relay.recorded().iter().filter(|passed| passed.is_watch_set()).count()
    }

    /// Waits until a session owns `count` ephemeral nodes of the lock.
    pub async fn until_nodes_of(&self, session: &Client, count: usize) {
        eventually("that many nodes of a session", async || match self.nodes_of(Some(session)).await {
            nodes if nodes.len() == count => Ok(()),
            nodes => Err(nodes),
        })
        .await;
    }

    /// Asserts that a holder excludes all others: it has one node, with its token, and no rival can
    /// enter.
    pub async fn assert_holds(&self, held: &Held, client: &Client) {
        let recipe = self.recipe;
        if recipe == Recipe::SEMAPHORE {
            // Nobody waits for the deletion of the queue's node.
            eventually("the lease alone", async || match self.nodes_of(Some(client)).await {
                nodes if nodes == [held.path()] => Ok(()),
                nodes => Err(nodes),
            })
            .await;
        } else {
            assert_eq!(self.nodes_of(Some(client)).await, [held.path()], "{recipe:?}");
        }
        let stat = self.other.check_stat(&held.path()).await.expect("it answers").expect("the node is there");
        assert_eq!(stat.czxid, held.token(), "{recipe:?}");
        let intruder = zk::connect(&Server::shared().connect_string()).await;
        let entered = within("a try", recipe.rival().try_acquire(&intruder, &self.path)).await;
        assert!(entered.expect("it answers").is_none(), "{recipe:?}: two hold");
        assert!(self.nodes_of(Some(&intruder)).await.is_empty(), "{recipe:?}: a try in vain leaves a node");
    }

    /// Asserts that others can acquire the lock with a higher token than before, and that nothing
    /// is left behind.
    pub async fn assert_free(&self, token_before: i64) {
        let recipe = self.recipe;
        assert_eq!(self.nodes_of(None).await, [""; 0], "{recipe:?}: left behind");
        let held = within("a free lock", recipe.rival().acquire(&self.other, &self.path)).await;
        let held = held.unwrap_or_else(|error| panic!("{recipe:?}: {error}"));
        assert!(held.token() > token_before, "{recipe:?}");
        within("a release", held.release()).await.unwrap_or_else(|error| panic!("{recipe:?}: {error}"));
        assert_eq!(self.nodes_of(None).await, [""; 0], "{recipe:?}: left behind");
    }
}

/// Returns the result of a future that must not hang.
pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let outcome = tokio::time::timeout(HANGING, future).await;
    outcome.unwrap_or_else(|_| panic!("{what} hangs"))
}

/// Returns whether an error says that the session has expired.
pub fn is_expired(error: &LockError) -> bool {
    matches!(error, LockError::SessionExpired { .. })
}

/// Returns how many sessions watch a node's data or existence.
pub fn watchers_of(node: &str) -> usize {
    let words = Server::shared().words("wchp");
    let watchers = words.lines().skip_while(|line| *line != node).skip(1);
    watchers.take_while(|line| line.starts_with('\t')).count()
}
