//! A tree of nodes in memory. A table receives its changes as the observer would send them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::{connected, deleted, lost, path, table};
use crate::queue::{Change, ContenderState, Happening, LockEvent, LockQueue, LockTable};
use crate::server_view::{
    Expiry, ExpiryClock, ListedSession, Listing, MemberExtras, MemberView, ServerMode, ServerSettings, ServerView,
    SessionTiming, four_letter,
};
use lockscope_base::recipe::{Classifier, RequestMode};
use lockscope_base::znode::{Node, NodeData, SessionId, Timestamp, ZnodePath, ZnodeStat, Zxid};

/// What a table says of one contender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub node: String,
    pub czxid: i64,
    pub data: Vec<u8>,
    pub mode: RequestMode,
    pub state: ContenderState,
    pub waits_for: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct TableFixture {
    pub tree: BTreeMap<ZnodePath, Node>,
    counters: BTreeMap<ZnodePath, i32>,
    zxid: i64,
    pub now: Timestamp,
    pub table: LockTable,
}

impl TableFixture {
    pub fn new() -> Self {
        let now = Timestamp(1_000_000);
        let table = table([], now);
        Self { tree: BTreeMap::new(), counters: BTreeMap::new(), zxid: 100, now, table }
    }

    fn stat(&self, owner: Option<i64>) -> ZnodeStat {
        ZnodeStat::of_new(Zxid(self.zxid), self.now, owner.map(SessionId))
    }

    /// Creates a node without telling the table.
    pub fn put(&mut self, at: &str, owner: Option<i64>) -> ZnodePath {
        self.zxid += 1;
        let at = path(at);
        let node = Node { stat: self.stat(owner), data: NodeData::keep(b"10.0.0.1") };
        self.tree.insert(at.clone(), node);
        at
    }

    /// Creates a numbered node without telling the table.
    pub fn put_numbered(&mut self, prefix: &str, owner: i64) -> ZnodePath {
        let parent = path(prefix).parent().expect("below the root");
        let counter = self.counters.entry(parent).or_default();
        let number = *counter;
        *counter += 1;
        self.put(&format!("{prefix}{number:010}"), Some(owner))
    }

    pub fn write(&mut self, at: &ZnodePath, data: &[u8]) {
        self.zxid += 1;
        let zxid = Zxid(self.zxid);
        if let Some(node) = self.tree.get_mut(at) {
            node.stat.mzxid = zxid;
            node.stat.version += 1;
            node.data = NodeData::keep(data);
        }
    }

    pub fn apply(&mut self, change: Change) -> Vec<Happening> {
        self.now = Timestamp(self.now.0 + 10);
        self.table.apply(change, self.now)
    }

    /// Returns the change that the observer sends for an existing node.
    pub fn observed(&self, at: &ZnodePath) -> Change {
        if Classifier::is_hint(at) {
            return Change::Appeared { path: at.clone() };
        }
        Change::Seen { path: at.clone(), node: self.tree[at].clone() }
    }

    pub fn create(&mut self, prefix: &str, owner: i64) -> ZnodePath {
        let at = self.put_numbered(prefix, owner);
        self.apply(self.observed(&at));
        at
    }

    pub fn create_plain(&mut self, at: &str, owner: Option<i64>) -> ZnodePath {
        let at = self.put(at, owner);
        self.apply(self.observed(&at));
        at
    }

    pub fn delete(&mut self, at: &ZnodePath) -> Vec<Happening> {
        self.tree.remove(at);
        self.apply(deleted(at))
    }

    /// Returns the changes that a complete walk sends: parents listed, hints noted, nodes read.
    pub fn walk(&self) -> Vec<Change> {
        let mut parents: BTreeMap<ZnodePath, i32> = BTreeMap::new();
        for at in self.tree.keys() {
            let parent = at.parent().expect("below the root");
            *parents.entry(parent).or_default() += 1;
        }
        let mut changes = vec![Change::Syncing];
        for (parent, children) in parents {
            let mut stat = self.stat(None);
            let created = self.counters.get(&parent).copied().unwrap_or(0);
            stat.num_children = children;
            stat.cversion = created * 2 - children;
            changes.push(Change::Listed { path: parent, stat });
        }
        changes.extend(self.tree.keys().filter(|at| Classifier::is_hint(at)).map(|at| self.observed(at)));
        changes.extend(self.tree.keys().filter(|at| !Classifier::is_hint(at)).map(|at| self.observed(at)));
        changes.push(Change::Synced);
        changes
    }

