//! What the servers' answers tell of each contender: who its client is, whether that is alive, what
//! it watches, and what it does not know.
//!
//! [`TableAt`] is a table with the servers' answers at one moment; all facts are read through it.
//! What a server reports of a watch comes before what the recipe would watch: another library may
//! use the same names.
//!
//! [`Unaware`] is what the client of a live node does not know about it. Texts about a deletion of
//! the node follow from this.

use std::time::Duration;

use super::{Code, Finding};
use crate::queue::{
    ClientIdentity, ConnectionState, Contender, ContenderRow, ContenderState, LockId, LockQueue, LockTable,
};
use crate::server_view::{Connection, Liveness, ServerView, Silence, Watchers};
use lockscope_base::recipe;
use lockscope_base::recipe::{LockKind, Recipe, RequestMode, Role, is_of_own_lock};
use lockscope_base::znode::{Sequence, SessionId, Timestamp, ZnodePath, escaped};

/// How long a session must be in no list before its node is a ghost. Members answer one after the
/// other, and a follower may lag.
const GHOSTLY: Duration = Duration::from_secs(2);

/// Whether a contender's owner is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OwnerState {
    /// A server holds a connection of the session.
    Live,
    /// A server holds a connection of the session, but has not heard it for at least half of its
    /// timeout.
    Silent,
    /// The session has no connection. It expires unless its client comes back.
    Expiring,
    /// The session provably does not exist, though its node still does.
    Ghost,
    /// No session owns the node.
    Ownerless,
    /// The servers did not report enough.
    Unknown,
}

impl OwnerState {
    /// Returns the name in JSON and on the screen.
    pub fn id(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Silent => "silent",
            Self::Expiring => "expiring",
            Self::Ghost => "ghost",
            Self::Ownerless => "ownerless",
            Self::Unknown => "unknown",
        }
    }
}

/// What a contender's owner watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WatchTarget {
    /// The node that the contender waits for.
    Predecessor,
    /// The node that the contender waits for, and the one before it.
    TwoBefore,
    /// The children of the lock parent, as in a herd.
    Parent,
    /// None of these.
    Nothing,
    /// The servers did not report enough. Also used for holders, which have nothing to watch.
    Unknown,
}

impl WatchTarget {
    /// Returns the name in JSON and on the screen.
    pub fn id(self) -> &'static str {
        match self {
            Self::Predecessor | Self::TwoBefore => "predecessor",
            Self::Parent => "parent",
            Self::Nothing => "nothing",
            Self::Unknown => "unknown",
        }
    }
}

/// A table with the servers' answers at one moment.
#[derive(Clone, Copy, Debug)]
pub struct TableAt<'a> {
    table: &'a LockTable,
    now: Timestamp,
}

impl<'a> TableAt<'a> {
    /// Creates a snapshot of the table and its last view at `now`.
    pub fn new(table: &'a LockTable, now: Timestamp) -> Self {
        Self { table, now }
    }

