//! A small ensemble for the tests of the findings: nodes as an observer reports them, and one
//! server's answers about itself.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::{Code, Diagnosis, Finding, Severity, Thresholds};
use crate::queue::{Change, LockId, LockQueue, LockTable};
use crate::server_view::{
    Connection, Expiry, ExpiryClock, ListedSession, Listing, MemberView, Provenance, ServerMode, ServerSettings,
    ServerView, SessionTiming, WatchTotals, WatchedPath,
};
pub use crate::testing::{OBSERVER, path, uuid};
use crate::testing::{deleted, lost, reading, seen, table};
use lockscope_base::recipe::Classifier;
use lockscope_base::znode::{NodeData, SessionId, Timestamp, ZnodePath, ZnodeStat, Zxid};

/// The session of the survey.
const SURVEYOR: i64 = 901;

/// What the one server knows of a client.
#[derive(Clone, Debug)]
pub struct Client {
    pub session: i64,
    pub connected: bool,
    pub listed: bool,
    pub address: String,
    pub established: Timestamp,
    pub cxid: i64,
    pub timeout_ms: u64,
    /// The client's last operation, in the server's abbreviation.
    pub operation: &'static str,
    pub heard: Option<Timestamp>,
    pub expires_at: Option<Timestamp>,
    /// Whether the client watches what its nodes wait for.
    pub sound: bool,
    /// Further watches of the client.
    pub watches: Vec<ZnodePath>,
}

#[derive(Clone, Debug)]
pub struct DiagnosisFixture {
    pub table: LockTable,
    pub diagnosis: Diagnosis,
    pub now: Timestamp,
    pub clients: Vec<Client>,
    /// The number of watches on children, without the observer's.
    pub child_watches: u64,
    /// Whether the server answers.
    pub answers: bool,
    pub lists_watches: bool,
    /// The provenance of the server's answers.
    pub provenance: Provenance,
    zxid: i64,
    counter: i32,
    nodes: BTreeMap<ZnodePath, Change>,
    children: BTreeMap<ZnodePath, Children>,
}

/// What a parent's stat tells about its children.
#[derive(Clone, Copy, Debug, Default)]
struct Children {
    made: i32,
    deleted: i32,
    changed: i64,
}

impl DiagnosisFixture {
    pub fn new() -> Self {
        Self::with(Thresholds::default())
    }

    pub fn with(thresholds: Thresholds) -> Self {
        let now = Timestamp(1_000_000_000);
        let mut world = Self {
            table: table([], now),
            diagnosis: Diagnosis::new(thresholds),
            now,
            clients: Vec::new(),
            child_watches: 0,
            answers: true,
            lists_watches: true,
            provenance: Provenance::AsSession,
            zxid: 100,
            counter: 0,
            nodes: BTreeMap::new(),
            children: BTreeMap::new(),
        };
        world.client(OBSERVER.0);
        world
    }

    /// Returns a client, creating one that has been connected for an hour.
    pub fn client(&mut self, session: i64) -> &mut Client {
        let at = self.clients.iter().position(|client| client.session == session).unwrap_or_else(|| {
            self.clients.push(Client {
                session,
                connected: true,
                listed: true,
                address: format!("10.0.0.{}:4000", session % 250),
                established: Timestamp(self.now.0 - 3_600_000),
                cxid: 1,
                timeout_ms: 30_000,
                operation: "PING",
                heard: None,
                expires_at: None,
                sound: true,
                watches: Vec::new(),
            });
            self.clients.len() - 1
        });
        &mut self.clients[at]
    }

    pub fn apply(&mut self, change: Change) {
        self.table.apply(change, self.now);
    }

    /// Creates a node with the next number, and connects its client.
    pub fn create(&mut self, prefix: &str, session: i64) -> ZnodePath {
        if session != 0 {
            self.client(session);
        }
        let number = self.counter;
        self.counter += 1;
        self.create_at(&format!("{prefix}{number:010}"), session)
    }

    /// Does the same as `create`, and the client writes its name into the node.
    pub fn create_named(&mut self, prefix: &str, session: i64, name: &str) -> ZnodePath {
        self.client(session);
        let number = self.counter;
        self.counter += 1;
        self.create_with(&format!("{prefix}{number:010}"), session, name.as_bytes())
    }

    pub fn create_at(&mut self, at: &str, session: i64) -> ZnodePath {
        self.create_with(at, session, b"")
    }

