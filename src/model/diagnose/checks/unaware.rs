//! Findings about clients that do not know of their node or of their turn.
//!
//! - `orphan`: two nodes of one attempt. The reply to a create was lost, and the client knows one
//!   of the nodes only.
//! - `orphan-suspected`: an earlier node of a session that queues again and does not watch for it.
//!   The node may be forgotten.
//! - `lost-wake-up`, `unaware-holder`: a waiter that watches nothing and will not notice when its
//!   turn comes, and a holder that has not noticed its turn.
//! - `nobody-holds`: contenders wait, and nobody holds.

use std::time::Duration;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, LockContext, MAX_SUSPICIONS, Unwatched, of_contender};
use crate::diagnose::facts::{attempt, short_node};
use crate::diagnose::suspicion::{NodeKey, RoundMemory, Suspicion};
use crate::diagnose::{Code, OwnerState, Severity};
use crate::queue::{ContenderRow, ContenderState, HeadAwaits, HeadWait, LockQueue, is_registry};
use crate::text::human;
use lockscope_base::recipe::{LockKind, Recipe, Role, is_of_own_lock};
use lockscope_base::znode::Timestamp;

#[cfg(test)]
pub mod orphan_suspected_tests;

#[cfg(test)]
pub mod lost_wake_up_tests;

#[cfg(test)]
pub mod nobody_holds_tests;

const ORPHAN_REMEDY: &str =
    "ask the owner to restart that client, or delete the earlier node: that client does not know of it";

/// For libraries that go on with the first node ([`keeps_first_of_attempt`](lockscope_base::recipe::Recipe::keeps_first_of_attempt)): without that
/// one the process halts.
const ORPHAN_REMEDY_OF_LATER: &str = "delete the later node, guarded by its czxid, or ask the owner to restart that client: it goes on with the first node, and halts when that one is gone";

/// Names contain an id that is unique to one attempt, and an attempt needs only one node.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Orphan;

impl Check for Orphan {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let lock = context.lock;
        let mut left = MAX_SUSPICIONS;
        for positions in context.repeated.values() {
            let rows: Vec<_> = positions.iter().filter_map(|position| lock.row(*position)).collect();
            for (first, second) in of_one_attempt(lock, &rows) {
                if left == 0 {
                    return;
                }
                left -= 1;
                found.push(orphan_suspicion(context, first, second));
            }
        }
    }
}

fn orphan_suspicion(context: &LockContext<'_>, first: &ContenderRow<'_>, second: &ContenderRow<'_>) -> Suspicion {
    let keeps_first = context.lock.recipe().keeps_first_of_attempt();
    let (orphan, lost, remedy) =
        if keeps_first { (second, "a", ORPHAN_REMEDY_OF_LATER) } else { (first, "the first", ORPHAN_REMEDY) };
    let severity = if context.blocks_for_good(orphan) { Severity::Critical } else { Severity::Warning };
    let summary = format!(
        "{} and {} come from one attempt of {}: the reply to {lost} create was lost",
        short_node(&first.contender.node),
        short_node(&second.contender.node),
        context.table_at.who(orphan.contender)
    );
    let finding = of_contender(Code::Orphan, severity, context, orphan.contender).because(summary, remedy);
    Suspicion::new(finding, context.now(), Duration::ZERO).of_state(orphan.contender.czxid.0)
}

/// Returns each row with the next one of the same attempt, in the order of the first rows. Where the
/// library keeps the first, returns it with each of the others.
///
/// Linear apart from sorting the result: one session may have tens of thousands of nodes in a
/// queue.
fn of_one_attempt<'a, 'r>(
    lock: &LockQueue,
    rows: &'r [ContenderRow<'a>],
) -> Vec<(&'r ContenderRow<'a>, &'r ContenderRow<'a>)> {
    let mut known: FxHashMap<&str, usize> = FxHashMap::default();
    let mut pairs = Vec::new();
    let keeps_first = lock.recipe().keeps_first_of_attempt();
    for (at, row) in rows.iter().enumerate() {
        let Some(id) = attempt(lock, &row.contender.node) else { continue };
        let before = if keeps_first { Some(*known.entry(id).or_insert(at)) } else { known.insert(id, at) };
        pairs.extend(before.filter(|before| *before != at).map(|before| (before, at)));
    }
    pairs.sort_unstable();
    pairs.into_iter().map(|(before, at)| (&rows[before], &rows[at])).collect()
}

