//! Facts about one contender from the servers' answers. What a server reports of its watch comes
//! before what its recipe would watch: another library may use the same names.

use std::time::Duration;

use super::facts::{IN_PLAIN_TEXT, JUST_MADE, attempt};
use super::{OwnerState, TableAt, WatchTarget};
use crate::queue::{ContenderRow, ContenderState, LockQueue};
use crate::server_view::{Connection, Silence};
use lockscope_base::recipe::{LockKind, RequestMode, Role, is_of_own_lock};
use lockscope_base::znode::{SessionId, ZnodePath, escaped};

/// Facts about a contender from the servers' answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts<'a> {
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

impl<'a> Facts<'a> {
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
    pub fn facts(&self, lock: &'a LockQueue, row: &ContenderRow<'a>) -> Facts<'a> {
        let contender = row.contender;
        let (life, expires_in) = self.owner_of(contender);
        let connection =
            contender.session().and_then(|session| self.view().connection_of(session)).map(|(_, found)| found);
        let silence = contender.session().filter(|_| life == OwnerState::Silent);
        let silence = silence.and_then(|session| self.view().silence_of(session));
        let (watching, watched) = self.watching(lock, row);
        Facts { owner: life, connection, expires_in, silence, watching, watched }
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
        let turn = contender.acquired_at().unwrap_or(contender.contends_since(self.table().clock_ahead_ms()));
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
        let since = row.contender.contends_since(self.table().clock_ahead_ms());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::testing::DiagnosisFixture;

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
}