    /// Returns the table.
    pub fn table(&self) -> &'a LockTable {
        self.table
    }

    /// Returns the servers' answers.
    pub fn view(&self) -> &'a ServerView {
        self.table.view()
    }

    /// Returns the moment, by this machine's clock.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns whether every server that answers was asked again since the last upheaval of the
    /// ensemble. Before that, a session without a connection may only be moving.
    pub(super) fn is_settled(&self) -> bool {
        self.table.upheaval_at().is_none_or(|at| self.view().answers_as_of() > Some(at))
    }

    /// Returns the client of a contender.
    pub fn identity(&self, contender: &Contender) -> ClientIdentity {
        self.table.clients().identity_of(contender)
    }

    /// Names a contender in a sentence; by its node if it has no session and no name.
    pub fn who(&self, contender: &Contender) -> String {
        let client = self.identity(contender);
        let nobody = ClientIdentity { unread: client.unread, ..ClientIdentity::default() };
        if client == nobody { short_node(&contender.node) } else { client.in_sentence(self.now) }
    }

    /// Names the client with this node in a lock's queue, in a sentence.
    pub(super) fn who_at(&self, lock: LockId, node: &str, session: SessionId) -> String {
        self.table.identity_at(lock, node, session).in_sentence(self.now)
    }

    /// Names a session in a sentence.
    pub(super) fn who_is(&self, session: SessionId) -> String {
        self.table.clients().identity(session).in_sentence(self.now)
    }

    /// Returns whether a contender's owner is alive, and how long its session has left if it is
    /// silent or has no connection.
    pub fn owner_of(&self, contender: &Contender) -> (OwnerState, Option<Duration>) {
        let Some(session) = contender.session() else {
            let owner = if contender.is_read() { OwnerState::Ownerless } else { OwnerState::Unknown };
            return (owner, None);
        };
        self.owner_state(session, contender.contends_since(self.table.clock().ahead_ms()))
    }

    /// Returns whether a session is alive that had a node at `since`, by this machine's clock.
    ///
    /// A session without a connection is unknown for as long as it may only be moving.
    pub fn owner_state(&self, session: SessionId, since: Timestamp) -> (OwnerState, Option<Duration>) {
        let liveness = self.view().liveness(session);
        match liveness {
            Liveness::Connected => match self.view().silence_of(session) {
                Some(silence) => (OwnerState::Silent, Some(silence.left(self.now))),
                None => (OwnerState::Live, None),
            },
            Liveness::Disconnected { .. } if !self.is_settled() => (OwnerState::Unknown, None),
            Liveness::Disconnected { .. } => (OwnerState::Expiring, liveness.expires_in(self.now)),
            // A list that is older than the node proves nothing about its owner.
            Liveness::NoSession { at } if at > since.plus(GHOSTLY) && self.view().every_member_answered() => {
                (OwnerState::Ghost, None)
            }
            Liveness::NoSession { .. } | Liveness::Exists { .. } | Liveness::Unproven | Liveness::Unknown => {
                (OwnerState::Unknown, None)
            }
        }
    }

    /// Returns the number of watches on children on the server with a session's connection, and
    /// when the server counted them.
    ///
    /// The watch of this table's observer, which servers before 3.9 count too, is subtracted.
    pub(super) fn child_watches_beside(&self, session: SessionId) -> Option<(u64, Timestamp)> {
        let (member, _) = self.view().connection_of(session)?;
        let (count, at) = (member.child_watches()?, member.counted_at?);
        let own = match self.table.connection() {
            ConnectionState::Connected { session, recursive: true } if member.counts_recursive_watches() => {
                let here = member.connections_of(*session).iter();
                here.filter_map(|connection| connection.established).any(|made| at.since(made) > JUST_MADE)
            }
            _ => false,
        };
        Some((count.saturating_sub(u64::from(own)), at))
    }

    /// Returns the sessions that watch the node of a single-node lock, without its holder: they
    /// wait or stand by.
    ///
    /// Returns `None` when no server listed its watches, and for other locks, whose waiters are in
    /// the tree.
    pub fn waiters(&self, lock: &LockQueue) -> Option<Watchers> {
        if lock.kind() != LockKind::SingleNode {
            return None;
        }
        let mut watchers = self.view().watchers_of(lock.path())?;
        let holder = lock.first_holder().and_then(Contender::session);
        let observer = match self.table.connection() {
            ConnectionState::Connected { session, .. } => Some(*session),
            _ => None,
        };
        let others = [holder, observer, self.view().own_session];
        watchers.sessions.retain(|session| !others.contains(&Some(*session)));
        Some(watchers)
    }
}

/// Returns the name of a node for a sentence: its number if it has one, otherwise its full name.
pub fn short_node(node: &str) -> String {
    match Sequence::split(node) {
        Some((_, Sequence(number))) => format!("node {number}"),
        None => format!("node {}", escaped(node)),
    }
}

/// The end of a sentence that rests on a plain-text answer beside a session over TLS.
pub const IN_PLAIN_TEXT: &str = " (told in plain text, which proves nothing beside TLS)";

