//! Findings about a process that lost its session and may go on as if it still held.
//!
//! No server reports processes. A process that lost its session connects again from its host, with
//! the timeout of its configuration, so a newer session like that may be its own. Other processes
//! of the host can look the same: what rests on this alone is a suspicion.
//!
//! - `adopted-node`: a node whose session is about to end, while the same host goes on with a newer
//!   session.
//! - `stale-owner`: a leader or holder whose node belongs to an earlier session of a process that
//!   goes on with another one.
//! - `two-leaders`: a former leader may think that it still leads, while another one leads.
//! - `head-changed-by-expiry`: the previous holder lost the lock because its session expired, and
//!   may not know.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::super::TableAt;
use crate::diagnose::context::{Check, Danger, LockContext, of_contender};
use crate::diagnose::suspicion::{RoundMemory, Suspicion, finding};
use crate::diagnose::{Code, Finding, Severity};
use crate::queue::{ClientIdentity, Contender, ContenderRow, Departure, DepartureEnd, SessionExpired, host_of};
use crate::server_view::{Connection, Listing, Liveness};
use lockscope_base::recipe::{LockKind, RequestMode};
use lockscope_base::znode::{SessionId, Timestamp};

#[cfg(test)]
pub mod stale_owner_tests;

#[cfg(test)]
pub mod two_leaders_tests;

#[cfg(test)]
pub mod head_expired_tests;

/// A session that has ended or lost its connection, and its process.
#[derive(Clone, Copy, Debug)]
pub(in crate::diagnose) struct FormerSession<'b> {
    pub session: SessionId,
    /// The host of the process.
    pub host: &'b str,
    /// When the session was last known to be connected, by this machine's clock.
    pub since: Timestamp,
}

