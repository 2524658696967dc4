//! Findings about faults in the tree: nodes that no session owns, numbers that run out, foreign
//! nodes, and empty parents.
//!
//! - `persistent-contender`: no session's end deletes the node.
//! - `sequence-overflow`: the sequence numbers of a queue are about to overflow, or have
//!   overflowed.
//! - `foreign-child`: nodes of another recipe in the lock parent.
//! - `empty-parent`, `growing-parents`: a lock parent without contenders, and very many of them
//!   below one node.

use std::hash::{Hash, Hasher};
use std::time::Duration;

use rustc_hash::{FxHashSet, FxHasher};
use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, LockContext, TableContext};
use crate::diagnose::facts::short_node;
use crate::diagnose::suspicion::{RoundMemory, Suspicion, finding};
use crate::diagnose::{Code, Finding, Severity, TableAt};
use crate::queue::{ContenderRow, ContenderState, EmptiedBelow, LockId, LockName, LockQueue};
use crate::text::human;
use lockscope_base::recipe::{LockKind, Recipe};
use lockscope_base::znode::{Sequence, Timestamp, ZnodePath, escaped};

#[cfg(test)]
pub mod overflow_tests;

#[cfg(test)]
pub mod foreign_tests;

#[cfg(test)]
pub mod empty_tests;

const PERSISTENT_REMEDY: &str = "find out which application makes nodes without a session here, and whether it gives them a TTL, which servers show to nobody; if it is gone, delete them, guarded by their czxids";

const PERSISTENT_REMEDY_OF_ONE: &str =
    "find out which job made it, and whether that still runs; if not, delete the node, guarded by its czxid";

/// Reports one finding per lock, about its first persistent contender. Hive's locks are persistent
/// by design, and so are those of which the user says so.
///
/// A node with a TTL looks persistent: the servers report the owner 0 for both
/// (`DataNode.getClientEphemeralOwner`).
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct PersistentContender;

impl Check for PersistentContender {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let lock = context.lock;
        match lock.recipe() {
            Recipe::Hive => return,
            Recipe::Own(own) if own.definition().persistent => return,
            _ => {}
        }
        let is_ownerless = |position: &usize| {
            lock.contender_at(*position).is_some_and(|contender| {
                contender.session().is_none() && contender.is_read() && contender.locked_until().is_none()
            })
        };
        let mut ownerless = (0..lock.len()).filter(is_ownerless);
        let Some(first) = ownerless.next().and_then(|first| lock.row(first)) else { return };
        let finding = describe_persistent(context, &first, 1 + ownerless.count());
        found.push(Suspicion::proved(finding, context.now()).of_state(first.contender.czxid.0));
    }
}

fn describe_persistent(context: &LockContext<'_>, first: &ContenderRow<'_>, count: usize) -> Finding {
    let lock = context.lock;
    let mixed = count < lock.len();
    // Common names belong to a lock only if sessions contend there too.
    let sure = mixed
        || !matches!(
            lock.recipe(),
            Recipe::TextbookQueue | Recipe::TextbookNamedQueue | Recipe::TextbookShared | Recipe::ZookeeperElection
        );
    let severity = match (sure, context.blocks_for_good(first)) {
        (false, _) => Severity::Info,
        (true, false) => Severity::Warning,
        (true, true) => Severity::Critical,
    };
    let node = short_node(&first.contender.node);
    let others = match count {
        1 => String::new(),
        2 => format!("; nor does 1 more of {} contenders", lock.len()),
        _ => format!("; nor do {} more of {} contenders", count - 1, lock.len()),
    };
    if lock.kind() == LockKind::SingleNode {
        let created = human::duration(
            context.now().since(first.contender.contends_since(context.table_at.table().clock().ahead_ms())),
        );
        let watch = human::plural(context.waiting(), "session watches it", "sessions watch it");
        let summary = format!(
            "{node} has stood for {created} and is owned by no session, so no session's end deletes it; {watch}"
        );
        return finding(Code::PersistentContender, severity, lock, Some(&first.contender.node))
            .because(summary, PERSISTENT_REMEDY_OF_ONE);
    }
    let verb = if first.state == ContenderState::Holds { "holds" } else { "stands in the queue" };
    let summary = format!("{node} {verb} and is owned by no session, so no session's end deletes it{others}");
    finding(Code::PersistentContender, severity, lock, Some(&first.contender.node)).because(summary, PERSISTENT_REMEDY)
}

