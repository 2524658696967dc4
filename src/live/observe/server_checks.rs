//! What the observer checks of the servers: that they answer, that the connected member is up to
//! date, and that its answers mean what `ZooKeeper`'s mean.
//!
//! # Silence
//!
//! The client library notices it too, but only after most of the session timeout. And a member that
//! has lost its leader answers the library's heartbeats and all reads as if nothing had happened,
//! for many seconds.
//!
//! # Trust
//!
//! `ClickHouse` Keeper 25.12 takes recursive watches, but its events name the watched node instead
//! of the changed one, and it counts `pzxid` and `cversion` differently. What rests on them would
//! be wrong without a sign of it. So the observer falls back to one-shot watches, and claims
//! nothing about the past of children, as soon as
//!
//! - the root has a child `keeper` and no `zookeeper`, or
//! - a server calls itself Keeper, or
//! - an event names a watched root that has not changed, whatever the server calls itself.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use rustc_hash::FxHashMap;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};
use zookeeper_client::{Error, Stat};

use crate::zk::{EventConsumer, TransportStatus};
use lockscope_base::time::now;
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath, ZnodeStat, Zxid};
use lockscope_model::follow::{NodeEvent, NodeRead, ReadAnswer, WatchStyle};
use lockscope_model::queue::{Change, ConnectionState};
use lockscope_model::server_view::{Lag, LagWatch, MemberStanding, ServerView};
use lockscope_requests::Requests;

/// The time after which an ensemble that sends nothing is asked.
const ASK_AFTER: Duration = Duration::from_millis(1500);

/// The time after which an ensemble that sends nothing is silent.
pub const SILENT_AFTER: Duration = Duration::from_secs(3);

/// Asks an ensemble that sends nothing by a `sync`, which only the leader answers.
///
/// Costs at most one request in [`ASK_AFTER`], and none while events or answers come.
pub struct Heartbeat<'a> {
    client: &'a dyn Requests,
    question: Option<BoxFuture<'a, Result<(), Error>>>,
    heard: Instant,
    is_silent: bool,
}

/// What a heartbeat found.
#[derive(Debug)]
pub enum Beat {
    /// The ensemble answered.
    Answered(Result<(), Error>),
    /// Nothing has come for [`SILENT_AFTER`].
    Silent,
}

impl<'a> Heartbeat<'a> {
    /// Starts when the ensemble has just answered.
    pub fn new(client: &'a dyn Requests) -> Self {
        Self { client, question: None, heard: Instant::now(), is_silent: false }
    }

    /// Notes that something came from the ensemble. Returns whether it was silent before.
    pub fn heard(&mut self) -> bool {
        self.heard = Instant::now();
        std::mem::take(&mut self.is_silent)
    }

    /// Returns when something came for the last time.
    pub fn heard_at(&self) -> Timestamp {
        let ago = i64::try_from(self.heard.elapsed().as_millis()).unwrap_or(i64::MAX);
        Timestamp(now().0.saturating_sub(ago))
    }

    /// Waits for the answer to a question, or for the silence. Cancel safe.
    pub async fn next(&mut self) -> Beat {
        let Self { client, question, heard, is_silent } = self;
        if question.is_none() {
            sleep_until(*heard + ASK_AFTER).await;
        }
        let asked = question.get_or_insert_with(|| client.sync("/"));
        let answer = if *is_silent {
            asked.await
        } else if let Ok(answer) = timeout_at(*heard + SILENT_AFTER, asked).await {
            answer
        } else {
            *is_silent = true;
            return Beat::Silent;
        };
        *question = None;
        Beat::Answered(answer)
    }
}

/// The end of the report: other members named in the connect string, or none.
const GOES_ON: &str = "continuing with another member";

const WAITS: &str =
    "what it showed is kept until it has caught up; name other members in --connect to continue with one of them";

/// Compares the connected member with the others.
pub struct MemberWatch<'a> {
    servers: &'a TransportStatus,
    views: &'a mut watch::Receiver<Arc<ServerView>>,
    lag: &'a mut LagWatch,
    /// The member that was left last because it lagged.
    left: &'a mut Option<String>,
    session: SessionId,
    /// When the connection was established, by the local clock.
    since: Timestamp,
}

impl<'a> MemberWatch<'a> {
    /// Starts with a new connection of the session.
    pub fn begin(
        client: &dyn Requests,
        servers: &'a TransportStatus,
        views: &'a mut watch::Receiver<Arc<ServerView>>,
        lag: &'a mut LagWatch,
        left: &'a mut Option<String>,
    ) -> Self {
        Self { servers, views, lag, left, session: client.session(), since: now() }
    }

