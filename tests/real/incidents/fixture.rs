//! A console on a root of its own on the shared server, and machines whose clients connect to it.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use lockscope_base::recipe::PathPattern;
use lockscope_base::znode::ZnodePath;
use lockscope_model::diagnose::{Code, Finding, Severity};
use lockscope_model::queue::Expectation;
use zookeeper_client::Client;

use crate::failures::fixture::{ConsoleFixture, hasty};
use crate::harness::relay::Relay;
use crate::harness::server::Server;
use crate::harness::zk;

/// The session timeout of all clients: long enough for the servers to be asked in between.
pub const TIMEOUT: Duration = Duration::from_secs(6);

/// A machine. The server sees its clients at an address that no other machine has.
pub struct Machine {
    relay: Relay,
    root: String,
}

impl Machine {
    async fn start(server: &str, root: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(u32::from_be_bytes([127, 1, 0, 1]));
        let address = Ipv4Addr::from(NEXT.fetch_add(1, Ordering::Relaxed));
        Self { relay: Relay::start_from(address, server).await, root: root.to_owned() }
    }

    pub fn connect_string(&self) -> String {
        self.relay.connect_string() + &self.root
    }

    /// Opens a session.
    pub async fn session(&self) -> Client {
        zk::connect_within(&self.connect_string(), TIMEOUT).await
    }

    /// Opens a session that ends by its timeout, not at once, when the client is dropped.
    pub async fn abandoned_session(&self, timeout: Duration) -> Client {
        let connector = Client::connector().with_session_timeout(timeout).with_detached();
        connector.connect(&self.connect_string()).await.expect("a session")
    }

    /// Cuts the machine off until [`heal`](Self::heal).
    pub async fn cut_off(&self) {
        self.relay.refuse().await;
    }

    pub fn heal(&self) {
        self.relay.heal();
    }

    pub fn is_connected(&self) -> bool {
        self.relay.live() > 0
    }
}

/// A console, and what it watches.
pub struct Incident {
    pub console: ConsoleFixture,
    /// A session from the console's machine, which contends for nothing.
    pub operator: Client,
    server: String,
    root: String,
}

impl Incident {
    /// Starts a console on an empty root.
    pub async fn start() -> Self {
        Self::after(async |_: &Client| {}).await
    }

    /// Starts a console after something happened on the root.
    pub async fn after(happened: impl AsyncFnOnce(&Client)) -> Self {
        Self::with(&[], &[], happened).await
    }

    /// Starts a console whose user expects something of an election.
    pub async fn expecting(path: &str, candidates: Option<u32>) -> Self {
        let path = PathPattern::new(path).expect("a pattern");
        let expected = Expectation { path, candidates, leader_within: None, held_at_most: None };
        Self::with(&[expected], &[], async |_: &Client| {}).await
    }

    /// Starts a console whose user names a node as a lock.
    pub async fn naming(node: &str) -> Self {
        Self::with(&[], &[ZnodePath::new(node).expect("a path")], async |_: &Client| {}).await
    }

    async fn with(expected: &[Expectation], named: &[ZnodePath], happened: impl AsyncFnOnce(&Client)) -> Self {
        let at = zk::own_root("incident").await;
        let server = Server::shared().connect_string();
        let root = at[server.len()..].to_owned();
        let operator = zk::connect(&at).await;
        happened(&operator).await;
        let console = ConsoleFixture::expecting(&at, &at, hasty(), (expected, named)).await;
        Self { console, operator, server, root }
    }

    pub async fn machine(&self) -> Machine {
        Machine::start(&self.server, &self.root).await
    }

    pub async fn machines<const COUNT: usize>(&self) -> [Machine; COUNT] {
        let started: [_; COUNT] = std::array::from_fn(|_| self.machine());
        futures::future::join_all(started).await.try_into().unwrap_or_else(|_| unreachable!("as many as asked"))
    }

    /// Waits until all contenders are listed with their clients.
    pub async fn until_listed(&mut self, contenders: usize) {
        self.console.until_contenders(contenders).await;
        // The servers' lists of before may lack the clients.
        self.console.looks_on(&[0]).await;
    }

    /// Waits for a finding of at least a severity.
    pub async fn finds(&mut self, code: Code, least: Severity) -> Finding {
        self.console.finds(code, least).await.0
    }
}
