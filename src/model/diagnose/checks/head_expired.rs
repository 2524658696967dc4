//! The previous holder lost the lock because its session expired, and may not know.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, LockContext};
use crate::diagnose::suspicion::{Suspicion, finding};
use crate::diagnose::{Code, Finding, Severity};
use crate::queue::{Contender, SessionExpired};
use lockscope_base::recipe::{LockKind, RequestMode};

/// Maximum time for which a client is reported as unaware. No server knows whether a process
/// without a session still runs, so after this time it counts as gone.
const MAX_UNAWARE: Duration = Duration::from_secs(600);

/// The tree is in order, but a paused process may believe for a while that it still holds.
///
/// This lasts beyond its successor's release, until the process notices. Then it [has a new
/// session](crate::queue::LockQueue::last_expiry) and queues again.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct HeadChangedByExpiry;

impl Check for HeadChangedByExpiry {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let Some(expiry) = context.lock.last_expiry() else { return };
        if context.now().since(expiry.at) > MAX_UNAWARE {
            return;
        }
        let successor = successor(context, expiry);
        let suspicion = Suspicion::proved(describe(context, expiry, successor), context.now()).of_state(expiry.at.0);
        // While the lock is free, the former holder conflicts with no other holder.
        found.push(if successor.is_some() { suspicion } else { suspicion.keeping() });
    }
}

/// Returns the holder after the client whose session expired. `None` until that holder is read,
/// since its session and its fencing token are unknown before.
fn successor<'a>(context: &LockContext<'a>, expiry: &SessionExpired) -> Option<&'a Contender> {
    let holder = context.lock.row(0).filter(|_| context.lock.holding() > 0)?;
    let contender = holder.contender;
    let acquired = contender.acquired_at();
    let is_later = match context.lock.kind() {
        LockKind::Exclusive | LockKind::Election | LockKind::SingleNode => true,
        // Later readers may hold together with a reader that was paused.
        LockKind::ReadWrite if holder.mode == RequestMode::Read => acquired == Some(expiry.at),
        LockKind::ReadWrite | LockKind::Semaphore => acquired.is_some_and(|acquired| acquired >= expiry.at),
    };
    let is_other = contender.is_read() && contender.session() != Some(expiry.session) && !contender.returned;
    (is_other && is_later).then_some(contender)
}

