//! Persistent contenders, which no session's end deletes.

use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, LockContext};
use crate::diagnose::facts::short_node;
use crate::diagnose::suspicion::{Suspicion, finding};
use crate::diagnose::{Code, Finding, Severity};
use crate::queue::{ContenderRow, ContenderState};
use crate::text::human;
use lockscope_base::recipe::{LockKind, Recipe};

const REMEDY: &str = "find out which application makes nodes without a session here, and whether it gives them a TTL, which servers show to nobody; if it is gone, delete them, guarded by their czxids";

const REMEDY_OF_ONE: &str =
    "find out which job made it, and whether that still runs; if not, delete the node, guarded by its czxid";

/// Reports one finding per lock, about its first persistent contender. Hive's locks are persistent
/// by design, and so are those of which the user says so.
///
/// A node with a TTL looks persistent: the servers report the owner 0 for both
/// (`DataNode.getClientEphemeralOwner`).
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct PersistentContender;

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
        let finding = describe(context, &first, 1 + ownerless.count());
        found.push(Suspicion::proved(finding, context.now()).of_state(first.contender.czxid.0));
    }
}

fn describe(context: &LockContext<'_>, first: &ContenderRow<'_>, count: usize) -> Finding {
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
            context.now().since(first.contender.contends_since(context.table_at.table().clock_ahead_ms())),
        );
        let watch = human::plural(context.waiting(), "session watches it", "sessions watch it");
        let summary = format!(
            "{node} has stood for {created} and is owned by no session, so no session's end deletes it; {watch}"
        );
        return finding(Code::PersistentContender, severity, lock, Some(&first.contender.node))
            .because(summary, REMEDY_OF_ONE);
    }
    let verb = if first.state == ContenderState::Holds { "holds" } else { "stands in the queue" };
    let summary = format!("{node} {verb} and is owned by no session, so no session's end deletes it{others}");
    finding(Code::PersistentContender, severity, lock, Some(&first.contender.node)).because(summary, REMEDY)
}

#[cfg(test)]
pub(super) mod tests {
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
