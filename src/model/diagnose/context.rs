//! What every check is given: one lock or all locks at one moment, and the waiters that no watch
//! event will wake.

use std::sync::Arc;
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::suspicion::{NodeKey, RoundMemory, Suspicion, finding};
use super::waits::{Cycle, Wait};
use super::{Code, Finding, OwnerState, Severity, TableAt, Thresholds};
use crate::queue::{
    Contender, ContenderRow, ContenderState, Departure, ElectionKind, ElectionRecord, LockQueue, is_registry,
};
use crate::server_view::Connection;
use lockscope_base::recipe::{LockKind, Recipe, Role};
use lockscope_base::znode::{SessionId, Timestamp};

/// Maximum number of suspicions of one kind per lock. A fault that occurs a hundred times has one
/// cause.
pub const MAX_SUSPICIONS: usize = 100;

/// A check: it looks at the current state with its own memory, and returns suspicions.
pub trait Check {
    /// Begins a look. Forgets what the last look did not see.
    fn begin(&mut self) {}

    /// Looks at one lock.
    fn check_lock(&mut self, _context: &LockContext<'_>, _found: &mut Vec<Suspicion>) {}

    /// Looks at all locks together, before each lock is looked at alone.
    fn check_all(&mut self, _context: &TableContext<'_>, _found: &mut Vec<Suspicion>) {}
}

/// All locks at one moment.
pub struct TableContext<'a> {
    pub table_at: TableAt<'a>,
    pub thresholds: &'a Thresholds,
    /// Cycles of sessions that wait for each other, across locks.
    pub cycles: Vec<Cycle>,
    /// Sessions that wait for a lock that they hold themselves.
    pub self_blocked: Vec<Wait>,
}

/// How sure it is that two clients act at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Danger {
    Proven,
    Suspected,
}

/// One lock at one moment.
pub struct LockContext<'a> {
    pub table_at: TableAt<'a>,
    pub thresholds: &'a Thresholds,
    pub lock: &'a LockQueue,
    /// The sessions with more than one node in this queue, with their positions.
    pub repeated: FxHashMap<SessionId, Vec<usize>>,
    /// The sessions that watch a node of this queue, as far as the servers report.
    pub watching: FxHashSet<SessionId>,
    /// The waiters that no watch event will wake.
    pub unwatched: Vec<Unwatched>,
    /// How sure it is that this lock is an election; `None` for a lock that is none.
    pub election: Option<ElectionKind>,
}

/// A waiter whose client is alive but watches neither its predecessor nor the parent's children.
#[derive(Clone, Debug)]
pub struct Unwatched {
    pub position: usize,
    pub session: SessionId,
    /// The node that the waiter waits for.
    pub behind: Arc<str>,
    /// Identifies the waiter and the node that it waits for.
    pub state: i64,
    /// When the server was asked for its watches.
    pub gathered: Timestamp,
    /// When the client was last heard.
    pub heard: Timestamp,
    /// The number of the client's last request.
    pub cxid: Option<i64>,
}

impl<'a> LockContext<'a> {
    /// Creates the context of a lock, without [`unwatched`](Self::unwatched), which needs
    /// [memory](UnwatchedMemory).
    pub fn new(table_at: TableAt<'a>, thresholds: &'a Thresholds, lock: &'a LockQueue) -> Self {
        // The names of nodes prove an orphan also where nobody is known to wait.
        let waits = lock.behind() > 0 && lock.kind() != LockKind::SingleNode;
        let repeated = if waits { repeated(lock) } else { FxHashMap::default() };
        let is_listed = waits && table_at.view().lists_watches();
        let watching = if is_listed { watching(table_at, lock) } else { FxHashSet::default() };
        let election = table_at.table().election_kind(lock, table_at.now());
        Self { table_at, thresholds, lock, repeated, watching, unwatched: Vec::new(), election }
    }

    pub fn now(&self) -> Timestamp {
        self.table_at.now()
    }

