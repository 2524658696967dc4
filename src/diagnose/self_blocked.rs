//! A session waits for a lock that it holds itself.

use super::suspicion::{Suspicion, finding};
use super::waits::{Wait, Waits};
use super::{Code, Severity, TableAt, Thresholds, election, stuck};
use crate::queue::{HeldSince, LockQueue};
use crate::znode::{Timestamp, escaped};

const REMEDY: &str = "look at that process: restart it if it takes the lock twice, or left the earlier node behind when a release or a create failed";

/// Threads of one process share a session and take turns: it is a fault only when nothing moves for long.
pub(super) fn check(
    table_at: TableAt<'_>,
    thresholds: &Thresholds,
    waits: &Waits,
    holders: &mut stuck::Memory,
    found: &mut Vec<Suspicion>,
) {
    for wait in waits.self_blocked() {
        let Some(lock) = table_at.table().lock(wait.lock) else { continue };
        let Some((_, position)) = table_at.table().position(&lock.queue_path().child(&wait.node)) else { continue };
        let Some(waiter) = lock.row(position).map(|row| row.contender) else { continue };
        let since = waiter.contends_since(table_at.table().clock_ahead_ms());
        let lasts = table_at.now().since(since.max(held_since(lock, table_at.now(), holders)));
        let stuck = lasts >= thresholds.stuck_after && !election::is_likely(lock);
        let severity = if stuck { Severity::Warning } else { Severity::Info };
        let finding = finding(Code::SelfBlocked, severity, lock, lock.first_holder().map(|holder| &holder.node))
            .because(describe(wait, lasts.as_secs()), REMEDY);
        let suspicion = Suspicion::new(finding, table_at.now(), thresholds.settled_after);
        found.push(suspicion.of_state(waiter.czxid.0));
    }
}

/// Since when the lock is held, as far as it was seen.
fn held_since(lock: &LockQueue, now: Timestamp, holders: &mut stuck::Memory) -> Timestamp {
    match (lock.held(), lock.first_holder()) {
        (HeldSince::Since(since), _) => since,
        (_, Some(holder)) => holders.recall(&(lock.id(), holder.czxid.0)).map_or(now, |since| *since),
        (_, None) => now,
    }
}

fn describe(wait: &Wait, seconds: u64) -> String {
    let [held, node] = [&wait.held, &wait.node].map(|name| escaped(name));
    format!(
        "session {} holds by {held} and waits as {node} since {seconds} s: for itself, unless those are two of its threads",
        wait.waiter
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::testing::{World, curator};

    #[test]
    fn who_waits_for_its_own_lock_is_told_and_warned_of_when_nothing_moves() {
        let mut world = World::new();
        let head = world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 2), 1);
        assert_eq!(world.pass(5).0, [Code::SelfBlocked]);
        assert_eq!(world.severity(Code::SelfBlocked), Some(Severity::Info));
        world.pass(60);
        assert_eq!(world.severity(Code::SelfBlocked), Some(Severity::Warning));
        assert_eq!(world.found(Code::Stuck), None, "this says why");
        world.delete(&head);
        assert!(world.pass(1).1.contains(&Code::SelfBlocked));
    }

    #[test]
    fn what_was_there_before_the_first_look_is_not_known_to_stand_still() {
        let mut world = World::new();
        world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 2), 1);
        world.now = world.now.plus(std::time::Duration::from_secs(600));
        world.begin_anew();
        world.pass(50);
        assert_eq!(world.severity(Code::SelfBlocked), Some(Severity::Info));
    }

    #[test]
    fn threads_that_queued_before_the_other_held_take_turns() {
        let mut world = World::new();
        let mut nodes: Vec<_> = (0..12).map(|number| world.create(&curator("/l", number), 1)).collect();
        let head = world.create(&curator("/l", 99), 2);
        nodes.push(head);
        world.delete(&nodes.remove(0));
        while nodes.len() > 1 {
            world.pass(10);
            world.delete(&nodes.remove(0));
        }
        assert_eq!(world.codes(Severity::Warning), []);
    }
}
