//! Findings about sessions that wait for each other or for themselves.
//!
//! `deadlock` is a cycle of sessions across locks. `cross-deadlock` is one of clients across
//! ensembles. `self-blocked` is a session that waits for a
//! lock that it holds itself.

use std::hash::{Hash, Hasher};
use std::time::Duration;

use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};

use crate::diagnose::across::{describe_cross, standing_cross_cycles};
use crate::diagnose::context::{Check, TableContext, held_at_least};
use crate::diagnose::facts::short_node;
use crate::diagnose::suspicion::{RoundMemory, Suspicion, finding};
use crate::diagnose::waits::{Cycle, Wait};
use crate::diagnose::{Code, Severity, TableAt, Unaware};
use crate::queue::{ContenderRow, LockQueue, SameClient, is_likely_election};
use crate::text::human;
use lockscope_base::znode::{Timestamp, escaped};

#[cfg(test)]
pub mod self_blocked_tests;

#[cfg(test)]
pub mod cross_tests;

const DEADLOCK_REMEDY: &str = "restart one of these processes, which frees what it holds, unless its threads take these locks independently of each other; then let all take them in one order";

const DEADLOCK_REMEDY_OF_ELECTION: &str =
    "nothing, if each is an election: a candidate only stands by; if one is a lock, see whether its waiter gets it";

/// Threads that share a session hold and wait independently of each other, so that two such processes
/// are in a cycle until one of the holds ends. From this time on, a cycle is taken for a deadlock.
const MAX_CHANCE: Duration = Duration::from_secs(10);

/// Maximum number of a cycle's sessions that the summary names.
const MOST_NAMED: usize = 5;

/// Reports a finding for each lock of each cycle.
///
/// A healthy process may hold and wait in different threads. A cycle of such waits dissolves; a
/// deadlock does not.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Deadlock {
    /// When each cycle was first seen. A replay begins anew.
    #[serde(skip)]
    first_seen: RoundMemory<i64, Timestamp>,
}

impl Check for Deadlock {
    fn begin(&mut self) {
        self.first_seen.begin();
    }

    fn check_all(&mut self, context: &TableContext<'_>, found: &mut Vec<Suspicion>) {
        let TableContext { table_at, thresholds, cycles, .. } = context;
        for cycle in cycles {
            let locks: Vec<&LockQueue> = cycle.iter().filter_map(|wait| table_at.table().lock(wait.lock)).collect();
            // A waiter behind a deleted node waits for it only in the view of one member.
            if locks.len() != cycle.len() || locks.iter().any(|lock| lock.returned() > 0) {
                continue;
            }
            // A leader of one election may be a candidate in another and waits for nothing.
            let elections = locks.iter().any(|lock| is_likely_election(lock));
            let (summary, state) = (describe_cycle(*table_at, cycle, &locks), state(cycle));
            let each = cycle.iter().zip(&locks).map(|(wait, lock)| lasts(*table_at, lock, wait));
            let lasted = each.min().unwrap_or_default();
            let seen = table_at.now().since(*self.first_seen.see(state, || table_at.now()));
            let is_chance = lasted.max(seen) < MAX_CHANCE;
            let severity = if elections || is_chance { Severity::Info } else { Severity::Critical };
            let remedy = if elections { DEADLOCK_REMEDY_OF_ELECTION } else { DEADLOCK_REMEDY };
            for (wait, lock) in cycle.iter().zip(&locks) {
                let finding = finding(Code::Deadlock, severity, lock, Some(&wait.held))
                    .of_client(table_at.table().identity_at(wait.lock, &wait.held, wait.blocker))
                    .because(summary.clone(), remedy);
                let suspicion = Suspicion::new(finding, table_at.now(), thresholds.settled_after).of_state(state);
                found.push(suspicion.proved_by(lasted));
            }
        }
    }
}

/// Returns the minimum time for which this contender has waited while the other one held. Zero for
/// a single node, since it is unknown when a session began to watch it.
fn lasts(table_at: TableAt<'_>, lock: &LockQueue, wait: &Wait) -> Duration {
    let waiter = table_at.table().position(&lock.queue_path().child(&wait.node));
    let waiter = waiter.filter(|(id, _)| *id == lock.id()).and_then(|(_, position)| lock.row(position));
    let holder = lock.rows(0..lock.holding()).find(|row| row.contender.node == wait.held);
    let (Some(waiter), Some(holder)) = (waiter, holder) else { return Duration::ZERO };
    let waits = table_at.now().since(waiter.contender.contends_since(table_at.table().clock().ahead_ms()));
    waits.min(held_at_least(table_at, holder.contender))
}

