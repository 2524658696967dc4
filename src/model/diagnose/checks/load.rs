//! Findings about what grows or is done again and again, at the cost of the servers.
//!
//! - `leaked-watch`: watches that `exists` left on deleted nodes whose names never come back.
//! - `leaking-session`: a session with very many nodes in one queue, of which it neither releases
//!   any nor waits for its turn with them.
//! - `churning`: a lock that one session takes and gives up again and again, while nobody else
//!   contends.
//! - `herd-storm`: hand-overs of which each wakes very many clients.

use std::time::Duration;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, LockContext, TableContext, of_contender};
use crate::diagnose::facts::short_node;
use crate::diagnose::suspicion::{RoundMemory, Suspicion, finding};
use crate::diagnose::thresholds::CHURN_TIME;
use crate::diagnose::{Code, Severity, WatchTarget};
use crate::queue::{ContenderState, LockId, is_registry};
use crate::server_view::MemberView;
use crate::text::human;
use crate::text::human::plural;
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::{Sequence, SessionId, Timestamp, ZnodePath};

#[cfg(test)]
pub mod leaking_tests;

#[cfg(test)]
pub mod churning_tests;

#[cfg(test)]
pub mod herd_tests;

/// Maximum number of watched paths in memory per lock.
const MOST_PATHS: usize = 10_000;

const LEAKED_REMEDY: &str = "restart that client when there are many: it waits with exists, which leaves a watch behind when the node is gone; newer versions of kazoo and Curator do not";

/// A sequence number is never assigned twice, so a watch on a deleted sequential node never fires.
/// The node of a single-node lock may come back and is not checked.
///
/// A server that lags lists watches on nodes that are deleted elsewhere or not yet visible to
/// others, in an election for seconds. Such a watch is its session's own wait. So a watch counts as
/// a leak only if its session now waits for something else, or for nothing in this queue, and only
/// if its number was assigned before.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LeakedWatch {
    /// The watches on missing paths, and since when each was seen.
    absent: RoundMemory<LockId, FxHashMap<(ZnodePath, SessionId), Timestamp>>,
}

impl Check for LeakedWatch {
    fn begin(&mut self) {
        self.absent.begin();
    }

    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let lock = context.lock;
        // The node by which a holder of a lease queued stays, and its watch with it.
        if matches!(lock.kind(), LockKind::SingleNode | LockKind::Semaphore) || !context.table_at.view().lists_watches()
        {
            return;
        }
        let (queue, table) = (lock.queue_path(), context.table_at.table());
        let mut absent: FxHashMap<(ZnodePath, SessionId), Timestamp> = FxHashMap::default();
        let mut moved_on = MovedOn::new(context);
        for (member, watched) in context.table_at.view().watched_below(&queue) {
            let is_child = watched.path.parent_str() == Some(queue.as_str());
            if absent.len() >= MOST_PATHS {
                break;
            }
            let number = Sequence::split(watched.path.name()).map(|(_, Sequence(number))| i64::from(number));
            let was_given = number.is_some_and(|number| lock.next_sequence().is_some_and(|next| number < next));
            if !is_child || !was_given || table.position(&watched.path).is_some() {
                continue;
            }
            let (Some(listing), sessions) = (&member.watched, &watched.sessions) else { continue };
            if let Some(session) = sessions.iter().copied().find(|session| moved_on.has(*session)) {
                absent.insert((watched.path.clone(), session), listing.at);
            }
        }
        if absent.is_empty() {
            return;
        }
        let kept = self.absent.see(lock.id(), FxHashMap::default);
        kept.retain(|watch, _| absent.contains_key(watch));
        let mut leaked: Vec<(&ZnodePath, Timestamp, SessionId)> = Vec::new();
        for (watch, listed) in &absent {
            let since = *kept.entry(watch.clone()).or_insert(context.now());
            if *listed >= since.plus(context.thresholds.settled_after) {
                leaked.push((&watch.0, *listed, watch.1));
            }
        }
        leaked.sort();
        if let [(path, gathered, session), ..] = leaked[..] {
            let severity =
                if leaked.len() >= context.thresholds.leaked_watches { Severity::Warning } else { Severity::Info };
            let summary = format!(
                "{} of this queue {} gone for good{} {}, watched by {}",
                plural(leaked.len(), "watched node", "watched nodes"),
                if leaked.len() == 1 { "is" } else { "are" },
                if leaked.len() == 1 { ":" } else { ", among them" },
                short_node(path.name()),
                context.table_at.who_is(session)
            );
            let finding = finding(Code::LeakedWatch, severity, lock, None).because(summary, LEAKED_REMEDY);
            found.push(Suspicion::proved(finding, gathered));
        }
    }
}