    pub fn create_with(&mut self, at: &str, session: i64, data: &[u8]) -> ZnodePath {
        self.zxid += 1;
        let at = path(at);
        let stat = self.stat(session);
        if let Some(parent) = at.parent() {
            let children = self.children.entry(parent).or_default();
            (children.made, children.changed) = (children.made + 1, self.zxid);
        }
        let change = if Classifier::is_hint(&at) {
            Change::Appeared { path: at.clone() }
        } else {
            seen(at.as_str(), stat, data)
        };
        self.nodes.insert(at.clone(), change.clone());
        self.apply(change);
        at
    }

    /// Writes data into a node.
    pub fn write(&mut self, at: &ZnodePath, data: &[u8]) {
        self.zxid += 1;
        let zxid = Zxid(self.zxid);
        let Some(Change::Seen { node, .. }) = self.nodes.get_mut(at) else { panic!("{at} has data") };
        (node.stat.mzxid, node.stat.version, node.data) = (zxid, node.stat.version + 1, NodeData::keep(data));
        let change = Change::Seen { path: at.clone(), node: node.clone() };
        self.apply(change);
    }

    fn stat(&self, session: i64) -> ZnodeStat {
        ZnodeStat::of_new(Zxid(self.zxid), self.now, (session != 0).then_some(SessionId(session)))
    }

    pub fn delete(&mut self, at: &ZnodePath) {
        self.zxid += 1;
        if let Some(children) = at.parent().and_then(|parent| self.children.get_mut(&parent)) {
            (children.deleted, children.changed) = (children.deleted + 1, self.zxid);
        }
        self.nodes.remove(at);
        self.apply(deleted(at));
    }

    /// Deletes a node and restores it unchanged after a reconnect.
    pub fn return_deleted(&mut self, at: &ZnodePath) {
        let nodes: Vec<Change> = self.nodes.values().cloned().collect();
        [deleted(at), lost()].into_iter().chain(reading(nodes)).for_each(|change| self.apply(change));
    }

    /// Starts another console, which finds all existing nodes at once.
    pub fn begin_anew(&mut self) {
        let parents = self.children.iter().map(|(parent, children)| Change::Listed {
            path: parent.clone(),
            // The parent was created before its children.
            stat: ZnodeStat {
                czxid: Zxid(1),
                ctime: Timestamp(0),
                pzxid: Zxid(children.changed),
                num_children: children.made - children.deleted,
                cversion: children.made + children.deleted,
                ..self.stat(0)
            },
        });
        self.table = table(parents.chain(self.nodes.values().cloned()), self.now);
        self.diagnosis = Diagnosis::new(*self.diagnosis.thresholds());
    }

    /// Asks the server, at the current time.
    pub fn survey(&mut self) {
        let at = self.now;
        let connected = self.clients.iter().filter(|client| client.connected);
        let connections = connected.clone().map(|client| connection(client, at)).collect();
        let listed = self.clients.iter().filter(|client| client.listed);
        let sessions = listed.map(|client| ListedSession {
            id: SessionId(client.session),
            expiry: Expiry::Monotonic { millis: client.expires_at.unwrap_or_default().0 },
            expires_at: client.expires_at,
        });
        let sessions = sessions.collect();
        let mut watched: Vec<WatchedPath> = Vec::new();
        for client in connected {
            let awaited = if client.sound { self.awaited_by(client.session) } else { Vec::new() };
            for path in client.watches.iter().cloned().chain(awaited) {
                match watched.iter_mut().find(|watched| watched.path == path) {
                    Some(watched) => watched.sessions.push(SessionId(client.session)),
                    None => {
                        watched.push(WatchedPath { path, sessions: [SessionId(client.session)].into_iter().collect() });
                    }
                }
            }
        }
        for one in &mut watched {
            one.sessions.sort_unstable();
        }
        let count = watched.iter().map(|one| one.sessions.len() as u64).sum();
        let answered_at = self.table.view().members.first().and_then(|member| member.answered_at);
        let mut member = MemberView { answered_at, ..MemberView::unasked("zk1:2181".to_owned()) };
        if self.answers {
            member = MemberView {
                mode: Some(ServerMode::Standalone),
                timing: SessionTiming {
                    clock: Some(ExpiryClock::same_as_ours()),
                    settings: ServerSettings::new(Duration::from_secs(2), Duration::from_secs(4)),
                },
                provenance: self.provenance,
                version: Some("3.8.0-5a02a05".to_owned()),
                answered_at: Some(at),
                connections: Some(Listing::new(connections, true, at)),
                sessions: Some(Listing::new(sessions, true, at)),
                watched: self.lists_watches.then(|| Listing::new(watched, true, at)),
                watch_totals: Some(WatchTotals { connections: 1, paths: 1, watches: count }),
                counted_at: Some(at),
                // Before 3.9, the observer's recursive watch counts too.
                watch_count: Some(count + self.child_watches + 1),
                ..member
            };
        }
        let own_session = Some(SessionId(SURVEYOR));
        let view = ServerView { at, members: vec![member], members_known: true, own_session, ..ServerView::default() };
        self.apply(Change::Surveyed { view: Arc::new(view) });
    }