    pub fn reconnect(&mut self) -> Vec<Happening> {
        let walk = self.walk();
        self.connect_anew(walk)
    }

    /// Reconnects, and cuts the connection again before the walk ends.
    pub fn reconnect_for(&mut self, read: prop::sample::Index) -> Vec<Happening> {
        let mut walk = self.walk();
        walk.truncate(1 + read.index(walk.len() - 1));
        self.connect_anew(walk)
    }

    fn connect_anew(&mut self, walk: Vec<Change>) -> Vec<Happening> {
        [lost(), connected()].into_iter().chain(walk).flat_map(|change| self.apply(change)).collect()
    }

    pub fn fresh(&self) -> LockTable {
        let mut table = LockTable::new([]);
        for change in self.walk() {
            table.apply(change, self.now);
        }
        table
    }

    pub fn lock(&self, at: &str) -> &LockQueue {
        let id = self.table.find(&path(at), None).expect("a lock at that path");
        self.table.lock(id).expect("the table knows what it found")
    }
}

/// Returns the state of each contender. Node names are shortened to their kind and number.
pub fn said(lock: &LockQueue) -> Vec<Said> {
    lock.rows(0..usize::MAX)
        .map(|row| Said {
            node: row.contender.node.to_string(),
            czxid: row.contender.czxid.0,
            data: row.contender.data.bytes().to_vec(),
            mode: row.mode,
            state: row.state,
            waits_for: lock.waits_for(row.position, usize::MAX).into_iter().map(str::to_owned).collect(),
        })
        .collect()
}

pub fn events(happenings: &[Happening]) -> Vec<LockEvent> {
    happenings.iter().map(|happening| happening.event).collect()
}

/// Returns the timing of a server whose clock agrees with ours, and which grants no shorter session
/// timeout.
pub fn timing(min_session_timeout_ms: u64) -> SessionTiming {
    let settings = ServerSettings::new(Duration::from_secs(2), Duration::from_millis(min_session_timeout_ms));
    SessionTiming { clock: Some(ExpiryClock::same_as_ours()), settings }
}

/// Returns a server's answer that lists a session without a connection whose time is over at `at`.
pub fn session_runs_out(session: i64, at: Timestamp) -> Change {
    let expiry = Expiry::Monotonic { millis: at.0 };
    surveyed(vec![ListedSession { id: SessionId(session), expiry, expires_at: Some(at) }], at)
}

/// Returns the answer of a standalone server without connections that lists these sessions.
pub fn surveyed(sessions: Vec<ListedSession>, at: Timestamp) -> Change {
    let member = MemberView {
        mode: Some(ServerMode::Standalone),
        timing: timing(4_000),
        extras: MemberExtras { expired_sessions: Some(3), ..MemberExtras::default() },
        connections: Some(Listing::new(Vec::new(), true, at)),
        sessions: Some(Listing::new(sessions, true, at)),
        ..MemberView::unasked("zk1:2181".to_owned())
    };
    let view = ServerView { at, members: vec![member], members_known: true, voters: Some(1), ..ServerView::default() };
    Change::Surveyed { view: Arc::new(view) }
}

/// Returns the answer of a server at `at` that holds our own session: the listed sessions, each with
/// its expiry, and how many sessions it has expired.
pub fn counted(sessions: &[(i64, i64)], expired: u64, at: i64) -> Change {
    let listed = |(id, expires): &(i64, i64)| ListedSession {
        id: SessionId(*id),
        expiry: Expiry::Monotonic { millis: *expires },
        expires_at: Some(Timestamp(*expires)),
    };
    let Change::Surveyed { view } = surveyed(sessions.iter().map(listed).collect(), Timestamp(at)) else {
        panic!("it is a view")
    };
    let mut view = ServerView::clone(&view);
    view.own_session = Some(SessionId(99));
    let member = &mut view.members[0];
    member.answered_at = Some(Timestamp(at + 20));
    let own = " /10.0.0.9:7[1](queued=0,recved=1,sent=1,sid=0x63,est=1600000000000,to=30000,lresp=9)\n\n";
    member.connections = Some(Listing::new(four_letter::cons(own).with_session, true, Timestamp(at)));
    member.extras.expired_sessions = Some(expired);
    Change::Surveyed { view: Arc::new(view) }
}