const ORPHAN_SUSPECTED_REMEDY: &str =
    "ask the owner; if it no longer waits with the earlier node, delete that node, guarded by its czxid";

/// Many threads of one session may queue for one lock, each with its own watch, so only a node
/// without one is suspect. An earlier node that holds needs no watch: `self_blocked` covers it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct OrphanSuspected;

impl Check for OrphanSuspected {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let mut suspects = 0;
        for seen in &context.unwatched {
            let last = context.repeated.get(&seen.session).and_then(|positions| positions.last().copied());
            // The last node is no orphan, but may have lost its wake-up.
            let Some(last) = last.filter(|last| *last != seen.position && suspects < MAX_SUSPICIONS) else { continue };
            if let (Some(row), Some(last)) = (context.lock.row(seen.position), context.lock.row(last)) {
                suspects += 1;
                found.push(suspect_orphan(context, &row, &last, seen));
            }
        }
    }
}

fn suspect_orphan(
    context: &LockContext<'_>,
    row: &ContenderRow<'_>,
    last: &ContenderRow<'_>,
    seen: &Unwatched,
) -> Suspicion {
    let [node, behind, last] = [&row.contender.node, &seen.behind, &last.contender.node].map(|name| short_node(name));
    let summary = format!(
        "{} queues a second time by {last}, and does not watch {behind}, which its earlier {node} waits for",
        context.table_at.who(row.contender)
    );
    let finding = of_contender(Code::OrphanSuspected, Severity::Warning, context, row.contender)
        .because(summary, ORPHAN_SUSPECTED_REMEDY);
    let suspicion = Suspicion::new(finding, seen.gathered, context.thresholds.settled_after);
    suspicion.of_state(seen.state).of_client_heard(seen.heard)
}

const LOST_WAKE_UP_REMEDY: &str = "restart that client, and leave the head: it does not wait for its turn; its node goes with its session, and if it is deleted before, some libraries take the lock without one";

/// The time in which a waiter was seen to watch nothing, and its client's last request.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct SeenUnwatched {
    from: Timestamp,
    until: Timestamp,
    cxid: Option<i64>,
}

/// Checks only the last of a session's nodes in one queue. `orphan_suspected` covers the others.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LostWakeUp {
    /// The waiters that were seen to watch nothing.
    unwatched: RoundMemory<NodeKey, SeenUnwatched>,
    /// The last request of each first waiter. A recording leaves it out, since the next look makes it
    /// again.
    #[serde(skip)]
    next_in_line: Box<RoundMemory<NodeKey, RequestInLine>>,
}

/// The last request of a client while its contender waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RequestInLine {
    cxid: i64,
    /// When the connection was made. Numbers start again with each connection.
    established: Option<Timestamp>,
}

impl Check for LostWakeUp {
    fn begin(&mut self) {
        self.unwatched.begin();
        self.next_in_line.begin();
    }

    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let slept_through = slept_through(context, &mut self.unwatched);
        let is_known = slept_through.is_some();
        found.extend(slept_through);
        found.extend(unnoticed(context, &mut self.next_in_line).filter(|_| !is_known));
        let mut reported = 0;
        for seen in &context.unwatched {
            let last = context.repeated.get(&seen.session).and_then(|positions| positions.last().copied());
            let Some(row) = context.lock.row(seen.position).filter(|_| last.is_none_or(|last| last == seen.position))
            else {
                continue;
            };
            let key = (context.lock.id(), row.contender.czxid.0);
            let kept = self.unwatched.see(key, || SeenUnwatched {
                from: context.now(),
                until: seen.gathered,
                cxid: seen.cxid,
            });
            *kept = SeenUnwatched { from: kept.from, until: seen.gathered, cxid: seen.cxid };
            reported += 1;
            if reported <= MAX_SUSPICIONS {
                found.push(suspicion(context, &row, seen));
            }
        }
    }
}