    fn awaited_by(&self, session: i64) -> Vec<ZnodePath> {
        let rows = self.table.locks().flat_map(|lock| lock.rows(0..lock.len()).map(move |row| (lock, row)));
        let own = rows.filter(|(_, row)| row.contender.session() == Some(SessionId(session)));
        let awaited = own.flat_map(|(lock, row)| {
            lock.waits_for(row.position, 1).into_iter().map(|node| lock.queue_path().child(node)).collect::<Vec<_>>()
        });
        awaited.collect()
    }

    /// Lets `seconds` pass, with a survey and a look in each. Returns the raised and the cleared
    /// codes.
    pub fn pass(&mut self, seconds: u32) -> (Vec<Code>, Vec<Code>) {
        let (mut raised, mut cleared) = (Vec::new(), Vec::new());
        for _ in 0..seconds {
            self.now = self.now.plus(Duration::from_secs(1));
            self.survey();
            let changed = self.diagnosis.examine(&self.table, self.now);
            raised.extend(changed.raised.iter().map(|finding| finding.code));
            cleared.extend(changed.cleared.iter().map(|finding| finding.code));
        }
        (raised, cleared)
    }

    /// Disconnects a session's client, lets the session expire, and deletes its nodes.
    pub fn let_expire(&mut self, session: i64, nodes: &[&ZnodePath]) {
        let expires = self.now.plus(Duration::from_secs(5));
        let client = self.client(session);
        (client.connected, client.expires_at) = (false, Some(expires));
        self.pass(5);
        self.client(session).listed = false;
        for node in nodes {
            self.delete(node);
        }
        self.pass(2);
    }

    pub fn lock(&self, at: &str) -> &LockQueue {
        let id = self.id(at);
        self.table.lock(id).expect("the table knows what it found")
    }

    pub fn id(&self, at: &str) -> LockId {
        self.table.find(&path(at), None).expect("a lock at that path")
    }

    /// Returns the finding with this code, if it stands.
    pub fn found(&self, code: Code) -> Option<&Finding> {
        self.diagnosis.findings().find(|finding| finding.code == code)
    }

    pub fn severity(&self, code: Code) -> Option<Severity> {
        self.found(code).map(|finding| finding.severity)
    }

    /// Returns the codes of the standing findings with at least this severity.
    pub fn codes(&self, least: Severity) -> Vec<Code> {
        self.diagnosis.findings().filter(|finding| finding.severity >= least).map(|finding| finding.code).collect()
    }
}

fn connection(client: &Client, at: Timestamp) -> Connection {
    Connection {
        session: SessionId(client.session),
        client: client.address.clone(),
        timeout_ms: Some(client.timeout_ms),
        established: Some(client.established),
        last_operation: Some(client.operation.to_owned()),
        last_cxid: Some(client.cxid),
        last_zxid: None,
        last_response: None,
        last_heard: Some(client.heard.unwrap_or(at)),
        received: 0,
        sent: 0,
    }
}

/// Returns the prefix of a node name of Curator's mutex, for a lock at that path.
pub fn curator(parent: &str, number: u32) -> String {
    format!("{parent}/_c_{}-lock-", uuid(number))
}

/// Returns the prefix of a node name of Curator's latch, for an election at that path.
pub fn latch(parent: &str, number: u32) -> String {
    format!("{parent}/_c_{}-latch-", uuid(number))
}

/// A code, and a fixture that raises it.
pub type Example = (Code, DiagnosisFixture);

/// Lets `seconds` pass with working clients, which send a request each second.
pub fn work(world: &mut DiagnosisFixture, seconds: u32) {
    for _ in 0..seconds {
        world.clients.iter_mut().for_each(|client| (client.cxid, client.operation) = (client.cxid + 1, "GETD"));
        world.pass(1);
    }
}

/// Creates a lock at `/l`, where these sessions queue in this order.
pub fn queue(sessions: &[i64]) -> DiagnosisFixture {
    let mut world = DiagnosisFixture::new();
    for (number, session) in (1..).zip(sessions) {
        world.create(&curator("/l", number), *session);
    }
    world
}

/// Lets one session queue twice, with nodes of these ids.
pub fn one_session_twice(first: u32, second: u32, seconds: u32) -> DiagnosisFixture {
    let mut world = DiagnosisFixture::new();
    world.create(&curator("/l", first), 1);
    world.create(&curator("/l", second), 1);
    world.pass(seconds);
    world
}