    /// Waits until the member lags. Cancel safe.
    pub async fn lags(&mut self) -> Lag {
        loop {
            if let MemberStanding::Lags(lag) = self.next_standing().await {
                return lag;
            }
        }
    }

    /// Waits until the member is known not to lag any more. Cancel safe.
    pub async fn has_caught_up(&mut self) {
        while self.next_standing().await != MemberStanding::Current {}
    }

    /// Waits for the next server view and returns how the member compares with the others. Pending
    /// forever when no server view arrives any more.
    async fn next_standing(&mut self) -> MemberStanding {
        if self.views.changed().await.is_err() {
            pending::<()>().await;
        }
        let view = Arc::clone(&self.views.borrow_and_update());
        let Some(member) = self.servers.member() else { return MemberStanding::Unknown };
        self.lag.check(&view, &member, self.session, self.since)
    }

    /// Announces the consumer of the member's events.
    pub fn consume_events(&self) -> EventConsumer {
        self.servers.consume_events()
    }

    /// Returns whether a byte came from the member within this time.
    pub fn has_sent_within(&self, time: Duration) -> bool {
        self.servers.last_heard().is_some_and(|ago| ago < time)
    }

    /// Leaves the member for another one. Returns `false` when the connect string names no other
    /// member, or when the session came back to this member because no other member accepted it.
    pub fn leaves(&mut self, lag: &Lag) -> bool {
        let leaves = self.servers.has_other_members() && self.left.as_ref() != Some(&lag.member);
        if leaves {
            *self.left = Some(lag.member.clone());
            self.servers.want_another_member();
        }
        leaves
    }

    /// Returns the changes that report the lag.
    pub fn report(&self, lag: Lag, leaves: bool) -> impl Iterator<Item = Change> + use<> {
        let next = match (leaves, self.servers.has_other_members()) {
            (true, _) => format!(": {GOES_ON}"),
            (false, false) => format!(": {WAITS}"),
            (false, true) => ", and no other member takes the session".to_owned(),
        };
        let reason = lag.sentence() + &next;
        tracing::info!(reason, "the member lags");
        let heard = lag.current_until.map(|at| Change::Heard { at });
        let lagging = Change::Connection(ConnectionState::Lagging { member: lag.member, reason });
        heard.into_iter().chain([lagging])
    }
}

/// The child of the root that every `ZooKeeper` has, and the one that every Keeper has.
const ZOOKEEPER: &str = "zookeeper";

const KEEPER: &str = "keeper";

/// Why the server's watches or stats are not those of `ZooKeeper`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distrust {
    /// The server is `ClickHouse` Keeper.
    Keeper,
    /// An event named a node that has not changed.
    WrongEvent,
}

/// How far the server can be trusted, over all connections of a session.
#[derive(Debug)]
pub struct ServerTrust {
    pub(super) watching: WatchStyle,
    /// Whether `pzxid` and `cversion` count as `ZooKeeper`'s do.
    child_history: bool,
    /// The creation and the last change of each root, as it was last read.
    roots: FxHashMap<ZnodePath, (Zxid, Zxid)>,
}

impl ServerTrust {
    pub fn new() -> Self {
        Self { watching: WatchStyle::Recursive, child_history: true, roots: FxHashMap::default() }
    }

    /// Falls back to what cannot be wrong.
    pub fn lose(&mut self, why: Distrust) {
        tracing::info!(?why, "one-shot watches, and no claims from pzxid and cversion");
        self.watching = WatchStyle::OneShot;
        self.child_history = false;
    }

    /// Returns whether trust was not lost yet.
    pub fn is_whole(&self) -> bool {
        self.child_history
    }

    /// Returns an answer with what can be trusted of it.
    pub fn trusted(&self, answer: ReadAnswer) -> ReadAnswer {
        if self.child_history { answer } else { answer.without_child_history() }
    }

    /// Learns from an answer to a read, and returns whether it is one of Keeper.
    pub fn is_keepers(&mut self, read: &NodeRead, answer: &ReadAnswer, is_root: bool) -> bool {
        let (path, stat) = match (read, answer) {
            (NodeRead::List(path), ReadAnswer::Children(_, stat)) => (path, Some(stat)),
            (NodeRead::Node(path), ReadAnswer::Node(node)) => (path, Some(&node.stat)),
            (read, ReadAnswer::NoNode) => (read.path(), None),
            _ => return false,
        };
        if is_root {
            self.note_root(path, stat);
        }
        let ReadAnswer::Children(names, _) = answer else { return false };
        let has = |name: &str| names.iter().any(|child| child == name);
        path.is_root() && has(KEEPER) && !has(ZOOKEEPER)
    }