fn suspicion(context: &LockContext<'_>, row: &ContenderRow<'_>, seen: &Unwatched) -> Suspicion {
    let summary = format!(
        "{} waits for {}, but watches nothing here: it lost its wake-up, or gave up and left {}",
        context.table_at.who(row.contender),
        short_node(&seen.behind),
        short_node(&row.contender.node)
    );
    let finding =
        of_contender(Code::LostWakeUp, Severity::Warning, context, row.contender).because(summary, LOST_WAKE_UP_REMEDY);
    let suspicion = Suspicion::new(finding, seen.gathered, context.thresholds.settled_after);
    suspicion.of_state(seen.state).of_client_heard(seen.heard)
}

/// Returns the suspicion that the holder does not know that it holds: it was seen to watch nothing
/// while it waited, and has sent no request since.
fn slept_through(context: &LockContext<'_>, memory: &mut RoundMemory<NodeKey, SeenUnwatched>) -> Option<Suspicion> {
    let row = context.lock.row(0).filter(|row| row.state == ContenderState::Holds)?;
    let seen = *memory.recall(&(context.lock.id(), row.contender.czxid.0))?;
    let session = row.contender.session()?;
    let (member, connection) = context.table_at.view().connection_of(session)?;
    let (gathered, heard) = (member.connections.as_ref()?.at, connection.last_heard?);
    let lasted = seen.until.since(seen.from) >= context.thresholds.settled_after;
    if !lasted || seen.cxid.is_none() || connection.last_cxid != seen.cxid {
        return None;
    }
    let who = context.table_at.who(row.contender);
    let summary = format!("it is the turn of {who}, but it watched nothing and has sent no request since");
    let severity = if context.blocks_for_good(&row) { Severity::Critical } else { Severity::Warning };
    let finding = of_contender(Code::LostWakeUp, severity, context, row.contender)
        .because(summary, "restart that client: it does not know that it holds; its node goes with its session, and if it is deleted before, some libraries hold without one");
    let suspicion = Suspicion::new(finding, gathered, Duration::ZERO).of_state(row.contender.czxid.0);
    Some(suspicion.of_client_heard(heard))
}

/// Returns the suspicion that the holder has not noticed its turn: it has sent no request since it
/// waited.
fn unnoticed(context: &LockContext<'_>, memory: &mut RoundMemory<NodeKey, RequestInLine>) -> Option<Suspicion> {
    let (lock, view) = (context.lock, context.table_at.view());
    if lock.waiting() == 0 && memory.is_empty() || !lists_at_its_turn(lock.recipe()) {
        return None;
    }
    let last_request = |row: &ContenderRow<'_>| {
        let (member, connection) = view.connection_of(row.contender.session()?)?;
        let request = RequestInLine { cxid: connection.last_cxid?, established: connection.established };
        Some((request, member.connections.as_ref()?.at))
    };
    let next = lock.row(lock.holding()).filter(|row| row.state == ContenderState::Waits);
    if let Some((next, (request, _))) = next.and_then(|next| Some((next, last_request(&next)?))) {
        *memory.see((lock.id(), next.contender.czxid.0), || request) = request;
    }
    let row = lock.row(0).filter(|row| row.state == ContenderState::Holds && !is_of_own_lock(&row.contender.node))?;
    // A client that does not know of the node has another finding.
    if context.table_at.unaware(lock, &row).is_some() {
        return None;
    }
    let waited = *memory.recall(&(lock.id(), row.contender.czxid.0))?;
    let turn = row.contender.acquired_at()?;
    let (request, gathered) = last_request(&row)?;
    if request != waited || gathered < turn.plus(context.thresholds.settled_after) {
        return None;
    }
    let summary = format!(
        "the turn of {} came {} ago, and its client has not noticed: it has sent no request since",
        context.table_at.who(row.contender),
        human::duration(gathered.since(turn))
    );
    let severity = if lock.waiting() > 0 { Severity::Warning } else { Severity::Info };
    let remedy = "look at that process: it hangs, or lost the event; restart it if it does not go on";
    let finding = of_contender(Code::UnawareHolder, severity, context, row.contender).because(summary, remedy);
    Some(Suspicion::new(finding, gathered, Duration::ZERO).of_state(row.contender.czxid.0))
}

/// Returns whether only libraries have these names that list the queue when the node before theirs is
/// gone, so that the client sends a request at its turn. lockscope's own may not.
fn lists_at_its_turn(recipe: Recipe) -> bool {
    matches!(
        recipe,
        Recipe::CuratorMutex
            | Recipe::CuratorReadWrite
            | Recipe::CuratorLatch
            | Recipe::KazooLock
            | Recipe::KazooReadWrite
            | Recipe::GoLock
    )
}