/// The number of sequence numbers of one parent.
const NUMBERS: i64 = 1 << 31;

const OVERFLOW_REMEDY: &str = "stop the clients of this queue, delete the lock parent, make it again with the same data and ACL, and start them: its numbers start at 0; clients that run meanwhile may fail, and those of Mesos abort";

/// After the last number, servers up to 3.5 go on with negative ones, so the newest node becomes
/// the head. From 3.6 on, creates fail.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct SequenceOverflow;

impl Check for SequenceOverflow {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let lock = context.lock;
        if lock.kind() == LockKind::SingleNode {
            return;
        }
        let lowest = lock.rows(0..1).find_map(|row| row.contender.sequence);
        let (severity, summary) = if let Some(Sequence(number)) = lowest.filter(|Sequence(number)| *number < 0) {
            let summary =
                format!("the sequence numbers overflowed to {number}: the newest nodes stand before the oldest");
            (Severity::Critical, summary)
        } else {
            let left = numbers_left(lock);
            if left > context.thresholds.numbers_left {
                return;
            }
            let left_over = match left {
                0 => format!("none of {NUMBERS} sequence numbers is"),
                1 => format!("only 1 of {NUMBERS} sequence numbers is"),
                _ => format!("only {left} of {NUMBERS} sequence numbers are"),
            };
            let severity = if left == 0 { Severity::Critical } else { Severity::Warning };
            (severity, format!("{left_over} left for nodes of this queue"))
        };
        let finding = finding(Code::SequenceOverflow, severity, lock, None).because(summary, OVERFLOW_REMEDY);
        found.push(Suspicion::proved(finding, context.now()));
    }
}

/// Returns how many sequence numbers are left.
///
/// A listing contains the sum of the created and deleted children in 32 bits. Half of that sum
/// lacks the highest bit.
fn numbers_left(lock: &LockQueue) -> i64 {
    let next = lock.next_sequence().unwrap_or_default();
    let next = if next < 0 { next + NUMBERS } else { next };
    (NUMBERS - 1 - next).max(0)
}

const FOREIGN_REMEDY: &str =
    "move the other nodes to a parent of their own: libraries that count every child take them for contenders";

/// Reports queues of different recipes in one parent. Children that can be no contenders are not
/// read, so they are not found here.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct ForeignChild;

impl Check for ForeignChild {
    fn check_all(&mut self, context: &TableContext<'_>, found: &mut Vec<Suspicion>) {
        let table_at = context.table_at;
        let locks = table_at.table().locks().filter(|lock| lock.kind() != LockKind::SingleNode && !lock.is_empty());
        let mut here: Vec<&LockQueue> = Vec::new();
        // The locks are ordered by path.
        for lock in locks {
            if here.first().is_some_and(|first| first.path() != lock.path()) {
                found.extend(suspect_foreign(table_at, &here));
                here.clear();
            }
            here.push(lock);
        }
        found.extend(suspect_foreign(table_at, &here));
    }
}

/// Returns one finding, about the longest queue.
fn suspect_foreign(table_at: TableAt<'_>, here: &[&LockQueue]) -> Option<Suspicion> {
    if here.len() < 2 {
        return None;
    }
    let main = here.iter().rev().max_by_key(|lock| (is_known(lock), lock.len()))?;
    let other = here.iter().find(|lock| family(lock) != family(main))?;
    let node = &other.row(0)?.contender.node;
    let severity = if counts_every_child(main) { Severity::Warning } else { Severity::Info };
    let summary = format!("other nodes stand among those of a {}, such as {}", main.recipe().title(), escaped(node));
    let finding = finding(Code::ForeignChild, severity, main, Some(node)).because(summary, FOREIGN_REMEDY);
    Some(Suspicion::new(finding, table_at.now(), Duration::from_secs(1)))
}