/// A watch or connection that was made this shortly before a count may be missing from it.
const JUST_MADE: Duration = Duration::from_secs(2);

/// Returns the part of a node's name that identifies its attempt, without the number. `None` for
/// names without an id, and for those with a session id, which all attempts of a session share.
pub fn attempt<'n>(lock: &LockQueue, node: &'n str) -> Option<&'n str> {
    let name = match lock.recipe() {
        Recipe::Own(own) => own.read(node),
        _ => recipe::read(node),
    };
    let id = name?.attempt?;
    let digits = id.bytes().filter(u8::is_ascii_hexdigit).count();
    (digits == 32).then_some(Sequence::split(node)?.0)
}

/// Facts about a contender from the servers' answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerFacts<'a> {
    /// Whether the owner is alive.
    pub owner: OwnerState,
    /// The owner's connection.
    pub connection: Option<&'a Connection>,
    /// How long the session has left, if it is silent or has no connection, and if this is known.
    pub expires_in: Option<Duration>,
    /// The owner's silence, for a countdown.
    pub silence: Option<Silence>,
    /// What the owner watches.
    pub watching: WatchTarget,
    /// The node of the queue that the owner watches, as a server lists it. `None` where no server
    /// does: then only the recipe tells what the contender waits for.
    pub watched: Option<&'a str>,
}

/// How it is known what a contender waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AwaitedBy {
    /// A server lists its watch.
    Watch,
    /// The recipe: the servers do not tell.
    Recipe,
}

impl AwaitedBy {
    /// Returns the name in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Self::Watch => "watch",
            Self::Recipe => "recipe",
        }
    }
}

/// How it is known that a contender holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldBy {
    /// Its place in the queue: the servers do not tell what its session watches.
    Order,
    /// Its place in the queue, and its session watches no node that it could wait for, as the server
    /// with its connection listed after its turn.
    Watches,
    /// Its client asked for it: by the node of a single-node lock, or by a lease.
    Request,
    /// Its place in the queue, by the library of this project, which waits for no later node.
    Own,
}

impl HeldBy {
    /// Returns the name in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Self::Order => "order",
            Self::Watches => "watches",
            Self::Request => "request",
            Self::Own => "own",
        }
    }

    /// Returns the words for the screen, after "nobody".
    pub fn title(self) -> &'static str {
        match self {
            Self::Order => "by its place: its watches are unknown",
            Self::Watches => "by its place and its watches",
            Self::Request => "it created the node to hold",
            Self::Own => "by its place, and lockscope's library",
        }
    }

    /// Returns whether more than the place in the queue tells that the contender holds.
    pub fn is_proven(self) -> bool {
        self != Self::Order
    }
}

impl<'a> OwnerFacts<'a> {
    /// Returns how it is known what the contender waits for.
    pub fn awaited_by(&self) -> AwaitedBy {
        if self.watched.is_some() { AwaitedBy::Watch } else { AwaitedBy::Recipe }
    }

    /// Returns the nodes that must go before the contender's turn, as
    /// [`LockQueue::blockers`] does. What a server reports of a reader's watch comes before what its
    /// recipe would watch. In a queue of unknown rules only a watch shows that somebody waits.
    pub fn blockers(&self, lock: &'a LockQueue, row: &ContenderRow<'_>, most: usize) -> Vec<&'a str> {
        match self.watched.filter(|_| row.mode == RequestMode::Read) {
            Some(writer) => vec![writer],
            None if lock.is_assumed() => self.watched.into_iter().collect(),
            None => lock.blockers(row.position, most),
        }
    }
}

