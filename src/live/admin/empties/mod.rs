//! Finds the lock parents that have been empty for long, and looks at each again right before it is
//! deleted.
//!
//! Costs one listing for each node below the given one that is no contender, and four more requests
//! that change nothing for each that may be deleted. All nodes below are listed, since the observer
//! reports only those that it needs to follow locks. Slow servers are spared by pauses.

mod facts;

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::join;
use futures::stream;
use futures::stream::{StreamExt, TryStreamExt};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use zookeeper_client::Error;

use super::{DeletePlan, RecreationGuard, find_guards};
use crate::admin::{Emptiness, Ending, Examine, PlannedNode};
use crate::zk::stat_of;
use lockscope_base::time::now;
use lockscope_base::znode::{ZnodePath, ZnodeStat};
use lockscope_model::queue::{LockTable, ParentUse, TransactionAges};
use lockscope_requests::Requests;

pub use facts::{EmptiesFacts, EmptiesReport};

/// The maximum number of nodes whose guards are found out at the same time.
const MAX_GUARDS_AT_ONCE: usize = 8;

/// The search for empty lock parents.
#[derive(Debug)]
pub struct EmptiesSearch<'a> {
    /// A table that knows everything below the node, and the servers' view with their watches.
    pub table: &'a LockTable,
    /// The node. It is never deleted itself.
    pub below: &'a ZnodePath,
    /// How long ago the last child must have gone.
    pub older_than: Duration,
    /// The time limit of a request.
    pub patience: Duration,
}

impl EmptiesSearch<'_> {
    /// Finds the nodes, and how the deletion of each is guarded. Changes nothing. Cancel safe.
    pub async fn run(&self, client: &dyn Requests) -> Result<Empties, SearchError> {
        let WalkedNodes { nodes, not_readable } = walk(client, self.table, self.below, self.patience).await?;
        let stats = || nodes.iter().flat_map(|(_, stat)| [(stat.czxid, stat.ctime), (stat.mzxid, stat.mtime)]);
        let until = self.table.clock().server_time(now()).minus(self.older_than);
        let ages = TransactionAges::at(until, || self.table.contender_creations().chain(stats()));
        let counts = self.table.has_child_history(self.below);
        let mut left: BTreeMap<LeaveReason, EmptyGroup> = BTreeMap::new();
        if not_readable.count > 0 {
            left.insert(LeaveReason::NotReadable, not_readable);
        }
        let mut may_go = Vec::new();
        for (path, stat) in nodes.iter().filter(|(path, _)| path != self.below) {
            match why_left(self.table.use_of(path), stat, ages, counts).or_else(|| self.watched(path)) {
                Some(why) => left.entry(why).or_default().add(path),
                None => may_go.push((path, stat)),
            }
        }
        let plan = self.guarded(client, may_go, &mut left).await?;
        Ok(Empties { plan, left })
    }

    fn watched(&self, path: &ZnodePath) -> Option<LeaveReason> {
        let watchers = self.table.view().watchers_of(path)?;
        (!watchers.sessions.is_empty()).then_some(LeaveReason::Watched)
    }

    /// Plans the deletions as far as they are permitted and guarded, up to the limit.
    async fn guarded(
        &self,
        client: &dyn Requests,
        nodes: Vec<(&ZnodePath, &ZnodeStat)>,
        left: &mut BTreeMap<LeaveReason, EmptyGroup>,
    ) -> Result<DeletePlan, SearchError> {
        let server_now = self.table.clock().server_time(now());
        let mut plans = Vec::new();
        let mut leave = |why: LeaveReason, path: &ZnodePath| left.entry(why).or_default().add(path);
        let mut nodes = nodes.into_iter();
        while plans.len() < MAX_EMPTIES {
            let few = nodes.by_ref().take(MAX_GUARDS_AT_ONCE.min(MAX_EMPTIES - plans.len()));
            let found = few.map(async |(path, stat)| match DeletePlan::of_empty_node(path, stat, server_now) {
                Ok(plan) => answer(path, self.patience, find_guards(client, plan)).await.map(|plan| (path, Some(plan))),
                Err(_) => Ok((path, None)),
            });
            let found = futures::future::try_join_all(found).await?;
            if found.is_empty() {
                break;
            }
            for (path, plan) in found {
                match plan {
                    None => leave(LeaveReason::NoLockParent, path),
                    Some(plan) if plan.lacks().is_some() => leave(LeaveReason::NotPermitted, path),
                    Some(plan) if plan.nodes().iter().any(|node| node.guard == Some(RecreationGuard::Unguarded)) => {
                        leave(LeaveReason::Unguarded, path);
                    }
                    Some(plan) => plans.push(plan),
                }
            }
        }
        nodes.for_each(|(path, _)| leave(LeaveReason::OverLimit, path));
        Ok(DeletePlan::joined(plans))
    }
}