fn describe(context: &LockContext<'_>, expiry: &SessionExpired, successor: Option<&Contender>) -> Finding {
    let summary = format!(
        "{} lost the lock when its session expired; if its process was only paused, it may think that it still holds",
        expiry.client.in_sentence(context.now())
    );
    let tokens = successor.map_or_else(|| "of earlier holders".to_owned(), |holder| format!("below {}", holder.czxid));
    let remedy = format!(
        "delete nothing; see in its log whether it stopped; what the lock protects should refuse fencing tokens {tokens}, if it checks any"
    );
    finding(Code::HeadChangedByExpiry, Severity::Info, context.lock, Some(&expiry.node))
        .of_client(expiry.client.clone())
        .because(summary, remedy)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator, path, uuid};
    use crate::queue::Change;
    use lockscope_base::znode::ZnodePath;

    pub fn examples() -> Vec<Example> {
        let mut free = head_expired();
        let next = free.lock("/l").path_of(free.lock("/l").first_holder().expect("the lock has a holder"));
        free.delete(&next);
        free.pass(1);
        vec![(Code::HeadChangedByExpiry, head_expired()), (Code::HeadChangedByExpiry, free)]
    }

    /// Disconnects session 1's client, lets its session expire, and deletes its node.
    fn let_expire(world: &mut DiagnosisFixture, head: &ZnodePath) {
        let expires = world.now.plus(Duration::from_secs(5));
        let client = world.client(1);
        (client.connected, client.expires_at) = (false, Some(expires));
        world.pass(5);
        world.delete(head);
        world.pass(2);
    }

    fn head_expired() -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        let head = world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 2), 2);
        let_expire(&mut world, &head);
        world
    }

    fn stands(world: &DiagnosisFixture) -> bool {
        world.found(Code::HeadChangedByExpiry).is_some()
    }

    #[test]
    fn an_expired_head_is_remembered_after_its_successor_released() {
        let mut world = DiagnosisFixture::new();
        let head = world.create(&curator("/l", 1), 1);
        let next = world.create(&curator("/l", 2), 2);
        let_expire(&mut world, &head);
        assert_eq!(world.codes(Severity::Info), [Code::HeadChangedByExpiry]);
        world.delete(&next);
        assert_eq!(world.pass(3), (vec![], vec![]), "nobody holds");
        for session in 3..6 {
            let next = world.create(&curator("/l", 3), session);
            assert_eq!(world.pass(2), (vec![], vec![]), "it is the same finding, whoever holds");
            world.delete(&next);
        }
        assert!(stands(&world));
    }

    #[test]
    fn after_ten_minutes_the_process_counts_as_gone() {
        let mut world = head_expired();
        world.clients.iter_mut().for_each(|client| client.cxid += 1);
        world.pass(590);
        assert!(stands(&world));
        assert!(world.pass(10).1.contains(&Code::HeadChangedByExpiry));
    }

    #[test]
    fn a_lock_that_stays_free_has_no_two_holders() {
        let mut world = DiagnosisFixture::new();
        let head = world.create(&curator("/l", 1), 1);
        let_expire(&mut world, &head);
        assert!(!stands(&world));
        world.create(&curator("/l", 2), 2);
        world.pass(1);
        assert!(stands(&world), "the next one holds beside it");
    }

    /// Does the same as [`head_expired`], but the clients write their names into their nodes.
    fn named_head_expired(others: &[(i64, &str)]) -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        let head = world.create_named(&curator("/l", 1), 1, "worker-1");
        for (session, name) in others {
            world.create_named(&curator("/l", 2), *session, name);
        }
        let_expire(&mut world, &head);
        assert!(stands(&world));
        world
    }

    #[test]
    fn a_client_that_queues_again_under_its_name_knows() {
        let mut world = named_head_expired(&[(2, "worker-2")]);
        world.create_named(&curator("/l", 3), 3, "worker-3");
        world.pass(2);
        assert!(stands(&world), "another one");
        world.create_named(&curator("/l", 4), 4, "worker-1");
        assert_eq!(world.pass(1).1, [Code::HeadChangedByExpiry]);
    }

    #[test]
    fn a_name_that_several_clients_share_proves_nothing() {
        let mut world = named_head_expired(&[(2, "worker-1")]);
        world.create_named(&curator("/l", 3), 3, "worker-1");
        world.pass(2);
        assert!(stands(&world));
    }

    #[test]
    fn an_expired_reader_does_not_conflict_with_later_readers() {
        let mut world = DiagnosisFixture::new();
        let request = |kind: &str, number: u32| format!("/l/_c_{}-{kind}", uuid(number));
        let head = world.create(&request("__READ__", 1), 1);
        let_expire(&mut world, &head);
        let reader = world.create(&request("__READ__", 2), 2);
        world.pass(2);
        assert!(!stands(&world));
        world.create(&request("__WRIT__", 3), 3);
        world.delete(&reader);
        world.pass(2);
        assert!(stands(&world));
    }

    #[test]
    fn nothing_is_reported_until_the_successor_is_read() {
        let mut world = DiagnosisFixture::new();
        let head = world.create(&curator("/l", 1), 1);
        let next = path(&format!("{}0000000009", curator("/l", 2)));
        world.apply(Change::Appeared { path: next });
        let_expire(&mut world, &head);
        assert_eq!(world.codes(Severity::Info), []);
    }

    #[test]
    fn a_release_is_no_expiry() {
        let mut world = DiagnosisFixture::new();
        let head = world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 2), 2);
        world.pass(2);
        world.delete(&head);
        assert_eq!(world.pass(3).0, []);
    }
}