impl<'a> TableAt<'a> {
    /// Returns the facts about a contender. Takes a binary search for each member and each node
    /// that the contender waits for.
    pub fn facts(&self, lock: &'a LockQueue, row: &ContenderRow<'a>) -> OwnerFacts<'a> {
        let contender = row.contender;
        let (life, expires_in) = self.owner_of(contender);
        let connection =
            contender.session().and_then(|session| self.view().connection_of(session)).map(|(_, found)| found);
        let silence = contender.session().filter(|_| life == OwnerState::Silent);
        let silence = silence.and_then(|session| self.view().silence_of(session));
        let (watching, watched) = self.watching(lock, row);
        OwnerFacts { owner: life, connection, expires_in, silence, watching, watched }
    }

    /// Returns how it is known that a contender holds; `None` for one that does not hold, or that no
    /// session owns.
    pub fn held_by(&self, lock: &LockQueue, row: &ContenderRow<'_>) -> Option<HeldBy> {
        let contender = row.contender;
        if row.state != ContenderState::Holds || contender.is_read() && contender.session().is_none() {
            return None;
        }
        if contender.role != Role::Queue {
            return Some(HeldBy::Request);
        }
        if is_of_own_lock(&contender.node) {
            return Some(HeldBy::Own);
        }
        let turn = contender.acquired_at().unwrap_or(contender.contends_since(self.table().clock().ahead_ms()));
        // Where the program grants fewer leases than the config file says, this one waits: for any change
        // of the parent, which no list of watches shows.
        let is_known = !lock.is_assumed() && lock.recipe().leases_in_queue().is_none();
        let Some(session) = contender.session().filter(|_| is_known) else { return Some(HeldBy::Order) };
        let listed = self.view().watches_as_of(session).is_some_and(|listed| listed > turn.plus(JUST_MADE));
        // One list that shows a watch on another node leaves open whether it waits.
        let mut here = self.view().watched_below(&lock.queue_path());
        let mut may_wait = || {
            here.any(|(_, watched)| {
                *watched.path.name() != *contender.node && watched.sessions.binary_search(&session).is_ok()
            })
        };
        Some(if listed && !may_wait() { HeldBy::Watches } else { HeldBy::Order })
    }

    /// Returns whether the owner of a contender in an exclusive lock also watches the node before
    /// its predecessor. Such a watch counts only if no other node of the owner needs it.
    fn watches_ahead(&self, lock: &LockQueue, session: SessionId, position: usize) -> bool {
        let Some(predecessor) = position.checked_sub(1) else { return false };
        let is_own = lock.row(predecessor).is_some_and(|row| row.contender.session() == Some(session));
        let ahead = lock.waits_for(predecessor, 1);
        let watched = |node: &&str| self.view().watches(session, &path_of(lock, node)) == Some(true);
        lock.kind() == LockKind::Exclusive && !is_own && ahead.first().is_some_and(watched)
    }

    /// Returns the node of another writer that a reader watches than the one that its recipe
    /// watches.
    ///
    /// A watch that another node of the same session may need does not count.
    fn other_writer<'l>(&self, lock: &'l LockQueue, session: SessionId, position: usize) -> Option<&'l str> {
        let mut writers = lock.writers_before(position).into_iter().flatten();
        writers.find_map(|writer| {
            let node = &*lock.contender_at(writer)?.node;
            let mut between = lock.rows((writer + 1).max(position.saturating_sub(MOST_WATCHED))..position);
            let is_shared = between.any(|row| row.contender.session() == Some(session));
            (!is_shared && self.view().watches(session, &path_of(lock, node)) == Some(true)).then_some(node)
        })
    }

    /// Returns what a waiter watches, as far as the servers' lists show it, and the node of the queue
    /// among it.
    ///
    /// The lists never show who watches children; servers only report the number of such watches.
    fn watching<'l>(&self, lock: &'l LockQueue, row: &ContenderRow<'_>) -> (WatchTarget, Option<&'l str>) {
        let unknown = (WatchTarget::Unknown, None);
        let Some(session) = row.contender.session() else { return unknown };
        let mut known = true;
        for node in lock.waits_for(row.position, MOST_WATCHED) {
            match self.view().watches(session, &path_of(lock, node)) {
                Some(true) if self.watches_ahead(lock, session, row.position) => {
                    return (WatchTarget::TwoBefore, Some(node));
                }
                Some(true) => return (WatchTarget::Predecessor, Some(node)),
                Some(false) => {}
                None => known = false,
            }
        }
        if row.state != ContenderState::Waits {
            return unknown;
        }
        if let Some(node) = self.other_writer(lock, session, row.position) {
            return (WatchTarget::Predecessor, Some(node));
        }
        if !known {
            return unknown;
        }
        let since = row.contender.contends_since(self.table().clock().ahead_ms());
        match self.child_watches_beside(session) {
            Some((0, counted)) if counted >= since.plus(JUST_MADE) => (WatchTarget::Nothing, None),
            _ => unknown,
        }
    }

    /// Returns the current evidence that the node is orphaned, one sentence each. It is no proof.
    /// Empty for a node that looks sound. Linear in the queue.
    pub fn suspicions(&self, lock: &LockQueue, row: &ContenderRow<'a>) -> Vec<String> {
        let mut found = Vec::new();
        let Some(session) = row.contender.session() else { return found };
        let own = attempt(lock, &row.contender.node);
        let others = lock.rows(0..lock.len()).filter(|other| other.position != row.position);
        for other in others.filter(|other| other.contender.session() == Some(session)) {
            let node = escaped(&other.contender.node);
            if own.is_some() && attempt(lock, &other.contender.node) == own {
                let is_kept = (row.position < other.position) == lock.recipe().keeps_first_of_attempt();
                let which = if is_kept { ", and its client goes on with this node" } else { "" };
                found.push(format!(
                    "{node} bears the id of the same attempt: the reply to one of the creates was lost{which}"
                ));
            } else if other.position > row.position && lock.kind() != LockKind::Semaphore {
                found.push(format!("its session queues again as {node}"));
            }
        }
        if self.watching(lock, row).0 == WatchTarget::Nothing {
            let doubt = if self.view().provenance().can_prove() { "" } else { IN_PLAIN_TEXT };
            found.push(format!("its session does not watch what it waits for{doubt}"));
        }
        found
    }
}