/// The maximum number of nodes that one run deletes: some minutes of work, and few enough that
/// somebody looks at what is left.
pub const MAX_EMPTIES: usize = 10_000;

/// The maximum number of paths that stand for a group of nodes.
pub const MAX_NAMED: usize = 5;

/// Nodes of which the same is to be said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmptyGroup {
    /// The number of nodes.
    pub count: usize,
    /// The first of them, at most [`MAX_NAMED`].
    pub first: Vec<ZnodePath>,
}

impl EmptyGroup {
    /// Adds a node.
    pub fn add(&mut self, path: &ZnodePath) {
        self.count += 1;
        if self.first.len() < MAX_NAMED {
            self.first.push(path.clone());
        }
    }
}

/// The nodes below one node: which would be deleted, and which are left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Empties {
    /// The plan to delete the empty ones.
    pub plan: DeletePlan,
    /// The others, by reason.
    pub left: BTreeMap<LeaveReason, EmptyGroup>,
}

impl Empties {
    /// Returns the nodes that would be deleted, as a group.
    pub fn chosen(&self) -> EmptyGroup {
        let mut group = EmptyGroup::default();
        self.plan.nodes().iter().for_each(|node| group.add(&node.path));
        group
    }
}

/// Why a node is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeaveReason {
    /// It has children.
    NotEmpty,
    /// A child came or went, or the data were written, too lately.
    TooYoung,
    /// No other node tells when its last child came or went.
    AgeNotKnown,
    /// It has data.
    HasData,
    /// A session watches it.
    Watched,
    /// It never had children, or a session or the ensemble keeps it.
    NoLockParent,
    /// It is an election's.
    Election,
    /// It is a part of a semaphore, or of several locks.
    OtherLock,
    /// The permission to read it is missing.
    NotReadable,
    /// The permission to delete it is missing.
    NotPermitted,
    /// Nothing that could guard its deletion may be written.
    Unguarded,
    /// The run has as many nodes as one may have.
    OverLimit,
}

impl LeaveReason {
    /// Returns the name in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Self::NotEmpty => "not-empty",
            Self::TooYoung => "too-young",
            Self::AgeNotKnown => "age-not-known",
            Self::HasData => "has-data",
            Self::Watched => "watched",
            Self::NoLockParent => "no-lock-parent",
            Self::Election => "election",
            Self::OtherLock => "other-lock",
            Self::NotReadable => "not-readable",
            Self::NotPermitted => "not-permitted",
            Self::Unguarded => "unguarded",
            Self::OverLimit => "over-limit",
        }
    }

    /// Returns the reason as a sentence about several nodes.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotEmpty => "they have children",
            Self::TooYoung => "a child came or went, or the data were written, more lately than --older-than",
            Self::AgeNotKnown => {
                "no node tells how long ago their last child went: of that a stat has a transaction, but no time"
            }
            Self::HasData => "they have data, which an application may need",
            Self::Watched => "a session watches them",
            Self::NoLockParent => "they never had children, or a session or the ensemble keeps them",
            Self::Election => "they are elections, where an empty parent means that nobody leads",
            Self::OtherLock => "they are parts of a semaphore, or hold several locks",
            Self::NotReadable => "the READ permission is missing: give an identity that has it with --auth-file",
            Self::NotPermitted => {
                "the DELETE permission on their parent is missing: give an identity that has it with --auth-file"
            }
            Self::Unguarded => "they may not be written, so nothing would guard the deletion",
            Self::OverLimit => "a run deletes no more: run it again for the rest",
        }
    }
}

/// Returns why a node is left; `None` if it may be deleted as far as its stat tells.
///
/// The age is that of `pzxid`, the last change of the children. `mtime` and `ctime` are times, but
/// of other changes: of the data, and of the creation.
///
/// `counts` tells whether the server counts `pzxid` and `cversion` as `ZooKeeper` does.
fn why_left(usage: ParentUse, stat: &ZnodeStat, ages: TransactionAges, counts: bool) -> Option<LeaveReason> {
    if stat.num_children > 0 {
        return Some(LeaveReason::NotEmpty);
    }
    match usage {
        ParentUse::Used => return Some(LeaveReason::NotEmpty),
        ParentUse::Election => return Some(LeaveReason::Election),
        ParentUse::OtherLock => return Some(LeaveReason::OtherLock),
        ParentUse::Free => {}
    }
    if stat.cversion <= 0 || stat.ephemeral_owner.is_some() {
        return Some(LeaveReason::NoLockParent);
    }
    if stat.data_length > 0 {
        return Some(LeaveReason::HasData);
    }
    match ages.is_early(stat.pzxid).filter(|_| counts) {
        // Somebody who writes to a node uses it.
        Some(true) => (ages.is_early(stat.mzxid) != Some(true)).then_some(LeaveReason::TooYoung),
        Some(false) => Some(LeaveReason::TooYoung),
        None => Some(LeaveReason::AgeNotKnown),
    }
}