impl<'a> TableAt<'a> {
    /// Returns the only session that may be a former one's successor; `None` if there is none, or
    /// if there are several, since then nothing tells which.
    pub(in crate::diagnose) fn successor(self, former: FormerSession<'_>) -> Option<&'a Connection> {
        match self.successors(former)[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Returns the sessions that may belong to the process of a former one: made from its host
    /// since, with its timeout as far as that is known, and contending for nothing.
    ///
    /// The sessions of lockscope, of this console and of others, belong to no such process. Linear
    /// in the number of connections.
    fn successors(self, former: FormerSession<'_>) -> Vec<&'a Connection> {
        let view = self.view();
        let ours = [view.own_session, self.table().session()];
        let timeout_ms =
            self.table().clients().last_connection(former.session).and_then(|last| last.connection.timeout_ms);
        let listed = view.members.iter().filter_map(|member| member.connections.as_ref()).flat_map(Listing::items);
        let is_successor = |connection: &&Connection| {
            host_of(&connection.client) == former.host
                && connection.session != former.session
                && timeout_ms.is_none_or(|timeout| connection.timeout_ms == Some(timeout))
                && self.was_made_after(connection, former.since)
                && !connection.is_of_lockscope()
                && !ours.contains(&Some(connection.session))
                && !self.table().clients().contends(connection.session)
        };
        let mut found: Vec<&Connection> = listed.filter(is_successor).collect();
        // A session that has just moved is listed by two servers.
        found.sort_by_key(|connection| connection.session);
        found.dedup_by_key(|connection| connection.session);
        found
    }

    /// Returns whether a connection was made after `since`, by this machine's clock. A server's time
    /// is as exact as the difference between the clocks is known.
    fn was_made_after(self, connection: &Connection, since: Timestamp) -> bool {
        let ahead = self.table().clock().ahead_ms();
        connection.established.is_some_and(|made| Timestamp(made.0.saturating_add(ahead)) > since)
    }
}

const ADOPTED_REMEDY: &str = "see in its log whether it noticed, and restart that client otherwise: it may think that it holds, but its node goes with the older session";

/// The host of a holder's client, and when its connection was last listed.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct OwnerLastSeen {
    host: String,
    at: Timestamp,
}

/// A process that starts a new session may find the node of its old one and take it for its own.
///
/// A process that was restarted looks the same until it contends again, so this is never more than
/// a hint.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AdoptedNode {
    /// The last known host of each session that holds a lock. One entry covers all its locks.
    last_seen: RoundMemory<SessionId, OwnerLastSeen>,
}

impl Check for AdoptedNode {
    fn begin(&mut self) {
        self.last_seen.begin();
    }

    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let (lock, view) = (context.lock, context.table_at.view());
        let Some((holder, session)) = lock.first_holder().and_then(|holder| Some((holder, holder.session()?))) else {
            return;
        };
        let Some(gathered) = view.connections_as_of() else { return };
        if let Some((_, connection)) = view.connection_of(session) {
            let seen = || OwnerLastSeen { host: host_of(&connection.client).to_owned(), at: gathered };
            let known = self.last_seen.see(session, seen);
            if known.at != gathered {
                *known = seen();
            }
            return;
        }
        let Some(known) = self.last_seen.recall(&session) else { return };
        if !matches!(view.liveness(session), Liveness::Disconnected { .. }) {
            return;
        }
        let former = FormerSession { session, host: &known.host, since: known.at };
        let successor = context.table_at.successor(former);
        found.extend(successor.map(|newer| suspect_adopted(context, holder, newer, gathered)));
    }
}

fn suspect_adopted(
    context: &LockContext<'_>,
    holder: &Contender,
    newer: &Connection,
    gathered: Timestamp,
) -> Suspicion {
    let summary = format!(
        "{} holds, but its session has no connection any more, while {} continues with the newer session {}",
        context.table_at.who(holder),
        host_of(&newer.client),
        newer.session
    );
    let finding = of_contender(Code::AdoptedNode, Severity::Info, context, holder).because(summary, ADOPTED_REMEDY);
    Suspicion::new(finding, gathered, Duration::ZERO).of_state(holder.czxid.0)
}

const STALE_OWNER_REMEDY: &str = "restart that process: its earlier session keeps the node for as long as a forgotten client of the process sends heartbeats";

/// Two kinds of evidence, which must last longer than a process needs to start again:
///
/// - The same client, by its name and host, waits behind its own node with a newer session.
/// - The holder's session has no connection, its host has a newer session that queues nowhere, and
///   the lock is an election. [`AdoptedNode`] reports the same of any lock at once, as
///   a hint.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct StaleOwner;

impl Check for StaleOwner {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let lock = context.lock;
        let Some((holder, session)) = lock.first_holder().and_then(|holder| Some((holder, holder.session()?))) else {
            return;
        };
        let Some(gathered) = context.table_at.view().connections_as_of() else { return };
        let behind = waits_behind_itself(context, holder, session);
        let Some(why) = behind.or_else(|| left_behind(context, session)) else { return };
        let summary = format!("{} holds by its session {session}, {why}", context.table_at.who(holder));
        let finding =
            of_contender(Code::StaleOwner, Severity::Warning, context, holder).because(summary, STALE_OWNER_REMEDY);
        let suspicion = Suspicion::new(finding, gathered, context.thresholds.ghost_after);
        found.push(suspicion.of_state(holder.czxid.0));
    }
}

/// Describes the newer session by which a holder waits behind its own node. The first in line is
/// enough: a client queues once.
fn waits_behind_itself(context: &LockContext<'_>, holder: &Contender, session: SessionId) -> Option<String> {
    let table_at = context.table_at;
    let owner = table_at.identity(holder);
    let name = owner.name_of_one_client()?;
    let is_same = |row: &ContenderRow<'_>| {
        let other = table_at.identity(row.contender);
        row.contender.session().is_some_and(|other| other != session)
            && other.name_of_one_client() == Some(name)
            && is_same_host(&owner, &other)
    };
    let waiting = context.lock.rows(context.lock.holding()..context.lock.len().min(MAX_COMPARED));
    let mut same = waiting.filter(is_same);
    let (waiter, None) = (same.next()?, same.next()) else { return None };
    let newer = waiter.contender.session()?;
    Some(format!("and waits behind its own node with the session {newer}"))
}

/// Maximum number of contenders that are compared with a holder.
const MAX_COMPARED: usize = 100;

fn is_same_host(one: &ClientIdentity, other: &ClientIdentity) -> bool {
    one.host().is_some() && one.host() == other.host()
}