    /// Returns what is remembered about this election.
    pub fn election_record(&self) -> Option<&'a ElectionRecord> {
        self.table_at.table().elections().record(self.lock)
    }

    /// Returns the leaders and candidates of this election that have gone and are not in its queue
    /// by any session now.
    pub fn absent(&self) -> impl DoubleEndedIterator<Item = &'a Departure> {
        let absent = self.election_record().into_iter().flat_map(ElectionRecord::absent);
        absent.filter(|departure| !self.is_back(departure))
    }

    /// Returns whether a client that has gone is in the queue now, by its name. It may have queued
    /// with a new session before its old one ended.
    pub fn is_back(&self, departure: &Departure) -> bool {
        departure
            .client
            .name_of_one_client()
            .is_some_and(|name| self.table_at.table().clients().is_queued(self.lock, name))
    }

    /// Returns the severity of a finding about an absence in this election: as given if it certainly
    /// is one, one less if its path or data suggest it, and `Info` if its recipe is unknown.
    pub fn severity_here(&self, severity: Severity) -> Severity {
        match (self.election, severity) {
            (Some(ElectionKind::Certain), severity) => severity,
            (Some(ElectionKind::Likely), Severity::Critical) => Severity::Warning,
            _ => Severity::Info,
        }
    }

    /// Returns the severity of a finding that two clients of this election may act at once. It does
    /// not depend on how sure it is that this is an election. Members of a registry act at
    /// once by design.
    pub fn severity_of(&self, danger: Danger) -> Severity {
        match danger {
            _ if is_registry(self.lock) => Severity::Info,
            Danger::Proven => Severity::Critical,
            Danger::Suspected => Severity::Warning,
        }
    }

    /// Returns how long an election may be without a leader or a candidate.
    pub fn leader_within(&self) -> Duration {
        let expected = self.table_at.table().elections().expectation(self.lock);
        expected.and_then(|expected| expected.leader_within).unwrap_or(self.thresholds.stuck_after)
    }

    /// Returns how many contenders wait for this lock.
    pub fn waiting(&self) -> usize {
        self.table_at.waiting(self.lock)
    }

    /// Returns whether the waiters cannot get the lock unless this contender releases it.
    ///
    /// Members of a registry may wait for nothing. A semaphore's waiter may get another lease, if
    /// its holder can return it. Only the servers' answers show who waits for a single node.
    pub fn blocks_for_good(&self, row: &ContenderRow<'_>) -> bool {
        let can_tell = self.lock.kind() != LockKind::SingleNode || self.table_at.view().provenance().can_prove();
        row.state == ContenderState::Holds
            && self.waiting() > 0
            && can_tell
            && !is_registry(self.lock)
            && (self.lock.kind() != LockKind::Semaphore || self.no_other_lets_go(row.position))
    }

    /// Returns whether all other holders are ghosts or persistent nodes.
    fn no_other_lets_go(&self, position: usize) -> bool {
        let mut others = self.lock.rows(0..self.lock.holding()).filter(|other| other.position != position);
        others
            .all(|other| matches!(self.table_at.owner_of(other.contender).0, OwnerState::Ghost | OwnerState::Ownerless))
    }

    /// Returns how long the first in line has waited. For a single node this is unknown;
    /// `Duration::MAX` stands for it.
    pub fn first_waits(&self) -> Option<Duration> {
        if self.lock.kind() == LockKind::SingleNode {
            return (self.waiting() > 0).then_some(Duration::MAX);
        }
        let first =
            self.lock.rows(self.lock.holding()..self.lock.len()).find(|row| row.state == ContenderState::Waits)?;
        Some(self.now().since(first.contender.contends_since(self.table_at.table().clock().ahead_ms())))
    }
}

/// Begins a finding about a contender.
pub fn of_contender(code: Code, severity: Severity, context: &LockContext<'_>, contender: &Contender) -> Finding {
    finding(code, severity, context.lock, Some(&contender.node)).of_client(context.table_at.identity(contender))
}

/// Returns the minimum time for which a contender has held; zero if it does not hold.
pub fn held_at_least(table_at: TableAt<'_>, contender: &Contender) -> Duration {
    table_at.table().clock().hold_bounds(contender, table_at.now()).map(|bounds| bounds.at_least).unwrap_or_default()
}

fn repeated(lock: &LockQueue) -> FxHashMap<SessionId, Vec<usize>> {
    if is_short_without_repetition(lock) {
        return FxHashMap::default();
    }
    let mut first: FxHashMap<SessionId, usize> = FxHashMap::default();
    let mut repeated: FxHashMap<SessionId, Vec<usize>> = FxHashMap::default();
    for position in 0..lock.len() {
        let Some(session) = lock.contender_at(position).and_then(Contender::session) else { continue };
        if let Some(before) = first.insert(session, position) {
            repeated.entry(session).or_insert_with(|| vec![before]).push(position);
        }
    }
    repeated
}

/// Returns whether a queue is short and each of its sessions occurs once, as in nearly all locks.
/// The comparison of all pairs is fast then.
fn is_short_without_repetition(lock: &LockQueue) -> bool {
    const MAX_SHORT: usize = 8;
    if lock.len() > MAX_SHORT {
        return false;
    }
    let mut sessions = [None; MAX_SHORT];
    for (position, session) in sessions.iter_mut().enumerate().take(lock.len()) {
        *session = lock.contender_at(position).and_then(Contender::session);
    }
    let sessions = &sessions[..lock.len()];
    !(1..sessions.len()).any(|at| sessions[at].is_some() && sessions[..at].contains(&sessions[at]))
}

fn watching(table_at: TableAt<'_>, lock: &LockQueue) -> FxHashSet<SessionId> {
    let watched = table_at.view().watched_below(&lock.queue_path());
    watched.flat_map(|(_, watched)| watched.sessions.iter().copied()).collect()
}

/// Minimum age of a node when the watches are listed. The client may not have set its watch before.
const NEW: Duration = Duration::from_secs(1);