/// The maximum number of requests under way, so that other clients hardly notice them.
const MAX_LISTINGS_AT_ONCE: usize = 16;

/// The maximum number of nodes that are looked at: they take some hundred megabytes.
const MAX_LOOKED_AT: usize = 1_000_000;

/// The nodes cannot be looked at.
#[derive(Debug, thiserror::Error)]
#[error("{path} cannot be looked at: {why}; nothing was deleted")]
pub struct SearchError {
    path: ZnodePath,
    why: String,
}

/// The nodes that were found.
#[derive(Debug, Default)]
struct WalkedNodes {
    /// The nodes, in the order of their depth, and of their paths.
    pub nodes: Vec<(ZnodePath, ZnodeStat)>,
    /// Those that may not be read.
    pub not_readable: EmptyGroup,
}

/// Lists a node and all below it, except the contenders that the table knows, and nodes that go
/// meanwhile. `patience` is the time limit of a request.
async fn walk(
    client: &dyn Requests,
    table: &LockTable,
    below: &ZnodePath,
    patience: Duration,
) -> Result<WalkedNodes, SearchError> {
    let mut found = WalkedNodes::default();
    let mut level = vec![below.clone()];
    while !level.is_empty() {
        if found.nodes.len() + level.len() > MAX_LOOKED_AT {
            let why = format!("it has more than {MAX_LOOKED_AT} nodes below it: name one of its children instead");
            return Err(SearchError { path: below.clone(), why });
        }
        let listed = stream::iter(level).map(|path| list(client, path, patience)).buffered(MAX_LISTINGS_AT_ONCE);
        let listed: Vec<(ZnodePath, Listed)> = listed.try_collect().await?;
        level = Vec::new();
        for (path, listed) in listed {
            match listed {
                Listed::Node(mut names, stat) => {
                    names.sort_unstable();
                    let children = names.iter().map(|name| path.child(name));
                    level.extend(children.filter(|child| table.position(child).is_none() && !child.is_servers_own()));
                    found.nodes.push((path, stat));
                }
                Listed::NotReadable => found.not_readable.add(&path),
                Listed::Gone => {}
            }
        }
    }
    Ok(found)
}

enum Listed {
    Node(Vec<String>, ZnodeStat),
    NotReadable,
    Gone,
}

async fn list(client: &dyn Requests, path: ZnodePath, patience: Duration) -> Result<(ZnodePath, Listed), SearchError> {
    let listed = answer(&path, patience, async {
        match client.children(path.as_str()).await {
            Ok((names, stat)) => Ok(Listed::Node(names, stat_of(&stat))),
            Err(Error::NoAuth) => Ok(Listed::NotReadable),
            Err(Error::NoNode) => Ok(Listed::Gone),
            Err(error) => Err(error),
        }
    });
    let listed = listed.await?;
    Ok((path, listed))
}

/// Returns the answer to a request about a node.
async fn answer<T>(
    path: &ZnodePath,
    patience: Duration,
    reply: impl Future<Output = Result<T, Error>>,
) -> Result<T, SearchError> {
    let failed = |why: String| SearchError { path: path.clone(), why };
    match timeout(patience, reply).await {
        Ok(answer) => answer.map_err(|error| failed(format!("{error}; try again"))),
        Err(_) => Err(failed("the server is silent; try again".to_owned())),
    }
}

/// The pause is this many times as long as the last answer took, so that at most a fifth of a slow
/// server's time goes into the deletions.
const PAUSE_FACTOR: u32 = 4;

/// Answers that come faster need no pause.
const FAST: Duration = Duration::from_millis(20);

/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// Reads the stat of each node again, in sync with the leader: two requests in one round trip. Leaves the rest once the run is to stop, or once the servers
/// or the audit log fail.
#[derive(Debug)]
pub struct EmptyExaminer<'a> {
    client: &'a dyn Requests,
    patience: Duration,
    stop: &'a CancellationToken,
    pause: Duration,
}

impl<'a> EmptyExaminer<'a> {
    /// Starts to examine on a session other than the one that deletes. `patience` is the time limit
    /// of an answer.
    pub fn new(client: &'a dyn Requests, patience: Duration, stop: &'a CancellationToken) -> Self {
        Self { client, patience, stop, pause: Duration::ZERO }
    }
}