/// Tells which sessions watch all nodes that they wait for in a queue.
struct MovedOn<'a, 'b> {
    context: &'a LockContext<'b>,
    /// Whether each session in the queue watches everything that its nodes wait for.
    contends: FxHashMap<SessionId, bool>,
}

impl<'a, 'b> MovedOn<'a, 'b> {
    fn new(context: &'a LockContext<'b>) -> Self {
        Self { context, contends: FxHashMap::default() }
    }

    /// Returns whether further watches of this session cannot be its own wait. The first call is
    /// linear in the queue.
    fn has(&mut self, session: SessionId) -> bool {
        if self.contends.is_empty() {
            let LockContext { table_at, lock, .. } = self.context;
            for row in lock.rows(0..lock.len()) {
                let Some(owner) = row.contender.session() else { continue };
                // A holder may not have heard yet that it holds.
                let waits = row.state == ContenderState::Waits
                    && matches!(table_at.facts(lock, &row).watching, WatchTarget::Predecessor | WatchTarget::TwoBefore);
                let all = self.contends.entry(owner).or_insert(true);
                *all &= waits;
            }
        }
        self.contends.get(&session).copied().unwrap_or(true)
    }
}

const LEAKING_REMEDY: &str = "look at how this client makes nodes: one that is made for each try, or not deleted after a failure, adds up; to end its session deletes them all";

/// From this many nodes on, a session may leak them.
const MANY_NODES: usize = 20;

/// The threads of one process may queue, too, but each then watches what it waits for. A queue of no
/// known recipe may be a registry, in which one process has many entries.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct LeakingSession;

impl Check for LeakingSession {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        if context.lock.kind() != LockKind::Exclusive {
            return;
        }
        let many = context.repeated.iter().filter(|(_, positions)| positions.len() >= MANY_NODES);
        found.extend(many.filter_map(|(session, positions)| judge_leaking(context, *session, positions)));
    }
}

fn judge_leaking(context: &LockContext<'_>, session: SessionId, positions: &[usize]) -> Option<Suspicion> {
    let (lock, now, lasts) = (context.lock, context.now(), context.thresholds.stuck_after);
    let unwatched = context.unwatched.iter().filter(|unwatched| unwatched.session == session).count();
    let is_registry = is_registry(lock);
    if !is_registry && unwatched * 2 < positions.len() {
        return None;
    }
    // If any of the first nodes is released, the last of them is another one.
    let (first, last) = (lock.contender_at(*positions.first()?)?, lock.contender_at(*positions.get(MANY_NODES - 1)?)?);
    let ahead = context.table_at.table().clock().ahead_ms();
    let what = if is_registry {
        "and the recipe is unknown: it may be a registry of which this client has many entries"
    } else {
        "and watches what it would wait for with hardly any"
    };
    let summary = format!(
        "{} has {} nodes here, the oldest for {}; it has released none of the first {MANY_NODES} for {}, {what}",
        context.table_at.who_is(session),
        human::count(positions.len()),
        human::duration(now.since(first.contends_since(ahead))),
        human::duration(now.since(last.contends_since(ahead))),
    );
    let severity = if is_registry { Severity::Info } else { Severity::Warning };
    let finding = of_contender(Code::LeakingSession, severity, context, first).because(summary, LEAKING_REMEDY);
    let suspicion = Suspicion::new(finding, now, lasts).of_state(last.czxid.0);
    Some(suspicion.proved_by(now.since(last.contends_since(ahead))))
}