/// Describes the newer session of a leader's host, while the leader's own session has no
/// connection.
fn left_behind(context: &LockContext<'_>, session: SessionId) -> Option<String> {
    let table_at = context.table_at;
    context.election?;
    if !matches!(table_at.view().liveness(session), Liveness::Disconnected { .. }) {
        return None;
    }
    let last = table_at.table().clients().last_connection(session)?;
    let host = crate::queue::host_of(&last.connection.client);
    let newer = table_at.successor(FormerSession { session, host, since: last.last_listed? })?;
    Some(format!("which has no connection, while {host} goes on with the newer session {}", newer.session))
}

/// Maximum time for which a former leader is reported. After that, a process that still runs would
/// have asked the servers for something.
const MAX_UNAWARE_LEADER: Duration = Duration::from_secs(600);

/// Two kinds of evidence:
///
/// - *Proof*: the former leader's node is gone, its session is connected, and its client has sent no
///   request since before the deletion. So it did not delete the node, and reads nothing that tells
///   it. A watch event may have told it.
/// - *Suspicion*: the former leader's session expired, and a session that contends for nothing was
///   made from the same host since. It may be the same process, or another one of that host.
///
/// A former leader that queues again knows that it lost.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct TwoLeaders;

impl Check for TwoLeaders {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let Some(record) = context.election.and_then(|_| context.election_record()) else { return };
        let Some(leader) = context.lock.first_holder().filter(|leader| leader.is_read()) else { return };
        let recent = |former: &&Departure| context.now().since(former.at) <= MAX_UNAWARE_LEADER;
        for former in record.absent().filter(recent).filter(|former| record.led(former)) {
            if former.session != leader.session() {
                let suspected = || suspected(context, former, leader).filter(|_| !context.is_back(former));
                found.extend(proven(context, former, leader).or_else(suspected));
            }
        }
    }
}

fn proven(context: &LockContext<'_>, former: &Departure, leader: &Contender) -> Option<Suspicion> {
    let view = context.table_at.view();
    let (member, connection) = view.connection_of(former.session?)?;
    let listed_at = member.connections.as_ref()?.at;
    let is_silent = former.last_request.is_some() && connection.last_cxid == former.last_request;
    let summary = format!(
        "{} led until its node was deleted, and its client has sent no request since before that: it did not delete the node, and knows of it only by a watch event; {} leads now",
        former.client.in_sentence(context.now()),
        context.table_at.who(leader)
    );
    let suspicion = two_leaders(context, former, leader, Danger::Proven, summary, listed_at, Duration::ZERO);
    // A request since then tells nothing about what the client knows.
    (listed_at > former.at).then(|| if is_silent { suspicion } else { suspicion.keeping() })
}

fn suspected(context: &LockContext<'_>, former: &Departure, leader: &Contender) -> Option<Suspicion> {
    let gathered = context.table_at.view().connections_as_of()?;
    if !matches!(former.end, DepartureEnd::Expired | DepartureEnd::Unknown) {
        return None;
    }
    let host = former.host()?;
    let since = former.last_heard();
    let connects = match &context.table_at.successors(FormerSession { session: former.session?, host, since })[..] {
        [] => return None,
        [newer] => format!("the newer session {}, which queues nowhere: if this", newer.session),
        several => format!("{} newer sessions, which queue nowhere: if one of them", several.len()),
    };
    let summary = format!(
        "{} led until its session ended, and {host} connects with {connects} is the same process, it may think that it still leads; {} leads now; the log of that process proves it",
        former.client.in_sentence(context.now()),
        context.table_at.who(leader)
    );
    Some(two_leaders(context, former, leader, Danger::Suspected, summary, gathered, context.thresholds.ghost_after))
}

fn two_leaders(
    context: &LockContext<'_>,
    former: &Departure,
    leader: &Contender,
    danger: Danger,
    summary: String,
    gathered: lockscope_base::znode::Timestamp,
    lasts: Duration,
) -> Suspicion {
    let remedy = format!(
        "restart the former leader's process unless its log says that it gave up; what it writes to should refuse fencing tokens below {}, if it checks any; delete no node",
        leader.czxid
    );
    let finding = finding(Code::TwoLeaders, context.severity_of(danger), context.lock, Some(&former.node))
        .of_client(former.client.clone())
        .because(summary, remedy);
    Suspicion::new(finding, gathered, lasts).of_state(former.at.0)
}