impl Examine for EmptyExaminer<'_> {
    async fn examine(&mut self, node: &PlannedNode) -> Result<Option<PlannedNode>, String> {
        let asked = Instant::now();
        let path = node.path.as_str();
        // A server that lags may still show a parent as it was before somebody used it.
        let in_sync = async { join(self.client.sync(path), self.client.stat(path)).await };
        let answer = timeout(self.patience, in_sync).await;
        self.pause = pause_after(asked.elapsed());
        let (synced, stat) = answer.map_err(|_| "the server is silent".to_owned())?;
        let stat = synced.and(stat).map_err(|error| error.to_string())?;
        let stat = stat.as_ref().map(stat_of);
        Ok(stat.map(|stat| PlannedNode { czxid: stat.czxid, emptiness: Some(Emptiness::from(&stat)), ..node.clone() }))
    }

    async fn may_go_on(&mut self, last: Option<&Ending>) -> bool {
        // The next node would fail in the same way.
        let failed = matches!(
            last,
            Some(Ending::NotDone { .. } | Ending::NotKnown { .. } | Ending::NotAudited { .. } | Ending::DeletedOther)
        );
        if failed || self.stop.is_cancelled() {
            return false;
        }
        tokio::select! {
            biased;
            () = self.stop.cancelled() => false,
            () = sleep(self.pause) => true,
        }
    }
}

fn pause_after(answer: Duration) -> Duration {
    if answer < FAST { Duration::ZERO } else { answer.saturating_mul(PAUSE_FACTOR).min(MAX_PAUSE) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockscope_base::znode::{SessionId, Timestamp, Zxid};

    const USED: ZnodeStat = ZnodeStat {
        czxid: Zxid(10),
        mzxid: Zxid(10),
        pzxid: Zxid(20),
        ctime: Timestamp(1),
        mtime: Timestamp(1),
        version: 0,
        cversion: 2,
        aversion: 0,
        ephemeral_owner: None,
        data_length: 0,
        num_children: 0,
    };

    fn chosen(usage: ParentUse, stat: ZnodeStat, dates: &[(i64, i64)]) -> Option<LeaveReason> {
        let dates = || dates.iter().map(|(zxid, at)| (Zxid(*zxid), Timestamp(*at)));
        why_left(usage, &stat, TransactionAges::at(Timestamp(100), dates), true)
    }

    #[test]
    fn only_what_is_proven_to_be_empty_for_long_is_deleted() {
        let by_date = |dates: &[(i64, i64)]| chosen(ParentUse::Free, USED, dates);
        assert_eq!(by_date(&[(30, 100)]), None, "a later node is old enough");
        assert_eq!(
            by_date(&[(10, 1), (30, 101)]),
            Some(LeaveReason::AgeNotKnown),
            "its own creation does not date its children"
        );
        assert_eq!(by_date(&[(15, 101), (30, 102)]), Some(LeaveReason::TooYoung));
        assert_eq!(by_date(&[]), Some(LeaveReason::AgeNotKnown));
        let written = ZnodeStat { mzxid: Zxid(25), ..USED };
        assert_eq!(chosen(ParentUse::Free, written, &[(22, 100), (25, 101)]), Some(LeaveReason::TooYoung));
        let ages = TransactionAges::at(Timestamp(100), || std::iter::once((Zxid(30), Timestamp(100))));
        assert_eq!(
            why_left(ParentUse::Free, &USED, ages, false),
            Some(LeaveReason::AgeNotKnown),
            "a server that counts in another way"
        );
    }

    #[test]
    fn what_may_be_in_use_is_left_for_its_reason() {
        let by_stat = |stat| chosen(ParentUse::Free, stat, &[(30, 100)]);
        assert_eq!(by_stat(ZnodeStat { num_children: 1, ..USED }), Some(LeaveReason::NotEmpty));
        assert_eq!(by_stat(ZnodeStat { data_length: 1, ..USED }), Some(LeaveReason::HasData));
        assert_eq!(by_stat(ZnodeStat { cversion: 0, pzxid: Zxid(10), ..USED }), Some(LeaveReason::NoLockParent));
        assert_eq!(by_stat(ZnodeStat { ephemeral_owner: Some(SessionId(1)), ..USED }), Some(LeaveReason::NoLockParent));
        for (usage, why) in [
            (ParentUse::Used, LeaveReason::NotEmpty),
            (ParentUse::Election, LeaveReason::Election),
            (ParentUse::OtherLock, LeaveReason::OtherLock),
        ] {
            assert_eq!(chosen(usage, USED, &[(30, 100)]), Some(why));
        }
    }

    #[test]
    fn the_pause_grows_with_the_servers_answers_and_has_a_limit() {
        assert_eq!(pause_after(Duration::from_millis(2)), Duration::ZERO);
        assert_eq!(pause_after(Duration::from_millis(100)), Duration::from_millis(400));
        assert_eq!(pause_after(Duration::MAX), MAX_PAUSE);
    }
}