fn is_known(lock: &LockQueue) -> bool {
    !matches!(lock.recipe(), Recipe::UnknownQueue | Recipe::TextbookNamedQueue)
}

fn family(lock: &LockQueue) -> Recipe {
    lock.recipe().family()
}

/// Returns whether the recipe takes every child of the parent for a contender, as Curator's do.
fn counts_every_child(lock: &LockQueue) -> bool {
    matches!(
        lock.recipe(),
        Recipe::CuratorMutex | Recipe::CuratorReadWrite | Recipe::CuratorLatch | Recipe::CuratorSemaphore
    )
}

const EMPTY_REMEDY: &str = "if no running process uses this lock any more, delete the empty parent, not recursively: a lock object that kazoo keeps does not make it again";

/// From this many on, empty parents below one node are one finding.
const MANY_EMPTY: usize = 100;

/// From this many on, it is a warning if some of them were locks in view.
const VERY_MANY_EMPTY: usize = 1_000;

/// Only parents that had contenders are reported by themselves. A parent that was empty from the
/// start may be no lock's. In an election, nobody leads: the parent is not to be deleted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EmptyParent {
    /// When each lock parent was first seen empty.
    empty_since: RoundMemory<LockId, Timestamp>,
    /// The locks that one finding for many covers. Found anew in each look.
    #[serde(skip)]
    among_many: FxHashSet<LockId>,
}

impl Check for EmptyParent {
    fn begin(&mut self) {
        self.empty_since.begin();
    }

    fn check_all(&mut self, context: &TableContext<'_>, found: &mut Vec<Suspicion>) {
        let (table, now, after) = (context.table_at.table(), context.table_at.now(), context.thresholds.empty_after);
        self.among_many.clear();
        for mut below in table.emptied_parents(MANY_EMPTY, after, now) {
            below.locks.retain(|id| {
                let since = self.empty_since.recall(id).copied().zip(table.lock(*id));
                since.is_some_and(|(since, lock)| empty_for(lock, since, now) >= after)
            });
            let (all, proven) = (below.locks.len() + below.others, below.locks.len() + below.others_proven);
            if all < MANY_EMPTY {
                continue;
            }
            let suspicion = Suspicion::new(describe_many_empty(&below, table.clock().server_time(now)), now, after);
            found.push(Suspicion { proved: proven >= MANY_EMPTY, ..suspicion });
            self.among_many.extend(below.locks);
        }
    }

    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let lock = context.lock;
        if !lock.is_empty()
            || lock.kind() == LockKind::SingleNode
            || lock.name().is_some()
            || context.election.is_some()
        {
            return;
        }
        let since = *self.empty_since.see(lock.id(), || context.now());
        let empty = empty_for(lock, since, context.now());
        if empty < context.thresholds.empty_after || self.among_many.contains(&lock.id()) {
            return;
        }
        let summary = format!(
            "it has been empty for {}: nobody contends here, and servers would have removed a container node by now",
            human::duration(empty)
        );
        let finding = finding(Code::EmptyParent, Severity::Info, lock, None).because(summary, EMPTY_REMEDY);
        found.push(Suspicion::proved(finding, context.now()));
    }
}

/// Returns how long a lock that no look found in use since then has been empty. It may have been used
/// between two looks.
fn empty_for(lock: &LockQueue, since: Timestamp, now: Timestamp) -> Duration {
    now.since(lock.acquired_after().map_or(since, |acquired| acquired.max(since)))
}