const CHURNING_REMEDY: &str = "look at what this client does in that loop, since each turn costs the ensemble two writes: if it fails and tries again, let it pause in between, and if each turn is work, take the lock once for several";

/// An election of which that is true flaps.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Churning;

impl Check for Churning {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let (table, now) = (context.table_at.table(), context.now());
        let Some(run) = table.taken_again(context.lock, now) else { return };
        let lasted = run.last.since(run.since);
        let is_fast = Duration::from_secs(run.times.into()) > lasted;
        if lasted < CHURN_TIME || !is_fast || context.election.is_some() || context.waiting() > 0 {
            return;
        }
        let client = table.clients().identity(run.session);
        let summary = format!(
            "{} has taken and given up this lock {} within {}, and nobody else contended",
            client.in_sentence(now),
            human::plural(run.times, "time", "times"),
            human::duration(lasted)
        );
        let finding = finding(Code::Churning, Severity::Info, context.lock, None).because(summary, CHURNING_REMEDY);
        found.push(Suspicion::proved(finding.of_client(client), now));
    }
}

const HERD_REMEDY: &str = "use a recipe in which each waiter watches the node before its own, such as Curator's InterProcessMutex or kazoo's Lock: a hand-over then wakes one";

/// From this many clients on, a hand-over wakes a herd.
const MANY_WOKEN: usize = 100;

/// A hand-over uses the watches up until the clients set them again. A herd that was seen counts for
/// this long.
const MAX_HERD_UNSEEN: Duration = Duration::from_secs(10);

/// Needs hand-overs: watches alone cost little. The followers of an election watch its leader by
/// design.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HerdStorm {
    /// The herds that were seen lately, and when. Found anew within moments.
    #[serde(skip)]
    seen: FxHashMap<LockId, (Timestamp, usize)>,
}

impl Check for HerdStorm {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let (lock, now) = (context.lock, context.now());
        if context.election.is_some() || !matches!(lock.kind(), LockKind::Exclusive | LockKind::SingleNode) {
            return;
        }
        let herd =
            if self.seen.contains_key(&lock.id()) || context.waiting() >= MANY_WOKEN { woken(context) } else { return };
        let (at, woken) = match (herd >= MANY_WOKEN, self.seen.get(&lock.id())) {
            (true, _) => (now, herd),
            (false, Some(before)) if now.since(before.0) <= MAX_HERD_UNSEEN => *before,
            _ => {
                self.seen.remove(&lock.id());
                return;
            }
        };
        self.seen.insert(lock.id(), (at, woken));
        let a_second = lock.rates(now).acquisitions;
        if a_second <= 0.0 {
            return;
        }
        let summary = format!(
            "each hand-over wakes {} clients, which all ask the servers again, though one of them gets the lock; there are {a_second:.1} a second",
            human::count(woken)
        );
        let finding = finding(Code::HerdStorm, Severity::Warning, lock, None).because(summary, HERD_REMEDY);
        found.push(Suspicion::new(finding, now, context.thresholds.settled_after));
    }

    fn check_all(&mut self, context: &TableContext<'_>, _found: &mut Vec<Suspicion>) {
        let table = context.table_at.table();
        self.seen.retain(|id, _| table.lock(*id).is_some());
    }
}