/// Reports a head that waits itself, as the servers' lists of watches show it, and a semaphore with
/// a free lease that the head of its queue does not take.
///
/// A node of another queue that the head waits for may hold as it should: `foreign_child` tells of
/// that.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct NobodyHolds;

impl Check for NobodyHolds {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let lock = context.lock;
        if lock.waiting() == 0 || lock.is_assumed() || is_registry(lock) {
            return;
        }
        match lock.head_wait() {
            Some(wait) => found.extend(by_watch(context, wait)),
            None if lock.kind() == LockKind::Semaphore => found.extend(free_lease(context)),
            None => {}
        }
    }
}

/// Reports a head that waits for a node that does not let it in.
fn by_watch(context: &LockContext<'_>, wait: &HeadWait) -> Option<Suspicion> {
    let lock = context.lock;
    let head = lock.row(0)?;
    let who = context.table_at.who(head.contender);
    let (node, own) = (short_node(&wait.node), short_node(&head.contender.node));
    let (severity, why, remedy) = match wait.awaits {
        HeadAwaits::Behind => {
            let position = context.table_at.table().position(&lock.queue_path().child(&wait.node))?.1;
            let behind = context.table_at.who(lock.row(position)?.contender);
            (
                Severity::Critical,
                format!("waits for {node} behind it, of {behind}, which waits for it"),
                "restart one of the two clients, and update the library whose reader waits for a later writer, as kazoo's did before 2.9.0"
                    .to_owned(),
            )
        }
        HeadAwaits::Gone => (
            Severity::Critical,
            format!("waits for {node}, which is gone and does not come back"),
            format!("restart that client: it does not know that it is its turn, and {own} goes with its session"),
        ),
        HeadAwaits::Foreign if context.table_at.table().position(&lock.queue_path().child(&wait.node)).is_some() => {
            return None;
        }
        HeadAwaits::Foreign => (
            Severity::Warning,
            format!("waits for {node}, which is no contender of this queue"),
            format!("see what {node} is, and move it to a parent of its own: the library counts it as a contender"),
        ),
    };
    let summary = format!("nobody holds: {who} stands first, but {why}");
    let finding = of_contender(Code::NobodyHolds, severity, context, head.contender).because(summary, remedy);
    Some(Suspicion::proved(finding, wait.since).of_state(head.contender.czxid.0))
}

/// Reports a free lease that the head of the queue does not take.
fn free_lease(context: &LockContext<'_>) -> Option<Suspicion> {
    let lock = context.lock;
    let is_free = lock.maximum().map_or(lock.holding() == 0, |maximum| lock.holding() < maximum as usize);
    let mut waiting = lock.rows(lock.holding()..lock.len());
    let head = waiting.next().filter(|head| is_free && head.contender.role == Role::Queue)?;
    let again = queued_again(context, &head);
    let (who, own) = (context.table_at.who(head.contender), short_node(&head.contender.node));
    let waits = waiting.count() + 1;
    let (severity, why, remedy) = match again {
        Some(again) => (
            // A client that hangs may go on.
            match context.table_at.owner_of(head.contender).0 {
                OwnerState::Live => Severity::Critical,
                _ => Severity::Warning,
            },
            format!(
                "is the head of the queue by {own}, and queued again as {again}: it seems to have left the head behind"
            ),
            format!(
                "see that no thread of this client still waits by {own}, then delete it: {again} of the same client stays in the queue"
            ),
        ),
        None => (
            Severity::Warning,
            format!("is the head of the queue, and does not take it by {own}"),
            format!(
                "look at that process: restart it, and the next in line gets the lease; do not delete {own} while it lives, since a lease too many may be taken"
            ),
        ),
    };
    let free = if lock.holding() == 0 { "nobody holds: a lease is free" } else { "a lease is free" };
    let summary = format!("{free} and {waits} wait: {who} {why}");
    let finding = of_contender(Code::NobodyHolds, severity, context, head.contender).because(summary, remedy);
    let suspicion = Suspicion::new(finding, context.now(), context.thresholds.settled_after);
    Some(suspicion.of_state(head.contender.czxid.0))
}