/// Maximum time for which a client is reported as unaware. No server knows whether a process
/// without a session still runs, so after this time it counts as gone.
const MAX_UNAWARE_HOLDER: Duration = Duration::from_secs(600);

/// The tree is in order, but a paused process may believe for a while that it still holds.
///
/// This lasts beyond its successor's release, until the process notices. Then it [has a new
/// session](crate::queue::LockQueue::last_expiry) and queues again.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct HeadChangedByExpiry;

impl Check for HeadChangedByExpiry {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let Some(expiry) = context.lock.last_expiry() else { return };
        if context.now().since(expiry.at) > MAX_UNAWARE_HOLDER {
            return;
        }
        let successor = successor(context, expiry);
        let suspicion =
            Suspicion::proved(describe_head_expired(context, expiry, successor), context.now()).of_state(expiry.at.0);
        // While the lock is free, the former holder conflicts with no other holder.
        found.push(if successor.is_some() { suspicion } else { suspicion.keeping() });
    }
}

/// Returns the holder after the client whose session expired. `None` until that holder is read,
/// since its session and its fencing token are unknown before.
fn successor<'a>(context: &LockContext<'a>, expiry: &SessionExpired) -> Option<&'a Contender> {
    let holder = context.lock.row(0).filter(|_| context.lock.holding() > 0)?;
    let contender = holder.contender;
    let acquired = contender.acquired_at();
    let is_later = match context.lock.kind() {
        LockKind::Exclusive | LockKind::Election | LockKind::SingleNode => true,
        // Later readers may hold together with a reader that was paused.
        LockKind::ReadWrite if holder.mode == RequestMode::Read => acquired == Some(expiry.at),
        LockKind::ReadWrite | LockKind::Semaphore => acquired.is_some_and(|acquired| acquired >= expiry.at),
    };
    let is_other = contender.is_read() && contender.session() != Some(expiry.session) && !contender.returned;
    (is_other && is_later).then_some(contender)
}

fn describe_head_expired(context: &LockContext<'_>, expiry: &SessionExpired, successor: Option<&Contender>) -> Finding {
    let summary = format!(
        "{} lost the lock when its session expired; if its process was only paused, it may think that it still holds",
        expiry.client.in_sentence(context.now())
    );
    let tokens = successor.map_or_else(|| "of earlier holders".to_owned(), |holder| format!("below {}", holder.czxid));
    let remedy = format!(
        "delete nothing; see in its log whether it stopped; what the lock protects should refuse fencing tokens {tokens}, if it checks any"
    );
    finding(Code::HeadChangedByExpiry, Severity::Info, context.lock, Some(&expiry.node))
        .of_client(expiry.client.clone())
        .because(summary, remedy)
}