fn describe_many_empty(below: &EmptiedBelow, server_now: Timestamp) -> Finding {
    let (locks, others) = (below.locks.len(), below.others);
    let (all, above) = (human::count(locks + others), escaped(below.above.as_str()));
    let what = match (locks, others) {
        (_, 0) => format!("{all} lock parents below {above} are empty"),
        (0, _) => format!("{all} nodes below {above} are empty and had children before, as lock parents have"),
        _ => {
            let seen = human::count(locks);
            format!(
                "{all} nodes below {above} are empty, {seen} of them lock parents whose last contender was seen to go"
            )
        }
    };
    let age =
        |created: Timestamp| format!("; the oldest was created {} ago", human::duration(server_now.since(created)));
    let oldest = below.oldest.map(age).unwrap_or_default();
    let summary = format!("{what}{oldest}; each costs memory on every server");
    let severity = if locks > 0 && locks + others >= VERY_MANY_EMPTY { Severity::Warning } else { Severity::Info };
    let lock = LockName { id: id_of(&below.above), path: below.above.clone(), name: None };
    Finding {
        code: Code::GrowingParents,
        severity,
        lock,
        node: None,
        client: None,
        summary,
        remedy: remedy_of_many(&below.above).into(),
        muted: None,
    }
}

fn remedy_of_many(above: &ZnodePath) -> String {
    // Below the root are the nodes of every application, so there the command refuses.
    let how = if above.is_root() {
        ", not recursively".to_owned()
    } else {
        format!(" with lockscope delete --empty-parents {} --older-than 7d", escaped(above.as_str()))
    };
    format!(
        "create these parents as container nodes, which servers remove when they are empty, or let the application delete each when \
         it is done; delete those that no running process uses{how}: a server refuses to delete one that is in use"
    )
}

