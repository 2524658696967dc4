//! A node whose session no longer exists.

use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, LockContext, MAX_SUSPICIONS, of_contender};
use crate::diagnose::facts::short_node;
use crate::diagnose::suspicion::Suspicion;
use crate::diagnose::{Code, Finding, OwnerState, Severity};
use crate::queue::ContenderRow;

const REMEDY: &str = "compare the node on each server, since one may lag behind; then delete it, guarded by its czxid";

/// One transaction ends a session and deletes its nodes. A node that outlives its session for long
/// shows a fault of the servers.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Ghost;

impl Check for Ghost {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let Some(gathered) = context.table_at.view().sessions_as_of() else { return };
        let rows = context.lock.rows(0..context.lock.len());
        let ghosts =
            rows.filter(|row| context.table_at.owner_of(row.contender).0 == OwnerState::Ghost).take(MAX_SUSPICIONS);
        found.extend(ghosts.map(|row| {
            let lasts = context.thresholds.ghost_after;
            Suspicion::new(describe(context, &row), gathered, lasts).of_state(row.contender.czxid.0)
        }));
    }
}

fn describe(context: &LockContext<'_>, row: &ContenderRow<'_>) -> Finding {
    let severity = if context.blocks_for_good(row) { Severity::Critical } else { Severity::Warning };
    let (node, who) = (short_node(&row.contender.node), context.table_at.who(row.contender));
    let summary = format!("{node} of {who} outlived its session, which no server knows");
    of_contender(Code::Ghost, severity, context, row.contender).because(summary, REMEDY)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator, queue};

    pub fn examples() -> Vec<Example> {
        vec![(Code::Ghost, ghost())]
    }

    fn ghost() -> DiagnosisFixture {
        let mut world = queue(&[1, 2]);
        world.pass(2);
        let client = world.client(1);
        (client.connected, client.listed) = (false, false);
        world.pass(15);
        world
    }

    #[test]
    fn a_node_that_outlives_its_session_is_a_ghost_and_blocks_its_waiters() {
        let mut world = DiagnosisFixture::new();
        let ghost = world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 2), 2);
        world.pass(20);
        assert_eq!(world.codes(Severity::Warning), []);
        let client = world.client(1);
        (client.connected, client.listed) = (false, false);
        assert_eq!(world.pass(9), (vec![], vec![]));
        assert_eq!(world.pass(4).0, [Code::Ghost]);
        assert_eq!(world.severity(Code::Ghost), Some(Severity::Critical));
        world.delete(&ghost);
        assert_eq!(world.pass(1).1, [Code::Ghost]);
    }

    #[test]
    fn a_ghost_among_the_members_of_a_group_blocks_nobody() {
        let mut world = DiagnosisFixture::new();
        for number in 1..=2 {
            world.create("/workers/worker-", number);
        }
        world.pass(2);
        let client = world.client(1);
        (client.connected, client.listed) = (false, false);
        world.pass(15);
        assert_eq!(world.severity(Code::Ghost), Some(Severity::Warning));
    }

    #[test]
    fn a_session_that_a_silent_server_may_know_is_no_ghost() {
        let mut world = DiagnosisFixture::new();
        world.create(&curator("/l", 1), 1);
        let client = world.client(1);
        (client.connected, client.listed) = (false, false);
        world.answers = false;
        world.pass(30);
        assert_eq!(world.codes(Severity::Info), []);
    }

    #[test]
    fn a_node_deleted_soon_after_its_session_is_no_ghost() {
        let mut world = DiagnosisFixture::new();
        let node = world.create(&curator("/l", 1), 1);
        world.pass(5);
        let client = world.client(1);
        (client.connected, client.listed) = (false, false);
        world.pass(5);
        world.delete(&node);
        assert_eq!(world.pass(20), (vec![], vec![]));
    }
}