#[cfg(test)]
pub mod tests {
    use std::time::Duration;

    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator, latch, queue};
    use lockscope_base::znode::marked_timeout;

    const HOST: &str = "10.0.0.1";

    const NONE: [i64; 0] = [];

    /// Plays that the candidate of session 1 loses its connection, and session 7 connects from its
    /// host. Returns the sessions that may be its successor.
    fn successors(change: impl FnOnce(&mut DiagnosisFixture)) -> Vec<i64> {
        let mut world = DiagnosisFixture::new();
        world.create_named(&latch("/e", 1), 1, "worker-1");
        world.pass(2);
        let since = world.now;
        world.client(1).connected = false;
        connect(&mut world, 7);
        change(&mut world);
        world.pass(1);
        let former = FormerSession { session: SessionId(1), host: HOST, since };
        let table_at = TableAt::new(&world.table, world.now);
        let found: Vec<i64> = table_at.successors(former).iter().map(|connection| connection.session.0).collect();
        let only = table_at.successor(former).map(|connection| connection.session.0);
        assert_eq!(only, (found.len() == 1).then(|| found[0]));
        found
    }

    fn connect(world: &mut DiagnosisFixture, session: i64) {
        let made = world.now.plus(Duration::from_millis(500));
        let client = world.client(session);
        (client.address, client.established) = (format!("{HOST}:5555"), made);
    }

    #[test]
    fn a_newer_session_of_the_same_host_and_timeout_may_be_a_successor() {
        assert_eq!(successors(|_| {}), [7]);
        assert_eq!(successors(|world| connect(world, 8)), [7, 8], "two processes");
        assert_eq!(successors(|world| world.client(7).address = "10.0.0.9:5555".to_owned()), NONE, "another host");
        assert_eq!(successors(|world| world.client(7).timeout_ms = 20_000), NONE, "another configuration");
        assert_eq!(successors(|world| world.client(7).established = Timestamp(1)), NONE, "an older session");
        assert_eq!(successors(|world| drop(world.create("/other/lock-", 7))), NONE, "it contends for another lock");
    }

    #[test]
    fn sessions_of_lockscope_are_nobodys_successors() {
        let marked = u64::try_from(marked_timeout(Duration::from_secs(30)).as_millis()).expect("short");
        let console = |world: &mut DiagnosisFixture| {
            connect(world, 8);
            world.client(8).timeout_ms = marked;
        };
        assert_eq!(successors(console), [7]);
        let alone = |world: &mut DiagnosisFixture| {
            // The former session's timeout is not known.
            world.client(7).timeout_ms = marked;
        };
        assert_eq!(successors(alone), NONE);
    }

    pub fn examples() -> Vec<Example> {
        vec![(Code::AdoptedNode, adopted())]
    }

    fn adopted() -> DiagnosisFixture {
        let mut world = after_a_cut(queue(&[1, 2]), "10.0.0.1:5555");
        world.pass(3);
        world
    }

    /// Plays that session 1 holds and loses its connection. Then session 7 connects from `address`.
    fn come_back(address: &str) -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 2), 2);
        after_a_cut(world, address)
    }

    /// Plays that session 1 loses its connection. Then session 7 connects from `address`.
    fn after_a_cut(mut world: DiagnosisFixture, address: &str) -> DiagnosisFixture {
        world.pass(3);
        world.client(1).connected = false;
        let made = world.now.plus(Duration::from_millis(500));
        let newer = world.client(7);
        (newer.address, newer.established) = (address.to_owned(), made);
        world
    }

    #[test]
    fn a_host_that_goes_on_with_another_session_is_reported() {
        let mut world = come_back("10.0.0.1:5555");
        world.pass(3);
        assert_eq!(world.codes(Severity::Info), [Code::ExpiringHolder, Code::AdoptedNode]);
        world.client(1).connected = true;
        assert!(world.pass(1).1.contains(&Code::AdoptedNode));
    }

    #[test]
    fn the_host_of_a_session_is_remembered_for_all_its_locks() {
        let mut world = DiagnosisFixture::new();
        for lock in ["/l", "/m"] {
            world.create(&curator(lock, 1), 1);
        }
        let mut world = after_a_cut(world, "10.0.0.1:5555");
        world.pass(3);
        let found = world.diagnosis.findings().filter(|finding| finding.code == Code::AdoptedNode);
        let locks: Vec<&str> = found.map(|finding| finding.lock.path.as_str()).collect();
        assert_eq!(locks, ["/l", "/m"]);
    }

    #[test]
    fn another_lockscope_on_the_host_is_no_successor() {
        let mut world = come_back("10.0.0.1:5555");
        world.client(7).timeout_ms = 30_739;
        world.client(1).timeout_ms = 30_739;
        world.pass(3);
        assert_eq!(world.found(Code::AdoptedNode), None);
    }

    #[test]
    fn another_host_and_a_session_with_a_node_of_its_own_are_not_reported() {
        let mut world = come_back("10.0.0.9:5555");
        world.pass(3);
        assert_eq!(world.found(Code::AdoptedNode), None);
        let mut world = come_back("10.0.0.1:5555");
        world.create(&curator("/l", 7), 7);
        world.pass(3);
        assert_eq!(world.found(Code::AdoptedNode), None);
    }
}
