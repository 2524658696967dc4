//! A session that waits for a lock that it holds itself.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, TableContext, held_at_least};
use crate::diagnose::facts::short_node;
use crate::diagnose::suspicion::{Suspicion, finding};
use crate::diagnose::waits::Wait;
use crate::diagnose::{Code, Severity, TableAt, Unaware};
use crate::queue::{ContenderRow, is_likely_election};
use crate::text::human;

const REMEDY: &str = "look at that process: restart it if it takes the lock twice, or left the earlier node behind when a release or a create failed";

/// Threads of one process share a session and take turns, so this is a fault only if it lasts.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct SelfBlocked;

impl Check for SelfBlocked {
    fn check_all(&mut self, context: &TableContext<'_>, found: &mut Vec<Suspicion>) {
        let TableContext { table_at, thresholds, self_blocked, .. } = context;
        for wait in self_blocked {
            let Some(lock) = table_at.table().lock(wait.lock) else { continue };
            let Some((_, position)) = table_at.table().position(&lock.queue_path().child(&wait.node)) else { continue };
            // A node that its client does not know of waits for nothing: `orphan` says so.
            let is_known = |row: &ContenderRow<'_>| table_at.unaware(lock, row) != Some(Unaware::OfNode);
            let Some(waiter) = lock.row(position).filter(is_known).map(|row| row.contender) else { continue };
            let waits = table_at.now().since(waiter.contends_since(table_at.table().clock_ahead_ms()));
            let held = lock.first_holder().map(|holder| held_at_least(*table_at, holder)).unwrap_or_default();
            let lasts = waits.min(held);
            let stuck = lasts >= thresholds.stuck_after && !is_likely_election(lock);
            let severity = if stuck { Severity::Warning } else { Severity::Info };
            let finding = finding(Code::SelfBlocked, severity, lock, lock.first_holder().map(|holder| &holder.node))
                .of_client(table_at.table().identity_at(wait.lock, &wait.held, wait.waiter))
                .because(describe(*table_at, wait, lasts), REMEDY);
            let suspicion = Suspicion::new(finding, table_at.now(), thresholds.settled_after);
            found.push(suspicion.of_state(waiter.czxid.0).proved_by(lasts));
        }
    }
}

fn describe(table_at: TableAt<'_>, wait: &Wait, lasts: Duration) -> String {
    let [held, node] = [&wait.held, &wait.node].map(|name| short_node(name));
    format!(
        "{} holds by {held} and has waited by {node} for {}: it waits for itself, unless these are two of its threads",
        table_at.who_at(wait.lock, &wait.held, wait.waiter),
        human::duration(lasts)
    )
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator, one_session_twice};

    pub fn examples() -> Vec<Example> {
        [5, 70].map(|seconds| (Code::SelfBlocked, one_session_twice(1, 2, seconds))).into()
    }

    #[test]
    fn a_session_that_waits_for_its_own_lock_is_reported_and_becomes_a_warning() {
        let mut world = DiagnosisFixture::new();
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
    fn a_hold_of_unknown_length_before_the_first_look_does_not_count() {
        let mut world = DiagnosisFixture::new();
        let earlier = world.create(&curator("/l", 9), 2);
        world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 2), 1);
        world.now = world.now.plus(Duration::from_secs(600));
        world.delete(&earlier);
        world.begin_anew();
        world.pass(50);
        assert_eq!(world.severity(Code::SelfBlocked), Some(Severity::Info));
    }

    #[test]
    fn a_proven_hold_before_the_first_look_is_a_warning_at_once() {
        let mut world = DiagnosisFixture::new();
        world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 2), 1);
        world.now = world.now.plus(Duration::from_secs(600));
        world.begin_anew();
        world.diagnosis.examine(&world.table, world.now);
        assert_eq!(world.severity(Code::SelfBlocked), Some(Severity::Warning));
    }

    #[test]
    fn threads_that_queued_before_the_other_held_take_turns() {
        let mut world = DiagnosisFixture::new();
        let mut nodes: Vec<_> = (0..12).map(|number| world.create(&curator("/l", number), 1)).collect();
        let head = world.create(&curator("/l", 99), 2);
        nodes.push(head);
        world.delete(&nodes.remove(0));
        while nodes.len() > 1 {
            world.pass(10);
            world.delete(&nodes.remove(0));
            world.client(1).cxid += 1;
        }
        assert_eq!(world.codes(Severity::Warning), []);
    }
}
