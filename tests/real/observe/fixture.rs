//! A table fed by an observer, and queries of the tests.

use std::collections::BTreeMap;
use std::time::Duration;

use lockscope_base::znode::SessionId;
use lockscope_live::observe::{MAX_BACKLOG, ObserveOptions, Observer};
use lockscope_live::zk::{ConnectOptions, SessionRole};
use lockscope_model::queue::{Change, ConnectionState, LockTable};
use tokio::time::timeout;
use zookeeper_client::Client;

pub use crate::harness::reading::path;
use crate::harness::wait::PATIENCE;
use crate::harness::zk;

/// The observer's default session timeout.
pub const SESSION_TIMEOUT: Duration = Duration::from_secs(10);

pub fn connection(connect: &str) -> ConnectOptions {
    ConnectOptions {
        connect: connect.to_owned(),
        session_timeout: SESSION_TIMEOUT,
        role: SessionRole::Console,
        auth: Vec::new(),
        tls: None,
        kerberos: None,
    }
}

/// Returns the options to observe the whole tree.
pub fn observing(connection: ConnectOptions) -> ObserveOptions {
    let (roots, named, recipes, expected) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    ObserveOptions { connection, roots, named, recipes, expected, clients: Vec::new(), max_backlog: MAX_BACKLOG }
}

/// Returns the name of a contender of Curator's mutex, without its sequence number.
pub fn curator() -> String {
    format!("_c_c3d2e1f0-0000-4000-8000-{:012x}-lock-", 7)
}

pub struct ObserverFixture {
    pub observer: Observer,
    pub table: LockTable,
    /// The number of changes of each kind.
    pub counts: BTreeMap<&'static str, usize>,
    /// The reported states of the connection, in order.
    pub links: Vec<ConnectionState>,
}

impl ObserverFixture {
    pub fn start(connect: &str) -> Self {
        Self::with(connection(connect), &[])
    }

    pub fn with(connection: ConnectOptions, roots: &[&str]) -> Self {
        let roots = roots.iter().map(|root| path(root)).collect();
        Self::of(ObserveOptions { roots, ..observing(connection) })
    }

    pub fn of(options: ObserveOptions) -> Self {
        let observer = Observer::start(options);
        Self { observer, table: LockTable::new([]), counts: BTreeMap::new(), links: Vec::new() }
    }

    /// Takes changes until the condition holds, which is checked after each batch.
    pub async fn until(&mut self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        let waited = async {
            while !holds(self) {
                let batch = self.observer.next().await.expect("the observer goes on");
                for observed in batch {
                    self.count(&observed.change);
                    self.table.apply(observed.change, observed.at);
                }
            }
        };
        let in_time = timeout(PATIENCE * 2, waited).await.is_ok();
        assert!(in_time, "waited in vain for {what}; {:?}, {:?}", self.counts, self.links);
    }

    pub async fn until_live(&mut self) {
        self.until("a table in step", |fixture| fixture.table.is_live()).await;
    }

    /// Waits until the table is in step and has `count` contenders.
    pub async fn until_contenders(&mut self, count: usize) {
        self.until("the contenders", |fixture| fixture.table.is_live() && fixture.table.contender_count() == count)
            .await;
    }

    /// Returns the observer's present session.
    pub fn session(&self) -> SessionId {
        match self.links.last() {
            Some(ConnectionState::Connected { session, .. }) => *session,
            other => panic!("not connected: {other:?}"),
        }
    }

    fn count(&mut self, change: &Change) {
        let name = match change {
            Change::Seen { .. } => "seen",
            Change::Listed { .. } => "listed",
            Change::Appeared { .. } => "appeared",
            Change::Deleted { .. } | Change::DeletedBy { .. } => "deleted",
            Change::Unreadable { .. } => "unreadable",
            Change::Heard { .. } => "heard",
            Change::Sampled { .. } => "sampled",
            Change::Surveyed { .. } => "surveyed",
            Change::Compared { .. } => "compared",
            Change::Crossed { .. } => "crossed",
            Change::Muted { .. } => "muted",
            Change::Syncing => "syncing",
            Change::Synced => "synced",
            Change::Connection(link) => {
                self.links.push(link.clone());
                "link"
            }
        };
        *self.counts.entry(name).or_default() += 1;
    }

    pub fn how_many(&self, kind: &str) -> usize {
        self.counts.get(kind).copied().unwrap_or_default()
    }

    /// Returns every contender with its identifying facts, in order.
    pub fn contenders(&self) -> Vec<(String, i64, String)> {
        let mut all: Vec<_> = self
            .table
            .locks()
            .flat_map(|lock| {
                let rows = lock.rows(0..lock.len());
                rows.map(|row| {
                    (lock.path_of(row.contender).to_string(), row.contender.czxid.0, format!("{:?}", row.state))
                })
                .collect::<Vec<_>>()
            })
            .collect();
        all.sort();
        all
    }
}

/// Creates lock parents with contenders, all on one session.
pub async fn fill(client: &Client, parents: usize, contenders: usize) {
    let parents: Vec<String> = (0..parents).map(|parent| format!("/locks/l{parent}")).collect();
    zk::make(client, ["/locks".to_owned()]).await;
    let wishes = parents.iter().map(|parent| (parent.clone(), Vec::new()));
    zk::create_all(client, zookeeper_client::CreateMode::Persistent, wishes).await;
    let nodes = parents.iter().flat_map(|parent| (0..contenders).map(move |_| format!("{parent}/{}", curator())));
    let wishes = nodes.map(|node| (node, b"10.0.0.1".to_vec()));
    zk::create_all(client, zookeeper_client::CreateMode::EphemeralSequential, wishes).await;
}