/// Returns a later node of the head's session in the queue.
fn queued_again(context: &LockContext<'_>, head: &ContenderRow<'_>) -> Option<String> {
    let positions = context.repeated.get(&head.contender.session()?)?;
    let later = positions.iter().find(|position| **position > head.position)?;
    Some(short_node(&context.lock.row(*later)?.contender.node))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator, one_session_twice, uuid};
    use lockscope_base::znode::ZnodePath;

    pub fn examples() -> Vec<Example> {
        vec![(Code::Orphan, one_session_twice(1, 1, 3)), (Code::Orphan, accumulo().0)]
    }

    /// Plays that Accumulo's manager has created three nodes, and that another manager stands by.
    fn accumulo() -> (DiagnosisFixture, [ZnodePath; 3]) {
        let mut world = DiagnosisFixture::new();
        let of = |id| format!("/accumulo/managers/lock/zlock#{}#", uuid(id));
        let nodes = [(); 3].map(|()| world.create(&of(1), 1));
        world.create(&of(2), 2);
        // A manager watches the lowest node of its own, and of the one before it.
        world.client(1).watches = vec![nodes[0].clone()];
        world.client(2).watches = vec![nodes[0].clone()];
        world.pass(70);
        (world, nodes)
    }

    #[test]
    fn two_nodes_with_one_id_are_an_orphan_and_its_successor() {
        let mut world = DiagnosisFixture::new();
        let first = world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 1), 1);
        assert_eq!(world.pass(2).0, [Code::Orphan]);
        let finding = world.found(Code::Orphan).expect("the finding stands");
        assert_eq!((finding.severity, finding.node.as_deref()), (Severity::Critical, Some(first.name())));
        world.delete(&first);
        assert_eq!(world.pass(1).1, [Code::Orphan]);
    }

    #[test]
    fn all_but_the_last_node_with_one_id_are_orphans() {
        let mut world = DiagnosisFixture::new();
        let nodes = [1, 2, 1, 2, 1].map(|id| world.create(&curator("/l", id), 1));
        world.pass(2);
        let orphans = world.diagnosis.findings().filter(|finding| finding.code == Code::Orphan);
        let found: Vec<_> = orphans.filter_map(|finding| finding.node.clone()).collect();
        let earlier: Vec<_> = nodes[..3].iter().map(ZnodePath::name).collect();
        assert_eq!(found.len(), earlier.len());
        assert!(earlier.iter().all(|node| found.iter().any(|found| **found == **node)), "{found:?}");
    }

    #[test]
    fn of_accumulos_nodes_with_one_id_the_later_ones_are_orphans() {
        let (world, nodes) = accumulo();
        let found: Vec<_> = world.diagnosis.findings().filter_map(|finding| finding.node.as_deref()).collect();
        assert_eq!(found, [nodes[1].name(), nodes[2].name()], "nothing is said about the first one");
        assert!(world.diagnosis.findings().all(|finding| finding.code == Code::Orphan));
        let finding = world.found(Code::Orphan).expect("the finding stands");
        assert_eq!((finding.severity, finding.remedy.contains("later node")), (Severity::Warning, true));
        let lock = world.lock("/accumulo/managers/lock");
        assert_eq!(lock.waits_for(3, 9), [nodes[0].name()], "the next manager waits for the first of these");
    }

    #[test]
    fn an_orphan_is_found_among_twenty_thousand_nodes_of_one_session() {
        let mut world = DiagnosisFixture::new();
        world.answers = false;
        for id in 0..20_000 {
            world.create(&curator("/l", id), 1);
        }
        world.create(&curator("/l", 0), 1);
        // A comparison of all pairs would take minutes.
        world.pass(2);
        assert!(world.found(Code::Orphan).is_some());
    }

    #[test]
    fn threads_of_one_session_and_names_with_a_session_id_prove_no_orphan() {
        let mut world = DiagnosisFixture::new();
        world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 2), 1);
        world.create("/w/x-72057594037927936-", 1);
        world.create("/w/x-72057594037927936-", 1);
        world.pass(10);
        assert!(world.found(Code::Orphan).is_none());
        assert_eq!(world.codes(Severity::Warning), []);
    }
}
