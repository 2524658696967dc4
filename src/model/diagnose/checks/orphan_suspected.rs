//! An earlier node of a session that queues again and does not watch for it: the node may be
//! forgotten.

use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, LockContext, MAX_SUSPICIONS, Unwatched, of_contender};
use crate::diagnose::facts::short_node;
use crate::diagnose::suspicion::Suspicion;
use crate::diagnose::{Code, Severity};
use crate::queue::ContenderRow;

const REMEDY: &str =
    "ask the owner; if it no longer waits with the earlier node, delete that node, guarded by its czxid";

/// Many threads of one session may queue for one lock, each with its own watch, so only a node
/// without one is suspect. An earlier node that holds needs no watch: `self_blocked` covers it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct OrphanSuspected;

impl Check for OrphanSuspected {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let mut suspects = 0;
        for seen in &context.unwatched {
            let last = context.repeated.get(&seen.session).and_then(|positions| positions.last().copied());
            // The last node is no orphan, but may have lost its wake-up.
            let Some(last) = last.filter(|last| *last != seen.position && suspects < MAX_SUSPICIONS) else { continue };
            if let (Some(row), Some(last)) = (context.lock.row(seen.position), context.lock.row(last)) {
                suspects += 1;
                found.push(suspicion(context, &row, &last, seen));
            }
        }
    }
}

fn suspicion(
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
    let finding =
        of_contender(Code::OrphanSuspected, Severity::Warning, context, row.contender).because(summary, REMEDY);
    let suspicion = Suspicion::new(finding, seen.gathered, context.thresholds.settled_after);
    suspicion.of_state(seen.state).of_client_heard(seen.heard)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator, queue};

    pub fn examples() -> Vec<Example> {
        vec![(Code::OrphanSuspected, orphan_suspected())]
    }

    fn orphan_suspected() -> DiagnosisFixture {
        let mut world = queue(&[1]);
        let orphan = world.create(&curator("/l", 2), 2);
        world.create(&curator("/l", 3), 2);
        let client = world.client(2);
        (client.sound, client.watches) = (false, vec![orphan]);
        world.pass(7);
        world
    }

    /// Plays that session 1 holds; session 2 queues, forgets its node, and queues again with a
    /// watch.
    fn forgotten() -> (DiagnosisFixture, lockscope_base::znode::ZnodePath) {
        let mut world = DiagnosisFixture::new();
        world.create(&curator("/l", 1), 1);
        let orphan = world.create(&curator("/l", 2), 2);
        world.create(&curator("/l", 3), 2);
        let client = world.client(2);
        (client.sound, client.watches) = (false, vec![orphan.clone()]);
        (world, orphan)
    }

    #[test]
    fn an_earlier_node_without_a_watch_is_suspect() {
        let (mut world, orphan) = forgotten();
        let (raised, _) = world.pass(7);
        assert_eq!(raised.iter().filter(|code| **code == Code::OrphanSuspected).count(), 1, "{raised:?}");
        assert_eq!(world.found(Code::OrphanSuspected).and_then(|found| found.node.as_deref()), Some(orphan.name()));
        assert!(world.found(Code::LostWakeUp).is_none());
        world.delete(&orphan);
        assert_eq!(world.pass(1).1, [Code::OrphanSuspected]);
    }

    #[test]
    fn threads_that_share_a_session_each_with_its_watch_are_sound() {
        let mut world = DiagnosisFixture::new();
        world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 2), 2);
        world.create(&curator("/l", 3), 2);
        world.pass(30);
        assert_eq!(world.codes(Severity::Warning), []);
    }

    #[test]
    fn beside_watchers_of_children_nothing_is_reported() {
        let (mut world, _) = forgotten();
        world.child_watches = 1;
        world.pass(20);
        assert_eq!(world.codes(Severity::Warning), []);
    }
}
