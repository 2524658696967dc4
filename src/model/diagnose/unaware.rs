//! What the client of a live node does not know about it, by the evidence. Texts about a deletion
//! of the node follow from this.

use super::facts::{TableAt, attempt};
use super::{Code, Finding, WatchTarget};
use crate::queue::{ContenderRow, ContenderState, LockQueue};
use lockscope_base::recipe::LockKind;

/// The fact that a contender's client does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unaware {
    /// The node itself: the reply to a create was lost, and the client goes on with another node.
    OfNode,
    /// Probably the node itself: the client queues again, and watches nothing for this node.
    OfNodeSuspected,
    /// The hold of the lock: the client watched nothing when its turn came, and has sent no request
    /// since.
    OfTurn,
    /// The coming of its turn: the client watches nothing.
    OfTurnToCome,
}

impl Unaware {
    /// Returns what the client does not know by a finding about its node; `None` if the finding
    /// does not tell.
    pub fn by_finding(finding: &Finding, state: ContenderState) -> Option<Self> {
        match finding.code {
            Code::Orphan => Some(Self::OfNode),
            Code::OrphanSuspected => Some(Self::OfNodeSuspected),
            Code::LostWakeUp if state == ContenderState::Waits => Some(Self::OfTurnToCome),
            Code::LostWakeUp => Some(Self::OfTurn),
            _ => None,
        }
    }

    /// Returns whether the client cannot see data that is written into the node. A client that does
    /// not know that it holds does not watch its own node.
    pub fn ignores_requests(self) -> bool {
        matches!(self, Self::OfNode | Self::OfTurn)
    }
}

impl<'a> TableAt<'a> {
    /// Returns what a contender's client does not know, by the current evidence. Linear in the
    /// queue.
    ///
    /// Less certain than a standing finding, except for an orphan, which its name proves.
    pub fn unaware(&self, lock: &LockQueue, row: &ContenderRow<'a>) -> Option<Unaware> {
        // The order of a queue that shows deleted nodes is not the ensemble's.
        let session = row.contender.session().filter(|_| lock.returned() == 0)?;
        let own = attempt(lock, &row.contender.node);
        let others = |window| lock.rows(window).filter(move |other| other.contender.session() == Some(session));
        let is_of_attempt = |other: ContenderRow<'_>| own.is_some() && attempt(lock, &other.contender.node) == own;
        let (before, behind) = (0..row.position, row.position + 1..lock.len());
        let known = if lock.recipe().keeps_first_of_attempt() { before } else { behind.clone() };
        if others(known).any(is_of_attempt) {
            return Some(Unaware::OfNode);
        }
        let queues_again = lock.kind() != LockKind::Semaphore && others(behind).any(|other| !is_of_attempt(other));
        let is_suspect = queues_again && self.facts(lock, row).watching == WatchTarget::Nothing;
        is_suspect.then_some(Unaware::OfNodeSuspected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, curator, one_session_twice, queue};

    fn unaware(fixture: &DiagnosisFixture) -> Vec<Option<Unaware>> {
        let (table_at, lock) = (TableAt::new(&fixture.table, fixture.now), fixture.lock("/l"));
        lock.rows(0..lock.len()).map(|row| table_at.unaware(lock, &row)).collect()
    }

    fn by_finding(fixture: &DiagnosisFixture, code: Code) -> Option<Unaware> {
        let (finding, lock) = (fixture.found(code).expect("the finding stands"), fixture.lock("/l"));
        let mut rows = lock.rows(0..lock.len());
        let row = rows
            .find(|row| Some(&row.contender.node) == finding.node.as_ref())
            .expect("the finding's node is in the queue");
        Unaware::by_finding(finding, row.state)
    }

    #[test]
    fn a_client_does_not_know_the_earlier_node_of_its_attempt() {
        let fixture = one_session_twice(1, 1, 3);
        assert_eq!(unaware(&fixture), [Some(Unaware::OfNode), None]);
        assert_eq!(by_finding(&fixture, Code::Orphan), Some(Unaware::OfNode));
    }

    #[test]
    fn accumulos_manager_knows_the_first_node_of_its_attempt() {
        let mut fixture = DiagnosisFixture::new();
        for _ in 0..2 {
            fixture.create(&format!("/a/gc/lock/zlock#{}#", crate::diagnose::testing::uuid(1)), 1);
        }
        let (table_at, lock) = (TableAt::new(&fixture.table, fixture.now), fixture.lock("/a/gc/lock"));
        let unaware: Vec<_> = lock.rows(0..2).map(|row| table_at.unaware(lock, &row)).collect();
        assert_eq!(unaware, [None, Some(Unaware::OfNode)]);
    }

    #[test]
    fn two_threads_of_one_session_know_of_their_nodes() {
        assert_eq!(unaware(&one_session_twice(1, 2, 70)), [None, None]);
    }

    #[test]
    fn an_earlier_waiter_without_a_watch_is_suspect() {
        let mut fixture = queue(&[1]);
        let earlier = fixture.create(&curator("/l", 2), 2);
        fixture.create(&curator("/l", 3), 2);
        let client = fixture.client(2);
        (client.sound, client.watches) = (false, vec![earlier]);
        fixture.pass(10);
        assert_eq!(unaware(&fixture), [None, Some(Unaware::OfNodeSuspected), None]);
        assert_eq!(by_finding(&fixture, Code::OrphanSuspected), Some(Unaware::OfNodeSuspected));
    }

    #[test]
    fn a_client_that_lost_its_wake_up_does_not_know_of_its_turn() {
        let mut fixture = queue(&[1, 2, 3]);
        let [head, waiter] = [0, 1].map(|at| {
            let lock = fixture.lock("/l");
            lock.path_of(lock.row(at).expect("a contender").contender)
        });
        fixture.client(2).sound = false;
        fixture.client(3).watches = vec![waiter];
        fixture.pass(10);
        assert_eq!(by_finding(&fixture, Code::LostWakeUp), Some(Unaware::OfTurnToCome));
        fixture.delete(&head);
        fixture.pass(3);
        assert_eq!(by_finding(&fixture, Code::LostWakeUp), Some(Unaware::OfTurn));
    }
}