/// Returns a hash that stays the same as long as the same nodes form the cycle.
fn state(cycle: &Cycle) -> i64 {
    let mut hasher = FxHasher::default();
    for wait in cycle {
        (&wait.node, &wait.held, wait.waiter).hash(&mut hasher);
    }
    hasher.finish().cast_signed()
}

/// Describes the cycle: each session waits for the lock that the next one holds. A client that has
/// another name where it waits is named there as well.
fn describe_cycle(table_at: TableAt<'_>, cycle: &Cycle, locks: &[&LockQueue]) -> String {
    let before = cycle.iter().zip(locks).cycle().skip(locks.len().saturating_sub(1));
    let named = cycle.iter().zip(locks).zip(before).take(MOST_NAMED);
    let each = named.map(|((wait, lock), (waited_for, holds))| {
        let [held, awaited] = [holds, lock].map(|lock| escaped(lock.path().as_str()));
        let identity = |lock: &LockQueue, node| table_at.table().identity_at(lock.id(), node, wait.waiter);
        let (holder, waiter) = (identity(holds, &waited_for.held), identity(lock, &wait.node));
        let other = waiter.telling_name().filter(|name| holder.name.as_deref() != Some(name));
        let other = other.map(|name| format!(" as {}", escaped(name))).unwrap_or_default();
        format!("{} holds {held}, waits for {awaited}{other}", holder.in_sentence(table_at.now()))
    });
    let text = each.collect::<Vec<_>>().join("; ");
    match cycle.len().checked_sub(MOST_NAMED) {
        None | Some(0) => text,
        Some(more) => format!("{text}; and {more} more"),
    }
}

const CROSS_REMEDY: &str = "see whether these are the same processes; restart one of them, which frees what it holds; then let all take the locks of both ensembles in one order";

/// Reports a finding for each lock of this ensemble in each cycle over several ensembles. What a
/// cycle says of this ensemble must still be true; of the others it is as of the comparison.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct CrossDeadlock;

impl Check for CrossDeadlock {
    fn check_all(&mut self, context: &TableContext<'_>, found: &mut Vec<Suspicion>) {
        let TableContext { table_at, thresholds, .. } = context;
        for (cycle, held) in standing_cross_cycles(*table_at) {
            let lasted = table_at.now().since(cycle.since);
            let severity = match cycle.same {
                _ if lasted < MAX_CHANCE || cycle.has_election => Severity::Info,
                SameClient::NameAndHost => Severity::Critical,
                SameClient::Name => Severity::Warning,
                SameClient::Host => Severity::Info,
            };
            let summary = describe_cross(cycle);
            for (lock, holder) in held {
                let client =
                    holder.session().map(|session| table_at.table().identity_at(lock.id(), &holder.node, session));
                let finding = finding(Code::CrossDeadlock, severity, lock, Some(&holder.node))
                    .of_client(client.unwrap_or_default())
                    .because(summary.clone(), CROSS_REMEDY);
                let mut hasher = FxHasher::default();
                cycle.steps.hash(&mut hasher);
                let suspicion = Suspicion::new(finding, table_at.now(), thresholds.settled_after);
                found.push(suspicion.of_state(hasher.finish().cast_signed()).proved_by(lasted));
            }
        }
    }
}

const SELF_BLOCKED_REMEDY: &str = "look at that process: restart it if it takes the lock twice, or left the earlier node behind when a release or a create failed";

/// Threads of one process share a session and take turns, so this is a fault only if it lasts.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct SelfBlocked;

impl Check for SelfBlocked {
    fn check_all(&mut self, context: &TableContext<'_>, found: &mut Vec<Suspicion>) {
        let TableContext { table_at, thresholds, self_blocked, .. } = context;
        for wait in self_blocked {
            let Some(lock) = table_at.table().lock(wait.lock) else { continue };
            let Some((_, position)) = table_at.table().position(&lock.queue_path().child(&wait.node)) else { continue };
            // A node that its client does not know of waits for nothing: `orphan` says so.
            let is_known = |row: &ContenderRow<'_>| table_at.unaware(lock, row) != Some(Unaware::OfNode);
            let Some(waiter) = lock.row(position).filter(is_known).map(|row| row.contender) else { continue };
            let waits = table_at.now().since(waiter.contends_since(table_at.table().clock().ahead_ms()));
            let held = lock.first_holder().map(|holder| held_at_least(*table_at, holder)).unwrap_or_default();
            let lasts = waits.min(held);
            let stuck = lasts >= thresholds.stuck_after && !is_likely_election(lock);
            let severity = if stuck { Severity::Warning } else { Severity::Info };
            let finding = finding(Code::SelfBlocked, severity, lock, lock.first_holder().map(|holder| &holder.node))
                .of_client(table_at.table().identity_at(wait.lock, &wait.held, wait.waiter))
                .because(describe_self_blocked(*table_at, wait, lasts), SELF_BLOCKED_REMEDY);
            let suspicion = Suspicion::new(finding, table_at.now(), thresholds.settled_after);
            found.push(suspicion.of_state(waiter.czxid.0).proved_by(lasts));
        }
    }
}