/// Memory about the waiters that do not watch what they wait for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct UnwatchedMemory {
    waiters: RoundMemory<NodeKey, Quiet>,
}

impl UnwatchedMemory {
    pub fn begin(&mut self) {
        self.waiters.begin();
    }
}

/// Since which look a client has sent no request.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Quiet {
    cxid: Option<i64>,
    established: Option<Timestamp>,
    since: Timestamp,
}

/// Returns the waiters of a queue that no watch event will wake.
///
/// A sound waiter also looks like this between its creation and its watch, and between a deletion
/// and its next watch.
pub fn unwatched(context: &LockContext<'_>, memory: &mut UnwatchedMemory) -> Vec<Unwatched> {
    let lock = context.lock;
    let listed = context.table_at.view().lists_watches();
    // Hive polls, and the contenders of an unknown recipe may not wait at all.
    let waits = !matches!(lock.recipe(), Recipe::Hive | Recipe::UnknownQueue) && lock.kind() != LockKind::SingleNode;
    if !listed || !waits || lock.waiting() == 0 || is_registry(lock) {
        return Vec::new();
    }
    let rows = lock.rows(lock.holding()..lock.len());
    rows.filter_map(|row| one(context, &row, &mut memory.waiters)).collect()
}

fn one(
    context: &LockContext<'_>,
    row: &ContenderRow<'_>,
    quiet: &mut RoundMemory<NodeKey, Quiet>,
) -> Option<Unwatched> {
    let (table_at, lock, contender) = (context.table_at, context.lock, row.contender);
    let session = contender.session().filter(|_| row.state == ContenderState::Waits)?;
    let alone = !context.repeated.contains_key(&session);
    if alone && context.watching.contains(&session) {
        return None;
    }
    // kazoo's `Lock` does not wait for readers, though both share one queue.
    if !alone && lock.recipe() == Recipe::KazooReadWrite {
        return None;
    }
    let behind = awaited(context, row)?;
    let gathered = table_at.view().watches_as_of(session)?;
    let since = contender.contends_since(table_at.table().clock().ahead_ms());
    let unseen = table_at.view().watches(session, &lock.path_of(behind.contender)) == Some(false);
    let connected = matches!(table_at.owner_of(contender).0, OwnerState::Live | OwnerState::Silent);
    if !unseen || gathered < since.plus(NEW) || !connected {
        return None;
    }
    let (member, connection) = table_at.view().connection_of(session)?;
    // A client that was never heard may not have got its wake-up yet.
    let heard = connection.last_heard?;
    let asked = member.connections.as_ref()?.at;
    let indifferent = is_indifferent(
        context,
        connection,
        asked,
        quiet.see((lock.id(), contender.czxid.0), || Quiet {
            cxid: connection.last_cxid,
            established: connection.established,
            since: context.now(),
        }),
    );
    // No list shows which sessions watch children, but the number of these watches may exclude this
    // session. The survey requests that number less often.
    let gathered = match table_at.child_watches_beside(session) {
        _ if indifferent => gathered,
        Some((0, counted)) if counted >= since.plus(NEW) => gathered.min(counted),
        _ => return None,
    };
    Some(Unwatched {
        position: row.position,
        session,
        behind: Arc::clone(&behind.contender.node),
        state: contender.czxid.0 ^ behind.contender.czxid.0.rotate_left(32),
        gathered,
        heard,
        cxid: connection.last_cxid,
    })
}

/// Returns whether an awake client sent no request after a contender came or left.
///
/// A client that watches children has to list them again after each event. So this client does not
/// watch them, even if others do.
fn is_indifferent(context: &LockContext<'_>, connection: &Connection, asked: Timestamp, quiet: &mut Quiet) -> bool {
    let same =
        quiet.cxid.is_some() && (quiet.cxid, quiet.established) == (connection.last_cxid, connection.established);
    if !same {
        *quiet = Quiet { cxid: connection.last_cxid, established: connection.established, since: context.now() };
        return false;
    }
    context.lock.woke_herd_at().is_some_and(|changed| {
        quiet.since <= changed
            && asked >= changed.plus(context.thresholds.settled_after)
            && connection.last_heard.is_some_and(|heard| heard >= changed.plus(NEW))
    })
}

/// Returns the single node that a waiter waits for. A waiter for a semaphore's leases waits for
/// many nodes, and watches children.
fn awaited<'a>(context: &LockContext<'a>, row: &ContenderRow<'_>) -> Option<ContenderRow<'a>> {
    let lock = context.lock;
    let names = lock.waits_for(row.position, 2);
    let [name] = names[..] else { return None };
    let position = match row.position.checked_sub(1).and_then(|before| lock.row(before)) {
        Some(before) if &*before.contender.node == name => before.position,
        _ => context.table_at.table().position(&lock.queue_path().child(name))?.1,
    };
    lock.row(position).filter(|awaited| awaited.contender.role != Role::Lease)
}