/// Returns the id for a node that is no lock. The table counts its locks from zero.
fn id_of(above: &ZnodePath) -> LockId {
    let mut hasher = FxHasher::default();
    above.as_str().hash(&mut hasher);
    LockId(hasher.finish() | 1 << 63)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator, path, queue, uuid};
    use crate::queue::Change;
    use lockscope_base::recipe::{Definition, LockKind};

    pub fn examples() -> Vec<Example> {
        [&[0, 2][..], &[2, 0, 0], &[0, 0, 0, 2]]
            .map(persistent)
            .into_iter()
            .chain([barrier()])
            .map(|world| (Code::PersistentContender, world))
            .collect()
    }

    fn persistent(sessions: &[i64]) -> DiagnosisFixture {
        let mut world = queue(sessions);
        world.pass(2);
        world
    }

    #[test]
    fn a_persistent_node_at_the_head_of_a_queue_is_reported_until_it_is_deleted() {
        let mut world = DiagnosisFixture::new();
        let node = world.create(&curator("/l", 1), 0);
        world.create(&curator("/l", 2), 2);
        assert_eq!(world.pass(2).0, [Code::PersistentContender]);
        let finding = world.found(Code::PersistentContender).expect("the finding stands");
        assert_eq!((finding.severity, finding.node.as_deref()), (Severity::Critical, Some(node.name())));
        world.delete(&node);
        assert_eq!(world.pass(1).1, [Code::PersistentContender]);
    }

    #[test]
    fn a_persistent_holder_is_raised_again_as_critical_when_there_is_a_waiter() {
        let mut world = DiagnosisFixture::new();
        world.create(&curator("/l", 1), 0);
        assert_eq!(world.pass(2).0, [Code::PersistentContender]);
        assert_eq!(world.severity(Code::PersistentContender), Some(Severity::Warning), "nobody waits");
        let waiter = world.create(&curator("/l", 2), 2);
        assert_eq!(world.pass(1), (vec![Code::PersistentContender], vec![]));
        assert_eq!(world.severity(Code::PersistentContender), Some(Severity::Critical));
        world.delete(&waiter);
        assert_eq!(world.pass(1), (vec![], vec![]));
        assert_eq!(world.severity(Code::PersistentContender), Some(Severity::Warning), "it went again");
    }

    #[test]
    fn a_persistent_waiter_blocks_the_lock_once_it_holds() {
        let mut world = queue(&[1, 0, 2]);
        let head = world.lock("/l").path_of(world.lock("/l").first_holder().expect("the lock has a holder"));
        world.pass(2);
        assert_eq!(world.severity(Code::PersistentContender), Some(Severity::Warning), "the holder will release");
        world.delete(&head);
        assert_eq!(world.pass(1).0, [Code::PersistentContender]);
        assert_eq!(world.severity(Code::PersistentContender), Some(Severity::Critical));
    }

    #[test]
    fn a_persistent_lease_blocks_a_semaphore_only_when_no_session_holds_another() {
        let mut world = DiagnosisFixture::new();
        world.create_at("/s/leases", 0);
        world.create(&format!("/s/leases/_c_{}-lease-", uuid(1)), 0);
        let other = world.create(&format!("/s/leases/_c_{}-lease-", uuid(2)), 2);
        world.create(&format!("/s/locks/_c_{}-lock-", uuid(3)), 3);
        world.pass(2);
        assert_eq!(world.severity(Code::PersistentContender), Some(Severity::Warning), "the other lease may return");
        world.delete(&other);
        world.pass(1);
        assert_eq!(world.severity(Code::PersistentContender), Some(Severity::Critical));
    }

    #[test]
    fn numbered_nodes_with_common_names_alone_may_be_no_lock() {
        let mut world = DiagnosisFixture::new();
        world.create("/items/lock-", 0);
        world.create("/items/lock-", 0);
        world.pass(3);
        assert_eq!(world.codes(Severity::Info), [Code::PersistentContender]);
        assert_eq!(world.codes(Severity::Warning), []);
    }

    /// Returns a barrier that the user named as a lock, and a session that watches it.
    fn barrier() -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        world.table = crate::queue::LockTable::new([path("/app/barrier")]);
        for change in crate::testing::reading([]) {
            world.apply(change);
        }
        world.create_at("/app/barrier", 0);
        world.client(2).watches = vec![path("/app/barrier")];
        world.pass(2);
        world
    }

    #[test]
    fn a_persistent_node_that_is_named_as_a_lock_is_held_by_nobody_and_keeps_its_watchers_waiting() {
        let world = barrier();
        let finding = world.found(Code::PersistentContender).expect("the finding stands");
        assert_eq!(finding.severity, Severity::Critical, "{}", finding.summary);
        assert_eq!(world.lock("/app/barrier").holding(), 1);
    }

    #[test]
    fn an_unread_contender_is_not_called_ownerless() {
        let mut world = queue(&[1, 2]);
        let path = path(&format!("{}0000000009", curator("/l", 9)));
        world.apply(Change::Appeared { path });
        world.pass(3);
        assert_eq!(world.codes(Severity::Info), []);
    }

    #[test]
    fn nothing_is_said_about_nodes_that_the_user_calls_persistent() {
        let own = Recipe::define(Definition {
            name: "jobs".to_owned(),
            pattern: "job-{uuid}-{sequence}".to_owned(),
            kind: LockKind::Exclusive,
            roles: Vec::new(),
            lock: true,
            persistent: true,
            below: None,
            leases: None,
            name_from: None,
        });
        let mut world = DiagnosisFixture::new();
        world.table = world.table.clone().with_recipes(&[own.expect("a recipe")]);
        for number in 1..=2 {
            world.create(&format!("/jobs/job-{}-", uuid(number)), 0);
        }
        world.pass(3);
        assert_eq!((world.lock("/jobs").len(), world.codes(Severity::Info)), (2, vec![]));
    }

    #[test]
    fn hives_locks_are_persistent_by_design() {
        let mut world = DiagnosisFixture::new();
        world.create("/hive/db/LOCK-EXCLUSIVE-", 0);
        world.pass(3);
        assert_eq!(world.codes(Severity::Info), []);
    }
}