/// Returns how many clients a hand-over wakes, as far as the servers tell: those that watch one node
/// of the lock, or those that watch none of them while so many watch children.
fn woken(context: &LockContext<'_>) -> usize {
    let (table_at, lock) = (context.table_at, context.lock);
    if lock.kind() == LockKind::SingleNode {
        return context.waiting();
    }
    let of_one_node = table_at.view().watched_below(&lock.queue_path()).map(|(_, watched)| watched.sessions.len());
    let of_children: u64 = table_at.view().members.iter().filter_map(MemberView::child_watches).sum();
    let waits = lock.rows(lock.holding()..lock.len()).filter(|row| row.state == ContenderState::Waits);
    let sessions = waits.filter_map(|row| row.contender.session());
    let is_listed = |session: &SessionId| table_at.view().watches_as_of(*session).is_some();
    let others = sessions.filter(|session| !context.watching.contains(session) && is_listed(session)).count();
    let of_children = if of_children >= others as u64 { others } else { 0 };
    of_one_node.max().unwrap_or_default().max(of_children)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::diagnose::Thresholds;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator, path};

    pub fn examples() -> Vec<Example> {
        [1, 2].map(|watches| (Code::LeakedWatch, leaked(watches))).into()
    }

    fn leaked(watches: usize) -> DiagnosisFixture {
        let mut world = DiagnosisFixture::with(Thresholds { leaked_watches: 2, ..Thresholds::default() });
        world.create_at("/l/x-17-0000000010", 1);
        world.client(2).watches = (0..watches).map(|number| path(&format!("/l/x-16-000000000{number}"))).collect();
        world.pass(8);
        world
    }

    #[test]
    fn a_watch_on_a_deleted_number_is_reported_until_the_watch_is_gone() {
        let mut world = DiagnosisFixture::new();
        world.create_at("/l/x-17-0000000010", 1);
        world.client(2).watches = vec![path("/l/x-16-0000000000"), path("/l")];
        world.pass(1);
        world.client(2).watches = vec![path("/l/x-16-0000000001"), path("/l")];
        assert_eq!(world.pass(8).0, [Code::LeakedWatch]);
        assert_eq!(world.severity(Code::LeakedWatch), Some(Severity::Info));
        world.client(2).watches.clear();
        assert_eq!(world.pass(1).1, [Code::LeakedWatch]);
    }

    #[test]
    fn a_watch_that_just_fired_is_no_leak() {
        let mut world = DiagnosisFixture::new();
        for _ in 0..20 {
            let node = world.create("/l/x-17-", 1);
            let waiter = world.create("/l/x-18-", 2);
            world.client(3).watches = vec![node.clone()];
            world.pass(1);
            world.delete(&node);
            world.pass(1);
            world.delete(&waiter);
        }
        assert_eq!(world.codes(Severity::Info), []);
    }

    /// The waiters' member has not heard yet that the head was deleted and that another node was
    /// created.
    #[test]
    fn a_chain_whose_member_is_behind_leaks_nothing() {
        let mut world = DiagnosisFixture::new();
        let head = world.create(&curator("/l", 1), 1);
        let second = world.create(&curator("/l", 2), 2);
        world.create(&curator("/l", 3), 3);
        world.client(2).watches = vec![head.clone()];
        let coming = path(&format!("{}0000000003", curator("/l", 4)));
        let client = world.client(3);
        (client.sound, client.watches) = (false, vec![second.clone(), coming]);
        world.pass(2);
        world.delete(&head);
        // Contender 2 holds without having heard, and later contender 3.
        world.pass(20);
        world.client(2).watches.clear();
        world.delete(&second);
        world.pass(20);
        assert_eq!(world.found(Code::LeakedWatch), None);
    }

    #[test]
    fn a_waiter_that_still_watches_a_former_predecessor_has_leaked_a_watch() {
        let mut world = DiagnosisFixture::new();
        let first = world.create("/l/x-17-", 1);
        world.create("/l/x-18-", 2);
        world.create("/l/x-19-", 3);
        world.delete(&first);
        world.client(3).watches = vec![first];
        world.pass(8);
        assert_eq!(world.severity(Code::LeakedWatch), Some(Severity::Info));
    }

    #[test]
    fn a_waiter_for_a_single_node_to_come_back_leaks_nothing() {
        let mut world = DiagnosisFixture::new();
        world.client(1);
        let node = world.create_at("/app/lock", 1);
        world.client(2).watches = vec![path("/app/lock")];
        world.delete(&node);
        world.pass(20);
        assert_eq!(world.codes(Severity::Info), []);
    }
}
