//! A deleted node that exists again: our member shows a node that the ensemble has deleted.

use serde::{Deserialize, Serialize};

use crate::diagnose::code::AmongReturned;
use crate::diagnose::context::{Check, LockContext, MAX_SUSPICIONS, of_contender};
use crate::diagnose::facts::short_node;
use crate::diagnose::suspicion::Suspicion;
use crate::diagnose::{Code, Finding, Severity, TableAt};
use crate::queue::{ConnectionState, Contender, ContenderRow, ContenderState, LockQueue};
use lockscope_base::znode::escaped;

const REMEDY: &str =
    "connect to each member alone and compare; restart the member that shows the node, and delete nothing";

/// A finding only if it lasts: a member that merely lags catches up, or its leader drops it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct MemberDisagrees;

impl Check for MemberDisagrees {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let lock = context.lock;
        if lock.returned() == 0 {
            return;
        }
        let returned = lock.rows(0..lock.len()).filter(|row| row.contender.returned);
        found.extend(returned.take(MAX_SUSPICIONS).map(|row| {
            let lasts = context.thresholds.ghost_after;
            Suspicion::new(describe(context, &row), context.now(), lasts).of_state(row.contender.czxid.0)
        }));
    }
}

fn describe(context: &LockContext<'_>, row: &ContenderRow<'_>) -> Finding {
    let severity = if row.state == ContenderState::Holds { Severity::Critical } else { Severity::Warning };
    let summary = format!(
        "{} was deleted and is back with the same czxid {}, though no czxid is reused: {} shows a node that the ensemble has deleted",
        of_whom(context.table_at, row.contender),
        row.contender.czxid,
        member(context.table_at)
    );
    of_contender(Code::MemberDisagrees, severity, context, row.contender).because(summary, REMEDY)
}

fn of_whom(table_at: TableAt<'_>, contender: &Contender) -> String {
    format!("{} of {}", short_node(&contender.node), table_at.who(contender))
}

/// Names the member that the table is read from.
fn member(table_at: TableAt<'_>) -> String {
    let session = match table_at.table().connection() {
        ConnectionState::Connected { session, .. } => Some(*session),
        _ => None,
    };
    let here = session.and_then(|session| table_at.view().connection_of(session));
    match here.filter(|(member, _)| member.provenance.can_prove()) {
        Some((member, _)) => format!("the member {}, which this console is connected to,", escaped(&member.address)),
        None => "the member that this console is connected to".to_owned(),
    }
}

/// Returns whether a finding stands in a lock with returned nodes.
///
/// The order of such a queue is not the ensemble's, and the owner of a returned node may have done
/// nothing wrong.
pub(super) fn stands(table_at: TableAt<'_>, finding: &Finding) -> bool {
    let Some(lock) = table_at.table().lock(finding.lock.id).filter(|lock| lock.returned() > 0) else { return true };
    match finding.code.traits().among_returned {
        AmongReturned::Stands => true,
        AmongReturned::StandsOfOthers => !names_returned(lock, finding),
        AmongReturned::Falls => false,
    }
}

fn names_returned(lock: &LockQueue, finding: &Finding) -> bool {
    let mut returned = lock.rows(0..lock.len()).filter(|row| row.contender.returned);
    returned.any(|row| finding.node.as_ref() == Some(&row.contender.node))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator};

    pub fn examples() -> Vec<Example> {
        [(0, true), (1, true), (0, false)]
            .map(|(position, answers)| (Code::MemberDisagrees, member_disagrees(position, answers)))
            .into()
    }

    /// Deletes the node at this position in the queue and lets it return.
    fn member_disagrees(position: usize, answers: bool) -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        let nodes = [1, 2].map(|session| world.create(&curator("/l", session), i64::from(session)));
        world.answers = answers;
        world.return_deleted(&nodes[position]);
        world.pass(12);
        world
    }

    #[test]
    fn a_deleted_node_that_a_member_shows_again_is_reported_until_it_disappears() {
        let mut world = DiagnosisFixture::new();
        let head = world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 2), 2);
        world.pass(2);
        world.return_deleted(&head);
        assert_eq!(world.pass(10), (vec![], vec![]), "a member may be behind for a moment");
        assert_eq!(world.pass(2).0, [Code::MemberDisagrees]);
        let finding = world.found(Code::MemberDisagrees).expect("the finding stands");
        assert_eq!((finding.severity, finding.node.as_deref()), (Severity::Critical, Some(head.name())));
        assert!(finding.summary.contains("the member zk1:2181"), "{}", finding.summary);
        world.delete(&head);
        assert_eq!(world.pass(1).1, [Code::MemberDisagrees]);
    }

    #[test]
    fn a_member_that_hides_its_clients_is_named_by_the_connection() {
        let mut world = DiagnosisFixture::new();
        world.create(&curator("/l", 1), 1);
        let waiter = world.create(&curator("/l", 2), 2);
        world.answers = false;
        world.return_deleted(&waiter);
        world.pass(12);
        let finding = world.found(Code::MemberDisagrees).expect("the finding stands");
        assert_eq!(finding.severity, Severity::Warning);
        assert!(finding.summary.contains("the member that this console is connected to"), "{}", finding.summary);
    }

    #[test]
    fn no_finding_asks_for_the_deletion_of_a_returned_node() {
        let mut world = DiagnosisFixture::new();
        let first = world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 1), 1);
        world.create(&curator("/m", 3), 3);
        world.create(&curator("/l", 4), 3);
        world.create(&curator("/m", 5), 1);
        world.create(&curator("/l", 6), 2);
        world.client(2).sound = false;
        world.return_deleted(&first);
        let client = world.client(1);
        (client.connected, client.listed) = (false, false);
        let (raised, _) = world.pass(120);
        let others: Vec<Code> = world.diagnosis.of(world.id("/l")).map(|finding| finding.code).collect();
        assert_eq!(world.diagnosis.worst(world.id("/l")).map(|finding| finding.code), Some(Code::MemberDisagrees));
        let of_order = [Code::Orphan, Code::SelfBlocked, Code::LostWakeUp, Code::Deadlock, Code::Stuck];
        assert!(others.iter().all(|code| !of_order.contains(code)), "{others:?}");
        assert!(!raised.contains(&Code::Deadlock), "not at the other lock of the circle either");
        let returned = world.diagnosis.findings().filter(|finding| finding.node.as_deref() == Some(first.name()));
        assert_eq!(returned.map(|finding| finding.code).collect::<Vec<_>>(), [Code::MemberDisagrees]);
    }
}
