//! A session with very many nodes in one queue, of which it neither releases any nor waits for its
//! turn with them.

use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, LockContext, of_contender};
use crate::diagnose::suspicion::Suspicion;
use crate::diagnose::{Code, Severity};
use crate::queue::is_registry;
use crate::text::human;
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::SessionId;

const REMEDY: &str = "look at how this client makes nodes: one that is made for each try, or not deleted after a failure, adds up; to end its session deletes them all";

/// From this many nodes on, a session may leak them.
const MANY: usize = 20;

/// The threads of one process may queue, too, but each then watches what it waits for. A queue of no
/// known recipe may be a registry, in which one process has many entries.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct LeakingSession;

impl Check for LeakingSession {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        if context.lock.kind() != LockKind::Exclusive {
            return;
        }
        let many = context.repeated.iter().filter(|(_, positions)| positions.len() >= MANY);
        found.extend(many.filter_map(|(session, positions)| judge(context, *session, positions)));
    }
}

fn judge(context: &LockContext<'_>, session: SessionId, positions: &[usize]) -> Option<Suspicion> {
    let (lock, now, lasts) = (context.lock, context.now(), context.thresholds.stuck_after);
    let unwatched = context.unwatched.iter().filter(|unwatched| unwatched.session == session).count();
    let is_registry = is_registry(lock);
    if !is_registry && unwatched * 2 < positions.len() {
        return None;
    }
    // If any of the first nodes is released, the last of them is another one.
    let (first, last) = (lock.contender_at(*positions.first()?)?, lock.contender_at(*positions.get(MANY - 1)?)?);
    let ahead = context.table_at.table().clock_ahead_ms();
    let what = if is_registry {
        "and the recipe is unknown: it may be a registry of which this client has many entries"
    } else {
        "and watches what it would wait for with hardly any"
    };
    let summary = format!(
        "{} has {} nodes here, the oldest for {}; it has released none of the first {MANY} for {}, {what}",
        context.table_at.who_is(session),
        human::count(positions.len()),
        human::duration(now.since(first.contends_since(ahead))),
        human::duration(now.since(last.contends_since(ahead))),
    );
    let severity = if is_registry { Severity::Info } else { Severity::Warning };
    let finding = of_contender(Code::LeakingSession, severity, context, first).because(summary, REMEDY);
    let suspicion = Suspicion::new(finding, now, lasts).of_state(last.czxid.0);
    Some(suspicion.proved_by(now.since(last.contends_since(ahead))))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator, work};
    use lockscope_base::znode::ZnodePath;

    pub fn examples() -> Vec<Example> {
        vec![(Code::LeakingSession, nodes("/l/_c_", 40, false)), (Code::LeakingSession, nodes("/l/node-", 40, false))]
    }

    /// One session makes nodes, behind another that holds. `waits`: it watches what it waits for.
    fn nodes(prefix: &str, count: u32, waits: bool) -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        let prefix = |number| if prefix.ends_with("_c_") { curator("/l", number) } else { prefix.to_owned() };
        world.create(&prefix(1_000), 2);
        world.client(1).sound = waits;
        for number in 0..count {
            world.create(&prefix(number), 1);
            world.pass(1);
        }
        work(&mut world, 65);
        world
    }

    #[test]
    fn a_session_that_leaves_its_nodes_is_reported_once_and_for_all_of_them() {
        let world = nodes("/l/_c_", 40, false);
        let found = world.found(Code::LeakingSession).expect("the finding stands");
        assert_eq!(found.severity, Severity::Warning);
        assert!(found.summary.starts_with("10.0.0.1:4000 has 40 nodes here"), "{}", found.summary);
        assert_eq!(world.found(Code::OrphanSuspected), None, "that is why");
    }

    #[test]
    fn threads_that_wait_for_their_turn_and_few_nodes_are_no_leak() {
        for world in [nodes("/l/_c_", 40, true), nodes("/l/_c_", 8, false), nodes("/l/node-", 8, false)] {
            assert_eq!(world.found(Code::LeakingSession), None);
        }
    }

    #[test]
    fn a_session_that_releases_its_first_nodes_in_turn_leaks_none() {
        let mut world = nodes("/l/node-", 19, false);
        for _ in 0..80 {
            let first = world.lock("/l").contender_at(1).expect("a second node").clone();
            let node: ZnodePath = world.lock("/l").path_of(&first);
            world.delete(&node);
            world.create("/l/node-", 1);
            world.pass(2);
            assert_eq!(world.found(Code::LeakingSession), None);
        }
    }
}