fn describe_self_blocked(table_at: TableAt<'_>, wait: &Wait, lasts: Duration) -> String {
    let [held, node] = [&wait.held, &wait.node].map(|name| short_node(name));
    format!(
        "{} holds by {held} and has waited by {node} for {}: it waits for itself, unless these are two of its threads",
        table_at.who_at(wait.lock, &wait.held, wait.waiter),
        human::duration(lasts)
    )
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator};
    use lockscope_base::znode::ZnodePath;

    pub fn examples() -> Vec<Example> {
        [2, 7].map(|sessions| (Code::Deadlock, ring(sessions))).into()
    }

    /// Creates `sessions` sessions, each of which holds a lock and waits for the lock of the next.
    fn ring(sessions: u32) -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        let lock = |number: u32| format!("/l{}", number % sessions);
        for number in 0..sessions {
            world.create(&curator(&lock(number), number), i64::from(number) + 1);
        }
        for number in 0..sessions {
            world.create(&curator(&lock(number + 1), number + 100), i64::from(number) + 1);
        }
        world.pass(5);
        world
    }

    /// Creates two sessions and two locks. Each session holds one lock and waits for the other.
    fn crossed(a: &str, b: &str) -> (DiagnosisFixture, ZnodePath) {
        let mut world = DiagnosisFixture::new();
        world.create(&curator(a, 1), 1);
        world.create(&curator(b, 2), 2);
        let victim = world.create(&curator(b, 3), 1);
        world.create(&curator(a, 4), 2);
        (world, victim)
    }

    #[test]
    fn two_sessions_that_wait_for_each_other_are_reported_at_both_locks_until_one_gives_up() {
        let (mut world, victim) = crossed("/a", "/b");
        assert_eq!(world.pass(5).0, [Code::Deadlock, Code::Deadlock]);
        assert_eq!(world.codes(Severity::Warning), [], "threads of one process may do so");
        world.pass(6);
        assert_eq!(world.codes(Severity::Critical), [Code::Deadlock, Code::Deadlock]);
        let finding = world.diagnosis.worst(world.id("/a")).expect("the finding stands");
        assert_eq!(finding.summary, "10.0.0.1:4000 holds /a, waits for /b; 10.0.0.2:4000 holds /b, waits for /a");
        world.delete(&victim);
        assert_eq!(world.pass(1).1, [Code::Deadlock, Code::Deadlock]);
    }

    #[test]
    fn a_session_that_serves_several_clients_is_named_by_its_node_in_each_lock() {
        let mut world = DiagnosisFixture::new();
        let holds = world.create(&curator("/a", 1), 1);
        world.create(&curator("/b", 2), 2);
        let waits = world.create(&curator("/b", 3), 1);
        world.create(&curator("/a", 4), 2);
        world.write(&holds, b"w-0");
        world.write(&waits, b"app-0");
        world.pass(5);
        let finding = world.diagnosis.worst(world.id("/a")).expect("the finding stands");
        let said = "w-0 (10.0.0.1:4000) holds /a, waits for /b as app-0; 10.0.0.2:4000 holds /b, waits for /a";
        assert_eq!(finding.summary, said);
        assert_eq!(finding.client.as_ref().and_then(|client| client.name.as_deref()), Some("w-0"), "as its node");
    }

    #[test]
    fn an_older_deadlock_is_reported_at_the_first_look() {
        let (mut world, _) = crossed("/a", "/b");
        world.now = world.now.plus(Duration::from_secs(60));
        world.begin_anew();
        let raised = world.diagnosis.examine(&world.table, world.now).raised;
        assert_eq!(raised.len(), 2, "{raised:?}");
    }

    #[test]
    fn cycles_that_dissolve_and_form_again_are_no_deadlock() {
        let mut world = DiagnosisFixture::new();
        for _ in 0..20 {
            let nodes = [("/a", 1), ("/b", 2), ("/b", 1), ("/a", 2)];
            let nodes = nodes.map(|(lock, session)| world.create(&curator(lock, 1), session));
            world.pass(2);
            for node in &nodes {
                world.delete(node);
            }
        }
        assert_eq!(world.codes(Severity::Warning), []);
    }

    #[test]
    fn candidates_of_two_elections_wait_for_nothing() {
        let (mut world, _) = crossed("/app/leader", "/app/b");
        world.pass(20);
        assert_eq!(world.codes(Severity::Warning), []);
    }
}