/// Maximum number of nodes that are checked per waiter. Only a waiter for a lease waits for more
/// than one.
const MOST_WATCHED: usize = 64;

/// Returns the path of a node that a contender of this lock waits for.
fn path_of(lock: &LockQueue, node: &str) -> ZnodePath {
    let leases =
        lock.kind() == LockKind::Semaphore && lock.rows(0..lock.holding()).any(|row| &*row.contender.node == node);
    match (leases, lock.first_holder()) {
        (true, Some(holder)) => lock.path_of(holder).parent().unwrap_or_else(ZnodePath::root).child(node),
        _ => lock.queue_path().child(node),
    }
}

/// The fact that a contender's client does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unaware {
    /// The node itself: the reply to a create was lost, and the client goes on with another node.
    OfNode,
    /// Probably the node itself: the client queues again, and watches nothing for this node.
    OfNodeSuspected,
    /// The hold of the lock: the client watched nothing when its turn came, and has sent no request
    /// since.
    OfTurn,
    /// The coming of its turn: the client watches nothing.
    OfTurnToCome,
}

impl Unaware {
    /// Returns what the client does not know by a finding about its node; `None` if the finding
    /// does not tell.
    pub fn by_finding(finding: &Finding, state: ContenderState) -> Option<Self> {
        match finding.code {
            Code::Orphan => Some(Self::OfNode),
            Code::OrphanSuspected => Some(Self::OfNodeSuspected),
            Code::LostWakeUp if state == ContenderState::Waits => Some(Self::OfTurnToCome),
            Code::LostWakeUp => Some(Self::OfTurn),
            _ => None,
        }
    }

    /// Returns whether the client cannot see data that is written into the node. A client that does
    /// not know that it holds does not watch its own node.
    pub fn ignores_requests(self) -> bool {
        matches!(self, Self::OfNode | Self::OfTurn)
    }
}

