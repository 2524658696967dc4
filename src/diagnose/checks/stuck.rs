//! A lock, or a lease of a semaphore, that is not handed on for long though others wait.

use std::time::Duration;

use crate::diagnose::context::{Check, LockContext};
use crate::diagnose::round_memory::{NodeKey, RoundMemory};
use crate::diagnose::suspicion::{Suspicion, finding};
use crate::diagnose::{Code, Finding, Severity, election};
use crate::queue::ContenderRow;
use crate::recipe::LockKind;
use crate::text::human;
use crate::znode::{Timestamp, escaped};

const REMEDY: &str =
    "look at the holder's process: if it is done with the lock, or hangs, restart it; its node goes with its session";

/// One finding for each lock, about who has held longest.
#[derive(Clone, Debug, Default)]
pub(super) struct Stuck {
    /// When a node was first seen to hold, where it held already.
    first_seen: RoundMemory<NodeKey, Timestamp>,
}

impl Check for Stuck {
    fn begin(&mut self) {
        self.first_seen.begin();
    }

    fn look_at_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let lock = context.lock;
        if context.waiting() == 0 || election::is_registry(lock) {
            return;
        }
        // Holders that are no lease took the lock together, or nearly so.
        let holders = if lock.kind() == LockKind::Semaphore { lock.holding() } else { lock.holding().min(1) };
        let since =
            lock.rows(0..holders).map(|row| (context.held_since(&row, &mut self.first_seen), row.position)).min();
        let Some((since, position)) = since else { return };
        let held = context.now().since(since);
        let (waiting, Some(waits)) = (context.waiting(), context.first_waits()) else { return };
        if held < context.thresholds.stuck_after || waits < context.thresholds.stuck_after {
            return;
        }
        let Some(row) = lock.row(position) else { return };
        let finding = describe(context, &row, held, waiting);
        found.push(Suspicion::new(finding, context.now(), Duration::ZERO).of_state(row.contender.czxid.0));
    }
}

fn describe(context: &LockContext<'_>, row: &ContenderRow<'_>, held: Duration, waiting: usize) -> Finding {
    let lock = context.lock;
    let code = if lock.kind() == LockKind::Semaphore { Code::StuckLease } else { Code::Stuck };
    let severity = if election::is_likely(lock) { Severity::Info } else { Severity::Warning };
    let what = if code == Code::StuckLease { "is a lease that has not been returned" } else { "has held" };
    let wait = if waiting == 1 { "waits" } else { "wait" };
    let summary =
        format!("{} {what} for {}, and {waiting} {wait}", escaped(&row.contender.node), human::duration(held));
    finding(code, severity, lock, Some(&row.contender.node)).because(summary, REMEDY)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnose::testing::{Example, World, curator, path, queue, uuid, work};

    pub fn examples() -> Vec<Example> {
        vec![(Code::Stuck, stuck(1)), (Code::Stuck, stuck(2)), (Code::StuckLease, stuck_lease())]
    }

    fn stuck(waiters: i64) -> World {
        let mut world = queue(&(1..=waiters + 1).collect::<Vec<_>>());
        work(&mut world, 65);
        world
    }

    fn stuck_lease() -> World {
        let mut world = World::new();
        world.create_at("/s/leases", 0);
        world.create(&format!("/s/leases/_c_{}-lease-", uuid(1)), 1);
        world.create(&format!("/s/locks/_c_{}-lock-", uuid(2)), 2);
        work(&mut world, 70);
        world
    }

    #[test]
    fn a_lock_that_is_not_handed_on_while_others_wait_is_stuck_until_it_is() {
        let mut world = World::new();
        let head = world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 2), 2);
        work(&mut world, 60);
        assert_eq!(world.codes(Severity::Info), []);
        work(&mut world, 3);
        assert_eq!(world.severity(Code::Stuck), Some(Severity::Warning));
        world.delete(&head);
        work(&mut world, 1);
        assert_eq!(world.found(Code::Stuck), None);
    }

    #[test]
    fn an_election_is_held_for_long_by_design() {
        let mut world = World::new();
        for number in 1..=2 {
            world.create(&format!("/e/_c_{}-latch-", uuid(number)), i64::from(number));
        }
        work(&mut world, 100);
        assert_eq!(world.severity(Code::Stuck), Some(Severity::Info));
    }

    #[test]
    fn a_lease_that_never_moves_is_told_when_somebody_waits_for_one() {
        let mut world = World::new();
        world.create_at("/s/leases", 0);
        for number in 1..=2 {
            world.create(&format!("/s/leases/_c_{}-lease-", uuid(number)), i64::from(number));
        }
        work(&mut world, 100);
        assert_eq!(world.codes(Severity::Info), [], "nobody waits");
        world.create(&format!("/s/locks/_c_{}-lock-", uuid(3)), 3);
        work(&mut world, 70);
        assert_eq!(world.severity(Code::StuckLease), Some(Severity::Warning));
    }

    #[test]
    fn those_who_watch_a_single_node_wait_for_it() {
        let mut world = World::new();
        world.client(1);
        world.create_at("/app/lock", 1);
        work(&mut world, 70);
        assert_eq!(world.codes(Severity::Info), []);
        world.client(2).watches = vec![path("/app/lock")];
        work(&mut world, 3);
        assert_eq!(world.severity(Code::Stuck), Some(Severity::Warning));
    }
}