    fn note_root(&mut self, root: &ZnodePath, stat: Option<&ZnodeStat>) {
        match stat {
            Some(stat) => drop(self.roots.insert(root.clone(), (stat.czxid, stat.mzxid))),
            None => drop(self.roots.remove(root)),
        }
    }

    /// Returns what an event that names this root is to be checked against.
    ///
    /// Only answers in the order of the events say how the root was before: a stat may be ahead of
    /// events that still wait, and two quick writes are two true events.
    pub fn claim(&self, event: NodeEvent, root: &ZnodePath) -> RootClaim {
        RootClaim { event, root: root.clone(), before: self.roots.get(root).copied() }
    }
}

/// What an event says of a root, and how the root was before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootClaim {
    event: NodeEvent,
    pub(super) root: ZnodePath,
    before: Option<(Zxid, Zxid)>,
}

impl RootClaim {
    /// Returns whether the event can be true, by the root's stat after it.
    pub fn is_true(&self, now: Option<&Stat>) -> bool {
        let now = now.map(|stat| (Zxid(stat.czxid), Zxid(stat.mzxid)));
        match (self.event, self.before, now) {
            (NodeEvent::Deleted | NodeEvent::Created, Some((czxid, _)), Some((now, _))) => czxid != now,
            (NodeEvent::DataChanged, Some(before), Some(now)) => before != now,
            // Nothing is known of before, or the root is gone.
            (_, None, _) | (_, _, None) | (NodeEvent::ChildrenChanged, ..) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::path;
    use lockscope_base::znode::Timestamp;

    fn listing(names: &[&str]) -> ReadAnswer {
        let stat = ZnodeStat::of_new(Zxid(5), Timestamp(0), None);
        ReadAnswer::Children(names.iter().map(ToString::to_string).collect(), stat)
    }

    fn stat(czxid: i64, mzxid: i64) -> Stat {
        Stat {
            czxid,
            mzxid,
            pzxid: 0,
            ctime: 0,
            mtime: 0,
            version: 0,
            cversion: 0,
            aversion: 0,
            ephemeral_owner: 0,
            data_length: 0,
            num_children: 0,
        }
    }

    #[test]
    fn keeper_is_known_by_the_children_of_the_root() {
        let mut trust = ServerTrust::new();
        let root = NodeRead::List(path("/"));
        assert!(!trust.is_keepers(&root, &listing(&["zookeeper", "keeper", "a"]), true));
        assert!(!trust.is_keepers(&root, &listing(&["a"]), true));
        assert!(!trust.is_keepers(&NodeRead::List(path("/a")), &listing(&["keeper"]), false));
        assert!(trust.is_keepers(&root, &listing(&["keeper", "a"]), true));
    }

    #[test]
    fn an_event_that_names_an_unchanged_root_is_wrong() {
        let mut trust = ServerTrust::new();
        let root = path("/a");
        assert!(trust.claim(NodeEvent::Created, &root).is_true(Some(&stat(5, 5))), "it was not known before");
        trust.note_root(&root, Some(&ZnodeStat::of_new(Zxid(5), Timestamp(0), None)));
        for event in [NodeEvent::Created, NodeEvent::Deleted, NodeEvent::DataChanged] {
            assert!(!trust.claim(event, &root).is_true(Some(&stat(5, 5))), "{event:?}");
        }
        assert!(trust.claim(NodeEvent::Deleted, &root).is_true(None));
    }

    #[test]
    fn events_of_quick_changes_of_a_root_are_true_although_the_stat_is_ahead_of_them() {
        let mut trust = ServerTrust::new();
        let root = path("/a");
        trust.note_root(&root, Some(&ZnodeStat::of_new(Zxid(5), Timestamp(0), None)));
        for _ in 0..2 {
            assert!(trust.claim(NodeEvent::DataChanged, &root).is_true(Some(&stat(5, 7))));
        }
        for event in [NodeEvent::Deleted, NodeEvent::Created, NodeEvent::Deleted, NodeEvent::Created] {
            assert!(trust.claim(event, &root).is_true(Some(&stat(11, 11))), "{event:?}");
        }
    }

    #[test]
    fn without_trust_stats_tell_nothing_about_the_past_of_children() {
        let mut trust = ServerTrust::new();
        assert_eq!(trust.trusted(listing(&[])), listing(&[]));
        trust.lose(Distrust::WrongEvent);
        let ReadAnswer::Children(_, stat) = trust.trusted(listing(&[])) else { panic!("a listing") };
        assert!(!stat.has_child_history() && stat.next_sequence().is_none());
        assert_eq!(trust.watching, WatchStyle::OneShot);
    }
}