impl<'a> TableAt<'a> {
    /// Returns what a contender's client does not know, by the current evidence. Linear in the
    /// queue.
    ///
    /// Less certain than a standing finding, except for an orphan, which its name proves.
    pub fn unaware(&self, lock: &LockQueue, row: &ContenderRow<'a>) -> Option<Unaware> {
        // The order of a queue that shows deleted nodes is not the ensemble's.
        let session = row.contender.session().filter(|_| lock.returned() == 0)?;
        let own = attempt(lock, &row.contender.node);
        let others = |window| lock.rows(window).filter(move |other| other.contender.session() == Some(session));
        let is_of_attempt = |other: ContenderRow<'_>| own.is_some() && attempt(lock, &other.contender.node) == own;
        let (before, behind) = (0..row.position, row.position + 1..lock.len());
        let known = if lock.recipe().keeps_first_of_attempt() { before } else { behind.clone() };
        if others(known).any(is_of_attempt) {
            return Some(Unaware::OfNode);
        }
        let queues_again = lock.kind() != LockKind::Semaphore && others(behind).any(|other| !is_of_attempt(other));
        let is_suspect = queues_again && self.facts(lock, row).watching == WatchTarget::Nothing;
        is_suspect.then_some(Unaware::OfNodeSuspected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, curator, one_session_twice, queue};

    #[test]
    fn a_reader_that_watches_the_last_writer_instead_of_the_first_is_woken() {
        let mut fixture = DiagnosisFixture::new();
        let name = |kind| format!("/orders/_c_00000000-0000-4000-8000-000000000000-__{kind}__");
        let nodes: Vec<ZnodePath> = (1..)
            .zip(["WRIT", "WRIT", "READ", "READ"])
            .map(|(session, kind)| fixture.create(&name(kind), session))
            .collect();
        for session in [3, 4] {
            fixture.client(session).sound = false;
        }
        fixture.client(3).watches.push(nodes[1].clone());
        fixture.pass(10);
        let lock = fixture.lock("/orders");
        let table_at = TableAt::new(&fixture.table, fixture.now);
        let watching: Vec<WatchTarget> =
            lock.rows(1..lock.len()).map(|row| table_at.facts(lock, &row).watching).collect();
        assert_eq!(watching, [WatchTarget::Predecessor, WatchTarget::Predecessor, WatchTarget::Nothing]);
    }

    /// Creates `R W R W R` of one library, of which the last reader watches the node at `watched`.
    /// Returns what it is shown behind, by position, and how that is known.
    fn last_reader(version: char, watched: Option<usize>) -> (Vec<usize>, AwaitedBy) {
        let mut fixture = DiagnosisFixture::new();
        let name = |kind| format!("/orders/_c_00000000-0000-{version}000-8000-000000000000-__{kind}__");
        let kinds = ["READ", "WRIT", "READ", "WRIT", "READ"];
        let nodes: Vec<ZnodePath> =
            (1..).zip(kinds).map(|(session, kind)| fixture.create(&name(kind), session)).collect();
        let client = fixture.client(5);
        (client.sound, client.watches) = (false, watched.map(|at| nodes[at].clone()).into_iter().collect());
        fixture.lists_watches = watched.is_some();
        fixture.pass(3);
        let lock = fixture.lock("/orders");
        let row = lock.row(4).expect("the last reader");
        let facts = TableAt::new(&fixture.table, fixture.now).facts(lock, &row);
        let blockers = facts.blockers(lock, &row, 9);
        let at = |name: &&str| nodes.iter().position(|node| node.name() == *name).expect("a node of the queue");
        (blockers.iter().map(at).collect(), facts.awaited_by())
    }

    #[test]
    fn a_reader_is_shown_behind_the_writer_that_it_watches_whatever_its_name_says() {
        for version in ['4', '8'] {
            for writer in [1, 3] {
                assert_eq!(last_reader(version, Some(writer)), (vec![writer], AwaitedBy::Watch), "{version}");
            }
        }
    }

    #[test]
    fn without_a_list_of_watches_the_library_that_made_the_node_decides() {
        assert_eq!(last_reader('4', None), (vec![1], AwaitedBy::Recipe), "Curator's");
        assert_eq!(last_reader('8', None), (vec![3], AwaitedBy::Recipe), "our own");
    }

    #[test]
    fn a_waiter_that_also_watches_the_node_before_its_predecessor_looks_ahead() {
        let mut fixture = DiagnosisFixture::new();
        let nodes: Vec<ZnodePath> = (1..=4).map(|session| fixture.create("/orders/lock-", session)).collect();
        fixture.client(3).watches.push(nodes[0].clone());
        // The session watches two nodes, one for each of its own.
        fixture.create("/orders/lock-", 4);
        fixture.pass(3);
        let lock = fixture.lock("/orders");
        let table_at = TableAt::new(&fixture.table, fixture.now);
        let watching: Vec<WatchTarget> =
            lock.rows(1..lock.len()).map(|row| table_at.facts(lock, &row).watching).collect();
        let predecessor = WatchTarget::Predecessor;
        assert_eq!(watching, [predecessor, WatchTarget::TwoBefore, predecessor, predecessor]);
    }

    fn unaware(fixture: &DiagnosisFixture) -> Vec<Option<Unaware>> {
        let (table_at, lock) = (TableAt::new(&fixture.table, fixture.now), fixture.lock("/l"));
        lock.rows(0..lock.len()).map(|row| table_at.unaware(lock, &row)).collect()
    }

    fn by_finding(fixture: &DiagnosisFixture, code: Code) -> Option<Unaware> {
        let (finding, lock) = (fixture.found(code).expect("the finding stands"), fixture.lock("/l"));
        let mut rows = lock.rows(0..lock.len());
        let row = rows
            .find(|row| Some(&row.contender.node) == finding.node.as_ref())
            .expect("the finding's node is in the queue");
        Unaware::by_finding(finding, row.state)
    }

    #[test]
    fn a_client_does_not_know_the_earlier_node_of_its_attempt() {
        let fixture = one_session_twice(1, 1, 3);
        assert_eq!(unaware(&fixture), [Some(Unaware::OfNode), None]);
        assert_eq!(by_finding(&fixture, Code::Orphan), Some(Unaware::OfNode));
    }

    #[test]
    fn accumulos_manager_knows_the_first_node_of_its_attempt() {
        let mut fixture = DiagnosisFixture::new();
        for _ in 0..2 {
            fixture.create(&format!("/a/gc/lock/zlock#{}#", crate::diagnose::testing::uuid(1)), 1);
        }
        let (table_at, lock) = (TableAt::new(&fixture.table, fixture.now), fixture.lock("/a/gc/lock"));
        let unaware: Vec<_> = lock.rows(0..2).map(|row| table_at.unaware(lock, &row)).collect();
        assert_eq!(unaware, [None, Some(Unaware::OfNode)]);
    }

    #[test]
    fn two_threads_of_one_session_know_of_their_nodes() {
        assert_eq!(unaware(&one_session_twice(1, 2, 70)), [None, None]);
    }

    #[test]
    fn an_earlier_waiter_without_a_watch_is_suspect() {
        let mut fixture = queue(&[1]);
        let earlier = fixture.create(&curator("/l", 2), 2);
        fixture.create(&curator("/l", 3), 2);
        let client = fixture.client(2);
        (client.sound, client.watches) = (false, vec![earlier]);
        fixture.pass(10);
        assert_eq!(unaware(&fixture), [None, Some(Unaware::OfNodeSuspected), None]);
        assert_eq!(by_finding(&fixture, Code::OrphanSuspected), Some(Unaware::OfNodeSuspected));
    }

    #[test]
    fn a_client_that_lost_its_wake_up_does_not_know_of_its_turn() {
        let mut fixture = queue(&[1, 2, 3]);
        let [head, waiter] = [0, 1].map(|at| {
            let lock = fixture.lock("/l");
            lock.path_of(lock.row(at).expect("a contender").contender)
        });
        fixture.client(2).sound = false;
        fixture.client(3).watches = vec![waiter];
        fixture.pass(10);
        assert_eq!(by_finding(&fixture, Code::LostWakeUp), Some(Unaware::OfTurnToCome));
        fixture.delete(&head);
        fixture.pass(3);
        assert_eq!(by_finding(&fixture, Code::LostWakeUp), Some(Unaware::OfTurn));
    }
}
